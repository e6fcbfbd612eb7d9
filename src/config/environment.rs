//! The process's environment, read once; tests make their own.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fmt,
    path::{Path, PathBuf},
};

use secrecy::SecretString;

use crate::{
    tools::run_command::{holds_key, sandbox::Launcher},
    workspace::keys::KnownKeys,
};

/// The variables of the process as they were at its start. Variables that are empty count as not set.
#[derive(Clone, Default)]
pub struct Environment {
    variables: BTreeMap<OsString, OsString>,
    /// What starts commands in a sandbox; nothing where the process is not askls itself.
    launcher: Option<Launcher>,
    /// The keys among the values, and those that are found out later.
    known_keys: KnownKeys,
}

impl Environment {
    /// Reads the process's variables.
    pub fn capture() -> Self {
        Self::from_pairs(std::env::vars_os())
    }

    pub fn from_pairs<K: Into<OsString>, V: Into<OsString>>(pairs: impl IntoIterator<Item = (K, V)>) -> Self {
        let variables: BTreeMap<OsString, OsString> =
            pairs.into_iter().map(|(name, value)| (spelling(name.into()), value.into())).collect();
        let known_keys = KnownKeys::default();
        for (name, value) in &variables {
            if holds_key(&name.to_string_lossy()) {
                known_keys.add(&value.to_string_lossy());
            }
        }
        Self { variables, launcher: None, known_keys }
    }

    /// The same with what starts commands in a sandbox.
    #[must_use]
    pub fn with_launcher(self, launcher: Launcher) -> Self {
        Self { launcher: Some(launcher), ..self }
    }

    /// What is never to be logged or shown.
    pub fn known_keys(&self) -> &KnownKeys {
        &self.known_keys
    }

    pub fn launcher(&self) -> Option<&Launcher> {
        self.launcher.as_ref()
    }

    /// The user's folder for files of a while, if it is another than the system's.
    pub fn temporary_folder(&self) -> Option<PathBuf> {
        self.folder("TMPDIR")
    }

    /// The files that git reads for settings in every repository, besides those of the home folder.
    pub fn git_settings(&self) -> Vec<PathBuf> {
        let of_user = self.folder("XDG_CONFIG_HOME").map(|folder| folder.join("git/config"));
        let of_system = self.folder("GIT_CONFIG_SYSTEM").unwrap_or_else(|| "/etc/gitconfig".into());
        of_user.into_iter().chain(self.folder("GIT_CONFIG_GLOBAL")).chain([of_system]).collect()
    }

    /// The folder in which programs of the user's desktop have their sockets.
    pub fn runtime_folder(&self) -> Option<PathBuf> {
        self.folder("XDG_RUNTIME_DIR")
    }

    /// The trimmed value; `None` when it is not set, empty, or no Unicode.
    pub fn text(&self, name: &str) -> Option<&str> {
        let text = self.raw(name)?.to_str()?.trim();
        if text.is_empty() { None } else { Some(text) }
    }

    /// Whether it is set to something that is no Unicode.
    pub fn is_garbled(&self, name: &str) -> bool {
        self.raw(name).is_some_and(|value| value.to_str().is_none())
    }

    /// Like [`Environment::text`], for what must not be shown.
    pub fn secret(&self, name: &str) -> Option<SecretString> {
        let secret = self.text(name)?;
        self.known_keys.add(secret);
        Some(SecretString::from(secret))
    }

    /// The user's settings file, whether it exists or not; `None` when the platform's variables name no folder.
    pub fn user_file(&self) -> Option<PathBuf> {
        let folder = if cfg!(windows) {
            self.folder("APPDATA")
        } else {
            self.folder("XDG_CONFIG_HOME").or_else(|| {
                let below_home =
                    if cfg!(target_os = "macos") { "Library/Application Support" } else { ".config" };
                Some(self.home()?.join(below_home))
            })
        };
        Some(folder?.join("askls").join("config.toml"))
    }

