//! What each subcommand of git does, whatever words follow it. One that is not listed may do anything: it may be an alias.

/// What is known of a subcommand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Subcommand {
    pub(super) name: &'static str,
    pub(super) shows: Shows,
    pub(super) writes: Writes,
    pub(super) talks: Talks,
    /// Whether it may run a program that its words name.
    pub(super) runs: bool,
    /// Words behind it with which it only looks at what git keeps of itself.
    pub(super) looks: &'static [&'static str],
    /// Subcommands of which it may do the work.
    pub(super) stands_for: &'static [&'static str],
}

/// Whether it shows what is in files that its words do not name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shows {
    Never,
    /// With one of these options: letters, and long ones. What follows one of `valued` in a word is its value.
    With {
        letters: &'static str,
        valued: &'static str,
        long: &'static [&'static str],
    },
    /// It prints them, unless its words are known to ask for less.
    Prints,
    /// It may put them under names that no rule is about.
    Copies,
}

/// Which files of the working tree it writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writes {
    Nothing,
    /// It removes its operands.
    Removes,
    /// The same, but for the last, to which the others go.
    Moves,
    /// Its operands, or what lies in them.
    Operands,
    /// A file that one of its options names.
    Named,
    /// Any.
    Sweeps,
    /// Any, and perhaps its operands are gone afterwards.
    SweepsAndRemoves,
}

/// Whether it talks to another machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Talks {
    Never,
    Always,
    /// With one of these as its first operand or among its options.
    With(&'static [&'static str]),
}

const PLAIN: Subcommand = Subcommand {
    name: "",
    shows: Shows::Never,
    writes: Writes::Nothing,
    talks: Talks::Never,
    runs: false,
    looks: &[],
    stands_for: &[],
};

const fn plain(name: &'static str) -> Subcommand {
    Subcommand { name, ..PLAIN }
}

const fn prints(name: &'static str) -> Subcommand {
    Subcommand { name, shows: Shows::Prints, ..PLAIN }
}

const fn copies(name: &'static str) -> Subcommand {
    Subcommand { name, shows: Shows::Copies, ..PLAIN }
}

const fn sweeps(name: &'static str) -> Subcommand {
    Subcommand { name, writes: Writes::Sweeps, ..PLAIN }
}

