//! Finds the text that a model wants to replace: exactly once, or refused with what is nearest.
//!
//! Models quote a text nearly right: with another indentation, other quotes, without a comment. So there are ranks of
//! likeness ([`Likeness`]), from byte for byte to a block of which the frame fits. Each is tried only when those above found
//! nothing, and each has to find exactly one place. A wrong place is far worse than a refusal: a model tries again.
//!
//! What is carried over to the file is the edit, not the text: see `carry`.

mod anchors;
mod carry;
mod fold;
mod hunks;
mod indentation;
mod lines;
mod merge;
mod nearest;
mod ranks;
mod resolve;
mod rewrite;
mod together;

use std::ops::Range;

pub use hunks::{PatchHunk, replace_hunks};

use lines::line_ends;
use resolve::resolve;
use together::Made;

/// Why a replacement was not made. `Display` is a text for the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MatchError {
    #[error("{0}")]
    Missing(String),
    #[error("{0}")]
    Ambiguous(String),
    /// There is nothing to look for, or the replacement changes nothing.
    #[error("{0}")]
    Pointless(String),
}

/// How many places a replacement may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occurrences {
    /// Exactly one place must match.
    One,
    /// Every place that matches is replaced; at least one must.
    All,
}

/// A text after a replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replaced {
    pub text: String,
    /// Byte ranges of the new pieces in `text`, in order.
    pub places: Vec<Range<usize>>,
    pub likeness: Likeness,
}

/// How closely the text that was looked for had to match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Likeness {
    Exact,
    /// But for line ends.
    LineEnds,
    /// But for line ends and blanks before them.
    TrailingSpaces,
    /// But for how deep the lines are indented, or with what.
    Indentation,
    /// But for quotes, dashes, blanks and other characters that look alike.
    Typography,
    /// But for blank lines between the lines, or comments that were left out.
    BlankLines,
    /// But for what tools put around a text: line numbers, escapes, entities, a code fence.
    Wrapping,
    /// By its first and last line, with a middle that is close enough.
    Anchors,
}

impl Likeness {
    /// What differed, to be told behind a semicolon; empty when nothing did.
    pub fn note(self) -> &'static str {
        match self {
            Self::Exact => "",
            Self::LineEnds => "the line ends of the file were kept",
            Self::TrailingSpaces => "blanks at the ends of lines differed from find",
            Self::Indentation => "the indentation differed from find; that of the file was kept",
            Self::Typography => "quotes, dashes or blanks differed from find; those of the file were kept",
            Self::BlankLines => {
                "find left out blank lines or comments, or had more; those of the file were kept"
            }
            Self::Wrapping => {
                "find had line numbers, escapes or a fence that are not in the file; it was read without them"
            }
            Self::Anchors => {
                "find was not quite what the file says; lines that were not to change were kept as they are"
            }
        }
    }
}

/// Replaces `find` by `replace_with` in `text`, at the closest rank of [`Likeness`] at which it stands there. A rank is only
/// tried when the one above finds nothing; what stands at several places is refused with their lines.
///
/// What `find` and `replace_with` share keeps the bytes of the file, however the model wrote it: only what it meant to
/// change does. New lines end and are indented as those around.
pub fn replace(
    text: &str,
    find: &str,
    replace_with: &str,
    occurrences: Occurrences,
) -> Result<Replaced, MatchError> {
    replace_each(text, &[Replacement { find, replace_with, occurrences }]).map_err(|(_, error)| error)
}

/// One of several replacements of [`replace_each`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replacement<'a> {
    pub find: &'a str,
    pub replace_with: &'a str,
    pub occurrences: Occurrences,
}

/// Makes several replacements at once, or none: `Err` has the index of the one that was refused, and why.
///
/// Each is found in the text as it was before, so that none can hit what another one wrote by chance; two that change the
/// same text are refused. One that is found only in the text as the earlier ones left it is made there, since a model
/// that writes its edits one after the other counts on those before.
pub fn replace_each(text: &str, replacements: &[Replacement<'_>]) -> Result<Replaced, (usize, MatchError)> {
    let mut likeness = Likeness::Exact;
    let mut changes = Vec::new();
    let mut late = Vec::new();
    for (index, one) in replacements.iter().enumerate() {
        match resolve(text, one.find, one.replace_with, one.occurrences) {
            Ok(resolved)
                if resolved.changes.iter().all(|(range, new)| text.get(range.clone()) == Some(new)) =>
            {
                return Err((index, MatchError::Pointless(CHANGES_NOTHING.to_owned())));
            }
            Ok(resolved) => {
                likeness = likeness.max(resolved.likeness);
                changes.extend(resolved.changes.into_iter().map(|(range, new)| (index, range, new)));
            }
            Err(error @ MatchError::Missing(_)) if index > 0 => late.push((index, one, error)),
            Err(error) => return Err((index, error)),
        }
    }
    let mut made = Made::of(text, changes, "replacements")?;
    for (index, one, error) in late {
        let missing = || (index, error.clone());
        let resolved = resolve(&made.text, one.find, one.replace_with, one.occurrences);
        let resolved = resolved.map_err(|found| match found {
            MatchError::Missing(_) => missing(),
            found => (index, found),
        })?;
        likeness = likeness.max(resolved.likeness);
        made.add(index, resolved.changes).ok_or_else(missing)??;
    }
    made.finish(text, likeness).map_err(|error| (0, error))
}

const CHANGES_NOTHING: &str = "the replacement changes nothing: the new text is the same as the old one (line ends stay those of the file)";

/// So many places are named; with more, the text to find is far too short anyway.
const MAX_PLACES_NAMED: usize = 10;

/// `instead` says what would make the text clear.
fn describe_places(text: &str, places: &[Range<usize>], instead: &str) -> String {
    let mut lines = Vec::new();
    let mut line = 1;
    let mut counted = 0;
    for place in places.iter().take(MAX_PLACES_NAMED) {
        line += line_ends(text.get(counted..place.start).unwrap_or_default()).count();
        counted = place.start;
        lines.push(line.to_string());
    }
    lines.dedup();
    let more = places.len().saturating_sub(MAX_PLACES_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!(
        "the text to find stands at {} places (lines {}{more}); add lines around it so that it stands only once, or {instead}",
        places.len(),
        lines.join(", "),
    )
}

#[cfg(test)]
mod tests;
