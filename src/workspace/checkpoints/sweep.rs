//! What does not stay: checkpoints that are old, and the oldest of more than is kept. Swept whenever a journal is opened.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::Path,
    time::{Duration, SystemTime},
};

use super::{
    blob::BlobId,
    record::Record,
    store::{self, Read, Store, Stored, UNFINISHED},
};

/// What was not undone in a month will not be; texts of a project should not lie around for ever.
pub(super) const MAX_AGE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Bytes that one workspace's journal may take: a hundred turns that rewrite the largest file that may be edited.
pub(super) const MAX_BYTES: u64 = 400_000_000;

/// How old a text without a record must be before it goes: the process that has written it is about to write its record,
/// and takes seconds for it.
const GRACE: Duration = Duration::from_secs(60 * 60);

/// Sweeps this workspace's journal, and those of others where something has grown too old: their projects may never be
/// opened again. What cannot be swept is left for the next time. Gives what of this workspace's could not be read.
pub(super) fn sweep_all(folder: &Path, own: &Store, now: SystemTime) -> Vec<String> {
    let problems = swept(own, now);
    let Ok(entries) = fs::read_dir(folder) else { return problems };
    for entry in entries.flatten().filter(|entry| entry.path() != own.folder()) {
        let other = Store::at(entry.path());
        let is_old = other.record_files().is_ok_and(|files| files.iter().any(|file| is_too_old(file, now)));
        if is_old {
            for problem in swept(&other, now) {
                tracing::warn!(problem, "checkpoints of another workspace");
            }
            // Those that are empty go, which fails for the others.
            for empty in [other.records_folder(), other.blobs_folder(), other.damaged_folder()] {
                let _ = fs::remove_dir(empty);
            }
            if other.record_files().is_ok_and(|files| files.is_empty()) {
                let _ = fs::remove_file(other.lock_file());
            }
            let _ = fs::remove_dir(other.folder());
        }
    }
    problems
}

fn swept(store: &Store, now: SystemTime) -> Vec<String> {
    sweep(store, now, MAX_BYTES).unwrap_or_else(|error| {
        tracing::warn!(%error, folder = %store.folder().display(), "old checkpoints are not removed");
        Vec::new()
    })
}

/// Removes what is too old and, beyond `most` bytes, the oldest; the newest record stays whatever its size.
/// Gives what could not be read.
pub(super) fn sweep(store: &Store, now: SystemTime, most: u64) -> io::Result<Vec<String>> {
    // Listed before the records that may name them: a text that is not listed is newer, and is left alone.
    let blobs = store::stored(&store.blobs_folder())?;
    let lengths: BTreeMap<_, _> = blobs.iter().map(|blob| (blob.name.as_str(), blob.length)).collect();
    let Read { records, problems } = store.records()?;
    let read: BTreeMap<_, _> = records.into_iter().collect();
    let files = store.record_files()?;
    // Records that cannot be read, or were written just now, name texts that nobody knows here.
    let is_known = files.iter().all(|file| read.contains_key(file.id()));
    let mut named: BTreeSet<&str> = BTreeSet::new();
    let (mut bytes, mut is_full) = (0, false);
    for (index, file) in files.iter().rev().enumerate() {
        let blobs = read.get(file.id()).into_iter().flat_map(Record::blobs).map(BlobId::as_str);
        let new: BTreeSet<_> = blobs.filter(|blob| !named.contains(blob)).collect();
        bytes += file.length + new.iter().filter_map(|blob| lengths.get(blob)).sum::<u64>();
        // All that are older than the first that goes are gone as well.
        is_full |= index > 0 && bytes > most;
        if is_full || is_too_old(file, now) {
            remove(&file.path)?;
        } else {
            named.extend(new);
        }
    }
    for blob in blobs.iter().filter(|blob| is_known && !named.contains(blob.name.as_str())) {
        remove_if_older(&blob.path, GRACE, now)?;
    }
    for file in store::stored(&store.records_folder())? {
        if file.name.starts_with(UNFINISHED) {
            remove_if_older(&file.path, GRACE, now)?;
        }
    }
    for file in store::stored(&store.damaged_folder())? {
        remove_if_older(&file.path, MAX_AGE, now)?;
    }
    Ok(problems)
}

fn is_too_old(file: &Stored, now: SystemTime) -> bool {
    store::stamp(&file.name).is_some_and(|stamp| store::age(stamp, now) > MAX_AGE)
}

/// Looks just before it removes: another process may count the file as new again.
fn remove_if_older(path: &Path, age: Duration, now: SystemTime) -> io::Result<()> {
    let modified = match fs::metadata(path).and_then(|metadata| metadata.modified()) {
        Ok(modified) => modified,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if now.duration_since(modified).is_ok_and(|since| since > age) { remove(path) } else { Ok(()) }
}

/// Another process may sweep as well.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
