//! What a turn uses, and what it costs.

use std::{fmt, ops::AddAssign};

use serde::{Serialize, Serializer};

/// Tokens as the server counted them, or by estimate where it did not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    pub input_tokens: u64,
    /// The part of `input_tokens` that was read from the server's prompt cache.
    pub cached_tokens: u64,
    /// The part of `input_tokens` that was written to it, where the server counts that.
    pub cache_write_tokens: u64,
    pub output_tokens: u64,
    /// The part of `output_tokens` that was spent on reasoning.
    pub reasoning_tokens: u64,
}

/// How many times as much as was counted a reply may seem to have: words are long in code and in some languages, and
/// short in others, but no reply has 16 bytes a token.
const MOST_TIMES: u64 = 4;

/// Tokens by which an estimate may be beside that whatever the words: of a short reply it tells little.
const FEW: u64 = 100;

impl Usage {
    /// These counts for a reply of so many tokens by estimate. Servers that count no more than the first word, or nothing,
    /// are not believed.
    #[must_use]
    pub fn of_written(self, estimated: u64) -> Self {
        let most = match self.output_tokens {
            0 => 0,
            counted => counted.saturating_mul(MOST_TIMES).saturating_add(FEW),
        };
        Self { output_tokens: if estimated > most { estimated } else { self.output_tokens }, ..self }
    }
}

/// What tokens cost, in millionths of a US dollar: sums of small prices stay exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cost(pub u64);

impl Cost {
    pub fn as_dollars(self) -> f64 {
        // Exact up to nine thousand million dollars.
        self.0 as f64 / 1e6
    }

    /// What was spent after `before`.
    pub fn since(self, before: Self) -> Self {
        Self(self.0.saturating_sub(before.0))
    }
}

/// As `$0.0123`; small sums with more places than large ones.
impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places = if self.0 < 1_000_000 { 4 } else { 2 };
        write!(f, "${:.places$}", self.as_dollars())
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }
}

impl Serialize for Cost {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.as_dollars())
    }
}

/// What stands before a number that is an estimate.
pub fn about(is_estimated: bool) -> &'static str {
    if is_estimated { "about " } else { "" }
}

/// A number of tokens in few characters, for a line about a turn: `34 tokens`, `1.2k tokens`, `1.5M tokens`.
pub fn tokens_in_short(tokens: u64) -> String {
    // Cut, not rounded: a turn has not used what it is said to have used before it has.
    let short = |unit: u64, letter| format!("{}.{}{letter} tokens", tokens / unit, tokens % unit * 10 / unit);
    match tokens {
        0..1_000 => format!("{tokens} tokens"),
        1_000..1_000_000 => short(1_000, 'k'),
        _ => short(1_000_000, 'M'),
    }
}

impl Usage {
    pub fn total(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        // Servers say what they like.
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(other.cached_tokens);
        self.cache_write_tokens = self.cache_write_tokens.saturating_add(other.cache_write_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.reasoning_tokens = self.reasoning_tokens.saturating_add(other.reasoning_tokens);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_tokens_are_said_in_thousands_and_in_millions() {
        let short = |tokens| tokens_in_short(tokens);
        assert_eq!(
            [0, 999, 1_000, 1_234, 999_999, 1_000_000, 1_500_000, 123_456_789].map(short),
            [
                "0 tokens",
                "999 tokens",
                "1.0k tokens",
                "1.2k tokens",
                "999.9k tokens",
                "1.0M tokens",
                "1.5M tokens",
                "123.4M tokens"
            ]
        );
        assert_eq!(tokens_in_short(u64::MAX), "18446744073709.5M tokens");
    }
}
