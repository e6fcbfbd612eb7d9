//! What a command is not to see or to change though it lies where it may look and write: secrets, the sockets of other
//! programs, and what steers version control, editors and askls.

use std::{
    collections::{BTreeSet, VecDeque},
    fs, io,
    os::unix::fs::{DirEntryExt as _, FileTypeExt as _, MetadataExt as _},
    path::{Component, Path, PathBuf},
};

use rustix::{fs::Access, io::Errno};

use super::{
    arrivals::Survey,
    is_run_unasked, lies_in,
    repositories::{self, Held, Shape},
};
use crate::workspace::{git_index, guard, paths, secrets};

/// Entries of the workspace that are looked at for secrets, those nearest to the top first: some 50 ms of work.
pub(super) const MAX_LOOKED_AT: usize = 100_000;

/// Most places that are hidden in the workspace; each is a mount, which takes some microseconds at every start of a
/// command.
const MAX_PLACES: usize = 2_000;

/// Repositories in what is not looked through that are looked at for each that has them.
const MAX_LINKS: usize = 500;

/// Most sockets of other programs that are hidden.
const MAX_SOCKETS: usize = 2_000;

/// Most entries of a folder with sockets that are looked at; some are temporary folders.
const MAX_BESIDE: usize = 20_000;

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
    pub(super) held: Held,
    /// What is there before a command runs.
    pub(super) survey: Survey,
    /// Whether all was looked at, and all that was found is in here.
    pub(super) is_whole: bool,
    /// Folders in which secrets were not looked for: what tools fill, and what was too much.
    pub(super) left_out: Vec<PathBuf>,
}

/// A folder that is to be looked through.
struct Ahead<'a> {
    folder: PathBuf,
    /// What of the way to it need not be looked at for each file.
    above: &'a Path,
    /// Whether nothing in it can be changed anyway, so that only its secrets matter.
    is_held: bool,
}

/// Looks through the workspace, wide before deep.
pub(super) fn in_workspace(roots: &[PathBuf], home: Option<&Path>) -> Found {
    let mut found = looked_through(roots, home);
    let more = further_names(roots, &found.secrets);
    found.secrets.extend(more);
    found
}

fn looked_through(roots: &[PathBuf], home: Option<&Path>) -> Found {
    let mut found = Found { is_whole: true, survey: Survey::begin(roots), ..Found::default() };
    let begin = roots.iter().map(|root| Ahead { folder: root.clone(), above: telling(root), is_held: false });
    let mut folders: VecDeque<Ahead<'_>> = begin.collect();
    let mut looked_at = 0;
    while let Some(Ahead { folder, above, is_held }) = folders.pop_front() {
        if !is_held {
            found.survey.walked(&folder);
        }
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) => {
                found.unread(folder, &error);
                continue;
            }
        };
        let mut shape = Shape::default();
        for entry in entries.filter_map(Result::ok) {
            looked_at += 1;
            if looked_at > MAX_LOOKED_AT || found.count() > MAX_PLACES {
                found.is_whole = false;
                let left = folders.into_iter().map(|ahead| (ahead.folder, ahead.is_held));
                for (folder, is_held) in std::iter::once((folder, is_held)).chain(left) {
                    if !is_held {
                        found.survey.left_out(folder.clone());
                    }
                    found.left_out.push(folder);
                }
                return found;
            }
            let Ok(kind) = entry.file_type() else { continue };
            let path = entry.path();
            let name = entry.file_name();
            shape.see(&name);
            let is_run = !is_held && is_run_unasked(&path, roots);
            if is_held && repositories::system(&name).is_some() {
                continue;
            }
            if let Some(system) = repositories::system(&name) {
                found.survey.knows(&path);
                if let Some(real) = target(&path).filter(|real| *real == path || lies_in(real, roots)) {
                    if system == repositories::GIT {
                        let links = links_in_filled(&real, &folder);
                        folders.extend(links.map(|folder| Ahead { folder, above, is_held }));
                    }
                    match real.is_dir() {
                        true => found.held.version_control(system, real, path.parent(), home, roots),
                        false => found.held.fixed.push(real),
                    }
                }
            } else if kind.is_dir() {
                let becomes_held = !is_held && (guard::is_protected(Path::new(&name)) || is_run);
                if becomes_held {
                    found.survey.knows(&path);
                    found.held.fixed.push(path.clone());
                }
                match guard::is_filled(&name) {
                    true => found.left_out.push(path),
                    false => {
                        folders.push_back(Ahead { folder: path, above, is_held: is_held || becomes_held });
                    }
                }
            } else if secrets::is_secret_by(path.strip_prefix(above).unwrap_or(&path), &path) {
                if is_run {
                    found.survey.knows(&path);
                }
                found.secret(&path);
            } else if is_run {
                found.survey.knows(&path);
                found.held.fixed.extend(target(&path).filter(|real| kind.is_file() || lies_in(real, roots)));
            }
        }
        // A folder that is itself a repository, without files beside it.
        if shape.is_repository() && !is_held {
            found.held.version_control(repositories::GIT, folder.clone(), None, home, roots);
        }
    }
    found
}

