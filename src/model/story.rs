//! For the tests of the wires: the body of a stream in, what it told as plain lines out.

use std::{fmt::Write, sync::Arc, time::Duration};

use futures::{StreamExt, stream};
use tokio_util::bytes::Bytes;

use super::{
    ModelEvent,
    http::Endpoint,
    sse::{self, Decoder},
};
use crate::protocol::{Item, MessageState, Raw};

pub(super) fn endpoint() -> Arc<Endpoint> {
    Arc::new(Endpoint::new("http://server.test/v1", "some-model").expect("a good base URL"))
}

/// The lines of a body that arrives in these pieces. What is shown piece by piece becomes one line.
pub(super) fn story(pieces: &[&[u8]], decoder: impl Decoder) -> String {
    let chunks: Vec<_> = pieces.iter().map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let events = runtime.block_on(
        sse::reply(sse::events(stream::iter(chunks), Duration::from_secs(60)), decoder, None)
            .collect::<Vec<_>>(),
    );
    let (mut thought, mut shown, mut lines) = (String::new(), String::new(), String::new());
    for event in events {
        match event {
            Ok(ModelEvent::TextDelta(text)) => shown.push_str(&text),
            Ok(ModelEvent::ReasoningDelta(text)) => thought.push_str(&text),
            Ok(ModelEvent::Item(item)) => writeln!(lines, "{}", line(&item)).expect("strings take all"),
            Ok(ModelEvent::Done { finish, usage: None }) => {
                writeln!(lines, "=> {finish:?}").expect("strings take all");
            }
            Ok(ModelEvent::Done { finish, usage: Some(usage) }) => {
                let [input, cached, output, reasoning] =
                    [usage.input_tokens, usage.cached_tokens, usage.output_tokens, usage.reasoning_tokens];
                writeln!(lines, "=> {finish:?}, tokens {input} ({cached}) {output} ({reasoning})")
                    .expect("strings take all");
            }
            Ok(ModelEvent::Used(usage)) => {
                writeln!(lines, "used {} {}", usage.input_tokens, usage.output_tokens)
                    .expect("strings take all");
            }
            Ok(ModelEvent::Unheard(bytes)) => {
                writeln!(lines, "unheard {bytes} bytes").expect("strings take all");
            }
            Ok(ModelEvent::Estimated) => writeln!(lines, "estimated").expect("strings take all"),
            Err(error) => writeln!(lines, "=> {error:?}").expect("strings take all"),
        }
    }
    let part = |name: &str, text: &str| match text {
        "" => String::new(),
        text => format!("{name}: {text}\n"),
    };
    part("thought", &thought) + &part("shown", &shown) + &lines
}

fn line(item: &Item) -> String {
    let raw = |raw: &Option<Raw>| if raw.is_some() { " +raw" } else { "" };
    match item {
        Item::User(message) => format!("user: {}", message.text),
        Item::Agent(message) => {
            let state = match message.state {
                MessageState::Whole => String::new(),
                state => format!(" {state:?}"),
            };
            format!("agent{state}{}: {}", raw(&message.raw), message.text)
        }
        Item::Reasoning(reasoning) => format!("reasoning{}: {}", raw(&reasoning.raw), reasoning.text),
        Item::Call(call) => format!("call{}: {} {} {}", raw(&call.raw), call.id, call.name, call.arguments),
        Item::Output(output) => format!("output: {} {}", output.call_id, output.text),
        Item::Opaque(raw) => format!("opaque: {}", raw.json),
    }
}
