//! Positions as editors count them, in UTF-8, UTF-16 or UTF-32 units, and byte offsets as we do.

use std::ops;

/// In which units an editor counts the characters of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    Utf8,
    /// What every client understands.
    #[default]
    Utf16,
    Utf32,
}

impl Encoding {
    /// Units that a character takes.
    pub(crate) fn width(self, character: char) -> usize {
        match self {
            Self::Utf8 => character.len_utf8(),
            Self::Utf16 => character.len_utf16(),
            Self::Utf32 => 1,
        }
    }
}

/// Zero-based line and column; a column beyond the line's end means its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    pub line: u32,
    pub character: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Range {
    pub start: Position,
    pub end: Position,
}

/// The byte offset of a position, clamped to the line and the text, always on a character boundary.
///
/// Takes time in proportion to the text; for many positions of one text make its [`LineStarts`] once.
pub fn offset(text: &str, position: Position, encoding: Encoding) -> usize {
    LineStarts::new(text).offset(text, position, encoding)
}

/// The position of a byte offset, clamped to the text.
///
/// An offset inside a character means the character's start, one inside `\r\n` the line's end.
pub fn position(text: &str, offset: usize, encoding: Encoding) -> Position {
    LineStarts::new(text).position(text, offset, encoding)
}

/// Where the lines of a text start. Lines end as the protocol says: with `\n`, `\r\n` or `\r`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineStarts {
    /// Byte offsets, ascending; the first is 0.
    starts: Vec<usize>,
}

impl LineStarts {
    pub fn new(text: &str) -> Self {
        let mut starts = vec![0];
        let bytes = text.as_bytes();
        // Most texts have but one kind of line end, which is found faster alone.
        if memchr::memchr(b'\r', bytes).is_none() {
            starts.extend(memchr::memchr_iter(b'\n', bytes).map(|end| end + 1));
            return Self { starts };
        }
        let ends = memchr::memchr2_iter(b'\n', b'\r', bytes);
        starts.extend(ends.map(|end| end + 1).filter(|&at| starts_line(bytes, at)));
        Self { starts }
    }

    /// How many lines there are; a text that ends with a line end has an empty last line.
    pub fn count(&self) -> usize {
        self.starts.len()
    }

    /// The byte offset at which a line starts; the end of the text for a line behind the last.
    pub fn start(&self, text: &str, line: usize) -> usize {
        self.starts.get(line).copied().unwrap_or(text.len())
    }

    /// The line in which a byte offset stands.
    pub(crate) fn line_of(&self, offset: usize) -> usize {
        self.starts.partition_point(|&start| start <= offset).saturating_sub(1)
    }

    /// The lines that a range of bytes touches; none where it is empty.
    pub(crate) fn lines_of(&self, range: &ops::Range<usize>) -> ops::Range<usize> {
        let start = self.line_of(range.start);
        match range.is_empty() {
            true => start..start,
            false => start..self.line_of(range.end - 1) + 1,
        }
    }

    /// The lines with their line ends. An empty last line is none.
    pub fn lines<'a>(&'a self, text: &'a str) -> impl Iterator<Item = &'a str> {
        let ends = self.starts.iter().skip(1).copied().chain([text.len()]);
        self.starts
            .iter()
            .zip(ends)
            .map(|(&start, end)| text.get(start..end).unwrap_or_default())
            .filter(|line| !line.is_empty())
    }

    /// Brings the starts up to date after `replaced` of the text before became `inserted` bytes of `text`.
    ///
    /// Whether a line starts at an offset depends on the two bytes around it, so only the offsets that touch a
    /// changed byte are looked at again; those behind move.
    pub(crate) fn update(&mut self, text: &str, replaced: ops::Range<usize>, inserted: usize) {
        let from = replaced.start.max(1);
        let to = replaced.start + inserted;
        let first = self.starts.partition_point(|&start| start < from);
        let last = self.starts.partition_point(|&start| start <= replaced.end).max(first);
        let new: Vec<usize> = (from..=to).filter(|&at| starts_line(text.as_bytes(), at)).collect();
        let behind = first + new.len();
        self.starts.splice(first..last, new);
        if to == replaced.end {
            return;
        }
        for start in self.starts.iter_mut().skip(behind) {
            *start = *start - replaced.end + to;
        }
    }

