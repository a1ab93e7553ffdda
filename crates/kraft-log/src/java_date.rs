//! The date line of a properties file, as Java's `Date` prints it in UTC.

const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];
const DAY_MS: i64 = 86_400_000;
const DAYS_OF_400_YEARS: i64 = 146_097;
/// Days from the first of March of the year 0 to the first of January 1970.
const EPOCH_DAY: i64 = 719_468;

/// For example `Sun Nov 29 13:55:37 UTC 2026`.
pub(crate) fn format(unix_ms: i64) -> String {
    let day = unix_ms.div_euclid(DAY_MS);
    let second = unix_ms.rem_euclid(DAY_MS) / 1000;
    let (year, month, day_of_month) = civil(day);
    let weekday = DAYS[usize::try_from(day.rem_euclid(7)).expect("a remainder of seven")];
    let month = MONTHS[usize::try_from(month).expect("a month from 0 to 11")];
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{weekday} {month} {day_of_month:02} {hour:02}:{minute:02}:{second:02} UTC {year}")
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
    #[test]
    fn dates_are_those_of_java() {
        assert_eq!(super::format(0), "Thu Jan 01 00:00:00 UTC 1970");
        assert_eq!(super::format(1_795_960_537_123), "Sun Nov 29 13:55:37 UTC 2026");
        assert_eq!(super::format(951_827_696_000), "Tue Feb 29 12:34:56 UTC 2000");
        assert_eq!(super::format(1_709_251_199_999), "Thu Feb 29 23:59:59 UTC 2024");
        assert_eq!(super::format(4_107_542_400_000), "Mon Mar 01 00:00:00 UTC 2100");
        assert_eq!(super::format(-1), "Wed Dec 31 23:59:59 UTC 1969");
    }
}
