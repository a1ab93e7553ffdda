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

/// A moment as Java prints it in ISO form, in UTC.
pub(super) fn iso_time(unix_ms: i64) -> String {
    let (year, month, day) = civil(unix_ms.div_euclid(DAY_MS));
    let in_day = unix_ms.rem_euclid(DAY_MS);
    let (second, millisecond) = (in_day / 1000, in_day % 1000);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let year = match year {
        0..=9999 => format!("{year:04}"),
        10_000.. => format!("+{year}"),
        _ => format!("-{:04}", -year),
    };
    let fraction = match millisecond {
        0 => String::new(),
        _ => format!(".{millisecond:03}").trim_end_matches('0').to_owned(),
    };
    format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z[UTC]")
}

/// Year, month and day of the month of a day counted from 1970. Years are taken to begin in March, which puts the leap
/// day at their end.
fn civil(day: i64) -> (i64, i64, i64) {
    let day = day + DAYS_TO_1970;
    let era = day.div_euclid(DAYS_OF_400_YEARS);
    let day_of_era = day.rem_euclid(DAYS_OF_400_YEARS);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = (march_month + 2) % 12 + 1;
    (
        era * 400 + year_of_era + i64::from(month < 3),
        month,
        day_of_month,
    )
}

const DAY_MS: i64 = 86_400_000;
const DAYS_OF_400_YEARS: i64 = 146_097;
/// Days from the first of March of the year 0 to the first of January 1970.
const DAYS_TO_1970: i64 = 719_468;

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

    #[test]
    fn moments_are_those_of_java() {
        assert_eq!(iso_time(-1), "1969-12-31T23:59:59.999Z[UTC]");
        assert_eq!(iso_time(0), "1970-01-01T00:00:00Z[UTC]");
        assert_eq!(iso_time(1_795_964_682_120), "2026-11-29T15:04:42.12Z[UTC]");
        assert_eq!(iso_time(951_827_696_000), "2000-02-29T12:34:56Z[UTC]");
        assert_eq!(iso_time(i64::MAX), "+292278994-08-17T07:12:55.807Z[UTC]");
        assert_eq!(iso_time(i64::MIN), "-292275055-05-16T16:47:04.192Z[UTC]");
    }
}
