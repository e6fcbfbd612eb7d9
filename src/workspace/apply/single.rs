//! One file at a time: what it is given, where it goes, and whether it is still what it was.

use std::{fs, io, io::Write, path::Path};

use super::temporary::temporary;
use crate::workspace::{FileEdit, bounded, disk};

/// Gives a file the owner and the mode bits of the one that it replaces.
pub(super) fn take_over(from: &fs::Metadata, to: &Path) -> io::Result<()> {
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

#[cfg_attr(not(unix), expect(unused_variables, reason = "there are no mode bits"))]
pub(in crate::workspace) fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    }
    Ok(())
}

/// A file gets its new name before it loses the old one.
pub(super) fn relink(from: &Path, to: &Path) -> io::Result<()> {
    fs::hard_link(from, to)?;
    fs::remove_file(from).inspect_err(|_| {
        // Its other name is there.
        let _ = fs::remove_file(to);
    })
}

/// Never takes the place of what somebody has made there meanwhile.
pub(super) fn put_back(kept: &Path, path: &Path) -> io::Result<()> {
    match relink(kept, path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists && path.symlink_metadata().is_err() => {
            // This file system has no second names.
            fs::rename(kept, path)
        }
        result => result,
    }
}

pub(super) fn restore(path: &Path, bytes: &[u8], metadata: &fs::Metadata) -> io::Result<()> {
    let folder = path.parent().ok_or_else(|| io::Error::other("it has no folder"))?;
    let mut file = temporary(folder)?;
    file.write_all(bytes)?;
    take_over(metadata, file.path())?;
    file.persist(path)?;
    Ok(())
}

pub(super) fn check_ours(path: &Path, written: &[u8]) -> io::Result<()> {
    if bounded::read(path, written.len() as u64).is_ok_and(|now| now == written) {
        return Ok(());
    }
    Err(io::Error::other("another program changed it in the meantime; its text stays"))
}

/// Looks once more just before the file goes: others write as well.
pub(super) fn check_unchanged(edit: &FileEdit, path: &Path) -> io::Result<()> {
    match disk::read(path, "") {
        Ok(now) if edit.is_made_for(Some(&now)) => Ok(()),
        _ => Err(io::Error::other("it has changed since the edit was made")),
    }
}
