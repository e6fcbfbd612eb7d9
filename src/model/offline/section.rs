//! How an answer is written: sections of Markdown with a first sentence each, bounded in length.

use std::fmt::Write as _;

use super::{outline::cut, outputs::Match};

/// What one wish gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Section {
    /// What the details are about, shown above them where an answer has several sections; may be empty.
    pub(super) title: String,
    /// The result in one or two sentences.
    pub(super) headline: String,
    /// Markdown below it; may be empty.
    pub(super) body: String,
    /// Files that were found or read, as "it" and "the second one" may mean them later.
    pub(super) files: Vec<String>,
}

/// Bytes of the details of one wish: what a person scrolls through.
const MAX_BODY: usize = 12_000;

/// Characters of one quoted line.
const MAX_LINE: usize = 240;

impl Section {
    pub(super) fn said(headline: impl Into<String>) -> Self {
        Self { headline: headline.into(), ..Self::default() }
    }

    pub(super) fn titled(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    pub(super) fn with_files(mut self, files: Vec<String>) -> Self {
        self.files = files;
        self
    }

    /// Adds a paragraph to the details.
    pub(super) fn paragraph(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if !self.body.is_empty() {
            self.body.push_str("\n\n");
        }
        self.body.push_str(text.trim_end());
    }

    /// The details, cut at a line's end where they are too long; an open fence is closed.
    pub(super) fn bounded_body(&self) -> String {
        if self.body.len() <= MAX_BODY {
            return self.body.clone();
        }
        let mut kept = String::new();
        let mut fence: Option<&str> = None;
        for line in self.body.lines() {
            if kept.len() + line.len() > MAX_BODY {
                break;
            }
            let ticks = line.len() - line.trim_start_matches('`').len();
            if ticks >= 3 {
                fence = match fence {
                    Some(open) if line == open => None,
                    Some(open) => Some(open),
                    None => line.get(..ticks),
                };
            }
            kept.push_str(line);
            kept.push('\n');
        }
        if let Some(fence) = fence {
            kept.push_str(fence);
            kept.push('\n');
        }
        kept.push_str("\n… the rest is left out here.");
        kept
    }
}

/// A text as a code block whose fence no line of the text can close.
pub(super) fn fenced(language: &str, text: &str) -> String {
    let mut longest = 2;
    let mut run = 0;
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(longest + 1);
    format!("{fence}{language}\n{}\n{fence}", text.trim_end_matches('\n'))
}

/// Numbered lines of a file as a code block.
pub(super) fn numbered<'a>(path: &str, lines: impl Iterator<Item = (usize, &'a str)>) -> String {
    let mut text = String::new();
    for (number, line) in lines {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{number:>5}  {}", cut(line, MAX_LINE));
    }
    fenced(fence_language(path), &text)
}

/// Text between back-ticks, in one line, whatever it holds.
pub(super) fn ticked(text: &str) -> String {
    let line: String =
        text.split('\n').next().unwrap_or_default().chars().filter(|c| !c.is_control()).collect();
    let line = if text.contains('\n') { format!("{line}…") } else { line };
    let line = cut(&line, 120);
    if line.contains('`') { format!("`` {line} ``") } else { format!("`{line}`") }
}

/// Found lines, each with its place.
pub(super) fn match_list<'a>(matches: impl Iterator<Item = &'a Match>) -> String {
    let mut text = String::new();
    for found in matches {
        let place = format!("{}:{}", found.path, found.line);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "- {} {}", ticked(&place), ticked(&cut(found.text.trim(), 160)));
    }
    text
}

/// "1 file", "3 files".
pub(super) fn counted(count: usize, one: &str, many: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {many}") }
}

/// Each path once, in the order of its first place.
pub(super) fn distinct<'a>(paths: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut distinct: Vec<String> = Vec::new();
    for path in paths {
        if !distinct.iter().any(|known| known == path) {
            distinct.push(path.to_owned());
        }
    }
    distinct
}

/// The name by which Markdown fences know the file's language.
pub(super) fn fence_language(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rsplit_once('.') {
        Some((_, "rs")) => "rust",
        Some((_, "py" | "pyi")) => "python",
        Some((_, "md")) => "markdown",
        Some((_, "yml")) => "yaml",
        Some((stem, extension))
            if !stem.is_empty()
                && extension.len() <= 6
                && extension.chars().all(|c| c.is_ascii_alphanumeric()) =>
        {
            extension
        }
        _ => "",
    }
}
