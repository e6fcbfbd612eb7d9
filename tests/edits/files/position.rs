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
        starts.extend((1..=text.len()).filter(|&at| starts_line(text.as_bytes(), at)));
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
        let line = self.starts.partition_point(|&start| start <= offset.min(text.len())).saturating_sub(1);
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
fn starts_line(bytes: &[u8], at: usize) -> bool {
