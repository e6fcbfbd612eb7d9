//! The events of the Messages wire, as far as they matter. Every member may be missing: servers differ.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, de::Error};
use serde_json::{Value, value::RawValue};

use crate::{
    model::{counts, said_end::SaidEnd},
    protocol::Usage,
};

/// Any event.
#[derive(Deserialize)]
pub(super) struct Event<'a> {
    #[serde(borrow)]
    pub(super) r#type: Option<Cow<'a, str>>,
    #[serde(default, deserialize_with = "index")]
    pub(super) index: Option<u64>,
    #[serde(borrow)]
    pub(super) message: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) content_block: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) delta: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

/// More of a block: which member is there says more than `type`, which some servers leave out.
#[derive(Default, Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(borrow)]
    pub(super) text: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) thinking: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) partial_json: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) signature: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) citation: Option<&'a RawValue>,
}

/// A message: in the stream without content, and whole where a server did not stream.
#[derive(Deserialize)]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
    pub(super) stop_reason: Option<String>,
    pub(super) stop_details: Option<Value>,
}

/// Why the reply ends.
#[derive(Default, Deserialize)]
pub(super) struct Stop {
    pub(super) stop_reason: Option<String>,
    pub(super) stop_details: Option<Value>,
}

impl Stop {
    fn said(&self) -> Option<SaidEnd> {
        self.stop_reason.as_deref().map(SaidEnd::of)
    }

    /// Takes what was said later, unless it is milder: a reply that was cut stays so. What only says the same again keeps
    /// the words that came with it before.
    pub(super) fn update(&mut self, later: Self) {
        let is_graver = later.said() > self.said();
        let has_more_words = later.said() == self.said() && later.explanation().is_some();
        if is_graver || has_more_words {
            *self = later;
        }
    }

    /// Why the model declined, in the server's words.
    pub(super) fn explanation(&self) -> Option<&str> {
        let explanation = self.stop_details.as_ref()?.get("explanation")?.as_str()?;
        Some(explanation.trim()).filter(|text| !text.is_empty())
    }
}

/// What the server counted so far: each count is of the whole reply, and takes the place of the one before.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Counts {
    #[serde(deserialize_with = "count")]
    input_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    cache_creation_input_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    cache_read_input_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    output_tokens: Option<u64>,
    output_tokens_details: Value,
}

/// A count, where it is one.
fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    Value::deserialize(deserializer).map(|count| counts::tokens(&count))
}

/// A block's number, which some gateways write as a text.
fn index<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let index = match Value::deserialize(deserializer)? {
        Value::Null => return Ok(None),
        Value::String(digits) => digits.parse().ok(),
        other => other.as_u64(),
    };
    index.map(Some).ok_or_else(|| D::Error::custom("expected the number of a block"))
}

impl Counts {
    /// Takes later counts. What they leave out stays, and so does what they call zero: gateways that do not know a
    /// count say so.
    pub(super) fn update(&mut self, later: Self) {
        let newer = |old: &mut Option<u64>, new: Option<u64>| {
            *old = new.filter(|count| *count > 0).or(*old).or(new);
        };
        newer(&mut self.input_tokens, later.input_tokens);
        newer(&mut self.cache_creation_input_tokens, later.cache_creation_input_tokens);
        newer(&mut self.cache_read_input_tokens, later.cache_read_input_tokens);
        newer(&mut self.output_tokens, later.output_tokens);
        if later.output_tokens_details.is_object() {
            self.output_tokens_details = later.output_tokens_details;
        }
    }

    /// This wire counts what went through the cache apart from the rest of the input.
    pub(super) fn usage(&self) -> Usage {
        let cached = self.cache_read_input_tokens.unwrap_or(0);
        let written = self.cache_creation_input_tokens.unwrap_or(0);
        let thought = counts::at(&self.output_tokens_details, &["/thinking_tokens"]);
        Usage {
            input_tokens: self.input_tokens.unwrap_or(0).saturating_add(cached).saturating_add(written),
            cached_tokens: cached,
            cache_write_tokens: written,
            output_tokens: self.output_tokens.unwrap_or(0),
            reasoning_tokens: thought.unwrap_or(0),
        }
    }
}
