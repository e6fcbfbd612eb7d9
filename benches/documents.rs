//! How long incremental changes of an open document take: 10,000 all over a document of 1 MB, aim under 1 s in total.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::time::Instant;

use askls::workspace::{
    Overlay,
    document::Change,
    position::{Encoding, Position, Range},
};

const DOCUMENT_BYTES: usize = 1_000_000;
const CHANGES: u32 = 10_000;

fn main() {
    for (name, every) in [("typing only", None), ("a snapshot every 100 changes", Some(100))] {
        for encoding in [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32] {
            let line = "let größe = compute(\"text\", 42); // a comment 😀\n";
            let text = line.repeat(DOCUMENT_BYTES / line.len());
            let lines = u32::try_from(DOCUMENT_BYTES / line.len()).unwrap_or(u32::MAX);
            let overlay = Overlay::default();
            overlay.open("untitled:bench", "rust", 0, text);

            let started = Instant::now();
            for number in 0..CHANGES {
                // A multiplier that shares no factor with the number of lines reaches all of them in no order.
                let at = number.wrapping_mul(7_919) % lines;
                let text = if number % 10 == 0 { "typed\n" } else { "x" };
                let change =
                    Change { range: Some(range(at, number % 30, number % 3)), text: text.to_owned() };
                let version = i32::try_from(number).unwrap_or(i32::MAX);
                if let Err(reason) = overlay.change("untitled:bench", version, &[change], encoding) {
                    println!("change {number}: {reason}");
                }
                if every.is_some_and(|every| number % every == 0) {
                    std::hint::black_box(overlay.by_uri("untitled:bench"));
                }
            }
            let took = started.elapsed();
            let each = took / CHANGES;
            println!(
                "{CHANGES} changes, {name}, {encoding:?}: {took:.1?} in total, {each:.1?} each (aim: 1 s in total)"
            );
        }
    }
}

fn range(line: u32, character: u32, length: u32) -> Range {
    Range { start: Position { line, character }, end: Position { line, character: character + length } }
}
