//! What of `test` only compares values and looks at files.

use crate::agent::approval::shell::{Known, Word};

/// What `test` compares. With other options bash runs what stands in a word.
const TESTS: &[&str] = &[
    "-a", "-d", "-e", "-ef", "-eq", "-f", "-ge", "-gt", "-h", "-le", "-L", "-lt", "-n", "-ne", "-nt", "-o",
    "-ot", "-r", "-s", "-w", "-x", "-z",
];

/// Whether a test compares values and nothing else, whatever they are: by the number of its words.
pub(super) fn compares(words: &[Word]) -> bool {
    if words.iter().all(Word::is_spelt) {
        return true;
    }
    let words = match words {
        [not, rest @ ..] if not.is_spelt() && not.text == "!" => rest,
        words => words,
    };
    let is_mark =
        |word: &Word| word.is_spelt() && word.text.starts_with('-') && TESTS.contains(&word.text.as_str());
    let is_operator =
        |word: &Word| word.is_spelt() && matches!(word.text.as_str(), "=" | "!=" | "==") || is_mark(word);
    words.iter().all(|word| word.known != Known::Nothing)
        && match words {
            [mark, _] => is_mark(mark),
            [_, operator, _] => is_operator(operator),
            _ => false,
        }
}

pub(super) fn only_tests(words: &[&str]) -> bool {
    words.iter().all(|word| !word.starts_with('-') || TESTS.contains(word))
}
