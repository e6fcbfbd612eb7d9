//! What a turn uses, and what it costs.

use std::{fmt, ops::AddAssign};

use serde::{Serialize, Serializer};

/// Tokens as the server counted them; all zero when it did not say.
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

impl Usage {
    pub fn total(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

impl Usage {
    /// What was used after `before`.
    pub fn since(self, before: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_sub(before.input_tokens),
            cached_tokens: self.cached_tokens.saturating_sub(before.cached_tokens),
            cache_write_tokens: self.cache_write_tokens.saturating_sub(before.cache_write_tokens),
            output_tokens: self.output_tokens.saturating_sub(before.output_tokens),
            reasoning_tokens: self.reasoning_tokens.saturating_sub(before.reasoning_tokens),
        }
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
