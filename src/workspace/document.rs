//! One open buffer: its text, its version, and how incremental changes reach it.

use std::{
    collections::VecDeque,
    ops,
    sync::{Arc, OnceLock},
};

use super::{
    position::{Encoding, LineStarts, Range},
    review::{Pair, differences, with_all_places},
    shared_ends::shared_ends,
};

/// Splices that a buffer remembers: more than are typed between two looks of who follows them. Who comes later compares
/// the texts.
const MAX_REMEMBERED_SPLICES: usize = 4_096;

/// Splices that one change of the editor counts as. More places change when a text is replaced by another, and then
/// nothing of it stays in its place.
const MAX_SPLICES_OF_ONE_CHANGE: usize = 256;

/// A snapshot of one open buffer; cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// As the editor spelt it; edits go back under this spelling.
    pub uri: Arc<str>,
    pub language: Arc<str>,
    pub version: i32,
    pub text: Arc<str>,
}

/// One change as the editor sent it: `range: None` replaces the whole text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub range: Option<Range>,
    pub text: String,
}

/// What a change did to the text, in bytes: at this place so many were removed, and so many inserted in their stead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Splice {
    pub at: usize,
    pub removed: usize,
    pub inserted: usize,
}

/// The buffer behind the snapshots. Changes work on one growing text and its line starts; a snapshot is made when
/// somebody asks for it and kept until the next change, so that typing costs no copy of the document.
#[derive(Debug)]
pub struct Buffer {
    uri: Arc<str>,
    language: Arc<str>,
    version: i32,
    text: String,
    lines: LineStarts,
    snapshot: OnceLock<Arc<str>>,
    /// The last splices, in order.
    splices: VecDeque<Splice>,
    /// How many splices there have been in all.
    spliced: u64,
}

impl Buffer {
    pub fn new(uri: &str, language: &str, version: i32, text: String) -> Self {
        Self {
            uri: uri.into(),
            language: language.into(),
            version,
            lines: LineStarts::new(&text),
            text,
            snapshot: OnceLock::new(),
            splices: VecDeque::new(),
            spliced: 0,
        }
    }

    /// Applies changes in their order, each to the text that the one before left.
    ///
    /// Positions are clamped to their line and to the text; a range whose end stands before its start is taken the
    /// other way round, as some editors send it.
    pub fn change(&mut self, version: i32, changes: &[Change], encoding: Encoding) {
        for change in changes {
            self.change_one(change, encoding);
        }
        self.version = version;
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn document(&self) -> Document {
        Document {
            uri: Arc::clone(&self.uri),
            language: Arc::clone(&self.language),
            version: self.version,
            text: Arc::clone(self.snapshot.get_or_init(|| self.text.as_str().into())),
        }
    }

    /// How many splices the buffer has seen: a moment that [`Buffer::splices_since`] takes.
    pub(super) fn spliced(&self) -> u64 {
        self.spliced
    }

    /// What has happened since a moment, in order; `None` when that is too long ago.
    pub(super) fn splices_since(&self, spliced: u64) -> Option<Vec<Splice>> {
        let new = usize::try_from(self.spliced.checked_sub(spliced)?).ok()?;
        let known = self.splices.len().checked_sub(new)?;
        Some(self.splices.range(known..).copied().collect())
    }

    fn change_one(&mut self, change: &Change, encoding: Encoding) {
        let replaced = match change.range {
            Some(range) => {
                let one = self.lines.offset(&self.text, range.start, encoding);
                let other = self.lines.offset(&self.text, range.end, encoding);
                one.min(other)..one.max(other)
            }
            None => 0..self.text.len(),
        };
        self.replace(replaced, &change.text);
    }

    /// Only what differs is touched: some editors send a whole text, or a whole line, for one character. What they send so
    /// may be several changes: lines between those are not touched either.
    fn replace(&mut self, replaced: ops::Range<usize>, text: &str) {
        let old = self.text.get(replaced.clone()).unwrap_or_default();
        let splices = splices(old, text);
        if splices.is_empty() {
            return;
        }
        let start = replaced.start;
        let (head, tail) = shared_ends(old, text);
        let replaced = start + head..replaced.end - tail;
        let text = text.get(head..text.len() - tail).unwrap_or_default();
        self.snapshot = OnceLock::new();
        self.text.replace_range(replaced.clone(), text);
        self.lines.update(&self.text, replaced, text.len());
        for splice in splices {
            if self.splices.len() == MAX_REMEMBERED_SPLICES {
                self.splices.pop_front();
            }
            self.splices.push_back(Splice { at: start + splice.at, ..splice });
            self.spliced += 1;
        }
    }
}

/// What makes one text the other, each after those before it: nothing, one change, or one for each stretch of lines that
/// differ where there are several.
fn splices(old: &str, new: &str) -> Vec<Splice> {
    let (head, tail) = shared_ends(old, new);
    let (removed, inserted) = (head..old.len() - tail, head..new.len() - tail);
    if removed.is_empty() && inserted.is_empty() {
        return Vec::new();
    }
    // What shares nothing has no other place: each key pressed is such a change.
    if head == 0 && tail == 0 && (old.is_empty() || new.is_empty()) {
        return vec![Splice { at: 0, removed: old.len(), inserted: new.len() }];
    }
    let has_line_end = |text: Option<&str>| text.is_some_and(|text| text.contains(['\r', '\n']));
    let may_be_several = has_line_end(Some(old))
        && has_line_end(Some(new))
        && (has_line_end(old.get(removed.clone())) || has_line_end(new.get(inserted.clone())));
    let mut found = if may_be_several { differences(old, new) } else { Vec::new() };
    if !(2..=MAX_SPLICES_OF_ONE_CHANGE).contains(&found.len()) {
        found = with_all_places(old, new, vec![(removed, inserted)]);
    }
    let splice = |(old, new): Pair| Splice { at: new.start, removed: old.len(), inserted: new.len() };
    found.into_iter().map(splice).collect()
}

/// Whether a text has nothing but the end of one line. Some editors tell so of an empty file, since they have no text
/// without a line.
pub(crate) fn is_empty_line(text: &str) -> bool {
    matches!(text, "\n" | "\r\n" | "\r")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::position::Position, *};

