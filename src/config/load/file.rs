//! One settings file: reading it, and laying what can be read of it.

use std::{fs, io, path::Path};

use serde_json::Value;

use super::Layers;
use crate::{
    config::{
        Origin, SettingsFile, Warning, entry, kept_rules,
        project::Trust,
        project_file,
        schema::Key,
        unusable::{self, Unusable},
    },
    workspace::bounded::{self, Unread},
};

/// Settings take a few lines: a larger file is something else.
const LARGEST_FILE: u64 = 1 << 20;

/// Warnings about one file that someone reads; a project's file may be anybody's.
const MOST_WARNINGS: usize = 20;

/// Values in the lists of a project's file beyond which nobody wrote it: each rule is read, and compared with others.
const MOST_LISTED: usize = 1_000;

impl Layers {
    /// The file of a project, which may be anybody's: a link in it could name any file of the user, whose lines would be
    /// shown, or one that is no file at all. A folder that the user trusts may have its settings where it likes.
    pub(super) fn lay_project_file(&mut self, root: &Path, trust: Trust) {
        let path = project_file(root);
        let origin = Origin::ProjectFile(path.clone());
        if trust != Trust::None || !leads_out(root, &path) {
            return self.lay_file(&path, &origin, trust);
        }
        self.settings.files.push(SettingsFile { path: path.clone(), exists: true });
        let reason = "it is a link that leads out of the project: put the file itself into the project, or list the \
                      project's folder in trusted_folders of your own settings file";
        self.refuse_file(&path, reason, &origin, trust);
    }

    pub(super) fn lay_file(&mut self, path: &Path, origin: &Origin, trust: Trust) {
        let text = match read(path) {
            Ok(text) => text,
            Err(error) => {
                let exists = error.kind() != io::ErrorKind::NotFound;
                self.settings.files.push(SettingsFile { path: path.to_owned(), exists });
                if exists {
                    self.refuse_file(path, &format!("it cannot be read: {error}"), origin, trust);
                }
                return;
            }
        };
        self.settings.files.push(SettingsFile { path: path.to_owned(), exists: true });
        let contents = match entry::of_file(path, &text) {
            Ok(contents) => contents,
            Err(reason) => return self.refuse_file(path, &reason, origin, trust),
        };
        let listed: usize = contents.entries.iter().map(|entry| listed(&entry.value)).sum();
        if trust == Trust::None && listed > MOST_LISTED {
            let reason = format!("its lists hold more than {MOST_LISTED} values");
            return self.refuse_file(path, &reason, origin, trust);
        }
        let first = self.warnings.len();
        if let Some(first) = contents.broken.first().filter(|_| trust != Trust::None) {
            let read = |name: &str| contents.entries.iter().any(|entry| entry.name == name);
            for name in unusable::mentioned(&text).filter(|name| !read(name)) {
                let speaks = |line: usize| {
                    let line = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
                    unusable::mentioned(line).any(|mentioned| mentioned == name)
                };
                let (_, warning) = contents.broken.iter().find(|(line, _)| speaks(*line)).unwrap_or(first);
                self.settings.unusable.push(Unusable::new(name, origin, warning.clone()));
            }
        }
        self.warnings.extend(contents.broken.into_iter().map(|(_, warning)| warning));
        for (name, Warning { place, message }) in contents.repeated {
            let key = Key::named(&name).filter(|_| trust != Trust::None);
            self.refuse(key.map(|key| key.name), &place, message, origin);
        }
        for entry in contents.entries {
            self.lay(entry, origin, trust);
        }
        let more = (self.warnings.len() - first).saturating_sub(MOST_WARNINGS);
        if more > 0 {
            self.warnings.truncate(first + MOST_WARNINGS);
            self.warn(
                &path.display().to_string(),
                match more {
                    1 => "1 more warning about this file is not shown".to_owned(),
                    more => format!("{more} more warnings about this file are not shown"),
                },
            );
        }
    }

    /// The rules that the user's answers have kept for the project at `root`.
    pub(super) fn lay_kept_rules(&mut self, path: &Path, root: &Path) {
        let origin = Origin::UserFile(path.to_owned());
        let text = match read(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => {
                return self.refuse_file(path, &format!("it cannot be read: {error}"), &origin, Trust::Full);
            }
        };
        let contents = match entry::of_file(path, &text) {
            Ok(contents) => contents,
            Err(reason) => return self.refuse_file(path, &reason, &origin, Trust::Full),
        };
        let faults = contents.broken.into_iter().map(|(_, fault)| fault);
        if let Some(fault) = faults.chain(contents.repeated.into_iter().map(|(_, fault)| fault)).next() {
            let message = format!("nothing in this file is used: {}", fault.message);
            return self.refuse(Some(unusable::WHOLE_FILE), &fault.place, message, &origin);
        }
        let name = kept_rules::project_name(root);
        let project = contents.entries.into_iter().find(|entry| entry.name == name);
        for list in project.into_iter().flat_map(|project| project.members) {
            if kept_rules::LISTS.contains(&list.name.as_str()) {
                self.lay(list, &origin, Trust::Full);
            } else {
                let message = format!("{} is ignored here: this file holds allow, ask and deny", list.name);
                self.warn(&list.place, message);
            }
        }
    }

    /// Nothing in a file is used.
    fn refuse_file(&mut self, path: &Path, reason: &str, origin: &Origin, trust: Trust) {
        let name = (trust != Trust::None).then_some(unusable::WHOLE_FILE);
        let message = format!("nothing in this file is used: {reason}");
        self.refuse(name, &path.display().to_string(), message, origin);
    }
}

/// The values in the lists of a value.
fn listed(value: &Value) -> usize {
    match value {
        Value::Array(list) => list.len() + list.iter().map(listed).sum::<usize>(),
        Value::Object(members) => members.values().map(listed).sum(),
        _ => 0,
    }
}

/// A settings file's text. A folder, a device and a file of some other size or encoding are errors.
fn read(path: &Path) -> io::Result<String> {
    let text = String::from_utf8(read_bytes(path)?).map_err(|error| {
        let before = error.utf8_error().valid_up_to();
        let valid = String::from_utf8_lossy(error.as_bytes().get(..before).unwrap_or_default());
        let (line, column) = entry::position(&valid, before);
        io::Error::other(format!("line {line}, column {column} is not UTF-8"))
    })?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// The bytes of a regular file of a size that people write.
pub(in crate::config) fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    bounded::read(path, LARGEST_FILE).map_err(|unread| match unread {
        // A root that is a file has no settings below it.
        Unread::Io(error) if error.kind() == io::ErrorKind::NotADirectory => io::ErrorKind::NotFound.into(),
        other => other.into(),
    })
}

/// Whether what stands at `path` below `root` is in truth somewhere else.
fn leads_out(root: &Path, path: &Path) -> bool {
    match (fs::canonicalize(root), fs::canonicalize(path)) {
        (Ok(root), Ok(path)) => !path.starts_with(root),
        // What is not there leads nowhere.
        _ => false,
    }
}
