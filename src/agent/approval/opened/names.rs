//! Programs and variables by what they mean for the commands around them.

/// Variables that change how a program talks and not what it does.
pub(super) const HARMLESS_VARIABLES: &[&str] = &[
    "CI",
    "CARGO_TERM_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLUMNS",
    "FORCE_COLOR",
    "LANG",
    "LC_ALL",
    "LINES",
    "NO_COLOR",
    "PYTHONUNBUFFERED",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "TERM",
    "TZ",
];

/// Variables by which a shell chooses which files the words of a text are.
pub(super) const CHOOSING_VARIABLES: &[&str] =
    &["CDPATH", "ENV", "GLOBIGNORE", "HOME", "IFS", "OLDPWD", "PWD"];

/// Variables by which a shell finds programs, reads what follows, or runs something by itself.
pub(super) const CHANGING_VARIABLES: &[&str] = &[
    "CDPATH",
    "ENV",
    "GLOBIGNORE",
    "HOME",
    "IFS",
    "OLDPWD",
    "PATH",
    "PROMPT_COMMAND",
    "PS0",
    "PS1",
    "PS2",
    "PS3",
    "PS4",
    "PWD",
    "SHELL",
    "SHELLOPTS",
];

/// Builtins of the shell that change what comes after them, or run what is not to be seen.
pub(super) const OPAQUE: &[&str] = &[
    "eval",
    "source",
    ".",
    "alias",
    "unalias",
    "trap",
    "set",
    "shopt",
    "enable",
    "hash",
    "export",
    "declare",
    "typeset",
    "local",
    "readonly",
    "unset",
    "read",
    "mapfile",
    "readarray",
    "getopts",
    "let",
    "bind",
    "complete",
    "fc",
    "history",
    "umask",
    "ulimit",
    "pushd",
    "popd",
    "dirs",
    "compgen",
    "coproc",
];

/// Programs that run others with the rights of another user.
pub(super) const OTHER_RIGHTS: &[&str] = &["sudo", "doas", "su", "pkexec", "run0", "runuser", "sudoedit"];

/// Programs that run what their words say in a way that is not opened here.
pub(super) const RUNNERS: &[&str] = &[
    "at",
    "batch",
    "bwrap",
    "chroot",
    "chrt",
    "entr",
    "expect",
    "fakeroot",
    "firejail",
    "flock",
    "gdb",
    "hyperfine",
    "ltrace",
    "nsenter",
    "parallel",
    "perf",
    "proot",
    "rbash",
    "rlwrap",
    "screen",
    "script",
    "setarch",
    "setpriv",
    "strace",
    "systemd-run",
    "taskset",
    "tmux",
    "unbuffer",
    "unshare",
    "valgrind",
    "watch",
    "watchexec",
    "xvfb-run",
    "yash",
];

/// Programs that are opened here.
pub(super) const WRAPPERS: &[&str] = &[
    "env", "nohup", "setsid", "nice", "ionice", "stdbuf", "timeout", "time", "exec", "command", "builtin",
    "busybox", "toybox", "xargs", "sh", "bash", "dash", "ash", "find",
];

/// Programs that run texts.
pub(super) const SHELLS: &[&str] =
    &["sh", "bash", "dash", "ash", "zsh", "ksh", "fish", "csh", "tcsh", "eval"];

/// What `env` does that is given no command; nothing runs by it.
pub(in super::super) const SHOWS_VARIABLES: &str = "shows all variables of the environment";
