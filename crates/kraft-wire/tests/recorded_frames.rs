//! Every frame that real controllers exchanged decodes, and encodes back to the same bytes.

use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use kraft_wire::frame::{decode_request_header, decode_response_header};
use kraft_wire::{AnyMessage, ApiKey, Message, Value, uuid_text};
use serde_json::Value as Json;

struct Decoded {
    body: Box<dyn AnyMessage>,
    again: Vec<u8>,
}

/// `None` for an API without a codec here; the error as text otherwise, since only tests look at it.
fn request(frame: &Bytes) -> Option<Result<Decoded, String>> {
    let (api, header, mut reader) = match decode_request_header(frame.clone()) {
        Ok(parts) => parts,
        Err(error) => return Some(Err(error.to_string())),
    };
    let version = header.request_api_version;
    let body = api.decode_request(&mut reader, version)?;
    Some(body.map_err(|error| error.to_string()).map(|body| {
        let mut again = Vec::new();
        header
            .encode(api.request_header_version(version), &mut again)
            .expect("header");
        body.encode_any(version, &mut again)
            .expect("what was decoded can be encoded");
        Decoded { body, again }
    }))
}

fn response(frame: &Bytes, api: ApiKey, version: i16) -> Option<Result<Decoded, String>> {
    let (header, mut reader) = match decode_response_header(frame.clone(), api, version) {
        Ok(parts) => parts,
        Err(error) => return Some(Err(error.to_string())),
    };
    let body = api.decode_response(&mut reader, version)?;
    Some(body.map_err(|error| error.to_string()).map(|body| {
        let mut again = Vec::new();
        header
            .encode(api.response_header_version(version), &mut again)
            .expect("header");
        body.encode_any(version, &mut again)
            .expect("what was decoded can be encoded");
        Decoded { body, again }
    }))
}

#[test]
fn captured_exchanges_come_back_byte_for_byte() {
    let mut exchanges = 0;
    for line in lines("captured") {
        let id = line["id"].as_str().expect("id");
        let frame = hex(&line["request"]);
        let decoded = request(&frame)
            .expect("a codec")
            .unwrap_or_else(|error| panic!("{id}: {error}"));
        assert_eq!(decoded.again, frame, "{id} request {:?}", decoded.body);
        let (api, version) = api_and_version(&line);
        let frame = hex(&line["response"]);
        let decoded = response(&frame, api, version)
            .expect("a codec")
            .unwrap_or_else(|error| panic!("{id}: {error}"));
        assert_eq!(decoded.again, frame, "{id} response {:?}", decoded.body);
        exchanges += 1;
    }
    assert_eq!(exchanges, 154);
}

#[test]
fn answers_to_questions_come_back_and_say_what_kafka_said() {
    let mut answers = 0;
    for line in lines("interrogated") {
        if line["decoded_response"].is_null() || line["raw_stream"] == true {
            continue;
        }
        let id = line["id"].as_str().expect("id");
        let (api, mut version) = api_and_version(&line);
        if api == ApiKey::ApiVersions && !api.versions().contains(&version) {
            version = 0;
        }
        let frame = hex(&line["response"]);
        let Some(decoded) = response(&frame, api, version) else {
            continue;
        };
        let decoded = decoded.unwrap_or_else(|error| panic!("{id}: {error}"));
        assert_eq!(decoded.again, frame, "{id} {:?}", decoded.body);
        let mut shown = json(&decoded.body.to_json_value_any(version));
        let mut expected = small_names(&line["decoded_response"]);
        if expected["apiKeys"].is_string() {
            // The recording names the list instead of repeating it.
            let list = shown["apiKeys"].take();
            expected["apiKeys"].take();
            assert_eq!(list, expected_api_keys(), "{id}");
        }
        assert_eq!(shown, expected, "{id}");
        answers += 1;
    }
    assert_eq!(answers, 946);
}

#[test]
fn frames_worked_out_by_hand_come_back_byte_for_byte() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/worked.txt");
    for line in fs::read_to_string(file).expect("vectors").lines() {
        let [kind, api, version, frame] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let api = ApiKey::from_key(api.parse().expect("a key")).expect("a controller API");
        let frame = hex(&frame.into());
        let decoded = match kind {
            "request" => request(&frame),
            _ => response(&frame, api, version.parse().expect("a version")),
        };
        let decoded = decoded
            .expect("a codec")
            .unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_eq!(decoded.again, frame, "{:?}", decoded.body);
    }
}

