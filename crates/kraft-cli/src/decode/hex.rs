//! Bytes as hex digits.

use bytes::Bytes;
use thiserror::Error;

/// Why a text is not hex.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(super) enum HexError {
    #[error("character {position} is not a hex digit")]
    NotADigit { position: usize },
    #[error("the last byte has only one hex digit")]
    HalfAByte { position: usize },
}

/// Reads pairs of digits; blanks and colons are passed over.
pub(super) fn decode(text: &[u8]) -> Result<Bytes, HexError> {
    let mut bytes = Vec::with_capacity(text.len() / 2);
    let mut high = None;
    for (position, character) in text.iter().enumerate() {
        if character.is_ascii_whitespace() || *character == b':' {
            continue;
        }
        let digit = char::from(*character).to_digit(16);
        let digit = digit.ok_or(HexError::NotADigit { position })? as u8;
        match high.take() {
            None => high = Some(digit),
            Some(high) => bytes.push(high << 4 | digit),
        }
    }
    match high {
        None => Ok(Bytes::from(bytes)),
        Some(_) => Err(HexError::HalfAByte { position: text.len() }),
    }
}

/// The bytes as small digits.
pub(super) fn encode(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(value.into(), 16).expect("four bits are a hex digit");
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 0x0f)])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_with_and_without_separators() {
        assert_eq!(decode(b"00aFff").unwrap(), [0x00, 0xaf, 0xff].as_slice());
        assert_eq!(decode(b"00:af ff").unwrap(), [0x00, 0xaf, 0xff].as_slice());
        assert_eq!(encode(&[0x00, 0xaf, 0xff]), "00afff");
        assert_eq!(decode(b"").unwrap(), [].as_slice());
    }

    #[test]
    fn what_is_not_hex_is_named() {
        assert_eq!(decode(b"00x0"), Err(HexError::NotADigit { position: 2 }));
        assert_eq!(decode(b"000"), Err(HexError::HalfAByte { position: 3 }));
        assert_eq!(decode("0ü".as_bytes()), Err(HexError::NotADigit { position: 1 }));
    }
}
