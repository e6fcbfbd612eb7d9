//! Regular expressions that are part of this program.

use regex::Regex;

/// Compiles a pattern of this program.
///
/// # Panics
/// Never for a pattern that a test compiles, and each of them is: what is looked for must not go unseen without a word.
#[expect(clippy::expect_used, reason = "only called with constants, each of which a test compiles")]
pub(super) fn constant(pattern: &'static str) -> Regex {
    Regex::new(pattern).expect("a constant pattern")
}
