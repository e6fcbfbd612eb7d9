//! Marks by which chat templates tell a model who speaks (`<|im_end|>`, `[INST]`, `</s>`). A server that puts a thread
//! into such a template reads them in every text: a file that has them could end an output and speak as the user.
//!
//! On their way to such a server an unseen character stands in the mark, behind its first one, and it is taken out again
//! of what the model says. So a model reads what a file says, quotes it with the character or without, and either means
//! the bytes of the file. Only texts that have a mark change, and each always to the same bytes, as prompt caches want it.

use std::{borrow::Cow, sync::LazyLock};

use regex::Regex;
use serde_json::Value;

use super::{
    ModelError, ModelEvent,
    client::WholeDecoder,
    patterns::constant,
    sse::{Decoder, Ending, Progress},
};
use crate::protocol::{AgentMessage, Item, Raw, Reasoning, ToolCall, ToolOutput, Usage, UserMessage};

/// Stands in a mark that is none. No key types it and it is not seen; where a text has it all the same, behind what begins
/// a mark, it is doubled.
const SHELTER: char = '\u{2063}';

/// What marks begin with.
const OPENERS: [char; 3] = ['<', '[', ']'];

/// The marks of the templates that are used most, and of what is built like them.
static MARK: LazyLock<Regex> = LazyLock::new(|| {
    constant(concat!(
        // ChatML, Llama 3, Phi, Command, GLM, Kimi, harmony; DeepSeek.
        r"<\|[\w./-]{1,40}\|>|<｜[^｜<>\n]{1,40}｜>",
        // Gemma 4, whose marks begin with the bar or end with it; EXAONE; MiniMax; Seed. Letters beyond ASCII would make the
        // expression too large.
        r"|<\|[0-9A-Za-z_./-]{1,40}>|<[0-9A-Za-z_./-]{1,40}\|>|\[\|[0-9A-Za-z_./-]{1,40}\|\]",
        r"|\]~!?[0-9A-Za-z_./-]{1,40}[\[\]]|\[e~\[|</?seed:[0-9A-Za-z_./-]{1,40}>",
        // Gemma, and what begins, ends and fills texts.
        r"|</?(?:s|bos|eos|pad|unk|sop|eop|start_of_turn|end_of_turn|start_of_image|end_of_image",
        r"|unused\d{1,4}|extra_id_\d{1,4}|fim_prefix|fim_middle|fim_suffix|fim_pad|file_sep|repo_name|endoftext|end_of_text",
        // What the model thought and called, and what it got.
        r"|think|thinking|tools|tool_calls?|tool_response|tool_responses|tool_output|function_calls)>",
        // Llama 2, Mistral, GLM.
        r"|<</?SYS>>|\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|ARGS|CALL_ID",
        r"|THINK|IMG|[gs]MASK)\]",
        // What would not come back as it was.
        r"|[<\[\]]\x{2063}",
    ))
});

/// The history with no mark in any text of it; borrowed when there is none, which is the rule.
pub(super) fn sheltered(items: &[Item]) -> Cow<'_, [Item]> {
    let mut kept: Cow<'_, [Item]> = Cow::Borrowed(items);
    for (index, item) in items.iter().enumerate() {
        let Some(item) = sheltered_item(item) else { continue };
        if let Some(place) = kept.to_mut().get_mut(index) {
            *place = item;
        }
    }
    if matches!(kept, Cow::Owned(_)) {
        tracing::debug!(
            "marks of chat templates in the thread's texts are sent with an unseen character in them"
        );
    }
    kept
}

