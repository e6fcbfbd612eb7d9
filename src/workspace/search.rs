//! Listing and searching files: ignore rules as git has them, open buffers and staged edits instead of the disk's text.

use std::{cell::OnceCell, ops::ControlFlow, sync::Arc};

use grep_matcher::{LineTerminator, Matcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, sinks::Bytes};

use super::{
    FileError, FilePath, TurnFiles, disk, keys,
    walk::{Found, Walked},
};

/// Bytes that a compiled pattern may take, and what it remembers while it matches: a few characters, as `(a{999}){999}`,
/// would else take hundreds of megabytes and seconds.
const MAX_PATTERN_MEMORY: usize = 10 * 1024 * 1024;

/// What to list: everything below `under` (`None`: all roots) that `glob` matches.
#[derive(Clone, Debug, Default)]
pub struct ListQuery {
    /// A directory, or one file or buffer.
    pub under: Option<FilePath>,
    /// As in .gitignore: `*.rs`, `src/**/mod.rs`; relative to `under`. With `!` before it, everything else.
    pub glob: Option<String>,
    /// Levels below `under`; `None` is all of them.
    pub depth: Option<usize>,
    /// Also what ignore files and a leading dot hide (never what is in `.git`).
    pub hidden: bool,
    /// At most so many entries. A search has its own limit and does not look at this one.
    pub limit: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub path: FilePath,
    pub is_dir: bool,
    /// Bytes; 0 for a directory.
    pub size: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Sorted by path.
    pub entries: Vec<Entry>,
    /// There were more than `limit`.
    pub truncated: bool,
}

/// What to find in the files of a [`ListQuery`].
#[derive(Clone, Debug)]
pub struct SearchQuery {
    /// A regular expression of Rust's regex crate, matched line by line.
    pub pattern: String,
    pub case_sensitive: bool,
    pub files: ListQuery,
    /// At most so many matching lines.
    pub limit: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    pub path: FilePath,
    /// One-based.
    pub line: u64,
    /// Without its line end; cut to a bound on a character boundary.
    pub text: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matches {
    /// Sorted by path and line.
    pub matches: Vec<Match>,
    pub truncated: bool,
    /// Files that were looked at.
    pub searched: usize,
}

/// Characters of a matching line that are kept; a longer one is cut around what matched.
const MAX_LINE: usize = 1_000;
/// Characters before what matched in a line that is cut.
const LINE_BEFORE_MATCH: usize = 200;
/// Bytes that one search reads: some seconds of work.
const MAX_SEARCHED_BYTES: usize = 1_000_000_000;

impl TurnFiles {
    pub fn list(&self, query: &ListQuery) -> Result<Listing, FileError> {
        let mut listing = Listing::default();
        let walked = self.walk(query, &mut |found| {
            if listing.entries.len() >= query.limit {
                return ControlFlow::Break(());
            }
            let size = found.text.as_ref().map_or(found.disk_size, |text| text.len() as u64);
            listing.entries.push(Entry { path: found.path, is_dir: found.is_dir, size });
            ControlFlow::Continue(())
        })?;
        listing.truncated = walked == Walked::Stopped;
        Ok(listing)
    }

    /// Files of binary data, of secrets, and of more than can be read are passed over.
    pub fn search(&self, query: &SearchQuery) -> Result<Matches, FileError> {
        let matcher = RegexMatcherBuilder::new()
            .case_insensitive(!query.case_sensitive)
            .crlf(true)
            .size_limit(MAX_PATTERN_MEMORY)
            .dfa_size_limit(MAX_PATTERN_MEMORY)
            .build(&query.pattern)
            .map_err(|error| {
                // It wraps the pattern, so that its own message points beside the place.
                let plain = regex::Regex::new(&query.pattern).err().map(|error| error.to_string());
                FileError::Pattern(plain.unwrap_or_else(|| error.to_string()))
            })?;
        let searcher = SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .line_number(true)
            .bom_sniffing(false)
            .binary_detection(BinaryDetection::none())
            .build();
        let mut search = Search {
            files: self,
            query,
            matcher,
            searcher,
            out: Matches::default(),
            bytes: 0,
            problem: None,
        };
        let walked = self.walk(&query.files, &mut |found| search.look_at(&found))?;
        if let Some(problem) = search.problem {
            return Err(FileError::Other(format!("the search broke off: {problem}")));
        }
        search.out.truncated |= walked == Walked::Stopped;
        Ok(search.out)
    }
}

struct Search<'a> {
    files: &'a TurnFiles,
    query: &'a SearchQuery,
    matcher: RegexMatcher,
    searcher: Searcher,
    out: Matches,
    bytes: usize,
    problem: Option<std::io::Error>,
}

