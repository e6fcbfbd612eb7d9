//! Taking a change back out of a text that has gone on since: line by line, between three texts.

use crate::workspace::edit::{Stretch, stretches};

/// A text without the change, as far as that can be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Merged {
    pub(super) text: String,
    /// Places of the change that are still in the text, since somebody else has changed the same lines.
    pub(super) touched: usize,
}

/// From `left` to `wanted` is the change to make, from `left` to `now` what others have done since. Both are kept where
/// they do not touch, which they do when they change the same line or put lines in at the same place; there `now` stays.
pub(super) fn merge(left: &str, wanted: &str, now: &str) -> Merged {
    let ours = stretches(left, wanted);
    let theirs = stretches(left, now);
    let text_of =
        |text: &'_ str, stretch: &Stretch| text.get(stretch.after.clone()).unwrap_or_default().to_owned();
    let mut changes: Vec<_> =
        theirs.iter().map(|stretch| (stretch.before.clone(), text_of(now, stretch))).collect();
    let mut touched = 0;
    for own in &ours {
        let own_change = (own.before.clone(), text_of(wanted, own));
        if changes.contains(&own_change) {
            // Others have done the same.
            continue;
        }
        if theirs.iter().any(|their| touch(own, their)) {
            touched += 1;
        } else {
            changes.push(own_change);
        }
    }
    // What is put in before a line comes before what happens to the line.
    changes.sort_by_key(|(range, _)| (range.start, range.end));
    let mut text = String::with_capacity(now.len().max(wanted.len()));
    let mut done = 0;
    for (range, new_text) in &changes {
        text.push_str(left.get(done..range.start).unwrap_or_default());
        text.push_str(new_text);
        done = range.end;
    }
    text.push_str(left.get(done..).unwrap_or_default());
    Merged { text, touched }
}

fn touch(one: &Stretch, other: &Stretch) -> bool {
    let (one, other) = (&one.before, &other.before);
    let overlap = one.start < other.end && other.start < one.end;
    overlap || (one.is_empty() && other.is_empty() && one.start == other.start)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::*;

    fn check(left: &str, wanted: &str, now: &str, expect: Expect) {
        expect.assert_eq(&format!("{:?}", merge(left, wanted, now)));
    }

    #[test]
    fn both_changes_are_kept_where_they_do_not_touch() {
        check(
            "a\nB\nc\n",
            "a\nb\nc\n",
            "a\nB\nc\nd\n",
            expect![[r#"Merged { text: "a\nb\nc\nd\n", touched: 0 }"#]],
        );
        check(
            "a\nB\nc\n",
            "a\nb\nc\n",
            "a\nB\nC\n",
            expect![[r#"Merged { text: "a\nb\nC\n", touched: 0 }"#]],
        );
        // Lines of the agent go, and the user's line behind them stays.
        check("a\nN\n", "a\n", "a\nN\nuser\n", expect![[r#"Merged { text: "a\nuser\n", touched: 0 }"#]]);
    }

    #[test]
    fn where_they_touch_the_text_stays_as_it_is_now() {
        check(
            "a\nB\nc\n",
            "a\nb\nc\n",
            "a\nBB\nc\n",
            expect![[r#"Merged { text: "a\nBB\nc\n", touched: 1 }"#]],
        );
        check(
            "A\nx\nB\n",
            "a\nx\nb\n",
            "A!\nx\nB\n",
            expect![[r#"Merged { text: "A!\nx\nb\n", touched: 1 }"#]],
        );
        check(
            "a\nc\n",
            "a\nb\nc\n",
            "a\nuser\nc\n",
            expect![[r#"Merged { text: "a\nuser\nc\n", touched: 1 }"#]],
        );
    }

    #[test]
    fn what_others_have_taken_back_already_is_no_conflict() {
        check(
            "A\nx\nB\n",
            "a\nx\nb\n",
            "a\nx\nB\n",
            expect![[r#"Merged { text: "a\nx\nb\n", touched: 0 }"#]],
        );
    }

    proptest! {
        #[test]
        fn a_change_alone_is_made_whole(
            left in "([ab]\n){0,9}", wanted in "([ab]\n){0,9}c?", now in "([ab]\r?\n){0,9}"
        ) {
            let whole = |text: &str| Merged { text: text.to_owned(), touched: 0 };
            prop_assert_eq!(merge(&left, &wanted, &left), whole(&wanted));
            prop_assert_eq!(merge(&left, &wanted, &wanted), whole(&wanted));
            prop_assert_eq!(merge(&left, &left, &now), whole(&now));
        }

        #[test]
        fn no_line_that_others_wrote_is_lost(
            left in "([ab]\n){0,9}", wanted in "([ab]\n){0,9}", line in 0_usize..9
        ) {
            let mut lines: Vec<_> = left.split_inclusive('\n').collect();
            lines.insert(line.min(lines.len()), "mine\n");
            let merged = merge(&left, &wanted, &lines.concat());
            prop_assert_eq!(merged.text.matches("mine\n").count(), 1);
        }
    }

    #[test]
    fn line_ends_stay_as_they_are() {
        check(
            "a\r\nB\r\n",
            "a\r\nb\r\n",
            "0\r\na\r\nB\r\n",
            expect![[r#"Merged { text: "0\r\na\r\nb\r\n", touched: 0 }"#]],
        );
        check("B", "b", "0\nB", expect![[r#"Merged { text: "0\nb", touched: 0 }"#]]);
    }
}
