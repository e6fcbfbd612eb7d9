//! Caps for what tools return: head and tail are kept, on character boundaries, and what is missing is said. No cut goes
//! through a key, since nobody could tell that its halves are any.

use std::{borrow::Cow, fmt::Write};

use crate::workspace::{
    deceptive::is_deceptive,
    keys::{self, AROUND_CUT},
};

/// Lines of one tool's output: what a model still reads with profit, and what fits its window many times.
pub const MAX_LINES: usize = 2_000;

/// Bytes of one tool's output: about 12,000 tokens.
pub const MAX_BYTES: usize = 50 * 1024;

/// Percent of both caps that go to the head. A little more than half: what was run and the first error stand there.
const HEAD_PERCENT: usize = 60;

/// Bytes kept free for the sentence that says what is missing.
const NOTICE_BYTES: usize = 100;

/// A line that is cut in two by the caps is left out whole when its kept part is no longer than this many bytes.
const LINE_SLACK: usize = 2_000;

/// Keeps the beginning and the end of a text that arrives in pieces; its memory is bounded however long the text is.
///
/// The result is never longer than the caps, and is the text itself when that fits.
#[derive(Debug)]
pub struct HeadTail {
    head_lines: usize,
    head_bytes: usize,
    tail_lines: usize,
    tail_bytes: usize,
    head: String,
    /// Something did not fit the head: all that follows belongs to the tail.
    head_is_full: bool,
    /// What followed the head right away.
    behind_head: String,
    /// What was dropped right before the tail.
    before_tail: String,
    tail: String,
    /// What was dropped between head and tail.
    cut: Cut,
    /// The last dropped character was a line end, so the tail starts with a whole line.
    tail_starts_line: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cut {
    bytes: usize,
    lines: usize,
}

impl Cut {
    fn add(&mut self, dropped: &str) {
        self.bytes += dropped.len();
        self.lines += count_lines(dropped);
    }
}

impl Default for HeadTail {
    fn default() -> Self {
        Self::new(MAX_LINES, MAX_BYTES)
    }
}

impl HeadTail {
    pub fn new(max_lines: usize, max_bytes: usize) -> Self {
        let lines = max_lines.saturating_sub(1);
        let bytes = max_bytes.saturating_sub(NOTICE_BYTES);
        let head_lines = lines * HEAD_PERCENT / 100;
        let head_bytes = bytes * HEAD_PERCENT / 100;
        Self {
            head_lines,
            head_bytes,
            tail_lines: lines - head_lines,
            tail_bytes: bytes - head_bytes,
            head: String::new(),
            head_is_full: false,
            behind_head: String::new(),
            before_tail: String::new(),
            tail: String::new(),
            cut: Cut::default(),
            tail_starts_line: false,
        }
    }

    pub fn push(&mut self, text: &str) {
        let rest = if self.head_is_full { text } else { self.fill_head(text) };
        if self.behind_head.len() < AROUND_CUT {
            let room = AROUND_CUT - self.behind_head.len();
            self.behind_head.push_str(&rest[..floor_char_boundary(rest, room)]);
        }
        self.tail.push_str(rest);
        // Twice the cap before it is trimmed, so that many small pieces do not move the tail each time.
        if self.tail.len() > 2 * self.tail_bytes {
            self.trim_tail();
        }
    }

    /// Whether something of the text is no longer here.
    pub fn is_cut(&mut self) -> bool {
        self.trim_tail();
        self.cut.bytes > 0
    }

    /// The text, or its head and tail with a line between them that says how much is missing.
    pub fn finish(mut self) -> String {
        self.trim_tail();
        if self.cut.bytes == 0 {
            return self.head + &self.tail;
        }
        let line_end = self.head.rfind('\n').filter(|end| self.head.len() - end <= LINE_SLACK);
        let end = match line_end {
            Some(end) => end + 1,
            None => keys::end_beside_key(&[&*self.head, &self.behind_head].concat(), self.head.len()),
        };
        self.cut.add(&self.head[end..]);
        self.head.truncate(end);
        let start = self.tail_start();
        self.cut.add(&self.tail[..start]);
        self.tail.drain(..start);
        let Cut { bytes, lines } = self.cut;
        let gap = if self.head.is_empty() || self.head.ends_with('\n') { "" } else { "\n" };
        let lines = match lines {
            0 => String::new(),
            1 => " in 1 line".to_owned(),
            lines => format!(" in {lines} lines"),
        };
        format!("{}{gap}… {bytes} bytes{lines} left out here …\n{}", self.head, self.tail)
    }

