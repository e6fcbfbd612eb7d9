//! Replies cut at any place and damaged in any way: what [`Judge`] says holds for all of them.

use proptest::{prelude::*, sample::Index};

use super::{
    captures::{Capture, Reply},
    judge::Judge,
};
use askls::{
    model::{ErrorKind, ModelEvent},
    protocol::Wire,
};

const WIRES: [Wire; 3] = [Wire::Responses, Wire::Chat, Wire::Messages];

/// Streams that are cut at every single place: the longest take too long for that.
const SHORT_STREAM: usize = 1000;

/// Values that decoders stumble over, where a value of another kind was.
const EDGE_VALUES: [&str; 18] = [
    "null",
    "true",
    "-1",
    "1e999",
    "18446744073709551616",
    "0.1",
    "\"\"",
    "\"\\ud83d\"",
    "\"\\u0000\"",
    "{}",
    "[]",
    "[null]",
    "{\"type\":null}",
    "\"type\":1,",
    "\"index\":9007199254740993,",
    "data: [DONE]\n\n",
    "\r\n\r\n",
    "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
];

#[derive(Clone, Debug)]
enum Damage {
    Flip(Index, u8),
    Cut(Index, Index),
    Repeat(Index, Index),
    Insert(Index, usize),
    /// In the place of a whole JSON value.
    Replace(Index, usize),
}

impl Damage {
    fn strategy() -> impl Strategy<Value = Self> {
        let place = any::<Index>;
        let edge = || 0..EDGE_VALUES.len();
        prop_oneof![
            (place(), 0..8u8).prop_map(|(at, bit)| Self::Flip(at, bit)),
            (place(), place()).prop_map(|(from, to)| Self::Cut(from, to)),
            (place(), place()).prop_map(|(from, to)| Self::Repeat(from, to)),
            (place(), edge()).prop_map(|(at, edge)| Self::Insert(at, edge)),
            (place(), edge()).prop_map(|(at, edge)| Self::Replace(at, edge)),
        ]
    }

    fn apply(&self, body: &mut Vec<u8>) {
        if body.is_empty() {
            return;
        }
        let range = |from: &Index, to: &Index| {
            let (from, to) = (from.index(body.len()), to.index(body.len()));
            from.min(to)..from.max(to)
        };
        match self {
            Self::Flip(at, bit) => {
                let at = at.index(body.len());
                body[at] ^= 1 << bit;
            }
            Self::Cut(from, to) => {
                let range = range(from, to);
                body.drain(range);
            }
            Self::Repeat(from, to) => {
                let range = range(from, to);
                let part = body[range.clone()].to_vec();
                body.splice(range.start..range.start, part);
            }
            Self::Insert(at, edge) => {
                let at = at.index(body.len());
                body.splice(at..at, EDGE_VALUES[*edge].bytes());
            }
            Self::Replace(at, edge) => {
                let at = at.index(body.len());
                let Some(start) = body[at..].iter().position(|byte| *byte == b':') else { return };
                let start = at + start + 1;
                let end = body[start..].iter().position(|byte| matches!(byte, b',' | b'}' | b'\n'));
                let end = end.map_or(body.len(), |end| start + end);
                body.splice(start..end, EDGE_VALUES[*edge].bytes());
            }
        }
    }
}

/// The bodies of the recorded replies of a wire.
fn bodies(wire: Wire) -> Vec<String> {
    let replies = Capture::all(wire).into_iter().filter_map(|capture| capture.reply);
    replies.map(|Reply { body, .. }| body).collect()
}

// SPEC S1
#[test]
fn a_recorded_stream_is_the_same_reply_wherever_it_is_cut_once() {
    let judge = Judge::new();
    for wire in WIRES {
        for body in bodies(wire).iter().filter(|body| body.len() <= SHORT_STREAM) {
            for cut in 0..=body.len() {
                judge.stream(wire, body.as_bytes(), &[cut]);
            }
        }
    }
}

