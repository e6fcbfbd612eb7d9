//! What of the file's bytes stays, on each rank.

use expect_test::expect;

use super::check;

#[test]
fn lines_that_both_texts_share_keep_the_bytes_of_the_file() {
    check("a  \nb\t\nc\n", "a\nb\nc", "a\nx\nc", expect![[r#"TrailingSpaces "a  \nx\nc\n""#]]);
    check(
        "\tone\n\n\t\ttwo\n",
        "  one\n\n    two",
        "  one\n\n    three",
        expect![[r#"Indentation "\tone\n\n\t\tthree\n""#]],
    );
    check("a\r\nb\nc\r\n", "a\nb\nc", "a\nx\nb\nc", expect![[r#"LineEnds "a\r\nx\r\nb\nc\r\n""#]]);
}

#[test]
fn new_lines_are_indented_as_the_file_is() {
    let file = "f:\n\tone:\n\t\ttwo\n\tend\n";
    check(
        file,
        "    one:\n        two",
        "    one:\n        two\n        if x:\n            three\n\n    four",
        expect![[r#"Indentation "f:\n\tone:\n\t\ttwo\n\t\tif x:\n\t\t\tthree\n\n\tfour\n\tend\n""#]],
    );
    check(
        "a {\n    bcd;\n}\n",
        "bcd;",
        "if x {\n  bcd;\n}\nefg;",
        expect![[r#"Indentation "a {\n    if x {\n        bcd;\n    }\n    efg;\n}\n""#]],
    );
    check(
        "a {\n    bcd;\n}\n",
        "bcd;",
        "bcd;\n    efg;",
        expect![[r#"Exact "a {\n    bcd;\n    efg;\n}\n""#]],
    );
    check("a {\n    bcd;\n}\n", "bcd;", "bcd;\n}\nb {", expect![[r#"Exact "a {\n    bcd;\n}\nb {\n}\n""#]]);
    check(
        "a {\n        bcd;\n}\n",
        "  bcd;",
        "  b;\n  c;",
        expect![[r#"Indentation "a {\n        b;\n        c;\n}\n""#]],
    );
    check(
        "a {\n    bcd;\n}\n",
        "  bcd;",
        "  bcd;\n  if x {\n    e;\n  }",
        expect![[r#"Indentation "a {\n    bcd;\n    if x {\n        e;\n    }\n}\n""#]],
    );
    check(
        "        deep();\n",
        "deep();\nx",
        "y",
        expect![[r#"
        the text to find is not in the file; the nearest is line 1:
        1:         deep();
        line 1 is `        deep();`, not `deep();` (only the indentation differs)"#]],
    );
}

#[test]
fn a_block_that_would_change_its_shape_is_not_shifted() {
    check(
        "if a:\n    bcd()\nefg()\n",
        "  if a:\n      bcd()\n      efg()",
        "",
        expect![[r#"
        the text to find is not in the file; the nearest is at lines 1-3:
        1: if a:
        2:     bcd()
        3: efg()
        line 1 is `if a:`, not `  if a:` (only the indentation differs)"#]],
    );
}

#[test]
fn a_bracket_with_another_indentation_is_another_bracket() {
    check(
        "f {\n    g\n}\n",
        "  }",
        "  };",
        expect![
            "the text to find is not in the file, and nothing in it is near; read the file again and copy the text from there"
        ],
    );
}

#[test]
fn a_line_that_goes_takes_its_indentation_along() {
    check("  alpha\n  beta\n  gamma\n", "beta\n", "", expect![[r#"Indentation "  alpha\n  gamma\n""#]]);
    check("  alpha\n  beta\n  gamma\n", "alpha\n  beta\n", "", expect![[r#"Indentation "  gamma\n""#]]);
}

#[test]
fn blanks_in_a_line_need_not_match() {
    check("foo(a,b);\n", "foo(a, b);", "foo(a, b, c);", expect![[r#"Typography "foo(a,b, c);\n""#]]);
    check("let x=1;\n", "let x = 1;", "let x = 2;", expect![[r#"Typography "let x=2;\n""#]]);
}

#[test]
fn what_looks_like_a_line_number_may_be_none() {
    check(
        "see the web\nserver\n",
        "8080: web",
        "8081: web",
        expect![[r#"
        the text to find is not in the file; it seems to begin its lines with line numbers, which are not part of the file: leave them out; the nearest is line 1:
        1: see the web
        line 1 is `see the web`, not `8080: web` (the first difference)"#]],
    );
    check(
        "name\nserver\n",
        "8080: server",
        "8081: server",
        expect![[r#"
        the text to find is not in the file; it seems to begin its lines with line numbers, which are not part of the file: leave them out; the nearest is line 2:
        2: server
        line 2 is `server`, not `8080: server` (the first difference)"#]],
    );
    check("name\nserver\n", "3: server", "3: client", expect![[r#"Wrapping "name\nclient\n""#]]);
}

#[test]
fn a_spread_is_no_elision() {
    check(
        "f({\n  one,\n  two,\n  three,\n});\n",
        "f({\n  ...all,\n});",
        "f({\n  ...all,\n  four,\n});",
        expect![[r#"
            the text to find is not in the file; the nearest is at lines 1-3:
            1: f({
            2:   one,
            3:   two,
            line 2 is `  one,`, not `  ...all,` (the first difference)"#]],
    );
}

#[test]
fn signs_that_look_alike_stay_those_of_the_file() {
    check(
        "He said “no” — twice…\n",
        "said \"no\" - twice...",
        "said \"no\" - thrice...",
        expect![[r#"Typography "He said “no” — thrice…\n""#]],
    );
    check(
        "print('a', \"b\")\n",
        "print(‘a’, “b”)",
        "print(‘a’, “b”, “c”)",
        expect![[r#"Typography "print('a', \"b\", \"c\")\n""#]],
    );
    check(
        "// don’t\nlet y = 1;\n",
        "// don't\nlet y = 1;",
        "let x = 'a';\nlet y = 1;",
        expect![[r#"Typography "let x = 'a';\nlet y = 1;\n""#]],
    );
    check("one\u{a0}two\n", "one two", "one three", expect![[r#"Typography "one three\n""#]]);
}

#[test]
fn escapes_and_entities_are_read_as_what_they_stand_for() {
    check(
        "if a < b && c {\n",
        "if a &lt; b &amp;&amp; c {",
        "if a &lt;= b &amp;&amp; c {",
        expect![[r#"Wrapping "if a <= b && c {\n""#]],
    );
    check(
        "say(\"hi\");\n",
        "say(\\\"hi\\\");",
        "say(\\\"ho\\\");",
        expect![[r#"Wrapping "say(\"ho\");\n""#]],
    );
    check(
        "say(\"a\\nb\");\n",
        "say(\"a\nb\");",
        "say(\"a\nc\");",
        expect![[r#"Wrapping "say(\"a\\nc\");\n""#]],
    );
    check(
        "say(\"a\\nb\");\n",
        "say(\"a\nb\");",
        "say(\"a\n\"c\"\");",
        expect![[r#"
        the file writes this text with escapes (`\n`, `\"` …) and the replacement adds such characters, so it is not clear what is to be escaped; write both texts as the file has them
        the text to find is not in the file; the nearest is line 1:
        1: say("a\nb");
        line 1 is `say("a\nb");`, not `say("a` (the first difference)"#]],
    );
}

const FUNCTION: &str = "fn f() {\n    // first\n    one();\n    two();\n    three();\n    four();\n}\n";

#[test]
fn lines_that_were_forgotten_stay() {
    check(
        FUNCTION,
        "fn f() {\n    one();\n    two();\n    four();\n}",
        "fn f() {\n    1();\n    two();\n    four();\n}",
        expect![[
            r#"Anchors "fn f() {\n    // first\n    1();\n    two();\n    three();\n    four();\n}\n""#
        ]],
    );
    check(
        FUNCTION,
        "fn f() {\n    ...\n    four();\n}",
        "fn f(x: u8) {\n    ...\n    four();\n}",
        expect![[
            r#"Anchors "fn f(x: u8) {\n    // first\n    one();\n    two();\n    three();\n    four();\n}\n""#
        ]],
    );
}

#[test]
fn an_edit_of_what_the_file_has_otherwise_is_refused() {
    check(
        FUNCTION,
        "fn f() {\n    one();\n    too(x);\n    three();\n    four();\n}",
        "fn f() {\n    one();\n    too(y);\n    three();\n    four();\n}",
        expect![[r#"
            the text to find is not in the file as it stands, and the edit changes what differs; the nearest is at lines 1-7:
            1: fn f() {
            2:     // first
            3:     one();
            4:     two();
            5:     three();
            6:     four();
            7: }
            there is no line `    too(x);` in it"#]],
    );
    check(
        FUNCTION,
        "fn f() {\n    ...\n    four();\n}",
        "",
        expect![[r#"
        the text to find is not in the file as it stands, and the edit changes what differs; the nearest is at lines 1-7:
        1: fn f() {
        2:     // first
        3:     one();
        4:     two();
        5:     three();
        6:     four();
        7: }
        there is no line `    ...` in it"#]],
    );
}

#[test]
fn lines_that_the_edit_does_not_show_do_not_go_with_others() {
    check(
        FUNCTION,
        "fn f() {\n    one();\n    two();\n    three();\n    four();\n}",
        "fn f() {}",
        expect![[r#"
            the text to find is not in the file as it stands, and the edit changes what differs; the nearest is at lines 1-7:
            1: fn f() {
            2:     // first
            3:     one();
            4:     two();
            5:     three();
            6:     four();
            7: }
            lines before line 7 would go that the text to find does not have; write them as well"#]],
    );
}

#[test]
fn an_edit_that_was_made_before_is_recognised() {
    check(
        "first();\nsecond();\n",
        "zweite();",
        "second();",
        expect![[r#"
            the text to find is not in the file, and nothing in it is near; read the file again and copy the text from there
            the replacement stands at line 2 already: the edit may have been made before"#]],
    );
    check(
        "let answer = 42;\n",
        "let answer = compute();",
        "let answer = 42;",
        expect![[r#"
            the text to find is not in the file; the nearest is line 1:
            1: let answer = 42;
            line 1 is `let answer = 42;`, not `let answer = compute();` (the first difference)
            the replacement stands at line 1 already: the edit may have been made before"#]],
    );
}
