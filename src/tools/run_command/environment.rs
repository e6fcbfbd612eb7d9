//! What a command sees of askls' environment: everything but secrets.

use std::ffi::OsString;

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

/// The one place outside the settings that looks at the environment, and only at the names in it.
pub(super) fn prepare(command: &mut Command, hidden_variable: Option<&str>) {
    hide(command, std::env::vars_os().map(|(name, _)| name));
    if let Some(name) = hidden_variable {
        command.env_remove(name);
    }
    command.envs(PLAIN);
}

fn hide(command: &mut Command, names: impl Iterator<Item = OsString>) {
    for name in names.filter(|name| is_secret(&name.to_string_lossy())) {
        command.env_remove(name);
    }
}

fn is_secret(name: &str) -> bool {
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
    HIDDEN_STARTS.iter().any(|start| name.starts_with(start))
        || HIDDEN_PARTS.iter().any(|part| name.contains(part))
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
    fn a_command_does_not_inherit_secrets() {
        let mut command = Command::new("env");
        hide(&mut command, ["MY_KEY", "PATH"].map(OsString::from).into_iter());
        let changes: Vec<_> = command.as_std().get_envs().collect();
        assert_eq!(changes, [("MY_KEY".as_ref(), None)]);
    }
}
