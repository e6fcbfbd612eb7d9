//! A thread: the history of one task, which only grows, and in which every call has exactly one output.

use std::{borrow::Cow, collections::HashSet};

use crate::{
    model::{
        Price,
        history::{self, Mend},
    },
    protocol::{Cost, Item, ThreadId, ToolCall, ToolOutput, Usage, UserMessage},
};

use super::{approval::Grants, context::Fit};

/// What stands as a call's output until the call has really ended.
const NOT_RUN: &str = "this call did not run: the turn ended before it was its turn";

/// Sentences that wait for a question that is sent: the last ones say how things are.
const MAX_UNHEARD: usize = 10;

/// The history that is sent to the model, and what belongs to it.
///
/// At most one turn runs on it at a time, since a turn borrows it for as long. A call is in it only together with
/// its output, so no request can be built from it that a server refuses for an unanswered call.
#[derive(Clone, Debug)]
pub struct Thread {
    id: ThreadId,
    items: Vec<Item>,
    /// Ids of all calls in `items`; some servers number the calls of each reply from zero again.
    call_ids: HashSet<String>,
    /// What the user allowed for the rest of this thread.
    pub(super) grants: Grants,
    /// How the items are made to fit the model's window.
    pub(super) fit: Fit,
    /// So many items from the start are sent in their plain form, since a server refused them as they are.
    plain: usize,
    /// Turns that have begun.
    turns: u32,
    /// What a question was to tell the model that was never sent.
    unheard: Vec<String>,
    usage: Usage,
    cost: Option<Cost>,
}

impl Thread {
    pub fn new() -> Self {
        Self {
            id: ThreadId::new(),
            items: Vec::new(),
            call_ids: HashSet::new(),
            grants: Grants::default(),
            fit: Fit::default(),
            plain: 0,
            turns: 0,
            unheard: Vec::new(),
            usage: Usage::default(),
            cost: None,
        }
    }

    /// A thread that goes on from a history that was made elsewhere, and what of it had to be mended first.
    pub fn from_items(items: &[Item]) -> (Self, Vec<Mend>) {
        let repaired = history::repaired(items);
        let items = repaired.items.into_owned();
        let call_ids = items.iter().filter_map(|item| match item {
            Item::Call(call) => Some(call.id.clone()),
            _ => None,
        });
        (Self { call_ids: call_ids.collect(), items, ..Self::new() }, repaired.mends)
    }

    pub fn id(&self) -> &ThreadId {
        &self.id
    }

    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// What all turns so far have used, by estimate where servers did not count.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// What that cost; `None` when no price was known.
    pub fn cost(&self) -> Option<Cost> {
        self.cost
    }

    /// Adds what one request used, and gives back what that cost.
    pub(super) fn spend(&mut self, usage: Usage, price: Option<Price>) -> Option<Cost> {
        self.usage += usage;
        let cost = price?.cost(usage);
        *self.cost.get_or_insert_default() += cost;
        Some(cost)
    }

