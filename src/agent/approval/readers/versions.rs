//! Programs that are asked which they are.

/// Programs with the words by which they tell their version and do nothing else. Not here are those that let the folder
/// in which they run choose another program of their name (cargo, go, yarn).
const TOLD_BY: &[(&str, &[&str])] = &[
    ("bash", &["--version"]),
    ("c++", &["--version"]),
    ("cc", &["--version"]),
    ("clang", &["--version"]),
    ("cmake", &["--version"]),
    ("docker", &["--version", "-v"]),
    ("g++", &["--version"]),
    ("gcc", &["--version"]),
    ("git", &["--version"]),
    ("grep", &["--version", "-V"]),
    ("java", &["--version", "-version"]),
    ("jq", &["--version", "-V"]),
    ("make", &["--version", "-v"]),
    ("node", &["--version", "-v"]),
    ("npm", &["--version", "-v"]),
    ("perl", &["--version", "-v"]),
    ("php", &["--version", "-v"]),
    ("python", &["--version", "-V"]),
    ("python3", &["--version", "-V"]),
    ("rg", &["--version", "-V"]),
    ("ruby", &["--version", "-v"]),
    ("sed", &["--version"]),
];

pub(super) fn only_tells_version(program: &str, words: &[&str]) -> bool {
    let [word] = words else { return false };
    TOLD_BY.iter().any(|(name, told_by)| *name == program && told_by.contains(word))
}
