//! Dates as servers write them in headers. Two short readers, since nothing else here needs a calendar.

use std::time::{Duration, SystemTime};

/// Reads a date as HTTP writes it: `Sun, 06 Nov 1994 08:49:37 GMT`.
pub(super) fn http_date(text: &str) -> Option<SystemTime> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (_, date) = text.split_once(", ")?;
    let mut words = date.split_ascii_whitespace();
    let day = words.next()?.parse().ok()?;
    let month = words.next()?;
    let month = MONTHS.iter().zip(1..).find(|(name, _)| **name == month)?.1;
    let year = words.next()?.parse().ok()?;
    let time = words.next()?;
    if words.next()? != "GMT" {
        return None;
    }
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(days(year, month, day)? * 86_400 + seconds(time)?))
}

/// Reads a date as RFC 3339 writes it: `1994-11-06T08:49:37.5Z`, `1994-11-06T10:49:37+02:00`. Parts of a second are
/// rounded up: who comes a moment too early has to come twice.
pub(super) fn rfc3339(text: &str) -> Option<SystemTime> {
    let (date, rest) = text.split_once(['T', 't', ' '])?;
    let mut parts = date.splitn(3, '-');
    let year = parts.next()?.parse().ok()?;
    let month = parts.next()?.parse().ok()?;
    let day = parts.next()?.parse().ok()?;
    let (time, zone) = rest.split_at(rest.find(['Z', 'z', '+', '-'])?);
    let (time, part) = match time.split_once('.') {
        Some((time, part)) => (time, u64::from(part.parse::<u64>().ok()? > 0)),
        None => (time, 0),
    };
    let local = days(year, month, day)? * 86_400 + seconds(time)? + part;
    let utc = match zone.split_at_checked(1)? {
        ("Z" | "z", "") => local,
        ("+", offset) => local.checked_sub(seconds(&format!("{offset}:00"))?)?,
        ("-", offset) => local + seconds(&format!("{offset}:00"))?,
        _ => return None,
    };
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(utc))
}

/// The seconds of a day at `08:49:37`.
fn seconds(time: &str) -> Option<u64> {
    let mut parts = time.splitn(3, ':').map(|part| part.parse::<u64>().ok());
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    (hour <= 23 && minute <= 59 && second <= 60).then_some((hour * 60 + minute) * 60 + second)
}

/// The days from 1970 to a date, whose month and day count from 1.
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    const DAYS_BEFORE_1970: u64 = 719_468;
    // Before 1970 there was no HTTP; the bounds keep the sums small.
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Counting from March puts the leap day at the end of the year, where it moves nothing else.
    let (year, month) = if month < 3 { (year - 1, month + 9) } else { (year, month - 3) };
    let days_of_years = year * 365 + year / 4 - year / 100 + year / 400;
    let days_of_months = (month * 153 + 2) / 5;
    (days_of_years + days_of_months + day - 1).checked_sub(DAYS_BEFORE_1970)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seconds_of(time: Option<SystemTime>) -> Option<u64> {
        Some(time?.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs())
    }

    #[test]
    fn the_same_moment_in_all_spellings() {
        assert_eq!(seconds_of(http_date("Sun, 06 Nov 1994 08:49:37 GMT")), Some(784_111_777));
        for text in [
            "1994-11-06T08:49:37Z",
            "1994-11-06t08:49:36.001z",
            "1994-11-06T10:49:37+02:00",
            "1994-11-06T03:19:37-05:30",
        ] {
            assert_eq!(seconds_of(rfc3339(text)), Some(784_111_777), "{text}");
        }
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in
            ["", "1994-11-06", "1994-13-06T08:49:37Z", "1994-11-06T08:49:37", "1994-11-06T25:49:37Z", "TZ"]
        {
            assert_eq!(rfc3339(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_a_reader_panic(text in "\\PC{0,40}", digits in "[0-9TZ:+. -]{0,40}") {
            for text in [text, digits] {
                let _ = (http_date(&text), rfc3339(&text));
            }
        }
    }
}
