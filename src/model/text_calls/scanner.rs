//! Reads a message character by character, so that it does not matter how it was cut, and holds back what may be the
//! beginning of a call until it is one or is not.

mod text;

use super::{
    parameters::{Parameters, Progress},
    shapes::{Offered, TextCall},
};
use crate::model::json_depth::JsonDepth;
use text::Before;

/// Bytes that may be held back before a call has named its tool: those of the first members, which name it.
const MAX_UNNAMED: usize = 512;

/// Bytes that may be held back for one call: a whole file as an argument fits.
const MAX_HELD: usize = 1024 * 1024;

/// Characters of the word behind a fence.
const MAX_LANGUAGE: usize = 16;

/// Languages of fences that hold calls.
const LANGUAGES: [&str; 6] = ["", "json", "tool_call", "tool_calls", "tool", "function"];

const FENCE: &str = "```";
const TAG: &str = "<tool_call>";
const TAG_END: &str = "</tool_call>";
const NAMED: &str = "<function=";
const NAMED_END: &str = "</function>";
const NAMED_AND_TAG_END: &str = "</function></tool_call>";

/// Characters of a tool's name that may be any tool's: the servers' own bound.
const MAX_NAME: usize = 64;

/// Bytes in which a tool is named, blanks included: all of them are looked at with each that comes.
const MAX_NAME_BYTES: usize = 512;

const LIST: &str = "[TOOL_CALLS]";

/// What a call may begin with, besides the JSON itself.
const OPENERS: [&str; 4] = [FENCE, TAG, NAMED, LIST];

#[derive(Default)]
pub(super) struct Scanner {
    state: State,
    /// What is held back; it begins with what may be the first call.
    held: String,
    /// Where in `held` the call begins that is being read, and where what it is made of does.
    call_from: usize,
    body_from: usize,
    /// The whole calls in `held`.
    calls: Vec<TextCall>,
    /// The last of them may be closed by a tag that was not opened, as Qwen3-Coder often leaves it.
    may_close_tag: bool,
    /// What stood before `held`, as far as it matters.
    before: Before,
}

#[derive(Default)]
enum State {
    /// Nothing is held back.
    #[default]
    Words,
    /// What is held back is a part of an opener.
    Opening,
    /// Behind a fence's opener, on its line.
    Language,
    /// What came behind a tag is a part of `<function=`.
    Function,
    /// Behind `<function=`, where the tool is named.
    Name,
    /// In front of what a call is made of.
    Open(Call),
    Json(Call, JsonDepth),
    Parameters(Call, Parameters),
    /// Behind the JSON; so much of its closer has come.
    Closing(Call, String),
    /// Behind a whole call.
    Closed,
}

/// How a call is written.
#[derive(Clone, Default)]
struct Call {
    closer: Option<&'static str>,
    /// The tool, where it is named outside of the JSON.
    name: Option<String>,
}

/// Whether a character fits where it came.
enum Verdict {
    Fits(State),
    /// What is held back is no call.
    Misfit,
}

impl Scanner {
    /// Takes the next piece and gives what can no longer be a part of a call.
    pub(super) fn push(&mut self, text: &str, offered: &Offered) -> String {
        let mut words = String::new();
        for character in text.chars() {
            self.take(character, offered, &mut words);
        }
        words
    }

    pub(super) fn held(&self) -> &str {
        &self.held
    }

    pub(super) fn into_held(self) -> String {
        self.held
    }

    /// The calls with which the message ends. A model that stops behind the JSON leaves its closer out. Calls of tools
    /// that were not offered are calls only beside one of a tool that was: alone they may be an example.
    pub(super) fn into_calls(self) -> Vec<TextCall> {
        match self.state {
            State::Closing(..) | State::Closed if self.calls.iter().any(|call| call.is_offered) => self.calls,
            _ => Vec::new(),
        }
    }

    fn take(&mut self, character: char, offered: &Offered, words: &mut String) {
        if matches!(self.state, State::Words) && !self.before.may_begin_call(character) {
            self.before.take(character);
            words.push(character);
            return;
        }
        if matches!(self.state, State::Words) {
            self.state = State::Opening;
            self.call_from = 0;
        }
        self.held.push(character);
        match self.judge(character, offered) {
            Verdict::Fits(state) => self.state = state,
            Verdict::Misfit => {
                // The last character may itself begin a call.
                self.held.pop();
                self.release(words);
                if self.before.may_begin_call(character) {
                    self.take(character, offered, words);
                } else {
                    self.before.take(character);
                    words.push(character);
                }
            }
        }
    }

