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
    "--boundary",
    "--branches",
    "--cherry-pick",
    "--compact-summary",
    "--dirstat",
    "--find-renames",
    "--full-history",
    "--ignore-blank-lines",
    "--ignore-space-at-eol",
    "--left-right",
    "--raw",
    "--relative",
    "--remotes",
    "--tags",
    "--topo-order",
    "-C",
    "-E",
    "-F",
    "-i",
    "-w",
    "-b",
    "-W",
    "-M",
];
/// Options that change neither which commits are looked at nor their order: with these alone, the names of as many commits
/// are those of the ones that are shown.
const PRINTING_ONLY: &[&str] = &[
    "--abbrev",
    "--check",
    "--color",
    "--compact-summary",
    "--date=",
    "--decorate",
    "--dirstat",
    "--exit-code",
    "--find-renames",
    "--format=",
    "--function-context",
    "--histogram",
    "--ignore-all-space",
    "--ignore-blank-lines",
    "--ignore-space",
    "--max-count=",
    "--minimal",
    "--no-color",
    "--no-decorate",
    "--no-ext-diff",
    "--no-renames",
    "--no-textconv",
    "--oneline",
    "--patience",
    "--pretty=",
    "--quiet",
    "--raw",
    "--stat=",
    "--unified",
    "--word-diff",
    "-C",
    "-M",
    "-U",
    "-W",
    "-b",
    "-w",
];
/// Options that add commits.
const ADDING: &[&str] = &["--all", "--boundary", "--branches", "--full-history", "--remotes", "--tags"];
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
    "--abbrev=",
    "--stat=",
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
        "remote" => (&["-v", "--verbose"], &[]),
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
    let takes_operands = !matches!(*subcommand, "branch" | "tag" | "remote");
    let mut git = GitShows::default();
    let mut reading = Reading::default();
    let (mut prints_names, mut prints_patches) = (false, false);
    let (mut count, mut chooses, mut names) = (None, false, Vec::new());
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
            if *subcommand != "blame" || *word == "-L" {
                let number = words.next()?;
                // The last number counts, if it is one.
                chooses |= count.replace((*number).to_owned()).is_some() || !is_number(number);
            }
        } else if is_log && matches!(*word, "-S" | "-G") {
            words.next()?;
            chooses = true;
        } else if options.contains(word) || valued.iter().any(|option| word.starts_with(option)) {
            git.follows |= *word == "--follow";
            chooses |= is_log && !PRINTING_ONLY.iter().any(|option| word.starts_with(option));
            names.extend(ADDING.contains(word).then(|| (*word).to_owned()));
            if let Some(number) = word.strip_prefix("--max-count=") {
                chooses |= count.replace(number.to_owned()).is_some() || !is_number(number);
            }
            prints_patches |= is_log && IMPLY_PATCHES.iter().any(|option| word.starts_with(option));
            // What is staged is compared with the last commit.
            if matches!(*word, "--cached" | "--staged") && *subcommand == "diff" {
                git.texts = Texts::OfCommits;
                names.push("--cached".to_owned());
            }
        } else if word.starts_with('-') {
            let number = word.strip_prefix("-n").or_else(|| word.strip_prefix('-')).unwrap_or_default();
            (is_log && is_number(number)).then_some(())?;
            chooses |= count.replace(number.to_owned()).is_some();
        } else if let Some((_, path)) = word.split_once(':').filter(|_| *subcommand == "show") {
            // A file as it was in a commit, under the name that it had.
            (!path.contains(':')).then_some(())?;
            reading.paths.push(path.to_owned());
        } else if takes_operands && !word.contains(':') {
            reading.paths.push((*word).to_owned());
            git.operands.push((*word).to_owned());
        } else {
            return None;
        }
    }
    let is_blob = *subcommand == "show" && reading.paths.len() > git.operands.len() + git.limits.len();
    if is_blob {
        // With a commit beside it, it would be two looks.
        git.operands.is_empty().then_some(())?;
        reading.git = Some(GitShows::default());
        return Some(reading);
    }
    // An object that is no commit is shown as it is, whatever else is said.
    let has_object = *subcommand == "show" && git.operands.iter().any(|word| may_be_object(word));
    let prints_unasked = matches!(*subcommand, "diff" | "show") && !prints_names;
    git.texts = match *subcommand {
        _ if has_object => Texts::OfCommits,
        _ if !prints_patches && !prints_unasked => Texts::None,
        "diff" if git.texts == Texts::None => Texts::OfNow,
        _ => Texts::OfCommits,
    };
    // Names of before stand nowhere in the words.
    if git.texts != Texts::None && !git.follows {
        // With a number, `show` goes on to the commits before.
        let walked = if *subcommand == "show" && count.is_some() && chooses { "log" } else { *subcommand };
        let count = count.filter(|_| !chooses && matches!(*subcommand, "log" | "show"));
        names.extend(count.map(|count| format!("-{count}")));
        git.names = naming(walked, names, &git);
    }
    reading.git = Some(git);
    Some(reading)
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|character| character.is_ascii_digit())
}

