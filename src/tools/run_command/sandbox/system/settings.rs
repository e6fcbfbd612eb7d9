//! What a file of git's settings says, read as git reads it: which of it names programs or further files.

use std::path::{Path, PathBuf};

/// One setting; names are in lower case, as git compares them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    section: String,
    name: String,
    value: String,
}

/// What a setting names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Named {
    /// Further settings, relative to the file that names them.
    Settings(String),
    /// A folder of hooks, relative to the working tree.
    Hooks(String),
    /// Files that a command line runs, relative to the working tree.
    Programs(Vec<String>),
}

/// Sections of which every setting may run a program or lead to one that does.
const RUNNING_SECTIONS: &[&str] = &[
    "alias",
    "filter",
    "pager",
    "hook",
    "difftool",
    "mergetool",
    "guitool",
    "browser",
    "man",
    "trailer",
    "credential",
    "include",
    "includeif",
    "gpg",
    "lfs",
    "sendemail",
    "imap",
    "protocol",
    "tar",
];

/// Parts of the names of settings that do so in other sections.
const RUNNING_NAMES: &[&str] = &[
    "fsmonitor",
    "hookspath",
    "command",
    "editor",
    "pager",
    "gitproxy",
    "askpass",
    "external",
    "textconv",
    "driver",
    "program",
    "uploadpack",
    "receivepack",
    "vcs",
    "packobjectshook",
    "difffilter",
    "worktreeconfig",
    "cmd",
];

/// Programs that run the file that is their first argument.
const INTERPRETERS: &[&str] =
    &["sh", "bash", "dash", "zsh", "python", "python3", "perl", "ruby", "node", "env", "exec"];

/// All settings of a text, in their order; `None` for a text that git refuses.
pub(super) fn parse(text: &str) -> Option<Vec<Setting>> {
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    let mut rest = text.chars().peekable();
    let mut section = None;
    let mut settings = Vec::new();
    while let Some(c) = rest.next() {
        match c {
            '#' | ';' => {
                rest.by_ref().find(|c| *c == '\n');
            }
            '[' => section = Some(section_name(&mut rest)?),
            c if c.is_ascii_whitespace() || c == '\u{b}' => {}
            c if c.is_ascii_alphabetic() => {
                let mut name = c.to_ascii_lowercase().to_string();
                while let Some(c) = rest.next_if(|c| c.is_ascii_alphanumeric() || *c == '-') {
                    name.push(c.to_ascii_lowercase());
                }
                while rest.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
                let value = match rest.next() {
                    // It is switched on.
                    None | Some('\n') => "true".to_owned(),
                    Some('=') => value(&mut rest)?,
                    Some(_) => return None,
                };
                settings.push(Setting { section: section.clone()?, name, value });
            }
            _ => return None,
        }
    }
    Some(settings)
}

type Rest<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// The first part of what stands between brackets: what git compares without a look at case.
fn section_name(rest: &mut Rest<'_>) -> Option<String> {
    let mut name = String::new();
    loop {
        match rest.next()? {
            ']' => break,
            c if c.is_ascii_alphanumeric() || matches!(c, '-' | '.') => name.push(c.to_ascii_lowercase()),
            ' ' | '\t' => {
                while rest.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
                (rest.next()? == '"').then_some(())?;
                loop {
                    match rest.next()? {
                        '\n' => return None,
                        '\\' => (rest.next()? != '\n').then_some(())?,
                        '"' => break,
                        _ => {}
                    }
                }
                (rest.next()? == ']').then_some(())?;
                break;
            }
            _ => return None,
        }
    }
    Some(name.split('.').next().unwrap_or_default().to_owned())
}

fn value(rest: &mut Rest<'_>) -> Option<String> {
    let mut value = String::new();
    // Without the blanks behind the last sign that counts.
    let mut length = 0;
    let (mut is_quoted, mut is_comment) = (false, false);
    while let Some(c) = rest.next() {
        match c {
            '\n' if is_quoted => return None,
            '\n' => break,
            _ if is_comment => {}
            c if c.is_ascii_whitespace() && !is_quoted => {
                if length > 0 {
                    value.push(c);
                }
                continue;
            }
            ';' | '#' if !is_quoted => is_comment = true,
            '"' => is_quoted = !is_quoted,
            '\\' => match rest.next()? {
                '\n' => continue,
                't' => value.push('\t'),
                'n' => value.push('\n'),
                'b' => value.push('\u{8}'),
                c @ ('\\' | '"') => value.push(c),
                _ => return None,
            },
            c => value.push(c),
        }
        if !is_comment {
            length = value.len();
        }
    }
    value.truncate(length);
    (!is_quoted).then_some(value)
}

