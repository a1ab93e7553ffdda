//! How many connections a listener takes.

use super::{
    error::ConfigError,
    values::{Values, parse_integer, wrong},
};

/// The keys `max.connections*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionSettings {
    /// `max.connections`; absent where the file does not limit them.
    pub max: Option<i32>,
    /// `max.connections.per.ip`; absent where the file does not limit them.
    pub max_per_ip: Option<i32>,
    /// `max.connections.per.ip.overrides`: a host name or address, and its own limit.
    pub overrides: Vec<(String, i32)>,
}

impl ConnectionSettings {
    pub(super) fn from_values(values: Values<'_>) -> Result<Self, ConfigError> {
        let limit = |key| Ok(Some(values.int(key, i32::MAX, 0)?).filter(|max| *max < i32::MAX));
        let settings = Self {
            max: limit("max.connections")?,
            max_per_ip: limit(PER_IP)?,
            overrides: overrides(values)?,
        };
        if settings.max_per_ip == Some(0) && settings.overrides.is_empty() {
            return Err(ConfigError::Conflict {
                key: PER_IP,
                value: "0".to_owned(),
                reason: format!("nobody could connect; {OVERRIDES} has to say who can"),
            });
        }
        Ok(settings)
    }
}

fn overrides(values: Values<'_>) -> Result<Vec<(String, i32)>, ConfigError> {
    let Some(text) = values.non_empty(OVERRIDES) else {
        return Ok(Vec::new());
    };
    text.split(',')
        .map(str::trim)
        .map(|given| {
            let (host, limit) =
                host_and_limit(given).ok_or_else(|| wrong(OVERRIDES, given, "HOST:COUNT,…"))?;
            let limit = parse_integer(OVERRIDES, limit, 0..=i64::from(i32::MAX))?;
            let limit = i32::try_from(limit).expect("the range ends at the largest 32-bit number");
            Ok((host.to_owned(), limit))
        })
        .collect()
}

fn host_and_limit(entry: &str) -> Option<(&str, &str)> {
    // The last colon, since an IPv6 address has some of its own.
    let (host, limit) = entry.rsplit_once(':')?;
    let host = host.trim();
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-%._:".contains(&byte);
    (!host.is_empty() && host.bytes().all(allowed)).then_some((host, limit.trim()))
}

const PER_IP: &str = "max.connections.per.ip";
const OVERRIDES: &str = "max.connections.per.ip.overrides";
