//! The patch format that models are trained on: files between `*** Begin Patch` and `*** End Patch`, each with lines that
//! stay (` `), go (`-`) and come (`+`), found by what they say and not by their numbers. A plain git diff is read too.
//!
//! What models write around and into patches is taken as it is meant while it can mean only one thing: code fences, a
//! here-document, a missing end, carriage returns, empty lines without their blank, headers of the other format. What
//! is left out or unclear is refused, with its line.

mod git;

use std::fmt;

use crate::workspace::matcher::PatchHunk;

/// Files of one patch: more are no change that a person looks through.
const MAX_FILES: usize = 200;

/// Bytes of one patch; a file alone may have as many.
const MAX_PATCH_BYTES: usize = 2_000_000;

/// What a patch does to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FilePatch {
    /// The line of the patch, from one, where it begins.
    pub(super) line: usize,
    /// As the model wrote it.
    pub(super) path: String,
    pub(super) change: FileChange,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FileChange {
    /// The text ends with a line end unless it is empty.
    Add {
        text: String,
    },
    Delete,
    /// There is a hunk, or a place to move to.
    Update {
        move_to: Option<String>,
        hunks: Vec<Hunk>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hunk {
    /// The line of the patch, from one, where it begins.
    pub(super) line: usize,
    pub(super) hunk: PatchHunk,
}

impl FilePatch {
    /// As the model wrote them: the file, and where it goes.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        let goes_to = match &self.change {
            FileChange::Update { move_to, .. } => move_to.as_deref(),
            FileChange::Add { .. } | FileChange::Delete => None,
        };
        [self.path.as_str()].into_iter().chain(goes_to)
    }
}

/// What is wrong with a patch, where, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PatchError {
    /// From one; `None` where the patch as a whole is meant.
    line: Option<usize>,
    reason: String,
}

impl PatchError {
    fn at(line: usize, reason: impl Into<String>) -> Self {
        Self { line: Some(line), reason: reason.into() }
    }

    fn whole(reason: impl Into<String>) -> Self {
        Self { line: None, reason: reason.into() }
    }
}

impl fmt::Display for PatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line} of the patch: {}", self.reason),
            None => f.write_str(&self.reason),
        }
    }
}

/// Reads a patch whole; there is at least one file.
pub(super) fn parse(patch: &str) -> Result<Vec<FilePatch>, PatchError> {
    if patch.len() > MAX_PATCH_BYTES {
        return Err(PatchError::whole(format!(
            "the patch is longer than {MAX_PATCH_BYTES} bytes; make several smaller ones"
        )));
    }
    let lines = inner_lines(patch)?;
    let is_header = |line: &&Line<'_>| Header::of(line.text).is_some() || git::is_header(line.text);
    let files = match lines.iter().find(is_header) {
        Some(first) if Header::of(first.text).is_none() => git::parse(&lines)?,
        Some(_) => parse_files(&lines)?,
        None => return Err(PatchError::whole(NO_FILE)),
    };
    if files.is_empty() {
        return Err(PatchError::whole(NO_FILE));
    }
    if files.len() > MAX_FILES {
        return Err(PatchError::whole(format!(
            "the patch changes more than {MAX_FILES} files; make several smaller ones"
        )));
    }
    Ok(files)
}

const NO_FILE: &str = "the patch names no file: after `*** Begin Patch` begin each file with `*** Update File: path`, \
                       `*** Add File: path` or `*** Delete File: path`";

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const END_OF_FILE: &str = "*** End of File";

/// A line of the patch without its end, and its number, from one.
#[derive(Clone, Copy, Debug)]
struct Line<'a> {
    number: usize,
    text: &'a str,
}

/// The lines between the patch's begin and its end, without what is written around them.
fn inner_lines(patch: &str) -> Result<Vec<Line<'_>>, PatchError> {
    let patch = patch.strip_prefix('\u{feff}').unwrap_or(patch);
    let all = patch.lines().enumerate().map(|(index, text)| Line { number: index + 1, text });
    let mut lines: Vec<Line<'_>> = Vec::new();
    let is = |line: &Line<'_>, mark: &str| {
        line.text.trim().eq_ignore_ascii_case(mark) && !line.text.starts_with([' ', '+', '-'])
    };
    let mut is_over = false;
    for line in all {
        if is(&line, BEGIN) {
            // What stands before the first one is talk, or the command of a here-document.
            if lines.iter().all(|line| Header::of(line.text).is_none()) {
                lines.clear();
            }
            is_over = false;
        } else if is(&line, END) {
            is_over = true;
        } else if !is_over {
            lines.push(line);
        } else if !is_wrapping(line.text) {
            return Err(PatchError::at(
                line.number,
                format!("there is text behind `{END}`; put all files before it, into one patch"),
            ));
        }
    }
    if !is_over {
        while lines.pop_if(|line| is_wrapping(line.text)).is_some() {}
    }
    Ok(lines)
}

