//! What is known of single programs besides reading: options that make them do more, and how much of a command makes a
//! rule that is of use again.

use super::{
    opened::{self, Opened, Tail},
    rules::Rule,
};

/// Options by which a program that a rule allows would run another one, or write or delete instead of looking. A rule has
/// to spell them to cover them.
const RISKY: &[(&str, &[&str])] = &[
    ("find", &["-delete", "-fprint", "-fprint0", "-fprintf", "-fls", "-exec", "-execdir", "-ok", "-okdir"]),
    (
        "git",
        &[
            "-c",
            "-C",
            "--config-env",
            "--exec-path",
            "--git-dir",
            "--work-tree",
            "--upload-pack",
            "--receive-pack",
            "--output",
            "--ext-diff",
            "-O",
            "--open-files-in-pager",
        ],
    ),
    ("sort", &["-o", "--output", "--compress-program"]),
    ("rg", &["--pre", "--hostname-bin"]),
    ("tar", &["--to-command", "-I", "--use-compress-program", "--checkpoint-action", "--rsh-command"]),
    ("tree", &["-o"]),
];

pub(super) fn last_risky(texts: &[&str]) -> Option<usize> {
    let program = opened::standard_name(texts.first()?)?;
    let (_, options) = RISKY.iter().find(|(name, _)| *name == program)?;
    let is_risky = |text: &&str| {
        options.iter().any(|option| {
            let rest = text.strip_prefix(option);
            // `--output=x`, `-ox`
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('=') || is_letter(option))
        })
    };
    texts.iter().rposition(is_risky)
}

/// Whether a value may be joined to an option.
fn is_letter(option: &str) -> bool {
    option.len() == 2
}

pub(super) fn has_risky(program: &str) -> bool {
    opened::standard_name(program).is_some_and(|program| RISKY.iter().any(|(name, _)| *name == program))
}

/// Programs whose further words choose what is built or tested, with the words that say what they do.
const TASKS: &[(&str, &[&str])] = &[
    ("cargo", &["bench", "build", "check", "clippy", "doc", "fmt", "nextest", "test", "tree"]),
    ("go", &["build", "fmt", "test", "vet"]),
    ("npm", &["ci", "test"]),
    ("pnpm", &["test"]),
    ("yarn", &["test"]),
    ("dotnet", &["build", "test"]),
    ("mvn", &["compile", "test", "verify"]),
    ("gradle", &["build", "check", "test"]),
    ("swift", &["build", "test"]),
    ("mix", &["compile", "format", "test"]),
    ("git", &["add", "blame", "diff", "log", "show", "status"]),
];

/// Programs that only check or test, whatever they are given.
const CHECKS: &[&str] = &["pytest", "mypy", "tsc", "eslint", "ls", "wc"];

/// The words of the narrowest rule that is of use again; `None` when there is none.
pub(super) fn narrow(command: &Opened) -> Option<Vec<String>> {
    if command.tail == Tail::Unknown {
        return None;
    }
    let texts = command.texts();
    let (program, rest) = texts.split_first()?;
    let is_task = TASKS
        .iter()
        .any(|(name, tasks)| name == program && rest.first().is_some_and(|task| tasks.contains(task)));
    let risky = last_risky(&texts).map_or(0, |risky| risky + 1);
    let length = match (is_task, CHECKS.contains(program), rest) {
        _ if risky > 0 => texts.len(),
        (true, ..) => 2,
        (_, true, _) => 1,
        _ => texts.len(),
    };
    let words = command.words.get(..length)?;
    (!words.iter().any(|word| word.is_glob)).then(|| words.iter().map(|word| word.text.clone()).collect())
}

/// The rule that allows a text to the letter, if it can be written as one.
pub(super) fn spelt(text: &str) -> Vec<Rule> {
    let rule: Option<Rule> = format!("command: {}", text.trim()).parse().ok();
    rule.filter(|rule| rule.is_line(text) && !text.trim().contains('\n')).into_iter().collect()
}
