//! Names below a folder, reached without following a link. A command may have put links where folders stood; what askls does
//! then, outside the sandbox, must not be led by them to what is not the command's.

use std::{
    ffi::{OsStr, OsString},
    io,
    os::fd::OwnedFd,
    path::{Component, Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, Dir, FileType, Mode, OFlags, RenameFlags},
    io::Errno,
};

/// What stands behind the name of what was put aside.
const ASIDE: &str = ".from-sandbox";

/// Files put aside under one name that are kept apart; nobody has so many.
const MOST_ASIDE: u32 = 100;

/// Bytes of a file that only says where another one is: the longest path, and some.
const MAX_POINTER_BYTES: u64 = 5_000;

/// What stands at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Folder,
    File,
    Link,
    Other,
}

/// What stands at a path below a folder, as far as folders lead to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Nothing,
    There(Kind),
    /// A link in the place of a folder on the way.
    LinkAt(PathBuf),
}

impl From<FileType> for Kind {
    fn from(kind: FileType) -> Self {
        match kind {
            FileType::Directory => Self::Folder,
            FileType::RegularFile => Self::File,
            FileType::Symlink => Self::Link,
            _ => Self::Other,
        }
    }
}

/// Opens the folder at `path`, which lies in `root` or is it.
///
/// # Errors
/// `ENOTDIR` or `ELOOP` where something else stands on the way, and where `path` lies elsewhere.
pub(super) fn open(root: &Path, path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let mut folder = rustix::fs::open(root, flags, Mode::empty())?;
    let below = path.strip_prefix(root).map_err(|_| io::Error::from(Errno::XDEV))?;
    for part in below.components() {
        let Component::Normal(name) = part else { return Err(Errno::XDEV.into()) };
        folder = rustix::fs::openat(&folder, name, flags | OFlags::NOFOLLOW, Mode::empty())?;
    }
    Ok(folder)
}

/// What stands at `path` in `root`.
pub(super) fn look(root: &Path, path: &Path) -> Found {
    let Ok(below) = path.strip_prefix(root) else { return Found::Nothing };
    let mut at = root.to_owned();
    let mut parts = below.components().peekable();
    while let Some(part) = parts.next() {
        let kind = open(root, &at).ok().and_then(|folder| kind_in(&folder, part.as_os_str()));
        at.push(part);
        match (kind, parts.peek().is_some()) {
            (None, _) => return Found::Nothing,
            (Some(kind), false) => return Found::There(kind),
            (Some(Kind::Folder), true) => {}
            (Some(Kind::Link), true) => return Found::LinkAt(at),
            (Some(_), true) => return Found::Nothing,
        }
    }
    Found::There(Kind::Folder)
}

fn kind_in(folder: &OwnedFd, name: &OsStr) -> Option<Kind> {
    let there = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(FileType::from_raw_mode(there.st_mode).into())
}

/// The entries right in a folder.
///
/// # Errors
/// As [`open`].
pub(super) fn list(root: &Path, path: &Path) -> io::Result<Vec<(OsString, Kind)>> {
    use std::os::unix::ffi::OsStrExt as _;

    let folder = open(root, path)?;
    let mut entries = Vec::new();
    for entry in Dir::read_from(&folder)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => kind_in(&folder, name),
            kind => Some(kind.into()),
        };
        entries.extend(kind.map(|kind| (name.to_owned(), kind)));
    }
    Ok(entries)
}

/// The text of a small file in `root`; `None` for anything else.
pub(super) fn read(root: &Path, path: &Path, most: u64) -> Option<String> {
    use std::io::Read as _;

    let folder = open(root, path.parent()?).ok()?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOFOLLOW;
    let name = path.file_name()?;
    // To open a device may do something.
    (kind_in(&folder, name)? == Kind::File).then_some(())?;
    let file = std::fs::File::from(rustix::fs::openat(&folder, name, flags, Mode::empty()).ok()?);
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= most).then(|| String::from_utf8_lossy(&bytes).into_owned())
}

/// The first line of a small file in `root`.
pub(super) fn first_line(root: &Path, path: &Path) -> Option<String> {
    read(root, path, MAX_POINTER_BYTES)?.lines().next().map(|line| line.trim_end().to_owned())
}

/// Gives what stands at `path` in `root` another name beside it, and says which.
///
/// # Errors
/// As [`open`] for the folder that it lies in, and whatever keeps a name from being given.
pub(super) fn put_aside(root: &Path, path: &Path) -> io::Result<PathBuf> {
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(Errno::INVAL.into());
    };
    let folder = open(root, above)?;
    for number in 1..MOST_ASIDE {
        let mut aside = name.to_owned();
        aside.push(ASIDE);
        if number > 1 {
            aside.push(format!("-{number}"));
        }
        if kind_in(&folder, &aside).is_some() {
            continue;
        }
        let renamed = rustix::fs::renameat_with(&folder, name, &folder, &aside, RenameFlags::NOREPLACE);
        match renamed {
            Ok(()) => return Ok(path.with_file_name(aside)),
            Err(Errno::EXIST) => {}
            // Not every file system can do that; the name was free just now.
            Err(Errno::INVAL | Errno::NOSYS) => {
                rustix::fs::renameat(&folder, name, &folder, &aside)?;
                return Ok(path.with_file_name(aside));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::Error::other("too much is aside already"))
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    /// A folder of the command's, and one beside it that is not.
    fn folders() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let (root, other) = (dir.path().join("root"), dir.path().join("other"));
        fs::create_dir_all(root.join("a")).unwrap();
        fs::create_dir(&other).unwrap();
        fs::write(other.join("config.toml"), "theirs").unwrap();
        (dir, root, other)
    }

    #[test]
    fn nothing_is_put_aside_behind_a_link() {
        let (_dir, root, other) = folders();
        symlink(&other, root.join("a/link")).unwrap();
        let path = root.join("a/link/config.toml");
        assert_eq!(look(&root, &path), Found::LinkAt(root.join("a/link")));
        assert!(put_aside(&root, &path).is_err());
        assert!(put_aside(&root, &root.join("../other/config.toml")).is_err());
        assert!(put_aside(&root, &other.join("config.toml")).is_err());
        assert_eq!(read(&root, &path, 100), None);
        assert_eq!(fs::read_to_string(other.join("config.toml")).unwrap(), "theirs");
        // The link is the command's, and goes.
        assert_eq!(put_aside(&root, &root.join("a/link")).unwrap(), root.join("a/link.from-sandbox"));
        assert_eq!(look(&root, &path), Found::Nothing);
    }

    #[test]
    fn what_is_aside_stays_when_more_comes() {
        let (_dir, root, _) = folders();
        for (text, aside) in [("one", "x.from-sandbox"), ("two", "x.from-sandbox-2")] {
            fs::write(root.join("a/x"), text).unwrap();
            assert_eq!(put_aside(&root, &root.join("a/x")).unwrap(), root.join("a").join(aside));
            assert_eq!(fs::read_to_string(root.join("a").join(aside)).unwrap(), text);
        }
    }
}
