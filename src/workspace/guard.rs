//! Which files an agent does not touch: those that hold secrets, and those that steer version control or askls.

use std::{ffi::OsStr, path::Path};

/// Whether the file by its name, or by the folder it lies in, holds passwords or keys: nothing of it goes to a model.
/// Names count in any case, and a copy that an editor or a person put aside counts as the file itself.
pub(crate) fn is_secret(path: &Path) -> bool {
    let mut parts: Vec<String> = path.iter().map(plain).collect();
    let Some(name) = parts.pop() else { return false };
    let name = without_backup(&name);
    // The swap file of `a.pem` is `.a.pem.swp`, that of `.npmrc` has two dots.
    let swapped = name.strip_prefix('.').unwrap_or(name);
    let text = name.strip_suffix(".txt").unwrap_or(name);
    [name, swapped, text].iter().any(|name| is_secret_name(name, &parts))
}

/// The same of the buffer behind a URI that is no file's: a view of a file (`git:/p/.env?ref`), or a text that is to become
/// one (`untitled:/p/.env`), has that file's name as its path.
pub(crate) fn is_secret_buffer(uri: &str) -> bool {
    let Some((_, rest)) = uri.split_once(':') else { return false };
    let path = rest.split(['?', '#']).next().unwrap_or_default();
    is_secret(Path::new(&*percent_encoding::percent_decode_str(path).decode_utf8_lossy()))
}

/// `name` and the `folders` above it are in lower case.
fn is_secret_name(name: &str, folders: &[String]) -> bool {
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let last_word = name.rsplit(['.', '-', '_']).next().unwrap_or(name);
    let is_public_key = last_word == "pub" && !name.starts_with(".env");
    if PUBLIC_ENDINGS.contains(&last_word) || is_public_key {
        return false;
    }
    let is_in = |wanted: &str| folders.iter().any(|folder| folder == wanted);
    let folder = folders.last().map_or("", String::as_str);
    let is_code = CODE_EXTENSIONS.contains(&extension);
    let is_environment = name.strip_prefix(".env").is_some_and(|rest| {
        !rest.starts_with(char::is_alphabetic) || ENVIRONMENTS.iter().any(|kind| rest.starts_with(kind))
    });
    let mut words = stem.split(['.', '-', '_', ' ']);
    is_environment
        || SECRET_NAMES.contains(&name)
        || SECRET_EXTENSIONS.contains(&extension)
        || SECRET_PARTS.iter().any(|part| name.contains(part))
        || SECRET_IN_FOLDER.contains(&(folder, name))
        || SECRET_FOLDERS.iter().any(|secret| is_in(secret))
        || (is_in("gcloud") && is_in(".config"))
        || (is_in(".git") && name.starts_with("config"))
        || (DATA_EXTENSIONS.contains(&extension) && is_in("secrets"))
        || (DATA_EXTENSIONS.contains(&extension) && words.any(|word| SECRET_WORDS.contains(&word)))
        || (DATA_EXTENSIONS.contains(&extension) && SECRET_STEMS.iter().any(|secret| stem.contains(secret)))
        || (!is_code && PRIVATE_KEYS.iter().any(|key| name.starts_with(key)))
}

/// The name of the file of which this is a copy put aside: `.env` for `.env~`, `#.env#`, `.#.env`, `.env.bak`.
fn without_backup(name: &str) -> &str {
    let mut name = name;
    loop {
        let rest = name.trim_end_matches(['~', '#']).trim_start_matches('#');
        let rest = rest.strip_prefix(".#").unwrap_or(rest);
        let ending = rest.rsplit_once('.').filter(|(_, ending)| {
            // One of several: `.old2`, `.1`.
            let kind = ending.trim_end_matches(|c: char| c.is_ascii_digit());
            BACKUP_ENDINGS.contains(&kind) || (kind.is_empty() && !ending.is_empty())
        });
        let rest = ending.map_or(rest, |(rest, _)| rest);
        if rest.len() == name.len() || rest.is_empty() {
            return name;
        }
        name = rest;
    }
}

/// Of copies and of what packs them.
const BACKUP_ENDINGS: &[&str] = &[
    "bak", "backup", "old", "orig", "save", "saved", "copy", "tmp", "swp", "swo", "swn", "gz", "bz2", "xz",
    "zst", "zip", "gpg", "age", "enc",
];
/// What people write right behind `.env`.
const ENVIRONMENTS: &[&str] = &["prod", "dev", "local", "test", "stag", "secret", "backup", "old", "copy"];
/// Templates are written to be shared.
const PUBLIC_ENDINGS: &[&str] = &["example", "sample", "template", "dist"];
/// Programs that handle secrets are called after them.
const CODE_EXTENSIONS: &[&str] = &[
    "rs", "go", "py", "js", "mjs", "cjs", "ts", "jsx", "tsx", "vue", "c", "h", "cc", "cpp", "hpp", "cs",
    "java", "kt", "rb", "php", "swift", "scala", "ex", "exs", "hs", "ml", "zig", "lua", "el", "sh", "md",
    "rst", "html", "css",
];
const DATA_EXTENSIONS: &[&str] =
    &["json", "yaml", "yml", "toml", "ini", "conf", "cfg", "properties", "xml", "txt", "csv", "db", "sqlite"];