const fn talks(name: &'static str, stands_for: &'static [&'static str]) -> Subcommand {
    Subcommand { name, talks: Talks::Always, runs: true, stands_for, ..PLAIN }
}

/// Shows hunks, and asks which of them are meant.
const BY_PATCH: Shows = Shows::With { letters: "p", valued: "", long: &["--patch"] };

/// A format may ask for the text of what a name leads to.
const BY_FORMAT: Shows = Shows::With { letters: "", valued: "", long: &["--format"] };

const TABLE: &[Subcommand] = &[
    Subcommand {
        name: "add",
        shows: Shows::With { letters: "pie", valued: "", long: &["--patch", "--interactive", "--edit"] },
        ..PLAIN
    },
    Subcommand {
        name: "am",
        shows: Shows::With { letters: "", valued: "", long: &["--show-current-patch"] },
        ..sweeps("am")
    },
    prints("annotate"),
    sweeps("apply"),
    Subcommand { talks: Talks::With(&["--remote"]), runs: true, ..prints("archive") },
    Subcommand { shows: Shows::Prints, runs: true, looks: &["log"], ..sweeps("bisect") },
    prints("blame"),
    Subcommand { shows: BY_FORMAT, ..plain("branch") },
    Subcommand { writes: Writes::Operands, looks: &["list-heads", "verify"], ..copies("bundle") },
    prints("cat-file"),
    plain("check-attr"),
    plain("check-ignore"),
    plain("check-mailmap"),
    plain("check-ref-format"),
    Subcommand { name: "checkout", shows: BY_PATCH, writes: Writes::SweepsAndRemoves, ..PLAIN },
    Subcommand {
        shows: Shows::Copies,
        writes: Writes::Sweeps,
        stands_for: &["checkout"],
        ..plain("checkout-index")
    },
    plain("cherry"),
    sweeps("cherry-pick"),
    Subcommand { name: "clean", writes: Writes::SweepsAndRemoves, ..PLAIN },
    Subcommand { shows: Shows::Copies, writes: Writes::Operands, ..talks("clone", &[]) },
    Subcommand {
        name: "commit",
        shows: Shows::With {
            letters: "vp",
            valued: "mFCctSu",
            long: &["--verbose", "--patch", "--interactive"],
        },
        ..PLAIN
    },
    plain("commit-graph"),
    Subcommand { stands_for: &["commit"], ..plain("commit-tree") },
    Subcommand { writes: Writes::Named, ..plain("config") },
    plain("count-objects"),
    Subcommand { runs: true, ..plain("credential") },
    talks("cvsimport", &[]),
    Subcommand { talks: Talks::Always, ..prints("daemon") },
    plain("describe"),
    prints("diff"),
    prints("diff-files"),
    prints("diff-index"),
    prints("diff-tree"),
    Subcommand { runs: true, ..prints("difftool") },
    prints("fast-export"),
    Subcommand { shows: Shows::Copies, ..sweeps("fast-import") },
    talks("fetch", &[]),
    talks("fetch-pack", &["fetch"]),
    Subcommand { shows: Shows::Prints, runs: true, ..sweeps("filter-branch") },
    Subcommand { shows: BY_FORMAT, ..plain("for-each-ref") },
    Subcommand { writes: Writes::Sweeps, ..prints("format-patch") },
    plain("fsck"),
    plain("gc"),
    Subcommand { runs: true, ..prints("grep") },
    plain("hash-object"),
    Subcommand { runs: true, ..plain("help") },
    talks("http-fetch", &["fetch"]),
    talks("http-push", &["push"]),
    talks("imap-send", &[]),
    plain("index-pack"),
    Subcommand { name: "init", writes: Writes::Operands, ..PLAIN },
    Subcommand { talks: Talks::Always, runs: true, ..prints("instaweb") },
    prints("log"),
    plain("ls-files"),
    talks("ls-remote", &[]),
    plain("ls-tree"),
    Subcommand { writes: Writes::Operands, ..plain("mailinfo") },
    Subcommand { talks: Talks::With(&["run", "start", "register"]), ..plain("maintenance") },
    sweeps("merge"),
    plain("merge-base"),
    Subcommand { writes: Writes::Operands, ..prints("merge-file") },
    prints("merge-tree"),
    Subcommand { shows: Shows::Prints, runs: true, ..sweeps("mergetool") },
    copies("mktree"),
    Subcommand { name: "mv", writes: Writes::Moves, ..PLAIN },
    plain("name-rev"),
    Subcommand { looks: &["list"], ..copies("notes") },
    talks("p4", &["push", "fetch", "commit"]),
    plain("pack-refs"),
    plain("prune"),
    Subcommand { writes: Writes::Sweeps, ..talks("pull", &[]) },
    talks("push", &[]),
    prints("range-diff"),
    Subcommand { shows: Shows::Copies, stands_for: &["checkout", "reset"], ..sweeps("read-tree") },
    Subcommand {
        shows: Shows::With { letters: "i", valued: "", long: &["--interactive", "--show-current-patch"] },
        runs: true,
        ..sweeps("rebase")
    },
    prints("reflog"),
    Subcommand { name: "remote", talks: Talks::With(&["show", "update", "prune"]), ..PLAIN },
    talks("remote-ftp", &["fetch", "clone", "pull"]),
    talks("remote-ftps", &["fetch", "clone", "pull"]),
    talks("remote-http", &["push", "fetch", "clone", "pull"]),
    talks("remote-https", &["push", "fetch", "clone", "pull"]),
    plain("repack"),
    copies("replace"),
    Subcommand { talks: Talks::Always, ..prints("request-pull") },
    sweeps("rerere"),
    Subcommand { name: "reset", shows: BY_PATCH, writes: Writes::Sweeps, ..PLAIN },
    Subcommand { name: "restore", shows: BY_PATCH, writes: Writes::SweepsAndRemoves, ..PLAIN },
    plain("rev-list"),
    plain("rev-parse"),
    sweeps("revert"),
    Subcommand { name: "rm", writes: Writes::Removes, ..PLAIN },
    Subcommand { shows: Shows::Prints, ..talks("send-email", &[]) },
    talks("send-pack", &["push"]),
    prints("shortlog"),
    prints("show"),
    plain("show-branch"),
    plain("show-index"),
    plain("show-ref"),
    Subcommand { looks: &["list"], ..sweeps("sparse-checkout") },
    Subcommand { shows: Shows::Prints, looks: &["list", "show"], ..sweeps("stash") },
    Subcommand {
        name: "status",
        shows: Shows::With { letters: "v", valued: "u", long: &["--verbose"] },
        ..PLAIN
    },
    plain("stripspace"),
    Subcommand {
        shows: Shows::Prints,
        talks: Talks::With(&["add", "update"]),
        runs: true,
        looks: &["status"],
        ..sweeps("submodule")
    },
    Subcommand {
        shows: Shows::Copies,
        writes: Writes::Sweeps,
        talks: Talks::With(&["add", "pull", "push"]),
        stands_for: &["commit", "fetch", "merge", "pull", "push"],
        ..plain("subtree")
    },
    Subcommand {
        shows: Shows::Prints,
        writes: Writes::Sweeps,
        ..talks("svn", &["clone", "commit", "fetch", "push", "rebase"])
    },
    sweeps("switch"),
    plain("symbolic-ref"),
    Subcommand { shows: BY_FORMAT, ..plain("tag") },
    prints("unpack-file"),
    Subcommand { shows: Shows::Copies, ..plain("update-index") },
    Subcommand { stands_for: &["branch", "tag", "reset"], ..plain("update-ref") },
    plain("var"),
    plain("verify-commit"),
    plain("verify-pack"),
    Subcommand { shows: BY_FORMAT, ..plain("verify-tag") },
    plain("version"),
    prints("whatchanged"),
    Subcommand { writes: Writes::Operands, looks: &["list"], ..copies("worktree") },
    plain("write-tree"),
];

/// `None` for a subcommand of which nothing is known.
pub(super) fn known(name: &str) -> Option<&'static Subcommand> {
    TABLE.iter().find(|subcommand| subcommand.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_subcommand_stands_once_in_its_place() {
        let names: Vec<&str> = TABLE.iter().map(|subcommand| subcommand.name).collect();
        let mut sorted = names.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(names, sorted);
    }
}
