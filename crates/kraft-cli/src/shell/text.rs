//! Texts as Kafka's tool prints them.

use std::cmp::Ordering;

/// The order of Java's strings: that of their UTF-16 units.
pub(super) fn java_order(one: &str, other: &str) -> Ordering {
    if one.is_ascii() && other.is_ascii() {
        one.cmp(other)
    } else {
        one.encode_utf16().cmp(other.encode_utf16())
    }
}

/// A number as Java prints a `double`.
pub(super) fn java_double(value: f64) -> String {
    let magnitude = value.abs();
    if value.is_nan() {
        "NaN".to_owned()
    } else if value.is_infinite() {
        let sign = if value < 0.0 { "-" } else { "" };
        format!("{sign}Infinity")
    } else if value == 0.0 || (1e-3..1e7).contains(&magnitude) {
        format!("{value:?}")
    } else {
        let scientific = format!("{value:e}");
        let (digits, exponent) = scientific.split_once('e').expect("that is the form");
        let point = if digits.contains('.') { "" } else { ".0" };
        format!("{digits}{point}E{exponent}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_in_the_order_of_java() {
        // U+1D306 is a pair of units that begins with D834, below U+FF5E.
        assert_eq!(java_order("\u{1d306}", "\u{ff5e}"), Ordering::Less);
        assert_eq!(java_order("10", "2"), Ordering::Less);
        assert_eq!(java_order("é", "z"), Ordering::Greater);
    }

    #[test]
    fn numbers_are_those_of_java() {
        let rows = [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (10.0, "10.0"),
            (12.25, "12.25"),
            (0.001, "0.001"),
            (0.00025, "2.5E-4"),
            (9_999_999.0, "9999999.0"),
            (1e7, "1.0E7"),
            (-1.25e9, "-1.25E9"),
            (f64::MAX, "1.7976931348623157E308"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
            (f64::NAN, "NaN"),
        ];
        for (value, text) in rows {
            assert_eq!(java_double(value), text);
        }
    }
}
