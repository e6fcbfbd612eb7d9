//! What `git config` and `git remote` show of git's settings.

use super::{super::readers::Reading, commits::names_alone, is_cut_short};

/// Options that change how a setting is shown, or in which of the files it is looked for.
const OPTIONS: &[&str] = &[
    "--bool",
    "--global",
    "--includes",
    "--int",
    "--local",
    "--name-only",
    "--no-includes",
    "--null",
    "--path",
    "--show-origin",
    "--show-scope",
    "--system",
    "-z",
];

/// Parts of the names of settings that hold what only the user is to know.
const SECRET_PARTS: &[&str] =
    &["askpass", "cookie", "credential", "extraheader", "oauth", "pass", "proxy", "secret", "token"];

/// `git config` of one setting, of the names of all, and of all that the project's own file has: what the user's files
/// have lies outside the workspace.
pub(super) fn config(words: &[&str]) -> Option<Reading> {
    let (options, operands): (Vec<&str>, Vec<&str>) = words.iter().partition(|word| word.starts_with('-'));
    let mut lists = false;
    let mut gets = false;
    for option in &options {
        match *option {
            "--list" | "-l" => lists = true,
            "--get" | "--get-all" => gets = true,
            option if OPTIONS.contains(&option) || option.starts_with("--type=") => {}
            _ => return None,
        }
    }
    let names = match operands.as_slice() {
        ["list"] if !gets => {
            lists = true;
            &[][..]
        }
        ["get", names @ ..] => names,
        names => names,
    };
    let shows_its_own = options.contains(&"--local") || options.contains(&"--name-only");
    let is_harmless = |name: &str| {
        let name = name.to_ascii_lowercase();
        name.contains('.')
            && !name.starts_with("url.")
            && !SECRET_PARTS.iter().any(|part| name.contains(part))
    };
    let only_reads = match names {
        [] => lists && shows_its_own,
        [name] => !lists && is_harmless(name),
        _ => false,
    };
    only_reads.then(names_alone)
}

/// The files of settings that the words of `git config` name.
pub(super) fn files(words: &[&str]) -> Vec<String> {
    let mut files = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let next = words.get(at + 1).copied();
        let (name, joined) = word.split_once('=').map_or((*word, None), |(name, value)| (name, Some(value)));
        if name == "-f" || is_cut_short(name, "--file") {
            files.extend(joined.or(next));
        } else {
            files.extend(word.strip_prefix("-f"));
        }
    }
    files.into_iter().map(str::to_owned).collect()
}

/// `git remote` as far as it shows what the settings say and asks no other machine.
pub(super) fn remote(words: &[&str]) -> Option<Reading> {
    let only_reads = match words {
        [] | ["-v" | "--verbose" | "show"] => true,
        ["get-url", rest @ ..] => {
            let (options, names): (Vec<&str>, Vec<&str>) =
                rest.iter().partition(|word| word.starts_with('-'));
            names.len() == 1 && options.iter().all(|option| matches!(*option, "--all" | "--push"))
        }
        ["show", "-n", name] => !name.starts_with('-'),
        _ => false,
    };
    only_reads.then(names_alone)
}
