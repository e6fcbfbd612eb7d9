//! Bytes of a body become the data of events. Every byte is looked at once, however the body is cut, and the data of an
//! event that came in one piece is lent from that piece.

use std::{ops::Range, str};

use memchr::memchr2;
use tokio_util::bytes::Bytes;

use super::{Fault, MAX_EVENT_BYTES};

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// A field that older versions of llama.cpp write for what failed, in the place of data.
const ERROR_FIELD: &[u8] = b"error:";

/// The ends of the names of events that are errors, in whichever letters.
const ERROR_NAMES: [&[u8]; 2] = [b"error", b"exception"];

/// Cuts a body into events. Only their data matters, since every wire repeats the name of an event there, and whether
/// that name is one of an error: servers that fail may say no more in the form of their wire. A line that begins as an
/// object is an event of its own, as some gateways write their errors.
#[derive(Default)]
pub(super) struct Reader {
    piece: Bytes,
    /// How much of `piece` is read.
    read: usize,
    /// A line that began in an earlier piece, without its end.
    line: Vec<u8>,
    /// The data of the event that is being read, or was just told.
    place: Place,
    /// The data itself, where it does not lie in `piece`: its lines joined by line feeds.
    data: Vec<u8>,
    /// The event is called an error.
    is_error: bool,
    /// The event is whole and was told.
    told: bool,
    /// The last byte was a carriage return, and a line feed that follows belongs to it.
    after_return: bool,
    /// The first line was read: no mark of byte order can follow.
    begun: bool,
}

/// Where the data of an event is.
#[derive(Default)]
enum Place {
    /// The event has none so far.
    #[default]
    Nowhere,
    /// All of it is one line of the piece.
    Piece(Range<usize>),
    Own,
}

/// A line without its end.
enum Line {
    Piece(Range<usize>),
    /// In [`Reader::line`], together with its beginning from earlier pieces.
    Joined,
}

/// What a line was.
#[derive(PartialEq, Eq)]
enum Taken {
    /// Nothing: it ends an event.
    Blank,
    Field,
    /// An event of its own.
    Event,
}

impl Reader {
    /// Takes the next piece of the body, once [`Reader::advance`] asked for it.
    pub(super) fn feed(&mut self, piece: Bytes) {
        self.piece = piece;
        self.read = 0;
    }

    /// Goes on to the end of the next event that has data or is an error; `false` when the next piece is needed for that.
    ///
    /// # Errors
    /// [`Fault::TooLarge`] when an event has more than [`MAX_EVENT_BYTES`].
    pub(super) fn advance(&mut self) -> Result<bool, Fault> {
        if std::mem::take(&mut self.told) {
            self.place = Place::Nowhere;
            self.data.clear();
            self.is_error = false;
        }
        while let Some(line) = self.next_line()? {
            let has_begun = self.is_error || !matches!(self.place, Place::Nowhere);
            let taken = self.take(&line);
            if taken == Taken::Event || taken == Taken::Blank && has_begun {
                self.told = true;
                return Ok(true);
            }
        }
        self.own_data();
        Ok(false)
    }

    /// Whether the event that [`Reader::advance`] came to is called an error.
    pub(super) fn is_error(&self) -> bool {
        self.is_error
    }

    /// Its data.
    pub(super) fn bytes(&self) -> &[u8] {
        match &self.place {
            Place::Nowhere => &[],
            Place::Piece(range) => self.piece.get(range.clone()).unwrap_or_default(),
            Place::Own => &self.data,
        }
    }

    /// The same as text: only whole lines are taken for UTF-8.
    ///
    /// # Errors
    /// [`Fault::NotUtf8`].
    pub(super) fn text(&self) -> Result<&str, Fault> {
        str::from_utf8(self.bytes()).map_err(|_| Fault::NotUtf8)
    }

