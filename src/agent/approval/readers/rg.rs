//! What of `rg` only reads, and which files below its folders.

use super::{
    Reading, ends,
    given::Given,
    table::{Operands, Reader, reader},
};
use crate::workspace::place::Below;

pub(super) const RG: Reader = Reader {
    long: &[
        "after-context=",
        "before-context=",
        "case-sensitive",
        "color=",
        "column",
        "context=",
        "count",
        "count-matches",
        "crlf",
        "files",
        "files-with-matches",
        "files-without-match",
        "fixed-strings",
        "follow",
        "glob=",
        "heading",
        "hidden",
        "iglob=",
        "ignore-case",
        "invert-match",
        "json",
        "line-number",
        "line-regexp",
        "max-columns=",
        "max-count=",
        "max-depth=",
        "max-filesize=",
        "multiline",
        "no-filename",
        "no-heading",
        "no-ignore",
        "no-ignore-vcs",
        "no-line-number",
        "no-messages",
        "null",
        "only-matching",
        "passthru",
        "pcre2",
        "pretty",
        "quiet",
        "regexp=",
        "replace=",
        "smart-case",
        "sort=",
        "sortr=",
        "stats",
        "text",
        "threads=",
        "trim",
        "type-list",
        "type-not=",
        "type=",
        "unrestricted",
        "vimgrep",
        "with-filename",
        "word-regexp",
    ],
    ..reader("rg", ".0FHILNPSUVacilnopqsuvwx", "ABCMTegjmrt", Operands::PatternAndPaths)
};

/// How the names of files end that are of one of these types, whoever hides them. Other types hold files whose names begin
/// with a dot, or are not told by an end.
const TYPES: &[(&str, &[&str])] = &[
    ("css", &[".css", ".scss"]),
    ("go", &[".go"]),
    ("html", &[".htm", ".html", ".ejs"]),
    ("js", &[".js", ".jsx", ".cjs", ".mjs", ".vue"]),
    ("markdown", MARKDOWN),
    ("md", MARKDOWN),
    ("py", &[".py", ".pyi"]),
    ("python", &[".py", ".pyi"]),
    ("rust", &[".rs"]),
    ("swift", &[".swift"]),
    ("ts", &[".ts", ".tsx", ".cts", ".mts"]),
    ("typescript", &[".ts", ".tsx", ".cts", ".mts"]),
];
const MARKDOWN: &[&str] = &[".markdown", ".md", ".mdown", ".mdwn", ".mdx", ".mkd", ".mkdn"];

pub(super) fn reading(words: &[&str]) -> Option<Reading> {
    let Given { options, mut operands } = RG.given(words)?;
    let values = |names: &[&str]| -> Vec<&str> {
        options.iter().filter(|(name, _)| names.contains(name)).filter_map(|(_, value)| *value).collect()
    };
    let has = |names: &[&str]| options.iter().any(|(name, _)| names.contains(name));
    if has(&["type-list"]) {
        return operands.is_empty().then(Reading::default);
    }
    // With `-g=x` the mark is no part of the value.
    if options
        .iter()
        .any(|(name, value)| name.len() == 1 && value.is_some_and(|value| value.starts_with('=')))
    {
        return None;
    }
    let lists = has(&["files"]);
    if !lists && !has(&["e", "regexp"]) {
        if operands.is_empty() {
            return None;
        }
        operands.remove(0);
    }
    if operands.is_empty() {
        operands.push(".");
    }
    let is_choosing = |glob: &&str| !glob.starts_with('!');
    let globs: Vec<&str> = values(&["g", "glob"]).into_iter().filter(is_choosing).collect();
    let any_case = values(&["iglob"]).into_iter().filter(is_choosing).count();
    let types = values(&["t", "type"]);
    // What one of these chooses is shown though its name begins with a dot.
    let chooses = !globs.is_empty() || any_case > 0 || !types.is_empty();
    let ignores_less = ["hidden", ".", "no-ignore", "no-ignore-vcs", "u", "unrestricted"];
    let mut only = Vec::new();
    if any_case == 0 && !globs.is_empty() {
        only = ends(&globs.into_iter().map(str::to_owned).collect::<Vec<_>>());
    } else if any_case == 0 {
        let ends = |name: &&str| TYPES.iter().find(|(known, _)| known == name).map(|(_, ends)| *ends);
        let known: Option<Vec<_>> = types.iter().map(ends).collect();
        only = known.unwrap_or_default().concat().into_iter().map(str::to_owned).collect();
    }
    let below = match () {
        () if lists => Below::None,
        () if has(&["L", "follow"]) => Below::Linked,
        () if chooses || has(&ignores_less) => Below::All,
        () => Below::Visible,
    };
    let paths = operands.into_iter().filter(|word| *word != "-").map(str::to_owned).collect();
    Some(Reading { paths, below, only, ..Reading::default() })
}
