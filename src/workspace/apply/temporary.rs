//! The files `.askls-….tmp` in which texts lie until they are in their place. Those of runs that were killed are swept from
//! a folder when something is written there.
//!
//! Such a file may hold the only copy of a text for a moment, so it has to be old; and files that look like it but are
//! somebody else's are left alone, as is whatever a link leads to.

use std::{
    fs, io,
    path::Path,
    time::{Duration, SystemTime},
};

use tempfile::NamedTempFile;

/// What the names of our files begin and end with, and how many letters and digits stand between (those of `tempfile`).
const PREFIX: &str = ".askls-";
const SUFFIX: &str = ".tmp";
const RANDOM_LENGTH: usize = 6;

/// Who misses a text after a crash looks for it sooner.
const MIN_AGE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Entries of a folder that are looked at: reading a larger one would hold up the edit.
const MAX_ENTRIES: usize = 10_000;

/// In the folder of its file, because a rename does not cross file systems.
pub(super) fn temporary(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX);
    #[cfg(unix)]
    {
        // As any program makes a new file; the user's mask takes away what it takes away.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

/// Removes the old leftovers of a folder. What cannot be removed stays.
pub(super) fn sweep(folder: &Path, now: SystemTime) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.take(MAX_ENTRIES).flatten() {
        let is_ours = entry.file_name().to_str().is_some_and(is_our_name);
        // Of the entry itself, not of what a link leads to.
        let is_old = || entry.metadata().is_ok_and(|metadata| metadata.is_file() && is_old(&metadata, now));
        if is_ours && is_old() {
            match fs::remove_file(entry.path()) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    tracing::warn!(%error, "a file of a run that was killed stays");
                }
                _ => {}
            }
        }
    }
}

fn is_our_name(name: &str) -> bool {
    let middle = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX));
    middle.is_some_and(|middle| {
        middle.len() == RANDOM_LENGTH && middle.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// A file that was put aside has kept the time of its text; when it was put aside, only some systems say.
#[cfg_attr(not(unix), expect(unused_variables, reason = "nobody says when the file got its name"))]
fn is_old(metadata: &fs::Metadata, now: SystemTime) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let named = Duration::from_secs(u64::try_from(metadata.ctime()).unwrap_or_default());
        let named = SystemTime::UNIX_EPOCH.checked_add(named);
        named.and_then(|named| now.duration_since(named).ok()).is_some_and(|age| age > MIN_AGE)
    }
    #[cfg(not(unix))]
    {
        false
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn check(age: Duration, left: &[&str]) {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str| fs::write(folder.path().join(name), name).unwrap();
        write("target.txt");
        for name in [".askls-aB3xYz.tmp", ".askls-notes.tmp", "askls-aB3xYz.tmp", ".askls-aB3xYz.tmp.txt"] {
            write(name);
        }
        std::os::unix::fs::symlink("target.txt", folder.path().join(".askls-linked.tmp")).unwrap();
        fs::create_dir(folder.path().join(".askls-folder.tmp")).unwrap();

        sweep(folder.path(), SystemTime::now() + age);

        let entries = fs::read_dir(folder.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        assert_eq!(names, left);
    }

    #[test]
    fn only_what_is_old_and_ours_and_a_file_goes() {
        check(
            MIN_AGE * 2,
            &[
                ".askls-aB3xYz.tmp.txt",
                ".askls-folder.tmp",
                ".askls-linked.tmp",
                ".askls-notes.tmp",
                "askls-aB3xYz.tmp",
                "target.txt",
            ],
        );
    }

    #[test]
    fn what_a_run_of_today_has_put_aside_stays() {
        check(
            Duration::from_secs(24 * 60 * 60),
            &[
                ".askls-aB3xYz.tmp",
                ".askls-aB3xYz.tmp.txt",
                ".askls-folder.tmp",
                ".askls-linked.tmp",
                ".askls-notes.tmp",
                "askls-aB3xYz.tmp",
                "target.txt",
            ],
        );
    }
}
