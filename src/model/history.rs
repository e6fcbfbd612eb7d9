//! Histories that servers accept: every call with one output right after its step, ids that differ, nothing that says
//! nothing, no reasoning without what it led to. A thread that askls made is always like that; an imported one, or one
//! that was damaged, is mended here before it is sent. Pure: the same history is always mended to the same bytes.

mod refused;

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap, HashSet},
    fmt,
};

use serde_json::Value;

use crate::protocol::{AgentMessage, Item, ToolCall, ToolOutput, UserMessage};

pub use refused::{blamed, plain};

/// What stands for the output that a call never got.
const INTERRUPTED: &str =
    "interrupted: this call has no output, and whether it ran is not known; look before you make it again";

/// A history fit to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repaired<'a> {
    /// Borrowed when nothing was wrong.
    pub items: Cow<'a, [Item]>,
    /// In the order of the history that was given.
    pub mends: Vec<Mend>,
}

/// One thing that was wrong and is no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mend {
    /// Of the item, in the history that was given.
    pub position: usize,
    pub damage: Damage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Damage {
    /// A call without an output: it got one that says so.
    UnansweredCall,
    /// A call that repeats another of its step in all that it says: left out.
    RepeatedCall,
    /// Another call's id, or none: the call and its output got a new one.
    SharedId,
    /// An output that names no call: left out.
    OrphanedOutput,
    /// Another output of the same call: left out.
    SecondOutput,
    /// An output that did not stand right after its step: moved there.
    MisplacedOutput,
    /// A message that says nothing: left out.
    EmptyMessage,
    /// Reasoning without the message or the call that it led to: left out.
    LoneReasoning,
    /// The same item twice in a row: left out.
    RepeatedItem,
}

impl fmt::Display for Mend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.damage {
            Damage::UnansweredCall => "a call without an output",
            Damage::RepeatedCall => "a call sent twice",
            Damage::SharedId => "a call without an id of its own",
            Damage::OrphanedOutput => "an output without its call",
            Damage::SecondOutput => "a second output of a call",
            Damage::MisplacedOutput => "an output that did not follow its call",
            Damage::EmptyMessage => "a message that says nothing",
            Damage::LoneReasoning => "reasoning that led to nothing",
            Damage::RepeatedItem => "an item sent twice",
        };
        write!(f, "{what} (item {})", self.position)
    }
}

/// The history as every server accepts it. One look at each item when nothing is wrong, which is the rule.
pub fn repaired(items: &[Item]) -> Repaired<'_> {
    if is_whole(items) {
        return Repaired { items: Cow::Borrowed(items), mends: Vec::new() };
    }
    let mut mends = Vec::new();
    let calls = calls_that_stay(items, &mut mends);
    let items = without_lone_reasoning(rebuilt(items, &calls, &mut mends), &mut mends);
    mends.sort_unstable();
    Repaired { items: Cow::Owned(items), mends }
}

fn is_whole(items: &[Item]) -> bool {
    let mut ids = HashSet::new();
    // Calls of the step that still want their outputs.
    let mut open = HashSet::new();
    let mut last: Option<&Item> = None;
    for item in items {
        let is_output = matches!(item, Item::Output(_));
        let step_is_over = matches!(last, Some(Item::Output(_))) && !is_output;
        if (step_is_over || matches!(item, Item::User(_))) && !open.is_empty() {
            return false;
        }
        if matches!(last, Some(Item::Reasoning(_))) && !can_follow_reasoning(item) {
            return false;
        }
        if last.is_some_and(|last| repeats(last, item)) {
            return false;
        }
        let is_sound = match item {
            Item::User(message) => !asks_nothing(message),
            Item::Agent(message) => !says_nothing(message),
            Item::Call(call) => {
                !call.id.trim().is_empty() && ids.insert(call.id.as_str()) && open.insert(call.id.as_str())
            }
            Item::Output(output) => open.remove(output.call_id.as_str()),
            Item::Reasoning(_) | Item::Opaque(_) => true,
        };
        if !is_sound {
            return false;
        }
        last = Some(item);
    }
    open.is_empty() && !matches!(last, Some(Item::Reasoning(_)))
}