fn expected_api_keys() -> Json {
    let entry = |api: &ApiKey| {
        let versions = api.versions();
        serde_json::json!({
            "apiKey": api.key(), "minVersion": versions.start(), "maxVersion": versions.end()
        })
    };
    ApiKey::ALL
        .iter()
        .filter(|api| api.is_listed())
        .map(entry)
        .collect()
}

/// Questions that Kafka answers although no encoder writes them so: text that is not UTF-8 (it is replaced), bytes
/// behind the body (they are ignored), a tag at its default or of the wrong size, an odd null, an odd truth.
const NOT_CANONICAL: &[&str] = &[
    "api-versions-050",
    "api-versions-051",
    "api-versions-055",
    "api-versions-058",
    "fetch-170",
    "fetch-171",
    "framing-082",
    "framing-086",
    "framing-088",
    "framing-091",
    "framing-103",
    "framing-113",
];

/// Well-formed questions of an API that a controller does not serve.
const NOT_SERVED: &[&str] = &["framing-067"];

#[test]
fn questions_come_back_and_exactly_the_closed_ones_are_refused() {
    let (mut same, mut refused) = (0, 0);
    let mut different = Vec::new();
    for line in lines("interrogated") {
        if line["request"].is_null() || line["raw_stream"] == true {
            continue;
        }
        let id = line["id"].as_str().expect("id");
        let frame = hex(&line["request"]);
        let Some(decoded) = request(&frame) else { continue };
        // Kafka answers ApiVersions in any version, and some well-formed requests end its process.
        let unknown_version = id.starts_with("api-versions") && is_outside_range(&line);
        match decoded {
            Err(error) => {
                assert!(line["outcome"] == "closed" || unknown_version, "{id}: {error}");
                refused += 1;
            }
            Ok(decoded) => {
                assert!(
                    line["outcome"] != "closed" || id.starts_with("fatal") || NOT_SERVED.contains(&id),
                    "{id}: {:?}",
                    decoded.body
                );
                if decoded.again == frame {
                    same += 1;
                } else {
                    different.push(String::from(id));
                }
            }
        }
    }
    assert_eq!(different, NOT_CANONICAL);
    assert_eq!((same, refused), (945, 81));
}

fn is_outside_range(line: &Json) -> bool {
    let (api, version) = api_and_version(line);
    !api.versions().contains(&version)
}

fn lines(folder: &str) -> Vec<Json> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/vectors")
        .join(folder);
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .expect("vectors")
        .map(|entry| entry.expect("entry").path())
        .collect();
    files.sort();
    let text = files
        .iter()
        .map(|file| fs::read_to_string(file).expect("readable"))
        .collect::<String>();
    text.lines()
        .map(|line| serde_json::from_str(line).expect("json"))
        .collect()
}

fn api_and_version(line: &Json) -> (ApiKey, i16) {
    let key = line["api"].as_i64().expect("api") as i16;
    (
        ApiKey::from_key(key).expect("a controller API"),
        line["version"].as_i64().expect("version") as i16,
    )
}

fn hex(text: &Json) -> Bytes {
    let text = text.as_str().expect("hex").as_bytes();
    let digit = |byte: u8| (byte as char).to_digit(16).expect("hex digit") as u8;
    text.chunks(2)
        .map(|pair| digit(pair[0]) << 4 | digit(pair[1]))
        .collect()
}

/// Our view of a message in the conventions of the recording: byte strings as hex.
fn json(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(value) => (*value).into(),
        Value::Int(value) => (*value).into(),
        Value::Float(value) => (*value).into(),
        Value::Text(text) => text.clone().into(),
        Value::Uuid(id) => uuid_text::format(id).into(),
        Value::Bytes(bytes) | Value::Records(bytes) => bytes
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
            .into(),
        Value::Array(elements) => elements.iter().map(json).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| (String::from(*name), json(value)))
            .collect(),
    }
}

/// The recording has the schema's names, ours are those of Kafka's JSON: the first letter is small.
fn small_names(value: &Json) -> Json {
    match value {
        Json::Array(elements) => elements.iter().map(small_names).collect(),
        Json::Object(fields) => fields
            .iter()
            .map(|(name, value)| (name[..1].to_lowercase() + &name[1..], small_names(value)))
            .collect(),
        other => other.clone(),
    }
}
