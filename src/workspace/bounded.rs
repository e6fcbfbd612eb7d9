//! Reading files that anybody may have put there: only regular ones, never more than a bound, and never waiting for
//! one. What a system calls regular and is none (the files of `/proc`, which have a length of 0 and no end, or wait for
//! news) is bounded in the same way.

use std::{
    fs::{self, File, Metadata, OpenOptions},
    io::{self, Read},
    path::Path,
};

/// Why there are no bytes of a file.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unread {
    #[error("it is a folder")]
    Directory,
    #[error("it is not a file")]
    Special,
    #[error("it is larger than {0} bytes")]
    TooLarge(u64),
    #[error("another file has taken its place")]
    Moved,
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// All bytes of the regular file at `path`, of which there are at most `most`.
///
/// # Errors
/// What else it is, or that it is larger. What `most` allows is read at most.
pub(crate) fn read(path: &Path, most: u64) -> Result<Vec<u8>, Unread> {
    read_all(open_regular(path, most)?, most)
}

/// The same for a path that was found to be free of links, and has to be so still: who puts a link there afterwards must
/// not lead a read elsewhere.
///
/// # Errors
/// As [`read`], and [`Unread::Moved`].
pub(crate) fn read_in_place(path: &Path, most: u64) -> Result<Vec<u8>, Unread> {
    let file = open_regular(path, most)?;
    // After the opening, so that nothing can come between.
    if !is_still_at(path, &file)? {
        return Err(Unread::Moved);
    }
    read_all(file, most)
}

/// The first bytes of the regular file at `path`, at most `most`.
///
/// # Errors
/// What else it is.
pub(crate) fn read_start(path: &Path, most: u64) -> Result<Vec<u8>, Unread> {
    let mut bytes = Vec::new();
    match open_regular(path, u64::MAX)?.take(most).read_to_end(&mut bytes) {
        Ok(_) => Ok(bytes),
        // A file that has nothing yet is a place to wait at.
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(Unread::Special),
        Err(error) => Err(error.into()),
    }
}

fn open_regular(path: &Path, most: u64) -> Result<File, Unread> {
    // Looked at before it is opened: to open a device may do something.
    check(&fs::metadata(path)?, most)?;
    let file = open(path)?;
    // Another one may have taken its place.
    check(&file.metadata()?, most)?;
    Ok(file)
}

fn read_all(file: File, most: u64) -> Result<Vec<u8>, Unread> {
    let length = file.metadata()?.len();
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
    // The length that it tells is no promise: it may grow, or have no end.
    match file.take(most.saturating_add(1)).read_to_end(&mut bytes) {
        Ok(_) if bytes.len() as u64 > most => Err(Unread::TooLarge(most)),
        Ok(_) => Ok(bytes),
        // A file that has nothing yet is a place to wait at.
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(Unread::Special),
        Err(error) => Err(error.into()),
    }
}

fn check(metadata: &Metadata, most: u64) -> Result<(), Unread> {
    match () {
        () if metadata.is_dir() => Err(Unread::Directory),
        () if !metadata.is_file() => Err(Unread::Special),
        () if metadata.len() > most => Err(Unread::TooLarge(most)),
        () => Ok(()),
    }
}

/// Opens for reading, without a wait for what is to be read.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.custom_flags(libc::O_NONBLOCK);
    }
    options.open(path)
}

/// Whether the opened file is the one at the path, with no link on the way.
#[cfg(unix)]
fn is_still_at(path: &Path, file: &File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let (opened, there) = (file.metadata()?, path.symlink_metadata()?);
    let is_same = (opened.dev(), opened.ino()) == (there.dev(), there.ino());
    Ok(is_same && opened.is_file() && super::paths::real(path)? == path)
}

/// Files have no identity there that the standard library tells.
#[cfg(not(unix))]
fn is_still_at(path: &Path, file: &File) -> io::Result<bool> {
    Ok(file.metadata()?.is_file() && !path.symlink_metadata()?.is_symlink())
}

impl From<Unread> for io::Error {
    fn from(unread: Unread) -> Self {
        match unread {
            Unread::Io(error) => error,
            other => Self::other(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(path: impl AsRef<Path>, most: u64, expect: Expect) {
        let told = match read(path.as_ref(), most) {
            Ok(bytes) => format!("{:?}", String::from_utf8_lossy(&bytes)),
            Err(error) => error.to_string(),
        };
        expect.assert_eq(&told);
    }

    #[test]
    fn a_file_is_read_up_to_the_bound_and_not_beyond() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "abcd").unwrap();
        check(file.path(), 4, expect![[r#""abcd""#]]);
        check(file.path(), 3, expect!["it is larger than 3 bytes"]);
        check(file.path(), u64::MAX, expect![[r#""abcd""#]]);
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_file_is_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        check(folder.path(), 9, expect!["it is a folder"]);
        check("/dev/zero", 9, expect!["it is not a file"]);
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        check(&pipe, 9, expect!["it is not a file"]);
        // Nor waited for, were it to come in between.
        assert!(open(&pipe).is_ok());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_without_an_end_that_calls_itself_empty_is_bounded() {
        assert_eq!(fs::metadata("/proc/self/pagemap").unwrap().len(), 0);
        // Too large, or one that cannot be read in pieces of this size: it is not read to its end.
        assert!(read(Path::new("/proc/self/pagemap"), 4096).is_err());
    }
}
