//! Wishes to see what a file holds, and reading as such: windows, whole files, files that stand elsewhere.

use super::{
    board::{Board, Call, Needed, Outcome},
    files::{append_sentence, by_name, locate, sentence, together, tree},
    outline,
    outputs::{Listing, Window, reason},
    scene::Scene,
    section::{Section, counted, distinct, fenced, numbered, ticked},
    wish::Target,
};

/// Files that one wish reads.
const MAX_READ: usize = 5;

/// Windows of one file that are read to know the whole of it (a window is 2,000 lines).
const MAX_WINDOWS: usize = 3;

/// Lines of a file in one answer; the rest is there on request.
pub(super) const MAX_SHOWN: usize = 200;

/// A file as it was read, or why it was not.
pub(super) enum ReadFile {
    Lines(Window),
    /// It was read, but its form is not known: shown as it is.
    Unknown(String),
    /// A folder, with what is in it.
    Folder(Listing),
    Failed(String),
}

/// Reads one window of a file. A path that is not there is looked for by its name, and the file that was read is told.
pub(super) fn read(
    path: &str,
    lines: Option<(usize, usize)>,
    board: &Board<'_>,
) -> Result<(String, ReadFile), Needed> {
    let call = |path: &str| {
        Call::new("read_file")
            .with("path", path)
            .maybe("start_line", lines.map(|(first, _)| first))
            .maybe("end_line", lines.map(|(_, last)| last))
    };
    let outcome = board.ask(call(path))?;
    if !outcome.is_error {
        return Ok((path.to_owned(), parsed(outcome)));
    }
    let candidates = by_name(&tree(board)?, path);
    let is_folder =
        tree(board)?.paths.iter().any(|known| known.strip_suffix('/') == Some(path)) || path == ".";
    if is_folder {
        let listing = board.ask(Call::new("list_files").with("path", path).with("depth", 1))?;
        if !listing.is_error {
            return Ok((path.to_owned(), ReadFile::Folder(Listing::parse(&listing.text))));
        }
    }
    match candidates.first().filter(|candidate| *candidate != path) {
        Some(candidate) => {
            let outcome = board.ask(call(candidate))?;
            Ok((candidate.clone(), parsed(outcome)))
        }
        None => Ok((path.to_owned(), ReadFile::Failed(reason(&outcome.text)))),
    }
}

fn parsed(outcome: Outcome) -> ReadFile {
    if outcome.is_error {
        return ReadFile::Failed(reason(&outcome.text));
    }
    match Window::parse(&outcome.text) {
        Some(window) => ReadFile::Lines(window),
        None => ReadFile::Unknown(outcome.text),
    }
}

/// Reads as much of a file as is needed to know it whole, window after window.
pub(super) fn read_whole(path: &str, board: &Board<'_>) -> Result<(String, ReadFile), Needed> {
    let (path, mut whole) = read(path, None, board)?;
    for _ in 1..MAX_WINDOWS {
        let ReadFile::Lines(window) = &mut whole else { break };
        if !window.goes_on() {
            break;
        }
        let more = board
            .ask(Call::new("read_file").with("path", path.as_str()).with("start_line", window.last() + 1))?;
        match Window::parse(&more.text).filter(|more| !more_is_error(more, window)) {
            Some(more) => window.lines.extend(more.lines),
            None => break,
        }
    }
    Ok((path, whole))
}

fn more_is_error(more: &Window, window: &Window) -> bool {
    more.first != window.last() + 1
}

pub(super) fn show(
    targets: &[Target],
    lines: Option<(usize, usize)>,
    board: &Board<'_>,
    scene: &Scene,
) -> Result<Section, Needed> {
    let located = together(targets, |target| locate(target, board, scene))?;
    let mut section = Section::default();
    let mut paths = Vec::new();
    for place in located {
        match place {
            Ok(found) => paths.extend(found),
            Err(why) => append_sentence(&mut section.headline, &sentence(&why)),
        }
    }
    let paths = distinct(paths.iter().map(String::as_str));
    let left_out = paths.len().saturating_sub(MAX_READ);
    let read = together(paths.get(..paths.len().min(MAX_READ)).unwrap_or_default(), |path| {
        read(path, lines, board)
    })?;
    let share = (MAX_SHOWN / read.len().max(1)).max(40);
    for (asked, (path, file)) in paths.iter().zip(read) {
        if *asked != path {
            append_sentence(
                &mut section.headline,
                &format!("{} is not there; {} is.", ticked(asked), ticked(&path)),
            );
        }
        show_one(&mut section, &path, file, share);
        section.files.push(path);
    }
    if left_out > 0 {
        section.paragraph(&format!("{} more were not read.", counted(left_out, "file", "files")));
    }
    Ok(section)
}

pub(super) fn show_one(section: &mut Section, path: &str, file: ReadFile, share: usize) {
    match file {
        ReadFile::Lines(window) if window.lines.is_empty() => {
            append_sentence(&mut section.headline, &format!("{} is empty.", ticked(path)))
        }
        ReadFile::Lines(window) => {
            let total = window.total.unwrap_or(window.lines.len());
            let shown = window.lines.len().min(share);
            let last = window.first + shown - 1;
            let part = if window.first == 1 && last >= total {
                String::new()
            } else if window.first == last {
                format!("; line {last} is below")
            } else {
                format!("; lines {}–{last} are below", window.first)
            };
            append_sentence(
                &mut section.headline,
                &format!("{} has {}{part}.", ticked(path), counted(total, "line", "lines")),
            );
            section.paragraph(&format!("**{path}**"));
            section.paragraph(&numbered(path, window.numbered().take(shown)));
            if last < total {
                section.paragraph(&format!(
                    "{} more: ask for {}.",
                    counted(total - last, "line", "lines"),
                    lines_of(path, last + 1, total.min(last + share))
                ));
            }
        }
        ReadFile::Unknown(text) => {
            append_sentence(
                &mut section.headline,
                &format!("{} was read; this is what the tool said.", ticked(path)),
            );
            section.paragraph(&fenced("", &outline::cut(&text, 6_000)));
        }
        ReadFile::Folder(listing) => {
            append_sentence(
                &mut section.headline,
                &format!(
                    "{} is a folder with {}.",
                    ticked(path),
                    counted(listing.paths.len(), "entry", "entries")
                ),
            );
            section.paragraph(&fenced("", &listing.paths.join("\n")));
        }
        ReadFile::Failed(why) => append_sentence(&mut section.headline, &sentence(&unread(path, &why))),
    }
}

/// The words that ask for these lines. A path with blanks is one word only between quotes.
pub(super) fn lines_of(path: &str, first: usize, last: usize) -> String {
    let quote = if path.contains(char::is_whitespace) { "\"" } else { "" };
    format!("`lines {first}-{last} of {quote}{path}{quote}`")
}

/// Why a file could not be read; the file is named once.
pub(super) fn unread(path: &str, why: &str) -> String {
    if why.contains(path) { why.to_owned() } else { format!("{} could not be read: {why}", ticked(path)) }
}
