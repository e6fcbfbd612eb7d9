//! Which files hold keys or passwords: nothing of them goes to a model, no agent changes them, and the sandbox hides them.
//!
//! Some names are sure (`secrets/names.rs`). Others only may be those of secrets: a certificate is called like a private
//! key, and `secret.yaml` is a chart's template as often as not. Of these the beginning of the content decides
//! (`secrets/content.rs`), as the disk has it when it is asked about.

mod content;
mod names;

use std::{
    collections::HashMap,
    fs::{self, Metadata},
    io,
    path::{Path, PathBuf},
    sync::{LazyLock, Mutex, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use super::bounded;
use content::Form;
use names::Naming;

/// Bytes at the beginning of a file that decide: many times what a file of keys has.
const LOOKED_AT: u64 = 64 * 1024;

/// Files of which is remembered what their content said. A workspace has some tens of such names; beyond that all is
/// forgotten and looked at again.
const MAX_REMEMBERED: usize = 20_000;

/// A file that changed so short a time ago may change once more without its times showing it.
const TICK: Duration = Duration::from_millis(50);

/// Whether the file holds keys or passwords, by its name or, where that alone does not tell, by its content; one that is
/// there and cannot be read does. Reads the disk.
pub(crate) fn is_secret(path: &Path) -> bool {
    is_secret_by(path, path)
}

/// The same where `named` is as much of the way to the file as is looked at for what its name says.
pub(crate) fn is_secret_by(named: &Path, path: &Path) -> bool {
    match names::of(named) {
        Naming::Plain => false,
        Naming::Secret => true,
        Naming::Perhaps(form) => holds_secret(path, form),
    }
}

/// Whether the file would hold keys or passwords if this were its content.
pub(crate) fn is_secret_with(path: &Path, text: &str) -> bool {
    match names::of(path) {
        Naming::Plain => false,
        Naming::Secret => true,
        // As much as of a file on the disk.
        Naming::Perhaps(form) => {
            let looked_at = usize::try_from(LOOKED_AT).unwrap_or(usize::MAX).min(text.len());
            content::holds_secret(text.as_bytes().get(..looked_at).unwrap_or_default(), form)
        }
    }
}

/// Whether another content than the one on the disk could make the file a secret, or does.
pub(crate) fn may_be_secret(path: &Path) -> bool {
    names::of(path) != Naming::Plain
}

/// The same of the buffer behind a URI that is no file's: a view of a file (`git:/p/.env?ref`), or a text that is to become
/// one (`untitled:/p/.env`), has that file's name as its path.
pub(crate) fn is_secret_buffer(uri: &str) -> bool {
    let Some((_, rest)) = uri.split_once(':') else { return false };
    let path = rest.split(['?', '#']).next().unwrap_or_default();
    may_be_secret(Path::new(&*percent_encoding::percent_decode_str(path).decode_utf8_lossy()))
}

/// What tells a file from others and from itself before a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    bytes: u64,
    changed: Option<Duration>,
    /// Of its device and its place there, and when the system saw it change last, which nobody can set.
    identity: (u64, u64, i64, i64),
}

impl Stamp {
    fn of(file: &Metadata) -> Self {
        let since_1970 = |time: SystemTime| time.duration_since(UNIX_EPOCH).ok();
        let changed = file.modified().ok().and_then(since_1970);
        #[cfg(unix)]
        let identity = {
            use std::os::unix::fs::MetadataExt as _;
            (file.dev(), file.ino(), file.ctime(), file.ctime_nsec())
        };
        #[cfg(not(unix))]
        let identity = (0, 0, 0, 0);
        Self { bytes: file.len(), changed, identity }
    }

    /// Whether it would be another one after any change.
    fn is_settled(&self) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let settled = |then: Duration| then + TICK < now;
        let (_, _, seconds, nanoseconds) = self.identity;
        let seen = Duration::new(
            u64::try_from(seconds).unwrap_or_default(),
            u32::try_from(nanoseconds).unwrap_or_default(),
        );
        settled(seen) && self.changed.is_some_and(settled)
    }
}

