//! Staged edits: the text of each file before and after, to be previewed, accepted whole or in part, or rejected.

mod stretches;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    ops,
    time::Duration,
};

use super::{
    FileError, FilePath, FileText, Workspace, apply,
    deceptive::is_deceptive,
    guard, paths,
    position::{Encoding, LineStarts, Position, Range},
    shared_ends::shared_ends,
};
pub use stretches::Stretch;
use stretches::stretches_of;
pub(super) use stretches::{replaced, stretches};

/// All file edits of a turn, one a file, ordered by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EditProposal {
    pub files: Vec<FileEdit>,
}

/// What happens to one file.
///
/// In a proposal no path is both the place of one edit and the origin of another, so the order of moves does not
/// matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEdit {
    pub path: FilePath,
    /// The file is moved here from there (its text may change as well).
    pub moved_from: Option<FilePath>,
    /// `None`: the file is created.
    pub before: Option<FileText>,
    /// `None`: the file is deleted. Line ends as they are to be written; without the byte order mark of `before`,
    /// which stays.
    pub after: Option<String>,
    /// The text was carried here from there by more than one step of the turn, and another edit takes it away there:
    /// see [`EditProposal::together_with`].
    pub text_from: Option<FilePath>,
    /// What of the text changes, as its user was shown it; `None`: what a comparison of the two texts finds. Among equal
    /// lines the texts alone do not say which of them a change is about.
    pub stretches: Option<Vec<Stretch>>,
}

/// One replaced range of a text, in the editor's units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextEdit {
    pub range: Range,
    pub new_text: String,
}

/// One stretch of lines that changes, to be accepted or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// Zero-based lines of the text before; empty where lines are only added.
    pub before: ops::Range<usize>,
    /// Zero-based lines of the text after; empty where lines are only removed.
    pub after: ops::Range<usize>,
}

/// The file is no longer what the edit was made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    pub path: FilePath,
    /// For the user: what changed and what to do.
    pub reason: String,
}

impl FileEdit {
    pub(super) fn of(path: &FilePath, before: Option<FileText>, after: Option<String>) -> Self {
        Self { path: path.clone(), moved_from: None, before, after, text_from: None, stretches: None }
    }

    /// Where the text before comes from.
    pub fn origin(&self) -> &FilePath {
        self.moved_from.as_ref().unwrap_or(&self.path)
    }

    /// Whether editors or shells run what the file says, or change what they run, when its folder is opened: tasks and
    /// settings of editors, `.exrc` and the like. Such an edit should not be applied without asking. What counts is where it
    /// lies in a folder of the workspace, not where that folder lies.
    pub fn is_run_unasked(&self, workspace: &Workspace) -> bool {
        let Some(path) = self.path.disk() else { return false };
        let roots = workspace.roots();
        let mut inside = roots.iter().filter_map(|root| path.strip_prefix(root).ok()).peekable();
        if inside.peek().is_none() {
            return guard::is_run_unasked(path);
        }
        inside.any(guard::is_run_unasked)
    }

    /// Whether this is the text for which the edit was made, whatever its version.
    pub(super) fn is_made_for(&self, now: Option<&FileText>) -> bool {
        self.before.as_ref().map(|before| &before.text) == now.map(|now| &now.text)
    }

    /// Whether a file is made, moved or deleted.
    pub fn comes_or_goes(&self) -> bool {
        self.before.is_none() || self.after.is_none() || self.moved_from.is_some()
    }

    /// Whether another edit does the same to the same text.
    pub(super) fn says_the_same(&self, other: &Self) -> bool {
        let text = |edit: &Self| edit.before.as_ref().map(|before| before.text.clone());
        (&self.path, &self.moved_from, &self.after) == (&other.path, &other.moved_from, &other.after)
            && text(self) == text(other)
    }

    /// Whether everything is as it was once it has come about.
    pub(super) fn changes_nothing(&self) -> bool {
        let before = self.before.as_ref().map(|before| &*before.text);
        self.moved_from.is_none() && before == self.after.as_deref()
    }

