//! How long a server asks to wait, in the many ways in which servers say it.

use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, RETRY_AFTER};
use serde_json::Value;

use super::dates::{http_date, rfc3339};

/// What the headers of limits begin with; the rest names what is limited. OpenAI and most others, Anthropic, and the
/// draft of a standard.
const LIMITS: [&str; 4] = ["x-ratelimit-", "anthropic-ratelimit-", "anthropic-priority-", "ratelimit-"];

/// The wait that the headers ask for. `None` when they do not, or not legibly. A date in the past means no wait. Whether
/// a wait is too long is for the caller to say.
pub(super) fn in_headers(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let milliseconds = text("retry-after-ms").and_then(|value| value.parse::<f64>().ok());
    let asked = match (milliseconds, text(RETRY_AFTER.as_str())) {
        (Some(milliseconds), _) => Duration::try_from_secs_f64(milliseconds / 1000.0).ok(),
        (None, Some(value)) => match value.parse::<f64>() {
            Ok(seconds) => Duration::try_from_secs_f64(seconds).ok(),
            Err(_) => Some(until(http_date(value)?, now)),
        },
        (None, None) => None,
    };
    asked.or_else(|| at_reset(headers, now))
}

/// The longest time until a limit that is used up counts anew: one that has something left holds nobody up.
fn at_reset(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let resets = headers.keys().filter_map(|name| {
        let name = name.as_str();
        let prefix = LIMITS.iter().find(|prefix| name.starts_with(**prefix))?;
        let rest = name.strip_prefix(*prefix)?;
        // Both orders are used: `x-ratelimit-reset-tokens` and `anthropic-ratelimit-tokens-reset`.
        let remaining = match rest.strip_prefix("reset") {
            Some(what) => format!("{prefix}remaining{what}"),
            None => format!("{prefix}{}remaining", rest.strip_suffix("reset")?),
        };
        if text(&remaining)?.parse::<f64>().ok()? > 0.0 {
            return None;
        }
        let value = text(name)?;
        duration(value).or_else(|| Some(until(rfc3339(value)?, now))).map(|wait| since_epoch(wait, now))
    });
    resets.max()
}

/// Some servers name the second of the clock instead of the time from now: no limit is for years.
fn since_epoch(wait: Duration, now: SystemTime) -> Duration {
    const YEAR: Duration = Duration::from_secs(365 * 86_400);
    match wait > YEAR {
        true => SystemTime::UNIX_EPOCH.checked_add(wait).map_or(wait, |time| until(time, now)),
        false => wait,
    }
}

/// The wait that an error's own JSON asks for: members for it, Google's details, or OpenAI's sentence.
pub(super) fn in_error(error: &Value) -> Option<Duration> {
    let number = |name: &str| error.get(name).and_then(Value::as_f64);
    let seconds = number("retry_after")
        .or_else(|| number("retry_after_seconds"))
        .or_else(|| Some(number("retry_after_ms")? / 1000.0));
    if let Some(wait) = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()) {
        return Some(wait);
    }
    let written = |value: &Value| value.as_str().and_then(duration);
    if let Some(wait) = error.get("retry_after").and_then(written) {
        return Some(wait);
    }
    let details = error.get("details").and_then(Value::as_array);
    let delay =
        details.and_then(|details| details.iter().find_map(|detail| written(detail.get("retryDelay")?)));
    delay.or_else(|| in_sentence(error.get("message")?.as_str()?))
}

/// `… Please try again in 6m0s. …`
fn in_sentence(message: &str) -> Option<Duration> {
    let (_, rest) = message.split_once("try again in ").or_else(|| message.split_once("retry in "))?;
    let written = rest.split_ascii_whitespace().next()?;
    // A number alone may be of any unit.
    if written.trim_end_matches('.').parse::<f64>().is_ok() {
        None
    } else {
        duration(written.trim_end_matches(['.', ',']))
    }
}

