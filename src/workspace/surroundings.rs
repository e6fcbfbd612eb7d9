//! What of a machine is nobody's business, whatever the user allows outside of the workspace: keys, histories and
//! profiles of the home folder, askls' own settings and records, and what is of the running system and only looks like
//! files.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use super::{guard, paths};

/// Folders whose files are made by the kernel as they are read. Temporary files lie in one of them.
const OF_SYSTEM: &[&str] = &["/proc", "/sys", "/dev"];
const NOT_OF_SYSTEM: &str = "/dev/shm";

/// The folders that say what lies around the workspace. Without any, names alone tell secrets. Clones share what was found
/// out.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    home: Option<PathBuf>,
    private: Vec<PathBuf>,
    /// By their parts. Looked for when it is first asked about: most turns never leave their workspace.
    withheld: Arc<OnceLock<BTreeSet<Vec<String>>>>,
}

impl Surroundings {
    /// `private` are the folders with settings of askls and with what it remembers.
    pub fn new(home: Option<PathBuf>, private: Vec<PathBuf>) -> Self {
        Self { home, private, withheld: Arc::default() }
    }

    /// The user's home folder, where it is known.
    pub(crate) fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Whether a place outside the workspace, links followed, is withheld whatever is allowed. The case of letters does not
    /// count: some systems do not tell it.
    pub(crate) fn withhold(&self, real: &Path) -> bool {
        let withheld = self.withheld.get_or_init(|| self.look());
        let parts = guard::plain_parts(real);
        (1..=parts.len()).any(|end| parts.get(..end).is_some_and(|above| withheld.contains(above)))
    }

    /// Each place as it is called, and where links lead from there.
    fn look(&self) -> BTreeSet<Vec<String>> {
        let of_home = guard::SECRETS_OF_HOME.iter().chain(guard::SECRETS_OF_OTHER_HOMES);
        let of_home = of_home.filter_map(|secret| Some(self.home.as_ref()?.join(secret)));
        let of_machine = guard::SECRETS_OF_MACHINE.iter().map(PathBuf::from);
        let places = of_home.chain(of_machine).chain(self.private.iter().cloned());
        let places = places.flat_map(|place| [paths::real(&place).unwrap_or_else(|_| place.clone()), place]);
        places.map(|place| guard::plain_parts(&place)).collect()
    }

    /// Whether a place is of the running system and holds no files.
    pub(crate) fn are_of_system(real: &Path) -> bool {
        OF_SYSTEM.iter().any(|folder| real.starts_with(folder)) && !real.starts_with(NOT_OF_SYSTEM)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn keys_histories_and_own_settings_are_withheld_by_every_way_to_them() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let home = dir.join("home");
        std::fs::create_dir_all(dir.join("vault/ssh")).unwrap();
        std::fs::create_dir(&home).unwrap();
        std::os::unix::fs::symlink(dir.join("vault/ssh"), home.join(".ssh")).unwrap();
        let surroundings = Surroundings::new(Some(home), vec![dir.join("state/askls")]);
        for place in [
            "home/.ssh",
            "vault/ssh/config",
            "home/.bash_history",
            "home/.Mozilla/firefox/x",
            "state/askls/a/b.json",
            "home/Library/Keychains/login.keychain-db",
        ] {
            assert!(surroundings.withhold(&dir.join(place)), "{place}");
        }
        for place in ["home", "home/.bashrc", "home/.sshx", "state/askls2", "vault", "home/notes/.ssh.md"] {
            assert!(!surroundings.withhold(&dir.join(place)), "{place}");
        }
        assert!(surroundings.withhold(Path::new("/etc/shadow")));
    }

    #[test]
    fn what_the_kernel_makes_is_no_file_but_temporary_files_are() {
        let is = |place: &str| Surroundings::are_of_system(Path::new(place));
        assert_eq!(
            ["/proc/1/environ", "/sys/x", "/dev/zero", "/dev/shm/a", "/process", "/etc/hosts"].map(is),
            [true, true, true, false, false, false]
        );
    }
}
