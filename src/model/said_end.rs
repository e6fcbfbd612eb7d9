//! What servers say of the end of a reply, in one order for all wires. Some say it twice, and some with every piece: of
//! all that was said the gravest counts, since a reply that was cut stays so whatever is said of it later.

use super::Finish;

/// What servers call an end at the bound on tokens (OpenAI, Anthropic, Mistral, Gemini and others).
const CUT: [&str; 4] = ["length", "max_tokens", "max_output_tokens", "model_length"];

/// What servers call an end by a filter (OpenAI, Gemini, Zhipu); the Messages wire itself has no such word, and gateways
/// pass on those of the servers behind them.
const FILTERED: [&str; 7] = [
    "content_filter",
    "safety",
    "recitation",
    "blocklist",
    "prohibited_content",
    "sensitive",
    "guardrail_intervened",
];

/// What servers call an end by a failure of their own (OpenRouter, DeepSeek, Zhipu, vLLM).
const FAILED: [&str; 5] = ["error", "insufficient_system_resource", "network_error", "abort", "timeout"];

/// An end as a server said it, the mildest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SaidEnd {
    /// `stop`, `end_turn`, `tool_calls`, and what else servers say: the items decide.
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
        match word.to_ascii_lowercase().as_str() {
            word if FAILED.contains(&word) => Self::Failed,
            word if CUT.contains(&word) => Self::Length,
            word if FILTERED.contains(&word) => Self::ContentFilter,
            word if word.contains("context") => Self::ContextTooLong,
            "refusal" => Self::Refusal,
            "pause_turn" => Self::Pause,
            _ => Self::Stop,
        }
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

    #[test]
    fn a_word_that_nobody_knows_says_that_the_reply_is_over() {
        assert_eq!(SaidEnd::of("eos_token"), SaidEnd::Stop);
        assert_eq!(SaidEnd::Failed.finish(), None);
    }
}