    /// Where the tail is to begin: at a line, if one does not begin far from here, and with no part of a key.
    fn tail_start(&self) -> usize {
        let line_end = self.tail.find('\n').filter(|&end| end < LINE_SLACK);
        let start = match line_end {
            Some(end) if !self.tail_starts_line => end + 1,
            _ => 0,
        };
        let known = [&*self.before_tail, &self.tail].concat();
        let beside_key =
            keys::start_beside_key(&known, self.before_tail.len() + start) - self.before_tail.len();
        // The end of a line that was a key.
        let is_rest = beside_key > start && self.tail[beside_key..].starts_with('\n');
        if is_rest { beside_key + 1 } else { beside_key }
    }

    /// Takes what fits the head and gives back the rest.
    fn fill_head<'a>(&mut self, text: &'a str) -> &'a str {
        let by_bytes = floor_char_boundary(text, self.head_bytes - self.head.len());
        let room = self.head_lines - count_lines(&self.head);
        let end = end_of_lines(&text[..by_bytes], room);
        let (fits, rest) = text.split_at(end);
        self.head.push_str(fits);
        self.head_is_full = !rest.is_empty();
        rest
    }

    /// Drops what is over the tail's caps from its front.
    fn trim_tail(&mut self) {
        let by_bytes = ceil_char_boundary(&self.tail, self.tail.len().saturating_sub(self.tail_bytes));
        let kept = &self.tail[by_bytes..];
        let surplus = count_lines(kept).saturating_sub(self.tail_lines);
        let start = if surplus == 0 { by_bytes } else { by_bytes + end_of_lines(kept, surplus) };
        if start == 0 {
            return;
        }
        let dropped = &self.tail[..start];
        self.tail_starts_line = dropped.ends_with('\n');
        self.cut.add(dropped);
        self.before_tail.push_str(dropped);
        let surplus = self.before_tail.len().saturating_sub(AROUND_CUT);
        self.before_tail.drain(..ceil_char_boundary(&self.before_tail, surplus));
        self.tail.drain(..start);
    }
}

/// Room beside the caps for what a tool says around its output: a first line, notices.
const FRAME_LINES: usize = 20;
const FRAME_BYTES: usize = 4 * 1024;

/// A text as it is, or its head and tail when it is far over the caps. Each tool bounds its own output in the way that
/// serves best; this holds for what it did not think of, such as paths without end.
pub fn bounded(text: String) -> String {
    if text.len() <= MAX_BYTES && count_lines(&text) <= MAX_LINES {
        return text;
    }
    let mut kept = HeadTail::new(MAX_LINES + FRAME_LINES, MAX_BYTES + FRAME_BYTES);
    kept.push(&text);
    kept.finish()
}

/// The first `max_chars` characters of a line, fewer where a key would be cut, and how many were left out.
pub fn cut_line(line: &str, max_chars: usize) -> Cow<'_, str> {
    // Bytes first: counting characters of a long line costs more than looking at its length.
    if line.len() <= max_chars {
        return Cow::Borrowed(line);
    }
    match line.char_indices().nth(max_chars) {
        Some((end, _)) => {
            let end = keys::end_beside_key(line, end);
            let more = line[end..].chars().count();
            Cow::Owned(format!("{} … [{more} more characters in this line]", &line[..end]))
        }
        None => Cow::Borrowed(line),
    }
}

/// A text as one line of at most `max_chars` characters, for a progress line.
pub fn one_line(text: &str, max_chars: usize) -> String {
    // It only chooses the colour of the sign before it.
    let text = text.replace('\u{fe0f}', "");
    let line = visible(text.trim()).replace(['\n', '\t'], " ");
    match line.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", &line[..keys::end_beside_key(&line, end)]),
        None => line,
    }
}

/// The most blanks or line ends in a row that are shown as they are: more could move what follows out of sight.
const MAX_BLANKS: usize = 8;

/// The same for blanks at the beginning of a line.
const MAX_INDENTATION: usize = 40;

/// A text that someone decides on must read as what it is: characters that are not seen, or not as what they are, are
/// written as escapes, and long runs of blanks or line ends as their number. Other line ends and tabs stay.
///
/// So is the sign `⏎`, which faces with a single line show for a line end.
pub fn visible(text: &str) -> String {
    let is_blank = |character: char| matches!(character, ' ' | '\t' | '\n');
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let run_end = rest.find(|character| !is_blank(character)).unwrap_or(rest.len());
        let (run, after) = rest.split_at(if run_end > 0 { run_end } else { first.len_utf8() });
        match first {
            _ if run_end > 0 => push_blanks(&mut shown, run, rest.len() == text.len()),
            '⏎' => shown.extend(first.escape_unicode()),
            _ if first.is_control() => shown.extend(first.escape_default()),
            _ if is_deceptive(first) => shown.extend(first.escape_unicode()),
            _ => shown.push(first),
        }
        rest = after;
    }
    shown
}

