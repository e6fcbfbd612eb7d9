//! How long a server asks to wait.

use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, RETRY_AFTER};

/// The wait that the headers ask for: milliseconds, seconds or a date. `None` when they do not, or not legibly. A date
/// in the past means no wait. Whether a wait is too long is for the caller to say.
pub(super) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(milliseconds) = text("retry-after-ms").and_then(|value| value.parse::<f64>().ok()) {
        return Duration::try_from_secs_f64(milliseconds / 1000.0).ok();
    }
    let value = text(RETRY_AFTER.as_str())?;
    match value.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        Err(_) => Some(http_date(value)?.duration_since(now).unwrap_or_default()),
    }
}

/// Reads a date as HTTP writes it: `Sun, 06 Nov 1994 08:49:37 GMT`.
fn http_date(text: &str) -> Option<SystemTime> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (_, date) = text.split_once(", ")?;
    let mut words = date.split_ascii_whitespace();
    let day: u64 = words.next()?.parse().ok().filter(|day| (1..=31).contains(day))?;
    let month = words.next()?;
    let month = MONTHS.iter().zip(0..12u64).find(|(name, _)| **name == month)?.1;
    // Before 1970 there was no HTTP; the bound above keeps the sums small.
    let year: u64 = words.next()?.parse().ok().filter(|year| (1970..=9999).contains(year))?;
    let mut time = words.next()?.splitn(3, ':').map(|part| part.parse::<u64>().ok());
    let (hour, minute, second) = (time.next()??, time.next()??, time.next()??);
    if words.next()? != "GMT" || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    // Counting from March puts the leap day at the end of the year, where it moves nothing else.
    let (year, month) = if month < 2 { (year - 1, month + 10) } else { (year, month - 2) };
    let days_of_years = year * 365 + year / 4 - year / 100 + year / 400;
    let days_of_months = (month * 153 + 2) / 5;
    const DAYS_BEFORE_1970: u64 = 719_468;
    let days = (days_of_years + days_of_months + day - 1).checked_sub(DAYS_BEFORE_1970)?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(((days * 24 + hour) * 60 + minute) * 60 + second))
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    /// The time of the example date of the HTTP standard, Sun, 06 Nov 1994 08:49:37 GMT.
    const NOW: u64 = 784_111_777;

    fn check(headers: &[(&'static str, &'static str)], wait: Option<Duration>) {
        let headers = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect();
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(NOW);
        assert_eq!(retry_after(&headers, now), wait, "{headers:?}");
    }

    // SPEC S13
    #[test]
    fn seconds_milliseconds_and_dates_are_understood() {
        check(&[], None);
        check(&[("retry-after", "7")], Some(Duration::from_secs(7)));
        check(&[("retry-after", "1.5")], Some(Duration::from_millis(1500)));
        check(&[("retry-after-ms", "250"), ("retry-after", "7")], Some(Duration::from_millis(250)));
        check(&[("retry-after", "Sun, 06 Nov 1994 08:49:39 GMT")], Some(Duration::from_secs(2)));
        check(
            &[("retry-after", "Tue, 29 Feb 2000 00:00:00 GMT")],
            Some(Duration::from_secs(951_782_400 - NOW)),
        );
        check(&[("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT")], Some(Duration::ZERO));
    }

    #[test]
    fn what_cannot_be_read_asks_for_no_wait() {
        for value in ["", "soon", "-1", "1e400", "NaN", "Sun, 99 Nov 1994 08:49:37 GMT", "Sun, 06 Foo 1994 x"]
        {
            check(&[("retry-after", value)], None);
        }
    }
}