    /// `None` at the end of the piece, of which nothing is lost.
    fn next_line(&mut self) -> Result<Option<Line>, Fault> {
        if self.after_return
            && let Some(next) = self.piece.get(self.read)
        {
            self.after_return = false;
            self.read += usize::from(*next == b'\n');
        }
        let rest = self.piece.get(self.read..).unwrap_or_default();
        let end = memchr2(b'\n', b'\r', rest);
        let (text, after) = rest.split_at_checked(end.unwrap_or(rest.len())).unwrap_or_default();
        if self.line.len() + self.bytes().len() + text.len() > MAX_EVENT_BYTES {
            return Err(Fault::TooLarge);
        }
        let start = self.read;
        let Some(line_end) = after.first() else {
            self.line.extend_from_slice(text);
            self.read = self.piece.len();
            return Ok(None);
        };
        self.after_return = *line_end == b'\r';
        self.read = start + text.len() + 1;
        if self.line.is_empty() {
            return Ok(Some(Line::Piece(start..start + text.len())));
        }
        self.line.extend_from_slice(text);
        Ok(Some(Line::Joined))
    }

    fn take(&mut self, line: &Line) -> Taken {
        let text = match line {
            Line::Piece(range) => self.piece.get(range.clone()).unwrap_or_default(),
            Line::Joined => &self.line,
        };
        let text = if self.begun { text } else { text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text) };
        let taken = match (text.first(), &self.place) {
            (None, _) => Taken::Blank,
            (Some(b'{'), Place::Nowhere) => Taken::Event,
            _ => Taken::Field,
        };
        self.is_error |= is_of_error(text);
        match (data_of(text), &self.place, line) {
            (None, _, _) => {}
            (Some(value), Place::Nowhere, Line::Piece(range)) => {
                self.place = Place::Piece(range.end - value.len()..range.end);
            }
            (Some(value), place, _) => {
                if let Place::Piece(range) = place {
                    self.data.extend_from_slice(self.piece.get(range.clone()).unwrap_or_default());
                }
                if !matches!(place, Place::Nowhere) {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
                self.place = Place::Own;
            }
        }
        self.begun = true;
        if matches!(line, Line::Joined) {
            self.line.clear();
        }
        taken
    }

    /// Copies the data out of the piece, which goes away.
    fn own_data(&mut self) {
        if let Place::Piece(range) = &self.place {
            self.data.extend_from_slice(self.piece.get(range.clone()).unwrap_or_default());
            self.place = Place::Own;
        }
    }
}

/// The value of a line of data, or of an error; `None` for comments and other fields.
fn data_of(line: &[u8]) -> Option<&[u8]> {
    // A line without a colon is a field without a value.
    if line == b"data" {
        return Some(&[]);
    }
    if line.starts_with(b"{") {
        return Some(line);
    }
    let value_of = |line, field: &[u8]| <[u8]>::strip_prefix(line, field).map(without_blank);
    let mut value = value_of(line, b"data:").or_else(|| value_of(line, ERROR_FIELD))?;
    // No line of JSON begins so, and some relays pass on whole lines as data.
    while let Some(inner) = value_of(value, b"data:") {
        value = inner;
    }
    Some(value)
}

/// One blank after the colon is no part of the value.
fn without_blank(value: &[u8]) -> &[u8] {
    value.strip_prefix(b" ").unwrap_or(value)
}

fn is_of_error(line: &[u8]) -> bool {
    let name = line.strip_prefix(b"event:").map(<[u8]>::trim_ascii_end);
    let ends_with = |name: &[u8], end: &[u8]| {
        name.len()
            .checked_sub(end.len())
            .is_some_and(|at| name.get(at..).is_some_and(|rest| rest.eq_ignore_ascii_case(end)))
    };
    let is_called_so = |name| ERROR_NAMES.iter().any(|end| ends_with(name, end));
    line.starts_with(ERROR_FIELD) || name.is_some_and(is_called_so)
}

/// Whether data is a comment; what stands behind a colon in an event of which the beginning is lost is none.
pub(super) fn is_comment(data: &[u8]) -> bool {
    let comment = data.strip_prefix(b":");
    comment.is_some_and(|comment| !matches!(comment.first(), Some(b'{' | b'[' | b'"')))
}
