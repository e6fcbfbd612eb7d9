//! What of `jq` only reads, and only the files that it names.

use super::Reading;

const FLAGS: &str = "rcesSMCnja";

const LONG: &[&str] = &[
    "--ascii-output",
    "--color-output",
    "--compact-output",
    "--exit-status",
    "--join-output",
    "--monochrome-output",
    "--null-input",
    "--raw-input",
    "--raw-output",
    "--slurp",
    "--sort-keys",
    "--tab",
];

/// Options with so many values that are no files.
const VALUED: &[(&str, usize)] = &[("--arg", 2), ("--argjson", 2), ("--indent", 1)];

/// What in a program shows variables of the environment, or files that are not named outside it.
const REACHES_FURTHER: &[&str] = &["env", "ENV", "import", "include", "modulemeta", "get_search_list"];

pub(super) fn reading(words: &[&str]) -> Option<Reading> {
    let mut operands = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if let Some((_, values)) = VALUED.iter().find(|(option, _)| option == word) {
            for _ in 0..*values {
                words.next()?;
            }
        } else if word.starts_with("--") {
            LONG.contains(word).then_some(())?;
        } else if let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            letters.chars().all(|letter| FLAGS.contains(letter)).then_some(())?;
        } else {
            operands.push(*word);
        }
    }
    let (program, paths) = operands.split_first()?;
    (!REACHES_FURTHER.iter().any(|word| program.contains(word))).then_some(())?;
    let paths = paths.iter().filter(|path| **path != "-").map(|path| (*path).to_owned()).collect();
    Some(Reading { paths, ..Reading::default() })
}
