//! The events of the Responses wire, as far as they matter. Every member may be missing: servers differ.

use std::{borrow::Cow, ops::Deref};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error},
};
use serde_json::{Value, value::RawValue};

use crate::{
    model::{counts, http::ServerError},
    protocol::{MessageState, Usage},
};

/// Any event.
#[derive(Deserialize)]
pub(super) struct Event<'a> {
    #[serde(borrow)]
    pub(super) r#type: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) item_id: Option<Text<'a>>,
    pub(super) output_index: Option<u64>,
    pub(super) summary_index: Option<u64>,
    #[serde(borrow)]
    pub(super) item: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) delta: Option<&'a RawValue>,
    /// The whole text, or the whole arguments, that the deltas before were pieces of.
    #[serde(borrow)]
    pub(super) text: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) refusal: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) name: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) part: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) response: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

/// A string that is lent from the event where it can be: nearly all events are deltas, and thousands make one reply. (A
/// `Cow` in an `Option` would be copied always.)
pub(super) struct Text<'a>(Cow<'a, str>);

/// The string that a value is; without escapes it is lent.
pub(super) fn text(json: &RawValue) -> Option<Cow<'_, str>> {
    let inner = json.get().strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') {
        serde_json::from_str(json.get()).ok().map(Cow::Owned)
    } else {
        Some(inner.into())
    }
}

/// A part of a message that came whole.
#[derive(Deserialize)]
pub(super) struct Part {
    #[serde(default)]
    pub(super) r#type: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    refusal: String,
}

impl Part {
    pub(super) fn is_refusal(&self) -> bool {
        self.r#type == "refusal"
    }

    pub(super) fn words(&self) -> &str {
        if self.is_refusal() { &self.refusal } else { &self.text }
    }
}

/// A response, as the last event holds it. A member of a strange form counts as missing: an answer is none the worse.
#[derive(Default, Deserialize)]
pub(super) struct Response {
    #[serde(default, deserialize_with = "fit")]
    pub(super) id: Option<String>,
    #[serde(default, deserialize_with = "fit")]
    pub(super) status: Option<String>,
    #[serde(default)]
    pub(super) output: Option<Vec<Box<RawValue>>>,
    #[serde(default, deserialize_with = "usage")]
    pub(super) usage: Option<Usage>,
    #[serde(default)]
    pub(super) incomplete_details: Value,
    pub(super) error: Option<Value>,
}

impl Response {
    /// The error that it failed with; servers have an empty one where there is none.
    pub(super) fn said_error(&self) -> Option<&Value> {
        self.error.as_ref().filter(|error| ServerError::is_said(&error.to_string()))
    }

    /// Why it was cut, however the server says so.
    pub(super) fn cut(&self) -> Option<&str> {
        let details = &self.incomplete_details;
        details.get("reason").unwrap_or(details).as_str()
    }
}

/// An item, read member by member: items of unknown types have members of unknown forms.
pub(super) struct OutputItem(pub(super) Value);

impl OutputItem {
    /// `None` when this is no item.
    pub(super) fn parse(json: &RawValue) -> Option<Self> {
        serde_json::from_str(json.get()).ok().map(Self).filter(|item| !item.kind().is_empty())
    }

    pub(super) fn text(&self, member: &str) -> Option<&str> {
        self.0.get(member)?.as_str()
    }

    pub(super) fn kind(&self) -> &str {
        self.text("type").unwrap_or_default()
    }

    fn parts(&self, member: &str) -> &[Value] {
        self.0.get(member).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    pub(super) fn message_text(&self) -> (String, MessageState) {
        let parts = self.parts("content");
        let text = |part: &Value| {
            let text = part.get("text").or_else(|| part.get("refusal")).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        let refused = parts.iter().any(|part| part.get("type").is_some_and(|kind| kind == "refusal"));
        let state = if refused { MessageState::Refusal } else { MessageState::Whole };
        (parts.iter().map(text).collect(), state)
    }

    /// The summary where there is one, else the reasoning itself.
    pub(super) fn reasoning_text(&self) -> String {
        let summary = self.parts("summary");
        let parts = if summary.is_empty() { self.parts("content") } else { summary };
        let texts: Vec<_> = parts.iter().filter_map(|part| part.get("text")?.as_str()).collect();
        texts.join("\n\n")
    }
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = <&'de RawValue>::deserialize(deserializer)?;
        text(json).map(Self).ok_or_else(|| D::Error::custom("expected a string"))
    }
}

/// The value where it is of its type.
fn fit<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<Option<T>, D::Error> {
    Ok(serde_json::from_value(Value::deserialize(deserializer)?).ok())
}

/// Tokens as far as they are counts.
fn usage<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Usage>, D::Error> {
    let usage = Value::deserialize(deserializer)?;
    let number = |path: &str| counts::at(&usage, &[path]).unwrap_or(0);
    let counted = || Usage {
        input_tokens: number("/input_tokens"),
        cached_tokens: number("/input_tokens_details/cached_tokens"),
        cache_write_tokens: number("/input_tokens_details/cache_write_tokens"),
        output_tokens: number("/output_tokens"),
        reasoning_tokens: number("/output_tokens_details/reasoning_tokens"),
    };
    let total = counts::at(&usage, &["/total_tokens"]);
    Ok(usage.is_object().then(|| counts::completed(counted(), total)))
}
