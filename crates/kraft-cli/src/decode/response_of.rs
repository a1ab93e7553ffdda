//! The value of `--response`: of which request the frames are answers.

use std::str::FromStr;

use kraft_wire::ApiKey;
use thiserror::Error;

/// API and version of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ResponseOf {
    pub(super) api: ApiKey,
    pub(super) version: i16,
}

/// Why a text names no request.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum ResponseOfError {
    #[error("not of the form API:VERSION")]
    Form,
    #[error("{api} is not an API of a controller listener")]
    UnknownApi { api: String },
    #[error("{version} is not a version")]
    Version { version: String },
}

impl FromStr for ResponseOf {
    type Err = ResponseOfError;

    fn from_str(text: &str) -> Result<Self, ResponseOfError> {
        let (api, version) = text.split_once(':').ok_or(ResponseOfError::Form)?;
        let found = match api.parse() {
            Ok(key) => ApiKey::from_key(key),
            Err(_) => ApiKey::ALL.iter().copied().find(|known| is_name(api, *known)),
        };
        Ok(Self {
            api: found.ok_or_else(|| ResponseOfError::UnknownApi { api: api.to_owned() })?,
            version: version.parse().map_err(|_| ResponseOfError::Version {
                version: version.to_owned(),
            })?,
        })
    }
}

/// `FetchSnapshot` and `FETCH_SNAPSHOT` are both in use among Kafka's tools.
fn is_name(text: &str, api: ApiKey) -> bool {
    text.replace('_', "").eq_ignore_ascii_case(api.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers() {
        let expected = Ok(ResponseOf {
            api: ApiKey::FetchSnapshot,
            version: 1,
        });
        assert_eq!("FetchSnapshot:1".parse(), expected);
        assert_eq!("FETCH_SNAPSHOT:1".parse(), expected);
        assert_eq!("59:1".parse(), expected);
        assert_eq!("FetchSnapshot".parse::<ResponseOf>(), Err(ResponseOfError::Form));
        let unknown = ResponseOfError::UnknownApi {
            api: "Fetsch".to_owned(),
        };
        assert_eq!("Fetsch:1".parse::<ResponseOf>(), Err(unknown));
        let version = ResponseOfError::Version {
            version: "x".to_owned(),
        };
        assert_eq!("59:x".parse::<ResponseOf>(), Err(version));
    }
}
