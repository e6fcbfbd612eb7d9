//! What the scanner of calls knows of the text that stood before a call.

use super::FENCE;

#[derive(Default)]
pub(super) struct Before {
    /// The first characters of its last line, blanks left out.
    line: String,
    /// Its last line is inside a fence.
    is_fenced: bool,
    /// It is more than blanks.
    pub(super) has_words: bool,
}

impl Before {
    pub(super) fn take(&mut self, character: char) {
        let is_blank = character.is_whitespace();
        self.has_words |= !is_blank;
        if character == '\n' {
            self.line.clear();
        } else if self.line.len() < FENCE.len() && !(is_blank && self.line.is_empty()) {
            self.line.push(character);
            self.is_fenced ^= self.line == FENCE;
        }
    }

    /// Whether a call may begin with this character: a fence only where a line begins, and nothing inside a fence or a
    /// quote.
    pub(super) fn may_begin_call(&self, character: char) -> bool {
        !self.is_fenced
            && !self.line.starts_with('>')
            && match character {
                '`' => self.line.is_empty(),
                '<' | '[' => true,
                '{' => !self.has_words,
                _ => false,
            }
    }
}
