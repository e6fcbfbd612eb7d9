//! Options of well-known programs that name a file which they write, or a command which they run: for rules that forbid
//! either.

use super::{git, shell::Word};

/// What an option has its program do with the value that follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Does {
    /// It writes the file of that name.
    Writes,
    /// It runs what the value says.
    Runs,
}

use Does::{Runs, Writes};

/// Options with a value: alone before it, with `=` between, and those of one letter also joined to it.
const OPTIONS: &[(&str, &[&str], Does)] = &[
    ("aria2c", &["-d", "-o", "--dir", "--out", "--log", "-l"], Writes),
    (
        "aria2c",
        &["--on-download-complete", "--on-download-start", "--on-download-stop", "--on-download-error"],
        Runs,
    ),
    ("as", &["-o"], Writes),
    ("bison", &["-o", "--output"], Writes),
    ("c++", &["-o"], Writes),
    ("cargo", &["--config"], Runs),
    ("cc", &["-o"], Writes),
    ("clang", &["-o"], Writes),
    ("clang++", &["-o"], Writes),
    (
        "curl",
        &[
            "-c",
            "-D",
            "-o",
            "--alt-svc",
            "--cookie-jar",
            "--dump-header",
            "--etag-save",
            "--hsts",
            "--libcurl",
            "--output",
            "--output-dir",
            "--stderr",
            "--trace",
            "--trace-ascii",
        ],
        Writes,
    ),
    ("docker", &["-o", "--output"], Writes),
    ("find", &["-fls", "-fprint", "-fprint0", "-fprintf"], Writes),
    ("g++", &["-o"], Writes),
    ("gawk", &["-d", "-o", "-p"], Writes),
    ("gcc", &["-o"], Writes),
    ("gdb", &["-ex", "-x", "--command", "--eval-command"], Runs),
    (
        "git",
        &["--export-marks", "--git-dir", "--output", "-o", "--output-directory", "--separate-git-dir"],
        Writes,
    ),
    (
        "git",
        &[
            "-c",
            "-O",
            "-x",
            "--config-env",
            "--exec",
            "--exec-path",
            "--extcmd",
            "--open-files-in-pager",
            "--receive-pack",
            "--upload-pack",
            "--tree-filter",
            "--index-filter",
            "--msg-filter",
            "--env-filter",
            "--commit-filter",
        ],
        Runs,
    ),
    ("go", &["-o", "-coverprofile", "-cpuprofile", "-memprofile"], Writes),
    ("go", &["-exec", "-toolexec", "-vettool", "--exec", "--toolexec", "--vettool"], Runs),
    ("gpg", &["-o", "--output"], Writes),
    ("ld", &["-o"], Writes),
    ("less", &["-o", "-O", "--log-file", "--LOG-FILE"], Writes),
    ("man", &["-P", "--pager", "-H", "--html"], Runs),
    ("npm", &["-c", "--call", "--script-shell", "--node-options"], Runs),
    ("npx", &["-c", "--call", "--script-shell", "--node-options"], Runs),
    ("openssl", &["-out", "-keyout"], Writes),
    ("pandoc", &["-o", "--output"], Writes),
    ("pandoc", &["-F", "--filter", "-L", "--lua-filter"], Runs),
    ("patch", &["-o", "--output", "-r", "--reject-file"], Writes),
    ("rg", &["--hostname-bin", "--pre"], Runs),
    ("rsync", &["-e", "--rsh", "--rsync-path"], Runs),
    ("rsync", &["--log-file", "--write-batch"], Writes),
    ("rustc", &["-o", "--out-dir"], Writes),
    ("scp", &["-o", "-S", "-F"], Runs),
    ("sftp", &["-o", "-S", "-F", "-b"], Runs),
    ("sort", &["-o", "--output"], Writes),
    ("sort", &["--compress-program"], Runs),
    ("ssh", &["-o", "-F"], Runs),
    ("ssh", &["-E"], Writes),
    ("ssh-keygen", &["-f"], Writes),
    ("strace", &["-o", "--output"], Writes),
    ("tar", &["-g", "--index-file", "--listed-incremental"], Writes),
    (
        "tar",
        &[
            "-F",
            "-I",
            "--checkpoint-action",
            "--info-script",
            "--new-volume-script",
            "--rmt-command",
            "--rsh-command",
            "--to-command",
            "--use-compress-program",
        ],
        Runs,
    ),
    ("tcpdump", &["-w"], Writes),
    ("tcpdump", &["-z"], Runs),
    ("time", &["-o", "--output"], Writes),
    ("tree", &["-o"], Writes),
    ("tsc", &["--outDir", "--outFile"], Writes),
    ("vim", &["-c", "-S", "-s", "--cmd"], Runs),
    (
        "wget",
        &[
            "-a",
            "-o",
            "-O",
            "-P",
            "--append-output",
            "--directory-prefix",
            "--output-document",
            "--output-file",
            "--save-cookies",
        ],
        Writes,
    ),
    ("wget", &["--use-askpass", "-e", "--execute"], Runs),
    ("zip", &["-O", "--output-file", "-b"], Writes),
    ("zip", &["-TT", "--unzip-command"], Runs),
];

