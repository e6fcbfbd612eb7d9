//! What of `git` only reads.

use super::Reading;

/// Options of `git log`, `diff` and `show` that print no text of a file.
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
];
const NAMES_ONLY: &[&str] =
    &["--stat", "--name-only", "--name-status", "--shortstat", "--numstat", "--summary", "--no-patch", "-s"];

/// The subcommands of git that look. `diff`, `show` and `log -p` print the texts of files that nobody named, secrets that
/// are tracked among them: they only count when they print names.
pub(super) fn reading(words: &[&str]) -> Option<Reading> {
    let words = words.strip_prefix(&["--no-pager"]).unwrap_or(words);
    let (subcommand, words) = words.split_first()?;
    let (options, valued, needs_names, takes_operands): (&[&str], &[&str], bool, bool) = match *subcommand {
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
            false,
            true,
        ),
        "log" | "shortlog" | "rev-list" => (LOG_OPTIONS, LOG_VALUED, false, true),
        "diff" | "show" => (LOG_OPTIONS, LOG_VALUED, true, true),
        "branch" => {
            (&["-a", "-r", "-v", "-vv", "--all", "--remotes", "--list", "--show-current"], &[], false, false)
        }
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
            false,
            true,
        ),
        "ls-files" => (
            &["-c", "-m", "-o", "-d", "-s", "--cached", "--modified", "--others", "--exclude-standard"],
            &[],
            false,
            true,
        ),
        "describe" => (&["--tags", "--always", "--dirty", "--all", "--long"], &["--abbrev="], false, true),
        _ => return None,
    };
    let is_log = matches!(*subcommand, "log" | "shortlog" | "rev-list" | "diff" | "show");
    let mut reading = Reading { is_git: true, ..Reading::default() };
    let mut prints_names = false;
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if *word == "--" {
            reading.paths.extend(words.by_ref().map(|path| (*path).to_owned()));
        } else if is_log && NAMES_ONLY.contains(word) {
            prints_names = true;
        } else if is_log && *word == "-n" {
            words.next()?;
        } else if options.contains(word) || valued.iter().any(|option| word.starts_with(option)) {
        } else if word.starts_with('-') {
            let number = word.strip_prefix("-n").or_else(|| word.strip_prefix('-')).unwrap_or_default();
            let is_number = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit());
            (is_log && is_number).then_some(())?;
        } else if takes_operands && !word.contains(':') {
            reading.paths.push((*word).to_owned());
        } else {
            return None;
        }
    }
    (prints_names || !needs_names).then_some(reading)
}
