//! One writer of a project's files at a time: who applies or takes back edits on the disk holds the lock of its journal.
//!
//! The system frees the lock with the process that holds it, however that ends, so none can stay behind. Where a file
//! system has no locks, or the journal cannot be written, there is none: edits are then held against the files as before.

use std::{
    fs::File,
    io,
    path::Path,
    time::{Duration, Instant},
};

/// How long somebody waits for others: a commit of thousands of files takes seconds. An editor whose user is asked first
/// may take longer.
const PATIENCE: Duration = Duration::from_secs(10);

/// How soon it is tried again.
const TRY_AGAIN: Duration = Duration::from_millis(20);

/// The lock, until this is dropped.
#[derive(Debug)]
#[must_use = "the lock goes with this"]
pub struct Held {
    _file: Option<File>,
    /// Whether somebody else held it first.
    pub(super) has_waited: bool,
}

/// Somebody else is at work for too long.
#[derive(Debug, thiserror::Error)]
#[error("another askls is applying or undoing edits in this project; try again when it has finished")]
pub struct Busy;

/// Blocks until nobody else holds the lock of this file, but not for long.
pub(in crate::workspace) fn lock(path: &Path) -> Result<Held, Busy> {
    lock_within(path, PATIENCE)
}

fn lock_within(path: &Path, patience: Duration) -> Result<Held, Busy> {
    let deadline = Instant::now() + patience;
    let mut has_waited = false;
    loop {
        match try_lock(path) {
            Ok(Some(file)) => return Ok(Held { _file: Some(file), has_waited }),
            Ok(None) if Instant::now() >= deadline => return Err(Busy),
            Ok(None) => {
                has_waited = true;
                std::thread::sleep(TRY_AGAIN);
            }
            Err(error) => {
                // Whether that is a fault shows when something is to be kept there, and is told then.
                tracing::info!(%error, "files are written without a lock");
                return Ok(Held { _file: None, has_waited });
            }
        }
    }
}

/// `None` while somebody else holds it.
#[cfg(unix)]
fn try_lock(path: &Path) -> io::Result<Option<File>> {
    use std::os::unix::fs::OpenOptionsExt as _;

    use rustix::{fs::FlockOperation, io::Errno};

    /// Its owner's alone, as all of the journal.
    const MODE: u32 = 0o600;

    let file = File::options().create(true).truncate(false).write(true).mode(MODE).open(path)?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// `None` while somebody else holds it: a file that nobody may open besides.
#[cfg(windows)]
fn try_lock(path: &Path) -> io::Result<Option<File>> {
    use std::os::windows::fs::OpenOptionsExt as _;

    /// ERROR_SHARING_VIOLATION
    const IN_USE: i32 = 32;

    match File::options().create(true).truncate(false).write(true).share_mode(0).open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.raw_os_error() == Some(IN_USE) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_is_had_by_one_and_by_the_next_once_it_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let held = lock_within(&path, Duration::ZERO).unwrap();
        let busy = lock_within(&path, Duration::ZERO).unwrap_err();
        assert_eq!(
            busy.to_string(),
            "another askls is applying or undoing edits in this project; try again when it has finished"
        );
        drop(held);
        assert!(!lock_within(&path, Duration::ZERO).unwrap().has_waited);
    }

    #[test]
    fn who_waits_gets_it_when_the_other_has_finished() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let held = lock_within(&path, Duration::ZERO).unwrap();
        let other = std::thread::spawn({
            let path = path.clone();
            move || lock_within(&path, PATIENCE).map(|held| held.has_waited)
        });
        drop(held);
        assert!(other.join().unwrap().is_ok());
    }

    #[test]
    fn a_journal_that_cannot_be_written_stops_nobody() {
        let folder = tempfile::tempdir().unwrap();
        assert!(lock_within(&folder.path().join("none/lock"), Duration::ZERO).is_ok());
    }
}