const SECRET_NAMES: &[&str] = &[
    ".envrc",
    ".netrc",
    "_netrc",
    ".git-credentials",
    ".pypirc",
    ".pgpass",
    "pgpass.conf",
    ".htpasswd",
    ".npmrc",
    ".yarnrc",
    ".vault-token",
    ".vault_pass",
    ".vault-pass",
    ".secrets",
    ".dockercfg",
    ".dockerconfigjson",
    ".s3cfg",
    ".boto",
    ".my.cnf",
    ".mylogin.cnf",
    ".terraformrc",
    ".smbcredentials",
    ".msmtprc",
    ".fetchmailrc",
    "rclone.conf",
    "kubeconfig",
];
const SECRET_EXTENSIONS: &[&str] = &[
    "env", "pem", "key", "p8", "p12", "pfx", "pkcs12", "jks", "jceks", "keystore", "keytab", "ppk", "kdb",
    "kdbx", "ovpn", "tfvars", "tfstate",
];
const SECRET_PARTS: &[&str] = &[".tfvars.", ".tfstate."];
const SECRET_FOLDERS: &[&str] = &[".ssh", ".gnupg", ".password-store", ".azure"];
const SECRET_IN_FOLDER: &[(&str, &str)] = &[
    (".aws", "credentials"),
    (".kube", "config"),
    (".docker", "config.json"),
    (".cargo", "credentials"),
    (".gem", "credentials"),
    ("gh", "hosts.yml"),
    ("glab-cli", "config.yml"),
    (".m2", "settings.xml"),
    (".gradle", "gradle.properties"),
    (".codex", "auth.json"),
];
/// A file of data with such a word in its name: `credentials.toml`, `app-secrets.yaml`.
const SECRET_WORDS: &[&str] = &["credential", "credentials", "secret", "secrets", "password", "passwords"];
/// The same for what is several words.
const SECRET_STEMS: &[&str] =
    &["service-account", "service_account", "serviceaccount", "application_default", "kubeconfig"];
/// People add a word behind: `id_rsa_work`.
const PRIVATE_KEYS: &[&str] = &["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_xmss"];

/// Where a user's keys, passwords and what was typed and visited lie below the home folder. A command may read the rest of
/// it: tools have their settings there.
pub(crate) const SECRETS_OF_HOME: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".password-store",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".pki",
    ".netrc",
    ".git-credentials",
    ".config/git/credentials",
    ".aws",
    ".azure",
    ".oci",
    ".kube",
    ".docker/config.json",
    ".config/containers/auth.json",
    ".config/gcloud",
    ".config/doctl",
    ".config/gh",
    ".config/hub",
    ".config/glab-cli",
    ".config/op",
    ".config/rclone",
    ".config/sops",
    ".config/age",
    ".terraform.d/credentials.tfrc.json",
    ".terraformrc",
    ".vault-token",
    ".boto",
    ".s3cfg",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".gradle/gradle.properties",
    ".pgpass",
    ".my.cnf",
    ".mylogin.cnf",
    ".Xauthority",
    ".codex/auth.json",
    ".claude/.credentials.json",
    ".claude.json",
    ".gemini/oauth_creds.json",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".node_repl_history",
    ".psql_history",
    ".mysql_history",
    ".mozilla",
    ".thunderbird",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
];

/// The same on other systems than Linux.
pub(crate) const SECRETS_OF_OTHER_HOMES: &[&str] = &[
    "Library/Keychains",
    "Library/Cookies",
    "Library/Safari",
    "Library/Mail",
    "Library/Messages",
    "Library/Application Support/Firefox",
    "Library/Application Support/Google/Chrome",
    "AppData/Roaming/Microsoft/Credentials",
    "AppData/Roaming/Microsoft/Protect",
    "AppData/Roaming/Microsoft/Windows/PowerShell/PSReadLine",
    "AppData/Roaming/Mozilla",
    "AppData/Local/Microsoft/Credentials",
    "AppData/Local/Microsoft/Edge",
    "AppData/Local/Google/Chrome",
];

/// The same of a machine, which the super-user can read.
pub(crate) const SECRETS_OF_MACHINE: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/ssl/private",
    "/etc/ssh/ssh_host_rsa_key",
    "/etc/ssh/ssh_host_ecdsa_key",
    "/etc/ssh/ssh_host_ed25519_key",
    "/run/secrets",
    "/var/run/secrets",
];

