//! What of a thread is sent when not all of it fits the model's window: old tool outputs shrink, oldest first. What the
//! user said, what the model said, every call and the newest outputs stay.

use std::borrow::Cow;

use crate::{
    model::ToolSpec,
    protocol::{Item, Raw, ToolOutput},
    tools::output::{HeadTail, MAX_LINES, cut_line},
};

use super::Limits;

/// Bytes of a token, where the server has not counted any: about right for English and for code.
const BYTES_PER_TOKEN: u64 = 4;

/// What of the model's window a request may fill, in percent; the reply and the estimate's error need the rest.
const WINDOW_PERCENT: u64 = 80;

/// To what of the room a request shrinks once it is too long, in percent. Much at once, so that the requests after it
/// begin with the same bytes for long, which prompt caches live on.
const SHRUNK_PERCENT: u64 = 60;

/// A server's count is not believed to be more than so many times the estimate, whatever it says.
const MOST_SCALE: u64 = 4;

/// Bytes of an output that is not worth shrinking.
const SHORT_OUTPUT: usize = 800;

/// Characters that stay of the first line of an output that shrank: mostly says what it was.
const KEPT_CHARS: usize = 120;

/// The newest outputs are not cut below this many bytes each: less would tell the model nothing.
const LEAST_OF_NEWEST: usize = 1_000;

/// Bytes of JSON around what an item, or a tool, says.
const FRAME_BYTES: usize = 60;

/// How a thread's requests are made to fit. Kept with the thread, so that what was once sent short stays so.
#[derive(Clone, Debug, Default)]
pub(super) struct Fit {
    /// So many of the oldest outputs are sent short.
    short: usize,
    /// So many of the oldest outputs are sent cut where they are not sent short: a server refused them as they are.
    cut: usize,
    /// Tokens of the last request as estimated, and as the server counted them.
    counted: Option<(u64, u64)>,
}

/// The most tokens of a request; `None` when nothing is known about it.
pub(super) fn budget(limits: &Limits, window: Option<u64>) -> Option<u64> {
    let of_window = window.map(|window| window / 100 * WINDOW_PERCENT);
    // A bound beyond the window bounds nothing.
    let is_beyond = |most: &u64| window.is_some_and(|window| *most > window);
    limits.context_tokens.filter(|most| !is_beyond(most)).or(of_window)
}

/// Bytes of what stands in every request beside the items.
pub(super) fn fixed_bytes(instructions: &str, tools: &[ToolSpec]) -> usize {
    let tools = tools.iter().map(|tool| {
        tool.name.len() + tool.description.len() + tool.parameters.to_string().len() + FRAME_BYTES
    });
    instructions.len() + tools.sum::<usize>()
}

/// An estimate of a request's tokens.
pub(super) fn estimate(fixed: usize, items: &[Item]) -> u64 {
    let bytes = items.iter().fold(fixed, |sum, item| sum.saturating_add(item_bytes(item)));
    bytes as u64 / BYTES_PER_TOKEN
}

/// Tokens of the words and the arguments in these items, by the estimate: what surely was written.
pub(super) fn estimate_words(items: &[Item]) -> u64 {
    let words = |item: &Item| match item {
        Item::Agent(message) => message.text.len(),
        Item::Reasoning(reasoning) => reasoning.text.len(),
        Item::Call(call) => call.arguments.len(),
        Item::User(_) | Item::Output(_) | Item::Opaque(_) => 0,
    };
    items.iter().map(words).fold(0, usize::saturating_add) as u64 / BYTES_PER_TOKEN
}

impl Fit {
    /// Keeps what the server counted for a request that was estimated; zero means that it did not count.
    pub(super) fn count(&mut self, estimated: u64, counted: u64) {
        if counted > 0 && estimated > 0 {
            self.counted = Some((estimated, counted));
        }
    }

