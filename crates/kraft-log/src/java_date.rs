//! Moments as Java prints them, in UTC.

const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];
const DAY_MS: i64 = 86_400_000;
const DAYS_OF_400_YEARS: i64 = 146_097;
/// Days from the first of March of the year 0 to the first of January 1970.
const EPOCH_DAY: i64 = 719_468;

/// As `Date` does, in the date line of a properties file: for example `Sun Nov 29 13:55:37 UTC 2026`.
pub(crate) fn date(unix_ms: i64) -> String {
    let day = unix_ms.div_euclid(DAY_MS);
    let (year, month, day_of_month) = civil(day);
    let weekday = DAYS[usize::try_from(day.rem_euclid(7)).expect("a remainder of seven")];
    let month = MONTHS[usize::try_from(month).expect("a month from 0 to 11")];
    let (hour, minute, second) = clock(unix_ms);
    format!("{weekday} {month} {day_of_month:02} {hour:02}:{minute:02}:{second:02} UTC {year}")
}

/// As `ZonedDateTime` does: for example `2026-11-29T15:04:42.12Z[UTC]`. `unix_ms` are milliseconds since 1970.
#[must_use]
pub fn iso(unix_ms: i64) -> String {
    let (year, month, day) = civil(unix_ms.div_euclid(DAY_MS));
    let (hour, minute, second) = clock(unix_ms);
    let year = match year {
        0..=9999 => format!("{year:04}"),
        10_000.. => format!("+{year}"),
        _ => format!("-{:04}", -year),
    };
    let fraction = match unix_ms.rem_euclid(1000) {
        0 => String::new(),
        millisecond => format!(".{millisecond:03}").trim_end_matches('0').to_owned(),
    };
    let month = month + 1;
    format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z[UTC]")
}

/// Hour, minute and second of the day.
fn clock(unix_ms: i64) -> (i64, i64, i64) {
    let second = unix_ms.rem_euclid(DAY_MS) / 1000;
    (second / 3600, second / 60 % 60, second % 60)
}

/// Year, month (from 0) and day of the month of a day counted from 1970. Years are taken to begin in March, which
/// puts the leap day at their end.
fn civil(day: i64) -> (i64, i64, i64) {
    let day = day + EPOCH_DAY;
    let era = day.div_euclid(DAYS_OF_400_YEARS);
    let day_of_era = day.rem_euclid(DAYS_OF_400_YEARS);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = (march_month + 2) % 12;
    let year = era * 400 + year_of_era + i64::from(month < 2);
    (year, month, day_of_month)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_java() {
        assert_eq!(date(0), "Thu Jan 01 00:00:00 UTC 1970");
        assert_eq!(date(1_795_960_537_123), "Sun Nov 29 13:55:37 UTC 2026");
        assert_eq!(date(951_827_696_000), "Tue Feb 29 12:34:56 UTC 2000");
        assert_eq!(date(1_709_251_199_999), "Thu Feb 29 23:59:59 UTC 2024");
        assert_eq!(date(4_107_542_400_000), "Mon Mar 01 00:00:00 UTC 2100");
        assert_eq!(date(-1), "Wed Dec 31 23:59:59 UTC 1969");
    }

    #[test]
    fn moments_are_those_of_java() {
        assert_eq!(iso(-1), "1969-12-31T23:59:59.999Z[UTC]");
        assert_eq!(iso(0), "1970-01-01T00:00:00Z[UTC]");
        assert_eq!(iso(1_795_964_682_120), "2026-11-29T15:04:42.12Z[UTC]");
        assert_eq!(iso(951_827_696_000), "2000-02-29T12:34:56Z[UTC]");
        assert_eq!(iso(i64::MAX), "+292278994-08-17T07:12:55.807Z[UTC]");
        assert_eq!(iso(i64::MIN), "-292275055-05-16T16:47:04.192Z[UTC]");
    }
}
