//! Several replacements at once.

use expect_test::{Expect, expect};

use crate::workspace::matcher::{Occurrences, Replacement, replace_each};

/// Each line of `edits` is `find => replace`; `\n` in it is a line end, `*` before it replaces all places.
fn check(text: &str, edits: &[&str], expect: Expect) {
    let edits: Vec<_> = edits
        .iter()
        .map(|edit| {
            let (occurrences, edit) = match edit.strip_prefix('*') {
                Some(edit) => (Occurrences::All, edit),
                None => (Occurrences::One, *edit),
            };
            let (find, replace) = edit.split_once(" => ").unwrap();
            (find.replace("\\n", "\n"), replace.replace("\\n", "\n"), occurrences)
        })
        .collect();
    let edits: Vec<_> = edits
        .iter()
        .map(|(find, replace_with, occurrences)| Replacement {
            find,
            replace_with,
            occurrences: *occurrences,
        })
        .collect();
    let shown = match replace_each(text, &edits) {
        Ok(replaced) => {
            let places: Vec<_> = replaced.places.iter().map(|place| &replaced.text[place.clone()]).collect();
            format!("{:?} {:?} {places:?}", replaced.likeness, replaced.text)
        }
        Err((index, error)) => format!("number {}: {error}", index + 1),
    };
    expect.assert_eq(&shown);
}

#[test]
fn each_is_found_in_the_text_as_it_was() {
    check(
        "one two three\n",
        &["one => two", "two => three", "three => one"],
        expect![[r#"Exact "two three one\n" ["two", "three", "one"]"#]],
    );
    check("a b a\n", &["*a => b", "b => c"], expect![[r#"Exact "b c b\n" ["b", "c", "b"]"#]]);
}

#[test]
fn the_order_of_places_is_that_of_the_text() {
    check("a\nb\nc\n", &["c => C", "a => A1\\nA2"], expect![[r#"Exact "A1\nA2\nb\nC\n" ["A1\nA2", "C"]"#]]);
}

#[test]
fn what_only_an_earlier_one_wrote_is_found_there() {
    check(
        "start\nend\n",
        &["start => start\\nmiddle", "middle => centre"],
        expect![[r#"Exact "start\ncentre\nend\n" ["start\ncentre"]"#]],
    );
    check(
        "start\nend\n",
        &["middle => centre", "start => start\\nmiddle"],
        expect![
            "number 1: the text to find is not in the file, and nothing in it is near; read the file again and copy the text from there"
        ],
    );
    check(
        "a\nb\nc\n",
        &["b => b1\\nb2\\nb3", "b2\\n => ", "c => C"],
        expect![[r#"Exact "a\nb1\nb3\nC\n" ["b1\nb3", "C"]"#]],
    );
}

#[test]
fn two_that_change_the_same_are_refused_with_both_named() {
    check(
        "one two three\n",
        &["one two => 1 2", "two three => 2 3"],
        expect!["number 2: replacements 1 and 2 both change line 1; make them one"],
    );
    check(
        "x\n",
        &["x => y", "x => y"],
        expect!["number 2: replacements 1 and 2 both change line 1; make them one"],
    );
}

#[test]
fn two_that_only_share_lines_around_are_both_made() {
    check(
        "a\nb\nc\nd\n",
        &["a\\nb\\nc => A\\nb\\nc", "b\\nc\\nd => b\\nc\\nD"],
        expect![[r#"Exact "A\nb\nc\nD\n" ["A\n", "D"]"#]],
    );
}

#[test]
fn all_or_none_are_made() {
    check(
        "a\nb\n",
        &["a => A", "gone => x"],
        expect![
            "number 2: the text to find is not in the file, and nothing in it is near; read the file again and copy the text from there"
        ],
    );
    check(
        "a\nb\nb\n",
        &["a => A", "b => B"],
        expect![
            "number 2: the text to find stands at 2 places (lines 2, 3); add lines around it so that it stands only once, or ask to replace all"
        ],
    );
    check(
        "a\n",
        &["a => a"],
        expect![
            "number 1: the replacement changes nothing: the new text is the same as the old one (line ends stay those of the file)"
        ],
    );
}
