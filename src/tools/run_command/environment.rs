//! What a command sees of askls' environment: everything but secrets.

use std::{
    ffi::{OsStr, OsString},
    path::PathBuf,
};

use tokio::process::Command;

/// Names that are hidden by how they begin.
const HIDDEN_STARTS: [&str; 3] = ["OPENAI_", "ANTHROPIC_", "ASKLS_"];

/// Names that are hidden when a word of them is one of these. `_` and the like stand between words, and a number behind
/// a word does not count.
const HIDDEN_WORDS: [&str; 13] = [
    "KEY", "KEYS", "TOKEN", "TOKENS", "PWD", "PW", "PAT", "JWT", "AUTH", "BEARER", "CREDS", "CRED", "COOKIE",
];

/// Names that are hidden when a word of them begins or ends so: `PASSWORDS`, `DBPASS`, `GHTOKEN`.
const HIDDEN_WORD_STARTS: [&str; 3] = ["PASS", "CREDENTIAL", "APIKEY"];
const HIDDEN_WORD_ENDS: [&str; 4] = ["PASS", "TOKEN", "APIKEY", "CREDENTIALS"];

/// Names that are hidden wherever this stands in them.
const HIDDEN_PARTS: [&str; 4] = ["SECRET", "PASSWORD", "PASSWD", "PASSPHRASE"];

/// Names that would be hidden and hold no secret, but what programs need.
const SHOWN: [&str; 3] = ["PWD", "OLDPWD", "SSH_AUTH_SOCK"];

/// Names by which a shell or a program reads a file first, or finds folders elsewhere: a command line would mean something
/// else than what it was judged by. An editor that git started, or that was opened for files of the home folder, has those of
/// git.
const MISLEADING: [&str; 14] = [
    "CDPATH",
    "BASH_ENV",
    "ENV",
    "RIPGREP_CONFIG_PATH",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_EXTERNAL_DIFF",
    "GIT_TRACE",
    "GIT_CONFIG",
];

/// How the names of functions begin that bash takes from its environment.
const BASH_FUNCTION: &str = "BASH_FUNC_";

/// A word of names that lead to a program that asks the user for a password.
const ASKS: &str = "ASKPASS";

/// Settings that keep programs from waiting for a person: no pager, no question, no colours.
const PLAIN: [(&str, &str); 5] = [
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// The one place outside the settings that looks at the environment: at the names in it, at whether a value has a password, and at
/// the folders of `PATH`.
pub(in crate::tools) fn prepare(command: &mut Command, hidden_variable: Option<&str>) {
    hide(command, std::env::vars_os());
    if let Some(name) = hidden_variable {
        command.env_remove(name);
    }
    if let Some(path) = std::env::var_os("PATH").and_then(|path| absolute_only(&path)) {
        command.env("PATH", path);
    }
    command.envs(PLAIN);
}

/// The folders in which a command looks for its programs, in their order.
pub(crate) fn search_path() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).filter(|folder| folder.is_absolute()).collect()
}

fn hide(command: &mut Command, variables: impl Iterator<Item = (OsString, OsString)>) {
    for (name, value) in variables {
        let text = name.to_string_lossy();
        if is_secret(&text) || is_misleading(&text) || is_secret_place(&text, &value.to_string_lossy()) {
            command.env_remove(&name);
        }
    }
}

fn is_misleading(name: &str) -> bool {
    MISLEADING.contains(&name) || name.starts_with(BASH_FUNCTION)
}

/// Whether the value is an address with a password in it (`DATABASE_URL`). Without those of proxies nothing would reach the network.
fn is_secret_place(name: &str, value: &str) -> bool {
    has_password(value) && !name.to_uppercase().ends_with("_PROXY")
}

fn has_password(value: &str) -> bool {
    let Some((_, rest)) = value.split_once("://") else { return false };
    let place = rest.split(['/', '?', '#', ' ']).next().unwrap_or_default();
    let user = place.rsplit_once('@').map(|(user, _)| user);
    user.and_then(|user| user.split_once(':')).is_some_and(|(_, password)| !password.is_empty())
}

/// A search path without what depends on the folder that a command runs in: there, a project's own `ls` would be `ls`.
/// `None` when there is nothing to leave out.
fn absolute_only(path: &OsStr) -> Option<OsString> {
    let folders: Vec<_> = std::env::split_paths(path).collect();
    let kept: Vec<_> = folders.iter().filter(|folder| folder.is_absolute()).collect();
    if kept.len() == folders.len() {
        return None;
    }
    std::env::join_paths(kept).ok()
}