impl Search<'_> {
    fn look_at(&mut self, found: &Found) -> ControlFlow<()> {
        if found.is_dir || found.is_link || found.path.is_secret() {
            return ControlFlow::Continue(());
        }
        let Some(bytes) = content(found) else { return ControlFlow::Continue(()) };
        let bytes = bytes.as_ref();
        self.out.searched += 1;
        self.bytes += bytes.len();
        if self.bytes > MAX_SEARCHED_BYTES {
            return ControlFlow::Break(());
        }
        let Self { files, query, matcher, searcher, out, .. } = self;
        let shown = ShownLines::new(files, bytes);
        let mut is_full = false;
        let sink = Bytes(|line, bytes| {
            is_full = out.matches.len() >= query.limit;
            if !is_full {
                let text = line_text(matcher, bytes, &shown.line(line, bytes));
                out.matches.push(Match { path: found.path.clone(), line, text });
            }
            Ok(!is_full)
        });
        if let Err(error) = searcher.search_slice(&*matcher, bytes, sink) {
            self.problem = Some(error);
            return ControlFlow::Break(());
        }
        if is_full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

enum Content {
    Text(Arc<str>),
    Bytes(Vec<u8>),
}

impl AsRef<[u8]> for Content {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

fn content(found: &Found) -> Option<Content> {
    if let Some(text) = &found.text {
        return (!found.path.is_secret_with(text)).then(|| Content::Text(Arc::clone(text)));
    }
    disk::read_searchable(found.path.disk()?).map(Content::Bytes)
}

/// The lines of one file as they may be shown.
struct ShownLines<'a> {
    files: &'a TurnFiles,
    text: &'a [u8],
    /// Where a line alone does not say whether it is a secret: all of them. Found out with the first that matches.
    whole: OnceCell<Option<Vec<String>>>,
}

impl<'a> ShownLines<'a> {
    fn new(files: &'a TurnFiles, text: &'a [u8]) -> Self {
        Self { files, text, whole: OnceCell::new() }
    }

    /// The line of that number, counted from one, without its end.
    fn line(&self, number: u64, line: &[u8]) -> String {
        let whole = self.whole.get_or_init(|| {
            keys::spans_lines(self.text).then(|| {
                let text = String::from_utf8_lossy(self.text);
                self.files.shown(&text).split('\n').map(str::to_owned).collect()
            })
        });
        let index = usize::try_from(number.saturating_sub(1)).unwrap_or(usize::MAX);
        match whole.as_ref().and_then(|lines| lines.get(index)) {
            Some(line) => line.strip_suffix('\r').unwrap_or(line).to_owned(),
            None => self.files.shown(&String::from_utf8_lossy(without_end(line))).into_owned(),
        }
    }
}

fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// What is shown of a line; of a very long one the part around what matched.
fn line_text(matcher: &RegexMatcher, line: &[u8], text: &str) -> String {
    if text.chars().nth(MAX_LINE).is_none() {
        return text.to_owned();
    }
    let line = without_end(line);
    let start = matcher.find(line).ok().flatten().map_or(0, |found| found.start());
    let before = String::from_utf8_lossy(line.get(..start).unwrap_or_default()).chars().count();
    let skipped = before.saturating_sub(LINE_BEFORE_MATCH);
    let mut characters = text.chars().skip(skipped);
    let mut shown = if skipped > 0 { "…".to_owned() } else { String::new() };
    shown.extend(characters.by_ref().take(MAX_LINE));
    if characters.next().is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests;
