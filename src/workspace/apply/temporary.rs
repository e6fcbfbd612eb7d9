//! The files `.askls-….tmp~` in which texts lie until they are in their place. Those of runs that were killed are swept from
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

/// What the names of our files begin and end with. Between stand random digits and a checksum of them, so that no name
/// that a person gives is one of ours.
const PREFIX: &str = ".askls-";
const SUFFIX: &str = ".tmp~";

/// Bytes of the checksum that a name has, in two hexadecimal digits each.
const CHECKSUM_BYTES: usize = 6;

/// Who misses a text after a crash looks for it sooner.
const MIN_AGE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Entries of a folder that are looked at: reading a larger one would hold up the edit.
const MAX_ENTRIES: usize = 10_000;

/// In the folder of its file, because a rename does not cross file systems.
pub(super) fn temporary(folder: &Path) -> io::Result<NamedTempFile> {
    let name = our_name(&format!("{:016x}", rand::random::<u64>()));
    let mut builder = tempfile::Builder::new();
    builder.prefix(&name).rand_bytes(0);
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

fn our_name(random: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, format!("askls {random}").as_bytes());
    let checksum: String =
        digest.as_ref().iter().take(CHECKSUM_BYTES).map(|byte| format!("{byte:02x}")).collect();
    format!("{PREFIX}{random}-{checksum}{SUFFIX}")
}

fn is_our_name(name: &str) -> bool {
    let random = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
    random.is_some_and(|random| name == our_name(random))
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

    fn check(age: Duration, is_left: bool) {
        let folder = tempfile::tempdir().unwrap();
        let ours = our_name("0123456789abcdef");
        let others = [
            ".askls-0123456789abcdef-0123456789ab.tmp~",
            ".askls-backup.tmp",
            ".askls-backup.tmp~",
            ".askls-notes-2024.tmp~",
            "target.txt",
        ];
        for name in others.into_iter().chain([ours.as_str()]) {
            fs::write(folder.path().join(name), name).unwrap();
        }
        let (linked, made) = (our_name("linked"), our_name("folder"));
        std::os::unix::fs::symlink("target.txt", folder.path().join(&linked)).unwrap();
        fs::create_dir(folder.path().join(&made)).unwrap();

        sweep(folder.path(), SystemTime::now() + age);

        let mut left: Vec<&str> = others.into_iter().chain([linked.as_str(), made.as_str()]).collect();
        if is_left {
            left.push(&ours);
        }
        left.sort_unstable();
        let entries = fs::read_dir(folder.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        assert_eq!(names, left);
    }

    #[test]
    fn only_what_is_old_and_ours_and_a_file_goes() {
        check(MIN_AGE * 2, false);
    }

    #[test]
    fn what_a_run_of_today_has_put_aside_stays() {
        check(Duration::from_secs(24 * 60 * 60), true);
    }

    #[test]
    fn a_new_file_has_a_name_of_ours() {
        let folder = tempfile::tempdir().unwrap();
        let file = temporary(folder.path()).unwrap();
        assert!(is_our_name(file.path().file_name().unwrap().to_str().unwrap()));
    }
}
