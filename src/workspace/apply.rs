//! Writing a proposal to the disk: every file whole or not at all, and all files or none.
//!
//! A new text takes the place of the old one by a rename, so that a crash or a kill at any moment leaves one of both.
//! What moves is at its new place before it leaves the old one, and deletions come last. Files that change places with
//! each other are the exception: the first text that gives way is for that moment only in a file `.askls-….tmp~` beside
//! its new place, and in the journal. Such files of a run that was killed may hold the only copy of a text, and stay until
//! they are old: see `temporary`.
//! Mode bits stay, and the owner where the system allows it; a link to the file stays one. Other hard links of a file
//! keep the old text, and attributes beyond these are those of a new file: keeping them would mean to write in place,
//! where a kill leaves half a text.

mod single;
mod temporary;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    io::Write,
    path::{Path, PathBuf},
    time::SystemTime,
};

use tempfile::{NamedTempFile, TempPath};

use super::{
    FileEdit, FilePath, Workspace, disk,
    edit::{Conflict, EditProposal},
};
pub(super) use single::set_mode;
use single::{check_ours, check_unchanged, put_back, relink, restore, take_over};
use temporary::temporary;

/// What a file has besides its text, where an edit does not say it: by the file's place.
pub(super) type AttributesByPath = BTreeMap<FilePath, Attributes>;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Attributes {
    /// Mode bits of a file that is made anew; those that the system gives if `None`.
    pub(super) mode: Option<u32>,
    /// Whether the text has a byte order mark; as it had if `None`.
    pub(super) bom: Option<bool>,
}

/// Why edits were not applied.
#[derive(Debug)]
pub(super) struct NotApplied {
    pub(super) conflicts: Vec<Conflict>,
    /// Whether all files are as they were; otherwise the conflicts say what is not.
    pub(super) is_untouched: bool,
}

/// See [`EditProposal::apply_to_disk`]. `before_first` runs when nothing stands in the way and nothing has changed yet;
/// with its error nothing does.
pub(super) fn apply<E>(
    proposal: &EditProposal,
    workspace: &Workspace,
    attributes: &AttributesByPath,
    before_first: impl FnOnce() -> Result<(), E>,
) -> Result<Result<(), NotApplied>, E> {
    let mut conflicts = proposal.conflicts(workspace);
    if conflicts.is_empty() {
        conflicts.extend(proposal.files.iter().filter_map(|edit| unwritable(edit, workspace)));
    }
    if !conflicts.is_empty() {
        return Ok(Err(NotApplied { conflicts, is_untouched: true }));
    }
    let mut transaction = Transaction::default();
    let prepared = match transaction.prepare_all(&proposal.files, attributes) {
        Ok(prepared) => prepared,
        Err(conflict) => return Ok(Err(transaction.taken_back(conflict))),
    };
    if let Err(error) = before_first() {
        drop(prepared);
        transaction.undo();
        return Err(error);
    }
    let run = transaction.run(&proposal.files, prepared);
    Ok(run.map_err(|conflict| transaction.taken_back(conflict)))
}

/// Whether a byte order mark is written before the text of an edit: it goes where its text goes.
pub(super) fn has_mark(edit: &FileEdit, edits: &[FileEdit], attributes: &AttributesByPath) -> bool {
    if let Some(bom) = attributes.get(&edit.path).and_then(|attributes| attributes.bom) {
        return bom;
    }
    let from = edit.text_from.as_ref();
    let origin = from.and_then(|from| edits.iter().find(|other| other.origin() == from)).unwrap_or(edit);
    origin.before.as_ref().is_some_and(|before| before.bom)
}

/// Why a file cannot be written although it is what the edit was made for.
fn unwritable(edit: &FileEdit, workspace: &Workspace) -> Option<Conflict> {
    let conflict = |reason: String| Some(Conflict { path: edit.path.clone(), reason });
    let origin = edit.origin();
    let (Some(_), Some(from)) = (edit.path.disk(), origin.disk()) else {
        return conflict(format!("{} is not a file on disk; only the editor can change it", edit.path));
    };
    edit.before.as_ref()?;
    if workspace.is_dirty(from) {
        return conflict(format!("{origin} has unsaved changes in the editor; save it first"));
    }
    // A rename would replace it all the same: the folder's permissions decide about that.
    match fs::metadata(from) {
        Ok(metadata) if metadata.permissions().readonly() => {
            conflict(format!("{origin} is read-only; make it writable first"))
        }
        Ok(_) => None,
        Err(error) => conflict(format!("{origin} cannot be written: {error}")),
    }
}