    /// As `diff -u` and git print it, `a/` and `b/` before the paths; `/dev/null` for what is not there. A path with
    /// characters that could make it read as something else stands in quotes, as git writes it.
    pub fn diff(&self) -> String {
        let (old, new) = (self.origin().as_str(), self.path.as_str());
        let mut out = format!("diff --git {} {}\n", quoted("a/", old), quoted("b/", new));
        match (&self.before, &self.after) {
            (None, _) => out.push_str("new file mode 100644\n"),
            (Some(_), None) => out.push_str("deleted file mode 100644\n"),
            (Some(_), Some(_)) if self.moved_from.is_some() => {
                let _ = write!(out, "rename from {}\nrename to {}\n", quoted("", old), quoted("", new));
            }
            (Some(_), Some(_)) => {}
        }
        let before = self.before.as_ref().map_or("", |before| &*before.text);
        let after = self.after.as_deref().unwrap_or_default();
        if before == after {
            return out;
        }
        let name = |there: bool, side: &str, path: &str| match there {
            true => quoted(side, path),
            false => "/dev/null".to_owned(),
        };
        // Lines as git has them: a lone `\r` ends none.
        let (old_lines, new_lines): (Vec<&str>, Vec<&str>) =
            (before.split_inclusive('\n').collect(), after.split_inclusive('\n').collect());
        let diff = similar::TextDiff::configure()
            .timeout(DIFF_TIMEOUT)
            .newline_terminated(true)
            .diff_slices(&old_lines, &new_lines);
        let mut unified = diff.unified_diff();
        unified.header(&name(self.before.is_some(), "a/", old), &name(self.after.is_some(), "b/", new));
        let _ = write!(out, "{unified}");
        out
    }

    /// The smallest ranges of `before` that make it `after`, in order, not overlapping. Line ends untouched.
    ///
    /// Positions are those of the editor's buffer, whose byte order mark counts when it has one. A deletion has none.
    pub fn text_edits(&self, encoding: Encoding) -> Vec<TextEdit> {
        let Some(after) = &self.after else { return Vec::new() };
        let Some(before) = self.before.as_ref().filter(|before| !before.text.is_empty() || before.bom) else {
            return into_nothing(after);
        };
        let lines = LineStarts::new(&before.text);
        let mark = if before.bom && before.version.is_some() { encoding.width('\u{feff}') } else { 0 };
        let position = |offset: usize| {
            let Position { line, character } = lines.position(&before.text, offset, encoding);
            let mark = if line == 0 { u32::try_from(mark).unwrap_or_default() } else { 0 };
            Position { line, character: character + mark }
        };
        let found = match &self.stretches {
            Some(stretches) => stretches.clone(),
            None => stretches_of(&before.text, &lines, after),
        };
        found
            .into_iter()
            .map(|stretch| {
                let (replaced, new_text) = smallest(&before.text, after, &stretch);
                let (replaced, new_text) = before_last_line_end(&before.text, replaced, new_text);
                let range = Range { start: position(replaced.start), end: position(replaced.end) };
                TextEdit { range, new_text }
            })
            .collect()
    }

    /// What of the text changes, in order; none for a file that is created, deleted or only moved.
    pub(super) fn stretches(&self) -> Vec<Stretch> {
        match (&self.stretches, &self.before, &self.after) {
            (Some(stretches), ..) => stretches.clone(),
            (None, Some(before), Some(after)) => stretches(&before.text, after),
            (None, ..) => Vec::new(),
        }
    }

    /// The lines of what changes, in order; none for a file that is created, deleted or only moved.
    pub fn hunks(&self) -> Vec<Hunk> {
        let (Some(before), Some(after)) = (&self.before, &self.after) else { return Vec::new() };
        let (old, new) = (LineStarts::new(&before.text), LineStarts::new(after));
        let hunk = |stretch: Stretch| Hunk {
            before: old.lines_of(&stretch.before),
            after: new.lines_of(&stretch.after),
        };
        self.stretches().into_iter().map(hunk).collect()
    }

    /// What goes and what comes at each of [`FileEdit::hunks`].
    pub fn hunk_texts(&self) -> Vec<(&str, &str)> {
        let (Some(before), Some(after)) = (&self.before, &self.after) else { return Vec::new() };
        let texts = |stretch: Stretch| Some((before.text.get(stretch.before)?, after.get(stretch.after)?));
        self.stretches().into_iter().filter_map(texts).collect()
    }