/// `None` for an item without a mark.
fn sheltered_item(item: &Item) -> Option<Item> {
    let raw = |raw: &Option<Raw>| raw.as_ref().and_then(sheltered_raw).or_else(|| raw.clone());
    let has_changed = |before: &Option<Raw>, now: &Option<Raw>| before != now;
    match item {
        Item::User(UserMessage { text, context }) => {
            let context_now = context.as_deref().map(broken);
            let text_now = broken(text);
            let is_changed = matches!(text_now, Cow::Owned(_)) || matches!(context_now, Some(Cow::Owned(_)));
            is_changed.then(|| {
                Item::User(UserMessage {
                    text: text_now.into_owned(),
                    context: context_now.map(Cow::into_owned),
                })
            })
        }
        Item::Agent(message) => {
            let (text, raw) = (broken(&message.text), raw(&message.raw));
            (matches!(text, Cow::Owned(_)) || has_changed(&message.raw, &raw))
                .then(|| Item::Agent(AgentMessage { text: text.into_owned(), raw, ..message.clone() }))
        }
        Item::Reasoning(reasoning) => {
            let raw = raw(&reasoning.raw);
            has_changed(&reasoning.raw, &raw).then(|| Item::Reasoning(Reasoning { raw, ..reasoning.clone() }))
        }
        Item::Call(call) => {
            let (arguments, raw) = (broken(&call.arguments), raw(&call.raw));
            (matches!(arguments, Cow::Owned(_)) || has_changed(&call.raw, &raw))
                .then(|| Item::Call(ToolCall { arguments: arguments.into_owned(), raw, ..call.clone() }))
        }
        Item::Output(output) => match broken(&output.text) {
            Cow::Borrowed(_) => None,
            Cow::Owned(text) => Some(Item::Output(ToolOutput { text, ..output.clone() })),
        },
        Item::Opaque(raw) => sheltered_raw(raw).map(Item::Opaque),
    }
}

/// A text with the unseen character in each mark.
fn broken(text: &str) -> Cow<'_, str> {
    let mut shown = String::new();
    let mut rest = 0;
    // All that begins a mark is one byte long. What ends one may begin the next.
    while let Some(found) = MARK.find_at(text, rest) {
        let behind_opener = found.start() + 1;
        shown.push_str(text.get(rest..behind_opener).unwrap_or_default());
        shown.push(SHELTER);
        rest = behind_opener;
    }
    if rest == 0 {
        return Cow::Borrowed(text);
    }
    shown.push_str(text.get(rest..).unwrap_or_default());
    Cow::Owned(shown)
}

/// No mark is JSON outside of its texts. Some servers write `<` in them as a number.
fn sheltered_raw(raw: &Raw) -> Option<Raw> {
    let json = match broken(&raw.json) {
        Cow::Owned(json) => json,
        Cow::Borrowed(json) if json.contains("\\u003c") || json.contains("\\u003C") => {
            let mut value: Value = serde_json::from_str(json).ok()?;
            if !break_all(&mut value) {
                return None;
            }
            value.to_string()
        }
        Cow::Borrowed(_) => return None,
    };
    Some(Raw { json: json.into(), ..raw.clone() })
}

