//! What of `yq` only reads: of both programs of that name, of which one writes files and the other runs `jq`.

use super::{
    Reading,
    table::{Operands, Reader, reader},
};

const YQ: Reader = Reader {
    long: &[
        "colors",
        "exit-status",
        "input-format=",
        "no-colors",
        "no-doc",
        "null-input",
        "output-format=",
        "prettyPrint",
    ],
    ..reader("yq", "CMNPceny", "op", Operands::Paths)
};

/// What in a program shows variables of the environment or other files, or is a program again.
const REACHES_FURTHER: &[&str] = &[
    "env",
    "ENV",
    "eval",
    "import",
    "include",
    "load",
    "modulemeta",
    "get_search_list",
    "split_doc",
    "system",
];

/// The program counts as a path as well: to one of them it is one where a file has that name.
pub(super) fn reading(words: &[&str]) -> Option<Reading> {
    let words = match words {
        ["e" | "eval", words @ ..] => words,
        words => words,
    };
    // Where both take another number of values, this one is the letter of both.
    let raw = |word: &&&str| **word != "-r";
    let words: Vec<&str> = words.iter().filter(raw).copied().collect();
    let reading = YQ.reading(&words)?;
    let reaches = |word: &str| REACHES_FURTHER.iter().any(|name| word.contains(name));
    (!reading.paths.iter().any(|word| reaches(word))).then_some(reading)
}
