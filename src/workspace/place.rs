//! What a command's words name on the disk: inside the workspace or not, and what kind of file. For the policy, which
//! decides from it whether a command needs a question; nothing is opened here but a repository's settings, and what a name
//! alone does not tell to be a secret.

use std::{
    collections::{HashSet, VecDeque},
    fs,
    path::{Path, PathBuf},
};

use ignore::WalkBuilder;

use super::{
    FileError, Surroundings, TurnFiles, guard, paths,
    roots::{Located, Outside},
    secrets,
};

/// Entries below a folder that are looked at for secrets: some milliseconds. A larger folder counts as if it held some.
const MAX_WALKED: usize = 20_000;

/// A repository's settings take some lines; a larger file is not looked through.
const MAX_CONFIG_BYTES: u64 = 64 << 10;

/// Where a path leads and what lies there, whether it exists or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    Outside {
        /// With every link on the way followed.
        real: PathBuf,
        nature: Nature,
    },
    Inside {
        /// With every link on the way followed.
        real: PathBuf,
        /// From the root that holds it; the whole path of an open file while there is no root.
        relative: PathBuf,
        nature: Nature,
    },
}

/// What an agent may do with a file at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nature {
    Plain,
    /// Editors or shells run what it says by themselves.
    RunUnasked,
    /// Of version control or of the agent's own settings.
    Protected,
    /// Holds keys or passwords.
    Secret,
}

/// Which files a command shows besides those that it names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Below {
    /// None.
    #[default]
    None,
    /// Those below its folders whose names do not begin with a dot.
    Visible,
    /// All below its folders.
    All,
    /// The same, and what links in them lead to.
    Linked,
}

impl TurnFiles {
    /// The folder that a call means by `path`: `None` or a dot is the first root.
    pub fn folder(&self, path: Option<&str>) -> Option<PathBuf> {
        match path.map(str::trim) {
            None | Some("" | ".") => self.workspace().roots().into_iter().next(),
            Some(path) => self.resolve(path).ok()?.disk().map(Path::to_owned),
        }
    }

    /// The root that holds what a call means by `path`; of roots inside each other the inner one.
    pub fn root_of(&self, path: Option<&str>) -> Option<PathBuf> {
        let place = self.folder(path)?;
        let holding = self.workspace().roots().into_iter().filter(|root| place.starts_with(root));
        holding.max_by_key(|root| root.components().count())
    }

    /// The place of a path as a tool's argument spells it. `None` for what is no file on a disk, and for what no tool takes
    /// anyway: it says so itself.
    pub fn place_of_argument(&self, path: &str) -> Option<Place> {
        match self.locate(path) {
            Ok(Located::Inside(file)) => {
                let real = file.disk()?.to_owned();
                let place = self.place_of(real.clone(), None);
                // Without a root.
                let is_outside = matches!(place, Place::Outside { .. });
                Some(if is_outside { inside(real.clone(), real, false) } else { place })
            }
            Ok(Located::Outside(outside)) => self.place_around(&outside),
            Err(FileError::Secret(_)) => {
                let relative = PathBuf::from(path.trim());
                Some(Place::Inside { real: relative.clone(), relative, nature: Nature::Secret })
            }
            Err(_) => None,
        }
    }

    /// The place of a word of a command that runs in `folder`, as the system finds it.
    pub fn place_in(&self, folder: &Path, word: &str) -> Place {
        let path = folder.join(word);
        match paths::real(&path) {
            Ok(real) => self.place_of(real, Some(&path)),
            Err(_) => {
                let is_secret = secrets::is_secret(&path);
                Place::Outside { real: paths::normalized(&path), nature: by_secret(is_secret) }
            }
        }
    }

    fn place_of(&self, real: PathBuf, written: Option<&Path>) -> Place {
        // A link's own name counts as well as that of the file behind it.
        let is_secret = secrets::is_secret(&real) || written.is_some_and(secrets::is_secret);
        let roots = self.workspace().roots();
        let relative = roots.iter().filter_map(|root| real.strip_prefix(root).ok());
        match relative.min_by_key(|rest| rest.components().count()).map(Path::to_owned) {
            Some(relative) => inside(real, relative, is_secret),
            None => Place::Outside { real, nature: by_secret(is_secret) },
        }
    }

    /// What a tool would reach outside; nothing for what is of the running system.
    fn place_around(&self, outside: &Outside) -> Option<Place> {
        let real = outside.file.disk()?.to_owned();
        if Surroundings::are_of_system(&real) {
            return None;
        }
        let is_secret = outside.is_secret || self.surroundings().withhold(&real);
        let nature = if is_secret { Nature::Secret } else { nature(&real, &real) };
        Some(Place::Outside { real, nature })
    }
}

