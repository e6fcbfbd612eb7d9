//! What the requests of one guided step have used, and whether there is room for another.

use crate::{
    model::{Price, Room},
    protocol::Usage,
};

/// English and code have about so many bytes a token.
const BYTES_PER_TOKEN: u64 = 4;

/// What the requests of one step have used.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    /// What was left of the turn's bounds when the step began.
    room: Room,
    price: Option<Price>,
    used: Option<Usage>,
}

impl Tally {
    pub(super) fn new(room: Room, price: Option<Price>) -> Self {
        Self { room, price, used: None }
    }

    /// Adds a request of `read` bytes whose reply has `written` ones, its reasoning included. What its server did not
    /// tell is estimated, since it was used all the same: a draft that is dropped early has no count at all.
    pub(super) fn add(&mut self, usage: Option<Usage>, read: usize, written: usize) {
        let mut usage = usage.unwrap_or_default();
        if usage.input_tokens == 0 {
            let cached = usage.cached_tokens.saturating_add(usage.cache_write_tokens);
            usage.input_tokens = cached.max(read as u64 / BYTES_PER_TOKEN);
        }
        *self.used.get_or_insert_default() += usage.of_written(written as u64 / BYTES_PER_TOKEN);
    }

    /// The same for a request whose reply broke off: what was counted by then may be of its first word only.
    pub(super) fn add_broken(&mut self, usage: Option<Usage>, read: usize, written: usize) {
        let mut usage = usage.unwrap_or_default();
        usage.output_tokens = usage.output_tokens.max(written as u64 / BYTES_PER_TOKEN);
        self.add(Some(usage), read, written);
    }

    /// All of it; `None` before the first reply.
    pub(super) fn used(&self) -> Option<Usage> {
        self.used
    }

    /// What the next request has room for.
    pub(super) fn room(&self) -> Room {
        self.room.after(self.used.unwrap_or_default(), self.price)
    }

    /// Whether no further request may be sent for this step. The first one always may: the turn has room for it.
    pub(super) fn is_used_up(&self) -> bool {
        self.used.is_some_and(|used| self.room.is_used_up(used, self.price))
    }
}
