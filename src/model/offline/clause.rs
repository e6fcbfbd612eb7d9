//! One clause of a prompt, and how a prompt falls into clauses.

use super::{
    terms::is_stop_word,
    words::{Kind, Token, looks_like_name},
};

/// Whether a word stands in a list of words with blanks between them.
pub(super) fn among(word: &str, list: &str) -> bool {
    !word.is_empty() && list.split(' ').any(|known| known == word)
}

/// Tokens of one clause without politeness at its beginning.
pub(super) struct Clause<'a> {
    prompt: &'a str,
    pub(super) tokens: &'a [Token],
}

/// Verbs that begin an order.
const VERBS: &str = "list read show open print display view cat find search grep look locate replace substitute rename change set bump delete remove move create write make add append insert run execute explain summarize summarise describe outline count give tell check edit update fix implement refactor document generate swap enumerate";

const QUESTION_WORDS: &str = "what what's where where's which who who's how why when is are does do";

/// Politeness and order of events: nothing is lost without them.
const PREFACES: &str = "could you|can you|would you|will you|can i see|i want you to|i want to know|i want to|\
    i need you to|i need to know|i'd like you to|i'd like to know|i'd like to|i would like you to|\
    i would like to know|i would like to|do you know|i wonder|i'm wondering|let us|let's|\
    tell me about|tell me|let me know|help me to|help me understand|help me|after that|\
    go ahead and|please|pls|kindly|then|and|also|next|now|finally|afterwards|first|second|just|\
    quickly|ok|okay|so|hey|hi|hello|but|once more|again|ask";

/// Splits at the ends of sentences and where a new order or question begins.
pub(super) fn clauses<'a>(prompt: &'a str, tokens: &'a [Token]) -> Vec<Clause<'a>> {
    let mut clauses = Vec::new();
    for sentence in tokens.split(|token| token.kind == Kind::Break) {
        let mut start = 0;
        for at in 1..sentence.len() {
            let (Some(before), Some(rest)) = (sentence.get(start..at), sentence.get(at..)) else { continue };
            if begins_clause(before, rest) {
                clauses.push(Clause { prompt, tokens: before });
                start = at;
            }
        }
        clauses.push(Clause { prompt, tokens: sentence.get(start..).unwrap_or_default() });
    }
    clauses.into_iter().map(Clause::without_preface).filter(|clause| !clause.tokens.is_empty()).collect()
}

/// Whether a new clause begins with `rest` after `before`.
fn begins_clause(before: &[Token], rest: &[Token]) -> bool {
    let Some(first) = rest.first() else { return false };
    let joint = match first.kind {
        Kind::Comma => true,
        Kind::Word => among(&first.word, "and then also afterwards"),
        _ => false,
    };
    if !joint {
        return false;
    }
    let has_then = rest.iter().take(3).any(|token| among(&token.word, "then afterwards"));
    let mut after = rest;
    while let Some((token, more)) = after.split_first() {
        let is_joint = token.kind == Kind::Comma
            || among(&token.word, "and then also afterwards please finally after that next tell me");
        if !is_joint {
            break;
        }
        after = more;
    }
    let (Some(verb), follower) = (after.first(), after.get(1)) else { return false };
    let before = Clause { prompt: "", tokens: before }.without_preface();
    let Some(opening) = before.tokens.first() else { return false };
    // "In FILE, replace a by b": where comes first.
    let is_place = among(&opening.word, "in inside within throughout");
    if is_place && before.tokens.len() <= 6 {
        return false;
    }
    // "replace a and read with b" is one order: its second half has to come first.
    let is_replacement = among(&opening.word, "replace substitute rename change");
    if is_replacement && !before.tokens.iter().any(|token| among(&token.word, "with by to for as into")) {
        return false;
    }
    if among(&verb.word, QUESTION_WORDS) {
        return verb.word != "is" && verb.word != "are" && verb.word != "do" && verb.word != "does"
            || has_then;
    }
    if !among(&verb.word, VERBS) {
        return false;
    }
    if has_then || among(&opening.word, VERBS) {
        return true;
    }
    // In a question "and read" may be part of it ("how are list and read called"); "and read it" is an order.
    follower.is_some_and(|token| {
        token.is_path()
            || token.is_quoted()
            || among(&token.word, "the it them this that me its all each every a where what how")
    })
}

