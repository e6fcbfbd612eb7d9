//! The names of the files that git tracks, read from its index.

use std::path::{Path, PathBuf};

use super::{bounded, guard};

/// Bytes of the longest index that is looked through: that of some hundred thousand files.
const MAX_INDEX_BYTES: u64 = 32 << 20;

/// Bytes before the first entry: a mark, a version, a count.
const HEADER: usize = 12;

/// Bytes of an entry before its flags: times, place on the disk, mode, owner, size and the name of a SHA-1 object.
const BEFORE_FLAGS: usize = 60;

/// Bytes of the sum at the end.
const SUM: usize = 20;

/// The flag of an entry that has two more bytes of flags.
const EXTENDED: u16 = 0x4000;

/// The bits that hold the length of a name, and the length from which on they are all set.
const LENGTH: u16 = 0x0fff;

/// Whether git in this folder tracks a file of keys or passwords: `true` too when that cannot be told, `false` where there
/// is no repository.
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
    match bytes.as_deref().and_then(names) {
        Some(names) => names.iter().any(|name| guard::is_secret(&top.join(name))),
        None => true,
    }
}

/// `None` for what is not read here: version 4, an index in parts, other objects than those of SHA-1.
fn names(bytes: &[u8]) -> Option<Vec<PathBuf>> {
    let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let is_known = bytes.get(..4)? == b"DIRC" && matches!(number(4)?, 2 | 3);
    let count = is_known.then_some(number(8)?)?;
    let mut names = Vec::new();
    let mut at = HEADER;
    for _ in 0..count {
        let entry = bytes.get(at..)?;
        let flags = u16::from_be_bytes(entry.get(BEFORE_FLAGS..BEFORE_FLAGS + 2)?.try_into().ok()?);
        let start = BEFORE_FLAGS + 2 + if flags & EXTENDED == 0 { 0 } else { 2 };
        let length = memchr::memchr(0, entry.get(start..)?)?;
        // Other sizes of objects would put the flags elsewhere.
        let said = usize::from(flags & LENGTH);
        (length > 0 && (said == length || said == usize::from(LENGTH) && length > said)).then_some(())?;
        names.push(PathBuf::from(std::str::from_utf8(entry.get(start..start + length)?).ok()?));
        // Filled up with at least one NUL to whole eights.
        at += (start + length + 8) / 8 * 8;
    }
    // Behind the entries come parts with a mark and a length, then a sum.
    while bytes.len().checked_sub(at)? > SUM {
        // The names of an index in parts stand elsewhere.
        (bytes.get(at..at + 4)? != b"link").then_some(())?;
        at = at.checked_add(8)?.checked_add(usize::try_from(number(at + 4)?).ok()?)?;
    }
    (bytes.len() == at + SUM).then_some(names)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// An index as git writes it.
    fn index(version: u32, names: &[&str]) -> Vec<u8> {
        let mut bytes = b"DIRC".to_vec();
        bytes.extend(version.to_be_bytes());
        bytes.extend(u32::try_from(names.len()).unwrap().to_be_bytes());
        for name in names {
            let start = bytes.len();
            bytes.extend([0; BEFORE_FLAGS]);
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
