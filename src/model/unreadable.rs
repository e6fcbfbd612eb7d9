//! Events that cannot be read in a stream that otherwise can: a relay's remark, a line that was cut. They are counted
//! and logged, and cost the reply only where it cannot be trusted without them.

use super::{
    ErrorKind, ModelError,
    http::{self, Endpoint},
    sse,
};

/// Events without a meaning in one reply: more come from nothing that speaks the wire.
const MAX_UNREADABLE: u32 = 16;

/// Characters that are kept of the first one, for the message.
const MAX_SHOWN: usize = 600;

#[derive(Default)]
pub(super) struct Unreadable {
    count: u32,
    first: String,
    lost_a_piece: bool,
}

impl Unreadable {
    /// Notes an event that cannot be read. `is_reply` says whether anything of a reply came before it.
    ///
    /// # Errors
    /// That this is no reply: a web page at its beginning, or too many such events.
    pub(super) fn note(&mut self, endpoint: &Endpoint, data: &str, is_reply: bool) -> Result<(), ModelError> {
        self.count += 1;
        if self.count == 1 {
            self.first = data.chars().take(MAX_SHOWN).collect();
        }
        // What began as an event of the wire was one: a remark in plain words was not.
        self.lost_a_piece |= data.trim_start().starts_with('{');
        if !is_reply && data.trim_start().starts_with('<') || self.count > MAX_UNREADABLE {
            return Err(sse::malformed(endpoint, data));
        }
        tracing::warn!(
            count = self.count,
            bytes = data.len(),
            "an event of the model's reply cannot be read"
        );
        Ok(())
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
