//! Values as the texts of Kafka's answers spell them. Operators and their tools read these texts, so they are part of
//! what a node answers.

use crate::{endpoints::Endpoints, ids::ReplicaKey, voter_set::VoterSet};
use alloc::{format, string::String, vec::Vec};
use uuid::Uuid;

/// `ReplicaKey(id=1, directoryId=…)`.
pub(crate) fn replica_key(key: &ReplicaKey) -> String {
    let directory = key
        .directory_id
        .map_or_else(|| String::from("<undefined>"), directory);
    format!("ReplicaKey(id={}, directoryId={directory})", key.id)
}

/// The keys of all voters.
pub(crate) fn voter_keys(voters: &VoterSet) -> String {
    let keys: Vec<String> = voters.iter().map(|voter| replica_key(&voter.key)).collect();
    format!("[{}]", keys.join(", "))
}

/// Every listener with its unresolved address.
pub(crate) fn endpoints(endpoints: &Endpoints) -> String {
    let all: Vec<String> = endpoints
        .iter()
        .map(|(name, endpoint)| {
            format!(
                "{}={}/<unresolved>:{}",
                listener_name(name),
                endpoint.host,
                endpoint.port
            )
        })
        .collect();
    format!("Endpoints(endpoints={{{}}})", all.join(", "))
}

/// `ListenerName(CONTROLLER)`.
pub(crate) fn listener_name(name: &str) -> String {
    format!("ListenerName({name})")
}

/// The 16 bytes in the URL-safe base64 alphabet, without padding.
fn directory(id: Uuid) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    // 22 digits of 6 bits hold 132 bits; the last 4 are zero.
    let number = id.as_u128();
    (0..22_u32)
        .map(|digit| {
            let end = 6 * (digit + 1);
            let bits = if end <= 128 {
                number >> (128 - end)
            } else {
                number << (end - 128)
            };
            char::from(ALPHABET[usize::try_from(bits & 63).expect("six bits")])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{endpoints::Endpoint, ids::NodeId};

    #[test]
    fn keys_and_endpoints_are_spelled_as_in_recorded_answers() {
        let key = ReplicaKey::new(NodeId(66), Uuid::from_bytes(*b"otherdirectory00"));
        assert_eq!(
            replica_key(&key),
            "ReplicaKey(id=66, directoryId=b3RoZXJkaXJlY3RvcnkwMA)"
        );
        let host = "127.0.0.1".into();
        let other = Endpoints::single("OTHER", Endpoint { host, port: 57123 });
        assert_eq!(
            endpoints(&other),
            "Endpoints(endpoints={ListenerName(OTHER)=127.0.0.1/<unresolved>:57123})"
        );
        assert_eq!(endpoints(&Endpoints::empty()), "Endpoints(endpoints={})");
    }
}
