//! Names of the tree that are put together from several parts.

use std::collections::BTreeMap;

/// The SCRAM mechanisms, by their numbers in records. Others are not shown, as in Kafka.
pub(super) const MECHANISMS: [(i8, &str); 2] = [(1, "SCRAM-SHA-256"), (2, "SCRAM-SHA-512")];

/// The name of a resource that has settings: its kind, and which one unless it is the default of the kind.
pub(super) fn of_resource(kind: i8, name: &str) -> String {
    let known = KINDS.iter().find(|(number, _)| *number == kind);
    let kind = known.map_or_else(|| format!("{UNKNOWN}({kind})"), |(_, kind)| (*kind).to_owned());
    if name.is_empty() {
        kind
    } else {
        format!("{kind}:{name}")
    }
}

/// The resource that has a name.
pub(super) fn resource(name: &str) -> Option<(i8, String)> {
    let (kind, resource) = name.split_once(':').unwrap_or((name, ""));
    let known = KINDS.iter().find(|(_, known)| *known == kind);
    let number = match known {
        Some((number, _)) => *number,
        None => kind
            .strip_prefix(UNKNOWN)?
            .strip_prefix('(')?
            .strip_suffix(')')?
            .parse()
            .ok()?,
    };
    Some((number, resource.to_owned()))
}

/// The name of an entity with quotas: each kind, and which one in brackets. Kafka's tool leaves out a kind that stands for
/// all that have no quota of their own, so that several entities get one name; here each has its own.
pub(super) fn of_entity(entity: &BTreeMap<&str, Option<&str>>) -> String {
    let parts = entity.iter().map(|(kind, name)| {
        let kind = if *kind == "client-id" {
            "clientId".into()
        } else {
            escaped(kind)
        };
        match name {
            // Somebody may have this name.
            Some(DEFAULT) => format!("{kind}(\\{DEFAULT})"),
            Some(name) => format!("{kind}({})", escaped(name)),
            None => format!("{kind}({DEFAULT})"),
        }
    });
    parts.collect::<Vec<_>>().join("_")
}

fn escaped(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len());
    for character in name.chars() {
        if matches!(character, '\\' | '(' | ')') {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

const KINDS: [(i8, &str); 5] = [
    (2, "TOPIC"),
    (4, "BROKER"),
    (8, "BROKER_LOGGER"),
    (16, "CLIENT_METRICS"),
    (32, "GROUP"),
];
const UNKNOWN: &str = "UNKNOWN";
const DEFAULT: &str = "<default>";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_are_found_by_their_names() {
        let rows = [
            ((2, "a:b"), "TOPIC:a:b"),
            ((4, ""), "BROKER"),
            ((8, "1"), "BROKER_LOGGER:1"),
            ((77, "x"), "UNKNOWN(77):x"),
            ((-1, ""), "UNKNOWN(-1)"),
        ];
        for ((kind, name), text) in rows {
            assert_eq!(of_resource(kind, name), text);
            assert_eq!(resource(text), Some((kind, name.to_owned())));
        }
        assert_eq!(resource("TOPICS:a"), None);
        assert_eq!(resource("UNKNOWN:a"), None);
    }

    #[test]
    fn entities_have_kafkas_names_and_defaults_one_of_their_own() {
        let entity =
            |parts: &[(&'static str, Option<&'static str>)]| of_entity(&parts.iter().copied().collect());
        let both = [("user", Some("a(b)\\")), ("client-id", Some("c"))];
        assert_eq!(entity(&both), "clientId(c)_user(a\\(b\\)\\\\)");
        assert_eq!(entity(&[("ip", None)]), "ip(<default>)");
        assert_eq!(entity(&[("ip", Some("<default>"))]), "ip(\\<default>)");
        assert_eq!(
            entity(&[("user", Some("u")), ("client-id", None)]),
            "clientId(<default>)_user(u)"
        );
    }
}
