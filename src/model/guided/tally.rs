//! What the requests of one guided step have used, and whether there is room for another.

use crate::{
    model::{Finish, ModelError, ModelEvent, Price, Room},
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
    /// Whether a part of that is an estimate.
    is_estimated: bool,
}

impl Tally {
    pub(super) fn new(room: Room, price: Option<Price>) -> Self {
        Self { room, price, used: None, is_estimated: false }
    }

    /// Adds a request of `read` bytes whose reply has `written` ones, its reasoning included. What its server did not
    /// tell is estimated, since it was used all the same: a draft that is dropped early has no count at all.
    pub(super) fn add(&mut self, usage: Option<Usage>, read: usize, written: usize) {
        // Nothing was used: the request was refused.
        if usage == Some(Usage::default()) {
            return;
        }
        let counted = usage.unwrap_or_default();
        let mut usage = counted;
        if usage.input_tokens == 0 {
            let cached = usage.cached_tokens.saturating_add(usage.cache_write_tokens);
            usage.input_tokens = cached.max(read as u64 / BYTES_PER_TOKEN);
        }
        let usage = usage.of_written(written as u64 / BYTES_PER_TOKEN);
        self.is_estimated |= usage != counted;
        *self.used.get_or_insert_default() += usage;
    }

    /// The same for a request whose reply broke off: what was counted by then may be of its first word only.
    pub(super) fn add_broken(&mut self, usage: Option<Usage>, read: usize, written: usize) {
        let counted = usage.unwrap_or_default();
        let output_tokens = counted.output_tokens.max(written as u64 / BYTES_PER_TOKEN);
        self.is_estimated |= output_tokens != counted.output_tokens;
        let usage = Some(Usage { output_tokens, ..counted }).filter(|usage| *usage != Usage::default());
        self.add(usage, read, written);
    }

    /// The end of the step, with all that it used.
    pub(super) fn done(
        &self,
        finish: Finish,
    ) -> impl Iterator<Item = Result<ModelEvent, ModelError>> + use<> {
        // Without a request, nothing was.
        let done = ModelEvent::Done { finish, usage: Some(self.used.unwrap_or_default()) };
        self.estimated().into_iter().chain([done]).map(Ok)
    }

    /// The same of one that breaks off; nothing before the first reply.
    pub(super) fn told(&self) -> impl Iterator<Item = Result<ModelEvent, ModelError>> + use<> {
        self.estimated().into_iter().chain(self.used.map(ModelEvent::Used)).map(Ok)
    }

    /// Tells that a part is an estimate, where it is.
    pub(super) fn estimated(&self) -> Option<ModelEvent> {
        self.is_estimated.then_some(ModelEvent::Estimated)
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
