//! What came to be while a command ran and would run programs later, outside the sandbox. No wall of the kernel keeps a
//! name from being made in a folder where others may be. So askls looks at what was not there before, in every folder in
//! which something changed: the kernel keeps the time of that, and no command can set it.
//!
//! What decides which programs version control runs is put aside, and nothing of it is lost. What editors and shells run by
//! themselves, and the user may have made meanwhile, stays and is told.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fmt::Write as _,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use super::{
    beneath::{self, Found, Kind},
    hidden::MAX_LOOKED_AT,
    is_run_unasked, lies_in,
    repositories::{self, GIT, HOOKS, MAX_SETTINGS_BYTES, OF_REPOSITORY, Shape},
    settings,
};
use crate::workspace::{guard, paths};

/// A folder that changed so short a time before it was looked at may change once more within the same tick of the kernel's
/// clock, which is some milliseconds long.
const TICK: Duration = Duration::from_millis(50);

/// Most paths of a kind that are told one by one.
const MOST_TOLD: usize = 20;

/// What is there before a command runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Survey {
    /// Folders in which something may be put aside.
    roots: Vec<PathBuf>,
    /// In nanoseconds since 1970, as the times of files.
    began: i128,
    /// All folders that were looked through; `None` for those that were not.
    folders: BTreeMap<PathBuf, Option<Stamp>>,
    /// What steers version control, editors and shells, and where it leads if it is a link.
    known: BTreeSet<(PathBuf, Option<PathBuf>)>,
    repositories: BTreeSet<PathBuf>,
    /// Files and folders that version control would obey if they were there.
    absent: Vec<PathBuf>,
}

/// When a folder, and which, has changed last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    changed: i128,
}

/// What is there now and was not.
struct Look<'a> {
    survey: &'a Survey,
    version_control: BTreeSet<PathBuf>,
    run_unasked: BTreeSet<PathBuf>,
    /// Entries that may still be looked at.
    left: usize,
    is_whole: bool,
}

impl Survey {
    pub(super) fn begin(roots: &[PathBuf]) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().saturating_sub(TICK);
        let began = i128::try_from(now.as_nanos()).unwrap_or(i128::MAX);
        Self { roots: roots.to_vec(), began, ..Self::default() }
    }

    /// To be told just before the folder is looked through.
    pub(super) fn walked(&mut self, folder: &Path) {
        self.folders.insert(folder.to_owned(), Stamp::of(folder));
    }

    /// The folder has more than can be looked through.
    pub(super) fn left_out(&mut self, folder: PathBuf) {
        self.folders.insert(folder, None);
    }

    pub(super) fn knows(&mut self, path: &Path) {
        self.known.insert((path.to_owned(), fs::read_link(path).ok()));
    }

    /// Repositories of git. Those that lie elsewhere are written to by commands, too.
    pub(super) fn holds(&mut self, repositories: Vec<PathBuf>) {
        let elsewhere = repositories.iter().filter(|repository| !lies_in(repository, &self.roots));
        let elsewhere: Vec<_> = elsewhere.cloned().collect();
        self.roots.extend(elsewhere);
        self.repositories.extend(repositories);
    }

    pub(super) fn misses(&mut self, paths: Vec<PathBuf>) {
        self.absent.extend(paths);
    }

    /// Whether there is anything to look at.
    pub(super) fn is_empty(&self) -> bool {
        self.roots.is_empty()
    }

    /// Puts aside what has to be, and says what came to be, for the model and the user; `None` if nothing has. To be asked
    /// when nothing of the command runs any more. Blocks: looks at each folder of the workspace.
    pub(super) fn arrived(&self) -> Option<String> {
        let mut look = self.look();
        let mut said = look.put_aside();
        // What is aside is told once.
        look.run_unasked.retain(|path| !look.version_control.contains(path));
        for path in look.run_unasked.iter().take(MOST_TOLD) {
            // Writing to a string cannot fail.
            let _ = write!(
                said,
                "\nnote: while the command ran, {} came to be, which editors, shells or git obey by themselves: tell the user of it",
                path.display()
            );
        }
        if let Some(more) = look.run_unasked.len().checked_sub(MOST_TOLD).filter(|more| *more > 0) {
            let _ = write!(said, "\nnote: {more} more such files came to be");
        }
        if !look.is_whole {
            said.push_str(
                "\nnote: the command made more files than can be looked through: repositories among them may run programs of their \
                 own; tell the user of it",
            );
        }
        logged(said)
    }

    /// The same while it runs, as far as it may not wait.
    pub(super) fn put_aside(&self) -> Option<String> {
        logged(self.look().put_aside())
    }

    /// The same for what would take the place of a repository's settings: some looks, where they would be.
    pub(super) fn put_aside_settings(&self) -> Option<String> {
        logged(self.look_for_settings().put_aside())
    }

    fn look_for_settings(&self) -> Look<'_> {
        let mut look = Look {
            survey: self,
            version_control: BTreeSet::new(),
            run_unasked: BTreeSet::new(),
            left: MAX_LOOKED_AT,
            is_whole: true,
        };
        for path in &self.absent {
            look.names(path);
        }
        look
    }

    fn look(&self) -> Look<'_> {
        let mut look = self.look_for_settings();
        for (folder, stamp) in &self.folders {
            let is_as_it_was = |stamp: &Stamp| {
                stamp.changed < self.began && Stamp::of(folder).is_some_and(|now| now == *stamp)
            };
            if !stamp.as_ref().is_none_or(is_as_it_was) {
                look.walk(folder.clone());
            }
        }
        for repository in &self.repositories {
            for others in ["modules", "worktrees"] {
                look.walk(repository.join(others));
            }
        }
        look
    }

    fn root_of(&self, path: &Path) -> Option<&Path> {
        self.roots.iter().map(PathBuf::as_path).find(|root| path.starts_with(root))
    }

    fn is_known(&self, path: &Path, kind: Kind) -> bool {
        let leads_to = if kind == Kind::Link { fs::read_link(path).ok() } else { None };
        self.known.contains(&(path.to_owned(), leads_to))
    }
}