fn inside(real: PathBuf, relative: PathBuf, is_secret: bool) -> Place {
    let nature = if is_secret { Nature::Secret } else { nature(&real, &relative) };
    Place::Inside { real, relative, nature }
}

/// Of a file without secrets; `relative` is from the root that holds it, or its whole path.
fn nature(real: &Path, relative: &Path) -> Nature {
    if guard::is_settings_file(real) || guard::is_protected(relative) {
        Nature::Protected
    } else if guard::is_run_unasked(relative) {
        Nature::RunUnasked
    } else {
        Nature::Plain
    }
}

const fn by_secret(is_secret: bool) -> Nature {
    if is_secret { Nature::Secret } else { Nature::Plain }
}

/// Whether a command that shows what lies below `path` would show a secret, or more than can be looked through.
pub fn shows_secrets(path: &Path, below: Below) -> bool {
    let is_link = |entry: &ignore::DirEntry| entry.depth() > 0 && entry.path_is_symlink();
    let mut walked = 0;
    shown(path, below).any(|entry| {
        walked += 1;
        walked > MAX_WALKED
            || entry.is_ok_and(|entry| {
                secrets::is_secret(entry.path()) || below == Below::Linked && is_link(&entry)
            })
    })
}

/// The same of what lies in these `places` alone; of the secrets those count whose paths are `read`.
pub fn shows_secrets_in(path: &Path, below: Below, places: &[PathBuf], read: &dyn Fn(&Path) -> bool) -> bool {
    let is_near = |place: &&PathBuf| place.starts_with(path) || path.starts_with(place);
    let places: HashSet<&Path> = places.iter().filter(is_near).map(PathBuf::as_path).collect();
    if places.is_empty() {
        return false;
    }
    let is_in_them = |path: &Path| path.ancestors().any(|above| places.contains(above));
    let mut walked = 0;
    let entries = shown(path, below).filter_map(Result::ok);
    entries.filter(|entry| is_in_them(entry.path())).any(|entry| {
        walked += 1;
        walked > MAX_WALKED || read(entry.path()) && secrets::is_secret(entry.path())
    })
}

/// What a command shows that lies below a place, and that.
fn shown(path: &Path, below: Below) -> impl Iterator<Item = Result<ignore::DirEntry, ignore::Error>> {
    let mut builder = WalkBuilder::new(path);
    if below == Below::Visible {
        // As ripgrep walks, by its own library: a project's files can let hidden ones in.
        builder.standard_filters(true).add_custom_ignore_filename(".rgignore");
    } else {
        builder.standard_filters(false);
    }
    builder.build().take(if below == Below::None { 0 } else { usize::MAX })
}

/// Whether a file holds keys or passwords, or may have held them when it was another.
pub fn may_be_secret(path: &Path) -> bool {
    secrets::may_be_secret(path)
}

/// Whether something below a folder `fits`, by its path from there: `true` too where there is more than can be looked through.
pub fn any_below(folder: &Path, fits: &dyn Fn(&Path) -> bool) -> bool {
    WalkBuilder::new(folder).standard_filters(false).build().skip(1).zip(0..).any(|(entry, walked)| {
        walked >= MAX_WALKED
            || entry.map_or(true, |entry| entry.path().strip_prefix(folder).map_or(true, fits))
    })
}

/// Files below these folders that hold secrets by their names, as far as so many can be looked at; those nearest to the top
/// first.
pub fn secrets_below(roots: &[PathBuf]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut walked = 0;
    let mut folders: VecDeque<PathBuf> = roots.iter().cloned().collect();
    while let Some(folder) = folders.pop_front() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            walked += 1;
            if walked > MAX_WALKED {
                return found;
            }
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && !guard::is_filled(&entry.file_name()) {
                folders.push_back(entry.path());
            } else if !kind.is_dir() && secrets::is_secret(&entry.path()) {
                found.push(entry.path());
            }
        }
    }
    found
}

/// Whether a path is that of settings of askls, wherever it lies.
pub fn names_settings(path: &Path) -> bool {
    guard::is_settings_file(path)
}

/// Whether git in this folder could run programs that the repository's own settings name: a file system monitor, filters,
/// a diff program. `false` only for a repository whose settings are plain, and where there is none.
pub fn git_may_run_programs(folder: &Path) -> bool {
    for folder in folder.ancestors() {
        // A folder that is itself a repository without files beside it.
        if folder.join("HEAD").exists() && folder.join("objects").exists() {
            return true;
        }
        let repository = folder.join(".git");
        match fs::symlink_metadata(&repository) {
            Err(_) => {}
            Ok(metadata) if metadata.is_dir() => {
                return !is_whole(&repository)
                    || !is_plain(&repository.join("config"))
                    || may_hold_others(&repository);
            }
            // The repository is elsewhere.
            Ok(_) => return true,
        }
    }
    false
}

