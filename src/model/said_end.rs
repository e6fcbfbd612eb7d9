//! What servers say of the end of a reply, in one order for all wires. Some say it twice, and some with every piece: of
//! all that was said the gravest counts, since a reply that was cut stays so whatever is said of it later.

use super::Finish;

/// What some servers write in front of their words (Gemini behind gateways).
const PREFIX: &str = "finish_reason_";

/// Parts of the words for an end, and what each means: the first that a word holds counts. Servers make new words all
/// the time, and mostly of these parts; a cut answer that counts as whole is worse than a whole one that counts as cut.
const PARTS: [(&[&str], SaidEnd); 6] = [
    (&["context", "error_limit"], SaidEnd::ContextTooLong),
    (&["refus"], SaidEnd::Refusal),
    // The Messages wire itself has no such word, and gateways pass on those of the servers behind them.
    (
        &[
            "filter",
            "safety",
            "recitation",
            "block",
            "prohibit",
            "sensitive",
            "guardrail",
            "spii",
            "toxic",
            "moderat",
            "policy",
            "violat",
            "flagged",
            "harm",
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
            "timeout",
            "timed_out",
            "insufficient",
            "overload",
            "unavailable",
            "malformed",
            "invalid",
            "unexpected",
            "missing",
            "too_many",
            "expired",
        ],
        SaidEnd::Failed,
    ),
    (&["length", "max_", "limit", "truncat", "incomplete", "exceeded"], SaidEnd::Length),
    (&["pause"], SaidEnd::Pause),
];

/// An end as a server said it, the mildest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SaidEnd {
    /// `stop`, `end_turn`, `tool_calls`, `eos`, and whatever else says nothing of a cut: the items decide.
    Stop,
    Pause,
    Length,
    ContextTooLong,
    ContentFilter,
    Refusal,
    Failed,
}

impl SaidEnd {
    /// What a word means, however it is written.
    pub(super) fn of(word: &str) -> Self {
        let word = word.trim().to_ascii_lowercase().replace(['-', ' '], "_");
        let word = word.strip_prefix(PREFIX).unwrap_or(&word);
        let holds = |parts: &[&str]| parts.iter().any(|part| word.contains(part));
        PARTS.iter().find(|(parts, _)| holds(parts)).map_or(Self::Stop, |(_, end)| *end)
    }

    /// Takes what was said later.
    pub(super) fn and(before: Option<Self>, later: Self) -> Self {
        before.map_or(later, |before| before.max(later))
    }

    /// `None` for a reply that failed: it has no end, but an error.
    pub(super) fn finish(self) -> Option<Finish> {
        match self {
            Self::Stop => Some(Finish::Stop),
            Self::Pause => Some(Finish::Pause),
            Self::Length => Some(Finish::Length),
            Self::ContextTooLong => Some(Finish::ContextTooLong),
            Self::ContentFilter => Some(Finish::ContentFilter),
            Self::Refusal => Some(Finish::Refusal),
            Self::Failed => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_ends_the_graver_counts_in_either_order() {
        let order = [
            "stop",
            "pause_turn",
            "max_tokens",
            "model_context_window_exceeded",
            "SAFETY",
            "refusal",
            "error",
        ];
        for (at, milder) in order.iter().enumerate() {
            for graver in order.iter().skip(at) {
                let (milder, graver) = (SaidEnd::of(milder), SaidEnd::of(graver));
                assert_eq!(SaidEnd::and(Some(milder), graver), graver);
                assert_eq!(SaidEnd::and(Some(graver), milder), graver);
            }
        }
    }

    // SPEC S6
    #[test]
    fn a_word_means_what_its_parts_say_however_it_is_written() {
        let words: &[(SaidEnd, &[&str])] = &[
            (
                SaidEnd::Stop,
                &[
                    "stop",
                    "STOP",
                    "end_turn",
                    "tool_calls",
                    "tool_use",
                    "function_call",
                    "stop_sequence",
                    "eos",
                    "eos_token",
                    "COMPLETE",
                    "completed",
                    "FINISH_REASON_STOP",
                    "success",
                    "unknown",
                    "",
                ],
            ),
            (
                SaidEnd::Length,
                &[
                    "length",
                    "max_tokens",
                    "MAX_TOKENS",
                    "max_output_tokens",
                    "model_length",
                    "token_limit",
                    "max_completion_tokens",
                    "FINISH_REASON_MAX_TOKENS",
                    "repetition_truncation",
                    "incomplete",
                ],
            ),
            (
                SaidEnd::ContentFilter,
                &[
                    "content_filter",
                    "content-filter",
                    "content_filtered",
                    "SAFETY",
                    "IMAGE_SAFETY",
                    "RECITATION",
                    "BLOCKLIST",
                    "PROHIBITED_CONTENT",
                    "SPII",
                    "sensitive",
                    "guardrail_intervened",
                    "ERROR_TOXIC",
                ],
            ),
            (
                SaidEnd::Failed,
                &[
                    "error",
                    "ERROR",
                    "insufficient_system_resource",
                    "network_error",
                    "abort",
                    "timeout",
                    "cancelled",
                    "USER_CANCEL",
                    "server_error",
                    "engine_overloaded",
                    "MALFORMED_FUNCTION_CALL",
                    "UNEXPECTED_TOOL_CALL",
                    "malformed_model_output",
                ],
            ),
            (
                SaidEnd::ContextTooLong,
                &["model_context_window_exceeded", "context_length_exceeded", "ERROR_LIMIT"],
            ),
            (SaidEnd::Refusal, &["refusal"]),
            (SaidEnd::Pause, &["pause_turn"]),
        ];
        for (end, words) in words {
            for word in *words {
                assert_eq!(SaidEnd::of(word), *end, "{word}");
            }
        }
    }

    #[test]
    fn a_reply_that_failed_has_no_end() {
        assert_eq!(SaidEnd::Failed.finish(), None);
    }
}