fn logged(said: String) -> Option<String> {
    if said.is_empty() {
        return None;
    }
    tracing::info!("a command in the sandbox made what may run later: {}", said.trim_start());
    Some(said)
}

impl Stamp {
    /// `None` for what is no folder.
    fn of(folder: &Path) -> Option<Self> {
        let there = folder.symlink_metadata().ok().filter(fs::Metadata::is_dir)?;
        let changed = i128::from(there.ctime()) * 1_000_000_000 + i128::from(there.ctime_nsec());
        Some(Self { device: there.dev(), inode: there.ino(), changed })
    }
}

impl Look<'_> {
    /// Looks through a folder, and through those below it that were not there.
    fn walk(&mut self, folder: PathBuf) {
        let mut todo = vec![folder];
        while let Some(folder) = todo.pop() {
            let survey = self.survey;
            // What a link leads to is not the command's.
            let Some(root) = survey.root_of(&folder) else { continue };
            let Ok(entries) = beneath::list(root, &folder) else { continue };
            let Some(left) = self.left.checked_sub(entries.len()) else {
                self.is_whole = false;
                return;
            };
            self.left = left;
            let mut shape = Shape::default();
            entries.iter().for_each(|(name, _)| shape.see(name));
            if shape.is_repository() {
                self.repository(&folder);
            }
            for (name, kind) in entries {
                let path = folder.join(&name);
                let is_known = survey.is_known(&path, kind)
                    || survey.folders.contains_key(&path)
                    || survey.repositories.contains(&path);
                let is_store = shape.is_repository() && name == "objects";
                if !is_known && !is_store && self.meet(&path, &name, kind) {
                    todo.push(path);
                }
            }
        }
    }

    /// Whether it is a folder to be looked through.
    fn meet(&mut self, path: &Path, name: &OsString, kind: Kind) -> bool {
        match (repositories::system(name), kind) {
            (Some(GIT), Kind::Folder) => return true,
            (Some(system), Kind::Folder) => {
                repositories::names_of(system).iter().for_each(|name| self.names(&path.join(name)));
            }
            (Some(_), Kind::File | Kind::Link) => self.pointer(path, kind),
            (None, _) if is_run_unasked(path, &self.survey.roots) => {
                self.run_unasked.insert(path.to_owned());
            }
            (None, Kind::Folder) => return !guard::is_filled(name),
            _ => {}
        }
        false
    }

    /// A path that version control obeys, whatever stands there.
    fn names(&mut self, path: &Path) {
        let Some(root) = self.survey.root_of(path) else { return };
        match beneath::look(root, path) {
            Found::Nothing => {}
            Found::There(_) => {
                self.version_control.insert(path.to_owned());
            }
            Found::LinkAt(link) => {
                self.version_control.insert(link);
            }
        }
    }

    /// A repository of git is as good as an empty one, unless it names programs.
    fn repository(&mut self, folder: &Path) {
        if self.survey.repositories.contains(folder) {
            return;
        }
        let Some(root) = self.survey.root_of(folder) else { return };
        for name in OF_REPOSITORY {
            let path = folder.join(name);
            let is_harmless = match (*name, beneath::look(root, &path)) {
                (_, Found::Nothing) => true,
                (HOOKS, Found::There(Kind::Folder)) => beneath::list(root, &path)
                    .is_ok_and(|hooks| hooks.iter().all(|(hook, _)| is_example(hook))),
                ("config" | "config.worktree", Found::There(Kind::File)) => {
                    let text = beneath::read(root, &path, MAX_SETTINGS_BYTES);
                    let settings = text.and_then(|text| settings::parse(&text));
                    settings.is_some_and(|settings| !settings.iter().any(settings::Setting::may_run))
                }
                ("commondir", Found::There(Kind::File)) => self.belongs_to_its_own(root, folder),
                _ => false,
            };
            if !is_harmless {
                self.version_control.insert(path);
            }
        }
    }

    /// Whether the folder of a further working tree says that it belongs to the repository in which it lies.
    fn belongs_to_its_own(&mut self, root: &Path, tree: &Path) -> bool {
        let Some(place) = tree.parent().filter(|place| place.ends_with("worktrees")) else { return false };
        let Some(repository) = place.parent().filter(|repository| repository.starts_with(root)) else {
            return false;
        };
        let said = beneath::first_line(root, &tree.join("commondir"));
        let is_its_own =
            said.and_then(|said| paths::real(&tree.join(said)).ok()).as_deref() == Some(repository);
        if is_its_own {
            self.repository(repository);
        }
        is_its_own
    }

    /// A file or a link that says where a repository lies: the command may have made one anywhere.
    fn pointer(&mut self, path: &Path, kind: Kind) {
        let survey = self.survey;
        let Some(root) = survey.root_of(path) else { return };
        let said = match kind {
            Kind::Link => Some(path.to_owned()),
            _ => beneath::first_line(root, path)
                .and_then(|line| Some(path.parent()?.join(line.strip_prefix("gitdir:")?.trim_start()))),
        };
        let place = said.and_then(|said| paths::real(&said).ok());
        match place.filter(|place| lies_in(place, &survey.roots)) {
            Some(place) => self.repository(&place),
            None => {
                self.version_control.insert(path.to_owned());
            }
        }
    }

    /// Says what it did.
    fn put_aside(&self) -> String {
        let mut said = String::new();
        for path in &self.version_control {
            let Some(root) = self.survey.root_of(path) else { continue };
            let shown = path.display();
            // Writing to a string cannot fail.
            let _ = match beneath::put_aside(root, path) {
                Ok(aside) => write!(
                    said,
                    "\nnote: {shown} changed while the command ran, which decides what version control runs. Commands in the sandbox cannot \
                     change that, so it was put aside as {}: tell the user, who may have made it. If the command is to make it, call it \
                     again with \"unsandboxed\": true",
                    aside.display()
                ),
                Err(error) => write!(
                    said,
                    "\nnote: {shown} changed while the command ran, which decides what version control runs, and it cannot be put aside \
                     ({error}): tell the user to look at it before they use version control here"
                ),
            };
        }
        said
    }
}

fn is_example(hook: &OsString) -> bool {
    Path::new(hook).extension().is_some_and(|end| end == "sample")
}