// SPEC S1
#[test]
fn a_recorded_stream_is_the_same_reply_in_pieces_of_any_one_size() {
    let judge = Judge::new();
    for wire in WIRES {
        for body in bodies(wire) {
            for size in [1, 2, 3, 7, 64] {
                let cuts: Vec<_> = (0..body.len()).step_by(size).collect();
                judge.stream(wire, body.as_bytes(), &cuts);
                judge.events(body.as_bytes(), &cuts);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    // SPEC S1, S2, S12
    #[test]
    fn a_damaged_stream_is_the_same_reply_however_it_is_cut_and_ends_once(
        which in any::<Index>(),
        damages in prop::collection::vec(Damage::strategy(), 0..4),
        cuts in prop::collection::vec(any::<usize>(), 0..12),
    ) {
        let judge = Judge::new();
        for wire in WIRES {
            let bodies = bodies_once(wire);
            let mut body = which.get(bodies).clone().into_bytes();
            damages.iter().for_each(|damage| damage.apply(&mut body));
            judge.stream(wire, &body, &cuts);
            judge.events(&body, &cuts);
            judge.whole(wire, &String::from_utf8_lossy(&body));
        }
    }

    // SPEC S12
    #[test]
    fn no_bytes_do_harm(body in prop::collection::vec(any::<u8>(), 0..200), cuts in prop::collection::vec(any::<usize>(), 0..6)) {
        let judge = Judge::new();
        judge.events(&body, &cuts);
        let events = [b"data: ", body.as_slice(), b"\n\ndata: {}\n\n"].concat();
        for wire in WIRES {
            judge.stream(wire, &body, &cuts);
            judge.stream(wire, &events, &cuts);
            judge.whole(wire, &String::from_utf8_lossy(&body));
        }
    }

    // SPEC S2
    #[test]
    fn lines_of_any_kind_are_read_by_the_rules_of_server_sent_events(
        lines in prop::collection::vec(
            prop_oneof![
                Just("data: {\"a\":1}"), Just("data:{}"), Just("data:  {}"), Just("data"), Just("data:"), Just("database: 1"),
                Just(": ping"), Just(":"), Just("event: x"), Just("event: Error"), Just("{\"b\":2}"), Just("id"), Just(""), Just(""), Just("\u{feff}"),
                Just("data: [DONE]"), Just("data: : ping"), Just("data: {\"ä\":\"😀\""), Just(" data: 1"),
            ],
            0..12,
        ),
        ends in prop::collection::vec(prop_oneof![Just("\n"), Just("\r"), Just("\r\n"), Just("")], 12),
        cuts in prop::collection::vec(any::<usize>(), 0..8),
    ) {
        let body: String = lines.iter().zip(&ends).flat_map(|(line, end)| [*line, *end]).collect();
        Judge::new().events(body.as_bytes(), &cuts);
    }
}

fn bodies_once(wire: Wire) -> &'static [String] {
    use std::sync::LazyLock;
    static CHAT: LazyLock<Vec<String>> = LazyLock::new(|| bodies(Wire::Chat));
    static RESPONSES: LazyLock<Vec<String>> = LazyLock::new(|| bodies(Wire::Responses));
    static MESSAGES: LazyLock<Vec<String>> = LazyLock::new(|| bodies(Wire::Messages));
    match wire {
        Wire::Chat => &CHAT,
        Wire::Responses => &RESPONSES,
        Wire::Messages => &MESSAGES,
    }
}

#[test]
fn a_stream_that_is_cut_short_is_no_whole_reply() {
    let judge = Judge::new();
    for wire in WIRES {
        for body in bodies(wire).iter().filter(|body| body.starts_with("event:") || body.starts_with("data:"))
        {
            let told = judge.stream(wire, &body.as_bytes()[..body.len() / 3], &[]);
            let Some(Err(error)) = told.last() else { panic!("{wire}: a third of {body:?} is {told:?}") };
            assert!(!told.iter().any(|event| matches!(event, Ok(ModelEvent::Item(_)))), "{told:?}");
            assert!(matches!(error.kind, ErrorKind::Interrupted | ErrorKind::Failed), "{error:?}");
        }
    }
}
