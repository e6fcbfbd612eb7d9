//! How the lines of one text became those of another.

use std::{iter, time::Duration};

use similar::{
    DiffOp,
    algorithms::{Capture, Compact, DiffHook, Replace},
};

/// Lines that go and lines that come, up to which the shortest way is searched for directly: a few dozen hunks. The search
/// costs the square of this number, besides one comparison of each line.
const MAX_FEW: usize = 128;

/// Lines compared for each line of the texts before the search for few differences is given up: lines that are all alike
/// could make it compare each with [`MAX_FEW`] others.
const MAX_COMPARED: usize = 2;

/// What makes `old` to `new`, in order, from the first line to the last. `limit` is the longest that the shortest way is
/// looked for; the answer then is right, but longer.
pub(super) fn line_diff(old: &[&str], new: &[&str], limit: Duration) -> Vec<DiffOp> {
    // Most edits change little of a file: then no line has to be hashed.
    few_differences(old, new)
        .unwrap_or_else(|| similar::TextDiff::configure().timeout(limit).diff_slices(old, new).ops().to_vec())
}

/// How far a way with some number of differences gets, on each diagonal: in lines of `old`, behind the equal lines that
/// follow its last difference. `None` where it would leave one of the texts. On the diagonal with index `i` of the way
/// with `n` differences `n - i` lines have come and `i` have gone.
type Reach = Vec<Option<usize>>;

/// A line that a way passes alone.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Difference {
    Gone,
    Came,
}

/// The shortest way, after Myers; `None` when it is longer than [`MAX_FEW`] or takes too long to find.
fn few_differences(old: &[&str], new: &[&str]) -> Option<Vec<DiffOp>> {
    let mut reaches: Vec<Reach> = Vec::new();
    let mut may_compare = (old.len() + new.len()).saturating_mul(MAX_COMPARED);
    for count in 0..=MAX_FEW {
        let mut reach = Vec::with_capacity(count + 1);
        for index in 0..=count {
            let start = match reaches.last() {
                None => Some(0),
                Some(before) => step(before, index, old.len(), new.len()).map(|(start, _)| start),
            };
            let Some(start) = start else {
                reach.push(None);
                continue;
            };
            let (old_rest, new_rest) = (old.get(start..)?, new.get(in_new(start, count, index)..)?);
            let equal = old_rest.iter().zip(new_rest).take_while(|(one, other)| one == other).count();
            may_compare = may_compare.checked_sub(equal)?;
            reach.push(Some(start + equal));
            if equal == old_rest.len() && equal == new_rest.len() {
                reaches.push(reach);
                return Some(ops(old, new, &reaches, index));
            }
        }
        reaches.push(reach);
    }
    None
}

/// The line of `new` that a way stands at, by the line of `old`.
fn in_new(line: usize, count: usize, index: usize) -> usize {
    (line + count).saturating_sub(2 * index)
}

/// Where a way gets that has one more difference than those of `before`, and which: the farthest that can be.
fn step(
    before: &[Option<usize>],
    index: usize,
    old_len: usize,
    new_len: usize,
) -> Option<(usize, Difference)> {
    let count = before.len().checked_sub(1)?;
    let came = before.get(index).copied().flatten();
    let came = came.filter(|&line| in_new(line, count, index) < new_len);
    let gone = index.checked_sub(1).and_then(|index| before.get(index).copied().flatten());
    let gone = gone.filter(|&line| line < old_len).map(|line| line + 1);
    match (came, gone) {
        (Some(came), gone) if gone.is_none_or(|gone| gone <= came) => Some((came, Difference::Came)),
        (_, gone) => gone.map(|gone| (gone, Difference::Gone)),
    }
}

