//! `--add-scram`: a credential of the cluster's first records (RFC 5802, KIP-900).

use std::str::FromStr;

use hmac::{Hmac, KeyInit, Mac};
use kraft_metadata::bootstrap::{ScramCredential, ScramMechanism};
use sha2::{Digest, Sha256, Sha512};
use thiserror::Error;

use super::base64;

/// What `--add-scram` says: `MECHANISM=[name=…,password=…,…]`.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct ScramSpec {
    mechanism: ScramMechanism,
    name: String,
    salt: Option<Vec<u8>>,
    iterations: u32,
    secret: Secret,
}

#[derive(Clone, PartialEq, Eq)]
enum Secret {
    Password(String),
    Salted(Vec<u8>),
}

/// Why it says nothing.
#[derive(Debug, PartialEq, Eq, Error)]
pub(super) enum ScramError {
    #[error("expected MECHANISM=[name=…,password=…], where MECHANISM is SCRAM-SHA-256 or SCRAM-SHA-512")]
    Form,
    #[error("{key} is given twice")]
    Twice { key: String },
    #[error("unknown key {key}; known are name, password, salt, iterations, saltedpassword")]
    UnknownKey { key: String },
    #[error("{key} is missing")]
    Missing { key: &'static str },
    #[error("give either password or saltedpassword, not both")]
    TwoSecrets,
    #[error("{key} is not base64")]
    Base64 { key: &'static str },
    #[error("iterations has to be a number from {ITERATIONS_MIN} to {ITERATIONS_MAX}")]
    Iterations,
}

impl ScramSpec {
    /// Derives the credential; `random_salt` is asked where the specification names no salt.
    pub(super) fn credential<E>(
        &self,
        random_salt: impl FnOnce() -> Result<Vec<u8>, E>,
    ) -> Result<ScramCredential, E> {
        let salt = match &self.salt {
            Some(salt) => salt.clone(),
            None => random_salt()?,
        };
        let (stored_key, server_key) = match self.mechanism {
            ScramMechanism::Sha256 => {
                let salted = self.salted(&salt, |password, salt, rounds| {
                    let mut out = vec![0; Sha256::output_size()];
                    pbkdf2::pbkdf2_hmac::<Sha256>(password, salt, rounds, &mut out);
                    out
                });
                (
                    Sha256::digest(hmac_sha256(&salted, CLIENT_KEY)).to_vec(),
                    hmac_sha256(&salted, SERVER_KEY),
                )
            }
            ScramMechanism::Sha512 => {
                let salted = self.salted(&salt, |password, salt, rounds| {
                    let mut out = vec![0; Sha512::output_size()];
                    pbkdf2::pbkdf2_hmac::<Sha512>(password, salt, rounds, &mut out);
                    out
                });
                (
                    Sha512::digest(hmac_sha512(&salted, CLIENT_KEY)).to_vec(),
                    hmac_sha512(&salted, SERVER_KEY),
                )
            }
        };
        Ok(ScramCredential {
            name: self.name.clone(),
            mechanism: self.mechanism,
            salt,
            stored_key,
            server_key,
            iterations: i32::try_from(self.iterations).expect("the iterations are bounded"),
        })
    }

    fn salted(&self, salt: &[u8], derive: impl FnOnce(&[u8], &[u8], u32) -> Vec<u8>) -> Vec<u8> {
        match &self.secret {
            Secret::Password(password) => derive(password.as_bytes(), salt, self.iterations),
            Secret::Salted(salted) => salted.clone(),
        }
    }
}

impl FromStr for ScramSpec {
    type Err = ScramError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (mechanism, rest) = text.split_once('=').ok_or(ScramError::Form)?;
        let mechanism = match mechanism.trim() {
            "SCRAM-SHA-256" => ScramMechanism::Sha256,
            "SCRAM-SHA-512" => ScramMechanism::Sha512,
            _ => return Err(ScramError::Form),
        };
        let inside = rest
            .trim()
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        let mut fields = Fields::parse(inside.ok_or(ScramError::Form)?)?;
        let name = fields.take("name").ok_or(ScramError::Missing { key: "name" })?;
        let salt = fields.take_base64("salt")?;
        let iterations = match fields.take("iterations") {
            None => ITERATIONS_MIN,
            Some(text) => text.parse().map_err(|_| ScramError::Iterations)?,
        };
        if !(ITERATIONS_MIN..=ITERATIONS_MAX).contains(&iterations) {
            return Err(ScramError::Iterations);
        }
        let secret = match (fields.take("password"), fields.take_base64("saltedpassword")?) {
            (Some(password), None) => Secret::Password(password),
            (None, Some(_)) if salt.is_none() => return Err(ScramError::Missing { key: "salt" }),
            (None, Some(salted)) => Secret::Salted(salted),
            (Some(_), Some(_)) => return Err(ScramError::TwoSecrets),
            (None, None) => return Err(ScramError::Missing { key: "password" }),
        };
        match fields.0.pop() {
            Some((key, _)) => Err(ScramError::UnknownKey { key }),
            None => Ok(ScramSpec {
                mechanism,
                name,
                salt,
                iterations,
                secret,
            }),
        }
    }
}

/// The `key=value` pairs between the brackets.
struct Fields(Vec<(String, String)>);

impl Fields {
    /// A value is quoted, or ends at the next comma.
    fn parse(mut rest: &str) -> Result<Fields, ScramError> {
        let mut fields = Fields(Vec::new());
        while !rest.trim().is_empty() {
            let (key, after) = rest.split_once('=').ok_or(ScramError::Form)?;
            let key = key.trim().to_owned();
            let (value, after) = match after.strip_prefix('"') {
                Some(quoted) => quoted.split_once('"').ok_or(ScramError::Form)?,
                None => {
                    let end = after.find(',').unwrap_or(after.len());
                    (after[..end].trim(), &after[end..])
                }
            };
            if fields.0.iter().any(|(known, _)| *known == key) {
                return Err(ScramError::Twice { key });
            }
            fields.0.push((key, value.to_owned()));
            let after = after.trim_start();
            rest = match after.strip_prefix(',') {
                Some(rest) => rest,
                None if after.is_empty() => after,
                None => return Err(ScramError::Form),
            };
        }
        Ok(fields)
    }

    fn take(&mut self, key: &str) -> Option<String> {
        let at = self.0.iter().position(|(known, _)| known == key)?;
        Some(self.0.remove(at).1).filter(|value| !value.is_empty())
    }

    fn take_base64(&mut self, key: &'static str) -> Result<Option<Vec<u8>>, ScramError> {
        let Some(text) = self.take(key) else {
            return Ok(None);
        };
        base64::decode(&text).map(Some).ok_or(ScramError::Base64 { key })
    }
}

fn hmac_sha256(key: &[u8], message: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(message);
    mac.finalize().into_bytes().to_vec()
}

fn hmac_sha512(key: &[u8], message: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha512>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(message);
    mac.finalize().into_bytes().to_vec()
}

const CLIENT_KEY: &[u8] = b"Client Key";
const SERVER_KEY: &[u8] = b"Server Key";
const ITERATIONS_MIN: u32 = 4096;
const ITERATIONS_MAX: u32 = 16384;

#[cfg(test)]
#[path = "scram_test.rs"]
mod tests;
