//! What the fuzz targets share: what has to hold is said once, for the property tests and for them.

#[path = "../../tests/model/judge.rs"]
mod judge;

use askls::protocol::Wire;
use judge::Judge;

thread_local! {
    static JUDGE: Judge = Judge::new();
}

/// Bytes as a reply: a stream, at once and in pieces, and a whole body.
pub fn reply(wire: Wire, body: &[u8]) {
    JUDGE.with(|judge| {
        judge.stream(wire, body, &cuts(body));
        if let Ok(text) = std::str::from_utf8(body) {
            judge.whole(wire, text);
        }
    });
}

/// Bytes as server-sent events, compared with the plainest reader of them.
pub fn events(body: &[u8]) {
    JUDGE.with(|judge| judge.events(body, &cuts(body)));
}

/// Places to cut a body at, different from body to body and the same each time.
fn cuts(body: &[u8]) -> Vec<usize> {
    let sum = body.iter().fold(body.len(), |sum, byte| sum.wrapping_mul(31).wrapping_add(usize::from(*byte)));
    (0..body.len()).step_by(sum % 67 + 1).collect()
}