/// Whether tools fill a folder of this name with what is other people's and no secret: it is too large to be looked
/// through.
pub(crate) fn is_filled(folder: &OsStr) -> bool {
    FILLED_FOLDERS.iter().any(|filled| folder == *filled)
}

const FILLED_FOLDERS: &[&str] =
    &["node_modules", "target", ".venv", "venv", "__pycache__", "site-packages", ".tox", "bower_components"];

/// Whether a path relative to its root belongs to version control or to the agent's own settings: an edit there could
/// run programs or widen the agent's rights.
pub(crate) fn is_protected(relative: &Path) -> bool {
    relative.components().any(|component| PROTECTED_NAMES.contains(&plain(component.as_os_str()).as_str()))
}

/// Whether the absolute path is that of a file with settings of askls, the user's own or a project's: an edit there
/// could widen the agent's rights. By its name, wherever it lies: any folder may be where the user keeps settings, and
/// any may be opened as a root.
pub(crate) fn is_settings_file(disk: &Path) -> bool {
    let mut parts = disk.iter().rev().map(plain);
    parts.next().is_some_and(|name| name == "config.toml" || name == "projects.toml")
        && parts.next().is_some_and(|folder| folder == "askls" || folder == ".askls")
}

/// Whether the file is a notebook, which editors show as cells and not as the text that it is.
pub(crate) fn is_notebook(path: &Path) -> bool {
    path.file_name().is_some_and(|name| plain(name).ends_with(".ipynb"))
}

/// Whether editors or shells run what the file says when its folder is opened or entered, or change what they run.
pub(crate) fn is_run_unasked(path: &Path) -> bool {
    let parts: Vec<String> = path.iter().map(plain).collect();
    let is_named = parts.last().is_some_and(|name| {
        RUN_NAMES.contains(&name.as_str()) || name.ends_with(".code-workspace") || name.starts_with(".envrc")
    });
    let folder = parts.iter().rev().nth(1).map_or("", String::as_str);
    let is_in_folder = parts.last().is_some_and(|name| {
        RUN_IN_FOLDER.iter().any(|(place, ending)| folder == *place && name.ends_with(ending))
    });
    is_named || is_in_folder || parts.iter().any(|part| RUN_FOLDERS.contains(&part.as_str()))
}

const RUN_NAMES: &[&str] = &[
    ".nvim.lua",
    ".nvimrc",
    ".exrc",
    ".vimrc",
    ".lvimrc",
    ".dir-locals.el",
    ".dir-locals-2.el",
    ".bashrc",
    ".bash_aliases",
    ".bash_logout",
    ".bash_profile",
    ".bash_login",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".emacs",
    ".gitconfig",
    ".mcp.json",
    "config.fish",
];
const RUN_FOLDERS: &[&str] = &[
    ".vscode",
    ".idea",
    ".fleet",
    ".zed",
    ".helix",
    ".devcontainer",
    ".git",
    ".husky",
    ".vim",
    ".emacs.d",
    ".claude",
    ".cursor",
];
/// A folder, and how the names of files right in it end.
const RUN_IN_FOLDER: &[(&str, &str)] =
    &[("nvim", "init.lua"), ("nvim", "init.vim"), ("conf.d", ".fish"), ("fish", ".fish")];

const PROTECTED_NAMES: &[&str] = &[".git", ".hg", ".svn", ".jj", ".askls"];

/// The parts of a path, the same for every spelling of it.
pub(crate) fn plain_parts(path: &Path) -> Vec<String> {
    path.iter().map(plain).collect()
}

/// A part of a path without what may differ in other spellings of it: Windows drops dots and blanks at the end of
/// names, and some systems do not tell cases apart.
fn plain(part: &OsStr) -> String {
    part.to_string_lossy().trim_end_matches(['.', ' ']).to_lowercase()
}

