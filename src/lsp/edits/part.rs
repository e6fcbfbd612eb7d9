//! Which places of an edit a text shows: editors stop halfway, and users type.

use crate::workspace::{FileEdit, edit::Hunk};

/// What stands where an edit changes lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlaceNow {
    Before,
    After,
    /// Something else: somebody typed there.
    Else,
}

/// What stands at each hunk of an edit, in the order of [`FileEdit::hunks`].
pub(super) fn places(file: &FileEdit, now: &str) -> Vec<PlaceNow> {
    let (Some(_), Some(after)) = (&file.before, &file.after) else { return Vec::new() };
    let changed = FileEdit { after: Some(now.to_owned()), stretches: None, ..file.clone() }.hunks();
    let (after_lines, now_lines): (Vec<_>, Vec<_>) =
        (after.split_inclusive('\n').collect(), now.split_inclusive('\n').collect());
    let place = |hunk: &Hunk| {
        let is_there = |change: &&Hunk| {
            let (made, meant) = (now_lines.get(change.after.clone()), after_lines.get(hunk.after.clone()));
            change.before == hunk.before && made.is_some() && made == meant
        };
        let is_near =
            |change: &Hunk| change.before.start <= hunk.before.end && hunk.before.start <= change.before.end;
        match changed.iter().any(|change| is_there(&change)) {
            true => PlaceNow::After,
            false if changed.iter().any(is_near) => PlaceNow::Else,
            false => PlaceNow::Before,
        }
    };
    file.hunks().iter().map(place).collect()
}

/// When two texts count as the same: when they have the same lines, however those end, since editors write line ends of
/// their own; but for an edit that changes nothing else, when they are equal. A byte order mark is none of the text.
pub(super) fn likeness(file: &FileEdit) -> fn(&str, &str) -> bool {
    fn unmarked(text: &str) -> &str {
        text.strip_prefix('\u{feff}').unwrap_or(text)
    }
    fn has_same_lines(text: &str, other: &str) -> bool {
        unmarked(text).lines().eq(unmarked(other).lines())
    }
    fn is_equal(text: &str, other: &str) -> bool {
        unmarked(text) == unmarked(other)
    }
    match (&file.before, &file.after) {
        (Some(before), Some(after)) if *before.text != **after && has_same_lines(&before.text, after) => {
            is_equal
        }
        _ => has_same_lines,
    }
}
