//! What the words of a command name: files with secrets, files with rights, and the settings in which the rules stand.

use std::path::{Path, PathBuf};

use super::{Judge, Text};
use crate::{
    agent::approval::{opened::Opened, shell::Word},
    tools::CommandText,
    workspace::place::{Nature, Place, names_settings},
};

/// Characters between which a text that is not understood may name a file.
const BETWEEN_NAMES: &[char] =
    &[' ', '\t', '\n', ';', '|', '&', '<', '>', '(', ')', '\'', '"', '`', '=', ':', '@', ',', '{', '}'];

/// Words of such a text that are looked at.
const MAX_NAMES: usize = 400;

impl Judge<'_> {
    /// What of a text that is not understood may be the name of a file with secrets.
    pub(super) fn secret_in(&self, command: &CommandText) -> Option<String> {
        let folder = self.ground.folder(command.folder.as_deref())?;
        let is_secret = |word: &&str| {
            matches!(
                self.ground.place_in(&folder, word),
                Place::Outside { nature: Nature::Secret, .. } | Place::Inside { nature: Nature::Secret, .. }
            )
        };
        let words = command.text.split(BETWEEN_NAMES).filter(|word| !word.is_empty());
        words.take(MAX_NAMES).find(is_secret).map(str::to_owned)
    }

    /// Whether a text may be about the files in which the rules stand.
    pub(super) fn speaks_of_settings(&self, command: &CommandText, text: &Text) -> bool {
        let mentions = |text: &str| {
            let text = text.to_lowercase();
            let is_file = text.contains("config.toml") || text.contains("projects.toml");
            text.contains(".askls") || (is_file && text.contains("askls"))
        };
        let folder = self.ground.folder(command.folder.as_deref());
        let commands: Vec<&Opened> = match text {
            Text::Unread(_) => Vec::new(),
            Text::Read(commands) => commands.iter().flat_map(Opened::all).collect(),
        };
        let stands_for_settings = |word: &Word| {
            let names =
                folder.as_ref().filter(|_| word.is_glob).map(|folder| self.ground.expand(folder, &word.text));
            match names {
                None => false,
                // More than can be looked through.
                Some(None) => word.text.starts_with('.') || word.text.contains("/."),
                Some(Some(names)) => {
                    names.iter().any(|name| mentions(name) || names_settings(Path::new(name)))
                }
            }
        };
        let names = |word: &Word| {
            mentions(&word.text) || names_settings(Path::new(&word.text)) || stands_for_settings(word)
        };
        mentions(&command.text)
            || commands.iter().any(|command| command.words.iter().chain(&command.writes).any(names))
    }

    /// Whether a word, or what follows a mark in it, names a file with secrets.
    pub(super) fn names_secret(&self, word: &str, folders: &[PathBuf]) -> bool {
        parts(word).any(|word| {
            folders.iter().any(|folder| {
                matches!(
                    self.ground.place_in(folder, word),
                    Place::Outside { nature: Nature::Secret, .. }
                        | Place::Inside { nature: Nature::Secret, .. }
                )
            })
        })
    }

    /// Whether a word that a rule leaves open names no file with secrets or with rights, not even behind `=` or `:`.
    pub(super) fn is_harmless(&self, word: &str, folders: &[PathBuf]) -> bool {
        parts(word).all(|word| {
            folders.iter().all(|folder| match self.ground.place_in(folder, word) {
                Place::Outside { nature, .. } => nature != Nature::Secret,
                Place::Inside { nature, .. } => nature == Nature::Plain,
            })
        })
    }
}

/// A word, and what follows the marks in it behind which paths stand.
fn parts(word: &str) -> impl Iterator<Item = &str> {
    let values = word.match_indices(['=', ':', '@']).filter_map(|(at, _)| word.get(at + 1..));
    std::iter::once(word).chain(values.filter(|value| !value.is_empty()))
}
