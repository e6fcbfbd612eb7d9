//! The strict grammar of changes. A clause is read from its first word to its last; what no rule takes stays where the
//! reading stopped, so that a change is carried out only when every word of it was understood.

use super::{
    clause::{Clause, among},
    place::clean_path,
    wish::{Pick, Target},
    words::{Kind, Token},
};

/// Words that may stand between the parts of a change without meaning anything.
const POLITE: &str = "please pls kindly thanks";

/// Names of files that are said without their ending.
const NAMED_FILES: &str =
    "readme changelog license licence makefile dockerfile contributing justfile gitignore";

const EVERYWHERE: &str = "all files|all the files|all of the files|every file|each file|the project|this project|\
    the whole project|the entire project|the codebase|the whole codebase|the workspace|the whole workspace";

/// The file in the editor, or the one that was spoken of last.
const OPEN_FILE: &str = "this file|the current file|current file|the open file|the active file|this module|\
    this document|this buffer|the current buffer";

const ORDINALS: &[(&str, Pick)] = &[
    ("first", Pick::Nth(0)),
    ("second", Pick::Nth(1)),
    ("third", Pick::Nth(2)),
    ("fourth", Pick::Nth(3)),
    ("fifth", Pick::Nth(4)),
    ("last", Pick::End),
];

/// A text as it was written; `quoted` when quotes or back-ticks say where it begins and ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) text: String,
    pub(super) quoted: bool,
}

/// Where a change is to be made.
#[derive(Debug, Default)]
pub(super) struct Where {
    pub(super) files: Vec<Target>,
    pub(super) everywhere: bool,
    pub(super) line: Option<usize>,
    pub(super) whole_words: bool,
}

impl Where {
    /// The targets of one wish each; `None` is no target said.
    pub(super) fn targets(&self, has_open_file: bool) -> Vec<Option<Target>> {
        if self.files.is_empty() {
            return vec![(has_open_file && !self.everywhere).then_some(Target::Open)];
        }
        self.files.iter().cloned().map(Some).collect()
    }
}

/// Reads a clause; `at` is the token that is read next.
pub(super) struct Reader<'c, 'a> {
    clause: &'c Clause<'a>,
    at: usize,
    furthest: usize,
    has_open_file: bool,
}

impl<'c, 'a> Reader<'c, 'a> {
    pub(super) fn new(clause: &'c Clause<'a>, has_open_file: bool) -> Self {
        Self { clause, at: 0, furthest: 0, has_open_file }
    }

    /// The token at which the reading stopped.
    pub(super) fn furthest(&self) -> usize {
        self.furthest
    }

    pub(super) fn has_open_file(&self) -> bool {
        self.has_open_file
    }

