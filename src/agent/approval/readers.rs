//! Commands that only read, with the options that keep them so. What is not listed here is not known to only read.

mod find;
mod git;

use super::opened::{Opened, Tail, standard_name};
use crate::workspace::place::Below;

/// What a command that only reads looks at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reading {
    /// As they are written, relative to where the command runs.
    pub(super) paths: Vec<String>,
    /// What it shows besides the files that it names.
    pub(super) below: Below,
    /// Whether the repository's own settings can make it run a program.
    pub(super) is_git: bool,
}

/// What the words are that are no options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operands {
    None,
    Paths,
    /// The first is a pattern unless an option gave one.
    PatternAndPaths,
    /// Anything but paths.
    Words,
    /// Such as `+%F`.
    Formats,
}

/// A program and what of it only reads.
struct Reader {
    name: &'static str,
    /// Letters that stand alone.
    flags: &'static str,
    /// Letters that take a value which is no path.
    valued: &'static str,
    /// Long names; those that end with `=` take a value which is no path.
    long: &'static [&'static str],
    operands: Operands,
    /// Whether a number may stand as an option, as in `head -5`.
    has_numbers: bool,
    /// Most operands; a further one would be written to.
    most: usize,
    /// What it shows below its paths: with the flag `r` where there is one, else always.
    below: Below,
}

const fn reader(name: &'static str, flags: &'static str, valued: &'static str, operands: Operands) -> Reader {
    Reader {
        name,
        flags,
        valued,
        long: &[],
        operands,
        has_numbers: false,
        most: usize::MAX,
        below: Below::None,
    }
}

const GREP_LONG: &[&str] = &[
    "after-context=",
    "before-context=",
    "color",
    "color=",
    "colour=",
    "context=",
    "count",
    "exclude-dir=",
    "exclude=",
    "extended-regexp",
    "files-with-matches",
    "files-without-match",
    "fixed-strings",
    "ignore-case",
    "include=",
    "invert-match",
    "line-number",
    "line-regexp",
    "max-count=",
    "no-filename",
    "no-messages",
    "only-matching",
    "perl-regexp",
    "quiet",
    "with-filename",
    "word-regexp",
];

const READERS: &[Reader] = &[
    Reader {
        long: &[
            "all",
            "almost-all",
            "classify",
            "color",
            "color=",
            "directory",
            "file-type",
            "full-time",
            "group-directories-first",
            "human-readable",
            "inode",
            "no-group",
            "numeric-uid-gid",
            "recursive",
            "reverse",
            "size",
            "sort=",
            "time-style=",
            "time=",
        ],
        ..reader("ls", "1AaBCcdFfGghiklmnopqQrRsStTUuvXx", "Iw", Operands::Paths)
    },
    Reader {
        long: &["number", "number-nonblank", "show-all", "show-ends", "show-tabs", "squeeze-blank"],
        ..reader("cat", "AbeEnstTuv", "", Operands::Paths)
    },
    Reader { has_numbers: true, long: HEAD_LONG, ..reader("head", "qv", "nc", Operands::Paths) },
    Reader { has_numbers: true, long: HEAD_LONG, ..reader("tail", "qv", "nc", Operands::Paths) },
    Reader { long: &["bytes", "chars", "lines", "words"], ..reader("wc", "clmwL", "", Operands::Paths) },
    Reader {
        below: Below::All,
        long: GREP_LONG,
        ..reader("grep", GREP_FLAGS, "ABCme", Operands::PatternAndPaths)
    },
    Reader {
        below: Below::All,
        long: GREP_LONG,
        ..reader("egrep", GREP_FLAGS, "ABCme", Operands::PatternAndPaths)
    },
    Reader {
        below: Below::All,
        long: GREP_LONG,
        ..reader("fgrep", GREP_FLAGS, "ABCme", Operands::PatternAndPaths)
    },
    Reader {
        below: Below::Visible,
        long: &[
            "after-context=",
            "before-context=",
            "color=",
            "context=",
            "count",
            "files-with-matches",
            "fixed-strings",
            "glob=",
            "heading",
            "ignore-case",
            "invert-match",
            "line-number",
            "max-count=",
            "no-heading",
            "only-matching",
            "smart-case",
            "sort=",
            "type-not=",
            "type=",
            "word-regexp",
        ],
        ..reader("rg", "inlcvwxoFSsNHI", "ABCmegtT", Operands::PatternAndPaths)
    },
    Reader { below: Below::All, long: DIFF_LONG, ..reader("diff", "uqbwiyBE", "UC", Operands::Paths) },
    reader("cmp", "bls", "", Operands::Paths),
    reader("comm", "123", "", Operands::Paths),
    Reader {
        long: &[
            "field-separator=",
            "human-numeric-sort",
            "ignore-case",
            "key=",
            "numeric-sort",
            "reverse",
            "unique",
            "version-sort",
        ],
        ..reader("sort", "nrufbdghiMRVcCs", "kt", Operands::Paths)
    },
    Reader {
        most: 1,
        long: &["count", "repeated", "unique"],
        ..reader("uniq", "cdui", "fsw", Operands::Paths)
    },
    Reader {
        long: &["characters=", "delimiter=", "fields=", "only-delimited", "output-delimiter="],
        ..reader("cut", "sn", "dfbc", Operands::Paths)
    },
    reader("tr", "cdstC", "", Operands::Words),
    reader("nl", "", "bwsn", Operands::Paths),
    reader("tac", "", "", Operands::Paths),
    reader("rev", "", "", Operands::Paths),
    Reader {
        long: &["format=", "printf=", "terse", "dereference"],
        ..reader("stat", "Lft", "c", Operands::Paths)
    },
    Reader {
        long: &["apparent-size", "human-readable", "max-depth=", "summarize"],
        ..reader("du", "abchkmsxS0", "d", Operands::Paths)
    },
    Reader {
        long: &["brief", "mime", "mime-encoding", "mime-type"],
        ..reader("file", "bhiLk", "", Operands::Paths)
    },
    Reader {
        long: &["dirsfirst", "noreport", "prune"],
        ..reader("tree", "adfgipshDFCrtu", "LIP", Operands::Paths)
    },
    reader("md5sum", "bt", "", Operands::Paths),
    reader("sha1sum", "bt", "", Operands::Paths),
    reader("sha256sum", "bt", "", Operands::Paths),
    reader("realpath", "em", "", Operands::Paths),
    reader("readlink", "efm", "", Operands::Paths),
    reader("basename", "az", "s", Operands::Words),
    reader("dirname", "z", "", Operands::Words),
    reader("pwd", "LP", "", Operands::None),
    reader("true", "", "", Operands::None),
    reader("false", "", "", Operands::None),
    reader(":", "", "", Operands::None),
    reader("whoami", "", "", Operands::None),
    reader("id", "gGnru", "", Operands::None),
    reader("uname", "amnrsvpio", "", Operands::None),
    reader("nproc", "", "", Operands::None),
    reader("arch", "", "", Operands::None),
    Reader { long: &["utc"], ..reader("date", "uIR", "", Operands::Formats) },
    reader("which", "a", "", Operands::Words),
    reader("type", "atp", "", Operands::Words),
    reader("echo", "neE", "", Operands::Words),
    reader("printf", "", "", Operands::Words),
    reader("seq", "w", "sf", Operands::Words),
    reader("sleep", "", "", Operands::Words),
];