/// An empty line, the end of a code fence, or the last word of a here-document.
fn is_wrapping(line: &str) -> bool {
    let line = line.trim_end();
    line.is_empty() || line == "```" || matches!(line, "EOF" | "PATCH" | "END" | "EOT")
}

/// The first line of a file.
enum Header<'a> {
    Add(&'a str),
    Delete(&'a str),
    Update(&'a str),
}

impl<'a> Header<'a> {
    fn of(line: &'a str) -> Option<Self> {
        if let Some(path) = after(line, "*** Add File:") {
            return Some(Self::Add(path));
        }
        if let Some(path) = after(line, "*** Delete File:") {
            return Some(Self::Delete(path));
        }
        after(line, "*** Update File:").map(Self::Update)
    }
}

/// What stands behind a mark at the beginning of a line, without blanks and quotes around it.
fn after<'a>(line: &'a str, mark: &str) -> Option<&'a str> {
    let head = line.get(..mark.len())?;
    let rest = line.get(mark.len()..)?.trim();
    head.eq_ignore_ascii_case(mark).then(|| rest.trim_matches(['"', '`']))
}

fn parse_files(lines: &[Line<'_>]) -> Result<Vec<FilePatch>, PatchError> {
    let mut files: Vec<FilePatch> = Vec::new();
    let mut rest = lines;
    while let Some((first, behind)) = rest.split_first() {
        let Some(header) = Header::of(first.text) else {
            if first.text.trim().is_empty() || files.is_empty() && !first.text.starts_with("***") {
                rest = behind;
                continue;
            }
            let shown: String = first.text.chars().take(80).collect();
            return Err(PatchError::at(first.number, format!("`{shown}` belongs to no file; {BEGIN_FILES}")));
        };
        let end = behind.iter().position(|line| Header::of(line.text).is_some()).unwrap_or(behind.len());
        let (body, others) = behind.split_at(end);
        let (path, change) = match header {
            Header::Add(path) => (path, FileChange::Add { text: added_text(body)? }),
            Header::Delete(path) => (path, deleted(body)?),
            Header::Update(path) => (path, updated(first, body)?),
        };
        if path.is_empty() {
            return Err(PatchError::at(first.number, "the name of the file is missing behind the colon"));
        }
        files.push(FilePatch { line: first.number, path: path.to_owned(), change });
        rest = others;
    }
    Ok(files)
}

const BEGIN_FILES: &str =
    "begin each file with `*** Update File: path`, `*** Add File: path` or `*** Delete File: path`";

/// The text of a new file: lines with `+` before them. Without any `+` the lines are the text.
fn added_text(body: &[Line<'_>]) -> Result<String, PatchError> {
    let body = match body {
        [first, rest @ ..] if first.text.starts_with("@@") => rest,
        body => body,
    };
    let is_marked = body.iter().any(|line| line.text.starts_with('+'));
    let last = body.iter().rposition(|line| !line.text.trim().is_empty()).map_or(0, |last| last + 1);
    let mut text = String::new();
    for line in body.get(..last).unwrap_or_default() {
        let content = match line.text.strip_prefix('+') {
            Some(content) => content,
            None if line.text.eq_ignore_ascii_case(END_OF_FILE) => continue,
            None if line.text.is_empty() || !is_marked => line.text,
            None => {
                return Err(PatchError::at(
                    line.number,
                    "every line of a new file begins with `+`, and this one does not",
                ));
            }
        };
        text.push_str(content);
        text.push('\n');
    }
    Ok(text)
}

fn deleted(body: &[Line<'_>]) -> Result<FileChange, PatchError> {
    // Some show what goes.
    match body.iter().find(|line| !line.text.trim().is_empty() && !line.text.starts_with(['-', '@'])) {
        None => Ok(FileChange::Delete),
        Some(line) => Err(PatchError::at(
            line.number,
            "nothing follows `*** Delete File`; use `*** Update File` to change a part of a file",
        )),
    }
}

fn updated(first: &Line<'_>, body: &[Line<'_>]) -> Result<FileChange, PatchError> {
    let (move_to, body) = match body.split_first() {
        Some((line, rest)) => match after(line.text, "*** Move to:") {
            Some("") => {
                return Err(PatchError::at(line.number, "the new name is missing behind `*** Move to:`"));
            }
            Some(to) => (Some(to.to_owned()), rest),
            None => (None, body),
        },
        None => (None, body),
    };
    // The two lines that a git diff has before its hunks.
    let body = match body {
        [old, new, rest @ ..] if old.text.starts_with("--- ") && new.text.starts_with("+++ ") => rest,
        body => body,
    };
    let hunks = hunks(body)?;
    if hunks.is_empty() && move_to.is_none() {
        return Err(PatchError::at(
            first.number,
            "the file has no hunk: below `@@` give lines that stay (begin with a blank), go (`-`) and come (`+`)",
        ));
    }
    Ok(FileChange::Update { move_to, hunks })
}

/// The hunks of one file.
fn hunks(body: &[Line<'_>]) -> Result<Vec<Hunk>, PatchError> {
    let mut hunks = Vec::new();
    let mut open: Option<OpenHunk> = None;
    for line in body {
        let hunk = open.get_or_insert_with(|| OpenHunk::at(line.number));
        if let Some(anchor) = line.text.strip_prefix("@@") {
            if hunk.has_lines() {
                hunks.extend(std::mem::replace(hunk, OpenHunk::at(line.number)).close()?);
            } else {
                hunk.forget_lines();
            }
            hunk.anchors.extend(anchor_of(anchor));
        } else if line.text.trim_end().eq_ignore_ascii_case(END_OF_FILE) {
            hunk.at_end = true;
            hunks.extend(open.take().map_or(Ok(None), OpenHunk::close)?);
        } else if line.text.starts_with("*** ") {
            let shown: String = line.text.chars().take(80).collect();
            return Err(PatchError::at(
                line.number,
                format!("`{shown}` is no line of a hunk; begin a line that stays with a blank"),
            ));
        } else if !line.text.starts_with("\\ ") {
            hunk.push(line.text);
        }
    }
    hunks.extend(open.map_or(Ok(None), OpenHunk::close)?);
    Ok(hunks)
}

/// What a line `@@ …` says of the place: lines above the hunk. Line numbers say nothing: models count badly.
fn anchor_of(text: &str) -> Option<String> {
    let text = text.trim();
    if git::is_range(text) {
        return None;
    }
    let text = text.strip_suffix("@@").unwrap_or(text).trim_end();
    (!text.is_empty()).then(|| text.to_owned())
}

/// A hunk whose lines are still read.
#[derive(Default)]
struct OpenHunk {
    line: usize,
    anchors: Vec<String>,
    old_lines: Vec<String>,
    new_lines: Vec<String>,
    at_end: bool,
    /// Some line goes or comes.
    is_change: bool,
    /// Lines without any mark at the end so far: they may only part the hunk from what follows.
    trailing_empty: usize,
}

impl OpenHunk {
    fn at(line: usize) -> Self {
        Self { line, ..Self::default() }
    }

    fn has_lines(&self) -> bool {
        self.old_lines.len() + self.new_lines.len() > self.trailing_empty * 2
    }

    /// Empty lines before the first `@@` are none of the hunk.
    fn forget_lines(&mut self) {
        let anchors = std::mem::take(&mut self.anchors);
        *self = Self { anchors, ..Self::at(self.line) };
    }

    fn push(&mut self, line: &str) {
        self.trailing_empty = if line.is_empty() { self.trailing_empty + 1 } else { 0 };
        let mut marks = line.chars();
        match marks.next() {
            Some('-') => {
                self.old_lines.push(marks.as_str().to_owned());
                self.is_change = true;
            }
            Some('+') => {
                self.new_lines.push(marks.as_str().to_owned());
                self.is_change = true;
            }
            first => {
                // A line whose blank was forgotten must stand in the file as well, so that it can harm nothing.
                let content = if first == Some(' ') { marks.as_str() } else { line };
                self.old_lines.push(content.to_owned());
                self.new_lines.push(content.to_owned());
            }
        }
    }

    /// `None` for what is only an empty line or a line of anchors at the end.
    fn close(mut self) -> Result<Option<Hunk>, PatchError> {
        for lines in [&mut self.old_lines, &mut self.new_lines] {
            lines.truncate(lines.len() - self.trailing_empty);
        }
        if self.old_lines.is_empty() && self.new_lines.is_empty() && self.anchors.is_empty() {
            return Ok(None);
        }
        if !self.is_change {
            return Err(PatchError::at(
                self.line,
                "the hunk changes nothing: begin lines that go with `-` and lines that come with `+`",
            ));
        }
        let Self { line, anchors, old_lines, new_lines, at_end, .. } = self;
        Ok(Some(Hunk { line, hunk: PatchHunk { anchors, old_lines, new_lines, at_end } }))
    }
}

#[cfg(test)]
mod tests;
