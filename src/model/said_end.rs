//! What servers say of the end of a reply, in one order for all wires, and how far it can be believed. Some say it
//! twice, and some with every piece: of all that was said the gravest counts, since a reply that was cut stays so
//! whatever is said of it later.

mod words;

use serde_json::Value;

use super::{
    Finish, ModelError,
    http::{self, Endpoint, ServerError},
    sse::{Ending, Fault, Progress},
};

/// Characters that are kept of a word for the end: more than the longest key has, since of a part of one nobody could
/// tell what it is.
const MAX_WORD: usize = 4096;

/// An end as a server said it, the mildest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SaidEnd {
    /// `null` as a word, `FINISH_REASON_UNSPECIFIED`: no end is said.
    Nothing,
    /// `in_progress`, `not_finished`: there is more to come.
    NotYet,
    /// `stop`, `end_turn`, `tool_calls`, `eos`: the items decide.
    Stop,
    /// A word that tells nothing to askls.
    Unknown,
    Pause,
    Length,
    /// Cut for another reason than its length: `TIME_LIMIT`, `repetition`.
    Cut,
    ContextTooLong,
    ContentFilter,
    Refusal,
    Failed,
}

impl SaidEnd {
    /// What a word means, however it is written.
    pub(super) fn of(word: &str) -> Self {
        words::meaning(word)
    }

    /// Takes what was said later.
    pub(super) fn and(before: Option<Self>, later: Self) -> Self {
        before.map_or(later, |before| before.max(later))
    }

    /// Whether the reply was cut: all that was to come has not.
    pub(super) fn is_cut(self) -> bool {
        matches!(self, Self::Length | Self::Cut | Self::ContextTooLong | Self::ContentFilter)
    }
}

/// What an event brought of a reply, the least first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Brought {
    /// Nothing: it says something about the reply.
    #[default]
    Nothing,
    /// Nothing of the reply, nor about it, as a sign of life.
    Remark,
    /// Nothing that the wire knows, so that it may be an error in words of the server's own.
    Strange,
    /// Blanks. Some servers send one behind the end.
    Blank,
    /// A piece of the reply.
    Piece,
}

impl Brought {
    /// What a piece of text is.
    pub(super) fn by(text: &str) -> Self {
        match text {
            "" => Self::Nothing,
            text if text.trim().is_empty() => Self::Blank,
            _ => Self::Piece,
        }
    }
}

/// All that a server has said of the end of its reply so far.
#[derive(Debug, Default)]
pub(super) struct Said {
    end: Option<SaidEnd>,
    /// The word for it, with what was said to it: the first of those that are as grave.
    word: String,
    /// A piece of the reply has come.
    has_begun: bool,
    /// The end was said by the event before.
    had_ended: bool,
    /// The end was said so that it may mean nothing.
    in_doubt: bool,
    /// A piece came behind the end: the server says so with every piece, and that tells nothing.
    went_on: bool,
    /// Something strange came, and no piece behind it.
    is_strange: bool,
}

impl Said {
    /// Takes a word for the end.
    pub(super) fn say(&mut self, word: &str) {
        self.say_why(word, None);
    }

    /// The same for the member in which it stands: a word, or an object that has one (SGLang's own form).
    pub(super) fn hear(&mut self, said: Option<&Value>) {
        let Some(said) = said else { return };
        if let Some(word) = said.get("type").unwrap_or(said).as_str() {
            self.say_why(word, said.get("message").and_then(Value::as_str));
        }
    }

    /// Takes a word for why the reply was cut; one that is not known cut it all the same.
    pub(super) fn say_cut(&mut self, word: &str) {
        match SaidEnd::of(word) {
            SaidEnd::Unknown | SaidEnd::Pause => self.take(SaidEnd::Cut, word, None),
            SaidEnd::Nothing | SaidEnd::NotYet | SaidEnd::Stop => {}
            end => self.take(end, word, None),
        }
    }

    fn say_why(&mut self, word: &str, why: Option<&str>) {
        self.take(SaidEnd::of(word), word, why);
    }

    /// Takes an end with the word for it and what was said to it.
    fn take(&mut self, end: SaidEnd, word: &str, why: Option<&str>) {
        if end == SaidEnd::Nothing {
            return;
        }
        if self.end.is_none_or(|before| before < end) {
            let why = why.map(|why| format!(": {}", why.trim())).unwrap_or_default();
            self.word = word.trim().chars().chain(why.chars()).take(MAX_WORD).collect();
        }
        self.end = Some(SaidEnd::and(self.end, end));
    }

    /// The gravest end that was said; `None` while there was none.
    pub(super) fn end(&self) -> Option<SaidEnd> {
        self.end.filter(|end| *end != SaidEnd::NotYet)
    }

    /// Whether the server said that there is more, and no end.
    pub(super) fn is_not_over(&self) -> bool {
        self.end == Some(SaidEnd::NotYet)
    }

    /// Whether the end was said so that nothing of the reply can follow.
    pub(super) fn is_believed(&self) -> bool {
        self.end().is_some() && !self.went_on && !self.in_doubt
    }

    /// Whether a piece came behind the end.
    pub(super) fn has_gone_on(&self) -> bool {
        self.went_on
    }

