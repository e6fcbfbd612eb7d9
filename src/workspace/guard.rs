//! Which files an agent does not touch: the keys of the user and the machine, and what steers version control, editors and
//! askls. Those of the workspace that hold secrets are in `secrets.rs`.

use std::{ffi::OsStr, path::Path};

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

/// Whether editors, shells, version control or tools that these start run what the file says, when its folder is opened or
/// entered or a commit is made, or change what they run: without anybody naming it. What a user runs by name (a makefile, a
/// script of `package.json`, a workflow that a push starts) is none. `path` may be the end of a path.
pub(crate) fn is_run_unasked(path: &Path) -> bool {
    let parts = plain_parts(path);
    let Some((name, folders)) = parts.split_last() else { return false };
    let fits = |entry: &RunUnasked| match entry {
        RunUnasked::Named(names) => names.contains(&name.as_str()),
        RunUnasked::Beginning(beginning) => name.starts_with(*beginning),
        RunUnasked::Ending(ending) => name.ends_with(*ending),
        RunUnasked::In(folder, ending) => {
            folders.last().is_some_and(|last| last.as_str() == *folder) && name.ends_with(*ending)
        }
        RunUnasked::Below(names) => parts.iter().any(|part| names.contains(&part.as_str())),
    };
    RUN_UNASKED.iter().any(fits)
}

/// What such a file is known by, in lower case.
enum RunUnasked {
    Named(&'static [&'static str]),
    Beginning(&'static str),
    Ending(&'static str),
    /// The folder right above it, and how its name ends.
    In(&'static str, &'static str),
    /// It is one of these folders, or lies anywhere below one.
    Below(&'static [&'static str]),
}

const RUN_UNASKED: &[RunUnasked] = &[
    // Editors, when a folder is opened.
    RunUnasked::Below(&[
        ".vscode",
        ".idea",
        ".fleet",
        ".zed",
        ".helix",
        ".vs",
        ".devcontainer",
        ".vim",
        ".nvim",
        ".emacs.d",
    ]),
    RunUnasked::Named(&[
        ".nvim.lua",
        ".nvimrc",
        ".lazy.lua",
        ".exrc",
        ".vimrc",
        "_vimrc",
        ".gvimrc",
        ".lvimrc",
        ".emacs",
        ".dir-locals.el",
        ".dir-locals-2.el",
        ".devcontainer.json",
        ".gitpod.yml",
    ]),
    RunUnasked::Ending(".code-workspace"),
    RunUnasked::In("nvim", "init.lua"),
    RunUnasked::In("nvim", "init.vim"),
    // The tools that an editor starts for the language.
    RunUnasked::In(".cargo", "config.toml"),
    RunUnasked::In(".cargo", "config"),
    // Agents: their servers and hooks.
    RunUnasked::Below(&[
        ".claude",
        ".cursor",
        ".codex",
        ".gemini",
        ".windsurf",
        ".opencode",
        ".kiro",
        ".roo",
        ".amazonq",
    ]),
    RunUnasked::Named(&[".mcp.json", "opencode.json"]),
    // Shells, when they start or enter a folder, and desktops.
    RunUnasked::Named(&[
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
        "config.fish",
        ".tmux.conf",
        ".screenrc",
        ".xprofile",
        ".xinitrc",
        ".xsession",
        ".xsessionrc",
        ".direnvrc",
    ]),
    RunUnasked::Beginning(".envrc"),
    RunUnasked::Named(&[".mise.toml", "mise.toml", ".mise.local.toml", "mise.local.toml", ".rtx.toml"]),
    RunUnasked::In("mise", "config.toml"),
    RunUnasked::In(".mise", "config.toml"),
    RunUnasked::In("conf.d", ".fish"),
    RunUnasked::In("fish", ".fish"),
    RunUnasked::In("autostart", ".desktop"),
    RunUnasked::In("launchagents", ".plist"),
    // Version control, with every commit.
    RunUnasked::Below(&[".git", ".githooks", ".git-hooks", ".husky"]),
    RunUnasked::Named(&[
        ".gitconfig",
        ".pre-commit-config.yaml",
        ".pre-commit-config.yml",
        ".overcommit.yml",
        "lefthook.yml",
        "lefthook.yaml",
        "lefthook.toml",
        "lefthook.json",
        "lefthook-local.yml",
        ".lefthook.yml",
        ".lefthook.yaml",
        ".lefthook.toml",
        ".lefthook.json",
        ".lefthook-local.yml",
    ]),
    RunUnasked::In("git", "config"),
    RunUnasked::Beginning(".huskyrc"),
    RunUnasked::Beginning(".lintstagedrc"),
    RunUnasked::Beginning("lint-staged.config."),
    // Interpreters and debuggers, whatever they are started for.
    RunUnasked::Below(&[".ipython"]),
    RunUnasked::Named(&[
        "sitecustomize.py",
        "usercustomize.py",
        ".pythonrc",
        ".pythonrc.py",
        ".irbrc",
        ".pryrc",
        ".rprofile",
        ".octaverc",
        ".gdbinit",
        ".lldbinit",
    ]),
];

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
    fn settings_of_askls_are_known_wherever_they_lie() {
        for name in ["/home/u/.config/askls/config.toml", "/x/ASKLS/Config.toml", "/p/.askls/config.toml"] {
            assert!(is_settings_file(Path::new(name)), "{name}");
        }
        for name in ["/p/askls/Cargo.toml", "/p/config.toml", "/p/.cargo/config.toml", "config.toml"] {
            assert!(!is_settings_file(Path::new(name)), "{name}");
        }
    }

    #[test]
    fn what_runs_without_being_named_is_known() {
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
            ".githooks/pre-commit",
            ".husky/_/husky.sh",
            ".cargo/config.toml",
            ".mise.toml",
            ".config/mise/config.toml",
            ".idea/runConfigurations/a.xml",
            ".config/autostart/x.desktop",
            ".pre-commit-config.yaml",
            ".lintstagedrc.json",
            "sitecustomize.py",
            ".ipython/profile_default/startup/a.py",
            ".git",
        ] {
            assert!(is_run_unasked(Path::new(name)), "{name}");
        }
        for name in [
            "src/vscode/tasks.json",
            "init.lua",
            "mcp.json",
            ".gitignore",
            "tasks.json",
            "cargo/config.toml",
            "config.toml",
            "Makefile",
            "package.json",
            ".github/workflows/ci.yml",
            ".tool-versions",
        ] {
            assert!(!is_run_unasked(Path::new(name)), "{name}");
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