impl Setting {
    /// Whether it may make git run a program.
    pub(super) fn may_run(&self) -> bool {
        RUNNING_SECTIONS.contains(&self.section.as_str())
            || RUNNING_NAMES.iter().any(|part| self.name.contains(part))
            || (self.section == "submodule" && self.name == "update" && self.value.starts_with('!'))
    }

    pub(super) fn named(&self) -> Option<Named> {
        match (self.section.as_str(), self.name.as_str()) {
            ("include" | "includeif", "path") => Some(Named::Settings(self.value.clone())),
            ("core", "hookspath") => Some(Named::Hooks(self.value.clone())),
            _ if self.may_run() => Some(Named::Programs(programs(&self.value)))
                .filter(|named| !matches!(named, Named::Programs(programs) if programs.is_empty())),
            _ => None,
        }
    }
}

/// The files that a command line names as what it runs: the words in a command's place that have a folder, and what an
/// interpreter is given.
fn programs(line: &str) -> Vec<String> {
    let mut programs = Vec::new();
    for command in line.trim_start_matches('!').split([';', '&', '|', '\n', '(', ')', '{', '}']) {
        let words = command.split_ascii_whitespace().map(|word| word.trim_matches(['"', '\'']));
        let mut words = words.skip_while(|word| word.contains('=') && !word.starts_with(['.', '/']));
        let Some(first) = words.next() else { continue };
        let mut program = first;
        while INTERPRETERS.contains(&program.rsplit('/').next().unwrap_or(program)) {
            let Some(next) = words.find(|word| !word.starts_with('-')) else { break };
            program = next;
        }
        if program != first || program.contains('/') {
            programs.push(program.to_owned());
        }
    }
    programs
}

/// A path of the settings, as git reads it.
pub(super) fn path(from: &Path, home: Option<&Path>, value: &str) -> PathBuf {
    match (value.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => from.join(value),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(text: &str, expected: Expect) {
        let shown = parse(text).map(|settings| {
            let line = |setting: &Setting| {
                let Setting { section, name, value } = setting;
                let named = setting.named().map(|named| format!(" -> {named:?}")).unwrap_or_default();
                format!(
                    "{section}.{name} = {value:?}{}{named}\n",
                    if setting.may_run() { " runs" } else { "" }
                )
            };
            settings.iter().map(line).collect::<String>()
        });
        expected.assert_eq(&shown.unwrap_or_else(|| "refused".to_owned()));
    }

    #[test]
    fn a_setting_counts_however_it_is_spelt() {
        check(
            "[core] hooksPath = .hk\n[Core]\n\tHOOKSPATH = \".h k\" # team\n[include]\n\tpath = ../a ; shared\n\
             [includeIf \"gitdir:/x]\"] path=\"..\\\\b\"\n[core]fsmonitor=./to\\\nols/mon.sh\r\n",
            expect![[r#"
                core.hookspath = ".hk" runs -> Hooks(".hk")
                core.hookspath = ".h k" runs -> Hooks(".h k")
                include.path = "../a" runs -> Settings("../a")
                includeif.path = "..\\b" runs -> Settings("..\\b")
                core.fsmonitor = "./tools/mon.sh" runs -> Programs(["./tools/mon.sh"])
            "#]],
        );
    }

    #[test]
    fn what_a_new_repository_says_runs_nothing() {
        check(
            "[core]\n\trepositoryformatversion = 0\n\tfilemode\n\tbare = false\n[remote \"filter\"]\n\
             \turl = https://h/alias.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[user]\n\tname = A # \"b\n",
            expect![[r#"
                core.repositoryformatversion = "0"
                core.filemode = "true"
                core.bare = "false"
                remote.url = "https://h/alias.git"
                remote.fetch = "+refs/heads/*:refs/remotes/origin/*"
                user.name = "A"
            "#]],
        );
    }

    #[test]
    fn programs_of_a_command_line_are_files_with_a_folder_and_what_an_interpreter_gets() {
        check(
            "[alias]\n\tst = !A=1 ./st.sh src/a.rs && sh -e run.sh\n\tco = checkout\n[filter \"x\"]\n\
             \tclean = \"python3 'tools/f.py' %f\"\n[submodule \"s\"]\n\tupdate = !x\n",
            expect![[r#"
                alias.st = "!A=1 ./st.sh src/a.rs && sh -e run.sh" runs -> Programs(["./st.sh", "run.sh"])
                alias.co = "checkout" runs
                filter.clean = "python3 'tools/f.py' %f" runs -> Programs(["tools/f.py"])
                submodule.update = "!x" runs
            "#]],
        );
    }

    #[test]
    fn what_git_refuses_is_no_text_of_settings() {
        for text in [
            "[core\n",
            "name = x\n",
            "[core]\n=x",
            "[core]\na = \"x\n",
            "[core]\na = \\q\n",
            "[core \"x\n\"]\n",
        ] {
            check(text, expect!["refused"]);
        }
    }
}
