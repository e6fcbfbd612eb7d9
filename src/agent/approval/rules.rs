//! Rules of the settings: `allow`, `ask` and `deny` hold lists of them, one text each.

use std::{fmt, path::Path, str::FromStr};

use super::{
    opened::file_name,
    pattern::{self, Holds, Pattern},
    shell::{self, Word},
};
use crate::tools::{self, Effect};

/// Characters of the longest rule: a command line that someone reads before they allow it.
const MAX_RULE_CHARS: usize = 1_000;

const SUBJECTS: &str = "it begins with one of command, exactly, edit, read, tool, effect, host, and a colon, such as `command: cargo test`";

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
    /// One command with these words and no others, or the same line to the letter.
    Exactly {
        line: String,
        words: Option<Vec<String>>,
    },
    Edit(Pattern),
    Read(Pattern),
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
        Self::of_words("command", words)
    }

    /// The rule for a command of these words and no others.
    pub(super) fn of_exactly(words: &[String]) -> Option<Self> {
        Self::of_words("exactly", words)
    }

    fn of_words(subject: &str, words: &[String]) -> Option<Self> {
        let line: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        let rule: Self = format!("{subject}: {}", line.join(" ")).parse().ok()?;
        match &rule.subject {
            Subject::Command { words: Some(read), .. } | Subject::Exactly { words: Some(read), .. } => {
                (read == words).then_some(rule)
            }
            _ => None,
        }
    }

    /// The rule for a line to the letter.
    pub(super) fn of_line(line: &str) -> Option<Self> {
        let line = line.trim();
        let rule: Self = format!("exactly: {line}").parse().ok()?;
        (rule.is_line(line) && !line.contains('\n')).then_some(rule)
    }

    /// The rule for reading or editing what is at an absolute place, and what is below it; `None` when no rule can name it.
    pub(super) fn of_place(effect: Effect, real: &Path) -> Option<Self> {
        let subject = match effect {
            Effect::Read => "read",
            Effect::Edit => "edit",
            Effect::Stop | Effect::Execute | Effect::Network => return None,
        };
        let rule: Self = format!("{subject}: {}", pattern::meaning(real)?).parse().ok()?;
        rule.covers_path(effect, None, real).then_some(rule)
    }

    /// The rule for a host; `None` when no rule can name it.
    pub(super) fn of_host(host: &str) -> Option<Self> {
        format!("host: {host}").parse().ok()
    }

    /// Whether a command line is the one that the rule spells.
    pub(super) fn is_line(&self, text: &str) -> bool {
        match &self.subject {
            Subject::Command { line, .. } | Subject::Exactly { line, .. } => line == text.trim(),
            _ => false,
        }
    }

    /// Whether the rule covers more than what it spells: the same command with words behind it.
    pub(super) fn covers_more_words(&self) -> bool {
        matches!(self.subject, Subject::Command { words: Some(_), .. })
    }

    pub(super) fn is_about_commands(&self) -> bool {
        matches!(self.subject, Subject::Command { .. })
    }

    pub(super) fn is_about_reading(&self) -> bool {
        matches!(self.subject, Subject::Read(_))
    }

    /// Whether it is about files that commands touch.
    pub(super) fn is_about_places(&self) -> bool {
        self.is_about_reading() || self.is_about_editing()
    }

    pub(super) fn is_about_editing(&self) -> bool {
        matches!(self.subject, Subject::Edit(_) | Subject::Effect(Effect::Edit))
    }

    pub(super) fn is_about_network(&self) -> bool {
        matches!(self.subject, Subject::Host(_) | Subject::Effect(Effect::Network))
    }

    /// How the rule allows a command of these words.
    pub(super) fn coverage(&self, words: &[&str]) -> Coverage {
        match &self.subject {
            Subject::Command { words: Some(rule), .. } if words.starts_with(&texts(rule)) => {
                Coverage::Words(rule.len())
            }
            Subject::Exactly { words: Some(rule), .. } if words == texts(rule) => Coverage::Words(rule.len()),
            _ => Coverage::None,
        }
    }

    /// How a rule that forbids or asks is about a command of these words. Where a program lies does not matter.
    pub(super) fn guard(&self, words: &[&str]) -> Coverage {
        let Subject::Command { words: Some(rule), .. } = &self.subject else { return Coverage::None };
        let mut pairs = rule.iter().zip(words).enumerate();
        if words.len() >= rule.len() && pairs.all(|(index, (rule, word))| is_same(index, rule, word)) {
            return Coverage::Words(rule.len());
        }
        if has_other_subcommand(rule, words) {
            return Coverage::None;
        }
        // `git -C . push` for `git push`.
        let mut rest = words.iter();
        let is_scattered =
            rule.iter().enumerate().all(|(index, wanted)| rest.any(|word| is_same(index, wanted, word)));
        if is_scattered { Coverage::Scattered } else { Coverage::None }
    }

    /// Whether a rule is about the program of these words.
    pub(super) fn is_of_program(&self, words: &[&str]) -> bool {
        let Subject::Command { words: Some(rule), .. } = &self.subject else { return false };
        rule.first().zip(words.first()).is_some_and(|(rule, word)| is_same(0, rule, word))
    }

    /// The words of a rule for commands.
    pub(super) fn words(&self) -> Option<&[String]> {
        let Subject::Command { words: Some(rule), .. } = &self.subject else { return None };
        Some(rule)
    }

    /// The program that a rule for commands is about.
    pub(super) fn program(&self) -> Option<&str> {
        let Subject::Command { words: Some(rule), .. } = &self.subject else { return None };
        rule.first().map(|program| file_name(program))
    }

    /// Whether the rule could cover a command of these words and further ones.
    pub(super) fn begins_with(&self, words: &[&str]) -> bool {
        let Subject::Command { words: Some(rule), .. } = &self.subject else { return false };
        rule.len() > words.len()
            && rule.iter().zip(words).enumerate().all(|(index, (rule, word))| is_same(index, rule, word))
    }

    /// Whether values that are not known may make a command of these words one that the rule is about.
    pub(super) fn may_be_completed(&self, words: &[Word]) -> bool {
        let Subject::Command { words: Some(rule), .. } = &self.subject else { return false };
        let (Some(first), Some(program)) = (rule.first(), words.first()) else { return false };
        let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        rule.len() > 1
            && is_same(0, first, &program.text)
            && words.iter().any(|word| !word.is_spelt())
            && !(words.get(1).is_some_and(Word::is_spelt) && has_other_subcommand(rule, &texts))
    }

    /// Whether the rule is about a file at this place, or about a folder above it. `relative` is from the root that holds
    /// it; `None` for what lies in no root.
    pub(super) fn covers_path(&self, effect: Effect, relative: Option<&Path>, real: &Path) -> bool {
        match (&self.subject, effect) {
            (Subject::Edit(pattern), Effect::Edit) | (Subject::Read(pattern), Effect::Read) => {
                pattern.covers(relative, real)
            }
            _ => false,
        }
    }

    /// Whether something that the rule is about may lie below a folder.
    pub(super) fn lies_below(&self, relative: Option<&Path>, real: &Path) -> Holds {
        match &self.subject {
            Subject::Edit(pattern) | Subject::Read(pattern) => pattern.lies_below(relative, real),
            _ => Holds::No,
        }
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
        let host = host.strip_suffix('.').unwrap_or(&host);
        match named.strip_prefix('*') {
            Some(ending) => host.ends_with(ending),
            None => host == *named,
        }
    }

    /// Whether it says what it is about without a doubt: a rule that forbids must not mean one spelling only.
    pub fn is_plain(&self) -> bool {
        !matches!(self.subject, Subject::Command { words: None, .. } | Subject::Exactly { .. })
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
                can_match(about, words.as_deref())?;
                Subject::Command { line: about.to_owned(), words }
            }
            "exactly" => Subject::Exactly { line: about.to_owned(), words: shell::plain_words(about) },
            "edit" => Subject::Edit(Pattern::read(about)?),
            "read" => Subject::Read(Pattern::read(about)?),
            "tool" => Subject::Tool(tool(about)?),
            "effect" => Subject::Effect(effect(about)?),
            "host" => Subject::Host(host(about)?),
            _ => return Err(format!("{:?} is no rule: {SUBJECTS}", shown())),
        };
        Ok(Self { text: format!("{name}: {about}"), subject })
    }
}