    /// The items as they are sent in a request of at most `budget` tokens: the items themselves, but for what a server
    /// would refuse or has refused. `fixed` is the bytes of the request beside them.
    pub(super) fn request_items(&mut self, fixed: usize, budget: Option<u64>) -> Cow<'_, [Item]> {
        self.fit.fitted(sendable(&self.items, self.plain), fixed, budget)
    }

    /// Sends all old outputs short from now on; `false` when they are short already.
    pub(super) fn shrink(&mut self) -> bool {
        self.fit.shrink_all(&sendable(&self.items, self.plain))
    }

    /// Sends everything so far in its plain form from now on, and gives back how far that went before.
    pub(super) fn send_plain(&mut self) -> usize {
        std::mem::replace(&mut self.plain, self.items.len())
    }

    pub(super) fn send_plain_until(&mut self, position: usize) {
        self.plain = position;
    }

    /// The number of the turn that begins; the first is 1.
    pub(super) fn begin_turn(&mut self) -> u32 {
        self.turns = self.turns.saturating_add(1);
        self.turns
    }

    /// Keeps what the model is to hear with the next question.
    pub(super) fn keep_unheard(&mut self, news: Vec<String>) {
        self.unheard = news;
        let excess = self.unheard.len().saturating_sub(MAX_UNHEARD);
        self.unheard.drain(..excess);
    }

    pub(super) fn take_unheard(&mut self) -> Vec<String> {
        std::mem::take(&mut self.unheard)
    }

    pub(super) fn push_user(&mut self, message: UserMessage) {
        self.items.push(Item::User(message));
    }

    /// Adds what the model said in one step, and gives back the calls in it that are to be run, in order.
    ///
    /// Each of them has an output from now on which says that it did not run; [`Thread::answer`] puts the true one in
    /// its place. A call that repeats another one of the step to the letter is left out; one that only shares an id
    /// (within the step or with the history) gets a fresh one.
    pub(super) fn push_step(&mut self, produced: Vec<Item>) -> Vec<ToolCall> {
        let mut calls: Vec<ToolCall> = Vec::new();
        let mut originals: HashSet<(String, String, String)> = HashSet::new();
        for item in produced {
            match item {
                Item::Call(call) => {
                    let original = (call.id.clone(), call.name.clone(), call.arguments.clone());
                    if !call.id.is_empty() && !originals.insert(original) {
                        tracing::warn!(call = call.name, "the model sent the same call twice; it runs once");
                        continue;
                    }
                    let call = self.with_own_id(call);
                    self.items.push(Item::Call(call.clone()));
                    calls.push(call);
                }
                // Only this thread writes outputs.
                Item::Output(_) => {}
                other => self.items.push(other),
            }
        }
        for call in &calls {
            self.items.push(Item::Output(ToolOutput {
                call_id: call.id.clone(),
                text: NOT_RUN.to_owned(),
                is_error: true,
            }));
        }
        calls
    }

    /// Puts a call's true output in the place of the one that says that it did not run.
    pub(super) fn answer(&mut self, output: ToolOutput) {
        let place = self.items.iter_mut().rev().find_map(|item| match item {
            Item::Output(existing) if existing.call_id == output.call_id => Some(existing),
            _ => None,
        });
        match place {
            Some(existing) => *existing = output,
            None => tracing::error!(call = output.call_id, "an output without its call was left out"),
        }
    }

    fn with_own_id(&mut self, call: ToolCall) -> ToolCall {
        if !call.id.is_empty() && self.call_ids.insert(call.id.clone()) {
            return call;
        }
        let id = format!("call_{:016x}", rand::random::<u64>());
        self.call_ids.insert(id.clone());
        // What the server sent holds the old id; the wire makes the call anew from what is typed.
        ToolCall { id, raw: None, ..call }
    }
}

/// The items as a server accepts them, the first `plain` of them in their plain form.
fn sendable(items: &[Item], plain: usize) -> Cow<'_, [Item]> {
    let (refused, rest) = items.split_at(plain.min(items.len()));
    if refused.is_empty() {
        return history::repaired(items).items;
    }
    let mut items = history::plain(refused);
    items.extend_from_slice(rest);
    history::repaired(&items).items.into_owned().into()
}

impl Default for Thread {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str, arguments: &str) -> Item {
        Item::Call(ToolCall {
            id: id.to_owned(),
            name: "read_file".to_owned(),
            arguments: arguments.to_owned(),
            raw: None,
        })
    }

    /// Each call's id and how many outputs name it.
    fn outputs_per_call(thread: &Thread) -> Vec<usize> {
        let calls = thread.items().iter().filter_map(|item| match item {
            Item::Call(call) => Some(call),
            _ => None,
        });
        calls
            .map(|call| {
                let is_its_output =
                    |item: &&Item| matches!(item, Item::Output(output) if output.call_id == call.id);
                thread.items().iter().filter(is_its_output).count()
            })
            .collect()
    }

    // SPEC E10
    #[test]
    fn the_same_call_twice_in_a_step_runs_once() {
        let mut thread = Thread::new();
        let calls = thread.push_step(vec![call("1", "{}"), call("1", "{}")]);
        assert_eq!((calls.len(), outputs_per_call(&thread)), (1, vec![1]));
    }

    // SPEC E10
    #[test]
    fn different_calls_that_share_an_id_both_run_under_ids_of_their_own() {
        let mut thread = Thread::new();
        let calls = thread.push_step(vec![call("1", "{}"), call("1", r#"{"path":"a"}"#)]);
        assert_ne!(calls[0].id, calls[1].id);
        assert_eq!(outputs_per_call(&thread), [1, 1]);
    }

    #[test]
    fn a_server_that_numbers_the_calls_of_each_reply_anew_gets_unique_ids_back() {
        let mut thread = Thread::new();
        let first = thread.push_step(vec![call("call_0", "{}")]);
        let second = thread.push_step(vec![call("call_0", "{}"), call("", "{}")]);
        assert_ne!(first[0].id, second[0].id);
        assert_eq!(outputs_per_call(&thread), [1, 1, 1]);
    }

    #[test]
    fn a_call_has_an_output_from_the_moment_it_is_in_the_thread() {
        let mut thread = Thread::new();
        let calls = thread.push_step(vec![call("1", "{}")]);
        assert_eq!(outputs_per_call(&thread), [1]);
        let output = ToolOutput { call_id: calls[0].id.clone(), text: "done".to_owned(), is_error: false };
        thread.answer(output.clone());
        assert_eq!(thread.items().last(), Some(&Item::Output(output)));
    }
}
