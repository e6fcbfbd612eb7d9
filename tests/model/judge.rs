//! What holds for any bytes that a server may send, on each wire. The property tests and the fuzz targets (`fuzz/`) ask
//! for the same.

use std::str;

use askls::{
    model::{ModelError, ModelEvent, Request, ToolChoice, ToolSpec, http::Endpoint, replay, replay::Body},
    protocol::{Item, Wire},
};
use futures::StreamExt;
use serde::de::IgnoredAny;
use serde_json::json;
use tokio::runtime::{Builder, Runtime};
use tokio_util::bytes::Bytes;

/// How many bytes may be told for each byte that came: as deltas, as the item that they make, and as the server's own
/// JSON beside it; numbers may be written out.
const TOLD_FOR_EACH: usize = 16;

/// What may be told of nothing: an error's words, an id that was made up.
const TOLD_OF_NOTHING: usize = 4096;

pub(crate) struct Judge {
    runtime: Runtime,
}

/// The events of a reply, the last of which is its end.
pub(crate) type Told = Vec<Result<ModelEvent, ModelError>>;

impl Judge {
    pub(crate) fn new() -> Self {
        let runtime = Builder::new_current_thread().enable_time().build().expect("a runtime");
        Self { runtime }
    }

    /// A stream has exactly one end, is told the same however it is cut, and tells no more than came.
    pub(crate) fn stream(&self, wire: Wire, body: &[u8], cuts: &[usize]) -> Told {
        let whole = self.read(wire, Body::Events(vec![Bytes::copy_from_slice(body)]));
        check_end(&whole);
        check_size(&whole, body.len());
        let cut = self.read(wire, Body::Events(pieces(body, cuts)));
        assert_eq!(cut, whole, "cut at {cuts:?}, another reply is told");
        whole
    }

    /// A whole body has exactly one end, and tells no more than came.
    pub(crate) fn whole(&self, wire: Wire, body: &str) -> Told {
        let told = self.read(wire, Body::Whole(body.to_owned()));
        check_end(&told);
        check_size(&told, body.len());
        told
    }

    /// The data of the events is what the plainest reader makes of the body.
    pub(crate) fn events(&self, body: &[u8], cuts: &[usize]) {
        let told = self.runtime.block_on(replay::data(pieces(body, cuts)).collect::<Vec<_>>());
        assert_eq!(told, plain_events(body), "cut at {cuts:?}");
    }

    fn read(&self, wire: Wire, body: Body) -> Told {
        let tools = tools();
        let mut endpoint = Endpoint::new("http://server.test/v1", "some-model").expect("a good URL");
        endpoint.options.text_calls = true;
        let request = Request {
            instructions: "be brief",
            items: &[],
            tools: &tools,
            tool_choice: ToolChoice::Auto,
            answer_schema: None,
            cache_key: "thread-1",
        };
        match replay::reply(wire, endpoint, request, body) {
            Ok(events) => self.runtime.block_on(events.collect()),
            Err(error) => vec![Err(error)],
        }
    }
}

fn tools() -> [ToolSpec; 1] {
    let parameters =
        json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    [ToolSpec { name: "read_file".to_owned(), description: "reads a file".to_owned(), parameters }]
}

/// The body cut at these places, wherever they lie; an empty piece is one too.
fn pieces(body: &[u8], cuts: &[usize]) -> Vec<Bytes> {
    let mut cuts: Vec<_> = cuts.iter().map(|cut| cut % (body.len() + 1)).collect();
    cuts.sort_unstable();
    let ends = cuts.iter().copied().chain([body.len()]);
    let starts = [0].into_iter().chain(cuts.iter().copied());
    starts.zip(ends).map(|(start, end)| Bytes::copy_from_slice(&body[start..end])).collect()
}

fn check_end(told: &Told) {
    let is_end =
        |event: &Result<ModelEvent, ModelError>| matches!(event, Err(_) | Ok(ModelEvent::Done { .. }));
    assert_eq!(told.iter().filter(|event| is_end(event)).count(), 1, "one end: {told:?}");
    assert!(told.last().is_some_and(is_end), "nothing follows the end: {told:?}");
}

