mod carry;
mod each;
mod hunks;
mod near_misses;
mod random;

use expect_test::{Expect, expect};

use super::*;

/// `\r` and `\n` are shown as they are written in Rust.
fn check_with(occurrences: Occurrences, text: &str, find: &str, replace_with: &str, expect: Expect) {
    let shown = match replace(text, find, replace_with, occurrences) {
        Ok(replaced) => format!("{:?} {:?}", replaced.likeness, replaced.text),
        Err(error) => error.to_string(),
    };
    expect.assert_eq(&shown);
}

fn check(text: &str, find: &str, replace_with: &str, expect: Expect) {
    check_with(Occurrences::One, text, find, replace_with, expect);
}

const RUST: &str = "fn a() {\n    go(1);\n}\n// tail with words\n";

/// Thousands of places in one long line took minutes when each looked for line ends by itself.
#[test]
fn very_many_places_in_one_line_are_replaced_in_one_go() {
    let text = "a,b,".repeat(200_000) + "\r\nend";
    let replaced = replace(&text, "b,", "b;\n", Occurrences::All).unwrap();
    assert_eq!(replaced.places.len(), 200_000);
    assert_eq!(replaced.text, "a,b;\r\n".repeat(200_000) + "\r\nend");
}

#[test]
fn a_piece_inside_a_line_is_enough() {
    check("one two three\n", "two", "2", expect![[r#"Exact "one 2 three\n""#]]);
    check(
        RUST,
        "    go(1);\n}\n// tail",
        "    go(2);\n}\n// tail",
        expect![[r#"Exact "fn a() {\n    go(2);\n}\n// tail with words\n""#]],
    );
    check(RUST, "(1);\n}", "(3);\n}", expect![[r#"Exact "fn a() {\n    go(3);\n}\n// tail with words\n""#]]);
}

#[test]
fn text_in_lf_finds_its_place_in_a_file_in_crlf_and_takes_its_line_ends() {
    let text = "line one\r\nline two\r\nline three\r\n";
    check(
        text,
        "line one\nline two",
        "line ONE\nline 2a\nline 2b",
        expect![[r#"LineEnds "line ONE\r\nline 2a\r\nline 2b\r\nline three\r\n""#]],
    );
    check(text, "line two\n", "", expect![[r#"LineEnds "line one\r\nline three\r\n""#]]);
    check(
        text,
        "line two",
        "line 2\nline 2b",
        expect![[r#"Exact "line one\r\nline 2\r\nline 2b\r\nline three\r\n""#]],
    );
}

#[test]
fn text_in_crlf_finds_its_place_in_a_file_in_lf() {
    check("one\ntwo\nthree\n", "one\r\ntwo", "ONE\r\nTWO", expect![[r#"LineEnds "ONE\nTWO\nthree\n""#]]);
}

#[test]
fn lines_of_a_mixed_file_keep_their_ends() {
    check("a\r\nb\nc\r\nd\n", "b", "B", expect![[r#"Exact "a\r\nB\nc\r\nd\n""#]]);
    check("a\r\nb\nc\rd\n", "a\nb\nc\nd", "A\nb\nC\nd", expect![[r#"LineEnds "A\r\nb\nC\rd\n""#]]);
}

#[test]
fn what_looks_the_same_is_not_unique_whatever_its_line_ends() {
    check(
        "k\r\nv\r\n\r\nk\nv\n",
        "k\nv",
        "K\nV",
        expect![
            "the text to find stands at 2 places (lines 1, 4); add lines around it so that it stands only once, or ask to replace all"
        ],
    );
}

#[test]
fn blanks_at_the_end_of_lines_need_not_match() {
    check("a  \nb\t\nc\n", "a\nb\nc", "x\ny\nz", expect![[r#"TrailingSpaces "x\ny\nz\n""#]]);
    check("a\nb\nc\n", "a  \nb ", "x\ny", expect![[r#"TrailingSpaces "x\ny\nc\n""#]]);
}

#[test]
fn blanks_at_the_very_end_do_not_match_the_middle_of_a_word() {
    check(
        "foobar\n",
        "foo ",
        "x",
        expect![[r#"
        the text to find is not in the file, and nothing in it is near; read the file again and copy the text from there"#]],
    );
}

#[test]
fn the_end_of_the_file_stays_as_it_is() {
    check("a\nb\nc", "b", "B", expect![[r#"Exact "a\nB\nc""#]]);
    check("a\nb\nc", "c", "c\nd", expect![[r#"Exact "a\nb\nc\nd""#]]);
    check("a\nb\nc", "c\n", "C\n", expect![[r#"LineEnds "a\nb\nC""#]]);
    check("alpha\nbeta\n\n", "alpha", "ALPHA", expect![[r#"Exact "ALPHA\nbeta\n\n""#]]);
}

#[test]
fn several_places_are_replaced_only_when_asked_for() {
    check(
        "x y x\nx\n",
        "x",
        "z",
        expect![
            "the text to find stands at 3 places (lines 1, 2); add lines around it so that it stands only once, or ask to replace all"
        ],
    );
    check_with(Occurrences::All, "x y x\nx\n", "x", "zz", expect![[r#"Exact "zz y zz\nzz\n""#]]);
    check(
        &"x\n".repeat(30),
        "x",
        "z",
        expect![
            "the text to find stands at 30 places (lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 20 more); add lines around it so that it stands only once, or ask to replace all"
        ],
    );
}

#[test]
fn the_new_places_are_named() {
    let replaced = replace("x y x", "x", "zz", Occurrences::All).unwrap();
    assert_eq!(replaced.places, [0..2, 5..7]);
}

#[test]
fn another_indentation_is_that_of_the_file() {
    check(
        RUST,
        "go(1);\n  }",
        "go(9);\n  }",
        expect![[r#"Indentation "fn a() {\n    go(9);\n}\n// tail with words\n""#]],
    );
}

#[test]
fn the_nearest_lines_and_their_first_difference_are_shown() {
    check(
        "fn a() {}\n\nfn total(items: &[u32]) -> u32 {\n    items.iter().sum()\n}\n",
        "fn total(items: &[u64]) -> u64 {\n    items.iter().sum()\n}",
        "",
        expect![[r#"
        the text to find is not in the file; the nearest is at lines 3-5:
        3: fn total(items: &[u32]) -> u32 {
        4:     items.iter().sum()
        5: }
        line 3 is `fn total(items: &[u32]) -> u32 {`, not `fn total(items: &[u64]) -> u64 {` (the first difference)"#]],
    );
    check(
        "let Total = 1;\n",
        "let total = 1;",
        "",
        expect![[r#"
        the text to find is not in the file; the nearest is line 1:
        1: let Total = 1;
        line 1 is `let Total = 1;`, not `let total = 1;` (only upper and lower case differ)"#]],
    );
}

#[test]
fn line_numbers_copied_from_a_shown_file_are_left_out() {
    check("a\nbeta\n", "2: beta", "2: gamma", expect![[r#"Wrapping "a\ngamma\n""#]]);
    check(
        "a\nbeta\n",
        "2: gamma\n3: delta",
        "",
        expect![[r#"
        the text to find is not in the file; it seems to begin its lines with line numbers, which are not part of the file: leave them out, and nothing in it is near; read the file again and copy the text from there"#]],
    );
}

#[test]
fn what_would_change_nothing_is_refused() {
    check(
        "a\n",
        "",
        "b",
        expect!["the text to find is empty; give the text that is to be replaced, or write the whole file"],
    );
    check(
        "a\r\nb\r\n",
        "a\nb",
        "a\nb",
        expect![
            "the replacement changes nothing: the new text is the same as the old one (line ends stay those of the file)"
        ],
    );
}

proptest::proptest! {
    #[test]
    fn nothing_outside_the_place_is_touched(
        before in "[ab \r\n]{0,10}", middle in "[xé]{1,4}", after in "[ab \r\n]{0,10}", new in "[yz]{1,4}",
    ) {
        let text = format!("{before}{middle}{after}");
        let replaced = replace(&text, &middle, &new, Occurrences::One);
        let expected = format!("{before}{new}{after}");
        proptest::prop_assert_eq!(replaced.map(|replaced| replaced.text), Ok(expected));
    }

    #[test]
    fn no_text_panics(text in "[ab \t\r\né]{0,20}", find in "[ab \t\r\né]{0,6}", new in "[ab\r\n]{0,6}") {
        for occurrences in [Occurrences::One, Occurrences::All] {
            let _ = replace(&text, &find, &new, occurrences);
        }
    }
}