const HEAD_LONG: &[&str] = &["bytes=", "lines=", "quiet", "verbose"];
const DIFF_LONG: &[&str] =
    &["brief", "color=", "ignore-all-space", "ignore-case", "side-by-side", "unified", "unified="];
const GREP_FLAGS: &str = "inHhlLcvwxsoqEFGPyr";

/// What the command looks at; `None` when it is not known to only read.
pub(super) fn reading(command: &Opened) -> Option<Reading> {
    let is_known = command.tail == Tail::None && command.doubt.is_none();
    if !is_known || command.words.iter().any(|word| word.is_glob) {
        return None;
    }
    let texts = command.texts();
    let (program, words) = texts.split_first()?;
    match standard_name(program)? {
        "find" => find::reading(words),
        "git" => git::reading(words),
        "command" => matches!(words, ["-v" | "-V", ..]).then(Reading::default),
        name => READERS.iter().find(|reader| reader.name == name)?.reading(words),
    }
}

impl Reader {
    fn reading(&self, words: &[&str]) -> Option<Reading> {
        let mut reading = Reading::default();
        let has_flag = self.flags.contains('r') && self.below != Below::None;
        if !has_flag {
            reading.below = self.below;
        }
        let mut operands = Vec::new();
        let mut has_pattern = false;
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if self.name == "echo" || *word == "-" {
                operands.push(*word);
            } else if *word == "--" {
                operands.extend(words.by_ref());
            } else if let Some(long) = word.strip_prefix("--") {
                self.long(long)?;
            } else if let Some(letters) = word.strip_prefix('-') {
                if self.has_numbers && letters.chars().all(|c| c.is_ascii_digit()) {
                    continue;
                }
                let mut letters = letters.chars();
                while let Some(letter) = letters.next() {
                    if self.flags.contains(letter) {
                        if has_flag && letter == 'r' {
                            reading.below = self.below;
                        }
                        continue;
                    }
                    if !self.valued.contains(letter) {
                        return None;
                    }
                    has_pattern |= letter == 'e';
                    if letters.as_str().is_empty() {
                        words.next()?;
                    }
                    break;
                }
            } else {
                operands.push(*word);
            }
        }
        if operands.len() > self.most {
            return None;
        }
        match self.operands {
            Operands::None => operands.is_empty().then_some(())?,
            Operands::Words => operands.clear(),
            Operands::Formats => {
                operands.iter().all(|word| word.starts_with('+')).then_some(())?;
                operands.clear();
            }
            Operands::PatternAndPaths if !has_pattern => {
                if operands.is_empty() {
                    return None;
                }
                operands.remove(0);
            }
            Operands::PatternAndPaths | Operands::Paths => {}
        }
        if operands.is_empty() && reading.below != Below::None {
            operands.push(".");
        }
        reading.paths = operands.into_iter().filter(|word| *word != "-").map(str::to_owned).collect();
        Some(reading)
    }

    fn long(&self, option: &str) -> Option<()> {
        let is_known = match option.split_once('=') {
            Some((name, _)) => self.long.iter().any(|long| long.strip_suffix('=') == Some(name)),
            None => self.long.contains(&option),
        };
        is_known.then_some(())
    }
}