/// Whether any of the texts in it had a mark.
fn break_all(value: &mut Value) -> bool {
    // Depth is bounded by the reader of JSON.
    match value {
        Value::String(text) => match broken(text) {
            Cow::Owned(now) => {
                *text = now;
                true
            }
            Cow::Borrowed(_) => false,
        },
        Value::Array(values) => values.iter_mut().fold(false, |any, value| break_all(value) | any),
        Value::Object(members) => members.values_mut().fold(false, |any, value| break_all(value) | any),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Takes the unseen character out of a text that comes in pieces.
#[derive(Debug, Default)]
struct Mender {
    /// The last piece ended in what begins a mark.
    is_behind_opener: bool,
}

impl Mender {
    fn push(&mut self, text: String) -> String {
        let may_have = text.contains(SHELTER);
        if !may_have {
            if let Some(last) = text.chars().next_back() {
                self.is_behind_opener = OPENERS.contains(&last);
            }
            return text;
        }
        let mut mended = String::with_capacity(text.len());
        for character in text.chars() {
            if self.is_behind_opener && character == SHELTER {
                self.is_behind_opener = false;
                continue;
            }
            self.is_behind_opener = OPENERS.contains(&character);
            mended.push(character);
        }
        mended
    }
}

fn mended(text: String) -> String {
    Mender::default().push(text)
}

/// A decoder of any wire whose reply says marks as the files have them.
pub(super) struct Mended<D> {
    inner: D,
    /// `None` where nothing was sheltered.
    texts: Option<Texts>,
}

/// What is shown while it comes.
#[derive(Default)]
struct Texts {
    text: Mender,
    reasoning: Mender,
}

impl<D> Mended<D> {
    pub(super) fn new(inner: D, is_sheltered: bool) -> Self {
        Self { inner, texts: is_sheltered.then(Texts::default) }
    }
}

impl Texts {
    fn mend(&mut self, event: ModelEvent) -> ModelEvent {
        match event {
            ModelEvent::TextDelta(text) => ModelEvent::TextDelta(self.text.push(text)),
            ModelEvent::ReasoningDelta(text) => ModelEvent::ReasoningDelta(self.reasoning.push(text)),
            ModelEvent::Item(item) => {
                *self = Self::default();
                ModelEvent::Item(mended_item(item))
            }
            other => other,
        }
    }
}

fn mended_item(item: Item) -> Item {
    let raw = |raw: Option<Raw>| raw.map(|raw| Raw { json: mended(raw.json.to_string()).into(), ..raw });
    match item {
        Item::Agent(message) => {
            Item::Agent(AgentMessage { text: mended(message.text), raw: raw(message.raw), ..message })
        }
        Item::Reasoning(reasoning) => {
            Item::Reasoning(Reasoning { text: mended(reasoning.text), raw: raw(reasoning.raw) })
        }
        Item::Call(call) => {
            Item::Call(ToolCall { arguments: mended_arguments(call.arguments), raw: raw(call.raw), ..call })
        }
        other => other,
    }
}

/// Some servers write characters beyond ASCII as numbers in the arguments of calls.
fn mended_arguments(arguments: String) -> String {
    if !arguments.contains("\\u2063") {
        return mended(arguments);
    }
    match serde_json::from_str::<Value>(&arguments) {
        Ok(mut value) => {
            mend_all(&mut value);
            value.to_string()
        }
        // It is for whoever reads arguments to say what is wrong with them.
        Err(_) => arguments,
    }
}

fn mend_all(value: &mut Value) {
    match value {
        Value::String(text) => *text = mended(std::mem::take(text)),
        Value::Array(values) => values.iter_mut().for_each(mend_all),
        Value::Object(members) => members.values_mut().for_each(mend_all),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

impl<D: WholeDecoder> Decoder for Mended<D> {
    fn event(&mut self, data: &str, out: &mut Vec<ModelEvent>) -> Result<Progress, ModelError> {
        let Some(texts) = &mut self.texts else { return self.inner.event(data, out) };
        let mut events = Vec::new();
        let progress = self.inner.event(data, &mut events);
        out.extend(events.into_iter().map(|event| texts.mend(event)));
        progress
    }

    fn end(&mut self, ending: Ending, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let Some(texts) = &mut self.texts else { return self.inner.end(ending, out) };
        let mut events = Vec::new();
        let ended = self.inner.end(ending, &mut events);
        out.extend(events.into_iter().map(|event| texts.mend(event)));
        ended
    }

    fn usage(&self) -> Option<Usage> {
        self.inner.usage()
    }

    fn unheard(&self) -> usize {
        self.inner.unheard()
    }
}

impl<D: WholeDecoder> WholeDecoder for Mended<D> {
    fn whole(&mut self, body: &str, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let Some(texts) = &mut self.texts else { return self.inner.whole(body, out) };
        let mut events = Vec::new();
        let ended = self.inner.whole(body, &mut events);
        out.extend(events.into_iter().map(|event| texts.mend(event)));
        ended
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::protocol::{MessageState, Wire};

    const MARKS: [&str; 29] = [
        "<|im_start|>",
        "<|im_end|>",
        "<|eot_id|>",
        "<|start_header_id|>",
        "<|START_OF_TURN_TOKEN|>",
        "<｜User｜>",
        "<｜end▁of▁sentence｜>",
        "<start_of_turn>",
        "<end_of_turn>",
        "</s>",
        "<think>",
        "</tool_response>",
        "<<SYS>>",
        "[INST]",
        "[/INST]",
        "[TOOL_RESULTS]",
        "<|turn>",
        "<turn|>",
        "<|tool>",
        "<tool|>",
        "<|tool_response>",
        "]~b]",
        "]~!b[",
        "[e~[",
        "<seed:bos>",
        "<seed:eos>",
        "[|user|]",
        "[|endofturn|]",
        "<extra_id_1>",
    ];

    /// The text as it is sent, with the unseen character shown.
    fn sent(text: &str) -> String {
        broken(text).replace(SHELTER, "·")
    }

    #[test]
    fn no_mark_of_a_template_is_sent_as_one() {
        for mark in MARKS {
            let text = format!("a{mark}{mark}b");
            let sent = broken(&text);
            assert!(!sent.contains(mark), "{sent}");
            assert_eq!(mended(sent.clone().into_owned()), text);
        }
        assert_eq!(sent("x<|im_end|>\n<|im_start|>user"), "x<·|im_end|>\n<·|im_start|>user");
    }

    #[test]
    fn what_is_no_mark_is_sent_as_it_is() {
        for text in
            ["a <| b |> c", "Vec<|a|", "x[0] <div> <strong> </span>", "if a<s && s>b", "[INFO] x", "<T>"]
        {
            assert!(matches!(broken(text), Cow::Borrowed(_)), "{text}");
        }
    }

    #[test]
    fn a_text_that_has_the_character_itself_comes_back_with_it() {
        for text in ["<\u{2063}|im_end|>", "[\u{2063}\u{2063}INST]", "\u{2063}<s>"] {
            assert_eq!(mended(broken(text).into_owned()), text, "{}", sent(text));
        }
    }

    #[test]
    fn what_a_model_quotes_without_the_character_means_the_same() {
        assert_eq!(mended("a<|im_end|>b".to_owned()), "a<|im_end|>b");
    }

    #[test]
    fn what_ends_a_mark_may_begin_the_next() {
        assert_eq!(sent("]~b]~b]"), "]·~b]·~b]");
        assert_eq!(sent("[e~[e~["), "[·e~[·e~[");
    }

    #[test]
    fn honest_text_with_bars_and_brackets_stays() {
        for text in ["a <| b", "f <|> g", "a |> b", "[e]~[f]", "x[0]~y", "Vec<u8>|", "<a|b>", "if (a<b||c>d)"]
        {
            assert_eq!(sent(text), text);
        }
    }

    #[test]
    fn every_text_of_a_history_is_covered() {
        let mark = "<|im_end|>".to_owned();
        let raw = |json: &str| Some(Raw { wire: Wire::Chat, json: json.into() });
        let items = [
            Item::User(UserMessage { text: "a".to_owned(), context: Some(mark.clone()) }),
            Item::Agent(AgentMessage {
                text: mark.clone(),
                state: MessageState::Whole,
                raw: raw(r#"{"content":"\u003c|im_end|>"}"#),
            }),
            Item::Reasoning(Reasoning { text: String::new(), raw: raw(r#"{"r":"<|im_end|>"}"#) }),
            Item::Call(ToolCall {
                id: "1".to_owned(),
                name: "x".to_owned(),
                arguments: r#"{"a":"<|im_end|>"}"#.to_owned(),
                raw: None,
            }),
            Item::Output(ToolOutput { call_id: "1".to_owned(), text: mark, is_error: false }),
        ];
        let sent = sheltered(&items);
        for (item, sent) in items.iter().zip(&*sent) {
            assert_ne!(item, sent);
            let sent = format!("{sent:?}");
            assert!(!sent.contains("<|im") && !sent.contains("u003c"), "{sent}");
        }
        assert!(matches!(sheltered(&items[..0]), Cow::Borrowed(_)));
    }

    proptest! {
        #[test]
        fn whatever_a_text_says_comes_back_and_however_it_is_cut(
            pieces in prop::collection::vec(
                prop_oneof![prop::sample::select(MARKS.to_vec()).prop_map(str::to_owned), "[<|\\[a\u{2063}>\\]]{0,4}"], 0..8,
            ),
            cut in 0_usize..6,
        ) {
            let text = pieces.concat();
            let sent = broken(&text).into_owned();
            for mark in MARKS {
                prop_assert!(!sent.contains(mark), "{}", sent);
            }
            let mut mender = Mender::default();
            let characters: Vec<char> = sent.chars().collect();
            let back: String = characters.chunks(cut + 1).map(|piece| mender.push(piece.iter().collect())).collect();
            prop_assert_eq!(back, text);
        }
    }
}
