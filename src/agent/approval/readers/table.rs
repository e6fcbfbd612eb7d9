//! Programs that read, with the options that keep them so.

use crate::workspace::place::Below;

/// What the words are that are no options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operands {
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
pub(super) struct Reader {
    pub(super) name: &'static str,
    /// Letters that stand alone.
    pub(super) flags: &'static str,
    /// Letters that take a value which is no path.
    pub(super) valued: &'static str,
    /// Long names; those that end with `=` take a value which is no path.
    pub(super) long: &'static [&'static str],
    pub(super) operands: Operands,
    /// Whether a number may stand as an option, as in `head -5`.
    pub(super) has_numbers: bool,
    /// Most operands; a further one would be written to.
    pub(super) most: usize,
    /// What it shows below its paths: with the flag `r` where there is one, else always.
    pub(super) below: Below,
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

pub(super) const READERS: &[Reader] = &[
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
        ..reader("rg", "inlcvwxoFSsNHI", "ABCmetT", Operands::PatternAndPaths)
    },
    Reader { below: Below::Linked, long: DIFF_LONG, ..reader("diff", "uqbwiyBE", "UC", Operands::Paths) },
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
    reader("tty", "s", "", Operands::None),
    Reader { long: &["human-readable"], ..reader("df", "ahiTPkl", "t", Operands::Paths) },
    Reader { long: &["human"], ..reader("free", "bkmght", "", Operands::None) },
    reader("uptime", "p", "", Operands::None),
    Reader { most: 1, ..reader("xxd", "bcEeipsu", "lsgco", Operands::Paths) },
    Reader { long: &["canonical"], ..reader("hexdump", "bcCdovx", "ns", Operands::Paths) },
    reader("od", "bcdfilosvx", "AjNtw", Operands::Paths),
    reader("strings", "af", "nt", Operands::Paths),
    reader("column", "tx", "cs", Operands::Paths),
    reader("paste", "s", "d", Operands::Paths),
    reader("fold", "bs", "w", Operands::Paths),
    reader("expand", "i", "t", Operands::Paths),
    reader("arch", "", "", Operands::None),
    Reader { long: &["utc"], ..reader("date", "uIR", "", Operands::Formats) },
    reader("which", "a", "", Operands::Words),
    reader("type", "atp", "", Operands::Words),
    reader("echo", "neE", "", Operands::Words),
    reader("printf", "", "", Operands::Words),
    reader("seq", "w", "sf", Operands::Words),
    reader("sleep", "", "", Operands::Words),
    reader("break", "", "", Operands::Words),
    reader("continue", "", "", Operands::Words),
    reader("exit", "", "", Operands::Words),
    reader("wait", "", "", Operands::Words),
];

const HEAD_LONG: &[&str] = &["bytes=", "lines=", "quiet", "verbose"];
const DIFF_LONG: &[&str] =
    &["brief", "color=", "ignore-all-space", "ignore-case", "side-by-side", "unified", "unified="];
const GREP_FLAGS: &str = "inHhlLcvwxsoqEFGPyr";
