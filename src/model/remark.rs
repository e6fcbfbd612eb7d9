//! What servers say beside a reply, in words of their own: that they are alive, facts about the reply, or that something
//! failed.

use serde_json::Value;

use super::http::ServerError;

/// The words of what only keeps a connection alive, or says once more that the reply is over. A remark of any other word
/// may be an error.
const OF_LIFE: [&str; 34] = [
    "keep",
    "alive",
    "keepalive",
    "ping",
    "pong",
    "heartbeat",
    "ok",
    "still",
    "working",
    "processing",
    "request",
    "waiting",
    "wait",
    "please",
    "connected",
    "queue",
    "queued",
    "position",
    "loading",
    "thinking",
    "generating",
    "streaming",
    "started",
    "done",
    "end",
    "eof",
    "finished",
    "complete",
    "completed",
    "success",
    "null",
    "true",
    "type",
    "event",
];

/// Members with facts about a reply: whatever words stand in them, they tell of no error.
const FACTS: [&str; 19] = [
    "choices",
    "id",
    "model",
    "created",
    "object",
    "provider",
    "system_fingerprint",
    "service_tier",
    "conversation_id",
    "finish_reason",
    "prompt_filter_results",
    "usage",
    "timings",
    "metrics",
    "cost",
    "citations",
    "search_results",
    "sources",
    "prompt_progress",
];

/// Members that may tell of an error in any words, and those that a piece of a reply stands in.
const TELLING: [&str; 9] =
    ["code", "reason", "message", "msg", "detail", "content", "delta", "text", "tool_calls"];

/// What the words for errors have in them. Few errors do without, and few other remarks have one.
const OF_ERRORS: [&str; 44] = [
    "err",
    "fail",
    "fault",
    "exception",
    "fatal",
    "panic",
    "crash",
    "traceback",
    "refus",
    "reject",
    "denied",
    "forbid",
    "unauthor",
    "invalid",
    "illegal",
    "unsupported",
    "unable",
    "cannot",
    "not ",
    "missing",
    "bad ",
    "wrong",
    "problem",
    "sorry",
    "limit",
    "quota",
    "exceed",
    "exhaust",
    "insufficient",
    "balance",
    "billing",
    "upstream",
    "gateway",
    "timeout",
    "timed",
    "unavailab",
    "overload",
    "busy",
    "retry",
    "abort",
    "cancel",
    "disconnect",
    "terminat",
    "killed",
];

/// Whether a remark only says that its server is alive, or that it is done.
pub(super) fn is_sign_of_life(remark: &str) -> bool {
    let remark = remark.to_lowercase();
    let mut words = remark.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).peekable();
    let mut has_words = words.peek().is_none();
    let is_known = |word: &str| match word.parse::<u64>() {
        // A place in a queue, and no status of an error.
        Ok(number) => !(400..600).contains(&number),
        Err(_) => {
            has_words = true;
            OF_LIFE.contains(&word)
        }
    };
    words.all(is_known) && has_words
}

/// Whether an event that the wire does not know may be an error, or hold a piece of the reply.
pub(super) fn looks_like_error(event: &Value) -> bool {
    let Some(members) = event.as_object() else { return true };
    members.iter().filter(|(name, _)| !FACTS.contains(&name.as_str())).any(|(name, value)| {
        let said = value.to_string();
        if !ServerError::is_said(&said) {
            return false;
        }
        let telling =
            TELLING.contains(&name.as_str()) && !ServerError::is_success(value) && !is_sign_of_life(&said);
        let words = format!("{name} {said}").to_lowercase();
        // Nor does anyone here read every language.
        telling || !words.is_ascii() || OF_ERRORS.iter().any(|part| words.contains(part))
    })
}

/// Whether a chunk of the Chat wire without a choice says something about the reply: of its tokens, its times, its server.
pub(super) fn is_about_the_reply(chunk: &Value) -> bool {
    let text = |member: &str| chunk.get(member).and_then(Value::as_str).unwrap_or_default();
    chunk.as_object().is_some_and(serde_json::Map::is_empty)
        || chunk.get("choices").is_some_and(Value::is_array)
        || ["usage", "timings", "x_groq"].iter().any(|member| chunk.get(member).is_some_and(Value::is_object))
        || text("object").starts_with("chat.completion")
        || text("type") == "ping"
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_sign_of_life_is_told_from_an_error() {
        for sign in [
            "OK",
            "keep-alive",
            "[ping]",
            "\"heartbeat\"",
            "[]",
            "processing...",
            "null",
            "\"[DONE]\"",
            "[END]",
            "done",
            "keep alive",
            "still working",
            "queue: 3",
            "{'type': 'ping'}",
            "{ping}",
        ] {
            assert!(is_sign_of_life(sign), "{sign}");
        }
        for other in ["upstream connect error", "7", "<html>", "ping failed", "done: 500", "服务器繁忙"]
        {
            assert!(!is_sign_of_life(other), "{other}");
        }
    }

    #[test]
    fn an_event_with_facts_or_of_life_is_told_from_an_error() {
        for harmless in [
            json!({"done": true}),
            json!({"type": "keep-alive"}),
            json!({"event": "ping"}),
            json!({"status": "processing"}),
            json!({"citations": ["https://host.test/how-errors-fail"]}),
            json!({"id": "x", "model": "limit", "created": 1}),
            json!({"metrics": {"errors": 0}, "cost": 0.1}),
            json!({"code": 0, "message": "ok", "reason": null}),
        ] {
            assert!(!looks_like_error(&harmless), "{harmless}");
        }
        for other in [
            json!({"reason": "boom"}),
            json!({"code": 1301}),
            json!({"kind": "stream_failed"}),
            json!({"note": "服务器繁忙"}),
            json!({"delta": {"content": "NOT"}}),
            json!(["boom"]),
        ] {
            assert!(looks_like_error(&other), "{other}");
        }
    }
}
