//! What is known of models by their names. Names are free text: an unknown one is used like any other.

use crate::protocol::{Cost, Usage};

/// Context windows in tokens by the beginning of the model's name; the first line that fits decides, so that longer
/// beginnings stand before shorter ones. Where a family has several sizes, the smallest is named: too small a window
/// only shortens the history early, too large a one makes requests fail.
const CONTEXT_WINDOWS: [(&str, u64); 53] = [
    ("gpt-5-chat", 128_000),
    ("gpt-5.5", 1_000_000),
    ("gpt-5.4", 1_000_000),
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
    ("claude-fable-5", 1_000_000),
    ("claude-opus-5", 1_000_000),
    ("claude-sonnet-5", 1_000_000),
    ("claude-haiku-5", 1_000_000),
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
    ("qwen2.5", 32_768),
    ("qwen3", 32_768),
    ("glm-4.6", 200_000),
    ("glm-4.5", 131_072),
    ("kimi-k2", 131_072),
    ("minimax-m2", 204_800),
    ("codestral", 32_768),
    ("devstral", 131_072),
    ("magistral", 40_960),
    ("mistral-large", 131_072),
    ("mistral-medium", 131_072),
    ("mistral-small", 131_072),
    ("llama-4", 131_072),
    ("llama-3.3", 131_072),
    ("llama-3.1", 131_072),
    ("gemma-3", 32_768),
    ("gemma3", 32_768),
    ("phi-4", 16_384),
    ("command-r", 128_000),
];

/// What a million tokens cost at the model's own maker, in US dollars: input, cached input, input that is written to the
/// cache, output. Public list prices of November 2026, without batches and surcharges for long prompts. The names are
/// whole: one that only begins alike is another model, whose price may be ten times as high.
const PRICES: [(&str, [f64; 4]); 58] = [
    ("gpt-5.5", [5.0, 0.5, 5.0, 30.0]),
    ("gpt-5.4", [2.5, 0.25, 2.5, 15.0]),
    ("gpt-5.4-mini", [0.75, 0.075, 0.75, 4.5]),
    ("gpt-5.4-nano", [0.2, 0.02, 0.2, 1.25]),
    ("gpt-5.1", [1.25, 0.125, 1.25, 10.0]),
    ("gpt-5.1-codex", [1.25, 0.125, 1.25, 10.0]),
    ("gpt-5", [1.25, 0.125, 1.25, 10.0]),
    ("gpt-5-codex", [1.25, 0.125, 1.25, 10.0]),
    ("gpt-5-mini", [0.25, 0.025, 0.25, 2.0]),
    ("gpt-5-nano", [0.05, 0.005, 0.05, 0.4]),
    ("gpt-4.1", [2.0, 0.5, 2.0, 8.0]),
    ("gpt-4.1-mini", [0.4, 0.1, 0.4, 1.6]),
    ("gpt-4.1-nano", [0.1, 0.025, 0.1, 0.4]),
    ("gpt-4o", [2.5, 1.25, 2.5, 10.0]),
    ("gpt-4o-mini", [0.15, 0.075, 0.15, 0.6]),
    ("o1", [15.0, 7.5, 15.0, 60.0]),
    ("o3", [2.0, 0.5, 2.0, 8.0]),
    ("o3-mini", [1.1, 0.55, 1.1, 4.4]),
    ("o4-mini", [1.1, 0.275, 1.1, 4.4]),
    ("claude-fable-5-1", [10.0, 0.25, 12.5, 50.0]),
    ("claude-fable-5", [10.0, 1.0, 12.5, 50.0]),
    ("claude-opus-5-5", [4.0, 0.4, 5.0, 20.0]),
    ("claude-opus-5", [5.0, 0.5, 6.25, 25.0]),
    ("claude-opus-4-8", [5.0, 0.5, 6.25, 25.0]),
    ("claude-opus-4-7", [5.0, 0.5, 6.25, 25.0]),
    ("claude-opus-4-6", [5.0, 0.5, 6.25, 25.0]),
    ("claude-opus-4-5", [5.0, 0.5, 6.25, 25.0]),
    ("claude-opus-4-1", [15.0, 1.5, 18.75, 75.0]),
    ("claude-opus-4-0", [15.0, 1.5, 18.75, 75.0]),
    ("claude-opus-4", [15.0, 1.5, 18.75, 75.0]),
    ("claude-sonnet-5-5", [2.0, 0.1, 2.5, 10.0]),
    ("claude-sonnet-5", [2.0, 0.2, 2.5, 10.0]),
    ("claude-sonnet-4-6", [3.0, 0.3, 3.75, 15.0]),
    ("claude-sonnet-4-5", [3.0, 0.3, 3.75, 15.0]),
    ("claude-sonnet-4-0", [3.0, 0.3, 3.75, 15.0]),
    ("claude-sonnet-4", [3.0, 0.3, 3.75, 15.0]),
    ("claude-3-7-sonnet", [3.0, 0.3, 3.75, 15.0]),
    ("claude-3-5-sonnet", [3.0, 0.3, 3.75, 15.0]),
    ("claude-haiku-5-5", [0.1, 0.01, 0.125, 0.5]),
    ("claude-haiku-4-5", [1.0, 0.1, 1.25, 5.0]),
    ("claude-3-5-haiku", [0.8, 0.08, 1.0, 4.0]),
    ("claude-3-haiku", [0.25, 0.03, 0.3, 1.25]),
    ("claude-3-opus", [15.0, 1.5, 18.75, 75.0]),
    ("gemini-2.5-pro", [1.25, 0.125, 1.25, 10.0]),
    ("gemini-2.5-flash", [0.3, 0.03, 0.3, 2.5]),
    ("gemini-2.5-flash-lite", [0.1, 0.01, 0.1, 0.4]),
    ("gemini-3.1-pro-preview", [2.0, 0.2, 2.0, 12.0]),
    ("gemini-3-flash-preview", [0.5, 0.05, 0.5, 3.0]),
    ("deepseek-chat", [0.28, 0.028, 0.28, 0.42]),
    ("deepseek-reasoner", [0.28, 0.028, 0.28, 0.42]),
    ("mistral-medium-3.1", [0.4, 0.4, 0.4, 2.0]),
    ("codestral", [0.3, 0.3, 0.3, 0.9]),
    ("devstral-medium", [0.4, 0.4, 0.4, 2.0]),
    ("devstral-small", [0.1, 0.1, 0.1, 0.3]),
    ("grok-4", [3.0, 0.75, 3.0, 15.0]),
    ("grok-4-fast", [0.2, 0.05, 0.2, 0.5]),
    ("grok-3", [3.0, 0.75, 3.0, 15.0]),
    ("grok-code-fast-1", [0.2, 0.02, 0.2, 1.5]),
];

