//! What a command is not to see or to change though it lies where it may look and write: secrets, the sockets of other
//! programs, and what steers version control, editors and askls.

use std::{
    collections::{BTreeSet, VecDeque},
    fs,
    os::unix::fs::{DirEntryExt as _, FileTypeExt as _, MetadataExt as _},
    path::{Path, PathBuf},
};

use rustix::fs::Access;

use crate::workspace::guard;

/// Entries of the workspace that are looked at for secrets, those nearest to the top first: some 50 ms of work.
const MAX_LOOKED_AT: usize = 100_000;

/// Most places that are hidden in the workspace; each is a mount, which takes some microseconds at every start of a
/// command.
const MAX_PLACES: usize = 2_000;

/// Most sockets of other programs that are hidden.
const MAX_SOCKETS: usize = 2_000;

/// Most entries of a folder with sockets that are looked at; some are temporary folders.
const MAX_BESIDE: usize = 20_000;

/// Folders of version control, and what in them says which programs it runs.
const VERSION_CONTROL: [(&str, &[&str]); 4] = [
    (".git", &["config", "config.worktree", HOOKS, "commondir"]),
    (".hg", &["hgrc"]),
    (".jj", &["repo/config.toml"]),
    (".svn", &[]),
];

/// A folder that git makes itself in nearly every repository; an empty one means nothing.
const HOOKS: &str = "hooks";

/// What git keeps of further working trees, and what of each says where it belongs and what is run in it.
const OF_TREE: &[&str] = &["commondir", "gitdir", "config.worktree"];

/// Submodules and working trees of a repository that are looked at, and how deep their names go.
const MAX_MODULES: usize = 500;
const MAX_MODULE_DEPTH: usize = 6;

/// Sockets of programs that do for others what these could not: they run containers and services. They may have been
/// made elsewhere, so that this machine's own list does not have them.
const KNOWN_SOCKETS: [&str; 12] = [
    "/run/docker.sock",
    "/var/run/docker.sock",
    "/run/podman/podman.sock",
    "/run/containerd/containerd.sock",
    "/run/crio/crio.sock",
    "/run/buildkit/buildkitd.sock",
    "/run/dbus/system_bus_socket",
    "/run/systemd/private",
    "/run/systemd/notify",
    "/run/snapd.socket",
    "/run/libvirt/libvirt-sock",
    "/run/user",
];

/// What was found in the workspace's folders.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) secrets: Vec<PathBuf>,
    pub(super) fixed: Vec<PathBuf>,
    pub(super) anchored: Vec<PathBuf>,
    /// Folders that could be held if they were there.
    pub(super) made: Vec<PathBuf>,
    /// The same for files.
    pub(super) absent: Vec<PathBuf>,
    /// Whether all was looked at, and all that was found is in here.
    pub(super) is_whole: bool,
}

/// Looks through the workspace, wide before deep.
pub(super) fn in_workspace(roots: &[PathBuf]) -> Found {
    let mut found = looked_through(roots);
    let more = further_names(roots, &found.secrets);
    found.secrets.extend(more);
    found
}

fn looked_through(roots: &[PathBuf]) -> Found {
    let mut found = Found { is_whole: true, ..Found::default() };
    let mut folders: VecDeque<(PathBuf, &Path)> =
        roots.iter().map(|root| (root.clone(), telling(root))).collect();
    let mut looked_at = 0;
    while let Some((folder, above)) = folders.pop_front() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.filter_map(Result::ok) {
            looked_at += 1;
            if looked_at > MAX_LOOKED_AT || found.count() > MAX_PLACES {
                found.is_whole = false;
                return found;
            }
            let Ok(kind) = entry.file_type() else { continue };
            let path = entry.path();
            let name = entry.file_name();
            if kind.is_dir() {
                if VERSION_CONTROL.iter().any(|(system, _)| name == *system) {
                    found.version_control(path);
                } else if guard::is_protected(Path::new(&name)) || guard::is_run_unasked(Path::new(&name)) {
                    found.fixed.push(path);
                } else if !guard::is_filled(&name) {
                    folders.push_back((path, above));
                }
            } else if guard::is_secret(path.strip_prefix(above).unwrap_or(&path)) {
                found.secrets.extend(target(&path));
            } else if kind.is_file() && (name == ".git" || guard::is_run_unasked(Path::new(&name))) {
                found.fixed.push(path);
            }
        }
    }
    found
}

