//! The words of those programs that run commands: where in them the command begins, and what they do to it.

use super::{
    Tail, file_name,
    names::{HARMLESS_VARIABLES, OPAQUE, OTHER_RIGHTS, RUNNERS, SHOWS_VARIABLES, WRAPPERS},
    standard_name,
};
use crate::agent::approval::shell::Word;

/// What a wrapper's own words say.
pub(super) enum Inner {
    /// The words from here on are a command.
    At(usize, Tail),
    /// A text for a shell.
    Text(String),
    /// Several commands by their words.
    Commands(Vec<(Vec<Word>, Tail)>),
    None,
    Doubt(String),
}

impl Inner {
    pub(super) const fn text(&self) -> Option<&String> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// What the words of a command say that it runs.
pub(super) fn inner(words: &[Word]) -> Inner {
    let Some(program) = words.first() else { return Inner::None };
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    let name = file_name(&program.text);
    if OTHER_RIGHTS.contains(&name) {
        return Inner::Doubt(format!("runs with other rights, by {name}"));
    }
    if name == "set" && only_sets_options(&texts) || name == "read" && only_reads_values(words) {
        return Inner::None;
    }
    if OPAQUE.contains(&name) {
        return Inner::Doubt(format!("changes or hides what runs, by {name}"));
    }
    if RUNNERS.contains(&name) {
        return Inner::Doubt(format!("runs another command, by {name}"));
    }
    let is_wrapper = WRAPPERS.contains(&name);
    if is_wrapper && standard_name(&program.text).is_none() {
        return Inner::Doubt(format!("runs a program of its own that is called {name}"));
    }
    match name {
        "env" => env(&texts),
        "nohup" => after_options(&texts, &[], &[], 0),
        "setsid" => after_options(&texts, &["-w", "-c", "-f", "--wait", "--ctty", "--fork"], &[], 0),
        "nice" => after_options(&texts, &[], &["-n", "--adjustment"], 0),
        "ionice" => after_options(&texts, &["-t"], &["-c", "-n"], 0),
        "stdbuf" => after_options(&texts, &[], &["-i", "-o", "-e", "--input", "--output", "--error"], 0),
        "timeout" => after_options(
            &texts,
            &["-v", "-f", "-p", "--verbose", "--foreground", "--preserve-status"],
            &["-s", "-k", "--signal", "--kill-after"],
            1,
        ),
        "time" => after_options(&texts, &["-p", "-v", "--verbose"], &[], 0),
        "command" if matches!(texts.get(1), Some(&("-v" | "-V"))) => Inner::None,
        "exec" | "command" | "builtin" => after_options(&texts, &[], &[], 0),
        "busybox" | "toybox" => after_options(&texts, &[], &[], 0),
        "xargs" => xargs(&texts),
        "sh" | "bash" | "dash" | "ash" => shell_text(&texts),
        "zsh" | "ksh" | "fish" | "csh" | "tcsh" => {
            Inner::Doubt(format!("starts a shell of another kind, {name}"))
        }
        "find" => find(words),
        _ => Inner::None,
    }
}

/// Whether `set` only has the shell end sooner or show what it runs.
fn only_sets_options(texts: &[&str]) -> bool {
    let mut words = texts.iter().skip(1).peekable();
    if words.peek().is_none() {
        return false;
    }
    while let Some(word) = words.next() {
        let letters = word.strip_prefix(['-', '+']).unwrap_or_default();
        let (plain, takes_name) = letters.strip_suffix('o').map_or((letters, false), |plain| (plain, true));
        let has_name = !takes_name || words.next().is_some_and(|name| SHELL_OPTIONS.contains(name));
        if letters.is_empty() || !plain.chars().all(|letter| "eux".contains(letter)) || !has_name {
            return false;
        }
    }
    true
}

/// Whether `read` only sets variables that no other program sees.
fn only_reads_values(words: &[Word]) -> bool {
    let is_name = |word: &&Word| {
        word.is_spelt()
            && (word.text == "-r" || word.text.chars().all(|c| c.is_ascii_lowercase() || c == '_'))
    };
    words.iter().skip(1).filter(is_name).count() == words.len() - 1
}

/// The command behind a wrapper's options and its `operands`. `flags` stand alone; `valued` take the next word, or a value
/// that is joined to them.
fn after_options(texts: &[&str], flags: &[&str], valued: &[&str], operands: usize) -> Inner {
    let mut at = 1;
    while let Some(text) = texts.get(at).filter(|text| text.starts_with('-') && text.len() > 1) {
        let joined = |option: &&&str| {
            let rest = text.strip_prefix(**option).unwrap_or_default();
            if option.starts_with("--") { rest.starts_with('=') } else { !rest.is_empty() }
        };
        if *text == "--" {
            at += 1;
            break;
        } else if flags.contains(text) || valued.iter().any(|option| joined(&option)) {
            at += 1;
        } else if valued.contains(text) {
            at += 2;
        } else {
            return Inner::Doubt(format!("is given {text}, which is not known"));
        }
    }
    match at + operands {
        at if at < texts.len() => Inner::At(at, Tail::None),
        _ => Inner::None,
    }
}

fn env(texts: &[&str]) -> Inner {
    let mut at = 1;
    while let Some(text) = texts.get(at) {
        match *text {
            "-i" | "-" | "--ignore-environment" => at += 1,
            "-u" | "--unset" => at += 2,
            "--" => at += 1,
            option if option.starts_with('-') => {
                return Inner::Doubt(format!("is given {option}, which is not known"));
            }
            assignment if assignment.contains('=') => {
                let name = assignment.split('=').next().unwrap_or_default();
                if !HARMLESS_VARIABLES.contains(&name) {
                    return Inner::Doubt(format!("sets {name}"));
                }
                at += 1;
            }
            _ => return Inner::At(at, Tail::None),
        }
    }
    Inner::Doubt(SHOWS_VARIABLES.to_owned())
}

fn xargs(texts: &[&str]) -> Inner {
    let flags = ["-0", "-r", "-t", "-x", "--null", "--no-run-if-empty", "--verbose", "--exit"];
    let valued = [
        "-n",
        "-P",
        "-I",
        "-L",
        "-s",
        "-d",
        "--max-args",
        "--max-procs",
        "--replace",
        "--max-lines",
        "--delimiter",
    ];
    match after_options(texts, &flags, &valued, 0) {
        // It puts its input in the place of any word.
        Inner::At(..) if texts.iter().any(|text| text.starts_with("-I") || text.starts_with("--replace")) => {
            Inner::Doubt("fills in words that are not known".to_owned())
        }
        Inner::At(at, _) => Inner::At(at, Tail::Unknown),
        // It echoes its input.
        other => other,
    }
}

/// What a shell may be given by `-o` without another meaning of the text.
const SHELL_OPTIONS: &[&str] = &["errexit", "nounset", "pipefail", "xtrace"];

/// `sh -c TEXT`, with further options on either side of `-c`; with a file instead it is a command like any other.
fn shell_text(texts: &[&str]) -> Inner {
    let (mut at, mut is_text) = (1, false);
    while let Some(option) = texts.get(at).filter(|text| text.starts_with(['-', '+'])) {
        at += 1;
        let letters = option.strip_prefix(['-', '+']).unwrap_or_default();
        match letters {
            // The options end.
            "-" if option.starts_with('-') => break,
            "o" | "eo" | "euo" | "ueo" if texts.get(at).is_some_and(|name| SHELL_OPTIONS.contains(name)) => {
                at += 1
            }
            letters if !letters.is_empty() && letters.chars().all(|letter| "ceux".contains(letter)) => {
                if letters.contains('c') && option.starts_with('+') {
                    return Inner::Doubt(format!("starts a shell with {option}"));
                }
                is_text |= letters.contains('c');
            }
            _ => return Inner::Doubt(format!("starts a shell with {option}")),
        }
    }
    match (is_text, texts.get(at)) {
        (true, Some(text)) => Inner::Text((*text).to_owned()),
        (false, Some(_)) => Inner::None,
        (_, None) => Inner::Doubt("reads commands from its input".to_owned()),
    }
}

/// The commands behind `-exec` and its kin, up to `;` or `+`.
fn find(words: &[Word]) -> Inner {
    let mut commands = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        if !matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir") {
            continue;
        }
        let mut run: Vec<Word> = Vec::new();
        for word in rest.by_ref() {
            // Behind another word the second is one as well.
            let is_end =
                word.text == ";" || word.text == "+" && run.last().is_some_and(|last| last.text == "{}");
            if is_end {
                break;
            }
            run.push(word.clone());
        }
        commands.push((run, Tail::Unknown));
    }
    if commands.is_empty() { Inner::None } else { Inner::Commands(commands) }
}