/// What has been done so far, so that it can be undone in reverse.
#[derive(Default)]
struct Transaction {
    done: Vec<Done>,
    folders: Vec<PathBuf>,
}

enum Done {
    Created {
        path: PathBuf,
        written: Vec<u8>,
    },
    /// With its text as it was.
    Moved {
        from: PathBuf,
        to: PathBuf,
    },
    Replaced {
        path: PathBuf,
        written: Vec<u8>,
        bytes: Vec<u8>,
        metadata: fs::Metadata,
    },
    /// The file lies under another name in its folder until all is done.
    Removed {
        path: PathBuf,
        kept: TempPath,
    },
}

/// A new text that is on disk already, but not yet in its place.
struct Prepared<'a> {
    edit: &'a FileEdit,
    to: &'a Path,
    written: Vec<u8>,
    file: NamedTempFile,
}

impl Transaction {
    /// Everything that takes space or rights, in the order in which it is put in place.
    fn prepare_all<'a>(
        &mut self,
        edits: &'a [FileEdit],
        attributes: &AttributesByPath,
    ) -> Result<Vec<Prepared<'a>>, Conflict> {
        let mut prepared = Vec::new();
        for edit in in_order(edits) {
            let (Some(after), Some(to)) = (&edit.after, edit.path.disk()) else { continue };
            let written = disk::bytes(after, has_mark(edit, edits, attributes));
            let mode = attributes.get(&edit.path).and_then(|attributes| attributes.mode);
            let file = self
                .prepare(edit, &written, mode, to)
                .map_err(|error| failed(&edit.path, "written", &error))?;
            prepared.push(Prepared { edit, to, written, file });
        }
        Ok(prepared)
    }

    /// Only renames.
    fn run(&mut self, edits: &[FileEdit], prepared: Vec<Prepared>) -> Result<(), Conflict> {
        for prepared in prepared {
            let path = &prepared.edit.path;
            self.put(prepared).map_err(|error| failed(path, "written", &error))?;
        }
        for edit in edits.iter().filter(|edit| edit.before.is_some() && edit.after.is_none()) {
            if let Some(path) = edit.path.disk() {
                self.remove(edit, path).map_err(|error| failed(&edit.path, "removed", &error))?;
            }
        }
        // Nothing can fail any more: files that were only put aside go when these are dropped.
        self.done.clear();
        let folders: BTreeSet<&Path> = edits.iter().filter_map(|edit| edit.path.disk()?.parent()).collect();
        for folder in folders {
            temporary::sweep(folder, SystemTime::now());
        }
        Ok(())
    }

    fn prepare(
        &mut self,
        edit: &FileEdit,
        written: &[u8],
        mode: Option<u32>,
        to: &Path,
    ) -> io::Result<NamedTempFile> {
        let folder = to.parent().ok_or_else(|| io::Error::other("it has no folder"))?;
        self.create_folders(folder)?;
        let mut file = temporary(folder)?;
        file.write_all(written)?;
        match (&edit.before, edit.origin().disk(), mode) {
            (Some(_), Some(from), _) => take_over(&fs::metadata(from)?, file.path())?,
            (None, _, Some(mode)) => set_mode(file.path(), mode)?,
            _ => {}
        }
        Ok(file)
    }

    fn create_folders(&mut self, folder: &Path) -> io::Result<()> {
        let missing: Vec<&Path> = folder.ancestors().take_while(|above| !above.exists()).collect();
        for folder in missing.into_iter().rev() {
            fs::create_dir(folder)?;
            self.folders.push(folder.to_owned());
        }
        Ok(())
    }

    fn remove(&mut self, edit: &FileEdit, from: &Path) -> io::Result<()> {
        check_unchanged(edit, from)?;
        let folder = from.parent().ok_or_else(|| io::Error::other("it has no folder"))?;
        let kept = temporary(folder)?.into_temp_path();
        fs::rename(from, &kept)?;
        self.done.push(Done::Removed { path: from.to_owned(), kept });
        Ok(())
    }

    fn put(&mut self, prepared: Prepared) -> io::Result<()> {
        let Prepared { edit, to, written, file } = prepared;
        match (&edit.before, edit.moved_from.as_ref().and_then(FilePath::disk)) {
            (None, _) => self.create(to, written, file),
            (Some(before), Some(from)) => {
                check_unchanged(edit, from)?;
                if disk::bytes(&before.text, before.bom) == written && self.move_whole(from, to)? {
                    return Ok(());
                }
                self.create(to, written, file)?;
                self.remove(edit, from)
            }
            (Some(before), None) => {
                check_unchanged(edit, to)?;
                let metadata = fs::metadata(to)?;
                file.persist(to)?;
                let bytes = disk::bytes(&before.text, before.bom);
                self.done.push(Done::Replaced { path: to.to_owned(), written, bytes, metadata });
                Ok(())
            }
        }
    }

    fn create(&mut self, to: &Path, written: Vec<u8>, file: NamedTempFile) -> io::Result<()> {
        file.persist_noclobber(to)?;
        self.done.push(Done::Created { path: to.to_owned(), written });
        Ok(())
    }

    /// Moves the file itself, which keeps all that it has; whether the file system can do that. Unlike a rename this
    /// never takes the place of another file.
    fn move_whole(&mut self, from: &Path, to: &Path) -> io::Result<bool> {
        match relink(from, to) {
            Ok(()) => {
                self.done.push(Done::Moved { from: from.to_owned(), to: to.to_owned() });
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
            Err(_) => Ok(false),
        }
    }

    fn taken_back(&mut self, mut conflict: Conflict) -> NotApplied {
        let problems = self.undo();
        conflict.reason.push_str(if problems.is_empty() {
            ", and nothing was changed"
        } else {
            ", and what was done before it was taken back, except: "
        });
        conflict.reason.push_str(&problems.join("; "));
        NotApplied { conflicts: vec![conflict], is_untouched: problems.is_empty() }
    }

    /// What could not be undone, in words for the user. A file that someone else has written since stays theirs.
    fn undo(&mut self) -> Vec<String> {
        let mut problems = Vec::new();
        while let Some(done) = self.done.pop() {
            let (path, result) = match done {
                Done::Created { path, written } => {
                    let result = check_ours(&path, &written).and_then(|()| fs::remove_file(&path));
                    (path, result)
                }
                Done::Moved { from, to } => {
                    let result = relink(&to, &from);
                    (from, result)
                }
                Done::Replaced { path, written, bytes, metadata } => {
                    let result = check_ours(&path, &written).and_then(|()| restore(&path, &bytes, &metadata));
                    (path, result)
                }
                Done::Removed { path, kept } => {
                    let result = put_back(&kept, &path);
                    if let Err(error) = &result {
                        let kept = kept.keep().unwrap_or_else(|error| error.path.to_path_buf());
                        problems.push(format!("its old text is in {} ({error})", kept.display()));
                    }
                    (path, Ok(()))
                }
            };
            if let Err(error) = result {
                problems.push(format!("{} could not be restored: {error}", path.display()));
            }
        }
        // Only those that are empty go.
        while let Some(folder) = self.folders.pop() {
            let _ = fs::remove_dir(folder);
        }
        problems
    }
}

/// The order in which new texts are put in place: new places first, and a text that goes where another is only when that
/// one is in its own new place.
fn in_order(edits: &[FileEdit]) -> Vec<&FileEdit> {
    let (mut rest, mut order): (Vec<_>, Vec<_>) =
        edits.iter().partition(|edit| edit.before.is_some() && edit.moved_from.is_none());
    while !rest.is_empty() {
        let is_needed =
            |edit: &FileEdit| rest.iter().any(|other| other.text_from.as_ref() == Some(&edit.path));
        // Where all are needed they change places in a ring, which has no beginning.
        let next = rest.iter().position(|edit| !is_needed(edit)).unwrap_or_default();
        order.push(rest.remove(next));
    }
    order
}

fn failed(path: &FilePath, what: &str, error: &io::Error) -> Conflict {
    Conflict { path: path.clone(), reason: format!("{path} could not be {what}: {error}") }
}

#[cfg(test)]
mod tests;
