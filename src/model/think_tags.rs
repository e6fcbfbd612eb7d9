//! Reasoning that comes inside the text, between `<think>` and `</think>` at its beginning: taken out of the text piece
//! by piece, wherever the pieces were cut.

/// What opens reasoning and what closes it.
const TAGS: [(&str, &str); 2] = [("<think>", "</think>"), ("<thinking>", "</thinking>")];

/// A fence of Markdown, inside of which tags are quoted.
const FENCE: &str = "```";

/// Where in a text we are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Nothing came but blanks, and perhaps a part of a tag.
    #[default]
    Beginning,
    /// Up to this tag it is reasoning.
    Thinking(&'static str),
    /// Behind reasoning: the blanks up to the text, or to more reasoning, belong to neither.
    Between,
    Text,
}

/// Tells the reasoning at the beginning of a text from the text.
#[derive(Debug, Default)]
pub(super) struct ThinkTags {
    state: State,
    /// What came and may be a part of a tag: never longer than the blanks in front of it and one tag.
    held: String,
    /// Bytes at its beginning that are known to be blanks.
    blanks: usize,
}

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Text(String),
    Thought(String),
}

impl ThinkTags {
    /// Whether nothing was taken so far.
    pub(super) fn is_untouched(&self) -> bool {
        self.state == State::Beginning && self.held.is_empty()
    }

    /// Takes the next piece and gives what is decided by now. Each byte is looked at a few times at most, however it
    /// was cut.
    pub(super) fn push(&mut self, text: &str) -> Vec<Piece> {
        let mut pieces = Vec::new();
        if self.state == State::Text {
            pieces.push(Piece::Text(text.to_owned()));
            return pieces;
        }
        self.held.push_str(text);
        let mut decided = 0;
        while let Some(more) = self.step(decided, &mut pieces) {
            decided = more;
        }
        self.held.drain(..decided);
        pieces
    }

    /// The text is over: what was held is what it looks like.
    pub(super) fn end(&mut self) -> Vec<Piece> {
        let held = std::mem::take(&mut self.held);
        let piece = match self.state {
            _ if held.is_empty() => return Vec::new(),
            State::Thinking(_) => Piece::Thought(held),
            State::Between if held.trim().is_empty() => return Vec::new(),
            _ => Piece::Text(held),
        };
        vec![piece]
    }

    /// Decides about what is held from `from` on, where everything before it is decided. Gives up to where it has, if
    /// that is further, so that there may be more to decide.
    fn step(&mut self, from: usize, pieces: &mut Vec<Piece>) -> Option<usize> {
        let undecided = self.held.get(from..).unwrap_or_default();
        match self.state {
            State::Beginning | State::Between => {
                let start = undecided.get(self.blanks..).unwrap_or_default().trim_start();
                let start_at = self.held.len() - start.len();
                self.blanks = start_at - from;
                if let Some((open, close)) = TAGS.iter().find(|(open, _)| start.starts_with(open)) {
                    self.blanks = 0;
                    self.state = State::Thinking(close);
                    return Some(start_at + open.len());
                }
                if TAGS.iter().any(|(open, _)| open.starts_with(start)) {
                    return None;
                }
                let text = if self.state == State::Between { start } else { undecided };
                pieces.push(Piece::Text(text.to_owned()));
                self.state = State::Text;
                Some(self.held.len())
            }
            State::Thinking(close) => {
                let (thought, decided) = match undecided.find(close) {
                    Some(at) => {
                        self.state = State::Between;
                        (undecided.get(..at), from + at + close.len())
                    }
                    None => {
                        let length = undecided.len() - begun(undecided, close);
                        (undecided.get(..length), from + length)
                    }
                };
                if let Some(thought) = thought.filter(|thought| !thought.is_empty()) {
                    pieces.push(Piece::Thought(thought.to_owned()));
                }
                (decided > from).then_some(decided)
            }
            State::Text => None,
        }
    }
}

/// Bytes at the end of a text that may be the beginning of this tag.
fn begun(text: &str, tag: &str) -> usize {
    (1..tag.len())
        .rev()
        .find(|length| tag.get(..*length).is_some_and(|begin| text.ends_with(begin)))
        .unwrap_or(0)
}

