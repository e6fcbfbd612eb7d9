//! What a model may have meant by a path that does not exist.

use std::path::Path;

use nucleo_matcher::{
    Config, Matcher,
    pattern::{AtomKind, CaseMatching, Normalization, Pattern},
};

/// So many names are given; more would not be read.
const MAX_NAMES: usize = 3;
/// How alike two names must be to be a slip of the pen, from 0 to 1.
const LIKENESS: f32 = 0.7;

/// Of `files` (as they are shown) those nearest to `path`: of the same name elsewhere, then of a name that differs by
/// a slip, then those that contain its letters in order.
pub(crate) fn nearest(path: &str, files: &[String]) -> Vec<String> {
    let name = file_name(path).to_lowercase();
    let mut found: Vec<String> = Vec::new();
    let mut add = |file: &String| {
        if found.len() < MAX_NAMES && !found.contains(file) {
            found.push(file.clone());
        }
    };
    files.iter().filter(|file| file_name(file).to_lowercase() == name).for_each(&mut add);

    let lower: Vec<String> = files.iter().map(|file| file_name(file).to_lowercase()).collect();
    let mut names: Vec<&str> =
        lower.iter().map(String::as_str).filter(|other| alike_in_length(other, &name)).collect();
    names.sort_unstable();
    names.dedup();
    for close in similar::get_close_matches(name.as_str(), &names, MAX_NAMES, LIKENESS) {
        files.iter().zip(&lower).filter(|(_, lower)| *lower == close).for_each(|(file, _)| add(file));
    }

    let mut matcher = Matcher::new(Config::DEFAULT.match_paths());
    let pattern = Pattern::new(path, CaseMatching::Ignore, Normalization::Smart, AtomKind::Fuzzy);
    pattern.match_list(files, &mut matcher).iter().take(MAX_NAMES).for_each(|(file, _)| add(file));
    found
}

fn file_name(path: &str) -> &str {
    Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or(path)
}

fn alike_in_length(one: &str, other: &str) -> bool {
    one.len().abs_diff(other.len()) * 2 <= one.len().max(other.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, expected: &[&str]) {
        let files =
            ["Cargo.toml", "src/main.rs", "src/agent/thread.rs", "tests/agent/thread.rs", "docs/guide.md"];
        assert_eq!(nearest(path, &files.map(str::to_owned)), expected, "{path}");
    }

    #[test]
    fn the_same_name_elsewhere_comes_first() {
        check("src/thread.rs", &["src/agent/thread.rs", "tests/agent/thread.rs"]);
    }

    #[test]
    fn a_slip_of_the_pen_is_understood() {
        check("src/mian.rs", &["src/main.rs"]);
        check("cargo.tmol", &["Cargo.toml"]);
    }

    #[test]
    fn letters_left_out_are_understood() {
        check("docsgd", &["docs/guide.md"]);
    }

    #[test]
    fn nothing_near_is_nothing() {
        check("zzzzzz", &[]);
    }
}