/// Further names in the workspace of the files that hold secrets, where these say that they have some: through a hard link the
/// same file could be read.
fn further_names(roots: &[PathBuf], secrets: &[PathBuf]) -> Vec<PathBuf> {
    let file = |path: &Path| {
        let metadata = fs::metadata(path).ok().filter(|file| file.is_file() && file.nlink() > 1)?;
        Some((metadata.dev(), metadata.ino()))
    };
    let wanted: BTreeSet<(u64, u64)> = secrets.iter().filter_map(|path| file(path)).collect();
    let mut names = Vec::new();
    if wanted.is_empty() {
        return names;
    }
    let mut looked_at = 0;
    let mut folders: VecDeque<PathBuf> = roots.iter().cloned().collect();
    while let Some(folder) = folders.pop_front() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            looked_at += 1;
            if looked_at > MAX_LOOKED_AT || names.len() > MAX_PLACES {
                return names;
            }
            let Ok(kind) = entry.file_type() else { continue };
            // The folder has the number of the file: only what may be one is looked at.
            let may_be = || wanted.iter().any(|(_, inode)| *inode == entry.ino());
            if kind.is_dir() {
                folders.push_back(entry.path());
            } else if kind.is_file()
                && may_be()
                && file(&entry.path()).is_some_and(|file| wanted.contains(&file))
            {
                names.push(entry.path());
            }
        }
    }
    names.retain(|name| !secrets.contains(name));
    names
}

/// What of the way to a root need not be looked at for each file in it: all but the names of the root and of the folder it
/// lies in, which may tell that everything in them is secret.
fn telling(root: &Path) -> &Path {
    root.ancestors().nth(2).unwrap_or(Path::new(""))
}

impl Found {
    fn count(&self) -> usize {
        self.secrets.len() + self.fixed.len() + self.anchored.len()
    }

    /// Version control must be able to commit. What it would run later, outside the sandbox, stays as it is.
    pub(super) fn version_control(&mut self, folder: PathBuf) {
        let held = VERSION_CONTROL.iter().filter(|(system, _)| folder.ends_with(system));
        for name in held.flat_map(|(_, names)| names.iter()) {
            self.hold(&folder, name);
        }
        if folder.ends_with(".git") {
            let mut left = MAX_MODULES;
            self.fixed.extend(named_by_settings(&folder));
            self.trees(&folder.join("worktrees"), &mut left);
            self.modules(&folder.join("modules"), MAX_MODULE_DEPTH, &mut left);
            self.is_whole &= left > 0;
        }
        self.anchored.push(folder);
    }

    fn hold(&mut self, folder: &Path, name: &str) {
        let path = folder.join(name);
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
            self.anchored.push(tree);
        }
        if folder.is_dir() {
            self.anchored.push(folder.to_owned());
        }
    }

    /// Of the repositories of submodules, whose names may be paths. None can be put aside and another one take its place.
    fn modules(&mut self, folder: &Path, depth: usize, left: &mut usize) {
        if !folder.is_dir() {
            return;
        }
        if depth == 0 {
            self.is_whole = false;
            return;
        }
        self.anchored.push(folder.to_owned());
        for module in folders_in(folder, left) {
            if !module.join("HEAD").exists() {
                self.modules(&module, depth - 1, left);
                continue;
            }
            for name in ["config", "config.worktree", HOOKS, "commondir"] {
                self.hold(&module, name);
            }
            self.modules(&module.join("modules"), depth - 1, left);
            self.anchored.push(module);
        }
    }
}

/// Further settings and the folder of hooks that a repository's settings name, where they are there.
fn named_by_settings(repository: &Path) -> Vec<PathBuf> {
    /// Git's own files of settings are far smaller.
    const MAX_BYTES: u64 = 256 << 10;
    let config = repository.join("config");
    let is_read =
        fs::metadata(&config).is_ok_and(|metadata| metadata.is_file() && metadata.len() <= MAX_BYTES);
    let text = if is_read { fs::read(&config).unwrap_or_default() } else { Vec::new() };
    let text = String::from_utf8_lossy(&text);
    let mut named = Vec::new();
    for (name, value) in text.lines().filter_map(|line| line.split_once('=')) {
        let from = match name.trim().to_ascii_lowercase().as_str() {
            // Of `[include]` and `[includeIf …]`; relative to the file that names it.
            "path" => Some(repository),
            "hookspath" => repository.parent(),
            _ => None,
        };
        let path = from.map(|from| from.join(value.trim().trim_matches('"')));
        named.extend(path.and_then(|path| target(&path)));
    }
    named
}