/// Reads `120ms`, `1s`, `6m0s`, `1h2m3.5s`, and seconds without a unit.
fn duration(text: &str) -> Option<Duration> {
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let mut sum = 0.0;
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(end);
        let unit = after.find(|c: char| c.is_ascii_digit()).map_or(after, |end| after.split_at(end).0);
        let seconds = match unit {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            "d" => 86_400.0,
            _ => return None,
        };
        sum += number.parse::<f64>().ok()? * seconds;
        rest = after.strip_prefix(unit)?;
    }
    if text.is_empty() { None } else { Duration::try_from_secs_f64(sum).ok() }
}

fn until(time: SystemTime, now: SystemTime) -> Duration {
    time.duration_since(now).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};
    use serde_json::json;

    use super::*;

    /// The time of the example date of the HTTP standard, Sun, 06 Nov 1994 08:49:37 GMT.
    const NOW: u64 = 784_111_777;

    fn check(headers: &[(&'static str, &'static str)], wait: Option<Duration>) {
        let headers = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect();
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(NOW);
        assert_eq!(in_headers(&headers, now), wait, "{headers:?}");
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
            check(&[("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", value)], None);
        }
    }

    #[test]
    fn a_limit_that_is_used_up_is_waited_for_until_it_counts_anew() {
        for (value, wait) in [
            ("1s", Duration::from_secs(1)),
            ("6m0s", Duration::from_secs(360)),
            ("120ms", Duration::from_millis(120)),
            ("1h2m3.5s", Duration::from_millis(3_723_500)),
            ("42", Duration::from_secs(42)),
        ] {
            check(
                &[("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", value)],
                Some(wait),
            );
        }
        check(
            &[
                ("anthropic-ratelimit-tokens-remaining", "0"),
                ("anthropic-ratelimit-tokens-reset", "1994-11-06T08:50:07Z"),
            ],
            Some(Duration::from_secs(30)),
        );
        check(&[("ratelimit-remaining", "0"), ("ratelimit-reset", "9")], Some(Duration::from_secs(9)));
        check(
            &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "784111787")],
            Some(Duration::from_secs(10)),
        );
    }

    #[test]
    fn a_limit_with_something_left_holds_nobody_up_and_of_two_the_later_counts() {
        check(
            &[
                ("x-ratelimit-remaining-requests", "59"),
                ("x-ratelimit-reset-requests", "6m0s"),
                ("x-ratelimit-remaining-tokens", "0"),
                ("x-ratelimit-reset-tokens", "2s"),
            ],
            Some(Duration::from_secs(2)),
        );
        check(
            &[
                ("x-ratelimit-remaining-requests", "0"),
                ("x-ratelimit-reset-requests", "9s"),
                ("x-ratelimit-remaining-tokens", "0"),
                ("x-ratelimit-reset-tokens", "2s"),
            ],
            Some(Duration::from_secs(9)),
        );
        check(&[("x-ratelimit-reset-requests", "6m0s")], None);
    }

    #[test]
    fn what_the_server_says_of_this_request_counts_before_its_limits() {
        check(
            &[
                ("retry-after", "3"),
                ("x-ratelimit-remaining-requests", "0"),
                ("x-ratelimit-reset-requests", "6m0s"),
            ],
            Some(Duration::from_secs(3)),
        );
    }

    #[test]
    fn an_error_may_say_itself_how_long_to_wait() {
        for (error, wait) in [
            (json!({"retry_after": 3}), Some(Duration::from_secs(3))),
            (json!({"retry_after": "1.5s"}), Some(Duration::from_millis(1500))),
            (json!({"retry_after_ms": 250}), Some(Duration::from_millis(250))),
            (json!({"details": [{}, {"retryDelay": "34s"}]}), Some(Duration::from_secs(34))),
            (
                json!({"message": "Rate limit reached for gpt-5. Please try again in 6m0s. Visit …"}),
                Some(Duration::from_secs(360)),
            ),
            (json!({"message": "Please try again in 20ms."}), Some(Duration::from_millis(20))),
            (json!({"message": "Please try again in 20 minutes."}), None),
            (json!({"message": "Please try again in "}), None),
            (json!({"retry_after": -1}), None),
            (json!({"retry_after": 1e300}), None),
            (json!("retry_after"), None),
        ] {
            assert_eq!(in_error(&error), wait, "{error}");
        }
    }
}