/// Whether git takes a folder for a repository, with its settings there and nowhere else, and without a program that runs
/// when git only looks. Past any other git goes on up, where other settings count.
fn is_whole(repository: &Path) -> bool {
    let head = fs::read_to_string(repository.join("HEAD")).unwrap_or_default();
    let is_hash = |text: &str| text.len() >= 40 && text.chars().all(|c| c.is_ascii_hexdigit());
    let has_head = head.starts_with("ref: refs/") || is_hash(head.trim());
    let is_there = |name: &str| fs::symlink_metadata(repository.join(name)).is_ok();
    let is_folder = |name: &str| repository.join(name).is_dir();
    has_head
        && is_folder("objects")
        && is_folder("refs")
        && !["commondir", "config.worktree", "hooks/post-index-change"].into_iter().any(is_there)
}

/// Parts of git's settings that name programs or further settings.
const RUNNING_SETTINGS: &[&str] = &[
    "fsmonitor",
    "textconv",
    "external",
    "command",
    "include",
    "alias",
    "pager",
    "program",
    "filter",
    "hookspath",
    "sshcommand",
    "gitproxy",
    "editor",
    "askpass",
    "helper",
    "worktreeconfig",
    "driver",
    "browser",
    "trailer",
    "uploadpack",
    "promisor",
    "partialclone",
];

/// Bytes of the longest index that is looked through: that of some hundred thousand files.
const MAX_INDEX_BYTES: u64 = 32 << 20;

/// How an index has the mode of an entry that is a repository of its own.
const GITLINK: &[u8] = &[0, 0, 0xe0, 0];

/// Whether there may be repositories inside this one, into which git goes, and where their own settings count.
fn may_hold_others(repository: &Path) -> bool {
    let index = repository.join("index");
    let Ok(metadata) = fs::metadata(&index) else { return false };
    let is_readable = metadata.is_file() && metadata.len() <= MAX_INDEX_BYTES;
    let Some(bytes) = is_readable.then(|| fs::read(&index).ok()).flatten() else { return true };
    let is_split = memchr::memmem::find(&bytes, b"link").is_some()
        && fs::read_dir(repository)
            .into_iter()
            .flatten()
            .flatten()
            .any(|entry| entry.file_name().to_string_lossy().starts_with("sharedindex"));
    is_split || memchr::memmem::find(&bytes, GITLINK).is_some()
}

