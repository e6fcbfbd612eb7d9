//! Proposed edits in a few words, for a question or a message.

use crate::{
    tools::output::visible_path,
    workspace::{FileEdit, FilePath},
};

/// Files that a message names; the others are counted.
const MAX_NAMED: usize = 3;

/// How many files, and what happens to the first of them. Of the others at least the deletions are counted, so that
/// none is hidden.
pub(super) fn named<F: std::borrow::Borrow<FileEdit>>(files: &[F]) -> String {
    let count = match files.len() {
        1 => "1 file".to_owned(),
        count => format!("{count} files"),
    };
    let mut changes: Vec<_> = files.iter().take(MAX_NAMED).map(|file| change(file.borrow())).collect();
    let others = files.get(MAX_NAMED..).unwrap_or_default();
    if !others.is_empty() {
        let deletions = others.iter().filter(|file| (*file).borrow().after.is_none()).count();
        let deletions = match deletions {
            0 => String::new(),
            1 => " (1 deletion)".to_owned(),
            count => format!(" ({count} deletions)"),
        };
        changes.push(format!("… and {} more{deletions}", others.len()));
    }
    format!("{count}: {}", changes.join(", "))
}

/// `not saved yet: a.txt`; `None` for no files.
pub(super) fn not_saved(files: &[FilePath]) -> Option<String> {
    (!files.is_empty()).then(|| format!("not saved yet: {}", listed(files)))
}

/// `a.txt was`, `a.txt, b.txt were`
pub(super) fn were(files: &[&FilePath]) -> String {
    format!("{} {}", listed(files), if files.len() == 1 { "was" } else { "were" })
}

fn listed<P: std::borrow::Borrow<FilePath>>(files: &[P]) -> String {
    let names: Vec<_> = files.iter().map(|path| visible_path(path.borrow().as_str())).collect();
    list(&names, MAX_NAMED)
}

/// `edit a.txt`; nothing in a path can hide.
pub(super) fn change(file: &FileEdit) -> String {
    let path = visible_path(file.path.as_str());
    match (&file.moved_from, &file.before, &file.after) {
        (_, _, None) => format!("delete {path}"),
        (Some(from), ..) => format!("move {} to {path}", visible_path(from.as_str())),
        (None, None, Some(_)) => format!("create {path}"),
        (None, Some(_), Some(_)) => format!("edit {path}"),
    }
}

/// `a.txt, b.txt and 3 more`: at most `most` of them by name.
pub(super) fn list(names: &[String], most: usize) -> String {
    let (shown, others) = names.split_at(names.len().min(most));
    match others.len() {
        0 => shown.join(", "),
        count => format!("{} and {count} more", shown.join(", ")),
    }
}