    /// The byte range of a line without its line end; the empty end of the text for a line behind the last.
    pub fn line(&self, text: &str, line: usize) -> ops::Range<usize> {
        let Some(&start) = self.starts.get(line) else { return text.len()..text.len() };
        let end = self.starts.get(line + 1).copied().unwrap_or(text.len());
        let content = text.get(start..end).unwrap_or_default();
        let content = content.strip_suffix('\n').unwrap_or(content);
        let content = content.strip_suffix('\r').unwrap_or(content);
        start..start + content.len()
    }

    /// As the function of the same name; `text` is the one that the starts were made for.
    pub fn offset(&self, text: &str, position: Position, encoding: Encoding) -> usize {
        let line = self.line(text, position.line.try_into().unwrap_or(usize::MAX));
        let column = position.character.try_into().unwrap_or(usize::MAX);
        let content = text.get(line.clone()).unwrap_or_default();
        let mut seen = 0;
        for (at, character) in content.char_indices() {
            seen += encoding.width(character);
            if seen > column {
                return line.start + at;
            }
        }
        line.end
    }

    /// As the function of the same name; `text` is the one that the starts were made for.
    pub fn position(&self, text: &str, offset: usize, encoding: Encoding) -> Position {
        let line = self.line_of(offset.min(text.len()));
        let range = self.line(text, line);
        let end = (range.start..=offset.min(range.end))
            .rev()
            .find(|&at| text.is_char_boundary(at))
            .unwrap_or(range.start);
        let before = text.get(range.start..end).unwrap_or_default();
        let character: usize = before.chars().map(|character| encoding.width(character)).sum();
        Position {
            line: line.try_into().unwrap_or(u32::MAX),
            character: character.try_into().unwrap_or(u32::MAX),
        }
    }
}

/// Whether a line starts at this offset, which is not 0.
pub(super) fn starts_line(bytes: &[u8], at: usize) -> bool {
    match at.checked_sub(1).and_then(|before| bytes.get(before)) {
        Some(b'\n') => true,
        Some(b'\r') => bytes.get(at) != Some(&b'\n'),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    /// Shows where each column of each line is, in bytes, with the given units.
    fn check(text: &str, encoding: Encoding, expect: Expect) {
        let starts = LineStarts::new(text);
        let mut shown = String::new();
        for line in 0..=u32::try_from(starts.count()).unwrap() {
            let offsets: Vec<String> = (0..6)
                .map(|character| offset(text, Position { line, character }, encoding).to_string())
                .collect();
            shown.push_str(&format!("{line}: {}\n", offsets.join(" ")));
        }
        expect.assert_eq(&shown);
    }

    #[test]
    fn lines_end_with_lf_crlf_or_cr_and_a_column_beyond_the_end_means_the_end() {
        check(
            "ab\ncd\r\ne\rf",
            Encoding::Utf16,
            expect![[r#"
                0: 0 1 2 2 2 2
                1: 3 4 5 5 5 5
                2: 7 8 8 8 8 8
                3: 9 10 10 10 10 10
                4: 10 10 10 10 10 10
            "#]],
        );
    }

    #[test]
    fn a_position_is_never_inside_a_character() {
        let text = "a😀é";
        check(
            text,
            Encoding::Utf8,
            expect![[r#"
            0: 0 1 1 1 1 5
            1: 7 7 7 7 7 7
        "#]],
        );
        check(
            text,
            Encoding::Utf16,
            expect![[r#"
            0: 0 1 1 5 7 7
            1: 7 7 7 7 7 7
        "#]],
        );
        check(
            text,
            Encoding::Utf32,
            expect![[r#"
            0: 0 1 5 7 7 7
            1: 7 7 7 7 7 7
        "#]],
        );
    }

    #[test]
    fn an_offset_inside_a_character_or_a_line_end_means_what_stands_before_it() {
        let shown: Vec<String> = (0..=9)
            .map(|at| {
                let Position { line, character } = position("é\r\n😀", at, Encoding::Utf16);
                format!("{line}:{character}")
            })
            .collect();
        expect!["0:0 0:0 0:1 0:1 1:0 1:0 1:0 1:0 1:2 1:2"].assert_eq(&shown.join(" "));
    }

    proptest::proptest! {
        #[test]
        fn every_boundary_survives_the_way_to_a_position_and_back(text in "[a\r\né😀]{0,12}") {
            for encoding in [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32] {
                for (at, _) in text.char_indices() {
                    let inside_line_end = text[..at].ends_with('\r') && text[at..].starts_with('\n');
                    let expected = if inside_line_end { at - 1 } else { at };
                    proptest::prop_assert_eq!(offset(&text, position(&text, at, encoding), encoding), expected);
                }
            }
        }
    }
}
