//! Random files and random edits: no byte changes that was not asked for.

use rand::{Rng as _, SeedableRng as _, rngs::StdRng, seq::IndexedRandom as _};

use crate::workspace::{
    FileEdit, FilePath, FileText,
    matcher::{Occurrences, Replacement, replace, replace_each},
    position::{Encoding, LineStarts},
};

/// As many as the project promises.
const FILES: u64 = 10_000;

const WORDS: &[&str] = &[
    "let", "x", "=", "naïve", "漢字", "😀", "{", "}", "\"a\"", "“b”", "\\n", "—", "go();", "//", "…",
    "\u{a0}",
];
const LEADS: &[&str] = &["", "", "    ", "\t", "  ", "\t\t", "\t  "];
const ENDS: &[&str] = &["\n", "\r\n", "\n", "\r"];

/// A line that stands nowhere else, since it has a number of its own.
fn line(random: &mut StdRng, number: usize) -> String {
    let mut line = (*LEADS.choose(random).unwrap()).to_owned();
    let count = random.random_range(0..5);
    for _ in 0..count {
        line += WORDS.choose(random).unwrap();
        line += " ";
    }
    line += &format!("n{number}.");
    if random.random_ratio(1, 6) {
        line += "  ";
    }
    line
}

/// Lines and their ends; every fourth file has ends of one kind.
fn file(random: &mut StdRng) -> Vec<(String, &'static str)> {
    let count = random.random_range(1..30);
    let own = ENDS.choose(random).unwrap();
    let is_mixed = !random.random_ratio(1, 4);
    let mut lines: Vec<(String, &'static str)> = (0..count)
        .map(|number| {
            let blank = random.random_ratio(1, 8);
            let text = if blank { String::new() } else { line(random, number) };
            let end = if is_mixed { ENDS.choose(random).unwrap() } else { own };
            (text, *end)
        })
        .collect();
    for number in 1..lines.len() {
        if lines[number].0.is_empty() && lines[number - 1].1 == "\r" {
            // With the `\n` of a blank line it would be one line end.
            lines[number - 1].1 = "\n";
        }
    }
    if random.random_ratio(1, 3) {
        lines.last_mut().unwrap().1 = "";
    }
    if random.random_ratio(1, 10) {
        lines[0].0.insert(0, '\u{feff}');
    }
    lines
}

fn text(lines: &[(String, &'static str)]) -> String {
    lines.iter().flat_map(|(line, end)| [line.as_str(), *end]).collect()
}

/// What an editor has after the edits that it is sent.
fn sent(before: &str, after: &str, encoding: Encoding) -> String {
    let path = FilePath::file(std::path::Path::new("/root/file"), "file");
    let text = FileText { text: before.into(), version: None, bom: false };
    let lines = LineStarts::new(before);
    let mut out = before.to_owned();
    for edit in FileEdit::of(&path, Some(text), Some(after.to_owned())).text_edits(encoding).iter().rev() {
        let [start, end] =
            [edit.range.start, edit.range.end].map(|position| lines.offset(before, position, encoding));
        out.replace_range(start..end, &edit.new_text);
    }
    out
}

/// What a model may make of lines that it has seen.
fn distorted(random: &mut StdRng, lines: &[(String, &'static str)]) -> Vec<String> {
    let kind = random.random_range(0..6);
    let lines = lines.iter().map(|(line, _)| match kind {
        0 => line.clone(),
        1 => line.trim_end().to_owned(),
        2 => format!("{line} "),
        3 if line.is_empty() => String::new(),
        3 => format!("    {line}"),
        4 => line.replace(['“', '”'], "\"").replace('—', "-").replace('…', "..."),
        _ => line.replace('\t', "    "),
    });
    lines.collect()
}

#[test]
fn no_byte_outside_the_place_changes_in_ten_thousand_files() {
    let mut made = [0usize; 2];
    for seed in 0..FILES {
        let mut random = StdRng::seed_from_u64(seed);
        let lines = file(&mut random);
        let before = text(&lines);
        let first = random.random_range(0..lines.len());
        let last = (first + random.random_range(0..4)).min(lines.len() - 1);
        let wanted = distorted(&mut random, &lines[first..=last]);
        if lines[first].0.is_empty() || lines[last].0.is_empty() {
            // A text that begins or ends with a line end stands for that of another line as well.
            continue;
        }
        let mut new = wanted.clone();
        let at = random.random_range(0..=new.len());
        new.insert(at, "brand new".to_owned());
        let (find, replace_with) = (wanted.join("\n"), new.join("\n"));
        let Ok(replaced) = replace(&before, &find, &replace_with, Occurrences::One) else {
            made[0] += 1;
            continue;
        };
        made[1] += 1;
        let head = text(&lines[..first]);
        let tail = &text(&lines[last + 1..]);
        assert!(replaced.text.starts_with(&head), "seed {seed}: {before:?} {find:?} {:?}", replaced.text);
        assert!(replaced.text.ends_with(tail), "seed {seed}: {before:?} {find:?} {:?}", replaced.text);
        // Without the new line, all of the file is there as it was, line by line and byte by byte.
        // Blanks behind the last line belong to nobody when it was wanted without them: they come behind what is new.
        let is_loose = lines[last].0.trim_end() != lines[last].0 && at == wanted.len();
        let kept = |text: &str| -> Vec<String> {
            let lines =
                text.split(['\n', '\r']).map(|line| if is_loose { line.trim_end() } else { line }.to_owned());
            lines.filter(|line| !line.is_empty() && !line.contains("brand new")).collect()
        };
        assert_eq!(kept(&replaced.text), kept(&before), "seed {seed}: {find:?} {:?}", replaced.text);
        for encoding in [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32] {
            assert_eq!(sent(&before, &replaced.text, encoding), replaced.text, "seed {seed} in {encoding:?}");
        }
    }
    // The test would show nothing if most edits were refused.
    assert!(made[1] > made[0] * 3, "{made:?}");
}

#[test]
fn no_random_edits_of_one_file_panic_or_leave_their_places() {
    for seed in 0..FILES / 10 {
        let mut random = StdRng::seed_from_u64(seed);
        let lines = file(&mut random);
        let before = text(&lines);
        let edits: Vec<(String, String)> = (0..random.random_range(1..5))
            .map(|_| {
                let first = random.random_range(0..lines.len());
                let last = (first + random.random_range(0..3)).min(lines.len() - 1);
                (distorted(&mut random, &lines[first..=last]).join("\n"), line(&mut random, 100))
            })
            .collect();
        let edits: Vec<_> = edits
            .iter()
            .map(|(find, replace_with)| Replacement { find, replace_with, occurrences: Occurrences::One })
            .collect();
        let Ok(replaced) = replace_each(&before, &edits) else { continue };
        let mut outside = replaced.text.clone();
        for place in replaced.places.iter().rev() {
            outside.replace_range(place.clone(), "\u{0}");
        }
        let mut rest = before.as_str();
        for piece in outside.split('\u{0}') {
            let at = rest.find(piece).unwrap_or_else(|| panic!("seed {seed}: {piece:?} is not in {rest:?}"));
            rest = &rest[at + piece.len()..];
        }
    }
}
