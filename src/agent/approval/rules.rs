//! Rules of the settings: `allow`, `ask` and `deny` hold lists of them, one text each.

use std::{fmt, path::Path, str::FromStr};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::shell;
use crate::tools::Effect;

/// Characters of the longest rule: a command line that someone reads before they allow it.
const MAX_RULE_CHARS: usize = 1_000;

const SUBJECTS: &str = "it begins with one of command, edit, read, tool, effect, host, and a colon, such as `command: cargo test`";

/// One rule, as `command: cargo test`.
#[derive(Clone, Debug)]
pub struct Rule {
    text: String,
    subject: Subject,
}

/// What a rule is about.
#[derive(Clone, Debug)]
enum Subject {
    Command {
        line: String,
        /// The words of a plain command: it covers the same with any further words. Without them the rule covers the
        /// same line to the letter.
        words: Option<Vec<String>>,
    },
    Edit(Gitignore),
    Read(Gitignore),
    Tool(String),
    Effect(Effect),
    /// In small letters; behind `*.` all hosts below it.
    Host(String),
}

/// The rules of all places that may set them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    pub allow: Vec<Rule>,
    pub ask: Vec<Rule>,
    pub deny: Vec<Rule>,
}

impl Rules {
    /// Those that forbid and those that ask.
    pub(super) fn guarding(&self) -> impl Iterator<Item = &Rule> {
        self.deny.iter().chain(&self.ask)
    }
}

/// How far a rule goes with the words of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coverage {
    None,
    /// All words of the rule stand in the command in their order, with others between them.
    Scattered,
    /// The command begins with this many words of the rule.
    Words(usize),
}

impl Rule {
    /// The rule for a command that begins with these words; `None` when they cannot be written as one that is read the
    /// same way.
    pub(super) fn of_command(words: &[String]) -> Option<Self> {
        let rule: Self = format!("command: {}", words.join(" ")).parse().ok()?;
        matches!(&rule.subject, Subject::Command { words: Some(read), .. } if read == words).then_some(rule)
    }

    /// The rule for a host; `None` when no rule can name it.
    pub(super) fn of_host(host: &str) -> Option<Self> {
        format!("host: {host}").parse().ok()
    }

    /// Whether a command line is the one that the rule spells.
    pub(super) fn is_line(&self, text: &str) -> bool {
        matches!(&self.subject, Subject::Command { line, .. } if line == text.trim())
    }

    pub(super) fn is_about_commands(&self) -> bool {
        matches!(self.subject, Subject::Command { .. })
    }

    pub(super) fn is_about_reading(&self) -> bool {
        matches!(self.subject, Subject::Read(_))
    }

    /// How the rule covers a command of these words.
    pub(super) fn coverage(&self, words: &[&str]) -> Coverage {
        let Subject::Command { words: Some(rule), .. } = &self.subject else { return Coverage::None };
        if words.len() >= rule.len() && rule.iter().zip(words).all(|(rule, word)| rule == word) {
            return Coverage::Words(rule.len());
        }
        // `/usr/bin/git -C . push` for `git push`.
        let mut rest = words.iter();
        let is_scattered = rule.iter().enumerate().all(|(index, wanted)| {
            rest.any(|word| *word == wanted || (index == 0 && word.rsplit('/').next() == Some(wanted)))
        });
        if is_scattered { Coverage::Scattered } else { Coverage::None }
    }

    /// Whether the rule could cover a command of these words and further ones.
    pub(super) fn begins_with(&self, words: &[&str]) -> bool {
        let Subject::Command { words: Some(rule), .. } = &self.subject else { return false };
        rule.len() > words.len() && rule.iter().zip(words).all(|(rule, word)| rule == word)
    }

    /// Whether the rule is about a file at this place, relative to its root, or about a folder above it.
    pub(super) fn covers_path(&self, effect: Effect, relative: &Path) -> bool {
        let glob = match (&self.subject, effect) {
            (Subject::Edit(glob), Effect::Edit) | (Subject::Read(glob), Effect::Read) => glob,
            _ => return false,
        };
        !relative.has_root() && glob.matched_path_or_any_parents(relative, false).is_ignore()
    }

    pub(super) fn covers_tool(&self, tool: &str) -> bool {
        matches!(&self.subject, Subject::Tool(name) if name == tool)
    }

    pub(super) fn covers_effect(&self, effect: Effect) -> bool {
        matches!(&self.subject, Subject::Effect(named) if *named == effect)
    }

    pub(super) fn covers_host(&self, host: &str) -> bool {
        let Subject::Host(named) = &self.subject else { return false };
        let host = host.to_ascii_lowercase();
        match named.strip_prefix('*') {
            Some(ending) => host.ends_with(ending),
            None => host == *named,
        }
    }

    /// Whether it says what it is about without a doubt: a rule that forbids must not mean one spelling only.
    pub fn is_plain(&self) -> bool {
        !matches!(self.subject, Subject::Command { words: None, .. })
    }
}

