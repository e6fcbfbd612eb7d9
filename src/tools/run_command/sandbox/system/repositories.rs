//! Folders of version control: what in them decides which programs it runs, and so stays as it is.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use super::{
    hidden::target,
    lies_in,
    settings::{self, Named},
};
use crate::workspace::{bounded, paths};

pub(super) const GIT: &str = ".git";

/// Folders of version control, and what in them says which programs it runs.
const VERSION_CONTROL: [(&str, &[&str]); 4] =
    [(GIT, OF_REPOSITORY), (".hg", &["hgrc"]), (".jj", &["repo/config.toml"]), (".svn", &[])];

/// The same of a repository of git, whatever its folder is called.
pub(super) const OF_REPOSITORY: &[&str] = &["config", "config.worktree", HOOKS, "commondir"];

/// A folder that git makes itself in nearly every repository; an empty one means nothing.
pub(super) const HOOKS: &str = "hooks";

/// What git keeps of further working trees, and what of each says where it belongs and what is run in it.
const OF_TREE: &[&str] = &["commondir", "gitdir", "config.worktree"];

/// Submodules and working trees of a repository that are looked at, and how deep their names go.
const MAX_MODULES: usize = 500;
const MAX_MODULE_DEPTH: usize = 6;

/// Git's own files of settings are far smaller.
pub(super) const MAX_SETTINGS_BYTES: u64 = 256 << 10;

/// The user's own settings of git, which hold in every repository, below the home folder.
const SETTINGS_OF_USER: [&str; 2] = [".gitconfig", ".config/git/config"];

/// How deep settings may name further settings; git goes no deeper.
const MAX_INCLUDES: usize = 10;

/// What is to stay as it is.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) fixed: Vec<PathBuf>,
    pub(super) anchored: Vec<PathBuf>,
    /// Folders that could be held if they were there.
    pub(super) made: Vec<PathBuf>,
    /// The same for files.
    pub(super) absent: Vec<PathBuf>,
    /// Repositories of git, their modules and their working trees.
    pub(super) repositories: Vec<PathBuf>,
}

/// Which names of a repository of git lie in a folder.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shape {
    head: bool,
    objects: bool,
    refs: bool,
    common: bool,
}

impl Shape {
    pub(super) fn see(&mut self, name: &OsStr) {
        match name.to_str() {
            Some("HEAD") => self.head = true,
            Some("objects") => self.objects = true,
            Some("refs") => self.refs = true,
            Some("commondir") => self.common = true,
            _ => {}
        }
    }

    /// Whether git may take the folder for a repository.
    pub(super) fn is_repository(self) -> bool {
        self.head && (self.common || (self.objects && self.refs))
    }
}

/// The version control whose folder or pointer bears this name.
pub(super) fn system(name: &OsStr) -> Option<&'static str> {
    VERSION_CONTROL.iter().map(|(system, _)| *system).find(|system| name == *system)
}

/// What in the folder of a version control says which programs it runs.
pub(super) fn names_of(system: &str) -> &'static [&'static str] {
    VERSION_CONTROL.iter().find(|(name, _)| *name == system).map_or(&[], |(_, names)| *names)
}

impl Held {
    /// Version control must be able to commit. What it would run later, outside the sandbox, stays as it is. `tree` is the folder
    /// of the files beside the repository.
    pub(super) fn version_control(
        &mut self,
        system: &str,
        folder: PathBuf,
        tree: Option<&Path>,
        home: Option<&Path>,
        roots: &[PathBuf],
    ) {
        for name in names_of(system) {
            self.hold(&folder, name);
        }
        if system == GIT {
            let mut left = MAX_MODULES;
            let tree = tree.or(folder.parent()).unwrap_or(&folder).to_owned();
            let of_user =
                home.into_iter().flat_map(|home| SETTINGS_OF_USER.iter().map(|name| home.join(name)));
            for settings in of_user.chain([folder.join("config")]) {
                self.named(&settings, &tree, home, roots, MAX_INCLUDES);
            }
            self.trees(&folder.join("worktrees"), &mut left);
            self.modules(&folder.join("modules"), MAX_MODULE_DEPTH, &mut left);
            self.repositories.push(folder.clone());
        }
        self.anchored.push(folder);
    }

    /// What further settings, which hold in every repository that was found, name in the workspace.
    pub(super) fn git_settings(&mut self, files: &[PathBuf], home: Option<&Path>, roots: &[PathBuf]) {
        let trees: Vec<PathBuf> =
            self.repositories.iter().filter_map(|folder| folder.parent()).map(Path::to_owned).collect();
        for (settings, tree) in files.iter().flat_map(|file| trees.iter().map(move |tree| (file, tree))) {
            self.named(settings, tree, home, roots, MAX_INCLUDES);
        }
    }