    fn change(start: (u32, u32), end: (u32, u32), text: &str) -> Change {
        let range = Range {
            start: Position { line: start.0, character: start.1 },
            end: Position { line: end.0, character: end.1 },
        };
        Change { range: Some(range), text: text.to_owned() }
    }

    fn check(before: &str, changes: &[Change], after: &str) {
        let mut buffer = Buffer::new("file:///a", "text", 1, before.to_owned());
        buffer.change(2, changes, Encoding::Utf16);
        assert_eq!(buffer.text(), after);
        assert_eq!(buffer.lines, LineStarts::new(after));
    }

    #[test]
    fn each_change_applies_to_what_the_one_before_left() {
        check(
            "one\ntwo\n",
            &[change((0, 0), (0, 0), "zero\n"), change((1, 3), (2, 0), ", ")],
            "zero\none, two\n",
        );
    }

    #[test]
    fn a_change_without_a_range_replaces_everything() {
        check("one\n", &[Change { range: None, text: "new\r\n".to_owned() }], "new\r\n");
    }

    #[test]
    fn a_range_beyond_the_text_means_its_end() {
        check("ab\ncd", &[change((0, 99), (0, 99), "!"), change((99, 0), (99, 9), "\nend")], "ab!\ncd\nend");
    }

    #[test]
    fn a_range_the_wrong_way_round_is_taken_the_other_way() {
        check("abcd", &[change((0, 3), (0, 1), "-")], "a-d");
    }

    #[test]
    fn a_half_of_a_character_outside_the_first_plane_is_never_cut() {
        check("a😀b", &[change((0, 2), (0, 3), "")], "ab");
        check("a😀b", &[change((0, 2), (0, 2), "-")], "a-😀b");
    }

    #[test]
    fn a_line_feed_typed_behind_a_carriage_return_joins_it() {
        check("a\rb", &[change((1, 0), (1, 0), "\n")], "a\r\nb");
        check("a\r\nb", &[change((0, 0), (0, 1), "")], "\r\nb");
    }

