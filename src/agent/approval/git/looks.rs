//! Looks of git that show names and nothing else, with the options that keep them so; and where to find the others.

use super::{
    super::readers::Reading,
    commits::{self, names_alone},
    configuration, search,
    shown::everything,
};

/// A subcommand with the words that leave it a look.
struct Look {
    name: &'static str,
    /// Letters that may stand together.
    letters: &'static str,
    /// Other options; those that end in `=` have a value behind it.
    options: &'static [&'static str],
    /// Options with their value in the next word.
    valued: &'static [&'static str],
    operands: Operands,
}

#[derive(Clone, Copy)]
enum Operands {
    /// Any would have it do something else.
    None,
    AtMostOne,
    Any,
    /// Any beside one of these.
    With(&'static [&'static str]),
}

const REFS: &[&str] = &[
    "--contains",
    "--count",
    "--exclude",
    "--format",
    "--merged",
    "--no-contains",
    "--no-merged",
    "--points-at",
    "--sort",
];

const LOOKS: &[Look] = &[
    Look {
        name: "branch",
        letters: "arviq",
        options: &[
            "--all",
            "--color=",
            "--format=",
            "--ignore-case",
            "--list",
            "--no-color",
            "--no-column",
            "--remotes",
            "--show-current",
            "--sort=",
            "--verbose",
            "--abbrev=",
        ],
        valued: &["--contains", "--merged", "--no-contains", "--no-merged", "--points-at", "--sort"],
        operands: Operands::With(&["--list"]),
    },
    Look {
        name: "check-ignore",
        letters: "qvnz",
        options: &["--no-index", "--non-matching", "--quiet", "--verbose"],
        valued: &[],
        operands: Operands::Any,
    },
    Look { name: "cherry", letters: "v", options: &["--abbrev="], valued: &[], operands: Operands::Any },
    Look {
        name: "count-objects",
        letters: "vH",
        options: &["--human-readable", "--verbose"],
        valued: &[],
        operands: Operands::None,
    },
    Look {
        name: "describe",
        letters: "",
        options: &[
            "--abbrev=",
            "--all",
            "--always",
            "--candidates=",
            "--contains",
            "--dirty",
            "--dirty=",
            "--exact-match",
            "--exclude=",
            "--first-parent",
            "--long",
            "--match=",
            "--tags",
        ],
        valued: &["--exclude", "--match"],
        operands: Operands::Any,
    },
    Look {
        name: "for-each-ref",
        letters: "",
        options: &["--count=", "--exclude=", "--format=", "--ignore-case", "--points-at=", "--sort="],
        valued: REFS,
        operands: Operands::Any,
    },
    Look {
        name: "ls-files",
        letters: "cdfikmostuvz",
        options: &[
            "--abbrev=",
            "--cached",
            "--deduplicate",
            "--deleted",
            "--directory",
            "--eol",
            "--error-unmatch",
            "--exclude-standard",
            "--exclude=",
            "--full-name",
            "--ignored",
            "--killed",
            "--modified",
            "--no-empty-directory",
            "--others",
            "--stage",
            "--unmerged",
        ],
        valued: &["-x", "--exclude"],
        operands: Operands::Any,
    },
    Look {
        name: "ls-tree",
        letters: "dlrtz",
        options: &[
            "--abbrev",
            "--abbrev=",
            "--format=",
            "--full-name",
            "--full-tree",
            "--long",
            "--name-only",
            "--name-status",
            "--object-only",
        ],
        valued: &[],
        operands: Operands::Any,
    },
    Look {
        name: "merge-base",
        letters: "a",
        options: &["--all", "--fork-point", "--independent", "--is-ancestor", "--octopus"],
        valued: &[],
        operands: Operands::Any,
    },
    Look {
        name: "name-rev",
        letters: "",
        options: &[
            "--all",
            "--always",
            "--exclude=",
            "--name-only",
            "--no-undefined",
            "--refs=",
            "--tags",
            "--undefined",
        ],
        valued: &[],
        operands: Operands::Any,
    },
    Look {
        name: "rev-parse",
        letters: "q",
        options: &[
            "--abbrev-ref",
            "--abbrev-ref=",
            "--absolute-git-dir",
            "--all",
            "--branches",
            "--git-common-dir",
            "--git-dir",
            "--is-bare-repository",
            "--is-inside-git-dir",
            "--is-inside-work-tree",
            "--is-shallow-repository",
            "--quiet",
            "--remotes",
            "--short",
            "--short=",
            "--show-cdup",
            "--show-object-format",
            "--show-prefix",
            "--show-superproject-working-tree",
            "--show-toplevel",
            "--symbolic",
            "--symbolic-full-name",
            "--tags",
            "--verify",
        ],
        valued: &["--git-path"],
        operands: Operands::Any,
    },
    Look {
        name: "show-branch",
        letters: "ar",
        options: &["--all", "--current", "--list", "--no-name", "--remotes", "--sha1-name", "--topo-order"],
        valued: &[],
        operands: Operands::Any,
    },
    Look {
        name: "show-ref",
        letters: "dhqs",
        options: &[
            "--abbrev",
            "--abbrev=",
            "--branches",
            "--dereference",
            "--exists",
            "--hash",
            "--hash=",
            "--head",
            "--heads",
            "--quiet",
            "--tags",
            "--verify",
        ],
        valued: &[],
        operands: Operands::Any,
    },
    Look {
        name: "status",
        letters: "bsz",
        options: &[
            "--ahead-behind",
            "--branch",
            "--ignored",
            "--ignored=",
            "--long",
            "--no-ahead-behind",
            "--no-renames",
            "--porcelain",
            "--porcelain=",
            "--renames",
            "--short",
            "--show-stash",
            "--untracked-files",
            "--untracked-files=",
            "-u",
            "-uall",
            "-uno",
            "-unormal",
        ],
        valued: &[],
        operands: Operands::Any,
    },
    Look {
        name: "symbolic-ref",
        letters: "q",
        options: &["--no-recurse", "--quiet", "--recurse", "--short"],
        valued: &[],
        operands: Operands::AtMostOne,
    },
    Look {
        name: "tag",
        letters: "iln0123456789",
        options: &["--format=", "--ignore-case", "--list", "--no-column", "--sort="],
        valued: &["--contains", "--merged", "--no-contains", "--no-merged", "--points-at", "--sort"],
        operands: Operands::With(&["-l", "--list"]),
    },
];

