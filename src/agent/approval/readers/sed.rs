//! What of `sed` only prints: scripts of few commands, none of which writes a file or runs something.

use super::Reading;

const LONG: &[&str] =
    &["--quiet", "--silent", "--regexp-extended", "--separate", "--unbuffered", "--null-data"];
const FLAGS: &str = "nErsuz";

/// Commands that print, delete, count or quit.
const COMMANDS: &str = "pdq=PDnNgGhHx";

/// What may stand behind a replacement; `e` would run it, `w` write it to a file.
const SUBSTITUTES: &str = "gpiI0123456789";

pub(super) fn reading(words: &[&str]) -> Option<Reading> {
    let mut scripts = Vec::new();
    let mut operands = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if *word == "-e" || *word == "--expression" {
            scripts.push(*words.next()?);
        } else if *word == "--" {
            operands.extend(words.by_ref());
        } else if word.starts_with("--") {
            LONG.contains(word).then_some(())?;
        } else if let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            letters.chars().all(|letter| FLAGS.contains(letter)).then_some(())?;
        } else {
            operands.push(*word);
        }
    }
    if scripts.is_empty() {
        scripts.push((!operands.is_empty()).then(|| operands.remove(0))?);
    }
    scripts.iter().all(|script| only_prints(script)).then_some(())?;
    let paths = operands.into_iter().filter(|path| *path != "-").map(str::to_owned).collect();
    Some(Reading { paths, ..Reading::default() })
}

/// Whether `sed` may run a program with these words: its scripts do more than print, or are not known.
pub(super) fn may_run(words: &[&str]) -> bool {
    let is_script_option = |word: &&str| matches!(*word, "-e" | "--expression");
    let has_option = words.iter().any(is_script_option);
    let mut scripts = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        if is_script_option(word) {
            scripts.extend(rest.next());
        } else if word.starts_with('-') {
            let is_known = word.starts_with("-i")
                || LONG.contains(word)
                || word.starts_with("--in-place")
                || word.chars().skip(1).all(|letter| FLAGS.contains(letter));
            if !is_known {
                return true;
            }
        } else if !has_option && scripts.is_empty() {
            scripts.push(word);
        }
    }
    !scripts.iter().all(|script| only_prints(script))
}

/// Whether a script is of commands that are known here, read so that every `sed` reads them the same way.
fn only_prints(script: &str) -> bool {
    script.split(';').all(|command| {
        let command = command.trim_matches(' ');
        let Some(rest) = after_addresses(command) else { return false };
        let rest = rest.trim_start_matches([' ', '!']);
        match rest.chars().next() {
            None => command.is_empty(),
            Some('s') => only_substitutes(rest.get(1..).unwrap_or_default()),
            Some(letter) => rest.len() == 1 && COMMANDS.contains(letter),
        }
    })
}

/// What stands behind the addresses of a command: numbers, `$`, and patterns without brackets.
fn after_addresses(command: &str) -> Option<&str> {
    let mut rest = command;
    loop {
        rest = if let Some(pattern) = rest.strip_prefix('/') {
            let (pattern, behind) = pattern.split_once('/')?;
            // A bracket may hold the end, and a backslash may take it away.
            (!pattern.contains('[') && !pattern.ends_with('\\')).then_some(behind)?
        } else {
            rest.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '$' | '~' | '+'))
        };
        match rest.strip_prefix(',') {
            Some(more) => rest = more,
            None => return Some(rest),
        }
    }
}

/// Whether what follows `s` is a pattern, a replacement and harmless flags, with its mark in no other place.
fn only_substitutes(text: &str) -> bool {
    let Some(mark) = text.chars().next().filter(|mark| mark.is_ascii_punctuation() && *mark != '\\') else {
        return false;
    };
    let parts: Vec<&str> = text.split(mark).collect();
    let ["", pattern, replacement, flags] = parts.as_slice() else { return false };
    !pattern.ends_with('\\')
        && !replacement.ends_with('\\')
        && !text.contains(['\n', '[', ']'])
        && flags.chars().all(|flag| SUBSTITUTES.contains(flag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_that_only_prints_is_told_from_one_that_writes_or_runs() {
        for script in
            ["1,5p", "$p", "10q", "/a b/p", "/a/,/b/p", "1d;3d", "s/a/b/", "s|a|b|gp", "2!d", "=", "1~2p"]
        {
            assert!(only_prints(script), "{script}");
        }
        for script in [
            "w out",
            "1w out",
            "s/a/b/w out",
            "s/a/b/e",
            "e",
            "1e date",
            "r /etc/passwd",
            "R x",
            "W x",
            "s/a/b/;e",
            "/[/]w x/p",
            "s/[/]/x/e",
            "s/a\\/b/c/e",
            "s/a/b\\/e",
            "{p}",
            "a x",
            "y/a/b/",
            "/a\\/p;e",
            "sa1a1w x",
            "F",
            "",
            "p\nw x",
            "/x/I,/y/p",
            "b",
            ": x",
        ] {
            assert!(!only_prints(script) || script.is_empty(), "{script}");
        }
    }
}
