//! One exchange of a case, said over a connection.

use std::{
    io,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use super::{Then, check_there, until_gone};

/// Where a case does not say how long it holds.
const DEFAULT_HOLD_MS: u64 = 30_000;

/// Time for the client to read what was sent.
const BEFORE_RESET: Duration = Duration::from_millis(50);

/// An error means that the client left before the end.
pub(super) async fn answer<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    exchange: Option<&Value>,
) -> io::Result<Then> {
    let exhausted = json!({
        "status": 500,
        "headers": {"content-type": "application/json"},
        "body": "{\"error\":{\"message\":\"script exhausted\"}}",
    });
    let exchange = exchange.unwrap_or(&exhausted);
    if exchange["stall"] == "before_headers" {
        until_gone(stream, hold(exchange)).await?;
        return Ok(Then::Close);
    }
    let status = exchange["status"].as_u64().unwrap_or(200);
    let mut head = format!("HTTP/1.1 {status} Status\r\n");
    for (name, value) in exchange["headers"].as_object().into_iter().flatten() {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        head.push_str(&format!("{name}: {}\r\n", with_date(&value)));
    }
    let Some(steps) = exchange["steps"].as_array() else {
        let body = match &exchange["body"] {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            other => other.to_string(),
        };
        let body = with_date(&body);
        head.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(body.as_bytes()).await?;
        stream.flush().await?;
        return Ok(Then::KeepAlive);
    };
    head.push_str("transfer-encoding: chunked\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    stream.flush().await?;
    for step in steps {
        if let Some(then) = one_step(stream, step).await? {
            return Ok(then);
        }
    }
    finish(stream).await
}

/// `Some` when the step is the end.
async fn one_step<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    step: &Value,
) -> io::Result<Option<Then>> {
    if let Some(wait) = step["sleep_ms"].as_u64() {
        until_gone(stream, Duration::from_millis(wait)).await?;
        return Ok(None);
    }
    if let Some(finish_as) = step["finish"].as_str() {
        return match finish_as {
            "reset" => {
                // A reset takes away what the client has not read yet; the case means what came before it.
                tokio::time::sleep(BEFORE_RESET).await;
                Ok(Some(Then::Reset))
            }
            "hold" => {
                until_gone(stream, hold(step)).await?;
                Ok(Some(Then::Close))
            }
            _ => finish(stream).await.map(Some),
        };
    }
    let times = step["repeat"].as_u64().unwrap_or(1);
    for i in 0..times {
        let bytes = bytes(step, i).ok_or(io::ErrorKind::InvalidData)?;
        let piece =
            step["split"].as_u64().and_then(|split| usize::try_from(split).ok()).unwrap_or(bytes.len());
        for piece in bytes.chunks(piece.max(1)) {
            let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
            chunk.extend_from_slice(piece);
            chunk.extend_from_slice(b"\r\n");
            stream.write_all(&chunk).await?;
            stream.flush().await?;
        }
        if i % 64 == 63 {
            check_there(stream).await?;
        }
    }
    Ok(None)
}

async fn finish<S: AsyncRead + AsyncWrite + Unpin>(stream: &mut S) -> io::Result<Then> {
    stream.write_all(b"0\r\n\r\n").await?;
    stream.flush().await?;
    Ok(Then::KeepAlive)
}

fn hold(step: &Value) -> Duration {
    Duration::from_millis(step["hold_ms"].as_u64().unwrap_or(DEFAULT_HOLD_MS))
}

fn bytes(step: &Value, i: u64) -> Option<Vec<u8>> {
    if let Some(encoded) = step["send_b64"].as_str() {
        return STANDARD.decode(encoded).ok();
    }
    let mut text = step["send"].as_str()?.replace("${i}", &i.to_string());
    if let Some(fill) = step.get("fill") {
        let count = usize::try_from(fill["count"].as_u64()?).ok()?;
        text = text.replace("${FILL}", &fill["unit"].as_str()?.repeat(count));
    }
    Some(with_date(&text).into_bytes())
}

/// `${HTTP_DATE+2s}` is an HTTP date so many seconds from now.
fn with_date(text: &str) -> String {
    let Some((before, rest)) = text.split_once("${HTTP_DATE") else { return text.to_owned() };
    let Some((ahead, after)) = rest.split_once('}') else { return text.to_owned() };
    let ahead: i64 = ahead.trim_end_matches('s').parse().unwrap_or(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_millis());
    // Rounded up: a date has whole seconds, and the case means at least so many.
    let now = i64::try_from(now.div_ceil(1000)).unwrap_or(i64::MAX / 2);
    format!("{before}{}{}", http_date(now + ahead), with_date(after))
}

/// As `Sun, 06 Nov 1994 08:49:37 GMT`.
pub(super) fn http_date(seconds: i64) -> String {
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Counted from the first of March of the year 0, so that the day that is sometimes missing comes last.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let names = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = names.get(usize::try_from(month - 1).unwrap_or(0)).unwrap_or(&"Jan");
    let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    let weekday = weekdays.get(usize::try_from(days.rem_euclid(7)).unwrap_or(0)).unwrap_or(&"Thu");
    let (hour, minute, second) = (second / 3600, second % 3600 / 60, second % 60);
    format!("{weekday}, {day:02} {month} {year} {hour:02}:{minute:02}:{second:02} GMT")
}
