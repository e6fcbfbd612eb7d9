//! What the policy has to know of the disk.

use std::path::{Path, PathBuf};

use crate::{
    tools::run_command::{git_names, sandbox, search_path},
    workspace::{
        TurnFiles, bounded, expand, git_index,
        place::{Below, Nature, Place, any_below, git_may_run_programs, shows_secrets, shows_secrets_in},
    },
};

use super::scripts::MAX_SCRIPT_BYTES;

/// Answers questions about places; nothing of it changes anything.
pub trait Ground {
    /// The folder that a call names; `None` is the first of the workspace.
    fn folder(&self, path: Option<&str>) -> Option<PathBuf>;

    /// The place of a path as an argument of a tool spells it; `None` for what is no file.
    fn place_of_argument(&self, path: &str) -> Option<Place>;

    /// The place of a word of a command that runs in `folder`.
    fn place_in(&self, folder: &Path, word: &str) -> Place;

    fn shows_secrets(&self, path: &Path, below: Below) -> bool;

    fn git_may_run_programs(&self, folder: &Path) -> bool;

    /// Whether git in this folder tracks a file with secrets, or may do so.
    fn git_may_show_secrets(&self, folder: &Path) -> bool;

    /// Whether below a place a command would be shown a file with secrets that the sandbox does not look for, of those whose paths
    /// are `read`.
    fn shows_unhidden(&self, path: &Path, below: Below, read: &dyn Fn(&Path) -> bool) -> bool;

    /// Whether something below a folder `fits`, by its path from there: `true` too where there is more than can be looked
    /// through.
    fn any_below(&self, folder: &Path, fits: &dyn Fn(&Path) -> bool) -> bool;

    /// The files whose names git in this folder prints for these words; `None` where they are not to be had, or too many.
    fn git_names(&self, folder: &Path, words: &[String]) -> Option<Vec<PathBuf>>;

    /// All that a shell in `folder` could put in the place of a word; `None` when that is too much.
    fn expand(&self, folder: &Path, word: &str) -> Option<Vec<String>>;

    /// The folders of the workspace that lie below a place outside of it.
    fn roots_below(&self, real: &Path) -> Vec<PathBuf>;

    /// The folder that a shell puts in the place of `~` and `$HOME`, where it is known.
    fn home(&self) -> Option<PathBuf>;

    /// What a word of a command in `folder` names.
    fn kind(&self, folder: &Path, word: &str) -> Kind;

    /// Where in the workspace the program of that name lies, if a command that names it runs one of the workspace.
    fn own_program(&self, name: &str) -> Option<String>;

    /// The text of a small file of the workspace that a command in `folder` would run.
    fn script(&self, folder: &Path, word: &str) -> Option<String>;
}

/// What there is at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Nothing,
    File,
    Folder,
}

impl Ground for TurnFiles {
    fn folder(&self, path: Option<&str>) -> Option<PathBuf> {
        Self::folder(self, path)
    }

    fn place_of_argument(&self, path: &str) -> Option<Place> {
        Self::place_of_argument(self, path)
    }

    fn place_in(&self, folder: &Path, word: &str) -> Place {
        Self::place_in(self, folder, word)
    }

    fn shows_secrets(&self, path: &Path, below: Below) -> bool {
        shows_secrets(path, below)
    }

    fn git_may_run_programs(&self, folder: &Path) -> bool {
        git_may_run_programs(folder)
    }

    fn git_may_show_secrets(&self, folder: &Path) -> bool {
        git_index::may_show_secrets(folder)
    }

    fn shows_unhidden(&self, path: &Path, below: Below, read: &dyn Fn(&Path) -> bool) -> bool {
        let left_out = sandbox::not_looked_through(&self.workspace().roots());
        shows_secrets_in(path, below, &left_out, read)
    }

    fn any_below(&self, folder: &Path, fits: &dyn Fn(&Path) -> bool) -> bool {
        any_below(folder, fits)
    }

    fn git_names(&self, folder: &Path, words: &[String]) -> Option<Vec<PathBuf>> {
        // What it would run is not asked for its names either, nor is a git of the project.
        let is_own = || self.own_program("git").is_some();
        if git_may_run_programs(folder) || is_own() { None } else { git_names(folder, words) }
    }

