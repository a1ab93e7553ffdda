//! Messages as JSON, with records opened up.

use bytes::Bytes;
use kraft_wire::batch::{BatchView, Batches};
use kraft_wire::{Value, uuid_text};
use serde_json::json;

use crate::dump;

/// The value on one line. In the place of records stand their batches.
pub(super) fn text(value: &Value) -> String {
    let mut text = String::new();
    put(value, &mut text);
    text
}

fn put(value: &Value, text: &mut String) {
    match value {
        Value::Array(elements) => {
            put_all(text, ['[', ']'], elements, put);
        }
        Value::Object(fields) => put_all(text, ['{', '}'], fields, |(name, value), text| {
            text.push('"');
            text.push_str(name);
            text.push_str("\":");
            put(value, text);
        }),
        Value::Records(bytes) => {
            put_all(text, ['[', ']'], &batches(bytes), |batch, text| {
                text.push_str(&batch.to_string());
            });
        }
        scalar => text.push_str(&scalar.to_string()),
    }
}

fn put_all<T>(text: &mut String, brackets: [char; 2], items: &[T], mut put: impl FnMut(&T, &mut String)) {
    text.push(brackets[0]);
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        put(item, text);
    }
    text.push(brackets[1]);
}

/// The batches, and the bytes behind them that are none: a batch may be cut off, and a piece of a snapshot may begin
/// in the middle of one.
fn batches(bytes: &Bytes) -> Vec<serde_json::Value> {
    let mut batches = Batches::new(bytes.clone());
    let mut shown = Vec::new();
    let mut problem = None;
    for found in batches.by_ref() {
        match found {
            Ok(batch) => shown.push(batch_json(&batch)),
            Err(error) => problem = Some(error.to_string()),
        }
    }
    let rest = bytes.slice(batches.position()..);
    if !rest.is_empty() {
        let problem = problem.unwrap_or_else(|| "the rest of this batch is not here".to_owned());
        shown.push(
            json!({ "position": batches.position(), "problem": problem, "bytes": uuid_text::base64(&rest) }),
        );
    }
    shown
}

fn batch_json(batch: &BatchView) -> serde_json::Value {
    let mut object = dump::batch_json(batch, true);
    if let Err(error) = batch.validate() {
        object["problem"] = error.to_string().into();
    }
    object
}
