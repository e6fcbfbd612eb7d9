//! What a running call prints, for those who look on: a face that shows its last line, a model that reads a job.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::output::cut_line;
use crate::workspace::keys::AROUND_CUT;

/// Lines that are kept; older ones go as new ones come. What a person would scroll back at most.
pub(super) const MAX_LINES: usize = 2_000;

/// Bytes of the lines that are kept.
const MAX_BYTES: usize = 512 * 1024;

/// Characters that are kept of one line; only data and minified code have longer ones, and nobody reads their ends.
const MAX_LINE_CHARS: usize = 2_000;

/// Bytes of a line that are kept until its end comes: enough to see that it is too long, and what a key is that its cut
/// would go through.
const MAX_BEGUN_BYTES: usize = 4 * MAX_LINE_CHARS + AROUND_CUT;

/// The last lines of a text that arrives in pieces. Clones share it; its memory is bounded however much arrives.
#[derive(Clone, Debug, Default)]
pub struct Printed(Arc<Mutex<Lines>>);

#[derive(Debug, Default)]
struct Lines {
    kept: VecDeque<String>,
    /// Of the lines that are kept.
    bytes: usize,
    /// Lines that arrived, those that are no longer kept included.
    count: u64,
    /// What arrived of the line that is not whole yet.
    begun: String,
    /// What that line goes on with as it stands now; a program may still write over it.
    ahead: String,
    /// Changes of all this.
    changes: u64,
}

/// How far a reader has come; the default is the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bookmark {
    lines: u64,
    changes: u64,
}

/// What has been printed since a reader last looked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct News {
    /// Whole lines before those of `text` that the reader does not get.
    pub skipped: u64,
    /// Whole lines.
    pub text: String,
    /// The line after them, whose end has not come yet.
    pub unfinished: String,
}

impl Printed {
    /// Takes the next piece, and how the line after it stands.
    pub fn push(&self, text: &str, ahead: &str) {
        let mut lines = self.lines();
        if text.is_empty() && lines.ahead == ahead {
            return;
        }
        for piece in text.split_inclusive('\n') {
            if lines.begun.len() <= MAX_BEGUN_BYTES {
                lines.begun.push_str(piece.trim_end_matches('\n'));
            }
            if piece.ends_with('\n') {
                lines.end_line();
            }
        }
        lines.ahead.clear();
        lines.ahead.push_str(ahead);
        lines.changes += 1;
    }

    /// What is new since `bookmark`, which is moved; the last lines of at most `max_bytes`. `None` when nothing is.
    pub fn news(&self, bookmark: &mut Bookmark, max_bytes: usize) -> Option<News> {
        let lines = self.lines();
        if bookmark.changes == lines.changes {
            return None;
        }
        let new = lines.count - bookmark.lines;
        *bookmark = Bookmark { lines: lines.count, changes: lines.changes };
        let mut news = News { unfinished: lines.unfinished(), ..News::default() };
        let mut room = max_bytes.saturating_sub(news.unfinished.len());
        let wanted = usize::try_from(new).unwrap_or(usize::MAX);
        let mut last = 0;
        for line in lines.kept.iter().rev().take(wanted) {
            let Some(left) = room.checked_sub(line.len() + 1) else { break };
            room = left;
            last += 1;
        }
        for line in lines.kept.iter().skip(lines.kept.len() - last) {
            news.text.push_str(line);
            news.text.push('\n');
        }
        news.skipped = new - last as u64;
        Some(news)
    }

    /// Whole lines that arrived since `bookmark`.
    pub(super) fn count_since(&self, bookmark: Bookmark) -> u64 {
        self.lines().count - bookmark.lines
    }