    /// How the reply goes on after an event. An end is believed that comes alone, behind the pieces. One that comes with a
    /// piece, or before any, may be said with every piece: more is waited for. And where more has come, the word for the
    /// end tells nothing.
    pub(super) fn after_event(&mut self, brought: Brought) -> Progress {
        let has_grown = brought == Brought::Piece;
        let had_begun = self.has_begun;
        self.has_begun |= has_grown;
        self.went_on |= self.had_ended && has_grown;
        self.had_ended = self.end().is_some();
        self.is_strange = brought == Brought::Strange || self.is_strange && !has_grown;
        // Blanks with an end are no end that comes alone.
        self.in_doubt =
            self.had_ended && (has_grown || !had_begun || self.in_doubt && brought != Brought::Nothing);
        match (self.had_ended, self.went_on, self.in_doubt) {
            (false, ..) | (_, true, _) => Progress::More,
            (.., true) => Progress::InDoubt,
            (.., false) => Progress::Ending,
        }
    }

    /// Whether the reply is whole, or was cut by its server, where its events stop so. A server that said why it ends has
    /// ended whatever becomes of the connection, unless that may mean nothing. One that sent the marker has ended too; what
    /// is strange and comes last, without a word for an end, is more like an error.
    pub(super) fn has_ended(&self, ending: &Ending) -> bool {
        match ending {
            Ending::Marker => self.end().is_some() || !self.is_strange,
            Ending::Closed => self.end().is_some(),
            // More was waited for, and did not come.
            Ending::Fault(Fault::Silent) => self.end().is_some() && !self.went_on,
            Ending::Cut { .. } | Ending::Fault(_) => self.is_believed(),
        }
    }

    /// How a reply ended that is over.
    ///
    /// # Errors
    /// That its server failed: such a reply has no end.
    pub(super) fn finish(&self, endpoint: &Endpoint) -> Result<Finish, ModelError> {
        let word = || http::clean(endpoint, &self.word);
        Ok(match self.end.unwrap_or(SaidEnd::Stop) {
            SaidEnd::Nothing | SaidEnd::NotYet | SaidEnd::Stop => Finish::Stop,
            SaidEnd::Unknown => Finish::Unknown(word()),
            SaidEnd::Pause => Finish::Pause,
            SaidEnd::Cut => Finish::Cut(word()),
            SaidEnd::Length => Finish::Length,
            SaidEnd::ContextTooLong => Finish::ContextTooLong,
            SaidEnd::ContentFilter => Finish::ContentFilter,
            SaidEnd::Refusal => Finish::Refusal,
            SaidEnd::Failed => {
                return Err(ServerError::of_end(&self.word).in_stream(endpoint));
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::story::endpoint;

    #[test]
    fn of_two_ends_the_graver_counts_in_either_order() {
        let order = [
            "in_progress",
            "stop",
            "xyz",
            "pause_turn",
            "max_tokens",
            "time_limit",
            "model_context_window_exceeded",
            "SAFETY",
            "refusal",
            "error",
        ];
        for (at, milder) in order.iter().enumerate() {
            for graver in order.iter().skip(at) {
                let (milder, graver) = (SaidEnd::of(milder), SaidEnd::of(graver));
                assert_eq!(SaidEnd::and(Some(milder), graver), graver);
                assert_eq!(SaidEnd::and(Some(graver), milder), graver);
            }
        }
    }

    #[test]
    fn a_reply_that_failed_has_no_end() {
        let mut said = Said::default();
        said.say("error");
        assert!(said.finish(&endpoint()).is_err());
    }

    #[test]
    fn a_word_that_is_not_known_is_told() {
        let mut said = Said::default();
        said.say("stop");
        said.hear(Some(&json!({"type": " xyz "})));
        said.say("abc");
        assert_eq!(said.finish(&endpoint()), Ok(Finish::Unknown("xyz".to_owned())));
    }

    #[test]
    fn the_word_that_is_told_is_the_one_that_cut() {
        for before in ["stop", "pause_turn", "length"] {
            let mut said = Said::default();
            said.say(before);
            said.say_cut("steered");
            assert_eq!(said.finish(&endpoint()), Ok(Finish::Cut("steered".to_owned())), "{before}");
        }
    }

    /// What is thought after each event; `+` is a piece, `_` a blank one, and `.` the word for an end.
    fn progress(events: &[&str]) -> Vec<Progress> {
        let mut said = Said::default();
        let after = events.iter().map(|event| {
            if event.contains('.') {
                said.say("stop");
            }
            said.after_event(match event.chars().find(|sign| *sign != '.') {
                Some('+') => Brought::Piece,
                Some(_) => Brought::Blank,
                None => Brought::Nothing,
            })
        });
        after.collect()
    }

    // SPEC S6
    #[test]
    fn an_end_is_believed_that_comes_alone_behind_the_pieces() {
        use Progress::{Ending, InDoubt, More};
        assert_eq!(progress(&["+", "+", ".", "", "."]), [More, More, Ending, Ending, Ending]);
        // With a piece, the first or not, and before any.
        assert_eq!(progress(&["+.", ""]), [InDoubt, Ending]);
        assert_eq!(progress(&["+.", "_.", "_", ".", "_"]), [InDoubt, InDoubt, InDoubt, Ending, Ending]);
        assert_eq!(progress(&["+", "+.", "."]), [More, InDoubt, Ending]);
        assert_eq!(progress(&[".", ""]), [InDoubt, InDoubt]);
        // More came.
        assert_eq!(progress(&["+.", "+.", ".", ""]), [InDoubt, More, More, More]);
        assert_eq!(progress(&[".", "+", "."]), [InDoubt, More, More]);
    }
}