    /// The clause as it was written.
    pub(super) fn source(&self) -> &'a str {
        self.clause.source()
    }

    /// Goes on with the token behind the first `length` bytes of the clause.
    pub(super) fn skip_to(&mut self, length: usize) {
        let start = self.clause.tokens.first().map_or(0, |token| token.start);
        let is_within = |token: &&Token| token.start < start + length;
        self.go_to(self.clause.tokens.iter().take_while(is_within).count());
    }

    /// The word that was taken last.
    pub(super) fn before(&self) -> &str {
        self.at.checked_sub(1).map_or("", |before| self.clause.word(before))
    }

    /// Whether the path that stands here ends with a stroke.
    pub(super) fn names_folder(&self) -> bool {
        self.token().is_some_and(|token| token.text.ends_with('/'))
    }

    fn token(&self) -> Option<&'a Token> {
        self.clause.tokens.get(self.at)
    }

    pub(super) fn word(&self) -> &str {
        self.clause.word(self.at)
    }

    fn go_to(&mut self, at: usize) {
        self.at = at;
        self.furthest = self.furthest.max(at);
    }

    /// Takes one of these words.
    pub(super) fn eat(&mut self, list: &str) -> bool {
        let is_there = among(self.word(), list);
        if is_there {
            self.go_to(self.at + 1);
        }
        is_there
    }

    /// Takes the first of these sequences of words, which have `|` between them, that stands here.
    pub(super) fn eat_sequence(&mut self, sequences: &str) -> bool {
        let rest = self.clause.slice(self.at, self.clause.tokens.len());
        let found = sequences.split('|').map(str::trim).find(|words| rest.starts_with(words));
        if let Some(words) = found {
            self.go_to(self.at + words.split(' ').count());
        }
        found.is_some()
    }

    pub(super) fn eat_colon(&mut self) -> bool {
        let is_there = self.token().is_some_and(|token| token.kind == Kind::Colon);
        if is_there {
            self.go_to(self.at + 1);
        }
        is_there
    }

    /// Takes commas and polite words.
    pub(super) fn skip_polite(&mut self) {
        while self.token().is_some_and(|token| token.kind == Kind::Comma || among(&token.word, POLITE)) {
            self.go_to(self.at + 1);
        }
    }

    /// Whether every word, and every sign between the words, was taken.
    pub(super) fn is_at_end(&mut self) -> bool {
        self.skip_polite();
        // The full stop behind a quoted text is a token of its own.
        let is_stop = self.token().is_some_and(|token| token.text == ".")
            && self.at > 0
            && self.clause.tokens.get(self.at - 1).is_some_and(Token::is_quoted);
        if is_stop {
            self.go_to(self.at + 1);
        }
        self.at == self.clause.tokens.len() && self.clause.stray_sign(self.at).is_none()
    }

    /// One text: quoted, or a single word. A path without quotes is a file and no text.
    pub(super) fn text(&mut self) -> Option<Text> {
        let token = self.token()?;
        if !matches!(token.kind, Kind::Quoted | Kind::Word) {
            return None;
        }
        self.go_to(self.at + 1);
        Some(Text { text: token.text.clone(), quoted: token.is_quoted() })
    }

    /// One text between quotes or back-ticks.
    pub(super) fn quoted(&mut self) -> Option<String> {
        let token = self.token().filter(|token| token.is_quoted())?;
        self.go_to(self.at + 1);
        Some(token.text.clone())
    }

    /// Takes words that only say what kind of text follows, but never the last one before a word of `stops`: in
    /// "rename name to label" the name is `name`.
    pub(super) fn skip_kinds(&mut self, kinds: &str, stops: &str) -> bool {
        let start = self.at;
        while among(self.word(), kinds) {
            let next = self.clause.tokens.get(self.at + 1);
            if next.is_none_or(|token| among(&token.word, stops)) {
                break;
            }
            self.go_to(self.at + 1);
        }
        self.at > start
    }

    /// All that is left, as it was written.
    pub(super) fn rest(&mut self) -> &'a str {
        let rest = self.clause.source_from(self.at);
        self.go_to(self.clause.tokens.len());
        rest
    }

    /// Whether only one more token is left.
    pub(super) fn is_at_last(&self) -> bool {
        self.at + 1 == self.clause.tokens.len()
    }

    /// A file or folder that is named; `None` takes nothing.
    pub(super) fn path(&mut self) -> Option<String> {
        let start = self.at;
        self.eat("the this my our");
        let says_file = self.eat("file files");
        let path = self.token().filter(|token| {
            let is_file =
                token.is_path() || (token.is_quoted() && (says_file || token.text.contains(['.', '/'])));
            is_file && !token.text.contains(['*', '\n']) && !token.text.trim().is_empty()
        });
        match path {
            Some(token) => {
                self.go_to(self.at + 1);
                Some(clean_path(&token.text))
            }
            None => {
                self.at = start;
                None
            }
        }
    }

    /// A file by path, the open one, or one by its place in the list before; `None` takes nothing.
    pub(super) fn file_to_delete(&mut self) -> Option<Target> {
        if let Some(path) = self.path() {
            return Some(Target::Path(path));
        }
        if self.has_open_file && self.eat_sequence(OPEN_FILE) {
            return Some(Target::Open);
        }
        let start = self.at;
        self.eat("the");
        let pick = ORDINALS.iter().find(|(word, _)| self.eat_sequence(&format!("{word} file|{word} one")));
        if pick.is_none() {
            self.at = start;
        }
        pick.map(|(_, pick)| Target::Recent(*pick))
    }

    /// The same, and files that the words only point at: an edit to a wrong one changes nothing or is seen.
    pub(super) fn file_to_edit(&mut self) -> Option<Target> {
        let found = self.file_to_delete();
        if found.is_some() {
            return found;
        }
        if self.eat_sequence("these files|those files|them") {
            return Some(Target::Recent(Pick::All));
        }
        let start = self.at;
        self.eat("the");
        let word = self.word().to_owned();
        if self.eat(NAMED_FILES) {
            self.eat("file");
            return Some(Target::Named(word));
        }
        self.at = start;
        let is_recent = self.eat_sequence(OPEN_FILE) || self.eat_sequence("that file|the file|it");
        is_recent.then_some(Target::Recent(Pick::Last))
    }

    /// Files with commas or "and" between them.
    pub(super) fn files(&mut self, one: fn(&mut Self) -> Option<Target>) -> Option<Vec<Target>> {
        let mut files = vec![one(self)?];
        loop {
            let start = self.at;
            let mut is_joined = self.follows_comma();
            while self.token().is_some_and(|token| token.kind == Kind::Comma) || self.word() == "and" {
                is_joined = true;
                self.at += 1;
            }
            match one(self).filter(|_| is_joined) {
                Some(file) if files.contains(&file) => {}
                Some(file) => files.push(file),
                None => {
                    self.at = start;
                    return Some(files);
                }
            }
        }
    }

    /// The comma behind a quoted text is no token.
    fn follows_comma(&self) -> bool {
        self.clause.gap_before(self.at).contains(',')
    }

    /// "in FILE and FILE", "everywhere", "on line 3 of FILE", "as a whole word", in any order, each once at most. What
    /// it does not know it leaves. `prepositions` are the words before files.
    pub(super) fn places(&mut self, prepositions: &str) -> Option<Where> {
        let mut places = Where::default();
        loop {
            let start = self.at;
            self.skip_polite();
            let has_files = places.everywhere || !places.files.is_empty();
            if !has_files && self.eat("everywhere globally") {
                places.everywhere = true;
            } else if !places.whole_words
                && self.eat_sequence("as a word|as a whole word|as whole words|as words|whole words only")
            {
                places.whole_words = true;
            } else if places.line.is_none() && self.eat_sequence("on line|in line|at line") {
                places.line = Some(self.word().parse().ok().filter(|line| *line > 0)?);
                self.go_to(self.at + 1);
                if !has_files && self.eat("of in") {
                    places.files = self.files(Self::file_to_edit)?;
                }
            } else if !has_files && self.eat(prepositions) {
                if self.eat_sequence(EVERYWHERE) {
                    places.everywhere = true;
                } else {
                    places.files = self.files(Self::file_to_edit)?;
                }
            } else {
                self.at = start;
                break;
            }
        }
        // A line of many files is more likely a slip than a wish.
        let is_one_file = !places.everywhere && places.files.len() <= 1;
        (places.line.is_none() || is_one_file).then_some(places)
    }
}

impl Clause<'_> {
    /// The signs between the token before and this one.
    fn gap_before(&self, index: usize) -> &str {
        let before = index.checked_sub(1).and_then(|index| self.tokens.get(index));
        let (Some(before), Some(token)) = (before, self.tokens.get(index)) else { return "" };
        self.text_between(before.end, token.start)
    }

    /// A sign that no token holds, before the token `until` or behind the last: the asterisk of `code.py*`, brackets.
    pub(super) fn stray_sign(&self, until: usize) -> Option<char> {
        let mut gaps = (1..until).flat_map(|index| {
            let is_colon = self.tokens.get(index).is_some_and(|token| token.kind == Kind::Colon);
            let known = move |c: &char| c.is_whitespace() || *c == ',' || (is_colon && *c == ':');
            self.gap_before(index).chars().filter(move |c| !known(c))
        });
        let behind = || {
            let is_whole = until == self.tokens.len();
            self.tail().chars().find(|c| is_whole && !c.is_whitespace() && !".!,;:…".contains(*c))
        };
        gaps.next().or_else(behind)
    }
}
