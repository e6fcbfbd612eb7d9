//! What is known of models by their names. Names are free text: an unknown one is used like any other.

use crate::protocol::{Cost, Usage};

/// Context windows in tokens by the beginning of the model's name; the first line that fits decides, so that longer
/// beginnings stand before shorter ones. Where a family has several sizes, the smallest is named: too small a window
/// only shortens the history early, too large a one makes requests fail.
const CONTEXT_WINDOWS: [(&str, u64); 41] = [
    ("gpt-5-chat", 128_000),
    ("gpt-5", 400_000),
    ("gpt-4.1", 1_047_576),
    ("gpt-4o", 128_000),
    ("chatgpt-4o", 128_000),
    ("gpt-4-turbo", 128_000),
    ("gpt-4-32k", 32_768),
    ("gpt-4", 8_192),
    ("gpt-3.5", 16_385),
    ("gpt-oss", 131_072),
    ("o1-mini", 128_000),
    ("o1", 200_000),
    ("o3", 200_000),
    ("o4-mini", 200_000),
    ("codex-mini", 200_000),
    ("claude-3", 200_000),
    ("claude", 200_000),
    ("gemini-1.5-pro", 2_097_152),
    ("gemini", 1_048_576),
    ("grok-4-fast", 2_000_000),
    ("grok-4", 256_000),
    ("grok-code", 256_000),
    ("grok-3", 131_072),
    ("deepseek-v3.1", 131_072),
    ("deepseek-v3.2", 131_072),
    ("deepseek", 65_536),
    ("qwen3-coder", 262_144),
    ("qwen3-max", 262_144),
    ("glm-4.6", 200_000),
    ("glm-4.5", 131_072),
    ("kimi-k2", 131_072),
    ("minimax-m2", 204_800),
    ("codestral", 32_768),
    ("devstral", 131_072),
    ("mistral-large", 131_072),
    ("mistral-medium", 131_072),
    ("mistral-small", 131_072),
    ("llama-4", 131_072),
    ("llama-3.3", 131_072),
    ("llama-3.1", 131_072),
    ("command-r", 128_000),
];

/// The whole window of a well-known model in tokens, or `None`: the caller has a default of its own.
///
/// A vendor in front of the name (`openai/gpt-5`) and capitals do not matter.
pub fn context_window(model: &str) -> Option<u64> {
    let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    CONTEXT_WINDOWS.iter().find(|(prefix, _)| name.starts_with(prefix)).map(|(_, window)| *window)
}

/// What a million tokens cost, in millionths of a US dollar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    pub input: u64,
    /// Input that was read from the server's prompt cache.
    pub cached: u64,
    /// Input that was written to it.
    pub cache_write: u64,
    pub output: u64,
}

impl Price {
    /// What these tokens cost. The result is rounded up to a millionth of a dollar.
    pub fn cost(self, usage: Usage) -> Cost {
        let whole =
            usage.input_tokens.saturating_sub(usage.cached_tokens).saturating_sub(usage.cache_write_tokens);
        let parts = [
            (whole, self.input),
            (usage.cached_tokens, self.cached),
            (usage.cache_write_tokens, self.cache_write),
            (usage.output_tokens, self.output),
        ];
        let sum: u128 = parts.iter().map(|(tokens, price)| u128::from(*tokens) * u128::from(*price)).sum();
        Cost(sum.div_ceil(1_000_000).try_into().unwrap_or(u64::MAX))
    }
}

/// What a well-known model costs at its own maker, or `None`.
pub fn price(_model: &str) -> Option<Price> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_of_a_known_name_is_found_by_its_beginning() {
        let windows = ["gpt-5-mini-2025-08-07", "openai/gpt-4.1", "GPT-4", "o3-pro", "my-own-model", ""]
            .map(|name| (name, context_window(name)));
        assert_eq!(
            windows,
            [
                ("gpt-5-mini-2025-08-07", Some(400_000)),
                ("openai/gpt-4.1", Some(1_047_576)),
                ("GPT-4", Some(8_192)),
                ("o3-pro", Some(200_000)),
                ("my-own-model", None),
                ("", None),
            ]
        );
    }

    #[test]
    fn no_line_hides_a_later_longer_one() {
        for (position, (earlier, _)) in CONTEXT_WINDOWS.iter().enumerate() {
            for (later, _) in CONTEXT_WINDOWS.iter().skip(position + 1) {
                assert!(!later.starts_with(earlier), "{later} is never reached: {earlier} stands before it");
            }
        }
    }
}
