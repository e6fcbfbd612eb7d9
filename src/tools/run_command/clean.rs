//! Makes a text for a model of the bytes that programs write for terminals.

/// Bytes of a line that are held back for a carriage return that may take them back. Progress bars are shorter.
const HELD_LINE_BYTES: usize = 8 * 1024;

/// Turns bytes into text as they arrive: not UTF-8 becomes `�`, colours and cursor moves go, and a line that is written
/// over (a progress bar) is kept as it stood last.
#[derive(Debug, Default)]
pub(super) struct Cleaner {
    /// What is clean and was not taken yet.
    clean: String,
    /// The beginning of a character whose end has not arrived.
    partial: Vec<u8>,
    escape: Escape,
    /// The current line, as far as it is held back.
    line: String,
    /// A carriage return came; what follows it decides whether it was half of a line end.
    returned: bool,
}

/// Where in an escape sequence the last character stood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Escape {
    #[default]
    None,
    /// After ESC.
    Start,
    /// `ESC [ …` up to a final letter: colours, cursor moves.
    Control,
    /// `ESC ] …` up to BEL or `ESC \`: titles, links. Also the other sequences that hold a string.
    Text,
    /// ESC inside of `Text`.
    TextEnd,
    /// `ESC (` and the like: one more character.
    Last,
}

impl Cleaner {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let joined;
        let bytes = if self.partial.is_empty() {
            bytes
        } else {
            joined = [self.partial.as_slice(), bytes].concat();
            self.partial.clear();
            &joined
        };
        let mut at = 0;
        for chunk in bytes.utf8_chunks() {
            self.push_text(chunk.valid());
            at += chunk.valid().len() + chunk.invalid().len();
            if chunk.invalid().is_empty() {
                continue;
            }
            let is_cut = at == bytes.len()
                && std::str::from_utf8(chunk.invalid()).is_err_and(|error| error.error_len().is_none());
            if is_cut {
                self.partial = chunk.invalid().to_vec();
            } else {
                self.push_char(char::REPLACEMENT_CHARACTER);
            }
        }
    }

    /// What has become clean since this was last asked: whole lines, and the beginnings of very long ones.
    pub(super) fn take(&mut self) -> String {
        std::mem::take(&mut self.clean)
    }

    /// The line that is held back, as it stands now.
    pub(super) fn line(&self) -> &str {
        &self.line
    }

    /// Holds nothing back any more: no byte comes after this.
    pub(super) fn end(&mut self) {
        if !std::mem::take(&mut self.partial).is_empty() {
            self.push_char(char::REPLACEMENT_CHARACTER);
        }
        self.release();
    }

    fn push_text(&mut self, text: &str) {
        for character in text.chars() {
            self.push_char(character);
        }
    }

    fn push_char(&mut self, character: char) {
        let is_part;
        (self.escape, is_part) = self.escape.next(character);
        if is_part {
            return;
        }
        match character {
            '\n' => {
                self.returned = false;
                self.line.push('\n');
                self.release();
            }
            '\r' => self.returned = true,
            '\u{8}' => {
                self.line.pop();
            }
            '\t' => self.print('\t'),
            _ if character.is_control() => {}
            _ => self.print(character),
        }
    }

    fn print(&mut self, character: char) {
        if self.returned {
            self.returned = false;
            self.line.clear();
        }
        self.line.push(character);
        if self.line.len() > HELD_LINE_BYTES {
            self.release();
        }
    }

    fn release(&mut self) {
        self.clean.push_str(&self.line);
        self.line.clear();
    }
}

impl Escape {
    /// The state after `character`, and whether it is part of a sequence. A control character ends a sequence that a
    /// program broke off, so that the text after it is not eaten.
    fn next(self, character: char) -> (Self, bool) {
        match (self, character) {
            (Self::Text | Self::TextEnd, '\u{1b}') => (Self::TextEnd, true),
            (_, '\u{1b}') => (Self::Start, true),
            (Self::None, _) => (Self::None, false),
            (Self::Start, '[') => (Self::Control, true),
            (Self::Start, ']' | 'P' | 'X' | '^' | '_') => (Self::Text, true),
            (Self::Start, ' '..='/') => (Self::Last, true),
            (Self::Control, ' '..='?') => (Self::Control, true),
            (Self::Text, '\u{7}') => (Self::None, true),
            (Self::Text, '\n') => (Self::None, false),
            (Self::Text, _) => (Self::Text, true),
            (Self::Start | Self::Control | Self::TextEnd | Self::Last, _) => {
                (Self::None, !character.is_control())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn finish(mut cleaner: Cleaner) -> String {
        cleaner.end();
        cleaner.take()
    }

    /// However the bytes are split, the text is the same.
    fn check(bytes: &[u8], expected: Expect) {
        let mut whole = Cleaner::default();
        whole.push(bytes);
        let whole = finish(whole);
        for at in 0..bytes.len() {
            let (first, second) = bytes.split_at(at);
            let mut pieces = Cleaner::default();
            pieces.push(first);
            pieces.push(second);
            assert_eq!(finish(pieces), whole, "split at {at}");
        }
        let mut single = Cleaner::default();
        for byte in bytes {
            single.push(std::slice::from_ref(byte));
        }
        assert_eq!(finish(single), whole, "byte by byte");
        expected.assert_eq(&whole);
    }

    #[test]
    fn bytes_that_are_no_utf_8_become_replacement_characters() {
        check(
            b"ok \xff\xfe \xe9 end\n\xe6\xbc",
            expect![[r#"
            ok �� � end
            �"#]],
        );
    }

    #[test]
    fn multi_byte_characters_survive_every_split() {
        check("ä漢🦀 end".as_bytes(), expect!["ä漢🦀 end"]);
    }

    #[test]
    fn colours_titles_and_control_characters_go() {
        check(
            b"\x1b[1;31mred\x1b[0m \x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ \x1b(Bb\x00\x07\x1b7c",
            expect!["red alink bc"],
        );
    }

    #[test]
    fn a_broken_escape_does_not_eat_the_next_line() {
        check(
            b"a\x1b[31\nb\x1b]0;title\nc",
            expect![[r#"
            a
            b
            c"#]],
        );
    }

    #[test]
    fn a_progress_bar_is_kept_as_it_stood_last() {
        check(
            b"10 %\r50 %\r100 %\r\ndone\r\n",
            expect![[r#"
            100 %
            done
        "#]],
        );
    }

    #[test]
    fn overstruck_letters_are_read_once() {
        check(b"N\x08NA\x08AME", expect!["NAME"]);
    }

    #[test]
    fn a_line_without_end_does_not_fill_the_memory() {
        let mut cleaner = Cleaner::default();
        for _ in 0..1_000 {
            cleaner.push(&[b'x'; 4_096]);
            assert!(cleaner.line.len() <= HELD_LINE_BYTES);
            assert!(cleaner.take().len() <= HELD_LINE_BYTES + 4_096);
        }
    }
}
