//! What is known of single programs besides reading: options that make them do more, and how much of a command makes a
//! rule that is of use again.

use super::{
    opened::{self, Opened, Tail},
    options, readers,
    rules::Rule,
};

/// Options by which a program that a rule allows would run another one, or write or delete instead of looking. A rule has
/// to spell them to cover them.
struct Risky {
    program: &'static str,
    /// Alone, among others, or with a value behind it.
    letters: &'static str,
    /// Long ones, which most programs also take when they are cut short.
    long: &'static [&'static str],
    /// Words that stand as they are, or before `=`; those of one letter also before a value that is joined to them.
    words: &'static [&'static str],
}

const NOTHING: Risky = Risky { program: "", letters: "", long: &[], words: &[] };

const RISKY: &[Risky] = &[
    Risky { program: "cargo", long: &["--config"], words: &["-C", "-Z"], ..NOTHING },
    Risky {
        program: "eslint",
        letters: "c",
        long: &["--config", "--fix", "--plugin", "--resolve-plugins-relative-to", "--rulesdir"],
        ..NOTHING
    },
    Risky {
        program: "find",
        words: &["-delete", "-fprint", "-fprint0", "-fprintf", "-fls", "-exec", "-execdir", "-ok", "-okdir"],
        ..NOTHING
    },
    Risky {
        program: "git",
        words: &["-C", "-O", "-c"],
        long: &[
            "--config-env",
            "--exec-path",
            "--ext-diff",
            "--git-dir",
            "--open-files-in-pager",
            "--output",
            "--receive-pack",
            "--upload-pack",
            "--work-tree",
        ],
        ..NOTHING
    },
    Risky {
        program: "go",
        words: &["-exec", "-toolexec", "-vettool", "--exec", "--toolexec", "--vettool"],
        ..NOTHING
    },
    Risky { program: "gradle", letters: "bcIp", long: &["--init-script", "--project-dir"], ..NOTHING },
    Risky {
        program: "make",
        letters: "CEIf",
        long: &["--directory", "--eval", "--file", "--makefile"],
        ..NOTHING
    },
    Risky { program: "mvn", letters: "f", long: &["--file"], ..NOTHING },
    Risky { program: "mypy", long: &["--config-file", "--python-executable"], ..NOTHING },
    Risky { program: "npm", long: &["--node-options", "--prefix", "--script-shell"], ..NOTHING },
    Risky {
        program: "pnpm",
        letters: "C",
        long: &["--dir", "--script-shell", "--shell-emulator"],
        ..NOTHING
    },
    Risky { program: "pytest", letters: "cop", long: &["--override-ini", "--rootdir"], ..NOTHING },
    Risky { program: "rg", long: &["--hostname-bin", "--pre"], ..NOTHING },
    Risky { program: "sort", letters: "oT", long: &["--compress-program", "--output"], ..NOTHING },
    Risky {
        program: "tar",
        letters: "IF",
        long: &[
            "--checkpoint-action",
            "--info-script",
            "--new-volume-script",
            "--rsh-command",
            "--to-command",
            "--use-compress-program",
        ],
        ..NOTHING
    },
    Risky { program: "tree", letters: "o", ..NOTHING },
    Risky { program: "tsc", letters: "p", long: &["--project"], ..NOTHING },
    Risky { program: "yarn", long: &["--cwd", "--script-shell"], ..NOTHING },
];

/// Where the last word stands that makes a program do more than a rule of fewer words allows.
pub(super) fn last_risky(texts: &[&str]) -> Option<usize> {
    let (program, _) = texts.split_first()?;
    let program = opened::standard_name(program)?;
    let risky = RISKY.iter().find(|risky| risky.program == program);
    let takes =
        |text: &&str| risky.is_some_and(|risky| risky.takes(text)) || options::runs_or_writes(program, text);
    Some(texts.iter().skip(1).rposition(takes)? + 1)
}

impl Risky {
    fn takes(&self, word: &str) -> bool {
        let name = word.split_once('=').map_or(word, |(name, _)| name);
        // `make CC=./x`
        if self.program == "make" && word.contains('=') && !word.starts_with('-') {
            return true;
        }
        // `tar xIf ./x`
        if self.program == "tar" && word.chars().all(|c| c.is_ascii_alphabetic()) && word.contains(['I', 'F'])
        {
            return true;
        }
        let is_word = |known: &&str| name == *known || known.len() == 2 && word.starts_with(*known);
        if self.words.iter().any(is_word) {
            return true;
        }
        match word.strip_prefix('-') {
            Some(rest) if rest.starts_with('-') => {
                name.len() > 2 && self.long.iter().any(|long| long.starts_with(name))
            }
            Some(rest) => rest.contains(|letter| self.letters.contains(letter)),
            None => false,
        }
    }
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

/// The narrowest rule that is of use again; `None` when there is none.
pub(super) fn narrow(command: &Opened) -> Option<Rule> {
    if command.tail == Tail::Unknown || command.is_open() || !command.documents.is_empty() {
        return None;
    }
    let texts = command.texts();
    let (program, rest) = texts.split_first()?;
    let is_task = TASKS
        .iter()
        .any(|(name, tasks)| name == program && rest.first().is_some_and(|task| tasks.contains(task)));
    let length = match (last_risky(&texts), is_task, CHECKS.contains(program)) {
        // What it shows is not all that it could.
        (None, true, _) if readers::shown_by_git(command).is_some() => {
            return Rule::of_exactly(&owned(&texts));
        }
        (None, true, _) => 2,
        (None, _, true) => 1,
        // Who allows `rm a.txt` has not allowed what else might follow.
        _ => return Rule::of_exactly(&owned(&texts)),
    };
    Rule::of_command(&owned(texts.get(..length)?))
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// The rule that allows a text to the letter, if it can be written as one.
pub(super) fn spelt(text: &str) -> Vec<Rule> {
    Rule::of_line(text).into_iter().collect()
}
