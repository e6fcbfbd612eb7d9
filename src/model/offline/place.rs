//! Where a clause points: paths, folders ("in src"), and files without a name ("it", "the second file", "this file").

use super::{
    clause::{Clause, among, is_kind_of_thing},
    wish::{Pick, Scope, Target, ToldAs},
    words::{Kind, Token},
};

/// Words before a path that says where.
const BEFORE_PATHS: &str = "in inside under within of below from at into to";

const FOLDER_WORDS: &str = "folder directory dir subfolder subdirectory";

/// Words after "in" that name no folder but the whole, or no place at all.
const NO_PLACES: &str = "current this root top working same project workspace whole entire each every any a an which what it them \
    there here that these those all general particular order detail details total full short code codebase repo repository \
    program app application use turn fact case parallel question front place";

impl Clause<'_> {
    pub(super) fn paths(&self) -> Vec<String> {
        let mut paths: Vec<String> = Vec::new();
        for token in self.tokens.iter().filter(|token| token.is_path() && !token.text.contains('*')) {
            let path = clean_path(&token.text);
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        paths
    }

    /// The first of `scopes`.
    pub(super) fn scope(&self) -> Option<Scope> {
        self.scopes().into_iter().next()
    }

    /// The folders and files after "in", "under", "inside" …; "the src folder" counts too, and so does any other word
    /// there: what is a folder is found out from the files that are there.
    pub(super) fn scopes(&self) -> Vec<Scope> {
        self.scopes_after("in inside under within below")
    }

    /// The same, where any of these words says that a place follows.
    pub(super) fn scopes_after(&self, words_before_places: &str) -> Vec<Scope> {
        for (index, token) in self.tokens.iter().enumerate() {
            if !among(&token.word, BEFORE_PATHS) {
                continue;
            }
            let is_before_words = among(&token.word, words_before_places);
            let scopes = self.places_at(index + 1, is_before_words);
            if !scopes.is_empty() {
                return scopes;
            }
        }
        Vec::new()
    }

    /// The places that are named from a token on: "src, tests and docs" are three.
    pub(super) fn places_at(&self, from: usize, takes_words: bool) -> Vec<Scope> {
        let mut scopes: Vec<Scope> = Vec::new();
        let mut at = from;
        while let Some((scope, next)) = self.place_at(at, takes_words) {
            scopes.push(scope);
            let is_joint = |token: &&Token| token.kind == Kind::Comma || among(&token.word, "and or");
            at = next + self.tokens.iter().skip(next).take_while(is_joint).count();
            if at == next {
                break;
            }
        }
        scopes
    }

    /// The place that is named from a token on, and the token after it. Without `takes_words` only a path is one, or
    /// a word that is called a folder.
    fn place_at(&self, from: usize, takes_words: bool) -> Option<(Scope, usize)> {
        let mut at = from;
        while among(self.word(at), "the my our file module path") || among(self.word(at), FOLDER_WORDS) {
            at += 1;
        }
        let place = self.tokens.get(at)?;
        if place.is_path() {
            let scope = Scope { path: clean_path(&place.text), told_as: ToldAs::Path };
            return (!place.text.contains('*')).then_some((scope, at + 1));
        }
        let called_after = among(self.word(at + 1), FOLDER_WORDS);
        let called_before = at > from && among(self.word(at - 1), FOLDER_WORDS);
        let is_called_folder = called_after || called_before;
        let is_name = (place.is_quoted() || place.kind == Kind::Word)
            && !place.text.is_empty()
            && !place.text.contains(char::is_whitespace)
            && !place.text.chars().all(|c| c.is_numeric())
            && !among(&place.word, NO_PLACES);
        if !is_name || !(is_called_folder || takes_words && !is_kind_of_thing(&place.word)) {
            return None;
        }
        let next = if called_after { at + 2 } else { at + 1 };
        let ends_here = self.tokens.get(next..).unwrap_or_default().iter().all(|token| {
            token.kind == Kind::Comma
                || token.kind == Kind::Colon
                || among(&token.word, "please too there now")
        });
        let is_place = is_called_folder || ends_here || among(self.word(next), "and or");
        let told_as = if is_place { ToldAs::Place } else { ToldAs::Word };
        Some((Scope { path: place.text.clone(), told_as }, next))
    }

    /// "it", "them", "the second file", "this file": a file without its name.
    pub(super) fn reference(&self, has_open_file: bool) -> Option<Target> {
        const ORDINALS: &[(&str, usize)] = &[
            ("first", 0),
            ("1st", 0),
            ("second", 1),
            ("2nd", 1),
            ("third", 2),
            ("3rd", 2),
            ("fourth", 3),
            ("4th", 3),
            ("fifth", 4),
            ("5th", 4),
        ];
        for (index, token) in self.tokens.iter().enumerate() {
            let next = self.word(index + 1);
            let counts = among(next, "file one result match hit entry  of");
            if let Some((_, place)) = ORDINALS.iter().find(|(word, _)| *word == token.word)
                && counts
            {
                return Some(Target::Recent(Pick::Nth(*place)));
            }
            if token.word == "last" && counts && !next.is_empty() {
                return Some(Target::Recent(Pick::End));
            }
        }
        let says_open = self
            .after("this file")
            .or(self.after("current file"))
            .or(self.after("open file"))
            .or(self.after("active file"))
            .or(self.after("this module"))
            .or(self.after("this document"))
            .or(self.after("current buffer"))
            .or(self.after("this buffer"));
        if says_open.is_some() {
            return Some(if has_open_file { Target::Open } else { Target::Recent(Pick::Last) });
        }
        if self.has("them these those") {
            return Some(Target::Recent(Pick::All));
        }
        if self.has("it")
            || self.after("that file").is_some()
            || self.after("the file").is_some_and(|after| after == self.tokens.len())
        {
            return Some(Target::Recent(Pick::Last));
        }
        let says_here = self.has("here selection selected")
            || matches!(self.tokens.last().map(|token| token.word.as_str()), Some("this"))
            || self.after("this code").or(self.after("this function")).or(self.after("this class")).is_some();
        (says_here && has_open_file).then_some(Target::Open)
    }

    /// All files that are named by path; else the one by reference or by a known name.
    pub(super) fn targets(&self, has_open_file: bool) -> Vec<Target> {
        let paths = self.paths();
        if paths.is_empty() {
            return self.target(has_open_file).into_iter().collect();
        }
        paths.into_iter().map(Target::Path).collect()
    }

    /// A file by path, by reference or by a known name ("the readme").
    pub(super) fn target(&self, has_open_file: bool) -> Option<Target> {
        if let Some(path) = self.paths().into_iter().next() {
            return Some(Target::Path(path));
        }
        if let Some(target) = self.reference(has_open_file) {
            return Some(target);
        }
        const NAMES: &str = "readme changelog license licence makefile dockerfile contributing justfile gitignore manifest lockfile";
        self.tokens
            .iter()
            .find(|token| among(&token.word, NAMES))
            .map(|token| Target::Named(token.word.clone()))
    }
}

/// A path as the tools take it: relative, without `./` before and `/` behind.
pub(super) fn clean_path(path: &str) -> String {
    let path = path.strip_prefix('@').unwrap_or(path).replace('\\', "/");
    let path = path.strip_prefix("./").unwrap_or(&path);
    let bare = path.trim_end_matches('/');
    if bare.is_empty() && path.starts_with('/') {
        "/".to_owned()
    } else if bare.is_empty() {
        ".".to_owned()
    } else {
        bare.to_owned()
    }
}
