//! One recorded question with its answer.

use std::fs;
use std::path::Path;

use bytes::Bytes;
use serde_json::Value;

use crate::node::framed;

/// A line of a file.
pub(crate) struct Row(pub(crate) Value);

impl Row {
    pub(crate) fn text(&self, field: &str) -> &str {
        self.0[field].as_str().unwrap_or_default()
    }

    pub(crate) fn id(&self) -> &str {
        self.text("id")
    }

    /// The node that was asked.
    pub(crate) fn node(&self) -> usize {
        let node = self.0["node"].as_u64().unwrap();
        usize::try_from(node).unwrap()
    }

    pub(crate) fn is_raw(&self) -> bool {
        self.0["raw_stream"].as_bool().unwrap_or_default()
    }

    /// The bytes that go over the connection.
    pub(crate) fn sent(&self) -> Vec<u8> {
        let request = match self.0.get("request").and_then(Value::as_str) {
            Some(request) => hex(request),
            None => {
                let mut request = hex(self.text("request_head"));
                let length = usize::try_from(self.0["request_length"].as_u64().unwrap()).unwrap();
                request.resize(length, hex(self.text("request_fill"))[0]);
                request
            }
        };
        match self.is_raw() {
            true => request,
            false => framed(&request),
        }
    }

    pub(crate) fn wanted_answers(&self) -> Vec<Bytes> {
        let response = hex(self.text("response"));
        // Two streams were recorded as they are.
        let stream = response
            .get(..4)
            .map(|length| i32::from_be_bytes(length.try_into().unwrap()));
        if self.is_raw() && stream.is_some_and(|length| length > 0 && (length as usize) < response.len() - 4)
        {
            let (mut rest, mut answers) = (&response[..], Vec::new());
            while !rest.is_empty() {
                answers.push(read_slice(&mut rest));
            }
            return answers;
        }
        match response.is_empty() {
            true => Vec::new(),
            false => vec![response.into()],
        }
    }
}

/// Takes a frame with its length from the front.
pub(crate) fn read_slice(rest: &mut &[u8]) -> Bytes {
    let (length, behind) = rest.split_at(4);
    let length = i32::from_be_bytes(length.try_into().unwrap()) as usize;
    let (frame, behind) = behind.split_at(length);
    *rest = behind;
    Bytes::copy_from_slice(frame)
}

pub(crate) fn hex(text: &str) -> Vec<u8> {
    let digit = |digit: u8| (digit as char).to_digit(16).unwrap() as u8;
    let pairs = text.as_bytes().chunks_exact(2);
    pairs.map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

/// The rows of a file, without the ending of its name.
pub(crate) fn rows(file: &str) -> Vec<Row> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kraft-wire/tests/vectors/interrogated");
    let text = fs::read_to_string(folder.join(file).with_extension("jsonl")).unwrap();
    text.lines()
        .map(|line| Row(serde_json::from_str(line).unwrap()))
        .collect()
}