    fn expand(&self, folder: &Path, word: &str) -> Option<Vec<String>> {
        expand::names(folder, word)
    }

    fn roots_below(&self, real: &Path) -> Vec<PathBuf> {
        self.workspace().roots().into_iter().filter(|root| root.starts_with(real)).collect()
    }

    fn home(&self) -> Option<PathBuf> {
        self.surroundings().home().map(Path::to_owned)
    }

    fn kind(&self, folder: &Path, word: &str) -> Kind {
        match folder.join(word).metadata() {
            Ok(metadata) if metadata.is_dir() => Kind::Folder,
            Ok(metadata) if metadata.is_file() => Kind::File,
            _ => Kind::Nothing,
        }
    }

    fn own_program(&self, name: &str) -> Option<String> {
        found_inside(self, &search_path(), name)
    }

    fn script(&self, folder: &Path, word: &str) -> Option<String> {
        let Place::Inside { real, nature: Nature::Plain | Nature::RunUnasked, .. } =
            self.place_in(folder, word)
        else {
            return None;
        };
        // What the disk has is what runs.
        let bytes = bounded::read(&real, MAX_SCRIPT_BYTES).ok()?;
        String::from_utf8(bytes).ok()
    }
}

/// The program of that name as a shell finds it in these folders, when it lies in the workspace, or in a folder that does. A
/// folder of the project that comes first, as `node_modules/.bin` often does, has the project decide what `ls` is. What a
/// user's own shell makes of `PATH` before it runs the command is not seen.
fn found_inside(files: &TurnFiles, folders: &[PathBuf], name: &str) -> Option<String> {
    let folder = folders.iter().find(|folder| is_program(&folder.join(name)))?;
    let place = |word: &str| match files.place_in(folder, word) {
        Place::Inside { relative, .. } => Some(relative),
        Place::Outside { .. } => None,
    };
    let program = place(name).or_else(|| Some(place(".")?.join(name)))?;
    Some(program.display().to_string())
}

/// Whether a shell would run a file: it passes over those that cannot be run.
fn is_program(path: &Path) -> bool {
    #[cfg(unix)]
    let can_run =
        |file: &std::fs::Metadata| std::os::unix::fs::PermissionsExt::mode(&file.permissions()) & 0o111 != 0;
    #[cfg(not(unix))]
    let can_run = |_: &std::fs::Metadata| true;
    path.metadata().is_ok_and(|file| file.is_file() && can_run(&file))
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _, sync::Arc};

    use super::*;
    use crate::workspace::Workspace;

    #[test]
    fn a_program_is_the_workspaces_own_when_a_shell_finds_it_there_first() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (project, bin) = (root.join("project"), root.join("bin"));
        let own = project.join("node_modules/.bin");
        let make = |path: PathBuf, mode: u32| {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        };
        for name in ["ls", "cat", "wc"] {
            make(bin.join(name), 0o755);
        }
        make(own.join("ls"), 0o755);
        make(own.join("cat"), 0o644);
        make(project.join("tools/head"), 0o755);
        std::os::unix::fs::symlink(project.join("tools/head"), bin.join("head")).unwrap();
        std::os::unix::fs::symlink(bin.join("wc"), own.join("wc")).unwrap();
        std::os::unix::fs::symlink(&own, root.join("linked")).unwrap();
        let files = TurnFiles::new(Arc::new(Workspace::new(vec![project])));
        let found = |folders: &[&PathBuf], name| {
            let folders: Vec<PathBuf> = folders.iter().copied().cloned().collect();
            found_inside(&files, &folders, name)
        };
        let of_project = |name: &str| Some(format!("node_modules/.bin/{name}"));
        assert_eq!(found(&[&own, &bin], "ls"), of_project("ls"));
        assert_eq!(found(&[&root.join("linked"), &bin], "ls"), of_project("ls"));
        assert_eq!(found(&[&bin, &own], "ls"), None);
        // It cannot be run.
        assert_eq!(found(&[&own, &bin], "cat"), None);
        // Through a link the project's own; a link in the project, which a command may put elsewhere.
        assert_eq!(found(&[&bin], "head"), Some("tools/head".to_owned()));
        assert_eq!(found(&[&own, &bin], "wc"), of_project("wc"));
        assert_eq!(found(&[&own, &bin], "no-such-program"), None);
    }
}
