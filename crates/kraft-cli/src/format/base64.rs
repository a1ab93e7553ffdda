//! Standard base64 with padding, strictly.

/// The bytes, or nothing where the text is not base64.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=');
    if !text.len().is_multiple_of(4) || text.len() - digits.len() > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() * 3 / 4);
    let (mut value, mut bits) = (0_u32, 0);
    for digit in digits.bytes() {
        value = value << 6 | u32::from(value_of(digit)?);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((value >> bits) as u8);
            value &= (1 << bits) - 1;
        }
    }
    // Left-over bits belong to no byte.
    (value == 0).then_some(bytes)
}

fn value_of(digit: u8) -> Option<u8> {
    match digit {
        b'A'..=b'Z' => Some(digit - b'A'),
        b'a'..=b'z' => Some(digit - b'a' + 26),
        b'0'..=b'9' => Some(digit - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_base64() {
        for (text, expected) in [
            ("", Some(&b""[..])),
            ("TQ==", Some(b"M")),
            ("TWE=", Some(b"Ma")),
            ("TWFu", Some(b"Man")),
            ("+/+/", Some(&[0xfb, 0xff, 0xbf])),
            ("TQ=", None),
            ("TQ", None),
            ("TR==", None),
            ("T===", None),
            ("TW_u", None),
            ("TQ==TQ==", None),
        ] {
            assert_eq!(decode(text).as_deref(), expected, "{text}");
        }
    }
}