    /// The folder for files that may be deleted at any time, whether it exists or not.
    pub fn cache_folder(&self) -> Option<PathBuf> {
        let folder = if cfg!(windows) {
            self.folder("LOCALAPPDATA")
        } else {
            self.folder("XDG_CACHE_HOME").or_else(|| {
                let below_home = if cfg!(target_os = "macos") { "Library/Caches" } else { ".cache" };
                Some(self.home()?.join(below_home))
            })
        };
        Some(folder?.join("askls"))
    }

    /// The folder for what askls remembers from run to run, whether it exists or not.
    pub fn state_folder(&self) -> Option<PathBuf> {
        let folder = if cfg!(windows) {
            self.folder("LOCALAPPDATA")
        } else {
            self.folder("XDG_STATE_HOME").or_else(|| {
                let below_home =
                    if cfg!(target_os = "macos") { "Library/Application Support" } else { ".local/state" };
                Some(self.home()?.join(below_home))
            })
        };
        Some(folder?.join("askls"))
    }

    pub fn home(&self) -> Option<PathBuf> {
        self.folder(if cfg!(windows) { "USERPROFILE" } else { "HOME" })
    }

    /// Whether the user asked for output without colours (see no-color.org: any value that is not empty).
    pub fn no_color(&self) -> bool {
        self.raw("NO_COLOR").is_some_and(|value| !value.is_empty())
    }

    /// What is logged, as `debug` or `askls::lsp=trace,warn`.
    pub fn log_filter(&self) -> Option<&str> {
        self.text("ASKLS_LOG")
    }

    fn raw(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(&spelling(name.into())).map(OsString::as_os_str)
    }

    /// Relative paths are ignored, as the XDG base directory specification asks: they would mean another folder in
    /// each working directory.
    fn folder(&self, name: &str) -> Option<PathBuf> {
        let path = Path::new(self.raw(name)?);
        path.is_absolute().then(|| path.to_owned())
    }
}

/// Windows does not tell `Path` from `PATH`.
fn spelling(name: OsString) -> OsString {
    if cfg!(windows) { name.to_ascii_uppercase() } else { name }
}

/// Names only: values may be secrets.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.variables.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Environment {
        Environment::from_pairs(pairs.iter().copied())
    }

    #[test]
    fn a_variable_that_is_empty_is_not_set() {
        let environment = environment(&[("ASKLS_MODEL", " \t"), ("ASKLS_WIRE", " chat\n"), ("NO_COLOR", "")]);
        assert_eq!(environment.text("ASKLS_MODEL"), None);
        assert_eq!(environment.text("ASKLS_WIRE"), Some("chat"));
        assert!(!environment.no_color());
    }

    #[cfg(all(unix, not(target_os = "macos")))]
    #[test]
    fn folders_are_where_the_platform_has_them() {
        let git = environment(&[("XDG_CONFIG_HOME", "/c"), ("GIT_CONFIG_GLOBAL", "/g")]);
        let files = ["/c/git/config", "/g", "/etc/gitconfig"].map(PathBuf::from);
        assert_eq!(git.git_settings(), files);
        let home = environment(&[("HOME", "/h")]);
        assert_eq!(home.user_file(), Some("/h/.config/askls/config.toml".into()));
        assert_eq!(home.cache_folder(), Some("/h/.cache/askls".into()));
        assert_eq!(home.state_folder(), Some("/h/.local/state/askls".into()));
        let xdg = environment(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "/c"), ("XDG_CACHE_HOME", "relative")]);
        assert_eq!(xdg.user_file(), Some("/c/askls/config.toml".into()));
        assert_eq!(xdg.cache_folder(), Some("/h/.cache/askls".into()));
        assert_eq!(environment(&[]).user_file(), None);
    }

    #[test]
    fn the_values_of_variables_are_not_shown() {
        assert_eq!(format!("{:?}", environment(&[("KEY", "sk-secret")])), r#"{"KEY"}"#);
    }
}
