//! Writing a proposal to the disk: every file whole or not at all, and all files or none.
//!
//! A new text takes the place of the old one by a rename, so that a crash or a kill at any moment leaves one of both.
//! Mode bits stay, and the owner where the system allows it; a link to the file stays one. Other hard links of a file
//! keep the old text, and attributes beyond these are those of a new file: keeping them would mean to write in place,
//! where a kill leaves half a text.

use std::{
    fs, io,
    io::Write,
    path::{Path, PathBuf},
};

use tempfile::{NamedTempFile, TempPath};

use super::{
    FileEdit, FilePath, Workspace, disk,
    edit::{Conflict, EditProposal},
};

/// See [`EditProposal::apply_to_disk`].
pub(super) fn apply(proposal: &EditProposal, workspace: &Workspace) -> Result<(), Vec<Conflict>> {
    let mut conflicts = proposal.conflicts(workspace);
    if conflicts.is_empty() {
        conflicts.extend(proposal.files.iter().filter_map(|edit| unwritable(edit, workspace)));
    }
    if !conflicts.is_empty() {
        return Err(conflicts);
    }
    let mut transaction = Transaction::default();
    transaction.run(&proposal.files).map_err(|mut conflict| {
        let problems = transaction.undo();
        conflict.reason.push_str(if problems.is_empty() {
            ", and nothing was changed"
        } else {
            ", and what was done before it was taken back, except: "
        });
        conflict.reason.push_str(&problems.join("; "));
        vec![conflict]
    })
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
    file: NamedTempFile,
}

impl Transaction {
    /// First everything that takes space or rights, then only renames.
    fn run(&mut self, edits: &[FileEdit]) -> Result<(), Conflict> {
        let mut prepared = Vec::new();
        for edit in edits {
            let (Some(after), Some(to)) = (&edit.after, edit.path.disk()) else { continue };
            let file =
                self.prepare(edit, after, to).map_err(|error| failed(&edit.path, "written", &error))?;
            prepared.push(Prepared { edit, to, file });
        }
        for edit in edits {
            let goes = edit.before.is_some() && (edit.after.is_none() || edit.moved_from.is_some());
            if let Some(from) = edit.origin().disk().filter(|_| goes) {
                self.remove(edit, from).map_err(|error| failed(edit.origin(), "removed", &error))?;
            }
        }
        for Prepared { edit, to, file } in prepared {
            self.put(edit, to, file).map_err(|error| failed(&edit.path, "written", &error))?;
        }
        // Nothing can fail any more: files that were only put aside go when these are dropped.
        self.done.clear();
        Ok(())
    }

    fn prepare(&mut self, edit: &FileEdit, after: &str, to: &Path) -> io::Result<NamedTempFile> {
        let folder = to.parent().ok_or_else(|| io::Error::other("it has no folder"))?;
        self.create_folders(folder)?;
        let mut file = temporary(folder)?;
        let bom = edit.before.as_ref().is_some_and(|before| before.bom);
        file.write_all(&disk::bytes(after, bom))?;
        if let (Some(_), Some(from)) = (&edit.before, edit.origin().disk()) {
            take_over(&fs::metadata(from)?, file.path())?;
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

    fn put(&mut self, edit: &FileEdit, to: &Path, file: NamedTempFile) -> io::Result<()> {
        let bom = edit.before.as_ref().is_some_and(|before| before.bom);
        let written = disk::bytes(edit.after.as_deref().unwrap_or_default(), bom);
        let Some(before) = edit.before.as_ref().filter(|_| edit.moved_from.is_none()) else {
            file.persist_noclobber(to)?;
            self.done.push(Done::Created { path: to.to_owned(), written });
            return Ok(());
        };
        check_unchanged(edit, to)?;
        let metadata = fs::metadata(to)?;
        file.persist(to)?;
        let bytes = disk::bytes(&before.text, before.bom);
        self.done.push(Done::Replaced { path: to.to_owned(), written, bytes, metadata });
        Ok(())
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
                Done::Replaced { path, written, bytes, metadata } => {
                    let result = check_ours(&path, &written).and_then(|()| restore(&path, &bytes, &metadata));
                    (path, result)
                }
                Done::Removed { path, kept } => {
                    let result = fs::rename(&kept, &path);
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

/// In the folder of its file, because a rename does not cross file systems.
fn temporary(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".askls-").suffix(".tmp");
    #[cfg(unix)]
    {
        // As any program makes a new file; the user's mask takes away what it takes away.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

/// Gives a file the owner and the mode bits of the one that it replaces.
fn take_over(from: &fs::Metadata, to: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, chown};
        let own = fs::metadata(to)?;
        if (own.uid(), own.gid()) != (from.uid(), from.gid()) {
            // Only root may give files away. Who may write in the folder may replace the file all the same.
            let _ = chown(to, Some(from.uid()), Some(from.gid()));
        }
    }
    fs::set_permissions(to, from.permissions())
}

fn restore(path: &Path, bytes: &[u8], metadata: &fs::Metadata) -> io::Result<()> {
    let folder = path.parent().ok_or_else(|| io::Error::other("it has no folder"))?;
    let mut file = temporary(folder)?;
    file.write_all(bytes)?;
    take_over(metadata, file.path())?;
    file.persist(path)?;
    Ok(())
}

fn check_ours(path: &Path, written: &[u8]) -> io::Result<()> {
    if fs::read(path)? == written {
        return Ok(());
    }
    Err(io::Error::other("another program changed it in the meantime; its text stays"))
}

/// Looks once more just before the file goes: others write as well.
fn check_unchanged(edit: &FileEdit, path: &Path) -> io::Result<()> {
    match disk::read(path, "") {
        Ok(now) if edit.is_made_for(Some(&now)) => Ok(()),
        _ => Err(io::Error::other("it has changed since the edit was made")),
    }
}

fn failed(path: &FilePath, what: &str, error: &io::Error) -> Conflict {
    Conflict { path: path.clone(), reason: format!("{path} could not be {what}: {error}") }
}

#[cfg(test)]
mod tests;