    fn hold(&mut self, folder: &Path, name: &str) {
        let path = folder.join(name);
        // What leads to it is not to be put aside, and another one to take its place.
        let between = path.ancestors().skip(1).take_while(|above| *above != folder);
        for above in between {
            match above.symlink_metadata() {
                // What a link leads to is nobody's here.
                Ok(there) if there.is_symlink() => return,
                Ok(there) if there.is_dir() => self.anchored.push(above.to_owned()),
                _ => {}
            }
        }
        match (path.exists(), name) {
            (true, _) => self.fixed.push(path),
            // A folder that only bears the name of a repository gets nothing.
            (false, HOOKS) if folder.join("HEAD").exists() => {
                self.made.push(path.clone());
                self.fixed.push(path);
            }
            (false, _) => self.absent.push(path),
        }
    }

    /// Of the working trees that a repository knows.
    fn trees(&mut self, folder: &Path, left: &mut usize) {
        for tree in folders_in(folder, left) {
            OF_TREE.iter().for_each(|name| self.hold(&tree, name));
            self.repositories.push(tree.clone());
            self.anchored.push(tree);
        }
        if folder.is_dir() {
            self.anchored.push(folder.to_owned());
        }
    }

    /// Of the repositories of submodules, whose names may be paths. None can be put aside and another one take its place.
    fn modules(&mut self, folder: &Path, depth: usize, left: &mut usize) {
        if depth == 0 || !folder.is_dir() {
            return;
        }
        self.anchored.push(folder.to_owned());
        for module in folders_in(folder, left) {
            if !module.join("HEAD").exists() {
                self.modules(&module, depth - 1, left);
                continue;
            }
            for name in OF_REPOSITORY {
                self.hold(&module, name);
            }
            self.modules(&module.join("modules"), depth - 1, left);
            self.repositories.push(module.clone());
            self.anchored.push(module);
        }
    }

    /// Further settings, folders of hooks and programs that a repository's settings name. Those of the workspace that are not there
    /// are not to come to be, either.
    fn named(&mut self, config: &Path, tree: &Path, home: Option<&Path>, roots: &[PathBuf], depth: usize) {
        let bytes = bounded::read(config, MAX_SETTINGS_BYTES).unwrap_or_default();
        let settings = settings::parse(&String::from_utf8_lossy(&bytes)).unwrap_or_default();
        let from = config.parent().unwrap_or(config);
        for named in settings.iter().filter_map(settings::Setting::named) {
            match named {
                Named::Settings(value) => {
                    let path = settings::path(from, home, &value);
                    let real = self.hold_named(&path, roots);
                    if let (Some(real), Some(depth)) = (real, depth.checked_sub(1)) {
                        self.named(&real, tree, home, roots, depth);
                    }
                }
                Named::Hooks(value) => {
                    self.hold_named(&settings::path(tree, home, &value), roots);
                }
                Named::Programs(programs) => {
                    for program in programs {
                        let path = settings::path(tree, home, &program);
                        if paths::real(&path).is_ok_and(|real| lies_in(&real, roots)) {
                            self.hold_named(&path, roots);
                        }
                    }
                }
            }
        }
    }

    /// Where it is, if it is there.
    fn hold_named(&mut self, path: &Path, roots: &[PathBuf]) -> Option<PathBuf> {
        let Some(real) = target(path) else {
            self.absent.extend(paths::real(path).ok().filter(|real| lies_in(real, roots)));
            return None;
        };
        // A root as a whole has to be changed.
        if roots.iter().any(|root| root.starts_with(&real)) {
            return None;
        }
        self.fixed.push(real.clone());
        Some(real)
    }
}

/// The folders in a folder, as many as are `left`; no links.
fn folders_in(folder: &Path, left: &mut usize) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let found: Vec<_> = folders.take(*left).map(|entry| entry.path()).collect();
    *left -= found.len();
    found
}

/// The folder of a repository that has `root` as one of its working trees, and lies elsewhere. A project says itself where
/// that is, so it counts only if the repository says the same.
pub(super) fn repository_of(root: &Path) -> Option<PathBuf> {
    let link = root.join(".git");
    let place = first_line(&link)?;
    let place = fs::canonicalize(root.join(place.strip_prefix("gitdir: ")?)).ok()?;
    let back = fs::canonicalize(place.join(first_line(&place.join("gitdir"))?)).ok()?;
    let common = fs::canonicalize(place.join(first_line(&place.join("commondir"))?)).ok()?;
    let is_its_own = back == fs::canonicalize(&link).ok()? && place.starts_with(common.join("worktrees"));
    is_its_own.then_some(common)
}

/// The first line of a small file.
fn first_line(path: &Path) -> Option<String> {
    /// The longest path, and some.
    const MAX_BYTES: u64 = 5_000;
    let metadata = fs::metadata(path).ok()?;
    if !metadata.is_file() || metadata.len() > MAX_BYTES {
        return None;
    }
    fs::read_to_string(path).ok()?.lines().next().map(|line| line.trim_end().to_owned())
}
