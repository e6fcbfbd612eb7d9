//! What the user allowed for the rest of a thread.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use super::{Facts, Reach, Rule, shell};
use crate::tools::{CommandText, Effect, Extent, Grammar};

/// A grant for a command covers the same command with the same words in the same folder, blanks and quotes aside, and
/// nothing else: who allows `cargo test` has not allowed what else a model thinks of, or what only reads alike. How long
/// it may take and why the model wants it do not count. A grant for an edit covers the tool, since every edit is still
/// previewed, except where a rule asks: there it covers the same edit. Outside of the workspace it covers what is done to
/// that place, wherever links lead later.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    granted: BTreeSet<(&'static str, Option<String>)>,
    /// Places outside of the workspace, links followed.
    outside: BTreeSet<(Effect, Extent, PathBuf)>,
    /// Those that the user said for all threads.
    pub(super) rules: Vec<Rule>,
}

impl Grants {
    /// Calls that do the same as this one are not asked about again.
    pub fn allow(&mut self, facts: &Facts) {
        self.granted.insert(same(facts));
        self.granted.insert(alike(facts));
    }

    /// The same for a call that leads out of the workspace: what else its tool does is not meant.
    pub fn let_reach(&mut self, facts: &Facts, reach: &Reach) {
        self.granted.insert(same(facts));
        let places = reach.outside().map(|real| (facts.effect, facts.access.extent, real.to_owned()));
        self.outside.extend(places);
    }

    /// The rules hold for the rest of the thread; beyond it an approver has kept them.
    pub fn allow_by(&mut self, rules: Vec<Rule>) {
        self.rules.extend(rules);
    }

    /// Whether such a call may go to a place outside. Who let a folder be looked through has let its files be read.
    pub(super) fn let_out(&self, facts: &Facts, real: &Path) -> bool {
        self.outside.iter().filter(|(effect, ..)| *effect == facts.effect).any(|(_, extent, place)| {
            match extent {
                Extent::Named => facts.access.extent == Extent::Named && real == place,
                Extent::Names => facts.access.extent == Extent::Names && real.starts_with(place),
                Extent::Below => real.starts_with(place),
            }
        })
    }

    /// Whether the very same call was allowed.
    pub(super) fn hold_same(&self, facts: &Facts) -> bool {
        self.granted.contains(&same(facts))
    }

    /// Whether a call was allowed whose yes covers this one too.
    pub(super) fn hold_alike(&self, facts: &Facts) -> bool {
        self.granted.contains(&alike(facts))
    }
}

/// The same call again.
fn same(facts: &Facts) -> (&'static str, Option<String>) {
    let what = match &facts.access.command {
        Some(command) => {
            let folder = command.folder.as_deref().unwrap_or_default().trim();
            let folder = folder.strip_prefix("./").unwrap_or(folder).trim_end_matches('/');
            let folder = if folder == "." { "" } else { folder };
            format!("{}\n{folder}\n{}", facts.access.leaves_sandbox, spelling(command))
        }
        None => facts.arguments.clone(),
    };
    (facts.tool, Some(what))
}

/// What one yes for a thread covers.
fn alike(facts: &Facts) -> (&'static str, Option<String>) {
    match facts.effect {
        Effect::Read | Effect::Edit | Effect::Stop => (facts.tool, None),
        Effect::Execute | Effect::Network => same(facts),
    }
}

/// A command line in one spelling for all that a shell reads the same way; what is not plainly understood is left as it
/// is.
fn spelling(command: &CommandText) -> String {
    let text = command.text.trim();
    // Lines, values and comments mean more than their characters.
    let is_plain = !text.contains(['\n', '$', '#']) && shell::parse(text).is_ok();
    if command.grammar != Grammar::Posix || !is_plain {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\'' => {
                out.push_str("''");
                characters.by_ref().take_while(|c| *c != '\'').for_each(|c| push_quoted(&mut out, c));
            }
            '"' => {
                out.push_str("''");
                while let Some(c) = characters.next().filter(|c| *c != '"') {
                    match (c, characters.clone().next()) {
                        ('\\', Some(escaped @ ('"' | '\\' | '$' | '`'))) => {
                            characters.next();
                            push_quoted(&mut out, escaped);
                        }
                        _ => push_quoted(&mut out, c),
                    }
                }
            }
            '\\' => characters.next().into_iter().for_each(|c| push_quoted(&mut out, c)),
            ' ' | '\t' if out.ends_with([' ', ';', '|', '&', '(']) => {}
            ' ' | '\t' => out.push(' '),
            ';' | '|' | '&' | ')' => {
                out.truncate(out.trim_end_matches(' ').len());
                out.push(character);
            }
            other => out.push(other),
        }
    }
    // Quotes only matter where a word is empty without them.
    let mut plain = String::new();
    for word in out.split_inclusive(' ') {
        let bare = word.replace("''", "");
        plain.push_str(if bare.trim().is_empty() && word.trim() != bare.trim() { word } else { &bare });
    }
    plain
}

/// A character that stands for itself: one that would mean more without quotes goes by its number.
fn push_quoted(out: &mut String, character: char) {
    if character.is_alphanumeric() || "_./-+,:=@%^".contains(character) {
        out.push(character);
    } else {
        out.push_str(&format!("\\{:x}.", u32::from(character)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn are_same(first: &str, second: &str) -> bool {
        let spelt = |text: &str| {
            spelling(&CommandText { text: text.to_owned(), folder: None, grammar: Grammar::Posix })
        };
        spelt(first) == spelt(second)
    }

    #[test]
    fn blanks_and_quotes_do_not_make_another_command() {
        for (first, second) in [
            ("npm test", "  npm   test "),
            ("cp 'a.txt' b", "cp a.txt \"b\""),
            ("grep 'a b' x", "grep \"a b\" x"),
            ("ls && pwd;date", "ls   &&pwd ; date"),
            ("(ls) | wc", "( ls )|wc"),
        ] {
            assert!(are_same(first, second), "{first} / {second}");
        }
    }

    #[test]
    fn what_a_shell_reads_otherwise_is_another_command() {
        for (first, second) in [
            ("ls a b", "ls 'a b'"),
            ("ls *", "ls '*'"),
            ("ls a", "ls a ''"),
            ("ls; pwd", "ls && pwd"),
            ("ls 'a_b'", "ls 'a b'"),
            ("echo 'x;' rm", "echo x; rm"),
            ("echo 2>&1", "echo '2>&1'"),
            ("echo '$x'", "echo $x"),
            ("echo 2 > x", "echo 2> x"),
            ("echo 'a\\b'", "echo a\\b"),
            ("echo '\\;'", "echo ';'"),
            ("echo ';' rm", "echo ';rm'"),
            ("ls -l", "ls - l"),
        ] {
            assert!(!are_same(first, second), "{first} / {second}");
        }
    }
}
