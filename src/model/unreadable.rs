//! Events that cannot be read in a stream that otherwise can: a relay's remark, a line that was cut. They are counted
//! and logged, and cost the reply only where it cannot be trusted without them.

use serde::de::IgnoredAny;

use super::{
    ErrorKind, ModelError, event_json,
    http::{self, Endpoint},
    remark::is_sign_of_life,
    said_end::Brought,
    sse,
};

/// Events without a meaning in one reply: more come from nothing that speaks the wire.
const MAX_UNREADABLE: u32 = 16;

/// Characters that are kept of the first one, for the message.
const MAX_SHOWN: usize = 600;

/// Where in a stream an event stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Before anything of a reply.
    Start,
    Reply,
    /// Behind an end that is believed.
    BehindEnd,
}

#[derive(Default)]
pub(super) struct Unreadable {
    count: u32,
    first: String,
    lost_a_piece: bool,
    /// What may have been a piece if the end in front of it was none.
    lost_behind_end: bool,
}

impl Unreadable {
    /// Notes an event that cannot be read.
    ///
    /// # Errors
    /// That this is no reply: a web page at its beginning, or too many such events.
    pub(super) fn note(
        &mut self,
        endpoint: &Endpoint,
        data: &str,
        place: Place,
    ) -> Result<Brought, ModelError> {
        self.count = self.count.saturating_add(1);
        let is_lost = may_be_piece(data);
        if self.count == 1 || is_lost && !self.lost_a_piece {
            self.first = data.chars().take(MAX_SHOWN).collect();
        }
        self.lost_a_piece |= is_lost && place != Place::BehindEnd;
        self.lost_behind_end |= is_lost;
        let is_page = place == Place::Start && data.trim_start().starts_with('<');
        if is_page || place != Place::BehindEnd && self.count > MAX_UNREADABLE {
            return Err(sse::malformed(endpoint, data));
        }
        // Behind the end any number of them costs nothing, nor may they fill the log.
        if self.count <= MAX_UNREADABLE {
            tracing::warn!(
                count = self.count,
                bytes = data.len(),
                "an event of the model's reply cannot be read"
            );
        }
        Ok(if is_sign_of_life(data) { Brought::Remark } else { Brought::Strange })
    }

    /// The reply went on behind what was taken for its end.
    pub(super) fn end_was_none(&mut self) {
        self.lost_a_piece |= self.lost_behind_end;
    }

    /// Whether an event is lost that may have been a piece of the reply.
    pub(super) fn is_a_piece_lost(&self) -> bool {
        self.lost_a_piece
    }

    /// # Errors
    /// That there was rubbish: for a stream that was nothing else.
    pub(super) fn refuse_all(&self, endpoint: &Endpoint) -> Result<(), ModelError> {
        if self.count == 0 { Ok(()) } else { Err(sse::malformed(endpoint, &self.first)) }
    }

    /// # Errors
    /// That a piece is lost: for a reply that cannot be trusted without it.
    pub(super) fn refuse_lost(&self, endpoint: &Endpoint) -> Result<(), ModelError> {
        if !self.lost_a_piece {
            return Ok(());
        }
        let (server, shown) = (endpoint.server(), http::clean(endpoint, &self.first));
        Err(ModelError::new(
            ErrorKind::Malformed,
            format!("{server} sent a reply of which a piece cannot be read ({shown})"),
        ))
    }
}

/// Whether something of an event of a wire is there, its beginning or its end: a remark in plain words was none, nor is a
/// web page, nor what was only to keep the connection alive.
pub(super) fn may_be_piece(data: &str) -> bool {
    let data = data.trim();
    // What is whole, though no JSON: of a part of an event, such words may be all that is left.
    let is_whole = || {
        let inner = data.strip_prefix('{').and_then(|data| data.strip_suffix('}'));
        inner.is_some_and(|inner| !inner.contains(['{', '}']))
    };
    looks_like_part(data) && !(is_whole() && is_sign_of_life(data))
}

fn looks_like_part(data: &str) -> bool {
    let data = data.trim_start();
    !data.starts_with('<') && (data.contains(['{', '}']) || data.contains("\":")) && !is_of_ping(data)
}

/// Whether this is a ping, or the beginning of one: by what is in the event itself, not in something that it holds.
fn is_of_ping(data: &str) -> bool {
    let told: String = data.chars().filter(|c| !c.is_whitespace()).collect();
    let own = told.split_once(r#""type":"ping""#).and_then(|(before, _)| before.strip_prefix('{'));
    own.is_some_and(|own| !own.contains('{'))
}

/// Whether the data of a last event that its sender did not end is a part of it; a remark is none.
pub(super) fn is_cut(data: &str) -> bool {
    let is_json = |text: &str| serde_json::from_str::<IgnoredAny>(text).is_ok();
    // A string is whole, whatever is in it.
    !is_json(data) && !is_json(&event_json::mended(data)) && looks_like_part(data)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PING: &str = r#"{"cost": "0", "type": "ping", "at": "#;

    #[test]
    fn a_last_event_is_cut_that_no_reader_takes() {
        let held = r#"{"type":"response.created","response":{"type":"ping"}"#;
        for cut in [r#"{"a":"#, r#"{"a":NaN"#, r#""{\"a\":"#, held] {
            assert!(is_cut(cut), "{cut}");
        }
        for whole in [r#"{"a":1}"#, r#"{"a":NaN}"#, "\"{\"\t", r#""{\"a\":1}""#, "processing", PING] {
            assert!(!is_cut(whole), "{whole}");
        }
    }

    // SPEC S12
    #[test]
    fn a_part_of_an_event_is_told_from_a_remark() {
        for piece in [
            "{",
            r#"oices":[{"delta":{}}]}"#,
            r#""delta":"NOT"#,
            r#"NOT "}}]}"#,
            r#"{"type":"text","t"#,
            r#"done"}}]}"#,
            r#"{"ping"#,
        ] {
            assert!(may_be_piece(piece), "{piece}");
        }
        for remark in [
            "keep-alive",
            "[]",
            "7",
            "null",
            "<style>a{}</style>",
            r#"{"type" : "ping""#,
            "busy: wait",
            "{'type': 'ping'}",
            "{ping}",
        ] {
            assert!(!may_be_piece(remark), "{remark}");
        }
    }
}