impl<'a> Clause<'a> {
    fn without_preface(mut self) -> Self {
        loop {
            let known = PREFACES.split('|').find(|preface| self.starts_with(preface));
            let is_sign =
                self.tokens.first().is_some_and(|token| matches!(token.kind, Kind::Comma | Kind::Colon));
            let skip = match known {
                Some(preface) => preface.split(' ').count(),
                None if is_sign => 1,
                None => return self,
            };
            self.tokens = self.tokens.get(skip..).unwrap_or_default();
        }
    }

    /// The clause as the user wrote it.
    pub(super) fn source(&self) -> &'a str {
        self.source_from(0)
    }

    /// The same from a token on.
    pub(super) fn source_from(&self, index: usize) -> &'a str {
        let (Some(first), Some(last)) = (self.tokens.get(index), self.tokens.last()) else { return "" };
        self.prompt.get(first.start..last.end).unwrap_or_default()
    }

    /// The prompt's text between two places of it.
    pub(super) fn text_between(&self, start: usize, end: usize) -> &'a str {
        self.prompt.get(start..end).unwrap_or_default()
    }

    /// The signs behind the last token, up to the next word or the end of the line.
    pub(super) fn tail(&self) -> &'a str {
        let rest = self.tokens.last().and_then(|last| self.prompt.get(last.end..)).unwrap_or_default();
        let end =
            rest.find(|c: char| c.is_alphanumeric() || matches!(c, '\n' | '`' | '"' | '\'' | '“' | '_'));
        rest.get(..end.unwrap_or(rest.len())).unwrap_or_default()
    }

    /// Ends with a question mark.
    pub(super) fn is_asked(&self) -> bool {
        self.tail().contains('?')
    }

    /// Begins with a verb that orders something, or ends with a question mark.
    pub(super) fn is_order_or_question(&self) -> bool {
        self.starts_with_any(VERBS) || self.is_asked()
    }

    /// Whether `next` is no further order beside this clause but what it speaks of: "What does this do?", then a command.
    pub(super) fn may_speak_of(&self, next: &Clause<'_>) -> bool {
        let ends_with_colon = self.tokens.last().is_some_and(|token| token.kind == Kind::Colon);
        let (Some(last), Some(first)) = (self.tokens.last(), next.tokens.first()) else { return false };
        self.is_asked() || ends_with_colon || self.text_between(last.end, first.start).contains('\n')
    }

    pub(super) fn word(&self, index: usize) -> &str {
        self.tokens.get(index).map_or("", |token| token.word.as_str())
    }

    /// Whether it begins with this sequence of words.
    pub(super) fn starts_with(&self, sequence: &str) -> bool {
        sequence.split(' ').enumerate().all(|(index, word)| self.word(index) == word)
    }

    /// Whether its first word is one of these.
    pub(super) fn starts_with_any(&self, list: &str) -> bool {
        among(self.word(0), list)
    }

    /// Whether it holds one of these words.
    pub(super) fn has(&self, list: &str) -> bool {
        self.position(list).is_some()
    }

    /// The place of the first of these words.
    pub(super) fn position(&self, list: &str) -> Option<usize> {
        self.tokens.iter().position(|token| among(&token.word, list))
    }

    /// The place after a sequence of words.
    pub(super) fn after(&self, sequence: &str) -> Option<usize> {
        let length = sequence.split(' ').count();
        let starts = |start: &usize| self.slice(*start, self.tokens.len()).starts_with(sequence);
        (0..self.tokens.len()).find(starts).map(|start| start + length)
    }

    pub(super) fn slice(&self, from: usize, to: usize) -> Clause<'a> {
        Clause { prompt: self.prompt, tokens: self.tokens.get(from..to.max(from)).unwrap_or_default() }
    }

    /// All that the clause is about from `from` up to a word that says where: "a, b and c" are three.
    pub(super) fn subjects(&self, from: usize) -> Vec<Subject> {
        let rest = self.slice(from, self.tokens.len());
        let says_where = |token: &Token| {
            among(&token.word, "in inside within under across anywhere throughout please at on from")
        };
        let end = rest.tokens.iter().skip(1).position(says_where).map_or(rest.tokens.len(), |at| at + 1);
        let told = rest.slice(0, end);
        let mut subjects: Vec<Subject> = Vec::new();
        for tokens in
            told.tokens.split(|token| token.kind == Kind::Comma || among(&token.word, "and or nor plus"))
        {
            let part = Clause { prompt: self.prompt, tokens };
            let quoted: Vec<_> =
                tokens.iter().filter(|token| token.is_quoted() && !token.text.trim().is_empty()).collect();
            if quoted.is_empty() {
                subjects.extend(part.subject(0));
            } else {
                subjects
                    .extend(quoted.iter().map(|token| Subject { text: token.text.clone(), quoted: true }));
            }
        }
        if subjects.is_empty() {
            subjects.extend(self.subject(from));
        }
        subjects
    }

    /// What the clause is about from `from` up to a word that says where: a quoted text, a name in code, or the words.
    pub(super) fn subject(&self, from: usize) -> Option<Subject> {
        let rest = self.tokens.get(from..)?;
        if let Some(token) = rest.iter().find(|token| token.is_quoted() && !token.text.trim().is_empty()) {
            return Some(Subject { text: token.text.clone(), quoted: true });
        }
        let end = rest
            .iter()
            .enumerate()
            .position(|(index, token)| {
                index > 0
                    && among(
                        &token.word,
                        "in inside within under across anywhere throughout please at on from and or",
                    )
            })
            .unwrap_or(rest.len());
        let words = rest.get(..end)?;
        if let Some(token) =
            words.iter().find(|token| token.kind == Kind::Word && looks_like_name(&token.text))
        {
            return Some(Subject { text: token.text.clone(), quoted: false });
        }
        let told: Vec<_> = words
            .iter()
            .filter(|token| !matches!(token.kind, Kind::Comma | Kind::Colon | Kind::Break))
            .filter(|token| token.is_path() || !is_stop_word(&token.word))
            .filter(|token| !is_kind_of_thing(&token.word))
            .map(|token| token.text.as_str())
            .collect();
        if let [only] = words
            && among(&only.word, "it that this them")
        {
            return Some(Subject { text: PRONOUN.to_owned(), quoted: false });
        }
        if told.is_empty() {
            // "where is main defined": all that is left may be a stop word or a kind that is a name here.
            let token = words.iter().rev().find(|token| {
                token.kind == Kind::Word
                    && !among(&token.word, "the a an is are it this that for all any do does we i you")
            })?;
            return Some(Subject { text: token.text.clone(), quoted: false });
        }
        Some(Subject { text: told.join(" "), quoted: false })
    }
}

/// Stands for the name that was spoken of before.
pub(super) const PRONOUN: &str = "it";

/// What a wish is about, as the user wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Subject {
    pub(super) text: String,
    pub(super) quoted: bool,
}

impl Subject {
    /// A name as it stands in code, without call brackets.
    pub(super) fn name(&self) -> String {
        self.text.trim().trim_end_matches("()").trim_end_matches('!').to_owned()
    }
}

/// Words that say what kind of thing a name is.
pub(super) fn is_kind_of_thing(word: &str) -> bool {
    const KINDS: &str = " function functions method methods class classes struct structs enum enums trait traits type types interface interfaces variable variables constant constants \
const field fields macro macros module modules symbol symbols identifier component components hook hooks key keys setting settings string strings text texts word words phrase pattern patterns \
regex regexp expression occurrence occurrences usage usages use uses reference references call calls caller callers definition declaration implementation instance instances mention mentions \
match matches comment comments line lines file files value named called ";
    KINDS.contains(&format!(" {word} "))
}
