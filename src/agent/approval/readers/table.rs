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
    /// Long names; those that end with `=` take a value which is no path, there or as the next word, and those that end
    /// with `[=` only there. Where a program of that name on some system takes it as the next word, that counts as a path.
    pub(super) long: &'static [&'static str],
    pub(super) operands: Operands,
    /// Whether a number may stand as an option, as in `head -5`.
    pub(super) has_numbers: bool,
    /// Most operands; a further one would be written to.
    pub(super) most: usize,
    /// What it shows below its paths: with the flag `r` where there is one, else always.
    pub(super) below: Below,
}

pub(super) const fn reader(
    name: &'static str,
    flags: &'static str,
    valued: &'static str,
    operands: Operands,
) -> Reader {
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
    "color[=",
    "colour[=",
    "context[=",
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
    "regexp=",
    "with-filename",
    "word-regexp",
];

pub(super) const READERS: &[Reader] = &[
    Reader {
        long: &[
            "all",
            "almost-all",
            "classify",
            "color[=",
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
    Reader {
        long: &["body-numbering=", "number-format=", "number-separator=", "number-width="],
        ..reader("nl", "", "bwsn", Operands::Paths)
    },
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
    Reader { long: &["relative-to="], ..reader("realpath", "emsz", "", Operands::Paths) },
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
    Reader { long: &["all"], ..reader("nproc", "", "", Operands::None) },
    reader("hostname", "dfiIs", "", Operands::None),
    reader("tty", "s", "", Operands::None),
    Reader { long: &["human-readable"], ..reader("df", "ahiTPkl", "t", Operands::Paths) },
    Reader { long: &["human"], ..reader("free", "bkmght", "", Operands::None) },
    reader("uptime", "p", "", Operands::None),
    Reader { most: 1, ..reader("xxd", "bcEeipsu", "lsgco", Operands::Paths) },
    Reader { long: &["canonical"], ..reader("hexdump", "bcCdovx", "ns", Operands::Paths) },
    // A width stands at once behind its letter, or not at all.
    reader("od", "bcdfilosvwx", "AjNt", Operands::Paths),
    reader("strings", "af", "nt", Operands::Paths),
    Reader {
        long: &["output-separator=", "separator=", "table"],
        ..reader("column", "tx", "cos", Operands::Paths)
    },
    Reader { long: &["delimiters=", "serial"], ..reader("paste", "s", "d", Operands::Paths) },
    reader("fold", "bs", "w", Operands::Paths),
    reader("expand", "i", "t", Operands::Paths),
    reader("arch", "", "", Operands::None),
    Reader {
        long: &["date=", "iso-8601[=", "rfc-3339=", "rfc-email", "utc"],
        ..reader("date", "uIR", "d", Operands::Formats)
    },
    reader("which", "a", "", Operands::Words),
    reader("type", "atp", "", Operands::Words),
    reader("expr", "", "", Operands::Words),
    Reader { long: FD_LONG, ..reader("fd", FD_FLAGS, FD_VALUED, Operands::Paths) },
    Reader { long: FD_LONG, ..reader("fdfind", FD_FLAGS, FD_VALUED, Operands::Paths) },
    reader("echo", "neE", "", Operands::Words),
    reader("printf", "", "", Operands::Words),
    Reader { long: &["equal-width", "separator="], ..reader("seq", "w", "sf", Operands::Words) },
    reader("sleep", "", "", Operands::Words),
    reader("break", "", "", Operands::Words),
    reader("continue", "", "", Operands::Words),
    reader("exit", "", "", Operands::Words),
    reader("wait", "", "", Operands::Words),
];

const HEAD_LONG: &[&str] = &["bytes=", "lines=", "quiet", "verbose"];
const DIFF_LONG: &[&str] =
    &["brief", "color[=", "ignore-all-space", "ignore-case", "side-by-side", "unified[="];
const GREP_FLAGS: &str = "inHhlLcvwxsoqEFGPyr";

/// What of `fd` prints names; its pattern counts as one of its paths.
const FD_LONG: &[&str] = &[
    "absolute-path",
    "case-sensitive",
    "changed-before=",
    "changed-within=",
    "color=",
    "exact-depth=",
    "exclude=",
    "extension=",
    "fixed-strings",
    "follow",
    "full-path",
    "glob",
    "hidden",
    "ignore-case",
    "max-depth=",
    "max-results=",
    "min-depth=",
    "no-ignore",
    "print0",
    "regex",
    "size=",
    "type=",
    "unrestricted",
];
const FD_FLAGS: &str = "0FHILagipsu1";
const FD_VALUED: &str = "EcdejtS";
