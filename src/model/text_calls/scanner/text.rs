//! What the scanner of calls knows of the text: what stood before a call, and how deep in its JSON it is.

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

/// How deep in JSON we are.
#[derive(Default)]
pub(super) struct Json {
    depth: usize,
    in_string: bool,
    after_backslash: bool,
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

impl Json {
    /// Whether the JSON is whole with this character.
    pub(super) fn take(&mut self, character: char) -> bool {
        match character {
            _ if self.after_backslash => self.after_backslash = false,
            '\\' if self.in_string => self.after_backslash = true,
            '"' => self.in_string = !self.in_string,
            '{' | '[' if !self.in_string => self.depth += 1,
            '}' | ']' if !self.in_string => {
                self.depth = self.depth.saturating_sub(1);
                return self.depth == 0;
            }
            _ => {}
        }
        false
    }
}