/// The folders of a working tree that are repositories of their own, as git's index has it, where they lie in what is not looked
/// through: git goes into them all the same.
fn links_in_filled(repository: &Path, tree: &Path) -> impl Iterator<Item = PathBuf> {
    let links = git_index::links(repository).into_iter();
    let is_plain = |link: &PathBuf| link.components().all(|part| matches!(part, Component::Normal(_)));
    let links = links.filter(move |link| is_plain(link) && link.iter().any(guard::is_filled));
    let tree = tree.to_owned();
    links.map(move |link| tree.join(link)).filter(|link| !is_behind_link(link)).take(MAX_LINKS)
}

/// Whether another place is meant than the path says.
fn is_behind_link(path: &Path) -> bool {
    paths::real(path).is_ok_and(|real| real != path)
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
        self.secrets.len() + self.held.fixed.len() + self.held.anchored.len()
    }

    /// A file that holds a secret, or what hands one out: a pipe does, and a socket may. Where its way is too long for the system, its
    /// folder stands for it.
    fn secret(&mut self, path: &Path) {
        match fs::canonicalize(path) {
            Ok(real) => self.secrets.push(real),
            Err(error) if is_too_long(&error) => self.secrets.extend(path.parent().map(Path::to_owned)),
            Err(_) => {}
        }
    }

    /// A folder that cannot be listed. A command may be able to open it, or know what is in it, so it is hidden as a whole; one
    /// whose way is too long for the system goes with the folder that it lies in.
    fn unread(&mut self, folder: PathBuf, error: &io::Error) {
        match error.kind() {
            io::ErrorKind::PermissionDenied => self.secrets.push(folder),
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {}
            _ if is_too_long(error) => self.secrets.extend(folder.parent().map(Path::to_owned)),
            _ => {
                self.is_whole = false;
                self.left_out.push(folder);
            }
        }
    }
}

fn is_too_long(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::NAMETOOLONG.raw_os_error())
}