/// Whether the editor can change the buffer behind a URI that is no file. Others (`git:`, `output:` ...) are views.
pub(crate) fn is_editable_scheme(scheme: &str) -> bool {
    ["untitled", "inmemory"].iter().any(|editable| scheme.eq_ignore_ascii_case(editable))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_one_in_every_copy_spelling_and_place() {
        for name in [
            ".env~",
            "#.env#",
            ".#.env",
            ".env.swp",
            ".env-prod",
            ".env_local",
            ".env2",
            ".envprod",
            ".env.pub",
            "prod.env",
            "prod.env.txt",
            "key.pem.txt",
            ".git-credentials.old2",
            "..npmrc.swp",
            ".netrc.gpg",
            "server.pem.gz",
            ".vault_pass",
            ".secrets",
            "secrets/prod.txt",
            "kubeconfig.yaml",
            "id_rsa.bak",
            "id_rsa.old",
            "id_rsa.2024",
            "server.pem.bak",
            "server.pem~",
            ".server.pem.swp",
            "a/.git/config",
            ".git/modules/x/config",
            ".npmrc",
            ".docker/config.json",
            ".AWS/Credentials",
            ".ssh/work",
            ".ssh/config",
            ".gnupg/private-keys-v1.d/x",
            ".vault-token",
            "credentials.json",
            "app-secrets.yaml",
            "service-account.json",
            "my-service-account-prod.json",
            "terraform.tfvars",
            "terraform.tfstate.backup",
            "prod.auto.tfvars.json",
            ".cargo/credentials.toml",
            ".config/gh/hosts.yml",
            ".config/gcloud/access_tokens.db",
        ] {
            assert!(is_secret(Path::new(name)), "{name}");
        }
        for name in [
            ".env-example",
            ".env.example.bak",
            ".ssh/id_rsa.pub",
            "credentials.rs",
            "secrets.md",
            "docker/config.json",
            ".environment",
            ".envoy",
            "src/secrets/mod.rs",
            "key.txt.rs",
            "src/tokens.json",
            "config",
            ".cargo/config.toml",
            ".npmignore",
            "main.rs.bak",
            "main.rs.gz",
            "~",
            "#",
            "..",
            "",
        ] {
            assert!(!is_secret(Path::new(name)), "{name}");
        }
    }

    #[test]
    fn a_view_or_an_untitled_copy_of_a_secret_is_one() {
        for uri in [
            "untitled:.env",
            "untitled:/p/%2Eenv",
            "git:/p/.env?%7B%22ref%22%3A%22HEAD%22%7D",
            "vscode-remote://ssh/p/id_rsa",
            "conflictResolution:/p/.ssh/config#1",
        ] {
            assert!(is_secret_buffer(uri), "{uri}");
        }
        for uri in ["untitled:Untitled-1", "git:/p/src/env.rs?x=.env", "output:askls", "", "untitled:"] {
            assert!(!is_secret_buffer(uri), "{uri}");
        }
    }

    #[test]
    fn settings_of_askls_are_known_wherever_they_lie() {
        for name in ["/home/u/.config/askls/config.toml", "/x/ASKLS/Config.toml", "/p/.askls/config.toml"] {
            assert!(is_settings_file(Path::new(name)), "{name}");
        }
        for name in ["/p/askls/Cargo.toml", "/p/config.toml", "/p/.cargo/config.toml", "config.toml"] {
            assert!(!is_settings_file(Path::new(name)), "{name}");
        }
    }

    #[test]
    fn what_editors_and_shells_run_by_themselves_is_known() {
        for name in [
            ".vscode/tasks.json",
            "sub/.VSCode/settings.json",
            ".nvim.lua",
            ".exrc",
            ".dir-locals.el",
            ".envrc",
            ".zshrc",
            ".zlogin",
            ".gitconfig",
            ".mcp.json",
            ".cursor/mcp.json",
            ".claude/settings.json",
            ".vim/vimrc",
            ".emacs.d/init.el",
            ".config/nvim/init.lua",
            ".config/fish/conf.d/a.fish",
            "a.code-workspace",
        ] {
            assert!(is_run_unasked(Path::new(name)), "{name}");
        }
        for name in ["src/vscode/tasks.json", "init.lua", "mcp.json", ".gitignore", "tasks.json"] {
            assert!(!is_run_unasked(Path::new(name)), "{name}");
        }
    }

    #[test]
    fn secrets_are_known_by_name_and_templates_are_none() {
        for name in [
            ".env",
            ".env.local",
            "a/.ENV",
            ".envrc",
            "certs/server.pem",
            "tls.key",
            "id_rsa",
            ".ssh/id_ed25519",
            "id_rsa_work",
            ".netrc",
            ".git-credentials",
            ".aws/credentials",
        ] {
            assert!(is_secret(Path::new(name)), "{name}");
        }
        for name in [
            ".env.example",
            ".env.sample",
            "id_rsa.pub",
            "id_map.rs",
            "id_rsa.rs",
            "src/env.rs",
            "environment",
            "key",
            "keys.rs",
            "credentials",
            "monkey",
        ] {
            assert!(!is_secret(Path::new(name)), "{name}");
        }
    }

    #[test]
    fn version_control_and_own_settings_are_protected_in_every_spelling() {
        for name in [".git/config", ".git", "sub/.GIT/hooks/x", ".git./config", ".askls/config.toml"] {
            assert!(is_protected(Path::new(name)), "{name}");
        }
        for name in [".gitignore", ".github/workflows/ci.yml", "src/git/mod.rs", "askls/a"] {
            assert!(!is_protected(Path::new(name)), "{name}");
        }
    }
}
