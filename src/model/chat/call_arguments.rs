//! The arguments of a call as they come in pieces, and whether they are whole by now.

use crate::model::{arguments, json_depth::JsonDepth};

/// What came of the arguments of one call.
#[derive(Default)]
pub(super) struct Arguments {
    text: String,
    depth: JsonDepth,
    /// The first object in them closed, and they cannot be read: nothing that comes behind it mends that.
    are_broken: bool,
    /// How often they were read as a whole.
    #[cfg(test)]
    reads: usize,
}

impl Arguments {
    pub(super) fn of(text: &str) -> Self {
        let mut arguments = Self::default();
        arguments.push_str(text);
        arguments
    }

    pub(super) fn push_str(&mut self, piece: &str) {
        self.text.push_str(piece);
        for character in piece.chars() {
            self.depth.take(character);
        }
    }

    /// Whether this is an object, so that another one belongs to another call. An empty object is none: it may be the
    /// beginning that some gateways send in front of the true one. All of the text is read here, so that it happens
    /// only where an object may just have closed, and once for each call: a server sends as many pieces as it likes.
    pub(super) fn are_whole(&mut self) -> bool {
        if self.are_broken || !self.depth.is_closed() || !self.text.ends_with('}') || self.text.trim() == "{}"
        {
            return false;
        }
        #[cfg(test)]
        {
            self.reads += 1;
        }
        self.are_broken = arguments::read(&self.text).is_err();
        !self.are_broken
    }

    /// In bytes.
    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After each piece whether the arguments are whole.
    fn check(pieces: &[&str], expected: &[bool]) {
        let mut arguments = Arguments::default();
        let told: Vec<_> = pieces
            .iter()
            .map(|piece| {
                arguments.push_str(piece);
                arguments.are_whole()
            })
            .collect();
        assert_eq!(told, expected, "{pieces:?}");
    }

    #[test]
    fn an_object_is_whole_where_it_closes() {
        check(&["{\"p\"", ":{\"q\":\"}\"", "}", "}"], &[false, false, false, true]);
        check(&["{}", "{\"p\":2}"], &[false, true]);
        check(&["  ", "null", "[]"], &[false, false, false]);
    }

    #[test]
    fn arguments_that_cannot_be_read_are_read_once_however_many_pieces_follow() {
        let mut arguments = Arguments::default();
        for _ in 0..10_000 {
            arguments.push_str("{x}");
            assert!(!arguments.are_whole());
        }
        assert_eq!(arguments.reads, 1);
    }

    #[test]
    fn pieces_inside_of_an_object_are_not_read() {
        let mut arguments = Arguments::of("{\"a\":\"");
        for _ in 0..10_000 {
            arguments.push_str("{xxxxxxx}");
            assert!(!arguments.are_whole());
        }
        assert_eq!(arguments.reads, 0);
    }
}