/// Endings of a name that mean the same model: it moves to the newest snapshot by itself.
const ALIASES: [&str; 1] = ["-latest"];

/// The whole window of a well-known model in tokens, or `None`: the caller has a default of its own.
///
/// A vendor in front of the name (`openai/gpt-5`) and capitals do not matter.
pub fn context_window(model: &str) -> Option<u64> {
    let name = bare(model);
    CONTEXT_WINDOWS.iter().find(|(prefix, _)| name.starts_with(prefix)).map(|(_, window)| *window)
}

/// The name without a vendor in front of it, in small letters.
fn bare(model: &str) -> String {
    model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase()
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
    ///
    /// Where a server counts more from the cache than it counts at all, the cache's counts are believed.
    pub fn cost(self, usage: Usage) -> Cost {
        let whole =
            usage.input_tokens.saturating_sub(usage.cached_tokens).saturating_sub(usage.cache_write_tokens);
        let parts = [
            (whole, self.input),
            (usage.cached_tokens, self.cached),
            (usage.cache_write_tokens, self.cache_write),
            (usage.output_tokens, self.output),
        ];
        let costs = parts.iter().map(|(tokens, price)| u128::from(*tokens) * u128::from(*price));
        let sum = costs.fold(0, u128::saturating_add);
        Cost(sum.div_ceil(1_000_000).try_into().unwrap_or(u64::MAX))
    }
}

