//! How deep in JSON a text is that comes character by character.

#[derive(Default)]
pub(super) struct JsonDepth {
    depth: usize,
    has_opened: bool,
    in_string: bool,
    after_backslash: bool,
}

impl JsonDepth {
    /// Whether the JSON is whole with this character.
    pub(super) fn take(&mut self, character: char) -> bool {
        match character {
            _ if self.after_backslash => self.after_backslash = false,
            '\\' if self.in_string => self.after_backslash = true,
            '"' => self.in_string = !self.in_string,
            '{' | '[' if !self.in_string => {
                self.depth += 1;
                self.has_opened = true;
            }
            '}' | ']' if !self.in_string => {
                self.depth = self.depth.saturating_sub(1);
                return self.depth == 0;
            }
            _ => {}
        }
        false
    }

    /// Whether what was opened is closed, and something was.
    pub(super) fn is_closed(&self) -> bool {
        self.has_opened && self.depth == 0 && !self.in_string
    }
}