/// Tells reasoning that was never opened from the text behind it: some servers' templates open the tag for the model, so
/// that only its end comes. Only where that tag stands alone on its line, outside of a fence, and text follows it.
pub(super) fn split_unopened(text: &str) -> Option<(&str, &str)> {
    TAGS.iter().find_map(|(open, close)| {
        let (thought, rest) = text.split_once(close)?;
        let stands_alone = (thought.is_empty() || thought.ends_with('\n')) && rest.starts_with(['\n', '\r']);
        let is_quoted = thought.matches(FENCE).count() % 2 == 1;
        (stands_alone && !is_quoted && !thought.contains(open) && !rest.trim().is_empty())
            .then(|| (thought.trim(), rest.trim_start()))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The reasoning and the text of what comes in these pieces.
    fn read<'a>(pieces: impl IntoIterator<Item = &'a str>) -> (String, String) {
        let (mut thought, mut text) = (String::new(), String::new());
        let mut tags = ThinkTags::default();
        let mut told: Vec<_> = pieces.into_iter().flat_map(|piece| tags.push(piece)).collect();
        told.extend(tags.end());
        for piece in told {
            match piece {
                Piece::Text(piece) => text.push_str(&piece),
                Piece::Thought(piece) => thought.push_str(&piece),
            }
        }
        (thought, text)
    }

    #[track_caller]
    fn check(whole: &str, thought: &str, text: &str) {
        assert_eq!(read([whole]), (thought.to_owned(), text.to_owned()));
    }

    // SPEC S14
    #[test]
    fn reasoning_at_the_beginning_is_no_text() {
        check("<think>hm</think>\n\n4", "hm", "4");
        check("\n<thinking>hm</thinking>4", "hm", "4");
        check("<think></think>4", "", "4");
        check("<think>a</think>\n<think>b</think>4", "ab", "4");
        check("<think>a < b </thin> c</think>4", "a < b </thin> c", "4");
    }

    #[test]
    fn tags_anywhere_else_are_text() {
        for text in ["use <think>tags</think>", "<thin", "<b>bold</b>", "4</think>", " \n", "", "<thinker>"] {
            check(text, "", text);
        }
        check("<think>hm</think>say <think>x</think>", "hm", "say <think>x</think>");
    }

    #[test]
    fn reasoning_that_is_never_closed_is_no_answer() {
        check("<think>hm, and so on </thi", "hm, and so on </thi", "");
    }

    #[test]
    fn text_is_not_held_back_longer_than_a_tag() {
        let mut tags = ThinkTags::default();
        assert_eq!(tags.push("<thi"), []);
        assert_eq!(tags.push("s"), [Piece::Text("<this".to_owned())]);
        assert_eq!(tags.push("<think>"), [Piece::Text("<think>".to_owned())]);
        let mut tags = ThinkTags::default();
        assert_eq!(tags.push("<think>so <"), [Piece::Thought("so ".to_owned())]);
        assert_eq!(tags.push("b"), [Piece::Thought("<b".to_owned())]);
    }

    #[test]
    fn reasoning_that_the_template_opened_ends_at_a_line_of_its_own() {
        assert_eq!(split_unopened("hm\nso\n</think>\n\n4\n"), Some(("hm\nso", "4\n")));
        for text in [
            "it ends with </think>\n4",
            "hm\n</think>\n",
            "```\nhm\n</think>\n4\n```",
            "<think>hm\n</think>\n4",
            "4",
        ] {
            assert_eq!(split_unopened(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_cut_gives_the_same(
            parts in prop::collection::vec(
                prop::sample::select(vec!["<think>", "</think>", "<thinking>", "</thinking>", "<", "/", "ä", "\n", "hm"]),
                0..12,
            ),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        ) {
            let whole = parts.concat();
            let boundaries: Vec<_> = whole.char_indices().map(|(position, _)| position).collect();
            let mut places: Vec<_> = match boundaries.as_slice() {
                [] => Vec::new(),
                boundaries => cuts.iter().map(|cut| *cut.get(boundaries)).collect(),
            };
            places.extend([0, whole.len()]);
            places.sort_unstable();
            let pieces = places.windows(2).map(|pair| &whole[pair[0]..pair[1]]);
            prop_assert_eq!(read(pieces), read([whole.as_str()]));
        }
    }

    #[test]
    fn many_thoughts_in_one_piece_are_all_thoughts() {
        let whole = "<think>a</think>\n".repeat(1_000) + "text";
        check(&whole, &"a".repeat(1_000), "text");
    }

    #[test]
    fn blanks_that_are_held_are_not_looked_at_again() {
        let mut tags = ThinkTags::default();
        for pieces in 1..=1_000 {
            assert_eq!(tags.push("   \n"), []);
            assert_eq!(tags.blanks, tags.held.len(), "after {pieces} pieces");
        }
        assert_eq!(tags.push("<thi"), []);
        assert_eq!(tags.blanks, 4_000);
        assert_eq!(tags.push("s"), [Piece::Text("   \n".repeat(1_000) + "<this")]);
    }
}