/// The folders in a folder, as many as are `left`; no links.
fn folders_in(folder: &Path, left: &mut usize) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let found: Vec<_> = folders.take(*left).map(|entry| entry.path()).collect();
    *left -= found.len();
    found
}

/// Where a file's contents lie, if they are a file's. A link may lead to what everybody needs.
fn target(path: &Path) -> Option<PathBuf> {
    let real = fs::canonicalize(path).ok()?;
    let kind = fs::metadata(&real).ok()?.file_type();
    (kind.is_file() || kind.is_dir()).then_some(real)
}

/// The secrets of the user, and of the machine where the user may read them.
pub(super) fn of_user(home: Option<&Path>, private: &[PathBuf]) -> Vec<PathBuf> {
    let of_home =
        home.into_iter().flat_map(|home| guard::SECRETS_OF_HOME.iter().map(move |name| home.join(name)));
    let of_machine = guard::SECRETS_OF_MACHINE.iter().map(PathBuf::from);
    of_home.chain(of_machine).chain(private.iter().cloned()).filter_map(|path| target(&path)).collect()
}

/// The sockets of other programs that this user could talk to. The kernel lists them by the names that they were bound to, which may
/// be relative, or not be theirs any more: so all sockets in the folders where some were bound are meant.
pub(super) fn sockets() -> Vec<PathBuf> {
    let listed = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let listed: BTreeSet<&str> = listed.lines().filter_map(bound).take(MAX_SOCKETS).collect();
    let (absolute, relative): (Vec<&Path>, Vec<&Path>) =
        listed.into_iter().map(Path::new).partition(|path| path.is_absolute());
    let mut folders: BTreeSet<PathBuf> =
        absolute.iter().filter_map(|path| path.parent()).map(Path::to_owned).collect();
    if !relative.is_empty() {
        let named = relative.iter().filter_map(|path| path.parent());
        let named: BTreeSet<&Path> = named.collect();
        for folder in working_folders() {
            folders.extend(named.iter().map(|name| folder.join(name)));
        }
    }
    let beside = folders.iter().flat_map(|folder| sockets_in(folder));
    let known = KNOWN_SOCKETS.iter().map(PathBuf::from);
    let absolute = absolute.into_iter().map(Path::to_owned);
    let all: BTreeSet<PathBuf> = absolute.chain(beside).chain(known).collect();
    all.into_iter().filter_map(|path| reachable(&path)).take(MAX_SOCKETS).collect()
}

/// The name of a socket in a line of the kernel's list: the last of eight columns. Names that begin with `@` are no files'.
fn bound(line: &str) -> Option<&str> {
    const COLUMNS_BEFORE: usize = 7;
    let mut rest = line;
    for _ in 0..COLUMNS_BEFORE {
        let (_, behind) = rest.trim_start().split_once(' ')?;
        rest = behind;
    }
    let name = rest.trim_start();
    (!name.is_empty() && !name.starts_with('@') && name != "Path").then_some(name)
}

/// Where the processes of this user are: there, the relative names of their sockets begin.
fn working_folders() -> BTreeSet<PathBuf> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.filter_map(|process| fs::read_link(process.path().join("cwd")).ok()).collect()
}

/// The sockets right in a folder.
fn sockets_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(MAX_BESIDE);
    let sockets = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_socket()));
    sockets.map(|entry| entry.path()).collect()
}

fn reachable(path: &Path) -> Option<PathBuf> {
    let real = fs::canonicalize(path).ok()?;
    let kind = fs::metadata(&real).ok()?.file_type();
    let is_open = rustix::fs::access(&real, Access::WRITE_OK).is_ok();
    (kind.is_dir() || (kind.is_socket() && is_open)).then_some(real)
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