    /// The items as they are sent in a request of at most `budget` tokens, as far as that can be had.
    pub(super) fn fitted<'a>(
        &mut self,
        items: Cow<'a, [Item]>,
        fixed: usize,
        budget: Option<u64>,
    ) -> Cow<'a, [Item]> {
        let Some(room) = budget.map(|tokens| self.bytes(tokens)) else {
            return self.shrunk(items, usize::MAX);
        };
        let mut size = self.size(&items, fixed);
        if size <= room {
            return self.shrunk(items, usize::MAX);
        }
        let old = outputs(&items).take(old_outputs(&items)).skip(self.short);
        for output in old {
            size -= gain(output);
            self.short += 1;
            if size as u64 <= room as u64 / 100 * SHRUNK_PERCENT {
                break;
            }
        }
        tracing::info!(short = self.short, "old outputs are sent short: the thread outgrew the window");
        if size <= room {
            return self.shrunk(items, usize::MAX);
        }
        let newest: Vec<_> =
            outputs(&items).skip(old_outputs(&items)).map(|output| output.text.len()).collect();
        let rest = size.saturating_sub(newest.iter().sum());
        let share = room.saturating_sub(rest) / newest.len().max(1);
        self.shrunk(items, share.max(LEAST_OF_NEWEST))
    }

    /// Shrinks all old outputs, for a server that says that the thread is too long; where that gains nothing, it cuts the
    /// newest ones. `false` when that gains nothing either.
    pub(super) fn shrink_all(&mut self, items: &[Item]) -> bool {
        let old = old_outputs(items);
        let gains = outputs(items).take(old).skip(self.short).any(|output| gain(output) > 0);
        self.short = self.short.max(old);
        if gains {
            return true;
        }
        let mut uncut = outputs(items).skip(self.cut.max(old));
        let gains = uncut.any(|output| output.text.len() > LEAST_OF_NEWEST);
        self.cut = outputs(items).count();
        gains
    }

    /// So many bytes are as many tokens. Only a count above the estimate changes it: a server that counts wrongly must
    /// not make requests too long.
    fn bytes(&self, tokens: u64) -> usize {
        let (estimated, counted) = self.counted.unwrap_or((1, 1));
        let counted = counted.clamp(estimated, estimated.saturating_mul(MOST_SCALE));
        let bytes =
            u128::from(tokens) * u128::from(BYTES_PER_TOKEN) * u128::from(estimated) / u128::from(counted);
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    /// Bytes of a request as it would be sent by now.
    fn size(&self, items: &[Item], fixed: usize) -> usize {
        let all = items.iter().fold(fixed, |sum, item| sum.saturating_add(item_bytes(item)));
        all - outputs(items).take(self.short).map(gain).sum::<usize>()
    }

    /// The items with the oldest outputs short, and the newest no longer than `longest`.
    fn shrunk<'a>(&self, items: Cow<'a, [Item]>, longest: usize) -> Cow<'a, [Item]> {
        if self.short == 0 && self.cut == 0 && longest == usize::MAX {
            return items;
        }
        let old = old_outputs(&items);
        let mut items = items.into_owned();
        let outputs = items.iter_mut().filter_map(|item| match item {
            Item::Output(output) => Some(output),
            _ => None,
        });
        for (number, output) in outputs.enumerate() {
            if number < self.short {
                if let Some(text) = short(output) {
                    output.text = text;
                }
                continue;
            }
            let most = match number {
                _ if number < self.cut => LEAST_OF_NEWEST,
                _ if number >= old => longest,
                _ => usize::MAX,
            };
            if output.text.len() > most {
                let mut cut = HeadTail::new(MAX_LINES, most);
                cut.push(&output.text);
                output.text = cut.finish();
            }
        }
        items.into()
    }
}

fn outputs(items: &[Item]) -> impl Iterator<Item = &ToolOutput> {
    items.iter().filter_map(|item| match item {
        Item::Output(output) => Some(output),
        _ => None,
    })
}

/// How many outputs stand before those of the last step that has any.
fn old_outputs(items: &[Item]) -> usize {
    let is_output = |item: &&Item| matches!(item, Item::Output(_));
    let newest = items.iter().rev().skip_while(|item| !is_output(item)).take_while(is_output).count();
    outputs(items).count() - newest
}

/// What is sent of an old output; `None` for one that is short as it is.
fn short(output: &ToolOutput) -> Option<String> {
    if output.text.len() <= SHORT_OUTPUT {
        return None;
    }
    let first = cut_line(output.text.lines().next().unwrap_or_default(), KEPT_CHARS);
    let left_out = output.text.len().saturating_sub(first.len());
    Some(format!("{first}\n… {left_out} bytes left out here to save room; make the call again to see them …"))
}

fn gain(output: &ToolOutput) -> usize {
    short(output).map_or(0, |short| output.text.len().saturating_sub(short.len()))
}

fn item_bytes(item: &Item) -> usize {
    let of_raw = |raw: &Option<Raw>, typed: usize| raw.as_ref().map_or(typed, |raw| raw.json.len());
    let bytes = match item {
        Item::User(message) => message.text.len() + message.context.as_ref().map_or(0, String::len),
        Item::Agent(message) => of_raw(&message.raw, message.text.len()),
        Item::Reasoning(reasoning) => of_raw(&reasoning.raw, 0),
        Item::Call(call) => of_raw(&call.raw, call.id.len() + call.name.len() + call.arguments.len()),
        Item::Output(output) => output.call_id.len() + output.text.len(),
        Item::Opaque(raw) => raw.json.len(),
    };
    bytes.saturating_add(FRAME_BYTES)
}

#[cfg(test)]
mod tests;
