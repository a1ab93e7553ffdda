//! The declarations agree with an account of the format of its own: every message, in every version.

use crate::support::{Decoded, Random, Struct, Type, kinds, layouts, random_message};
use bytes::Bytes;
use kraft_wire::Value;

const MESSAGES_PER_VERSION: u64 = 60;

#[test]
fn every_version_of_every_message_is_described() {
    let layouts = layouts();
    for kind in kinds() {
        let mut versions: Vec<i16> = layouts
            .iter()
            .filter(|layout| layout.name == kind.name)
            .flat_map(|layout| layout.versions.0..=layout.versions.1)
            .collect();
        versions.sort_unstable();
        let expected: Vec<i16> = (kind.versions.0..=kind.versions.1).collect();
        assert_eq!(versions, expected, "{}", kind.name);
    }
}

#[test]
fn random_messages_come_back_byte_for_byte() {
    let layouts = layouts();
    let mut random = Random(1);
    for kind in kinds() {
        for layout in layouts.iter().filter(|layout| layout.name == kind.name) {
            for version in layout.versions.0..=layout.versions.1 {
                for _ in 0..MESSAGES_PER_VERSION {
                    let bytes = Bytes::from(random_message(&layout.body, &mut random));
                    let decoded = (kind.decode)(&bytes, version);
                    let Decoded { message, value, left } = decoded
                        .unwrap_or_else(|error| panic!("{} v{version}: {error}: {bytes:?}", kind.name));
                    assert_eq!(left, 0, "{message:?}");
                    let mut again = Vec::new();
                    message
                        .encode_any(version, &mut again)
                        .expect("what was decoded can be encoded");
                    assert_eq!(again, bytes, "{message:?}");
                    (kind.survives)(&bytes, version);
                    check_names(&layout.body, &value);
                }
            }
        }
    }
}

/// The view for people has the positional fields of the layout in their order, and no others but tagged ones.
fn check_names(layout: &Struct, value: &Value) {
    let Value::Object(shown) = value else {
        panic!("a struct is shown as an object")
    };
    let small = |name: &str| name[..1].to_lowercase() + &name[1..];
    let tags = layout.tags.as_deref().unwrap_or_default();
    let is_tag = |name: &str| tags.iter().any(|tag| small(&tag.1) == name);
    let positional: Vec<_> = shown
        .iter()
        .map(|field| field.0)
        .filter(|name| !is_tag(name))
        .collect();
    let expected: Vec<_> = layout.fields.iter().map(|field| small(&field.0)).collect();
    assert_eq!(positional, expected);
    for (name, field) in layout.fields.iter().map(|field| (&field.0, &field.1)) {
        let value = value.get(&small(name)).expect("shown");
        match (field, value) {
            (Type::Struct(inner), value) => check_names(inner, value),
            (Type::Array { element, .. }, Value::Array(elements)) if !element.fields[0].0.is_empty() => {
                elements.iter().for_each(|value| check_names(element, value));
            }
            _ => {}
        }
    }
}