/// Options by which a program keeps what it fetches under its own name.
const SAVING: &[(&str, &[&str])] =
    &[("curl", &["-O", "-J", "--remote-name", "--remote-name-all"]), ("wget", &[])];

/// Letters behind which the rest of a word is a value: of `curl`, which has the most of them.
const VALUED: &str = "AbCdDeEFHKmPQrTuUwxXyYz";

/// The values of all options of a program that do so.
pub(super) fn values(program: &str, words: &[&str], does: Does) -> Vec<String> {
    let is_quiet = does == Runs && is_quiet_git(program, words);
    let mut values = Vec::new();
    for (_, options, _) in
        OPTIONS.iter().filter(|(name, _, what)| *name == program && *what == does && !is_quiet)
    {
        for (at, word) in words.iter().enumerate() {
            values
                .extend(options.iter().filter_map(|option| value(option, word, words.get(at + 1).copied())));
        }
    }
    values
}

/// What stands behind an option, if the word is it: as `-o x`, `-ox`, `-so x`, `--out x`, `--out=x` or cut short.
fn value(option: &str, word: &str, next: Option<&str>) -> Option<String> {
    let (name, joined) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
    let is_long = option.starts_with("--");
    if name == option || is_long && name.len() > 3 && option.starts_with(name) {
        return joined.or(next).map(str::to_owned);
    }
    let letter = option.strip_prefix('-').filter(|letter| letter.len() == 1)?;
    let bundle = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'))?;
    let (before, after) = bundle.split_once(letter)?;
    let is_bundle = before.chars().all(|c| c.is_ascii_alphabetic() && !VALUED.contains(c));
    let value = if after.is_empty() { next? } else { after };
    is_bundle.then(|| value.to_owned())
}

/// Whether a program keeps what it fetches in the folder where it runs.
pub(super) fn saves_here(program: &str, words: &[&str]) -> bool {
    let Some((_, options)) = SAVING.iter().find(|(name, _)| *name == program) else { return false };
    let is_bundled = |option: &&str, word: &&str| {
        let letter = option.strip_prefix('-').filter(|letter| letter.len() == 1);
        let bundle = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        letter
            .zip(bundle)
            .and_then(|(letter, bundle)| bundle.split_once(letter))
            .is_some_and(|(before, _)| !before.contains(|c| VALUED.contains(c)))
    };
    options.is_empty()
        || words.iter().any(|word| options.iter().any(|option| word == option || is_bundled(option, word)))
}

/// Programs whose business it is to write the files that these options name.
const WRITING: &[&str] = &[
    "bison",
    "c++",
    "cc",
    "clang",
    "clang++",
    "docker",
    "g++",
    "gcc",
    "git",
    "go",
    "gpg",
    "ld",
    "as",
    "openssl",
    "pandoc",
    "patch",
    "rustc",
    "tsc",
    "wget",
    "zip",
    "rsync",
    "aria2c",
    "ssh-keygen",
    "tar",
];

/// Whether a word has its program do more than a rule for it means: run what the word says, or write.
pub(super) fn runs_or_writes(program: &str, word: &str) -> bool {
    // What git takes depends on what it does.
    program != "git"
        && OPTIONS
            .iter()
            .filter(|(name, _, does)| *name == program && (*does == Runs || !WRITING.contains(name)))
            .any(|(_, options, _)| options.iter().any(|option| value(option, word, Some("")).is_some()))
        || program == "curl" && saves_here(program, &[word])
}

/// Whether git runs nothing that these words name.
fn is_quiet_git(program: &str, words: &[&str]) -> bool {
    let texts: Vec<&str> = [program].into_iter().chain(words.iter().copied()).collect();
    git::Line::of(&texts).is_some_and(|line| line.runs_nothing())
}

/// Whether a program of these words may be given an option by which it runs something.
pub(super) fn has_runner(program: &str, words: &[Word]) -> bool {
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    !is_quiet_git(program, &texts) && OPTIONS.iter().any(|(name, _, does)| *name == program && *does == Runs)
}

/// Whether a program may be given an option by which it writes.
pub(super) fn may_write(program: &str) -> bool {
    OPTIONS.iter().any(|(name, _, does)| *name == program && *does == Writes)
}