    /// What is held back are words.
    fn release(&mut self, words: &mut String) {
        for character in self.held.chars() {
            self.before.take(character);
        }
        words.push_str(&self.held);
        self.held.clear();
        self.calls.clear();
        self.may_close_tag = false;
        self.state = State::Words;
    }

    /// What the last character of `held` makes of it.
    fn judge(&mut self, character: char, offered: &Offered) -> Verdict {
        let call = self.held.get(self.call_from..).unwrap_or_default();
        let passes = call.len() >= MAX_UNNAMED && call.len() - character.len_utf8() < MAX_UNNAMED;
        let has_name = match &self.state {
            State::Name => true,
            // What stands in a tag is the call of some tool.
            State::Open(call) | State::Json(call, _) | State::Parameters(call, _) => {
                call.name.is_some() || call.closer == Some(TAG_END)
            }
            _ => false,
        };
        let is_unnamed = passes && !has_name && !offered.is_named_in(call);
        if self.held.len() > MAX_HELD || is_unnamed {
            return Verdict::Misfit;
        }
        let is_blank = character.is_whitespace();
        match std::mem::take(&mut self.state) {
            State::Opening => self.opening(offered),
            State::Language => {
                let language = call.get(FENCE.len()..).unwrap_or_default().trim();
                match character {
                    '\n' if LANGUAGES.contains(&language) => {
                        Verdict::Fits(State::Open(Call::closed_by(FENCE)))
                    }
                    '\n' => Verdict::Misfit,
                    _ if language.len() > MAX_LANGUAGE => Verdict::Misfit,
                    _ => Verdict::Fits(State::Language),
                }
            }
            State::Function => match self.held.get(self.body_from..) {
                Some(NAMED) => Verdict::Fits(State::Name),
                Some(begun) if NAMED.starts_with(begun) => Verdict::Fits(State::Function),
                _ => Verdict::Misfit,
            },
            State::Name => self.name(character, offered),
            State::Open(call) if is_blank => Verdict::Fits(State::Open(call)),
            State::Open(call) if character == '<' && call.name.is_some() => {
                self.parameters(call, Parameters::default(), character, offered)
            }
            State::Open(call) if character == '<' && call.closer == Some(TAG_END) => {
                self.body_from = self.held.len() - 1;
                Verdict::Fits(State::Function)
            }
            State::Open(call) => self.begin_json(call, offered),
            State::Parameters(call, parameters) => self.parameters(call, parameters, character, offered),
            State::Json(call, mut json) => {
                let is_whole = json.take(character);
                self.json(call, json, is_whole, offered)
            }
            State::Closing(call, closer) if is_blank => Verdict::Fits(State::Closing(call, closer)),
            // Several in one fence or tag.
            State::Closing(call, closer) if closer.is_empty() && matches!(character, '{' | '[') => {
                self.begin_json(call, offered)
            }
            State::Closing(call, mut closer) => {
                closer.push(character);
                match call.closer {
                    Some(whole) if whole == closer => {
                        self.may_close_tag = whole == NAMED_END;
                        Verdict::Fits(State::Closed)
                    }
                    Some(whole) if whole.starts_with(&closer) => Verdict::Fits(State::Closing(call, closer)),
                    Some(whole) => self.next_in_tag(whole, &closer),
                    None => Verdict::Misfit,
                }
            }
            State::Closed if is_blank => Verdict::Fits(State::Closed),
            State::Closed => {
                self.call_from = self.held.len() - character.len_utf8();
                self.opening(offered)
            }
            State::Words => Verdict::Misfit,
        }
    }

    fn opening(&mut self, offered: &Offered) -> Verdict {
        let begun = self.held.get(self.call_from..).unwrap_or_default();
        let state = match begun {
            FENCE => State::Language,
            TAG => State::Open(Call::closed_by(TAG_END)),
            NAMED => {
                self.body_from = self.call_from;
                State::Name
            }
            LIST => State::Open(Call::default()),
            TAG_END if self.may_close_tag => {
                self.may_close_tag = false;
                State::Closed
            }
            _ if self.may_close_tag && TAG_END.starts_with(begun) => State::Opening,
            _ if OPENERS.iter().any(|opener| opener.starts_with(begun)) => State::Opening,
            // The JSON alone is a call where it is all of the message.
            _ if begun.starts_with(['{', '[']) && self.call_from == 0 && !self.before.has_words => {
                return self.bare_json(offered);
            }
            _ => return Verdict::Misfit,
        };
        Verdict::Fits(state)
    }