/// A call that stays in the history.
struct Kept {
    id: String,
    /// Where its output stands.
    output: Option<usize>,
}

/// The calls that stay, by their places, each with its output.
fn calls_that_stay(items: &[Item], mends: &mut Vec<Mend>) -> BTreeMap<usize, Kept> {
    let mut mend = |position, damage| mends.push(Mend { position, damage });
    let mut step = 0;
    let mut of_this_step = HashSet::new();
    // By the id: the calls that want an output, each with its step; and whether there was a call at all.
    let mut waiting: HashMap<&str, Vec<(usize, usize)>> = HashMap::new();
    let mut outputs: BTreeMap<usize, Option<usize>> = BTreeMap::new();
    let mut early = Vec::new();
    for (position, item) in items.iter().enumerate() {
        match item {
            Item::User(_) => {
                step += 1;
                of_this_step.clear();
            }
            Item::Call(call) => {
                let is_new = of_this_step.insert((&call.id, &call.name, &call.arguments));
                if !is_new && !call.id.is_empty() {
                    mend(position, Damage::RepeatedCall);
                    continue;
                }
                waiting.entry(&call.id).or_default().push((step, position));
                outputs.insert(position, None);
            }
            Item::Output(output) => {
                match waiting.get_mut(output.call_id.as_str()) {
                    None => early.push((position, output)),
                    Some(calls) => match take_latest(calls) {
                        Some(call) => drop(outputs.insert(call, Some(position))),
                        None => mend(position, Damage::SecondOutput),
                    },
                }
                if !matches!(items.get(position + 1), Some(Item::Output(_))) {
                    step += 1;
                    of_this_step.clear();
                }
            }
            Item::Agent(_) | Item::Reasoning(_) | Item::Opaque(_) => {}
        }
    }
    // Outputs that stand before their calls.
    for (position, output) in early {
        match waiting.get_mut(output.call_id.as_str()).and_then(take_latest) {
            Some(call) => drop(outputs.insert(call, Some(position))),
            None => mend(position, Damage::OrphanedOutput),
        }
    }
    with_own_ids(items, outputs, mends)
}

/// The call that an output answers: of all that wait under its id the first of the latest step.
fn take_latest(calls: &mut Vec<(usize, usize)>) -> Option<usize> {
    let (latest, _) = *calls.last()?;
    let first = calls.partition_point(|(step, _)| *step < latest);
    Some(calls.remove(first).1)
}

fn with_own_ids(
    items: &[Item],
    outputs: BTreeMap<usize, Option<usize>>,
    mends: &mut Vec<Mend>,
) -> BTreeMap<usize, Kept> {
    let known = call_ids(items);
    let mut taken: HashSet<String> = HashSet::new();
    let mut kept = BTreeMap::new();
    for (position, output) in outputs {
        let Some(Item::Call(call)) = items.get(position) else { continue };
        let mut id = call.id.clone();
        if id.trim().is_empty() || taken.contains(&id) {
            id = new_id(position, |id| known.contains(id) || taken.contains(id));
            mends.push(Mend { position, damage: Damage::SharedId });
        }
        taken.insert(id.clone());
        kept.insert(position, Kept { id, output });
    }
    kept
}

fn call_ids(items: &[Item]) -> HashSet<&str> {
    let ids = items.iter().filter_map(|item| match item {
        Item::Call(call) => Some(call.id.as_str()),
        _ => None,
    });
    ids.collect()
}

/// An id made of the call's place, so that it is the same in every request of the thread.
fn new_id(position: usize, is_taken: impl Fn(&str) -> bool) -> String {
    let mut id = format!("call_item_{position}");
    while is_taken(&id) {
        id.push('x');
    }
    id
}

