//! What came to be while a command ran and would run programs later, outside the sandbox. No wall of the kernel keeps a
//! name from being made in a folder where others may be. So askls looks at what was not there before.
//!
//! What nobody but the command can have made is put aside, and nothing of it is lost. What the user or an editor may have
//! made meanwhile stays, and is told.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use crate::workspace::{guard, place};

/// What stands behind the name of what was put aside.
const ASIDE: &str = ".from-sandbox";

/// Files put aside under one name that are kept apart; nobody has so many.
const MOST_ASIDE: u32 = 100;

/// Paths that are not there before a command runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Absent {
    /// Settings of version control: a command in the sandbox could not change them if they were there.
    settings: Vec<PathBuf>,
    /// What editors and shells run by themselves, and repositories, right in the workspace's folders.
    run_unasked: Vec<PathBuf>,
}

impl Absent {
    /// `settings` are those of version control that are not there. Blocks: looks at some forty names of each root.
    pub(super) fn now(roots: &[PathBuf], settings: Vec<PathBuf>) -> Self {
        let names = || guard::run_unasked_names();
        let all = roots.iter().flat_map(|root| names().map(|name| root.join(name)));
        Self { settings, run_unasked: all.filter(|path| is_absent(path)).collect() }
    }

    /// Puts aside what has to be, and says what came to be, for the model and the user; `None` if nothing has. To be asked
    /// when nothing of the command runs any more.
    pub(super) fn arrived(&self) -> Option<String> {
        let mut said = String::new();
        for path in self.settings.iter().filter(|path| !is_absent(path)) {
            let shown = path.display();
            // Writing to a string cannot fail.
            let _ = match put_aside(path) {
                Ok(aside) => write!(
                    said,
                    "\nnote: the command made {shown}, which decides what version control runs. Commands in the sandbox cannot \
                     do that, so it was put aside as {}. If the user wants it, make the call again with \"unsandboxed\": true",
                    aside.display()
                ),
                Err(error) => write!(
                    said,
                    "\nnote: the command made {shown}, which decides what version control runs, and it cannot be put aside \
                     ({error}): tell the user to look at it before they use version control here"
                ),
            };
        }
        let run_unasked = self.run_unasked.iter().filter(|path| !is_absent(path) && may_run(path));
        for path in run_unasked {
            let _ = write!(
                said,
                "\nnote: while the command ran, {} came to be, which editors, shells or git obey by themselves: tell the user of it",
                path.display()
            );
        }
        if said.is_empty() {
            return None;
        }
        tracing::warn!("a command in the sandbox made what may run later: {}", said.trim_start());
        Some(said)
    }
}

fn is_absent(path: &Path) -> bool {
    // A link that leads nowhere is there: it may lead somewhere later.
    path.symlink_metadata().is_err()
}

/// A new repository is as good as an empty one, unless it names programs.
fn may_run(path: &Path) -> bool {
    if !path.ends_with(".git") {
        return true;
    }
    let is_example = |name: &std::ffi::OsStr| Path::new(name).extension().is_some_and(|end| end == "sample");
    let mut hooks = fs::read_dir(path.join("hooks")).into_iter().flatten().flatten();
    let root = path.parent().unwrap_or(path);
    hooks.any(|hook| !is_example(&hook.file_name())) || place::git_may_run_programs(root)
}

/// The new path.
fn put_aside(path: &Path) -> std::io::Result<PathBuf> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(ASIDE);
    let first = path.with_file_name(&name);
    let numbered = (2..MOST_ASIDE).map(|number| {
        let mut name = name.clone();
        name.push(format!("-{number}"));
        path.with_file_name(name)
    });
    let free = std::iter::once(first).chain(numbered).find(|aside| is_absent(aside));
    let aside = free.ok_or_else(|| std::io::Error::other("too much is aside already"))?;
    fs::rename(path, &aside)?;
    Ok(aside)
}