    /// Several calls in one tag, each of which names its tool. `closer` is what came where `whole` closes the tag.
    fn next_in_tag(&mut self, whole: &str, closer: &str) -> Verdict {
        let before = match whole {
            TAG_END => "",
            NAMED_AND_TAG_END => NAMED_END,
            _ => return Verdict::Misfit,
        };
        match closer.strip_prefix(before) {
            Some(begun) if self.is_tagged() && NAMED.starts_with(begun) => {
                self.body_from = self.held.len().saturating_sub(begun.len());
                Verdict::Fits(State::Function)
            }
            _ => Verdict::Misfit,
        }
    }

    /// Inside a tag a call may name its tool too.
    fn is_tagged(&self) -> bool {
        self.body_from > self.call_from
    }

    fn name(&self, character: char, offered: &Offered) -> Verdict {
        let named = self.held.get(self.body_from + NAMED.len()..).unwrap_or_default();
        if named.len() > MAX_NAME_BYTES {
            return Verdict::Misfit;
        }
        if character != '>' {
            return if offered.has_beginning(named.trim_start()) || may_be_name(named) {
                Verdict::Fits(State::Name)
            } else {
                Verdict::Misfit
            };
        }
        let name = named.trim_end_matches('>').trim();
        if !may_be_name(name) {
            return Verdict::Misfit;
        }
        let closer = if self.is_tagged() { NAMED_AND_TAG_END } else { NAMED_END };
        Verdict::Fits(State::Open(Call { closer: Some(closer), name: Some(name.to_owned()) }))
    }

    fn parameters(
        &mut self,
        call: Call,
        mut parameters: Parameters,
        character: char,
        offered: &Offered,
    ) -> Verdict {
        match parameters.take(character) {
            Progress::More => return Verdict::Fits(State::Parameters(call, parameters)),
            Progress::Misfit => return Verdict::Misfit,
            Progress::Whole => {}
        }
        let name = call.name.unwrap_or_default();
        let Some(found) = offered.typed_call(&name, parameters.into_values()) else { return Verdict::Misfit };
        self.calls.push(found);
        Verdict::Fits(match self.is_tagged() {
            true => State::Closing(Call::closed_by(TAG_END), String::new()),
            false => {
                self.may_close_tag = true;
                State::Closed
            }
        })
    }

    /// Reads what is held back as JSON from its beginning.
    fn bare_json(&mut self, offered: &Offered) -> Verdict {
        self.body_from = 0;
        let mut json = JsonDepth::default();
        let is_whole = self.held.chars().fold(false, |_, character| json.take(character));
        self.json(Call::default(), json, is_whole, offered)
    }

    fn begin_json(&mut self, call: Call, offered: &Offered) -> Verdict {
        self.body_from = self.held.len() - 1;
        match self.held.get(self.body_from..) {
            Some(begun @ ("{" | "[")) => {
                let mut json = JsonDepth::default();
                let is_whole = begun.chars().fold(false, |_, character| json.take(character));
                self.json(call, json, is_whole, offered)
            }
            _ => Verdict::Misfit,
        }
    }

    fn json(&mut self, call: Call, json: JsonDepth, is_whole: bool, offered: &Offered) -> Verdict {
        if !is_whole {
            return Verdict::Fits(State::Json(call, json));
        }
        let text = self.held.get(self.body_from..).unwrap_or_default();
        let calls = offered.calls(text, call.name.as_deref());
        if calls.is_empty() {
            return Verdict::Misfit;
        }
        self.calls.extend(calls);
        Verdict::Fits(State::Closing(call, String::new()))
    }
}

/// Whether some tool may have this name, offered or not.
fn may_be_name(name: &str) -> bool {
    let is_of_names = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    !name.is_empty() && name.len() <= MAX_NAME && name.chars().all(is_of_names)
}

impl Call {
    fn closed_by(closer: &'static str) -> Self {
        Self { closer: Some(closer), name: None }
    }
}