fn check_size(told: &Told, body: usize) {
    let item = |item: &Item| match item {
        Item::User(message) => message.text.len(),
        Item::Agent(message) => message.text.len() + message.raw.as_ref().map_or(0, |raw| raw.json.len()),
        Item::Reasoning(thought) => thought.text.len() + thought.raw.as_ref().map_or(0, |raw| raw.json.len()),
        Item::Call(call) => {
            call.id.len()
                + call.name.len()
                + call.arguments.len()
                + call.raw.as_ref().map_or(0, |raw| raw.json.len())
        }
        Item::Output(output) => output.text.len(),
        Item::Opaque(raw) => raw.json.len(),
    };
    let size = |event: &Result<ModelEvent, ModelError>| match event {
        Ok(ModelEvent::TextDelta(text) | ModelEvent::ReasoningDelta(text)) => text.len(),
        Ok(ModelEvent::Item(of)) => item(of),
        Ok(
            ModelEvent::Used(_) | ModelEvent::Unheard(_) | ModelEvent::Estimated | ModelEvent::Done { .. },
        ) => 0,
        Err(error) => error.message.len(),
    };
    let size: usize = told.iter().map(size).sum();
    assert!(size <= body * TOLD_FOR_EACH + TOLD_OF_NOTHING, "{size} bytes are told of {body}");
}

/// The data of a body's events by the rules of server-sent events, as plainly as they can be followed; the last line
/// says how it ended. Small bodies only: it knows no bounds.
fn plain_events(body: &[u8]) -> Vec<String> {
    let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
    let mut lines = vec![Vec::new()];
    let mut bytes = body.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\r' | b'\n' => {
                if byte == b'\r' && bytes.peek() == Some(&b'\n') {
                    bytes.next();
                }
                lines.push(Vec::new());
            }
            other => lines.last_mut().expect("one line at least").push(other),
        }
    }
    // Whole lines only count as ended; after the last of them, the body's end stands for what is missing.
    let ended = lines.len() - 1;
    lines.push(Vec::new());
    let mut told = Vec::new();
    let mut data: Option<Vec<u8>> = None;
    let mut is_error = false;
    for (number, line) in lines.into_iter().enumerate() {
        let value_of = |line: &[u8], field: &[u8]| {
            line.strip_prefix(field).map(|value| value.strip_prefix(b" ").unwrap_or(value).to_vec())
        };
        // Three things are no rule of them: a relay may pass on whole lines as data, an error may be a field, and a line
        // that begins as an object is an event.
        let mut value = value_of(&line, b"data:").or_else(|| value_of(&line, b"error:"));
        while let Some(inner) = value.as_deref().and_then(|value| value_of(value, b"data:")) {
            value = Some(inner);
        }
        if line == b"data" {
            value = Some(Vec::new());
        }
        let is_object = line.starts_with(b"{");
        if is_object {
            value = Some(line.clone());
        }
        let name = line.strip_prefix(b"event:").map(|name| name.trim_ascii_end().to_ascii_lowercase());
        is_error |= line.starts_with(b"error:")
            || name.is_some_and(|name| name.ends_with(b"error") || name.ends_with(b"exception"));
        let is_event = line.is_empty() || is_object && data.is_none();
        if let Some(value) = value {
            data = Some(match data.take() {
                None => value,
                Some(before) => [&before[..], b"\n", &value].concat(),
            });
        }
        if !is_event {
            continue;
        }
        let was_error = std::mem::take(&mut is_error);
        let Some(event) = data.take().or_else(|| was_error.then(Vec::new)) else { continue };
        let trimmed = event.trim_ascii();
        let is_comment = |rest: &[u8]| !matches!(rest.first(), Some(b'{' | b'[' | b'"'));
        if !was_error && (trimmed.is_empty() || trimmed.strip_prefix(b":").is_some_and(is_comment)) {
            continue;
        }
        if !was_error && trimmed.starts_with(b"[DONE]") {
            told.push("=> marker".to_owned());
            return told;
        }
        let text = str::from_utf8(&event);
        let is_whole = number < ended;
        let is_part = |text: &str| {
            let dense = text.split_whitespace().collect::<String>();
            let is_ping = match dense.split_once(r#""type":"ping""#) {
                Some((before, _)) => before.starts_with('{') && before.matches('{').count() == 1,
                None => false,
            };
            let may_be_part = text.contains(['{', '}']) || text.contains("\":");
            let plain = ["-Infinity", "Infinity", "NaN"]
                .iter()
                .fold(text.to_owned(), |text, number| text.replace(number, "null"));
            serde_json::from_str::<IgnoredAny>(text).is_err()
                && serde_json::from_str::<IgnoredAny>(&plain).is_err()
                && may_be_part
                && !is_ping
                && !text.trim_start().starts_with('<')
        };
        if !was_error && !is_whole && text.map_or(true, is_part) {
            break;
        }
        match text {
            Ok(text) => told.push(text.to_owned()),
            Err(_) => {
                told.push("=> fault: no UTF-8".to_owned());
                return told;
            }
        }
    }
    told.push("=> closed".to_owned());
    told
}