/// Shows a run of blanks and line ends; `is_first` when nothing stands before it.
fn push_blanks(shown: &mut String, run: &str, is_first: bool) {
    let ends = count_lines(run);
    let last = run.rsplit('\n').next().unwrap_or_default();
    let (run, skipped) = if ends > MAX_BLANKS { (last, ends) } else { (run, 0) };
    if skipped > 0 {
        // Writing to a string cannot fail.
        let _ = writeln!(shown, "⟨{skipped} line ends⟩");
    }
    for (index, blanks) in run.split('\n').enumerate() {
        let is_indentation = index > 0 || skipped > 0 || is_first;
        if index > 0 {
            shown.push('\n');
        }
        let count = blanks.len();
        if count > if is_indentation { MAX_INDENTATION } else { MAX_BLANKS } {
            let _ = write!(shown, "⟨{count} blanks⟩");
        } else {
            shown.push_str(blanks);
        }
    }
}

/// A path in a text that someone decides on: as [`visible`], and on one line.
pub fn visible_path(path: &str) -> String {
    visible(path.trim()).replace('\n', "\\n").replace('\t', "\\t")
}

/// A path in a list of one path a line: control characters, which could make false lines, are written as escapes.
pub fn listed_path(path: &str) -> Cow<'_, str> {
    if !path.contains(char::is_control) {
        return Cow::Borrowed(path);
    }
    let shown = path.chars().map(|character| match character.is_control() {
        true => character.escape_default().to_string(),
        false => character.to_string(),
    });
    Cow::Owned(shown.collect())
}

fn count_lines(text: &str) -> usize {
    text.bytes().filter(|&byte| byte == b'\n').count()
}

/// Where the first `lines` lines of `text` end; its length when it has no more.
fn end_of_lines(text: &str, lines: usize) -> usize {
    match lines.checked_sub(1) {
        None => 0,
        Some(last) => text.match_indices('\n').nth(last).map_or(text.len(), |(at, _)| at + 1),
    }
}

