//! `HOST:PORT` on the command line.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Where to connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) host: String,
    pub(crate) port: u16,
}

/// Not of that form.
#[derive(Debug, Error)]
#[error("expected HOST:PORT, such as 127.0.0.1:9093 or [::1]:9093")]
pub(crate) struct AddressError;

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (host, port) = text.trim().rsplit_once(':').ok_or(AddressError)?;
        let host = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'))
            .unwrap_or(host);
        if host.is_empty() || !host.chars().all(in_hosts) {
            return Err(AddressError);
        }
        Ok(Address {
            host: host.to_owned(),
            port: port.parse().map_err(|_| AddressError)?,
        })
    }
}

/// Whether a host that can be found may contain it: the characters that Kafka's tools take.
fn in_hosts(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '-' | '%' | '.' | '_' | ':')
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for (text, expected) in [
            ("localhost:9093", Some("localhost:9093")),
            (" 127.0.0.1:1 ", Some("127.0.0.1:1")),
            ("[::1]:9093", Some("[::1]:9093")),
            ("::1:9093", Some("[::1]:9093")),
            ("localhost", None),
            (":9093", None),
            ("localhost:65536", None),
            ("localhost:x", None),
            ("[fe80::1%eth0]:1", Some("[fe80::1%eth0]:1")),
            ("under_score-1.example:1", Some("under_score-1.example:1")),
            ("[::1:9093", None),
            ("::1]:9093", None),
            ("PLAINTEXT://localhost:9093", None),
            ("local host:9093", None),
            ("local\u{1b}host:9093", None),
        ] {
            let parsed = text.parse::<Address>().ok().map(|address| address.to_string());
            assert_eq!(parsed.as_deref(), expected, "{text}");
        }
    }
}