fn is_secret(name: &str) -> bool {
    HIDDEN_STARTS.iter().any(|start| name.to_uppercase().starts_with(start)) || holds_key(name)
}

/// Whether a variable of this name holds a key or a password.
pub(crate) fn holds_key(name: &str) -> bool {
    let name = name.to_uppercase();
    if SHOWN.contains(&name.as_str()) {
        return false;
    }
    let is_secret_word = |word: &str| {
        let word = word.trim_end_matches(|c: char| c.is_ascii_digit());
        let is_hidden = HIDDEN_WORDS.contains(&word)
            || HIDDEN_WORD_STARTS.iter().any(|start| word.starts_with(start))
            || HIDDEN_WORD_ENDS.iter().any(|end| word.ends_with(end));
        is_hidden && word != ASKS
    };
    HIDDEN_PARTS.iter().any(|part| name.contains(part))
        || name.split(|c: char| !c.is_alphanumeric()).any(is_secret_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_look_like_keys_are_secret() {
        for name in [
            "OPENAI_BASE_URL",
            "ASKLS_API_KEY",
            "Github_Token",
            "TOKEN",
            "DB_PASSWORD",
            "aws_secret_x",
            "GITHUB_TOKEN_RO",
            "HF_TOKEN_2",
            "HF_TOKEN2",
            "TOKEN_X",
            "API_KEY_2",
            "APIKEY_PROD",
            "STRIPE_KEY_LIVE",
            "PRIVATE_KEY_PEM",
            "KEY",
            "MYSQL_PWD",
            "FTP_PW",
            "DB_PASS",
            "DBPASS",
            "GOOGLE_CREDENTIALS",
            "AZURE_CLIENT_CREDENTIAL",
            "JWT",
            "NPM_CONFIG__AUTH",
            "GITHUB_PAT",
            "GHTOKEN",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in [
            "PATH",
            "HOME",
            "PWD",
            "OLDPWD",
            "SSH_AUTH_SOCK",
            "SSH_ASKPASS",
            "VSCODE_GIT_ASKPASS_MAIN",
            "KEYBOARD",
            "TOKENIZERS_PARALLELISM",
            "MONKEY",
            "XAUTHORITY",
            "COMPATIBLE",
            "PATTERN",
            "",
        ] {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn the_variable_of_the_key_is_hidden_whatever_its_name() {
        let mut command = Command::new("env");
        prepare(&mut command, Some("MODEL_PASS"));
        assert!(command.as_std().get_envs().any(|change| change == ("MODEL_PASS".as_ref(), None)));
    }

    #[test]
    fn a_command_does_not_inherit_what_makes_it_mean_something_else() {
        let mut command = Command::new("env");
        let names = [
            "BASH_ENV",
            "BASH_FUNC_ls%%",
            "BASH",
            "CDPATH",
            "ENV",
            "ENVIRONMENT",
            "GIT_DIR",
            "GIT_AUTHOR_NAME",
        ];
        hide(&mut command, names.map(|name| (name.into(), OsString::new())).into_iter());
        let removed: Vec<_> = command.as_std().get_envs().map(|(name, _)| name.to_owned()).collect();
        assert_eq!(removed, ["BASH_ENV", "BASH_FUNC_ls%%", "CDPATH", "ENV", "GIT_DIR"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_search_path_has_no_folder_that_depends_on_where_a_command_runs() {
        for (path, kept) in
            [("/bin:.:/usr/bin", Some("/bin:/usr/bin")), ("/bin::bin", Some("/bin")), ("/bin:/usr/bin", None)]
        {
            assert_eq!(absolute_only(path.as_ref()), kept.map(OsString::from), "{path}");
        }
    }

    #[test]
    fn an_address_with_a_password_is_a_secret_whatever_its_name() {
        for value in ["postgres://app:hunter2@db/app", "redis://:hunter2@localhost:6379/0"] {
            assert!(has_password(value), "{value}");
        }
        for value in ["http://proxy:3128", "https://user@host/x", "/usr/bin:/bin", "ssh://git@host:22/a@b:c"]
        {
            assert!(!has_password(value), "{value}");
        }
    }

    #[test]
    fn a_command_does_not_inherit_secrets() {
        let mut command = Command::new("env");
        hide(&mut command, ["MY_KEY", "PATH"].map(|name| (name.into(), OsString::new())).into_iter());
        let changes: Vec<_> = command.as_std().get_envs().collect();
        assert_eq!(changes, [("MY_KEY".as_ref(), None)]);
    }
}
