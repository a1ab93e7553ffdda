//! Kafka's text form of a uuid: 22 characters of url-safe base64 without padding.
//!
//! ```
//! use kraft_wire::uuid_text::{METADATA_TOPIC_ID, format, is_reserved, parse};
//!
//! assert_eq!(format(&METADATA_TOPIC_ID), "AAAAAAAAAAAAAAAAAAAAAQ");
//! let id = parse("J8aAPcfLQt2bqs1JT_rMgQ")?;
//! assert!(!is_reserved(&id));
//! # Ok::<(), kraft_wire::uuid_text::UuidTextError>(())
//! ```

use alloc::string::String;
use alloc::vec::Vec;

use thiserror::Error;
use uuid::Uuid;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Length of the text form.
pub const TEXT_LENGTH: usize = 22;

/// The id of the metadata topic, which is never generated: the number one.
pub const METADATA_TOPIC_ID: Uuid = Uuid::from_u128(1);

/// Directory id of a replica that has not been migrated to directories.
pub const DIRECTORY_MIGRATING: Uuid = Uuid::from_u128(0);

/// Directory id of a replica to which no directory has been assigned.
pub const DIRECTORY_UNASSIGNED: Uuid = Uuid::from_u128(1);

/// Directory id of a replica whose directory is lost.
pub const DIRECTORY_LOST: Uuid = Uuid::from_u128(2);

/// Below this number, the lower halves of ids whose upper half is zero are never generated: Kafka keeps them for
/// meanings of their own.
const RESERVED_END: i64 = 100;

/// Why a text is not a uuid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum UuidTextError {
    /// Not 22 characters.
    #[error("an id has {TEXT_LENGTH} characters, this has {length}")]
    Length {
        /// Bytes of the text.
        length: usize,
    },
    /// A character outside the url-safe base64 alphabet.
    #[error("character {position} is not url-safe base64")]
    Character {
        /// Which character, counted from 0.
        position: usize,
    },
    /// The last character carries bits beyond the sixteenth byte.
    #[error("the last character has bits that belong to no byte")]
    TrailingBits,
}

/// The text form.
pub fn format(id: &Uuid) -> String {
    base64url(id.as_bytes())
}

/// Reads the text form; nothing else is accepted.
pub fn parse(text: &str) -> Result<Uuid, UuidTextError> {
    if text.len() != TEXT_LENGTH {
        return Err(UuidTextError::Length { length: text.len() });
    }
    let mut value = 0_u128;
    for (position, byte) in text.bytes().enumerate() {
        let digit = ALPHABET.iter().position(|candidate| *candidate == byte);
        let digit = digit.ok_or(UuidTextError::Character { position })? as u128;
        if position < TEXT_LENGTH - 1 {
            value = value << 6 | digit;
        } else if digit & 0x0f != 0 {
            return Err(UuidTextError::TrailingBits);
        } else {
            value = value << 2 | digit >> 4;
        }
    }
    Ok(Uuid::from_u128(value))
}

/// True for the ids that Kafka keeps for itself. Like Kafka it compares the lower half as a signed number, so the
/// negative ones are reserved too.
pub fn is_reserved(id: &Uuid) -> bool {
    let (high, low) = id.as_u64_pair();
    high == 0 && low.cast_signed() < RESERVED_END
}

/// Url-safe base64 without padding.
pub fn base64url(bytes: &[u8]) -> String {
    encode(bytes, ALPHABET, false)
}

/// Base64 with the standard alphabet and padding, as Kafka's JSON shows byte strings.
pub fn base64(bytes: &[u8]) -> String {
    let mut alphabet = *ALPHABET;
    alphabet[62] = b'+';
    alphabet[63] = b'/';
    encode(bytes, &alphabet, true)
}

fn encode(bytes: &[u8], alphabet: &[u8; 64], padding: bool) -> String {
    let mut text = Vec::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let mut group = 0_u32;
        for index in 0..3 {
            group = group << 8 | u32::from(chunk.get(index).copied().unwrap_or(0));
        }
        for index in 0..4 {
            if index <= chunk.len() {
                text.push(alphabet[(group >> (18 - 6 * index)) as usize & 0x3f]);
            } else if padding {
                text.push(b'=');
            }
        }
    }
    text.into_iter().map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directory_ids_with_a_meaning_are_kafkas() {
        assert_eq!(format(&DIRECTORY_MIGRATING), "AAAAAAAAAAAAAAAAAAAAAA");
        assert_eq!(format(&DIRECTORY_UNASSIGNED), "AAAAAAAAAAAAAAAAAAAAAQ");
        assert_eq!(format(&DIRECTORY_LOST), "AAAAAAAAAAAAAAAAAAAAAg");
    }

    #[test]
    fn text_and_id_agree() {
        let id = Uuid::from_u128(0x27c6803dc7cb42dd9baacd494ffacc81);
        assert_eq!(format(&id), "J8aAPcfLQt2bqs1JT_rMgQ");
        assert_eq!(parse("J8aAPcfLQt2bqs1JT_rMgQ"), Ok(id));
        assert_eq!(format(&METADATA_TOPIC_ID), "AAAAAAAAAAAAAAAAAAAAAQ");
        assert_eq!(parse("AAAAAAAAAAAAAAAAAAAAAQ"), Ok(METADATA_TOPIC_ID));
    }

    #[test]
    fn only_the_one_form_is_read() {
        assert_eq!(
            parse("J8aAPcfLQt2bqs1JT_rMg"),
            Err(UuidTextError::Length { length: 21 })
        );
        assert_eq!(
            parse("J8aAPcfLQt2bqs1JT_rMgQ=="),
            Err(UuidTextError::Length { length: 24 })
        );
        assert_eq!(
            parse("J8aAPcfLQt2bqs1JT/rMgQ"),
            Err(UuidTextError::Character { position: 17 })
        );
        assert_eq!(parse("J8aAPcfLQt2bqs1JT_rMgR"), Err(UuidTextError::TrailingBits));
    }

    #[test]
    fn the_first_hundred_ids_are_reserved() {
        assert!(is_reserved(&Uuid::nil()));
        assert!(is_reserved(&Uuid::from_u128(99)));
        assert!(!is_reserved(&Uuid::from_u128(100)));
        // The lower half is a signed number.
        assert!(!is_reserved(&Uuid::from_u64_pair(0, i64::MAX as u64)));
        assert!(is_reserved(&Uuid::from_u64_pair(0, 1 << 63)));
        assert!(is_reserved(&Uuid::from_u64_pair(0, u64::MAX)));
        assert!(!is_reserved(&Uuid::from_u64_pair(1, 0)));
        assert!(!is_reserved(&Uuid::from_u64_pair(u64::MAX, u64::MAX)));
    }

    #[test]
    fn padded_base64_for_byte_strings() {
        assert_eq!(base64(b""), "");
        assert_eq!(base64(b"a"), "YQ==");
        assert_eq!(base64(b"ab"), "YWI=");
        assert_eq!(base64(&[0xfb, 0xff, 0xfe]), "+//+");
    }
}
