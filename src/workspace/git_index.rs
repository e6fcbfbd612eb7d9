//! The names of the files that git tracks, read from its index.

use std::{
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use super::{bounded, secrets};

/// Bytes of the longest index that is looked through: that of some hundred thousand files.
const MAX_INDEX_BYTES: u64 = 32 << 20;

/// Bytes before the first entry: a mark, a version, a count.
const HEADER: usize = 12;

/// Bytes of an entry before its flags: times, place on the disk, mode, owner, size and the name of a SHA-1 object.
const BEFORE_FLAGS: usize = 60;

/// Where in an entry stand the time of the last change (seconds, then nanoseconds), the mode and the size.
const CHANGED: usize = 8;
const MODE: usize = 24;
const SIZE: usize = 36;

/// Bytes of the sum at the end.
const SUM: usize = 20;

/// The flag of an entry that has two more bytes of flags.
const EXTENDED: u16 = 0x4000;

/// The bits that hold the length of a name, and the length from which on they are all set.
const LENGTH: u16 = 0x0fff;

/// Whether git in this folder tracks a file of keys or passwords, or one that may have been it: `true` too when that cannot be told,
/// `false` where there is no repository.
pub fn may_show_secrets(folder: &Path) -> bool {
    let Some((top, repository)) = folder
        .ancestors()
        .map(|folder| (folder, folder.join(".git")))
        .find(|(_, repository)| repository.symlink_metadata().is_ok())
    else {
        return false;
    };
    let index = repository.join("index");
    if index.symlink_metadata().is_err() {
        return false;
    }
    let bytes = bounded::read(&index, MAX_INDEX_BYTES).ok();
    match bytes.as_deref().and_then(entries) {
        Some(entries) => entries.iter().any(|entry| entry.may_show_secret(top)),
        None => true,
    }
}

/// Where the repository in this folder has others inside its working tree, relative to that: what its index says of it, as far as
/// that is read here.
pub(crate) fn links(repository: &Path) -> Vec<PathBuf> {
    let bytes = bounded::read(&repository.join("index"), MAX_INDEX_BYTES).ok();
    let entries = bytes.as_deref().and_then(entries).unwrap_or_default();
    entries.into_iter().filter(|entry| entry.mode == GITLINK).map(|entry| entry.name).collect()
}

/// The mode of an entry that is a repository of its own.
const GITLINK: u32 = 0o160_000;

/// One file that git tracks, as the index has it.
#[derive(Debug)]
struct Entry {
    name: PathBuf,
    mode: u32,
    /// When the file changed last, in seconds and nanoseconds, and its bytes, as far as 32 bits hold them.
    stamp: (u32, u32, u32),
}

impl Entry {
    /// Whether a difference from what git keeps may show a secret. A file whose content is none now shows none while that is what git
    /// keeps, too.
    fn may_show_secret(&self, top: &Path) -> bool {
        let path = top.join(&self.name);
        secrets::may_be_secret(&path) && (secrets::is_secret(&path) || !self.is_as_kept(&path))
    }

    /// Whether the file is as git has seen it last. One that is gone is not.
    fn is_as_kept(&self, path: &Path) -> bool {
        let Ok(file) = path.symlink_metadata() else { return false };
        let changed = file.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        // An index holds 32 bits of each.
        let low = |number: u64| u32::try_from(number & u64::from(u32::MAX)).unwrap_or_default();
        let (seconds, nanoseconds, bytes) = self.stamp;
        changed.is_some_and(|changed| {
            low(changed.as_secs()) == seconds
                && (nanoseconds == 0 || nanoseconds == changed.subsec_nanos())
                && low(file.len()) == bytes
        })
    }
}

/// `None` for what is not read here: version 4, an index in parts, other objects than those of SHA-1.
fn entries(bytes: &[u8]) -> Option<Vec<Entry>> {
    let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let is_known = bytes.get(..4)? == b"DIRC" && matches!(number(4)?, 2 | 3);
    let count = is_known.then_some(number(8)?)?;
    let mut entries = Vec::new();
    let mut at = HEADER;
    for _ in 0..count {
        let entry = bytes.get(at..)?;
        let flags = u16::from_be_bytes(entry.get(BEFORE_FLAGS..BEFORE_FLAGS + 2)?.try_into().ok()?);
        let start = BEFORE_FLAGS + 2 + if flags & EXTENDED == 0 { 0 } else { 2 };
        let length = memchr::memchr(0, entry.get(start..)?)?;
        // Other sizes of objects would put the flags elsewhere.
        let said = usize::from(flags & LENGTH);
        (length > 0 && (said == length || said == usize::from(LENGTH) && length > said)).then_some(())?;
        let field = |offset: usize| number(at + offset);
        entries.push(Entry {
            name: PathBuf::from(std::str::from_utf8(entry.get(start..start + length)?).ok()?),
            mode: field(MODE)?,
            stamp: (field(CHANGED)?, field(CHANGED + 4)?, field(SIZE)?),
        });
        // Filled up with at least one NUL to whole eights.
        at += (start + length + 8) / 8 * 8;
    }
    // Behind the entries come parts with a mark and a length, then a sum.
    while bytes.len().checked_sub(at)? > SUM {
        // The names of an index in parts stand elsewhere.
        (bytes.get(at..at + 4)? != b"link").then_some(())?;
        at = at.checked_add(8)?.checked_add(usize::try_from(number(at + 4)?).ok()?)?;
    }
    (bytes.len() == at + SUM).then_some(entries)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// An index as git writes it.
    fn index(version: u32, names: &[&str]) -> Vec<u8> {
        let entries: Vec<_> = names.iter().map(|name| (*name, [0; BEFORE_FLAGS])).collect();
        index_of(version, &entries)
    }

    fn index_of(version: u32, names: &[(&str, [u8; BEFORE_FLAGS])]) -> Vec<u8> {
        let mut bytes = b"DIRC".to_vec();
        bytes.extend(version.to_be_bytes());
        bytes.extend(u32::try_from(names.len()).unwrap().to_be_bytes());
        for (name, fields) in names {
            let start = bytes.len();
            bytes.extend(fields);
            bytes.extend(u16::try_from(name.len()).unwrap().to_be_bytes());
            bytes.extend(name.as_bytes());
            bytes.push(0);
            while !(bytes.len() - start).is_multiple_of(8) {
                bytes.push(0);
            }
        }
        bytes.extend([0; 20]);
        bytes
    }

    /// What an index says of a file as it is.
    fn seen(path: &Path) -> [u8; BEFORE_FLAGS] {
        let file = path.metadata().unwrap();
        let changed = file.modified().unwrap().duration_since(UNIX_EPOCH).unwrap();
        let mut fields = [0; BEFORE_FLAGS];
        fields[CHANGED..CHANGED + 4]
            .copy_from_slice(&u32::try_from(changed.as_secs()).unwrap().to_be_bytes());
        fields[CHANGED + 4..CHANGED + 8].copy_from_slice(&changed.subsec_nanos().to_be_bytes());
        fields[SIZE..SIZE + 4].copy_from_slice(&u32::try_from(file.len()).unwrap().to_be_bytes());
        fields
    }

    #[test]
    fn a_file_that_only_may_be_secret_shows_nothing_while_git_keeps_what_it_says() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join(".git")).unwrap();
        let (npmrc, index) = (dir.path().join(".npmrc"), dir.path().join(".git/index"));
        fs::write(&npmrc, "save-exact=true\n").unwrap();
        fs::write(&index, index_of(2, &[(".npmrc", seen(&npmrc))])).unwrap();
        assert!(!may_show_secrets(dir.path()));
        // What was there before may come out of a difference.
        fs::write(&npmrc, "save-exact=false\n").unwrap();
        assert!(may_show_secrets(dir.path()));
        fs::remove_file(&npmrc).unwrap();
        assert!(may_show_secrets(dir.path()));
        fs::write(&npmrc, "password=hunter2\n").unwrap();
        fs::write(&index, index_of(2, &[(".npmrc", seen(&npmrc))])).unwrap();
        assert!(may_show_secrets(dir.path()));
    }

    #[test]
    fn repositories_inside_another_are_read_from_its_index() {
        let dir = tempfile::tempdir().unwrap();
        let mut link = [0; BEFORE_FLAGS];
        link[MODE..MODE + 4].copy_from_slice(&GITLINK.to_be_bytes());
        let names = [("a.txt", [0; BEFORE_FLAGS]), ("node_modules/x", link)];
        fs::write(dir.path().join("index"), index_of(2, &names)).unwrap();
        assert_eq!(links(dir.path()), [PathBuf::from("node_modules/x")]);
    }

    #[test]
    fn tracked_secrets_are_found_and_what_cannot_be_read_may_hold_some() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join(".git")).unwrap();
        fs::create_dir_all(dir.path().join("src")).unwrap();
        let may_show = |bytes: &[u8]| {
            fs::write(dir.path().join(".git/index"), bytes).unwrap();
            may_show_secrets(&dir.path().join("src"))
        };
        assert!(!may_show(&index(2, &[])));
        assert!(!may_show(&index(2, &["a.txt", "src/main.rs", "src/long/name.rs"])));
        assert!(may_show(&index(2, &["a.txt", "web/.env", "z"])));
        assert!(may_show(&index(4, &["a.txt"])));
        assert!(may_show(b"DIRC"));
        // Bytes that lie elsewhere are not taken for names.
        let mut longer = index(2, &["a.txt"]);
        longer.splice(HEADER..HEADER, [0; 12]);
        assert!(may_show(&longer));
    }
}