/// What a well-known model costs at its own maker, or `None`. A snapshot (`gpt-5-2025-08-07`) costs what its model costs.
pub fn price(model: &str) -> Option<Price> {
    let name = bare(model);
    let (_, [input, cached, cache_write, output]) = PRICES.iter().find(|(known, _)| {
        name.strip_prefix(known)
            .is_some_and(|rest| rest.is_empty() || ALIASES.contains(&rest) || is_date(rest))
    })?;
    Some(Price {
        input: millionths(*input)?,
        cached: millionths(*cached)?,
        cache_write: millionths(*cache_write)?,
        output: millionths(*output)?,
    })
}

/// Whether what follows a name is the date of a snapshot: `-2025-08-07`, `-20250929`, `@20250929`, `-0613`.
fn is_date(rest: &str) -> bool {
    let Some(date) = rest.strip_prefix(['-', '@']) else { return false };
    let digits = date.bytes().filter(u8::is_ascii_digit).count();
    matches!(digits, 4 | 6 | 8) && date.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
}

/// Dollars in millionths; `None` for what is no price.
pub(super) fn millionths(dollars: f64) -> Option<u64> {
    /// A thousand times the dearest tokens of today: more is a mistake.
    const MOST_DOLLARS: f64 = 1e6;
    // The bounds leave nothing that a cast could change.
    (0.0..=MOST_DOLLARS).contains(&dollars).then(|| (dollars * 1e6).round() as u64)
}

/// Whether a server's model is the one that people call so: Ollama leaves `:latest` out when they do.
pub fn is_called(model: &str, name: &str) -> bool {
    model == name || model.strip_suffix(":latest") == Some(name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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

    #[test]
    fn a_price_is_of_the_whole_name_or_of_a_snapshot_of_it() {
        let output = |name| Some(price(name)?.output);
        for (name, dollars) in [
            ("gpt-5", Some(10_000_000)),
            ("openai/GPT-5-2025-08-07", Some(10_000_000)),
            ("gpt-5-mini", Some(2_000_000)),
            ("gpt-5-pro", None),
            ("gpt-5.9", None),
            ("claude-sonnet-4-20250514", Some(15_000_000)),
            ("claude-sonnet-4-5@20250929", Some(15_000_000)),
            ("claude-3-5-haiku-latest", Some(4_000_000)),
            ("claude-opus-4-99", None),
            ("gpt-4o-audio-preview", None),
            ("my-own-model", None),
            ("", None),
        ] {
            assert_eq!(output(name), dollars, "{name}");
        }
    }

    #[test]
    fn every_line_of_the_prices_is_one() {
        for (position, (name, _)) in PRICES.iter().enumerate() {
            assert!(price(name).is_some(), "{name}");
            assert!(PRICES.iter().skip(position + 1).all(|(other, _)| other != name), "{name} stands twice");
            assert!(context_window(name).is_some(), "{name} has no window");
        }
    }

    #[test]
    fn tokens_of_the_cache_cost_less_and_nothing_is_counted_twice() {
        let price = price("claude-sonnet-4-5").expect("a known model");
        let usage = Usage {
            input_tokens: 1_000_000,
            cached_tokens: 600_000,
            cache_write_tokens: 100_000,
            output_tokens: 10_000,
            reasoning_tokens: 5_000,
        };
        // 0.3 × 3 + 0.6 × 0.3 + 0.1 × 3.75 + 0.01 × 15 dollars.
        assert_eq!(price.cost(usage), Cost(900_000 + 180_000 + 375_000 + 150_000));
        assert_eq!(price.cost(Usage::default()), Cost(0));
        assert_eq!(price.cost(Usage { output_tokens: 1, ..Usage::default() }), Cost(15));
    }

    proptest! {
        #[test]
        fn no_count_and_no_price_makes_a_cost_panic(tokens: [u64; 5], price: [u64; 4], name in "\\PC{0,20}") {
            let [input_tokens, cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens] = tokens;
            let [input, cached, cache_write, output] = price;
            let usage =
                Usage { input_tokens, cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens };
            let cost = Price { input, cached, cache_write, output }.cost(usage);
            let more = Price { input, cached, cache_write, output: output.saturating_add(1) }.cost(usage);
            prop_assert!(cost <= more);
            let _ = (super::price(&name), context_window(&name));
        }
    }
}
