//! Programs by what they do to the files that they name.

/// Programs that do not show what is in the files that they name: some show names, some change what they do not show.
pub(super) const NOT_READING: &[&str] = &[
    "[", "basename", "cd", "chgrp", "chmod", "chown", "dirname", "du", "echo", "false", "find", "ls",
    "mkdir", "printf", "pwd", "readlink", "realpath", "rm", "rmdir", "stat", "test", "touch", "tree", "true",
    "truncate", "type", "unlink", "which",
];

/// Programs that read what lies below the folders that they name, with the options that make them do so: letters, and
/// long ones. None means always.
pub(super) const READING_BELOW: &[(&str, &str, &[&str])] = &[
    ("ack", "", &[]),
    ("ag", "", &[]),
    ("cp", "rRa", &["--recursive", "--archive"]),
    ("diff", "", &[]),
    ("egrep", "rR", &["--recursive", "--dereference-recursive"]),
    ("fgrep", "rR", &["--recursive", "--dereference-recursive"]),
    ("grep", "rR", &["--recursive", "--dereference-recursive"]),
    ("rg", "", &[]),
    ("rgrep", "", &[]),
    ("rsync", "", &[]),
    ("scp", "", &[]),
    ("tar", "", &[]),
    ("ugrep", "", &[]),
    ("zip", "", &[]),
];

/// Those of them that look through the folder where they run when only a pattern is named to them.
pub(super) const SEARCHERS: &[&str] = &["ack", "ag", "egrep", "fgrep", "grep", "rg", "rgrep", "ugrep"];

/// Programs that write whatever they take out of something.
pub(super) const SWEEPERS: &[&str] = &["7z", "bsdtar", "cpio", "patch", "tar", "unzip"];

/// Which operands a program writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writes {
    All,
    /// All, and they are gone afterwards, with what lies below them.
    Removed,
    /// The last, or what lies in it under the names of the others.
    Last,
    /// The last, and the others are gone afterwards.
    Moved,
    /// The second, where there is one.
    Second,
    /// All, or something in them.
    Within,
}

pub(super) const WRITERS: &[(&str, Writes)] = &[
    ("bunzip2", Writes::All),
    ("bzip2", Writes::All),
    ("chgrp", Writes::All),
    ("chmod", Writes::All),
    ("chown", Writes::All),
    ("cp", Writes::Last),
    ("csplit", Writes::Last),
    ("ed", Writes::All),
    ("ex", Writes::All),
    ("gunzip", Writes::All),
    ("gzip", Writes::All),
    ("install", Writes::Last),
    ("ln", Writes::Last),
    ("lz4", Writes::All),
    ("lzma", Writes::All),
    ("mkdir", Writes::All),
    ("mkfifo", Writes::All),
    ("mknod", Writes::All),
    ("mktemp", Writes::Within),
    ("mv", Writes::Moved),
    ("nano", Writes::All),
    ("nvim", Writes::All),
    ("rm", Writes::Removed),
    ("rmdir", Writes::Removed),
    ("rsync", Writes::Last),
    ("scp", Writes::Last),
    ("shred", Writes::All),
    ("split", Writes::Last),
    ("tee", Writes::All),
    ("touch", Writes::All),
    ("truncate", Writes::All),
    ("uniq", Writes::Second),
    ("unlink", Writes::Removed),
    ("unxz", Writes::All),
    ("unzstd", Writes::All),
    ("vi", Writes::All),
    ("vim", Writes::All),
    ("xxd", Writes::Second),
    ("xz", Writes::All),
    ("zstd", Writes::All),
];

/// Programs that write their operands with one of these options with one of these letters or long names, and the letters whose
/// value may follow them at once. Without either they always do.
pub(super) const EDITORS: &[(&str, &str, &str, &[&str])] = &[
    ("autopep8", "i", "", &["--in-place"]),
    ("black", "", "", &[]),
    ("clang-format", "i", "", &[]),
    ("eslint", "", "", &["--fix"]),
    ("gawk", "i", "efvF", &["--include"]),
    ("gofmt", "w", "", &[]),
    ("perl", "i", "eECDFIMmx", &[]),
    ("prettier", "w", "", &["--write"]),
    ("ruby", "i", "eCEFIKTWr", &[]),
    ("rustfmt", "", "", &[]),
    ("sed", "i", "efl", &["--in-place"]),
    ("sort", "o", "kStT", &["--output"]),
];
