//! Finds the text that a model wants to replace: exactly once, or refused with what is nearest.

mod nearest;

use std::ops::Range;

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
    /// But for line ends: the replacement took those of the file.
    LineEnds,
    /// But for line ends and blanks before them.
    TrailingSpaces,
}

/// Replaces `find` by `replace_with` in `text`: exactly where it stands, else where it stands but for line ends, else
/// but for trailing spaces. Nothing outside the places that match is touched, and the new lines end as those that
/// they replace.
pub fn replace(
    text: &str,
    find: &str,
    replace_with: &str,
    occurrences: Occurrences,
) -> Result<Replaced, MatchError> {
    if find.is_empty() {
        return Err(MatchError::Pointless(
            "the text to find is empty; give the text that is to be replaced, or write the whole file"
                .to_owned(),
        ));
    }
    let found = find_places(text, find);
    let Some(found) = found.or_else(|| unfinished_last_line(text, find)) else {
        return Err(MatchError::Missing(nearest::describe(text, find)));
    };
    if occurrences == Occurrences::One && found.places.len() > 1 {
        return Err(MatchError::Ambiguous(describe_places(text, &found.places)));
    }
    let new = if found.without_last_line_end {
        replace_with.strip_suffix('\n').map_or(replace_with, |new| new.strip_suffix('\r').unwrap_or(new))
    } else {
        replace_with
    };
    let mut out = String::with_capacity(text.len() + new.len());
    let mut places = Vec::with_capacity(found.places.len());
    let mut done = 0;
    let ends: Vec<_> = line_ends(text).collect();
    for place in found.places {
        out.push_str(text.get(done..place.start).unwrap_or_default());
        let start = out.len();
        push_with_line_ends_of(&mut out, new, &ends, &place);
        places.push(start..out.len());
        done = place.end;
    }
    out.push_str(text.get(done..).unwrap_or_default());
    if out == text {
        return Err(MatchError::Pointless(
            "the replacement changes nothing: the new text is the same as the old one (line ends stay those of the file)"
                .to_owned(),
        ));
    }
    Ok(Replaced { text: out, places, likeness: found.likeness })
}

struct Found {
    /// Byte ranges in the original text, in order, not overlapping; at least one.
    places: Vec<Range<usize>>,
    likeness: Likeness,
    /// The place is the text's end, which lacks the line end that was looked for.
    without_last_line_end: bool,
}

/// Whether a text is unique is judged with all line ends equal: in a file of mixed ends, what is found exactly once may
/// still look the same as another place.
fn find_places(text: &str, find: &str) -> Option<Found> {
    let folded = Folded::line_ends(text);
    let needle = Folded::line_ends(find).text;
    let found = |places: Vec<Range<usize>>, likeness| {
        let places: Vec<_> = places.iter().map(|place| folded.original(place)).collect();
        (!places.is_empty()).then_some(Found { places, likeness, without_last_line_end: false })
    };
    if let Some(mut found) = found(folded.places(&needle), Likeness::LineEnds) {
        if found.places.iter().all(|place| text.get(place.clone()) == Some(find)) {
            found.likeness = Likeness::Exact;
        }
        return Some(found);
    }
    let tight = Folded::trailing_spaces(&folded.text);
    let mut places = tight.places(&Folded::trailing_spaces(&needle).text);
    if needle.ends_with([' ', '\t']) {
        // Blanks at the very end of what is looked for stand for a line's end, not for any place inside a word.
        places.retain(|place| matches!(tight.text.as_bytes().get(place.end), None | Some(b'\n')));
    }
    found(places.iter().map(|place| tight.original(place)).collect(), Likeness::TrailingSpaces)
}

/// The last line of a file without a line end, looked for with one.
fn unfinished_last_line(text: &str, find: &str) -> Option<Found> {
    let folded = Folded::line_ends(text);
    let needle = Folded::line_ends(find).text;
    let needle = needle.strip_suffix('\n').filter(|needle| !needle.is_empty())?;
    let start = folded.text.strip_suffix(needle)?.len();
    let place = folded.original(&(start..folded.text.len()));
    Some(Found { places: vec![place], likeness: Likeness::LineEnds, without_last_line_end: true })
}