    #[test]
    fn splices_say_what_differs_and_are_forgotten_when_they_are_old() {
        let mut buffer = Buffer::new("file:///a", "text", 1, "one\ntwo\n".to_owned());
        let whole = Change { range: None, text: "one\nto\n".to_owned() };
        buffer.change(2, &[whole.clone(), whole, change((0, 0), (0, 2), "O")], Encoding::Utf16);
        let expected = [Splice { at: 5, removed: 1, inserted: 0 }, Splice { at: 0, removed: 2, inserted: 1 }];
        assert_eq!(buffer.splices_since(0).as_deref(), Some(&expected[..]));
        assert_eq!(buffer.splices_since(1).as_deref(), Some(&expected[1..]));
        assert_eq!((buffer.splices_since(2), buffer.splices_since(3)), (Some(Vec::new()), None));
        for _ in 0..MAX_REMEMBERED_SPLICES {
            buffer.change(3, &[change((0, 0), (0, 0), "x")], Encoding::Utf16);
        }
        assert_eq!(buffer.splices_since(1), None);
        assert_eq!(buffer.splices_since(2).map(|splices| splices.len()), Some(MAX_REMEMBERED_SPLICES));
    }

    #[test]
    fn a_snapshot_stays_what_it_was() {
        let mut buffer = Buffer::new("file:///a", "text", 1, "old".to_owned());
        let before = buffer.document();
        buffer.change(2, &[change((0, 0), (0, 3), "new")], Encoding::Utf8);
        let after = buffer.document();
        assert_eq!((before.version, &*before.text, after.version, &*after.text), (1, "old", 2, "new"));
    }

    /// The same by splitting the text into lines anew for every change.
    fn naive(text: &str, change: &Change, encoding: Encoding) -> String {
        let Some(range) = change.range else { return change.text.clone() };
        let offset = |position: Position| {
            let mut lines = vec![(0, String::new())];
            let mut characters = text.char_indices().peekable();
            while let Some((at, character)) = characters.next() {
                let next = at + character.len_utf8();
                match character {
                    '\r' if characters.peek().is_some_and(|&(_, next)| next == '\n') => {}
                    '\n' | '\r' => lines.push((next, String::new())),
                    other => lines.last_mut().unwrap().1.push(other),
                }
            }
            let Some((start, line)) = lines.get(position.line as usize) else { return text.len() };
            let mut units = 0;
            let fitting = line.chars().take_while(|character| {
                units += match encoding {
                    Encoding::Utf8 => character.len_utf8(),
                    Encoding::Utf16 => character.len_utf16(),
                    Encoding::Utf32 => 1,
                };
                units <= position.character as usize
            });
            start + fitting.map(char::len_utf8).sum::<usize>()
        };
        let (start, end) = (offset(range.start), offset(range.end));
        let (start, end) = (start.min(end), start.max(end));
        format!("{}{}{}", &text[..start], change.text, &text[end..])
    }

    fn any_change() -> impl Strategy<Value = Change> {
        let position = || (0u32..5, 0u32..6);
        (position(), position(), "[ab\r\né😀]{0,5}", 0..20).prop_map(|(start, end, text, kind)| match kind {
            0 => Change { range: None, text },
            _ => change(start, end, &text),
        })
    }

    proptest! {
        #[test]
        fn changes_do_what_the_naive_model_does(
            text in "[ab\r\né😀]{0,20}",
            changes in prop::collection::vec(any_change(), 1..12),
            encoding in prop::sample::select(vec![Encoding::Utf8, Encoding::Utf16, Encoding::Utf32]),
        ) {
            let mut buffer = Buffer::new("file:///a", "text", 1, text.clone());
            buffer.change(2, &changes, encoding);
            // Bytes that no splice touched are those that they were.
            let mut followed: Vec<Option<u8>> = text.bytes().map(Some).collect();
            for splice in buffer.splices_since(0).unwrap() {
                followed.splice(splice.at..splice.at + splice.removed, vec![None; splice.inserted]);
            }
            let expected = changes.iter().fold(text, |text, change| naive(&text, change, encoding));
            prop_assert_eq!(followed.len(), expected.len());
            prop_assert!(followed.iter().zip(expected.bytes()).all(|(was, is)| was.is_none_or(|was| was == is)));
            prop_assert_eq!(buffer.text(), expected.as_str());
            prop_assert_eq!(&buffer.lines, &LineStarts::new(&expected));
        }
    }
}
