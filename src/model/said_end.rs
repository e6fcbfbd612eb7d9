//! What servers say of the end of a reply, in one order for all wires, and how far it can be believed. Some say it
//! twice, and some with every piece: of all that was said the gravest counts, since a reply that was cut stays so
//! whatever is said of it later.

mod words;

use serde_json::Value;

use super::{
    Finish,
    sse::{Ending, Progress},
};

/// Characters that are kept of a word that is not known, for the message.
const MAX_WORD: usize = 60;

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
        matches!(self, Self::Length | Self::ContextTooLong | Self::ContentFilter)
    }
}

/// All that a server has said of the end of its reply so far.
#[derive(Debug, Default)]
pub(super) struct Said {
    end: Option<SaidEnd>,
    /// The first word that askls does not know.
    word: String,
    /// A piece of the reply has come.
    has_begun: bool,
    /// The end was said by the event before.
    had_ended: bool,
    /// A piece came behind the end: the server says so with every piece, and that tells nothing.
    went_on: bool,
}

impl Said {
    /// Takes a word for the end.
    pub(super) fn say(&mut self, word: &str) {
        let end = SaidEnd::of(word);
        if end == SaidEnd::Nothing {
            return;
        }
        if end == SaidEnd::Unknown && self.word.is_empty() {
            self.word = word.trim().chars().take(MAX_WORD).collect();
        }
        self.end = Some(SaidEnd::and(self.end, end));
    }

    /// The same for the member in which it stands: a word, or an object that has one (SGLang's own form).
    pub(super) fn hear(&mut self, said: Option<&Value>) {
        if let Some(word) = said.and_then(|said| said.get("type").unwrap_or(said).as_str()) {
            self.say(word);
        }
    }

    /// The gravest end that was said; `None` while there was none.
    pub(super) fn end(&self) -> Option<SaidEnd> {
        self.end.filter(|end| *end != SaidEnd::NotYet)
    }

    /// Whether the server said that there is more, and no end.
    pub(super) fn is_not_over(&self) -> bool {
        self.end == Some(SaidEnd::NotYet)
    }

    /// How the reply goes on after an event that brought a piece of it, or none. An end is believed that comes alone,
    /// behind the pieces. One that comes with a piece, or before any, may be said with every piece: more is waited for.
    /// And where more has come, the word for the end tells nothing.
    pub(super) fn after_event(&mut self, has_grown: bool) -> Progress {
        let had_begun = self.has_begun;
        self.has_begun |= has_grown;
        self.went_on |= self.had_ended && has_grown;
        self.had_ended = self.end().is_some();
        if !self.had_ended || self.went_on {
            Progress::More
        } else if has_grown || !had_begun {
            Progress::InDoubt
        } else {
            Progress::Ending
        }
    }

    /// Whether the reply is whole, or was cut by its server, where its events stop so. A server that said why it ends has
    /// ended whatever becomes of the connection, unless it went on all the same; one that sent the marker has ended too.
    pub(super) fn has_ended(&self, ending: &Ending) -> bool {
        match ending {
            Ending::Marker => true,
            Ending::Closed => self.end().is_some(),
            Ending::Fault(_) => self.end().is_some() && !self.went_on,
        }
    }

    /// How a reply ended that is over; `None` for one that failed: it has no end, but an error.
    pub(super) fn finish(&self) -> Option<Finish> {
        Some(match self.end.unwrap_or(SaidEnd::Stop) {
            SaidEnd::Nothing | SaidEnd::NotYet | SaidEnd::Stop => Finish::Stop,
            SaidEnd::Unknown => Finish::Unknown(self.word.clone()),
            SaidEnd::Pause => Finish::Pause,
            SaidEnd::Length => Finish::Length,
            SaidEnd::ContextTooLong => Finish::ContextTooLong,
            SaidEnd::ContentFilter => Finish::ContentFilter,
            SaidEnd::Refusal => Finish::Refusal,
            SaidEnd::Failed => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn of_two_ends_the_graver_counts_in_either_order() {
        let order = [
            "in_progress",
            "stop",
            "xyz",
            "pause_turn",
            "max_tokens",
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
        assert_eq!(said.finish(), None);
    }

    #[test]
    fn a_word_that_is_not_known_is_told() {
        let mut said = Said::default();
        said.hear(Some(&json!({"type": " xyz "})));
        said.say("abc");
        said.say("stop");
        assert_eq!(said.finish(), Some(Finish::Unknown("xyz".to_owned())));
    }

    /// What is thought after each event; `+` is a piece, and `.` the word for an end.
    fn progress(events: &[&str]) -> Vec<Progress> {
        let mut said = Said::default();
        let after = events.iter().map(|event| {
            if event.contains('.') {
                said.say("stop");
            }
            said.after_event(event.contains('+'))
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
        assert_eq!(progress(&["+", "+.", "."]), [More, InDoubt, Ending]);
        assert_eq!(progress(&[".", ""]), [InDoubt, InDoubt]);
        // More came.
        assert_eq!(progress(&["+.", "+.", ".", ""]), [InDoubt, More, More, More]);
        assert_eq!(progress(&[".", "+", "."]), [InDoubt, More, More]);
    }
}