/// Whether a word of a command is that of a rule. Where a program lies does not matter.
fn is_same(index: usize, rule: &str, word: &str) -> bool {
    rule == word || (index == 0 && !rule.contains('/') && file_name(word) == rule)
}

/// Programs whose first word says what they do, where it is no option.
const BY_SUBCOMMAND: &[&str] = &["cargo", "git", "go"];

/// Whether a command plainly does another thing than the one of a rule for the same program.
fn has_other_subcommand(rule: &[String], words: &[&str]) -> bool {
    let ([program, subcommand, ..], [_, word, ..]) = (rule, words) else { return false };
    BY_SUBCOMMAND.contains(&program.as_str())
        && !subcommand.starts_with(['-', '+'])
        && !word.starts_with(['-', '+'])
        && subcommand != word
}

fn texts(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

/// A word as a shell reads it back.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./-+,:=@%^{}".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    if !word.contains('\'') {
        return format!("'{word}'");
    }
    let escaped = |c: char| matches!(c, '"' | '\\' | '$' | '`').then_some('\\').into_iter().chain([c]);
    format!("\"{}\"", word.chars().flat_map(escaped).collect::<String>())
}

/// What is no command that anyone runs is not taken for one.
fn can_match(about: &str, words: Option<&[String]>) -> Result<(), String> {
    let shorter = about.strip_suffix('*').map(|rest| rest.trim_end_matches([' ', ':']));
    if words.is_none()
        && let Some(shorter) = shorter.filter(|rest| shell::plain_words(rest).is_some())
    {
        return Err(format!(
            "`command: {about}` would only match a * that is typed so: write `command: {shorter}`, which covers any further words"
        ));
    }
    let Some([program, rest @ ..]) = words else { return Ok(()) };
    if program.contains(' ') && !program.contains('/') {
        return Err(format!("{about:?} names one program with blanks in its name: write it without quotes"));
    }
    if rest.is_empty() && tools::NAMES.contains(&program.as_str()) {
        return Err(format!("{program} is a tool and no command: write `tool: {program}`"));
    }
    Ok(())
}