fn is_plain(config: &Path) -> bool {
    let is_small = fs::metadata(config).is_ok_and(|file| file.is_file() && file.len() <= MAX_CONFIG_BYTES);
    let Some(text) = is_small.then(|| fs::read_to_string(config).ok()).flatten() else { return false };
    let text = text.to_ascii_lowercase();
    !RUNNING_SETTINGS.iter().any(|setting| text.contains(setting))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::workspace::Workspace;

    fn project(files: &[(&str, &str)]) -> (tempfile::TempDir, TurnFiles, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("project");
        fs::create_dir_all(&root).unwrap();
        for (path, text) in files {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), text).unwrap();
        }
        let files = TurnFiles::new(Arc::new(Workspace::new(vec![root.clone()])));
        (dir, files, root)
    }

    fn nature(files: &TurnFiles, folder: &Path, word: &str) -> Option<(String, Nature)> {
        match files.place_in(folder, word) {
            Place::Outside { .. } => None,
            Place::Inside { relative, nature, .. } => Some((relative.display().to_string(), nature)),
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_word_is_where_the_system_finds_it() {
        let (dir, files, root) = project(&[("src/a.rs", ""), (".env", ""), (".git/config", "")]);
        fs::create_dir_all(dir.path().join("other/deep")).unwrap();
        std::os::unix::fs::symlink(dir.path().join("other/deep"), root.join("link")).unwrap();
        std::os::unix::fs::symlink(".env", root.join("notes")).unwrap();
        let at = |folder: &str, word: &str| nature(&files, &root.join(folder), word);
        assert_eq!(at("src", "../src/a.rs"), Some(("src/a.rs".to_owned(), Nature::Plain)));
        assert_eq!(at("src", "../../x"), None);
        assert_eq!(at("", "/etc/passwd"), None);
        // By the text it would be `src`; the system goes up from where the link leads.
        assert_eq!(at("", "link/../src"), None);
        assert_eq!(at("", "notes").map(|(_, nature)| nature), Some(Nature::Secret));
        assert_eq!(at("", ".git/hooks/x").map(|(_, nature)| nature), Some(Nature::Protected));
        assert_eq!(at("", ".vscode/tasks.json").map(|(_, nature)| nature), Some(Nature::RunUnasked));
    }

    #[test]
    fn without_a_root_only_what_is_open_is_no_place_outside() {
        let (_dir, _, root) = project(&[("open.txt", ""), ("closed.txt", "")]);
        let files = TurnFiles::new(Arc::default());
        let (open, closed) = (root.join("open.txt"), root.join("closed.txt"));
        files.workspace().overlay().open(&paths::to_uri(&open), "text", 1, String::new());
        let at = |path: &Path| files.place_of_argument(path.to_str().unwrap());
        let nature = Nature::Plain;
        assert_eq!(at(&open), Some(Place::Inside { real: open.clone(), relative: open.clone(), nature }));
        assert_eq!(at(&closed), Some(Place::Outside { real: closed.clone(), nature }));
        // The one that is named by its end is open.
        assert_eq!(at(Path::new("open.txt")), at(&open));
        assert_eq!(at(Path::new("closed.txt")), None);
        files.let_in(crate::workspace::Purpose::Read, &closed);
        let read = files.resolve_to_read(closed.to_str().unwrap()).map(|file| file.to_string());
        assert_eq!(read, Ok(closed.display().to_string()));
    }

    #[test]
    fn a_call_is_about_the_innermost_root_around_its_place() {
        let (_dir, _, root) = project(&[("app/src/a.rs", ""), ("docs/b.md", "")]);
        let (app, beside) = (root.join("app"), root.join("beside"));
        fs::create_dir_all(&beside).unwrap();
        let roots = vec![beside.clone(), root.clone(), app.clone()];
        let files = TurnFiles::new(Arc::new(Workspace::new(roots)));
        let at = |place: &Path| files.root_of(place.to_str());
        assert_eq!(files.root_of(None), Some(beside.clone()));
        assert_eq!(files.root_of(Some("app")), Some(app.clone()));
        assert_eq!(at(&root.join("docs/b.md")), Some(root.clone()));
        assert_eq!(at(&app.join("src/new.rs")), Some(app));
        assert_eq!(at(&beside.join("x/y")), Some(beside));
        assert_eq!(at(Path::new("/")), None);
    }

    #[test]
    fn files_with_secrets_are_found_but_in_what_tools_fill() {
        let (_dir, _, root) = project(&[
            ("web/.env", ""),
            (".env", ""),
            ("src/a.rs", ""),
            ("node_modules/x/.env", ""),
            ("tls/server.pem", "hush"),
        ]);
        let mut found = secrets_below(std::slice::from_ref(&root));
        assert_eq!(found.first(), Some(&root.join(".env")));
        found.sort();
        assert_eq!(found, [".env", "tls/server.pem", "web/.env"].map(|path| root.join(path)));
    }

    #[test]
    fn secrets_below_a_folder_are_found() {
        let (_dir, _, root) = project(&[
            ("src/a.rs", ""),
            ("web/.env", ""),
            ("tls/server.pem", "hush"),
            ("let-in/.env", ""),
            ("let-in/.ignore", "!.env\n"),
        ]);
        for (folder, below, shown) in [
            ("src", Below::All, false),
            ("web", Below::All, true),
            ("web", Below::Visible, false),
            ("tls", Below::Visible, true),
            ("tls", Below::None, false),
            ("let-in", Below::Visible, true),
        ] {
            assert_eq!(shows_secrets(&root.join(folder), below), shown, "{folder}");
        }
    }

    #[test]
    fn only_a_repository_with_plain_settings_runs_nothing() {
        let plain = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = x\n";
        let (_dir, _, root) = project(&[
            ("a/.git/config", plain),
            ("a/deep/x", ""),
            ("b/.git/config", "[core]\nFSMonitor = x\n"),
            ("c/.git", "gitdir: x"),
            ("e/.git/config", plain),
            ("e/.git/index", "DIRC\0\0\u{0}src"),
            ("f/.git/config", plain),
            ("f/.git/commondir", "../other"),
            ("g/.git/config", plain),
            ("g/.git/hooks/post-index-change", "evil"),
            ("h/.git/config", "[remote \"x\"]\n\tuploadpack = evil\n"),
            ("d/HEAD", ""),
            ("d/objects/x", ""),
        ]);
        for folder in ["a", "b", "e", "f", "g", "h"] {
            let repository = root.join(folder).join(".git");
            fs::create_dir_all(repository.join("objects")).unwrap();
            fs::create_dir_all(repository.join("refs")).unwrap();
            fs::write(repository.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        }
        assert!(!git_may_run_programs(&root.join("a/deep")));
        assert!(!git_may_run_programs(&root.join("e")));
        // Without a head git goes on to the folder above.
        fs::remove_file(root.join("a/.git/HEAD")).unwrap();
        assert!(git_may_run_programs(&root.join("a/deep")));
        fs::write(root.join("e/.git/index"), [b"DIRC", GITLINK].concat()).unwrap();
        for folder in ["b", "c", "d", "e", "f", "g", "h"] {
            assert!(git_may_run_programs(&root.join(folder)), "{folder}");
        }
    }
}