    /// The same edit with only those hunks (by their place in [`FileEdit::hunks`]) that `keep` accepts.
    #[must_use]
    pub fn only(&self, keep: impl Fn(usize) -> bool) -> Self {
        let (Some(before), Some(after)) = (&self.before, &self.after) else { return self.clone() };
        let stretches = self.stretches();
        let kept = stretches.iter().enumerate().filter(|(index, _)| keep(*index));
        let parts = kept.map(|(_, stretch)| {
            (stretch.before.clone(), after.get(stretch.after.clone()).unwrap_or_default())
        });
        let (text, stretches) = replaced(&before.text, parts);
        Self { after: Some(text), stretches: Some(stretches), ..self.clone() }
    }

    /// Why the edit cannot be made to what buffer and disk hold now.
    pub(super) fn conflict(&self, workspace: &Workspace) -> Option<String> {
        if let Some(before) = &self.before {
            let origin = self.origin();
            match workspace.read_again(origin, Some(&before.text)) {
                Ok(now) if now.text == before.text => {}
                Ok(_) => return Some(format!("{origin} has changed since the edit was made; {ASK_AGAIN}")),
                Err(FileError::Missing(_)) => {
                    return Some(format!("{origin} is no longer there; {ASK_AGAIN}"));
                }
                Err(error) => return Some(format!("{error}; {ASK_AGAIN}")),
            }
        }
        let disk = self.path.disk()?;
        let is_new = self.before.is_none() || self.moved_from.is_some();
        if is_new && (disk.symlink_metadata().is_ok() || workspace.open_document(&self.path).is_some()) {
            return Some(format!("{} exists by now; {ASK_AGAIN}", self.path));
        }
        for path in [&self.path, self.origin()] {
            let Some(place) = path.disk() else { continue };
            if !paths::real(place).is_ok_and(|real| real == place) {
                return Some(format!("{}; {ASK_AGAIN}", FileError::Moved(self.path.to_string())));
            }
            let roots = workspace.folders();
            // Without folders only the files that the editor shows can be edited.
            let is_open = || roots.is_empty() && workspace.overlay().by_real_path(place).is_some();
            if roots.file(place).is_none() && !is_open() && !path.is_outside() {
                return Some(format!("{} no longer lies in the workspace; {ASK_AGAIN}", self.path));
            }
        }
        None
    }
}

/// A path of a diff: as it is, else between double quotes with escapes as in C, the bytes of what is not plainly seen in
/// octal.
fn quoted(side: &str, path: &str) -> String {
    let is_special = |character: char| matches!(character, '"' | '\\') || is_deceptive(character);
    if !path.contains(is_special) {
        return format!("{side}{path}");
    }
    let mut out = format!("\"{side}");
    for character in path.chars() {
        match character {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '"' | '\\' => out.extend(['\\', character]),
            _ if is_deceptive(character) => {
                for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                    let _ = write!(out, "\\{byte:03o}");
                }
            }
            _ => out.push(character),
        }
    }
    out.push('"');
    out
}

/// What a user can do about an edit that no longer fits.
const ASK_AGAIN: &str = "ask for the edit again";

impl EditProposal {
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    pub fn diff(&self) -> String {
        self.files.iter().map(FileEdit::diff).collect()
    }

    /// The paths of the edits that only make sense with the one of this path (its place or its origin), itself among
    /// them: all are accepted, or none, or the only copy of a text could be lost. Empty for a path without an edit.
    pub fn together_with(&self, path: &FilePath) -> BTreeSet<FilePath> {
        let mut together = BTreeSet::new();
        let is_named = |edit: &&FileEdit| edit.path == *path || edit.moved_from.as_ref() == Some(path);
        let mut todo: Vec<&FileEdit> = self.files.iter().filter(is_named).collect();
        while let Some(edit) = todo.pop() {
            if !together.insert(edit.path.clone()) {
                continue;
            }
            let is_tied = |other: &&FileEdit| {
                edit.text_from.as_ref() == Some(other.origin())
                    || other.text_from.as_ref() == Some(edit.origin())
            };
            todo.extend(self.files.iter().filter(is_tied));
        }
        together
    }