fn floor_char_boundary(text: &str, index: usize) -> usize {
    let index = index.min(text.len());
    (0..=index).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

fn ceil_char_boundary(text: &str, index: usize) -> usize {
    (index..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(max_lines: usize, max_bytes: usize, pieces: &[&str], expected: Expect) {
        let mut kept = HeadTail::new(max_lines, max_bytes);
        for piece in pieces {
            kept.push(piece);
        }
        expected.assert_eq(&kept.finish());
    }

    #[test]
    fn a_text_that_fits_is_kept_as_it_is() {
        check(
            10,
            200,
            &["a\nb", "\nc"],
            expect![[r#"
            a
            b
            c"#]],
        );
    }

    #[test]
    fn head_and_tail_are_kept_when_there_are_too_many_lines() {
        check(
            6,
            1_000,
            &["1\n2\n3\n4\n", "5\n6\n7\n8\n", "9\n"],
            expect![[r#"
            1
            2
            3
            … 8 bytes in 4 lines left out here …
            8
            9
        "#]],
        );
    }

    #[test]
    fn a_line_cut_in_two_is_left_out_whole() {
        let lines: String = (0..100).map(|number| format!("line {number}\n")).collect();
        check(
            100,
            150,
            &[&lines],
            expect![[r#"
            line 0
            line 1
            line 2
            line 3
            … 746 bytes in 94 lines left out here …
            line 98
            line 99
        "#]],
        );
    }

    /// A piece of a key's secret part that stands in a text.
    fn pieces<'a>(key: &'a str, text: &str) -> Option<&'a str> {
        let hidden = keys::masked(key);
        let before = hidden.find(keys::MASK).unwrap();
        let secret = &key[before..key.len() - (hidden.len() - before - keys::MASK.len())];
        (0..secret.len() - 5).map(|start| &secret[start..start + 6]).find(|piece| text.contains(piece))
    }

    // SPEC A9
    #[test]
    fn no_cut_goes_through_a_key() {
        let key = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
        let address = "postgres://app:hunter2-and-more@db/x";
        let pem = "\\nMIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7MbzYLdZ7ZvVy7F7V\\n";
        for key in [key, address, pem] {
            for at in (3_000..3_000 + key.len() + 30).chain(5_000 - key.len()..5_030) {
                let text = format!("{} {key} {}", ".".repeat(at), ".".repeat(8_000 - at));
                let mut kept = HeadTail::new(MAX_LINES, 5_100);
                kept.push(&text);
                let kept = kept.finish();
                assert_eq!(pieces(key, &keys::masked(&kept)), None, "{at}");
                let line = cut_line(&text, 3_020);
                assert_eq!(pieces(key, &keys::masked(&line)), None, "{at}");
            }
        }
    }

    // SPEC H13
    #[test]
    fn a_mebibyte_of_multi_byte_text_is_cut_on_character_boundaries() {
        for piece in ["é", "漢", "🦀"] {
            let text = piece.repeat((1 << 20) / piece.len());
            let mut kept = HeadTail::default();
            kept.push(&text);
            let kept = kept.finish();
            assert!(kept.len() <= MAX_BYTES, "{} bytes", kept.len());
            let (head, rest) = kept.split_once('\n').unwrap();
            let (notice, tail) = rest.split_once('\n').unwrap();
            assert_eq!(head.replace(piece, ""), "");
            assert_eq!(tail.replace(piece, ""), "");
            let missing = text.len() - head.len() - tail.len();
            assert_eq!(notice, format!("… {missing} bytes left out here …"));
        }
    }

    #[test]
    fn memory_is_bounded_while_a_text_arrives() {
        let mut kept = HeadTail::new(100, 1_000);
        for _ in 0..100_000 {
            kept.push("0123456789");
            assert!(kept.head.len() + kept.tail.len() < 2_000);
        }
        let text = kept.finish();
        assert!(text.len() <= 1_000 && text.contains("999100 bytes left out"), "{text}");
    }

    #[test]
    fn pieces_of_any_size_give_the_same_result() {
        let text: String = (0..300).map(|number| format!("zeile {number} ä漢🦀\n")).collect();
        let mut whole = HeadTail::new(50, 900);
        whole.push(&text);
        let whole = whole.finish();
        for size in [1, 2, 7, 64] {
            let characters: Vec<char> = text.chars().collect();
            let mut pieces = HeadTail::new(50, 900);
            for piece in characters.chunks(size) {
                pieces.push(&piece.iter().collect::<String>());
            }
            assert_eq!(pieces.finish(), whole);
        }
    }

    #[test]
    fn what_a_tool_says_around_a_full_output_is_kept() {
        let full = format!("first\n{}last", "x\n".repeat(MAX_LINES));
        assert_eq!(bounded(full.clone()), full);
        let far_over = bounded("x".repeat(10 * MAX_BYTES));
        assert!(far_over.len() <= MAX_BYTES + FRAME_BYTES);
        assert!(far_over.contains("bytes left out here"));
    }

    #[test]
    fn a_long_line_says_how_much_was_cut() {
        assert_eq!(cut_line("äöü", 3), "äöü");
        assert_eq!(cut_line("äöüß!", 3), "äöü … [2 more characters in this line]");
    }

    #[test]
    fn a_progress_line_is_one_line_without_tricks() {
        assert_eq!(one_line("  make\n\tall  ", 40), "make  all");
        assert_eq!(one_line("abcdef", 3), "abc…");
        assert_eq!(one_line("⚠\u{fe0f} careful", 40), "⚠ careful");
    }

    fn check_visible(text: &str, expected: Expect) {
        expected.assert_eq(&visible(text));
        assert_eq!(visible(&visible(text)), visible(text), "what is shown twice reads the same");
    }

    #[test]
    fn nothing_hides_in_a_text_that_someone_decides_on() {
        check_visible("rm \u{202e}x\u{1b}[2K\r", expect![[r"rm \u{202e}x\u{1b}[2K\r"]]);
        check_visible("a⏎b\u{a0}c\u{3164}d\u{e0041}", expect![[r"a\u{23ce}b\u{a0}c\u{3164}d\u{e0041}"]]);
        check_visible("größe 漢 😀", expect!["größe 漢 😀"]);
    }

    #[test]
    fn nothing_is_moved_out_of_sight_by_blanks() {
        check_visible(&format!("ls{};rm x", " ".repeat(600)), expect!["ls⟨600 blanks⟩;rm x"]);
        check_visible(&format!("ls{};rm x", "\t".repeat(9)), expect!["ls⟨9 blanks⟩;rm x"]);
        check_visible(
            "a        b\n            c\n\n\td",
            expect![[r#"
            a        b
                        c

            	d"#]],
        );
        check_visible(
            &format!("ls{}  rm x", " \n".repeat(90)),
            expect![[r#"
            ls⟨90 line ends⟩
              rm x"#]],
        );
        check_visible(
            &format!("ls\n{}rm x\n", " ".repeat(41)),
            expect![[r#"
            ls
            ⟨41 blanks⟩rm x
        "#]],
        );
    }

    #[test]
    fn a_path_is_on_one_line() {
        assert_eq!(visible_path("dir:\nls\t\u{202e}"), "dir:\\nls\\t\\u{202e}");
        assert_eq!(listed_path("a\nb\u{1b}/é\u{a0}.txt"), "a\\nb\\u{1b}/é\u{a0}.txt");
    }
}