/// The error says what is wrong and what fits.
impl FromStr for Rule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.chars().count() > MAX_RULE_CHARS {
            return Err(format!("a rule has at most {MAX_RULE_CHARS} characters"));
        }
        let shown = || text.chars().take(60).collect::<String>();
        let Some((name, about)) = text.split_once(':') else {
            return Err(format!("{:?} is no rule: {SUBJECTS}", shown()));
        };
        let (name, about) = (name.trim(), about.trim());
        if about.is_empty() {
            return Err(format!("{:?} says nothing behind its colon", shown()));
        }
        let subject = match name {
            "command" => {
                let words = shell::plain_words(about);
                Subject::Command { line: about.to_owned(), words }
            }
            "edit" => Subject::Edit(glob(about)?),
            "read" => Subject::Read(glob(about)?),
            "tool" => Subject::Tool(about.to_owned()),
            "effect" => Subject::Effect(effect(about)?),
            "host" => Subject::Host(host(about)?),
            _ => return Err(format!("{:?} is no rule: {SUBJECTS}", shown())),
        };
        Ok(Self { text: format!("{name}: {about}"), subject })
    }
}

fn effect(name: &str) -> Result<Effect, String> {
    Ok(match name {
        "read" => Effect::Read,
        "edit" => Effect::Edit,
        "execute" => Effect::Execute,
        "network" => Effect::Network,
        _ => return Err(format!("{name:?} is no effect: write one of read, edit, execute, network")),
    })
}

fn host(name: &str) -> Result<String, String> {
    let bare = name.strip_prefix("*.").unwrap_or(name);
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    if bare.is_empty() || !bare.chars().all(fits) {
        return Err(format!("{name:?} is no host: write one as docs.rs, or *.docs.rs for all below it"));
    }
    Ok(name.to_ascii_lowercase())
}

/// A pattern as in `.gitignore`, relative to a root of the workspace.
fn glob(pattern: &str) -> Result<Gitignore, String> {
    if pattern.starts_with(['!', '#', '~']) || pattern.contains("..") {
        return Err(format!(
            "{pattern:?} is no pattern of paths: write one relative to the project, as src/** or *.md"
        ));
    }
    let mut builder = GitignoreBuilder::new("");
    let added = builder.add_line(None, pattern).map(|_| ());
    let built = added.and_then(|()| builder.build());
    match built {
        Ok(glob) if !glob.is_empty() => Ok(glob),
        Ok(_) => Err(format!("{pattern:?} is no pattern of paths, such as src/** or *.md")),
        Err(error) => Err(format!("{pattern:?} is no pattern of paths: {error}")),
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The same text is the same rule.
impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Rule {}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(text: &str, expected: Expect) {
        let shown = text.parse::<Rule>().map_or_else(|error| error, |rule| format!("ok {rule}"));
        expected.assert_eq(&shown);
    }

    #[test]
    fn what_is_no_rule_says_what_fits() {
        check(" command:cargo test ", expect!["ok command: cargo test"]);
        check("edit: src/**", expect!["ok edit: src/**"]);
        check("host: *.docs.rs", expect!["ok host: *.docs.rs"]);
        check(
            "cargo test",
            expect![[
                r#""cargo test" is no rule: it begins with one of command, edit, read, tool, effect, host, and a colon, such as `command: cargo test`"#
            ]],
        );
        check(
            "comand: ls",
            expect![[
                r#""comand: ls" is no rule: it begins with one of command, edit, read, tool, effect, host, and a colon, such as `command: cargo test`"#
            ]],
        );
        check("command: ", expect![[r#""command:" says nothing behind its colon"#]]);
        check(
            "effect: write",
            expect![[r#""write" is no effect: write one of read, edit, execute, network"#]],
        );
        check(
            "edit: ../x",
            expect![[
                r#""../x" is no pattern of paths: write one relative to the project, as src/** or *.md"#
            ]],
        );
        check(
            "host: http://x",
            expect![[r#""http://x" is no host: write one as docs.rs, or *.docs.rs for all below it"#]],
        );
    }

    #[test]
    fn a_command_rule_goes_word_by_word() {
        let rule: Rule = "command: git push".parse().unwrap();
        assert_eq!(rule.coverage(&["git", "push", "origin"]), Coverage::Words(2));
        assert_eq!(rule.coverage(&["git", "pushy"]), Coverage::None);
        assert_eq!(rule.coverage(&["/usr/bin/git", "-C", ".", "push"]), Coverage::Scattered);
        assert_eq!(rule.coverage(&["push", "git"]), Coverage::None);
    }

    #[test]
    fn a_path_rule_covers_what_lies_below() {
        let covers =
            |rule: &str, path: &str| rule.parse::<Rule>().unwrap().covers_path(Effect::Edit, Path::new(path));
        assert!(covers("edit: src/**", "src/a/b.rs") && covers("edit: src", "src/a.rs"));
        assert!(covers("edit: *.md", "docs/a.md") && covers("edit: /a.md", "a.md"));
        assert!(!covers("edit: src/**", "lib/src.rs") && !covers("read: src", "src/a.rs"));
    }
}
