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

/// A text with differences folded away, and the way back to the original's offsets.
struct Folded {
    text: String,
    /// For every byte left out, the offset in `text` before which it stood; ascending.
    left_out: Vec<usize>,
}

impl Folded {
    /// Every line end becomes `\n`.
    fn line_ends(original: &str) -> Self {
        let mut text = String::with_capacity(original.len());
        let mut left_out = Vec::new();
        let mut characters = original.chars().peekable();
        while let Some(character) = characters.next() {
            match character {
                '\r' if characters.peek() == Some(&'\n') => left_out.push(text.len()),
                '\r' => text.push('\n'),
                other => text.push(other),
            }
        }
        Self { text, left_out }
    }

    /// Blanks before a line's end or the text's end go; line ends are `\n` already.
    fn trailing_spaces(original: &str) -> Self {
        let mut text = String::with_capacity(original.len());
        let mut left_out = Vec::new();
        for line in original.split_inclusive('\n') {
            let content = line.strip_suffix('\n').unwrap_or(line);
            let kept = content.trim_end_matches([' ', '\t']);
            text.push_str(kept);
            left_out.extend(std::iter::repeat_n(text.len(), content.len() - kept.len()));
            if content.len() < line.len() {
                text.push('\n');
            }
        }
        Self { text, left_out }
    }

    /// Where `needle` stands in the folded text.
    fn places(&self, needle: &str) -> Vec<Range<usize>> {
        if needle.is_empty() {
            return Vec::new();
        }
        self.text.match_indices(needle).map(|(start, found)| start..start + found.len()).collect()
    }

    /// The range of the original that a range of the folded text stands for.
    fn original(&self, folded: &Range<usize>) -> Range<usize> {
        let offset = |offset: usize| offset + self.left_out.partition_point(|&before| before < offset);
        offset(folded.start)..offset(folded.end)
    }
}

/// Appends `new`, each line ended as the line that it replaces: the first as the first of `place`, and so on; further
/// ones as the last of them, or as the lines around when `place` lies inside one line. `ends` are those of the whole
/// text, which may be one long line with very many places.
fn push_with_line_ends_of(out: &mut String, new: &str, ends: &[(usize, &str)], place: &Range<usize>) {
    let first = ends.partition_point(|(at, _)| *at < place.start);
    let behind = ends.partition_point(|(at, _)| *at < place.end);
    let mut replaced = ends.get(first..behind).unwrap_or_default().iter().map(|(_, end)| *end).peekable();
    let around = || ends.get(behind).or_else(|| ends.get(..first)?.last()).map(|(_, end)| *end);
    let mut line_end = if replaced.peek().is_some() { None } else { around() };
    let mut rest = new;
    while let Some((at, given)) = line_ends(rest).next() {
        let (line, behind) = rest.split_at(at);
        out.push_str(line);
        line_end = replaced.next().or(line_end);
        out.push_str(line_end.unwrap_or(given));
        rest = behind.strip_prefix(given).unwrap_or_default();
    }
    out.push_str(rest);
}

/// The line ends of a text as they are written, in order, with where they stand.
fn line_ends(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.match_indices(['\n', '\r']).filter_map(|(at, found)| match found {
        "\r" if text.get(at + 1..).is_some_and(|behind| behind.starts_with('\n')) => {
            Some((at, text.get(at..at + 2)?))
        }
        "\n" if text.get(..at).is_some_and(|before| before.ends_with('\r')) => None,
        lone => Some((at, lone)),
    })
}

/// So many places are named; with more, the text to find is far too short anyway.
const MAX_PLACES_NAMED: usize = 10;

fn describe_places(text: &str, places: &[Range<usize>]) -> String {
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
        "the text to find stands at {} places (lines {}{more}); add lines around it so that it stands only once, or ask to replace all",
        places.len(),
        lines.join(", "),
    )
}

#[cfg(test)]
mod tests;
