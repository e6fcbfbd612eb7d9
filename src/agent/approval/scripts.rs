//! Scripts of the workspace that a command runs. What forbids a command holds for their text too, as far as it is spelt
//! out: a rule that a line in a file gets round is none.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{
    Ground,
    opened::{self, Opened, file_name},
    rules::{Coverage, Rule},
    shell,
    touched::touched,
};

/// Bytes of the longest script that is read: some thousand lines.
pub(super) const MAX_SCRIPT_BYTES: u64 = 64 * 1024;

/// Scripts that are read for one command line, those that scripts run included.
const MAX_SCRIPTS: usize = 12;

/// Programs that run the script that they are given.
const RUNNERS: &[&str] = &["sh", "bash", "dash", "ash", "zsh", "ksh", "source", "."];

/// Programs that run what `package.json` has under a name.
const PACKAGE_RUNNERS: &[&str] = &["npm", "pnpm", "yarn", "bun"];

/// What these run without the word `run`.
const PACKAGE_WORDS: &[&str] = &["test", "start", "stop", "restart"];

/// Programs that change no text of the files that they name.
const KEEPING_TEXT: &[&str] = &["chgrp", "chmod", "chown", "mkdir", "touch"];

/// Programs that write programs, which are no scripts.
const COMPILERS: &[&str] = &["c++", "cc", "clang", "clang++", "g++", "gcc", "ghc", "go", "ld", "rustc"];

/// What has a compiler write text.
const WRITES_TEXT: &[&str] = &["-E", "-M", "-MF"];

/// A rule that forbids something in a script, and the script.
pub(super) struct Forbidden<'r> {
    pub(super) rule: &'r Rule,
    pub(super) script: String,
}

/// Looks into the scripts that commands run in one of `folders`. Reads files.
pub(super) fn forbidden<'r>(
    commands: &[Opened],
    folders: &[PathBuf],
    ground: &dyn Ground,
    deny: &'r [Rule],
) -> Option<Forbidden<'r>> {
    let deny: Vec<&Rule> = deny.iter().filter(|rule| rule.is_about_commands()).collect();
    if deny.is_empty() {
        return None;
    }
    let mut known: Vec<String> = Vec::new();
    let mut waiting: Vec<Script> = commands.iter().flat_map(Opened::all).filter_map(Script::of).collect();
    while let Some(script) = waiting.pop() {
        let name = script.name();
        if known.contains(&name) || known.len() >= MAX_SCRIPTS {
            continue;
        }
        known.push(name.clone());
        for text in folders.iter().filter_map(|folder| script.text(folder, ground)) {
            for command in shell::commands_of_script(&text).into_iter().map(opened::open) {
                for command in command.all() {
                    let texts = command.texts();
                    let broken = deny.iter().find(|rule| matches!(rule.guard(&texts), Coverage::Words(_)));
                    if let Some(rule) = broken {
                        return Some(Forbidden { rule, script: name });
                    }
                    waiting.extend(Script::of(command));
                }
            }
        }
    }
    None
}

/// Whether one of the commands runs a script that they write, copy, move or link there themselves: what it says is not
/// known before.
pub(super) fn are_written(commands: &[&Opened]) -> bool {
    let scripts: Vec<Script> = commands.iter().filter_map(|command| Script::of(command)).collect();
    if scripts.is_empty() {
        return false;
    }
    let name = |command: &Opened| command.texts().first().map(|name| file_name(name).to_owned());
    let makes_none = |command: &Opened| {
        let name = name(command).unwrap_or_default();
        let writes_text = || command.texts().iter().any(|word| WRITES_TEXT.contains(word));
        KEEPING_TEXT.contains(&name.as_str()) || COMPILERS.contains(&name.as_str()) && !writes_text()
    };
    let touched: Vec<_> =
        commands.iter().filter(|command| !makes_none(command)).map(|command| touched(command)).collect();
    if touched.iter().any(|touched| touched.writes_unseen.is_some()) {
        return true;
    }
    let written: Vec<&str> =
        touched.iter().flat_map(|touched| &touched.writes).map(|path| last(path)).collect();
    // A folder under a new name has the scripts under new names.
    let is_written = |path: &str| path.split('/').any(|part| !part.is_empty() && written.contains(&part));
    let enters_written = commands.iter().any(|command| {
        matches!(name(command).as_deref(), Some("cd" | "pushd"))
            && command.texts().iter().skip(1).any(|folder| is_written(folder))
    });
    enters_written
        || scripts.iter().any(|script| match script {
            Script::File(path) | Script::Program(path) => is_written(path),
            Script::OfPackage(_) => written.contains(&"package.json"),
        })
}

/// The name of a file or a folder; empty where the path says only where it lies, as `.` does.
fn last(path: &str) -> &str {
    Some(file_name(path.trim_end_matches('/')))
        .filter(|name| !matches!(*name, "." | ".."))
        .unwrap_or_default()
}

/// A script as a command names it.
enum Script {
    File(String),
    /// A program of its own, which may be a script.
    Program(String),
    /// In `package.json`, by its name.
    OfPackage(String),
}

impl Script {
    fn of(command: &Opened) -> Option<Self> {
        let texts = command.texts();
        let (program, rest) = texts.split_first()?;
        let name = opened::standard_name(program);
        if name.is_some_and(|name| RUNNERS.contains(&name)) {
            let options = rest.iter().take_while(|word| word.starts_with(['-', '+'])).count();
            let (options, words) = rest.split_at(options);
            // `sh -c TEXT` is opened elsewhere.
            let runs_text = options.iter().any(|option| option.ends_with('c') && !option.starts_with("--"));
            return words.first().filter(|_| !runs_text).map(|file| Self::File((*file).to_owned()));
        }
        if name.is_some_and(|name| PACKAGE_RUNNERS.contains(&name)) {
            let mut words = rest.iter().filter(|word| !word.starts_with('-'));
            return match *words.next()? {
                "run" | "run-script" => words.next().map(|name| Self::OfPackage((*name).to_owned())),
                word if PACKAGE_WORDS.contains(&word) || name != Some("npm") => {
                    Some(Self::OfPackage(word.to_owned()))
                }
                _ => None,
            };
        }
        program.contains('/').then(|| Self::Program((*program).to_owned()))
    }

    fn name(&self) -> String {
        match self {
            Self::File(path) | Self::Program(path) => path.clone(),
            Self::OfPackage(name) => format!("the script {name} of package.json"),
        }
    }

    fn text(&self, folder: &Path, ground: &dyn Ground) -> Option<String> {
        match self {
            Self::File(path) => ground.script(folder, path),
            // A line that names a shell makes it one; another line another language.
            Self::Program(path) => ground.script(folder, path).filter(|text| {
                let first = text.lines().next().unwrap_or_default();
                first.starts_with("#!") && first.contains("sh")
            }),
            Self::OfPackage(name) => {
                let package: Value = serde_json::from_str(&ground.script(folder, "package.json")?).ok()?;
                let scripts = package.get("scripts")?;
                let all = [format!("pre{name}"), name.clone(), format!("post{name}")];
                let lines: Vec<&str> = all.iter().filter_map(|name| scripts.get(name)?.as_str()).collect();
                Some(lines.join("\n"))
            }
        }
    }
}