/// What was read, so that a look through a workspace before each command reads nothing twice. It says nothing that the disk
/// does not say: to lose it only costs time.
static REMEMBERED: LazyLock<Mutex<HashMap<PathBuf, (Stamp, bool)>>> = LazyLock::new(Mutex::default);

fn holds_secret(path: &Path, form: Form) -> bool {
    let stamp = match fs::metadata(path) {
        Ok(file) if file.is_dir() => return false,
        Ok(file) if file.is_file() => Stamp::of(&file),
        Ok(_) => return true,
        Err(error) => return !is_absence(&error),
    };
    let remembered = || REMEMBERED.lock().unwrap_or_else(PoisonError::into_inner);
    let known = remembered().get(path).copied();
    if let Some((_, is_secret)) = known.filter(|(then, _)| *then == stamp) {
        return is_secret;
    }
    let is_secret = match bounded::read_start(path, LOOKED_AT) {
        Ok(bytes) => content::holds_secret(&bytes, form),
        Err(_) => true,
    };
    if stamp.is_settled() {
        let mut remembered = remembered();
        if remembered.len() >= MAX_REMEMBERED {
            remembered.clear();
        }
        remembered.insert(path.to_owned(), (stamp, is_secret));
    }
    is_secret
}

/// Whether there is no file, and so nothing in it.
fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_secret_in(folder: &Path, name: &str) -> bool {
        is_secret(&folder.join(name))
    }

    // SPEC A9
    #[test]
    fn a_name_that_only_may_be_a_secret_is_one_by_its_content_now() {
        let dir = tempfile::tempdir().unwrap();
        let write = |text: &str| fs::write(dir.path().join(".npmrc"), text).unwrap();
        assert!(!is_secret_in(dir.path(), ".npmrc"));
        for _ in 0..2 {
            write("//registry.npmjs.org/:_authToken=${NPM_TOKEN}\n");
            assert!(!is_secret_in(dir.path(), ".npmrc"));
            // Of the same length.
            write("//registry.npmjs.org/:_authToken=3f2b8c1e7d4a\n");
            assert!(is_secret_in(dir.path(), ".npmrc"));
        }
        fs::create_dir(dir.path().join("x.pem")).unwrap();
        assert!(!is_secret_in(dir.path(), "x.pem"));
        assert!(is_secret_in(dir.path(), ".env"));
    }

    #[test]
    fn what_was_read_once_is_read_again_only_after_a_change() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secret.yaml");
        let hour = Duration::from_secs(3_600);
        fs::write(&path, "replicas: 1\n").unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(SystemTime::now() - hour).unwrap();
        let stamp = Stamp::of(&fs::metadata(&path).unwrap());
        REMEMBERED.lock().unwrap().insert(path.clone(), (stamp, true));
        assert!(is_secret(&path), "it was read though it is known");
        fs::write(&path, "replicas: 12\n").unwrap();
        assert!(!is_secret(&path));
    }

    #[cfg(unix)]
    #[test]
    fn what_cannot_be_read_is_a_secret_and_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("ca.pem");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert!(is_secret(&pipe));
        std::os::unix::fs::symlink("loop.pem", dir.path().join("loop.pem")).unwrap();
        assert!(is_secret_in(dir.path(), "loop.pem"));
    }

    #[test]
    fn a_view_or_an_untitled_copy_of_a_secret_is_one() {
        for uri in [
            "untitled:.env",
            "untitled:/p/%2Eenv",
            "git:/p/.env?%7B%22ref%22%3A%22HEAD%22%7D",
            "git:/p/.npmrc?HEAD",
            "vscode-remote://ssh/p/id_rsa",
            "conflictResolution:/p/.ssh/config#1",
        ] {
            assert!(is_secret_buffer(uri), "{uri}");
        }
        for uri in ["untitled:Untitled-1", "git:/p/src/env.rs?x=.env", "output:askls", "", "untitled:"] {
            assert!(!is_secret_buffer(uri), "{uri}");
        }
    }
}
