//! Hosts and ports as Kafka writes them.

use kraft_core::Endpoint;

/// Reads `host:port`. A scheme before it and brackets around the host are allowed and dropped.
pub(crate) fn host_and_port(text: &str) -> Option<Endpoint> {
    let address = text.split_once("://").map_or(text, |(_, address)| address);
    let (host, port) = split_port(address)?;
    (!host.is_empty()).then(|| Endpoint {
        host: host.into(),
        port,
    })
}

/// Splits at the last colon and checks the characters of the host, which may be empty.
pub(super) fn split_port(address: &str) -> Option<(&str, u16)> {
    let (host, port) = address.rsplit_once(':')?;
    let host = host.strip_prefix('[').unwrap_or(host);
    let host = host.strip_suffix(']').unwrap_or(host);
    let host_ok = host
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '%' | '.' | '_' | ':'));
    let port_ok = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    if host_ok && port_ok {
        Some((host, port.parse().ok()?))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let cases: &[(&str, Option<(&str, u16)>)] = &[
            ("localhost:9093", Some(("localhost", 9093))),
            ("[::1]:9093", Some(("::1", 9093))),
            ("::1:9093", Some(("::1", 9093))),
            ("[fe80::1%eth0]:1", Some(("fe80::1%eth0", 1))),
            ("CONTROLLER://c1:9093", Some(("c1", 9093))),
            ("c_1.example:65535", Some(("c_1.example", 65535))),
            ("c1:65536", None),
            ("c1:", None),
            ("c1", None),
            (":9093", None),
            ("c1:+1", None),
            ("c1:-1", None),
            ("c 1:9093", None),
            ("c1/x:9093", None),
            ("", None),
        ];
        for (text, expected) in cases {
            let parsed = host_and_port(text);
            let parsed = parsed
                .as_ref()
                .map(|endpoint| (endpoint.host.as_str(), endpoint.port));
            assert_eq!(parsed, *expected, "{text}");
        }
    }
}