/// The words for the names of what a look shows, and perhaps of more.
fn naming(subcommand: &str, options: Vec<String>, git: &GitShows) -> Vec<String> {
    let (subcommand, of_commits) = match subcommand {
        "diff" => ("diff", false),
        "show" => ("show", true),
        _ => ("log", true),
    };
    let mut words = vec![subcommand.to_owned()];
    words.extend(["--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-textconv"].map(str::to_owned));
    if of_commits {
        words.extend(["--format=", "-m", "--root"].map(str::to_owned));
    }
    words.extend(options);
    // Git says no where it is none.
    let commit = |word: &String| match subcommand == "show" && may_be_object(word) {
        true => format!("{word}^{{commit}}"),
        false => word.clone(),
    };
    words.extend(git.operands.iter().map(commit));
    if !git.limits.is_empty() {
        words.push("--".to_owned());
        words.extend(git.limits.iter().cloned());
    }
    words
}

/// What of git prints the texts of files that it keeps.
const PRINTING: &[&str] = &[
    "archive",
    "cat-file",
    "diff",
    "format-patch",
    "grep",
    "log",
    "reflog",
    "shortlog",
    "show",
    "stash",
    "whatchanged",
];

/// Which files a command shows that prints texts, whether all of its words are known or not.
pub(super) fn shows(words: &[&str]) -> Option<GitShows> {
    let subcommand = words.iter().find(|word| !word.starts_with('-'))?;
    let is_printing = match *subcommand {
        "stash" => words.contains(&"show"),
        subcommand => PRINTING.contains(&subcommand),
    };
    if !is_printing {
        return None;
    }
    match reading(words) {
        Some(reading) => reading.git.filter(|git| git.texts != Texts::None),
        None => {
            let everything = ["--all", "--reflog"].map(str::to_owned).to_vec();
            let names = naming("log", everything, &GitShows::default());
            Some(GitShows { texts: Texts::OfCommits, names, follows: true, ..GitShows::default() })
        }
    }
}

/// Whether a word may name the text of a file by its number in the repository.
fn may_be_object(word: &str) -> bool {
    let is_number = word.len() >= 4 && word.chars().all(|c| c.is_ascii_hexdigit());
    is_number || word.contains("^{")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words by which git is asked for the names of what a look shows.
    fn asked(text: &str) -> Vec<String> {
        let words: Vec<&str> = text.split(' ').collect();
        reading(&words).unwrap().git.unwrap().names
    }

    #[test]
    fn git_is_asked_for_the_names_of_all_that_it_may_show() {
        let is_narrowed = |text: &str| asked(text).iter().any(|word| word == "-1" || word == "-3");
        for narrow in ["log -p -1", "show -3", "log -p -n 3 --oneline", "log -p --max-count=1 -w"] {
            assert!(is_narrowed(narrow), "{narrow}");
        }
        for wide in [
            "log -p -1 -n 50",
            "log -p -n 50 -1",
            "log -p --max-count=1 -3",
            "log -p -1 --first-parent",
            "log -p -1 --boundary",
            "log -p -1 --topo-order",
            "log -p -1 --graph",
            "log -p -1 --since=today",
            "log -p -1 -S x",
        ] {
            assert!(!is_narrowed(wide), "{wide}");
        }
        assert_eq!(asked("show -1 -n 50").first().map(String::as_str), Some("log"));
        for adding in ADDING {
            assert!(
                asked(&format!("log -p {adding} HEAD~4..HEAD")).contains(&(*adding).to_owned()),
                "{adding}"
            );
        }
    }
}