    /// Every change leaves the lines whole, so a panic elsewhere does not spoil them.
    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lines {
    fn end_line(&mut self) {
        let line = cut_line(&std::mem::take(&mut self.begun), MAX_LINE_CHARS).into_owned();
        self.count += 1;
        self.bytes += line.len();
        self.kept.push_back(line);
        while self.kept.len() > MAX_LINES || self.bytes > MAX_BYTES {
            let Some(oldest) = self.kept.pop_front() else { return };
            self.bytes -= oldest.len();
        }
    }

    fn unfinished(&self) -> String {
        cut_line(&format!("{}{}", self.begun, self.ahead), MAX_LINE_CHARS).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    const ALL: usize = 1 << 20;

    fn check(printed: &Printed, bookmark: &mut Bookmark, max_bytes: usize, expected: Expect) {
        let shown = match printed.news(bookmark, max_bytes) {
            None => "nothing new".to_owned(),
            Some(News { skipped, text, unfinished }) => format!("{skipped} skipped\n{text}> {unfinished}"),
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn each_look_tells_what_came_since_the_last() {
        let (printed, mut bookmark) = (Printed::default(), Bookmark::default());
        check(&printed, &mut bookmark, ALL, expect!["nothing new"]);
        printed.push("one\ntwo\n", "thr");
        check(
            &printed,
            &mut bookmark,
            ALL,
            expect![[r#"
            0 skipped
            one
            two
            > thr"#]],
        );
        check(&printed, &mut bookmark, ALL, expect!["nothing new"]);
        printed.push("three\n", "");
        check(
            &printed,
            &mut bookmark,
            ALL,
            expect![[r#"
            0 skipped
            three
            > "#]],
        );
    }

    #[test]
    fn a_line_that_is_written_over_is_told_as_it_stands() {
        let (printed, mut bookmark) = (Printed::default(), Bookmark::default());
        printed.push("", "10 %");
        printed.push("", "50 %");
        check(
            &printed,
            &mut bookmark,
            ALL,
            expect![[r#"
            0 skipped
            > 50 %"#]],
        );
        printed.push("", "50 %");
        check(&printed, &mut bookmark, ALL, expect!["nothing new"]);
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let (printed, mut bookmark) = (Printed::default(), Bookmark::default());
        printed.push("one\ntwo\nthree\n", "");
        check(
            &printed,
            &mut bookmark,
            10,
            expect![[r#"
            1 skipped
            two
            three
            > "#]],
        );
    }

    // SPEC A9
    #[test]
    fn a_long_line_is_cut_beside_its_keys() {
        let (printed, mut bookmark) = (Printed::default(), Bookmark::default());
        let key = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
        let before = "x ".repeat(MAX_LINE_CHARS / 2 - 5);
        // In two pieces, with the end still to come: each look is at what is there.
        printed.push(&before, &format!("{key} and so on"));
        let unfinished = printed.news(&mut bookmark, ALL).unwrap().unfinished;
        assert_eq!(unfinished, format!("{before} … [50 more characters in this line]"));
        printed.push(&format!("{key} and so on\n"), "");
        let text = printed.news(&mut bookmark, ALL).unwrap().text;
        assert_eq!(text, format!("{before} … [50 more characters in this line]\n"));
    }

    #[test]
    fn memory_is_bounded_however_much_arrives() {
        let (printed, mut bookmark) = (Printed::default(), Bookmark::default());
        for number in 0..3 * MAX_LINES {
            printed.push(&format!("{number}\n"), "");
        }
        let news = printed.news(&mut bookmark, ALL).unwrap();
        assert_eq!((news.skipped, news.text.lines().count()), (2 * MAX_LINES as u64, MAX_LINES));

        for _ in 0..2_000 {
            printed.push(&"x".repeat(5_000), "");
        }
        assert!(printed.lines().begun.len() <= MAX_BEGUN_BYTES + 5_000);
        printed.push("\n", "");
        let news = printed.news(&mut bookmark, ALL).unwrap();
        assert!(news.text.len() < MAX_LINE_CHARS + 100 && news.text.contains("more characters"));

        for _ in 0..MAX_LINES {
            printed.push(&"y".repeat(1_999), "");
            printed.push("\n", "");
        }
        assert!(printed.lines().bytes <= MAX_BYTES);
    }
}