    /// The edits of files that run by themselves ([`FileEdit::is_run_unasked`]), with what is tied to them, and the others.
    pub fn split_run_unasked(self, workspace: &Workspace) -> (Self, Self) {
        let marked = self.files.iter().filter(|file| file.is_run_unasked(workspace));
        let marked = marked.map(|file| file.path.clone()).collect();
        self.split_with(&marked)
    }

    /// The edits of these paths with what is tied to them, and the others.
    pub fn split_with(self, paths: &BTreeSet<FilePath>) -> (Self, Self) {
        let meant: BTreeSet<_> = paths.iter().flat_map(|path| self.together_with(path)).collect();
        let (meant, others) = self.files.into_iter().partition(|file| meant.contains(&file.path));
        (Self { files: meant }, Self { files: others })
    }

    /// Which files are no longer (in the open buffer, else on disk) what their edits were made for. A buffer that says
    /// the same under a newer version is no conflict: send the version that it has now.
    pub fn conflicts(&self, workspace: &Workspace) -> Vec<Conflict> {
        self.files
            .iter()
            .filter_map(|edit| Some(Conflict { path: edit.path.clone(), reason: edit.conflict(workspace)? }))
            .collect()
    }

    /// Writes all files, each atomically, or none: checks for conflicts first and restores what it wrote when a later
    /// file fails. For faces without an editor.
    pub fn apply_to_disk(&self, workspace: &Workspace) -> Result<(), Vec<Conflict>> {
        let Ok(applied) =
            apply::apply(self, workspace, &BTreeMap::new(), || Ok::<_, std::convert::Infallible>(()));
        applied.map_err(|not_applied| not_applied.conflicts)
    }
}

/// The longest that a diff may look for the shortest way; then it answers with one that is right but longer.
const DIFF_TIMEOUT: Duration = Duration::from_millis(500);

/// What really differs of a stretch: without the beginning and the end that both texts share. Never ends inside a
/// character, nor between the halves of a `\r\n`, where no position is.
fn smallest<'a>(before: &str, after: &'a str, stretch: &Stretch) -> (ops::Range<usize>, &'a str) {
    let old = before.get(stretch.before.clone()).unwrap_or_default();
    let new = after.get(stretch.after.clone()).unwrap_or_default();
    let splits = |at: usize| {
        old.get(..at).is_some_and(|head| head.ends_with('\r'))
            && old.get(at..).is_some_and(|tail| tail.starts_with('\n'))
    };
    let (mut head, mut tail) = shared_ends(old, new);
    if splits(head) {
        head -= 1;
    }
    if splits(old.len() - tail) {
        tail -= 1;
    }
    let new_rest = new.get(head..).unwrap_or_default();
    let start = stretch.before.start;
    (start + head..start + old.len() - tail, new_rest.get(..new_rest.len() - tail).unwrap_or_default())
}

/// Lines that follow the last one are put in before its end: the text is the same, and Neovim, which has no line after
/// the last, would leave an empty one there.
fn before_last_line_end(
    before: &str,
    replaced: ops::Range<usize>,
    new_text: &str,
) -> (ops::Range<usize>, String) {
    let end = if before.ends_with("\r\n") { "\r\n" } else { "\n" };
    let is_insertion_at_end = replaced.start == before.len() && before.ends_with(end);
    match new_text.strip_suffix(end).filter(|lines| is_insertion_at_end && !lines.ends_with('\r')) {
        Some(lines) => {
            let at = before.len() - end.len();
            (at..at, format!("{end}{lines}"))
        }
        None => (replaced, new_text.to_owned()),
    }
}

/// The whole text of an empty document. Where its last line ends, the range reaches over the end of the empty line, which
/// the protocol takes for that end; Neovim then knows that no line is to follow.
fn into_nothing(text: &str) -> Vec<TextEdit> {
    if text.is_empty() {
        return Vec::new();
    }
    let end = Position { line: 0, character: u32::from(text.ends_with('\n')) };
    vec![TextEdit { range: Range { start: Position::default(), end }, new_text: text.to_owned() }]
}

#[cfg(test)]
mod tests;
