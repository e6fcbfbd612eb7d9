//! What the user wants, as data: the wishes that the offline model can carry out, and those that it can only say no to.

/// A file that a wish is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Path(String),
    /// By a word of its name: "the readme".
    Named(String),
    /// The file that is open in the editor.
    Open,
    /// Files that were listed, found or read before.
    Recent(Pick),
}

/// Which of the files before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pick {
    /// "it", "that file": the one that was spoken of last.
    Last,
    /// "them", "all of these".
    All,
    /// "the second file", from 0.
    Nth(usize),
    /// "the last one" of a list.
    End,
}

/// Where a wish is to look, as the words say it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Scope {
    pub(super) path: String,
    pub(super) told_as: ToldAs,
}

/// How sure it is that a scope is a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ToldAs {
    /// A path: used as it is.
    Path,
    /// "in shop": a folder when there is one, and said when there is none.
    Place,
    /// "in shop we use x": a folder when there is one, else only a word of the sentence.
    Word,
}

/// What a request asks for that is beyond this model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BeyondKind {
    Writing,
    Judging,
    /// Working out which command to run.
    Running,
}

/// Which files a list is of; an empty filter lets all pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Filter {
    /// One of these globs must match.
    pub(super) globs: Vec<String>,
    /// Must stand in the path, in any case.
    pub(super) part: Option<String>,
    pub(super) folders_only: bool,
}

/// What a search looks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Needle {
    pub(super) shown: String,
    /// For the search tool, a regular expression.
    pub(super) pattern: String,
    pub(super) case_sensitive: bool,
}

/// Which of several places a replacement is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Places {
    All,
    First,
    Line(usize),
}

/// The kind of things that are counted in one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Lines,
    Functions,
    Types,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Replacement {
    pub(super) find: String,
    pub(super) with: String,
    /// `None`: nothing was said about where.
    pub(super) target: Option<Target>,
    /// All files are meant.
    pub(super) everywhere: bool,
    pub(super) places: Places,
    /// A name is replaced where it stands alone, not inside longer names.
    pub(super) whole_words: bool,
    /// Only on lines that hold this too: "change the *version* from 1 to 2".
    pub(super) on_lines_with: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    List {
        scope: Option<Scope>,
        filter: Filter,
        deep: bool,
    },
    CountFiles {
        scope: Option<Scope>,
        filter: Filter,
    },
    CountIn {
        target: Target,
        unit: Unit,
    },
    Read {
        targets: Vec<Target>,
        lines: Option<(usize, usize)>,
    },
    /// The next part of what was read last.
    ReadOn,
    Outline {
        target: Target,
    },
    /// What the project is about.
    Project,
    Find {
        needle: Needle,
        scope: Option<Scope>,
        count: bool,
    },
    Define {
        name: String,
        scope: Option<Scope>,
    },
    Uses {
        name: String,
        scope: Option<Scope>,
        calls_only: bool,
        count: bool,
    },
    Replace(Replacement),
    /// `key` is given the value `value` in a file of settings.
    Set {
        key: String,
        value: String,
        target: Target,
    },
    Create {
        path: String,
        text: String,
        overwrite: bool,
    },
    Append {
        target: Target,
        text: String,
    },
    Delete {
        target: Target,
    },
    Move {
        from: String,
        to: String,
    },
    Run {
        command: String,
    },
    /// A question in words: `words` is what the terms are taken from.
    Question {
        words: String,
    },
    /// Asks for what only a language model can do; what bears on it is shown.
    Beyond {
        words: String,
        kind: BeyondKind,
    },
    /// Understood but for one thing, which is said.
    Unclear {
        what: String,
    },
    /// Nothing to do: says what can be asked.
    Help,
}

impl Wish {
    /// Changes files or the world, so that it waits for the wishes before it and those after it wait for it.
    pub(super) fn changes_files(&self) -> bool {
        matches!(
            self,
            Self::Replace(_)
                | Self::Set { .. }
                | Self::Create { .. }
                | Self::Append { .. }
                | Self::Delete { .. }
                | Self::Move { .. }
                | Self::Run { .. }
        )
    }

    /// Speaks of files that the wish before it finds.
    pub(super) fn leans_on_others(&self) -> bool {
        let recent = |target: &Target| matches!(target, Target::Recent(_));
        match self {
            Self::Read { targets, .. } => targets.iter().any(recent),
            Self::Outline { target }
            | Self::CountIn { target, .. }
            | Self::Append { target, .. }
            | Self::Delete { target }
            | Self::Set { target, .. } => recent(target),
            Self::Replace(Replacement { target: Some(target), .. }) => recent(target),
            _ => false,
        }
    }
}

impl Needle {
    /// A text as it stands, blanks and capital letters included.
    pub(super) fn text(text: &str) -> Self {
        Self { shown: text.to_owned(), pattern: regex::escape(text), case_sensitive: true }
    }
}
