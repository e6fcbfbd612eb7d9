//! The mounts that this process sees, made so that only what a plan names can be changed: its names, texts, modes, owners and
//! times.

use std::{
    ffi::OsString,
    fs,
    os::unix::ffi::OsStringExt as _,
    path::{Path, PathBuf},
};

use rustix::{fs::StatVfsMountFlags, io::Errno, mount::MountFlags};

/// Where this process finds its mounts.
const MOUNTS: &str = "/proc/self/mountinfo";

/// What the kernel shows of itself, and the terminals that are the command's own: there, modes and owners are nobody's files'.
const LEFT_ALONE: [&str; 3] = ["/proc", "/dev/pts", "/dev/ptmx"];

/// Kinds of file systems that lie elsewhere. One that does not answer would hold every command, so they are only looked at where
/// the workspace lies in them.
const ELSEWHERE: [&[u8]; 8] = [b"nfs", b"nfs4", b"cifs", b"smb3", b"9p", b"ceph", b"afs", b"autofs"];

/// One mount, as far as it matters here.
#[derive(Debug, PartialEq, Eq)]
struct Mounted {
    path: PathBuf,
    is_elsewhere: bool,
}

/// Lets nothing be changed on any mount but those of `writable`, which become mounts of their own.
pub(super) fn hold_all_but(writable: &[PathBuf]) -> Result<(), String> {
    let failed = |path: &Path, error: Errno| format!("{}: {error}", path.display());
    let is_within = |path: &Path, folder: &PathBuf| path.starts_with(folder);
    let own = writable.iter().filter(|path| {
        // A rename between two mounts is a copy, so there are no more of them than needed.
        !writable.iter().any(|folder| folder != *path && is_within(path, folder))
    });
    for path in own {
        there(rustix::mount::mount_bind_recursive(path, path)).map_err(|error| failed(path, error))?;
    }
    let listed = fs::read(MOUNTS).map_err(|error| format!("{MOUNTS}: {error}"))?;
    for Mounted { path, is_elsewhere } in listed.split(|byte| *byte == b'\n').filter_map(Mounted::parse) {
        let is_writable = writable.iter().any(|folder| is_within(&path, folder));
        let is_left_alone = LEFT_ALONE.iter().any(|left| path.starts_with(left));
        let is_far = is_elsewhere && !writable.iter().any(|folder| folder.starts_with(&path));
        if is_writable || is_left_alone || is_far {
            continue;
        }
        match remount(&path, MountFlags::RDONLY) {
            // What cannot be reached by its path, or lies behind another mount, the command does not reach either.
            Ok(()) | Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::INVAL) => {}
            Err(error) => return Err(failed(&path, error)),
        }
    }
    Ok(())
}

impl Mounted {
    /// A line of the kernel's list: the place is its fifth field, and the kind stands behind a dash of its own.
    fn parse(line: &[u8]) -> Option<Self> {
        let mut fields = line.split(|byte| *byte == b' ');
        let path = PathBuf::from(OsString::from_vec(unescaped(fields.nth(4)?)));
        let kind = fields.skip_while(|field| *field != b"-").nth(1)?;
        Some(Self { path, is_elsewhere: ELSEWHERE.contains(&kind) })
    }
}

/// Blanks and the like stand there as `\` and three octal digits.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut whole = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, after @ ..] = rest {
        let code = after.get(..3).filter(|_| *first == b'\\').and_then(|digits| {
            let digits = std::str::from_utf8(digits).ok()?;
            u8::from_str_radix(digits, 8).ok()
        });
        whole.push(code.unwrap_or(*first));
        rest = if code.is_some() { after.get(3..).unwrap_or_default() } else { after };
    }
    whole
}

/// What is gone by now needs no wall, nor does what lies behind one.
pub(super) fn there(result: Result<(), Errno>) -> Result<(), Errno> {
    match result {
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(()),
        result => result,
    }
}

/// Adds to the options of a mount; none of those that it has may be left out.
pub(super) fn remount(path: &Path, add: MountFlags) -> Result<(), Errno> {
    let has = rustix::fs::statvfs(path)?.f_flag;
    let flags = [
        (StatVfsMountFlags::RDONLY, MountFlags::RDONLY),
        (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
        (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
    ];
    let kept = flags
        .into_iter()
        .filter(|(flag, _)| has.contains(*flag))
        .fold(MountFlags::BIND | add, |all, (_, flag)| all | flag);
    rustix::mount::mount_remount(path, kept, c"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_is_found_whatever_its_path_is_called() {
        let line = br"36 35 98:0 /mnt1 /a\040b\134\c rw,noatime master:1 - ext3 /dev/root rw,errors=continue";
        let mounted = Mounted { path: r"/a b\\c".into(), is_elsewhere: false };
        assert_eq!(Mounted::parse(line), Some(mounted));
        let line = b"40 35 0:50 / /mnt/far rw - nfs4 far:/ rw";
        assert_eq!(Mounted::parse(line), Some(Mounted { path: "/mnt/far".into(), is_elsewhere: true }));
        assert_eq!(Mounted::parse(b"40 35 0:50 /"), None);
    }
}