/// Where a file's contents lie, if they are a file's. A link may lead to what everybody needs.
pub(super) fn target(path: &Path) -> Option<PathBuf> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn git(folder: &Path, arguments: &[&str]) {
        let mut git = std::process::Command::new("git");
        git.arg("-C").arg(folder).args([
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b",
            "-c",
            "protocol.file.allow=always",
        ]);
        assert!(git.args(arguments).output().unwrap().status.success(), "git {arguments:?}");
    }

    #[test]
    fn a_repository_that_another_one_has_in_a_filled_folder_is_held() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let inner = root.join("node_modules/x");
        fs::create_dir_all(&inner).unwrap();
        for folder in [&root, &inner] {
            git(folder, &["init", "-q"]);
        }
        git(&inner, &["commit", "-q", "--allow-empty", "-m", "x"]);
        let fixed = |home: Option<&Path>| in_workspace(std::slice::from_ref(&root), home).held.fixed;
        assert!(!fixed(None).contains(&inner.join(".git/config")));
        git(&root, &["add", "-f", "node_modules/x"]);
        assert!(fixed(None).contains(&inner.join(".git/config")));
    }

    #[test]
    fn what_the_users_own_settings_of_git_name_in_the_workspace_is_held() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let (root, home) = (dir.join("project"), dir.join("home"));
        fs::create_dir_all(root.join("hooks")).unwrap();
        fs::create_dir_all(home.join(".config/git")).unwrap();
        git(&dir, &["init", "-q", "project"]);
        fs::write(root.join("team.gitconfig"), "").unwrap();
        let include = format!("[include]\n\tpath = {}\n", root.join("team.gitconfig").display());
        fs::write(home.join(".gitconfig"), "[core]\n\thooksPath = hooks\n").unwrap();
        fs::write(home.join(".config/git/config"), include).unwrap();
        let fixed = |home: Option<&Path>| in_workspace(std::slice::from_ref(&root), home).held.fixed;
        for named in [root.join("hooks"), root.join("team.gitconfig")] {
            assert!(!fixed(None).contains(&named));
            assert!(fixed(Some(&home)).contains(&named), "{}", named.display());
        }
        // Where the user has them elsewhere.
        let elsewhere = [home.join(".gitconfig"), home.join(".config/git/config")];
        let mut found = in_workspace(std::slice::from_ref(&root), None);
        found.held.git_settings(&elsewhere, None, std::slice::from_ref(&root));
        for named in [root.join("hooks"), root.join("team.gitconfig")] {
            assert!(found.held.fixed.contains(&named), "{}", named.display());
        }
    }

    /// The secrets that are found in a project of these files, and the folders that are left out, by their paths in it.
    fn found_in(files: &[&str], arrange: fn(&Path)) -> (Vec<String>, Vec<String>) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for path in files {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), "KEY=1\n").unwrap();
        }
        arrange(&root);
        let found = in_workspace(std::slice::from_ref(&root), None);
        let named = |paths: &[PathBuf]| {
            let named = paths.iter().map(|path| path.strip_prefix(&root).unwrap().display().to_string());
            let mut named: Vec<String> = named.collect();
            named.sort_unstable();
            named
        };
        (named(&found.secrets), named(&found.left_out))
    }

    #[test]
    fn secrets_are_found_in_what_runs_unasked_too_and_what_tools_fill_is_told() {
        let files = [
            ".devcontainer/.env",
            ".claude/deep/.env",
            ".askls/.env",
            "node_modules/x/.env",
            ".git/.env",
            "a",
        ];
        let (secrets, left_out) = found_in(&files, |_| {});
        assert_eq!(secrets, [".askls/.env", ".claude/deep/.env", ".devcontainer/.env"]);
        assert_eq!(left_out, ["node_modules"]);
    }

    #[test]
    fn a_pipe_with_the_name_of_a_secret_is_one() {
        let (secrets, _) = found_in(&[], |root| {
            let made = std::process::Command::new("mkfifo").arg(root.join(".env")).status();
            assert!(made.unwrap().success());
            std::os::unix::net::UnixListener::bind(root.join(".env.local")).unwrap();
        });
        assert_eq!(secrets, [".env", ".env.local"]);
    }

    #[test]
    fn a_folder_that_cannot_be_listed_is_hidden_and_one_that_went_away_is_not() {
        let mut found = Found { is_whole: true, ..Found::default() };
        let error = |error: Errno| io::Error::from_raw_os_error(error.raw_os_error());
        found.unread("/p/v".into(), &error(Errno::ACCESS));
        found.unread("/p/gone".into(), &error(Errno::NOENT));
        found.unread("/p/deep/deeper".into(), &error(Errno::NAMETOOLONG));
        assert_eq!(found.secrets, [PathBuf::from("/p/v"), "/p/deep".into()]);
        assert!(found.is_whole);
        found.unread("/p/broken".into(), &error(Errno::IO));
        assert!(!found.is_whole);
        assert_eq!(found.left_out, [PathBuf::from("/p/broken")]);
    }
}
