//! Plain git diffs, when they are whole: `diff --git`, `---`, `+++`, and hunks with line numbers, which are not looked at.

use super::{FileChange, FilePatch, Line, PatchError, added_text, hunks};

const NO_FILE: &str = "/dev/null";

/// What the lines before the hunks of a file say.
#[derive(Default)]
struct Headers<'a> {
    line: usize,
    old: Option<&'a str>,
    new: Option<&'a str>,
    renamed_from: Option<&'a str>,
    renamed_to: Option<&'a str>,
}

/// Whether a diff can begin with this line.
pub(super) fn is_header(line: &str) -> bool {
    line.starts_with("diff --git ") || line.starts_with("--- ")
}

/// Whether what stands behind `@@` are line numbers: `-1,3 +1,4 @@ fn main()`.
pub(super) fn is_range(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let is_numbers = |word: Option<&str>, mark: char| {
        let numbers = word.and_then(|word| word.strip_prefix(mark));
        numbers.is_some_and(|numbers| {
            !numbers.is_empty() && numbers.chars().all(|one| one.is_ascii_digit() || one == ',')
        })
    };
    is_numbers(words.next(), '-') && is_numbers(words.next(), '+')
}

pub(super) fn parse(lines: &[Line<'_>]) -> Result<Vec<FilePatch>, PatchError> {
    let mut files = Vec::new();
    let starts: Vec<usize> = (0..lines.len()).filter(|&index| starts_file(lines, index)).collect();
    let ends = starts.iter().skip(1).copied().chain([lines.len()]);
    for (&start, end) in starts.iter().zip(ends) {
        files.push(file(lines.get(start..end).unwrap_or_default())?);
    }
    Ok(files)
}

/// `---` can also begin a line that goes: a file begins with it only where `+++` and a hunk follow.
fn starts_file(lines: &[Line<'_>], index: usize) -> bool {
    let starts = |index: usize, mark: &str| lines.get(index).is_some_and(|line| line.text.starts_with(mark));
    if starts(index, "diff --git ") {
        return true;
    }
    let is_pair = |index: usize| starts(index, "--- ") && starts(index + 1, "+++ ");
    // The pair below a line `diff --git` belongs to that.
    let has_begun = lines.get(..index).unwrap_or_default().iter().rev();
    let mut above = has_begun.take_while(|line| !line.text.starts_with("@@"));
    is_pair(index)
        && (starts(index + 2, "@@") || index + 2 >= lines.len())
        && !above.any(|line| line.text.starts_with("diff --git "))
}

fn file(lines: &[Line<'_>]) -> Result<FilePatch, PatchError> {
    let body = lines.iter().position(|line| line.text.starts_with("@@")).unwrap_or(lines.len());
    let (head, body) = lines.split_at(body);
    let mut headers = Headers { line: head.first().map_or(1, |line| line.number), ..Headers::default() };
    for line in head {
        headers.take(line)?;
    }
    let Headers { line, old, new, renamed_from, renamed_to } = headers;
    let patch = |path: &str, change| Ok(FilePatch { line, path: path.to_owned(), change });
    match (old, new) {
        (Some(NO_FILE), Some(new)) => {
            let added: Vec<Line<'_>> =
                body.iter().filter(|line| !line.text.starts_with(['@', '\\'])).copied().collect();
            patch(new, FileChange::Add { text: added_text(&added)? })
        }
        (Some(old), Some(NO_FILE)) => patch(old, FileChange::Delete),
        (Some(old), Some(new)) if old == new => {
            let hunks = hunks(body)?;
            if hunks.is_empty() {
                return Err(PatchError::at(line, "the file has no hunk"));
            }
            patch(old, FileChange::Update { move_to: None, hunks })
        }
        _ => match (renamed_from.or(old), renamed_to) {
            (Some(from), Some(to)) => {
                let move_to = Some(to.to_owned());
                patch(from, FileChange::Update { move_to, hunks: hunks(body)? })
            }
            (Some(old), None) if new.is_some() => Err(PatchError::at(
                line,
                format!(
                    "the diff names two files, {old} and another; use `*** Update File: path` and `*** Move to: path`"
                ),
            )),
            _ => Err(PatchError::at(
                line,
                "the diff does not say which file it is for; begin it with `*** Update File: path`",
            )),
        },
    }
}

impl<'a> Headers<'a> {
    fn take(&mut self, line: &Line<'a>) -> Result<(), PatchError> {
        let text = line.text;
        if text.starts_with("GIT binary patch") || text.starts_with("Binary files ") {
            return Err(PatchError::at(line.number, "a binary file cannot be patched"));
        }
        let place = if let Some(path) = text.strip_prefix("--- ") {
            self.old = Some(name(path, "a/"));
            self.old
        } else if let Some(path) = text.strip_prefix("+++ ") {
            self.new = Some(name(path, "b/"));
            self.new
        } else if let Some(path) = text.strip_prefix("rename from ") {
            self.renamed_from = Some(path.trim());
            self.renamed_from
        } else if let Some(path) = text.strip_prefix("rename to ") {
            self.renamed_to = Some(path.trim());
            self.renamed_to
        } else {
            None
        };
        if place.is_some_and(|place| place.starts_with('"')) {
            return Err(PatchError::at(
                line.number,
                "a name in quotes cannot be read; begin the file with `*** Update File: path`",
            ));
        }
        Ok(())
    }
}

/// A path without its side, and without the time that some programs write behind it.
fn name<'a>(path: &'a str, side: &str) -> &'a str {
    let path = path.split('\t').next().unwrap_or_default().trim();
    path.strip_prefix(side).unwrap_or(path)
}