/// What a command of git that only reads looks at; `None` when it is not known to.
pub(super) fn reading(subcommand: &str, words: &[&str]) -> Option<Reading> {
    match subcommand {
        "diff" | "diff-files" | "diff-index" | "diff-tree" | "log" | "reflog" | "rev-list" | "shortlog"
        | "show" | "whatchanged" => commits::reading(subcommand, words),
        "blame" => search::blame(words),
        "cat-file" => search::cat_file(words),
        "config" => configuration::config(words),
        "grep" => search::grep(words),
        "remote" => configuration::remote(words),
        "stash" => match words {
            ["list"] => Some(names_alone()),
            ["show", rest @ ..] => rest
                .iter()
                .all(|word| STASH_OPTIONS.contains(word) || !word.starts_with('-'))
                .then(|| Reading { git: Some(everything(rest)), ..Reading::default() }),
            _ => None,
        },
        "worktree" => match words {
            ["list", rest @ ..] => rest.iter().all(|word| WORKTREE_OPTIONS.contains(word)).then(names_alone),
            _ => None,
        },
        name => shows_names_alone(name, words).then(names_alone),
    }
}

/// What of the stash is shown; a setting can make it show texts without any.
const STASH_OPTIONS: &[&str] =
    &["--name-only", "--name-status", "--numstat", "--patch", "--shortstat", "--stat", "-p", "-u"];

const WORKTREE_OPTIONS: &[&str] = &["--porcelain", "--verbose", "-v", "-z"];

/// Whether a subcommand shows names of files and commits, and nothing of what is in files, whichever it is given.
pub(super) fn shows_names_alone(subcommand: &str, words: &[&str]) -> bool {
    LOOKS.iter().find(|look| look.name == subcommand).is_some_and(|look| look.fits(words))
}

impl Look {
    fn fits(&self, words: &[&str]) -> bool {
        let mut operands = 0;
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            // Of a name of another object than a commit `raw` is what is in it.
            if word.starts_with("--format") && word.contains("raw") {
                return false;
            }
            if *word == "--" {
                operands += rest.by_ref().count();
            } else if !word.starts_with('-') {
                operands += 1;
            } else if self.valued.contains(word) {
                if rest.next().is_some_and(|value| value.starts_with("--") || value.contains("raw")) {
                    return false;
                }
            } else if !self.is_option(word) {
                return false;
            }
        }
        match self.operands {
            Operands::None => operands == 0,
            Operands::AtMostOne => operands <= 1,
            Operands::Any => true,
            Operands::With(options) => operands == 0 || words.iter().any(|word| options.contains(word)),
        }
    }

    fn is_option(&self, word: &str) -> bool {
        let name = word.find('=').and_then(|at| word.get(..=at)).unwrap_or(word);
        self.options.contains(&name)
            || word.strip_prefix('-').is_some_and(|letters| {
                !letters.is_empty() && letters.chars().all(|letter| self.letters.contains(letter))
            })
    }
}
