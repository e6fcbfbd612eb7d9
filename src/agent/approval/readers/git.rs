//! What of `git` only reads.

use super::{GitShows, Reading, Texts};

/// Options of `git log`, `diff` and `show` that change how something is printed.
const LOG_OPTIONS: &[&str] = &[
    "--oneline",
    "--graph",
    "--all",
    "--decorate",
    "--no-decorate",
    "--no-merges",
    "--merges",
    "--first-parent",
    "--abbrev-commit",
    "--reverse",
    "--follow",
    "--cached",
    "--staged",
    "--no-color",
    "--date-order",
    "--word-diff",
    "--color-words",
    "--ignore-all-space",
    "--ignore-space-change",
    "--function-context",
    "--no-renames",
    "--no-ext-diff",
    "--no-textconv",
    "--minimal",
    "--histogram",
    "--patience",
    "--exit-code",
    "--quiet",
    "--check",
    "-w",
    "-b",
    "-W",
    "-M",
];
const LOG_VALUED: &[&str] = &[
    "--max-count=",
    "--since=",
    "--until=",
    "--after=",
    "--before=",
    "--author=",
    "--grep=",
    "--format=",
    "--pretty=",
    "--date=",
    "--color=",
    "--diff-filter=",
    "--unified=",
    "-U",
    "-M",
];
/// Options that make `git log` print the texts of files.
const PATCHES: &[&str] = &["-p", "-u", "--patch", "--cc", "-c", "-m"];
/// The beginnings of others that do so too.
const IMPLY_PATCHES: &[&str] =
    &["-U", "--unified", "--word-diff", "--color-words", "-W", "--function-context"];
const NAMES_ONLY: &[&str] =
    &["--stat", "--name-only", "--name-status", "--shortstat", "--numstat", "--summary", "--no-patch", "-s"];

const BLAME_OPTIONS: &[&str] =
    &["-w", "-s", "-e", "-n", "-f", "-M", "--date=short", "--line-porcelain", "--porcelain"];

/// The subcommands of git that look. `diff`, `show` and `log -p` print the texts of files that nobody named.
pub(super) fn reading(words: &[&str]) -> Option<Reading> {
    let words = words.strip_prefix(&["--no-pager"]).unwrap_or(words);
    let (subcommand, words) = words.split_first()?;
    let (options, valued): (&[&str], &[&str]) = match *subcommand {
        "status" => (
            &[
                "-s",
                "--short",
                "-b",
                "--branch",
                "--porcelain",
                "--long",
                "-u",
                "-uno",
                "-unormal",
                "-uall",
                "--ignored",
            ],
            &["--porcelain=", "--untracked-files="],
        ),
        "log" | "shortlog" | "rev-list" | "diff" | "show" => (LOG_OPTIONS, LOG_VALUED),
        "blame" => (BLAME_OPTIONS, &["-L"]),
        "branch" => (&["-a", "-r", "-v", "-vv", "--all", "--remotes", "--list", "--show-current"], &[]),
        "tag" => (&["-l", "--list"], &["--sort="]),
        "stash" => (&[], &[]),
        "rev-parse" => (
            &[
                "--abbrev-ref",
                "--short",
                "--show-toplevel",
                "--show-prefix",
                "--is-inside-work-tree",
                "--verify",
                "-q",
            ],
            &["--short="],
        ),
        "ls-files" => {
            (&["-c", "-m", "-o", "-d", "-s", "--cached", "--modified", "--others", "--exclude-standard"], &[])
        }
        "describe" => (&["--tags", "--always", "--dirty", "--all", "--long"], &["--abbrev="]),
        _ => return None,
    };
    if *subcommand == "stash" {
        return (words == ["list"]).then(|| Reading { git: Some(GitShows::default()), ..Reading::default() });
    }
    let is_log = matches!(*subcommand, "log" | "shortlog" | "rev-list" | "diff" | "show");
    let takes_operands = !matches!(*subcommand, "branch" | "tag");
    let mut git = GitShows::default();
    let mut reading = Reading::default();
    let (mut prints_names, mut prints_patches) = (false, false);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if *word == "--" {
            let paths: Vec<String> = words.by_ref().map(|path| (*path).to_owned()).collect();
            // Git has patterns of its own in paths.
            paths
                .iter()
                .all(|path| !path.starts_with(':') && !path.contains(['*', '?', '[']))
                .then_some(())?;
            reading.paths.extend(paths.iter().cloned());
            git.limits = paths;
        } else if is_log && NAMES_ONLY.contains(word) {
            prints_names = true;
        } else if is_log && PATCHES.contains(word) {
            prints_patches = true;
        } else if matches!(*word, "-n" | "-L") && (is_log && *word == "-n" || *subcommand == "blame") {
            (*word == "-n" && *subcommand == "blame").then_some(()).or_else(|| words.next().map(|_| ()))?;
        } else if options.contains(word) || valued.iter().any(|option| word.starts_with(option)) {
            git.follows |= *word == "--follow";
            prints_patches |= is_log && IMPLY_PATCHES.iter().any(|option| word.starts_with(option));
            // What is staged is compared with the last commit.
            if matches!(*word, "--cached" | "--staged") && *subcommand == "diff" {
                git.texts = Texts::OfCommits;
            }
        } else if word.starts_with('-') {
            let number = word.strip_prefix("-n").or_else(|| word.strip_prefix('-')).unwrap_or_default();
            let is_number = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit());
            (is_log && is_number).then_some(())?;
        } else if takes_operands && !word.contains(':') {
            reading.paths.push((*word).to_owned());
            git.operands.push((*word).to_owned());
        } else {
            return None;
        }
    }
    // An object that is no commit is shown as it is, whatever else is said.
    if *subcommand == "show" && git.operands.iter().any(|word| may_be_object(word)) {
        return None;
    }
    let prints_unasked = matches!(*subcommand, "diff" | "show") && !prints_names;
    git.texts = match *subcommand {
        _ if !prints_patches && !prints_unasked => Texts::None,
        "diff" if git.texts == Texts::None => Texts::OfNow,
        _ => Texts::OfCommits,
    };
    reading.git = Some(git);
    Some(reading)
}

/// Whether a word may name the text of a file by its number in the repository.
fn may_be_object(word: &str) -> bool {
    let is_number = word.len() >= 4 && word.chars().all(|c| c.is_ascii_hexdigit());
    is_number || word.contains("^{")
}
