//! Which files a look of git would show, by asking git for their names alone.

use std::{
    io::Read as _,
    path::{Path, PathBuf},
    process::{Child, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use super::environment;

/// Longest that git may take; a longer history counts as one that cannot be looked through.
const MAX_TIME: Duration = Duration::from_secs(2);

/// How often it is looked whether git, which has closed its output, has ended: that takes it no time.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// Bytes of names that are looked through.
const MAX_BYTES: u64 = 4 << 20;

/// So that git runs no program and asks nobody, whatever its settings say.
const QUIETLY: &[&str] = &[
    "--no-pager",
    "--no-optional-locks",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.quotePath=false",
    "-c",
    "diff.relative=false",
    "-c",
    "diff.ignoreSubmodules=all",
    "-c",
    "log.showSignature=false",
    "-c",
    "log.diffMerges=separate",
];

/// The files whose names git prints for these words, as absolute paths; `None` where it does not tell them, or too many. Only
/// for a repository whose own settings name no programs. Blocks for some milliseconds, at most for [`MAX_TIME`].
pub(crate) fn git_names(folder: &Path, words: &[String]) -> Option<Vec<PathBuf>> {
    let top = folder.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok())?;
    // The git that a command would be, found without what in `PATH` depends on the folder.
    let mut command = tokio::process::Command::new("git");
    environment::prepare(&mut command, None);
    let mut command = command.into_std();
    command.args(QUIETLY).args(words).current_dir(folder);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command.env("GIT_NO_LAZY_FETCH", "1").env("GIT_TERMINAL_PROMPT", "0");
    let start = Instant::now();
    let mut child = command.spawn().ok()?;
    let mut output = child.stdout.take()?;
    let (sender, read) = mpsc::channel();
    let reader = thread::Builder::new().name("git names".to_owned()).spawn(move || {
        let mut bytes = Vec::new();
        let is_read = output.by_ref().take(MAX_BYTES + 1).read_to_end(&mut bytes).is_ok();
        // Nobody waits any more when it took too long.
        let _ = sender.send(is_read.then_some(bytes));
    });
    let bytes = match reader {
        Ok(_) => read.recv_timeout(MAX_TIME).ok().flatten(),
        Err(_) => None,
    };
    let bytes = bytes.filter(|bytes| u64::try_from(bytes.len()).is_ok_and(|length| length <= MAX_BYTES));
    let has_told = bytes.is_some() && ends_well(&mut child, start);
    if !has_told {
        // It may have ended meanwhile.
        let _ = child.kill();
        let _ = child.wait();
    }
    let text = String::from_utf8(bytes.filter(|_| has_told)?).ok()?;
    let names = text.split(['\0', '\n']).filter(|name| !name.is_empty());
    Some(names.map(|name| top.join(name)).collect())
}

/// Whether git, which has closed its output, ends in the rest of its time, and well.
fn ends_well(child: &mut Child, start: Instant) -> bool {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) if start.elapsed() < MAX_TIME => thread::sleep(LOOK_AGAIN),
            Ok(None) | Err(_) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn git(folder: &Path, words: &[&str]) {
        let quiet = ["-c", "user.name=a", "-c", "user.email=a@b.example", "-c", "commit.gpgsign=false"];
        let git = Command::new("git").args(quiet).args(words).current_dir(folder).output().unwrap();
        assert!(git.status.success(), "{}", String::from_utf8_lossy(&git.stderr));
    }

    fn names(folder: &Path, words: &[&str]) -> Option<Vec<String>> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let names = git_names(folder, &words)?;
        Some(names.iter().map(|name| name.strip_prefix(folder).unwrap().display().to_string()).collect())
    }

    #[cfg(unix)]
    #[test]
    fn a_git_that_has_closed_its_output_and_runs_on_is_not_waited_for() {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let start = Instant::now().checked_sub(MAX_TIME).unwrap();
        assert!(!ends_well(&mut child, start));
        child.kill().unwrap();
        child.wait().unwrap();
        let mut child = Command::new("true").spawn().unwrap();
        assert!(ends_well(&mut child, Instant::now()));
    }

    #[test]
    fn git_tells_the_names_that_it_would_show() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().canonicalize().unwrap();
        git(&folder, &["init", "-q"]);
        for (name, text) in [("a.txt", "a"), (".env", "K=1")] {
            std::fs::write(folder.join(name), text).unwrap();
            git(&folder, &["add", "-f", name]);
            git(&folder, &["commit", "-qm", name]);
        }
        git(&folder, &["rm", "-q", ".env"]);
        git(&folder, &["commit", "-qm", "gone"]);
        let list = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
        assert_eq!(
            names(&folder, &["log", "--format=", "--name-only", "-z"]),
            list(&[".env", ".env", "a.txt"])
        );
        assert_eq!(names(&folder, &["show", "--format=", "--name-only", "-z", "HEAD~2"]), list(&["a.txt"]));
        assert_eq!(names(&folder, &["diff", "--name-only", "-z", "HEAD~2"]), list(&[]));
        assert_eq!(names(&folder, &["show", "--format=", "--name-only", "-z", "nothing"]), None);
        assert_eq!(names(dir.path().parent().unwrap(), &["log"]), None);
    }
}