/// The way that ends on the diagonal `index` of the last reach, tidied as the library tidies its own.
fn ops(old: &[&str], new: &[&str], reaches: &[Reach], mut index: usize) -> Vec<DiffOp> {
    // Backwards: how many equal lines stand behind each difference.
    let mut way: Vec<(Difference, usize)> = Vec::new();
    let mut equal_first = 0;
    for (count, reach) in reaches.iter().enumerate().rev() {
        let end = reach.get(index).copied().flatten().unwrap_or_default();
        let before = count.checked_sub(1).and_then(|count| reaches.get(count));
        let Some((start, difference)) = before.and_then(|before| step(before, index, old.len(), new.len()))
        else {
            equal_first = end;
            break;
        };
        way.push((difference, end - start));
        if difference == Difference::Gone {
            index -= 1;
        }
    }
    let mut hook = Compact::new(Replace::new(Capture::new()), old, new);
    let (mut in_old, mut in_new) = (0, 0);
    let differences = way.into_iter().rev().map(|(difference, equal)| (Some(difference), equal));
    for (difference, equal) in iter::once((None, equal_first)).chain(differences) {
        match difference {
            Some(Difference::Gone) => {
                let Ok(()) = hook.delete(in_old, 1, in_new);
                in_old += 1;
            }
            Some(Difference::Came) => {
                let Ok(()) = hook.insert(in_old, in_new, 1);
                in_new += 1;
            }
            None => {}
        }
        if equal > 0 {
            let Ok(()) = hook.equal(in_old, in_new, equal);
            in_old += equal;
            in_new += equal;
        }
    }
    let Ok(()) = hook.finish();
    hook.into_inner().into_inner().into_ops()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(5);

    fn of_library(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
        similar::TextDiff::configure().timeout(LIMIT).diff_slices(old, new).ops().to_vec()
    }

    fn changed(ops: &[DiffOp]) -> usize {
        let is_change = |op: &&DiffOp| !matches!(op, DiffOp::Equal { .. });
        ops.iter().filter(is_change).map(|op| op.old_range().len() + op.new_range().len()).sum()
    }

    /// Makes `old` to `new` by `ops`, and fails where those say something that is not so.
    fn follow(old: &[&str], new: &[&str], ops: &[DiffOp]) {
        let mut ends = (0, 0);
        for op in ops {
            assert_eq!((op.old_range().start, op.new_range().start), ends, "{ops:?}");
            if matches!(op, DiffOp::Equal { .. }) {
                assert_eq!(old[op.old_range()], new[op.new_range()], "{ops:?}");
            }
            ends = (op.old_range().end, op.new_range().end);
        }
        assert_eq!(ends, (old.len(), new.len()), "{ops:?}");
    }

    fn lines(text: &str) -> Vec<&str> {
        text.split_inclusive(' ').collect()
    }

    fn check(old: &str, new: &str) {
        let (old, new) = (lines(old), lines(new));
        let ops = line_diff(&old, &new, LIMIT);
        follow(&old, &new, &ops);
        assert_eq!(ops, of_library(&old, &new));
    }

    #[test]
    fn few_differences_are_those_that_the_library_finds() {
        check("", "");
        check("", "a ");
        check("a b ", "");
        check("a b c d ", "a b c d ");
        check("a b c d ", "a x c y z d ");
        check("a b c d ", "b c d e ");
        check("{ a } { b } ", "{ a } { c } { b } ");
        check("a a a ", "a a a a ");
    }

    #[test]
    fn more_differences_than_a_few_are_found_as_well() {
        let old: String = (0..1_000).map(|number| format!("{number} ")).collect();
        let new: String = (0..1_000).map(|number| format!("{} ", number / 3 * 3)).collect();
        assert_eq!(few_differences(&lines(&old), &lines(&new)), None);
        check(&old, &new);
    }

    #[test]
    fn lines_that_are_mostly_alike_cost_no_square() {
        let text = |run| format!("{}x ", "a ".repeat(run)).repeat(40);
        let (old, new) = (text(50), text(53));
        let (old, new) = (lines(&old), lines(&new));
        assert_eq!(few_differences(&old, &new), None);
        follow(&old, &new, &line_diff(&old, &new, LIMIT));
    }

    proptest! {
        #[test]
        fn the_way_is_right_and_none_is_shorter(old in "([abc{}] ){0,40}", new in "([abc{}] ){0,40}") {
            let (old, new) = (lines(&old), lines(&new));
            let ops = line_diff(&old, &new, LIMIT);
            follow(&old, &new, &ops);
            prop_assert!(changed(&ops) <= changed(&of_library(&old, &new)));
        }
    }
}