fn tool(name: &str) -> Result<String, String> {
    if tools::NAMES.contains(&name) {
        return Ok(name.to_owned());
    }
    Err(format!(
        "there is no tool {name:?}: write one of {}, or `command: …` for a program",
        tools::NAMES.join(", ")
    ))
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
    let bare = bare.strip_suffix('.').unwrap_or(bare);
    if bare.is_empty() || !bare.chars().all(fits) || bare.split('.').any(str::is_empty) {
        return Err(format!("{name:?} is no host: write one as docs.rs, or *.docs.rs for all below it"));
    }
    Ok(name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase())
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
                r#""cargo test" is no rule: it begins with one of command, exactly, edit, read, tool, effect, host, and a colon, such as `command: cargo test`"#
            ]],
        );
        check(
            "comand: ls",
            expect![[
                r#""comand: ls" is no rule: it begins with one of command, exactly, edit, read, tool, effect, host, and a colon, such as `command: cargo test`"#
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
    fn a_rule_that_could_never_match_says_what_to_write() {
        check(
            "tool: run_comand",
            expect![[
                r#"there is no tool "run_comand": write one of apply_patch, delete_file, edit_file, fetch_url, list_files, move_file, read_file, read_job, run_command, search, stop_job, write_file, or `command: …` for a program"#
            ]],
        );
        check(
            "command: npm *",
            expect![
                "`command: npm *` would only match a * that is typed so: write `command: npm`, which covers any further words"
            ],
        );
        check(
            "command: npm:*",
            expect![
                "`command: npm:*` would only match a * that is typed so: write `command: npm`, which covers any further words"
            ],
        );
        check(
            "command: 'npm test'",
            expect![[r#""'npm test'" names one program with blanks in its name: write it without quotes"#]],
        );
        check(
            "command: run_command",
            expect!["run_command is a tool and no command: write `tool: run_command`"],
        );
        check(
            "host: .docs.rs",
            expect![[r#"".docs.rs" is no host: write one as docs.rs, or *.docs.rs for all below it"#]],
        );
        check("host: docs.rs.", expect!["ok host: docs.rs."]);
        check(
            "edit: ~/docs",
            expect![[
                r#""~/docs" is no pattern of paths: write one relative to the project, as src/** or *.md"#
            ]],
        );
        check("edit: ./docs/**", expect!["ok edit: ./docs/**"]);
        check("command: ls *.js", expect!["ok command: ls *.js"]);
    }

    #[test]
    fn a_command_rule_goes_word_by_word() {
        let rule: Rule = "command: git push".parse().unwrap();
        assert_eq!(rule.coverage(&["git", "push", "origin"]), Coverage::Words(2));
        assert_eq!(rule.coverage(&["git", "pushy"]), Coverage::None);
        assert_eq!(rule.coverage(&["/usr/bin/git", "push"]), Coverage::None);
        assert_eq!(rule.guard(&["/usr/bin/git", "push"]), Coverage::Words(2));
        assert_eq!(rule.guard(&["/usr/bin/git", "-C", ".", "push"]), Coverage::Scattered);
        assert_eq!(rule.guard(&["push", "git"]), Coverage::None);
    }

    #[test]
    fn a_rule_for_exactly_one_command_covers_no_further_words() {
        let rule = Rule::of_exactly(&["rm".to_owned(), "a b.txt".to_owned()]).unwrap();
        assert_eq!(rule.to_string(), "exactly: rm 'a b.txt'");
        assert_eq!(rule.coverage(&["rm", "a b.txt"]), Coverage::Words(2));
        assert_eq!(rule.coverage(&["rm", "a b.txt", "-rf", "src"]), Coverage::None);
    }

    #[test]
    fn words_of_any_kind_make_a_rule_that_is_read_the_same() {
        for word in ["", "a b", "it's", "\"$x\"`\\", "*.js", "print(1)", "'\"'"] {
            let words = ["echo".to_owned(), word.to_owned()];
            let rule = Rule::of_command(&words).unwrap();
            assert_eq!(rule.coverage(&["echo", word]), Coverage::Words(2), "{rule}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_rule_for_a_place_means_it_and_what_lies_below_it_and_nothing_beside_it() {
        for place in ["/a/b.txt", "/a b/c", "/a/[x]/{y}*?.txt", "/a/#b", "/a/!b", "/a/b$", "/naïve"] {
            let rule = Rule::of_place(Effect::Read, Path::new(place)).unwrap();
            let covers = |place: &str| rule.covers_path(Effect::Read, None, Path::new(place));
            assert!(covers(place) && covers(&format!("{place}/below")), "{rule}");
            assert!(!covers(&format!("{place}x")) && !covers("/a/x/y1.txt") && !covers("/a"), "{rule}");
        }
        // What a rule cannot say is asked about each time.
        for place in ["/a\\b", "/a/b ", "/a, b", "/a/../b"] {
            assert_eq!(Rule::of_place(Effect::Read, Path::new(place)), None, "{place}");
        }
        assert_eq!(Rule::of_place(Effect::Execute, Path::new("/a")), None);
    }

    #[test]
    fn a_path_rule_covers_what_lies_below() {
        let covers = |rule: &str, path: &str| {
            let real = Path::new("/p").join(path);
            rule.parse::<Rule>().unwrap().covers_path(Effect::Edit, Some(Path::new(path)), &real)
        };
        assert!(covers("edit: src/**", "src/a/b.rs") && covers("edit: src", "src/a.rs"));
        assert!(covers("edit: *.md", "docs/a.md") && covers("edit: /a.md", "a.md"));
        assert!(!covers("edit: src/**", "lib/src.rs") && !covers("read: src", "src/a.rs"));
    }
}
