//! The words of all servers for the end of a reply.

use super::SaidEnd;

/// What some servers write in front of their words (Gemini behind gateways, xAI).
const PREFIXES: [&str; 3] = ["finish_reason_", "stop_reason_", "reason_"];

/// Words that say nothing: some servers send one with every piece but the last.
const NOTHING: [&str; 7] = ["", "null", "none", "nil", "undefined", "unset", "unspecified"];

/// Words that say that more is to come.
const NOT_YET: [&str; 13] = [
    "not_finished",
    "unfinished",
    "in_progress",
    "queued",
    "pending",
    "running",
    "generating",
    "processing",
    "streaming",
    "ongoing",
    "continue",
    "partial",
    "started",
];

/// Beginnings of the parts of a word for an end that is not the model's own, and what each means: the first counts. One
/// with a line behind it is a whole part. Servers make new words all the time, and mostly of these parts; a cut answer
/// that counts as whole is worse than a whole one that counts as cut.
const PARTS: [(&[&str], SaidEnd); 9] = [
    (&["context", "error_limit"], SaidEnd::ContextTooLong),
    (&["too_many_tokens"], SaidEnd::Length),
    // Of what the model made, whatever found it out: Gemini's filter of broken calls is none of contents.
    (&["malformed", "invalid", "unexpected", "missing", "too_many"], SaidEnd::Failed),
    (&["refus"], SaidEnd::Refusal),
    // The Messages wire itself has no such word, and gateways pass on those of the servers behind them.
    (
        &[
            "filter",
            "contentfilter",
            "safety",
            "recitation",
            "block",
            "prohibit",
            "sensitive",
            "guardrail",
            "armor",
            "spii",
            "toxic",
            "moderat",
            "policy",
            "violat",
            "flagged",
            "harm_",
            "harmful",
        ],
        SaidEnd::ContentFilter,
    ),
    (
        &[
            "error",
            "fail",
            "abort",
            "cancel",
            "interrupt",
            "disconnect",
            "user",
            "timeout",
            "timed_out",
            "insufficient",
            "quota",
            "overload",
            "unavailable",
            "expired",
            "preempt",
            "evict",
            "unload",
            "shutdown",
            "killed",
        ],
        SaidEnd::Failed,
    ),
    (&["time_limit", "repetition"], SaidEnd::Cut),
    (
        &[
            "length",
            "max",
            "limit",
            "truncat",
            "incomplete",
            "exceeded",
            "exhaust",
            "budget",
            "out_of",
            "too_long",
        ],
        SaidEnd::Length,
    ),
    (&["pause"], SaidEnd::Pause),
];

/// Words for the end of a block of the reply, which is none that was blocked.
const OF_A_BLOCK: [&str; 4] = ["end_block", "block_end", "content_block_stop", "content_block_end"];

/// First parts of the words for an end that the model made itself.
const OWN: [&str; 21] = [
    "stop",
    "stopped",
    "end",
    "ended",
    "eos",
    "eot",
    "eom",
    "endoftext",
    "im",
    "tool",
    "tools",
    "toolcalls",
    "function",
    "finish",
    "finished",
    "complete",
    "completed",
    "done",
    "success",
    "succeeded",
    "normal",
];

/// What a word means, however it is written.
pub(super) fn meaning(word: &str) -> SaidEnd {
    let word = plain(word);
    let word = PREFIXES.iter().find_map(|prefix| word.strip_prefix(prefix)).unwrap_or(&word);
    if NOTHING.contains(&word) {
        return SaidEnd::Nothing;
    }
    if NOT_YET.contains(&word) {
        return SaidEnd::NotYet;
    }
    if OF_A_BLOCK.contains(&word) {
        return SaidEnd::Stop;
    }
    let parts = format!("_{word}_");
    let holds = |beginnings: &[&str]| beginnings.iter().any(|part| parts.contains(&format!("_{part}")));
    match PARTS.iter().find(|(beginnings, _)| holds(beginnings)) {
        Some((_, end)) => *end,
        None if word.split('_').next().is_some_and(|first| OWN.contains(&first)) => SaidEnd::Stop,
        None => SaidEnd::Unknown,
    }
}

/// In small letters, its parts with a line between them: `StopReason.maxTokens` and `MAX-TOKENS` are `max_tokens`.
fn plain(word: &str) -> String {
    let own = word.rsplit('.').find(|part| !part.trim().is_empty()).unwrap_or_default();
    let mut plain = String::new();
    let mut was_small = false;
    for c in own.chars() {
        let begins = !c.is_alphanumeric() || was_small && c.is_uppercase();
        if begins && !plain.is_empty() && !plain.ends_with('_') {
            plain.push('_');
        }
        if c.is_alphanumeric() {
            plain.extend(c.to_lowercase());
        }
        was_small = c.is_lowercase();
    }
    plain.trim_end_matches('_').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    // SPEC S6
    #[test]
    fn a_word_means_what_its_parts_say_however_it_is_written() {
        for (end, words) in [
            (
                SaidEnd::Stop,
                "stop STOP end_turn endTurn end_of_turn end_of_message end_of_text tool_calls tool_use toolCalls \
                 function_call stop_sequence stop_sequence_reached stop_delimiter stopStringFound eos eos_token eosFound \
                 COMPLETE completed FINISHED FINISH_REASON_STOP FinishReason.STOP REASON_STOP success done normal \
                 <|im_end|> end_block content_block_stop",
            ),
            (
                SaidEnd::Length,
                "length max_tokens MAX_TOKENS maxTokens max_output_tokens model_length token_limit \
                 max_completion_tokens maximum_tokens FINISH_REASON_MAX_TOKENS REASON_MAX_LEN incomplete out_of_tokens too_long too_many_tokens maxPredictedTokensReached",
            ),
            (SaidEnd::Cut, "TIME_LIMIT repetition repetition_truncation"),
            (
                SaidEnd::ContentFilter,
                "content_filter content-filter contentFilter content_filtered SAFETY IMAGE_SAFETY RECITATION BLOCKLIST \
                 PROHIBITED_CONTENT SPII sensitive guardrail_intervened MODEL_ARMOR content_filter:RECITATION \
                 content_filter:MAX_TOKENS blocked PROMPT_BLOCKED block_reason",
            ),
            (
                SaidEnd::Failed,
                "error ERROR insufficient_system_resource network_error abort timeout cancelled USER_CANCEL userStopped \
                 server_error engine_overloaded MALFORMED_FUNCTION_CALL UNEXPECTED_TOOL_CALL malformed_model_output \
                 preempted unload modelUnloaded tool_call_parse_error function_call_filter:MALFORMED_FUNCTION_CALL \
                 function_call_filter:UNEXPECTED_TOOL_CALL malformed_function_call_filter",
            ),
            (
                SaidEnd::ContextTooLong,
                "model_context_window_exceeded context_length_exceeded contextLengthReached ERROR_LIMIT",
            ),
            (SaidEnd::Refusal, "refusal"),
            (SaidEnd::Pause, "pause_turn"),
            (SaidEnd::Nothing, "null None FINISH_REASON_UNSPECIFIED"),
            (SaidEnd::NotYet, "not_finished NOT_FINISHED in_progress inProgress queued"),
            (SaidEnd::Unknown, "unknown OTHER LANGUAGE NO_IMAGE xyz delimiter harmony stopping 7"),
        ] {
            for word in words.split_whitespace() {
                assert_eq!(meaning(word), end, "{word}");
            }
        }
        assert_eq!((meaning(""), meaning(" ")), (SaidEnd::Nothing, SaidEnd::Nothing));
    }
}