/// The items that stay, with their places, and each step's outputs right after it.
fn rebuilt(items: &[Item], calls: &BTreeMap<usize, Kept>, mends: &mut Vec<Mend>) -> Vec<(usize, Item)> {
    let mut rebuilt: Vec<(usize, Item)> = Vec::with_capacity(items.len());
    let mut open: Vec<usize> = Vec::new();
    for (position, item) in items.iter().enumerate() {
        if matches!(item, Item::Output(_) | Item::User(_)) {
            answer(items, calls, &mut open, position, &mut rebuilt, mends);
        }
        let damage = match item {
            // Its call has brought it, or it is left out.
            Item::Output(_) => continue,
            Item::Call(call) => {
                let Some(kept) = calls.get(&position) else { continue };
                // The raw form holds the old id; the wire makes the call anew from what is typed.
                let raw = call.raw.clone().filter(|_| kept.id == call.id);
                let call = ToolCall { id: kept.id.clone(), raw, ..call.clone() };
                rebuilt.push((position, Item::Call(call)));
                open.push(position);
                continue;
            }
            Item::User(message) if asks_nothing(message) => Damage::EmptyMessage,
            Item::Agent(message) if says_nothing(message) => Damage::EmptyMessage,
            item if rebuilt.last().is_some_and(|(_, last)| repeats(last, item)) => Damage::RepeatedItem,
            item => {
                rebuilt.push((position, item.clone()));
                continue;
            }
        };
        mends.push(Mend { position, damage });
    }
    answer(items, calls, &mut open, items.len(), &mut rebuilt, mends);
    rebuilt
}

/// Adds the outputs of the calls in `open`, whose step ends before `end`.
fn answer(
    items: &[Item],
    calls: &BTreeMap<usize, Kept>,
    open: &mut Vec<usize>,
    end: usize,
    rebuilt: &mut Vec<(usize, Item)>,
    mends: &mut Vec<Mend>,
) {
    if open.is_empty() {
        return;
    }
    let following = items.iter().skip(end).take_while(|item| matches!(item, Item::Output(_))).count();
    for position in open.drain(..) {
        let Some(Kept { id, output }) = calls.get(&position) else { continue };
        let found = output.and_then(|place| match items.get(place) {
            Some(Item::Output(output)) => Some((place, output)),
            _ => None,
        });
        let output = match found {
            Some((place, output)) => {
                if !(end..end + following).contains(&place) {
                    mends.push(Mend { position: place, damage: Damage::MisplacedOutput });
                }
                ToolOutput { call_id: id.clone(), ..output.clone() }
            }
            None => {
                mends.push(Mend { position, damage: Damage::UnansweredCall });
                ToolOutput { call_id: id.clone(), text: INTERRUPTED.to_owned(), is_error: true }
            }
        };
        rebuilt.push((position, Item::Output(output)));
    }
}

fn without_lone_reasoning(items: Vec<(usize, Item)>, mends: &mut Vec<Mend>) -> Vec<Item> {
    let mut kept = Vec::with_capacity(items.len());
    for (position, item) in items.into_iter().rev() {
        if matches!(item, Item::Reasoning(_)) && !kept.last().is_some_and(can_follow_reasoning) {
            mends.push(Mend { position, damage: Damage::LoneReasoning });
            continue;
        }
        kept.push(item);
    }
    kept.reverse();
    kept
}

fn can_follow_reasoning(item: &Item) -> bool {
    !matches!(item, Item::User(_) | Item::Output(_))
}

/// Whether an item is the one before it once more. A user may say the same twice, and a call is told by its id.
fn repeats(last: &Item, item: &Item) -> bool {
    matches!(item, Item::Agent(_) | Item::Reasoning(_) | Item::Opaque(_)) && last == item
}

fn asks_nothing(message: &UserMessage) -> bool {
    let is_blank = |text: &str| text.trim().is_empty();
    is_blank(&message.text) && message.context.as_deref().is_none_or(is_blank)
}

/// Whether a message is empty, what only its own wire understands of it included.
fn says_nothing(message: &AgentMessage) -> bool {
    if !message.text.trim().is_empty() {
        return false;
    }
    let Some(raw) = &message.raw else { return true };
    let Ok(json) = serde_json::from_str::<Value>(&raw.json) else { return true };
    match json.get("content") {
        Some(Value::Array(parts)) => parts.iter().all(is_empty_text),
        Some(Value::String(text)) => text.trim().is_empty(),
        Some(Value::Null) => true,
        _ => is_empty_text(&json),
    }
}

fn is_empty_text(part: &Value) -> bool {
    let text = part.get("text").or_else(|| part.get("refusal")).and_then(Value::as_str);
    text.is_some_and(|text| text.trim().is_empty())
}

#[cfg(test)]
mod tests;
