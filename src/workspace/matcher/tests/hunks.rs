//! Hunks of a patch without line numbers.

use expect_test::{Expect, expect};

use crate::workspace::matcher::{PatchHunk, replace_hunks};

/// A patch as models write it: `@@` begins a hunk, with an anchor behind it or not; a further anchor stands on its own
/// line; `$` ends one that lies at the end of the file.
fn check(text: &str, patch: &str, expect: Expect) {
    let mut hunks: Vec<PatchHunk> = Vec::new();
    for line in patch.lines() {
        if let Some(anchor) = line.strip_prefix("@@") {
            let is_new =
                hunks.last().is_none_or(|hunk| !hunk.old_lines.is_empty() || !hunk.new_lines.is_empty());
            if is_new {
                hunks.push(PatchHunk::default());
            }
            let anchors = &mut hunks.last_mut().unwrap().anchors;
            anchors.extend(Some(anchor.trim().to_owned()).filter(|anchor| !anchor.is_empty()));
            continue;
        }
        let hunk = hunks.last_mut().unwrap();
        match line.split_at(1) {
            ("$", _) => hunk.at_end = true,
            ("-", old) => hunk.old_lines.push(old.to_owned()),
            ("+", new) => hunk.new_lines.push(new.to_owned()),
            (_, both) => {
                hunk.old_lines.push(both.to_owned());
                hunk.new_lines.push(both.to_owned());
            }
        }
    }
    let shown = match replace_hunks(text, &hunks) {
        Ok(replaced) => {
            let diff = similar::TextDiff::from_lines(text, &replaced.text);
            let changes = diff.iter_all_changes().filter(|change| change.tag() != similar::ChangeTag::Equal);
            let diff: String = changes
                .map(|change| {
                    let number = change.old_index().or(change.new_index()).unwrap() + 1;
                    format!("{}{number} {:?}\n", change.tag(), change.value())
                })
                .collect();
            format!("{:?}\n{diff}", replaced.likeness)
        }
        Err((index, error)) => format!("hunk {}: {error}", index + 1),
    };
    expect.assert_eq(&shown);
}

const CLASSES: &str = "\
class One:
    def run(self):
        go()
        stop()

    def end(self):
        stop()

class Two:
    def run(self):
        go()
        stop()
";

#[test]
fn lines_stay_go_and_come() {
    check(
        "a\nb\nc\nd\n",
        "@@\n a\n-b\n+B\n+B2\n c\n",
        expect![[r#"
        Exact
        -2 "b\n"
        +2 "B\n"
        +3 "B2\n"
    "#]],
    );
    check(
        "a\nb\nc\nd\n",
        "@@\n-a\n@@\n c\n+c2\n d\n",
        expect![[r#"
        Exact
        -1 "a\n"
        +3 "c2\n"
    "#]],
    );
}

#[test]
fn only_whole_lines_are_found() {
    check(
        "abc\nb\n",
        "@@\n-b\n+B\n",
        expect![[r#"
        Exact
        -2 "b\n"
        +2 "B\n"
    "#]],
    );
}

#[test]
fn an_anchor_says_which_of_several_places_is_meant() {
    check(
        CLASSES,
        "@@ class Two:\n         go()\n-        stop()\n+        halt()\n",
        expect![[r#"
        Exact
        -12 "        stop()\n"
        +12 "        halt()\n"
    "#]],
    );
    check(
        CLASSES,
        "@@ class One:\n@@ def end\n-        stop()\n+        halt()\n",
        expect![[r#"
        Exact
        -7 "        stop()\n"
        +7 "        halt()\n"
    "#]],
    );
    check(
        CLASSES,
        "@@ class One:\n-        stop()\n+        halt()\n",
        expect![
            "hunk 1: the text to find stands at 2 places (lines 4, 7); add lines around it so that it stands only once, or name a line above it behind @@"
        ],
    );
    check(
        CLASSES,
        "@@\n-        stop()\n+        halt()\n",
        expect![
            "hunk 1: the text to find stands at 3 places (lines 4, 7, 12); add lines around it so that it stands only once, or name a line above it behind @@"
        ],
    );
}

#[test]
fn the_order_of_hunks_says_which_of_several_places_is_meant() {
    check(
        CLASSES,
        "@@\n class Two:\n-    def run(self):\n+    def go(self):\n@@\n-        stop()\n+        halt()\n",
        expect![[r#"
            Exact
            -10 "    def run(self):\n"
            +10 "    def go(self):\n"
            -12 "        stop()\n"
            +12 "        halt()\n"
        "#]],
    );
    check(
        CLASSES,
        "@@\n-        stop()\n+        halt()\n@@\n-        stop()\n+        halt()\n@@\n-        stop()\n+        end()\n",
        expect![[r#"
            Exact
            -4 "        stop()\n"
            +4 "        halt()\n"
            -7 "        stop()\n"
            +7 "        halt()\n"
            -12 "        stop()\n"
            +12 "        end()\n"
        "#]],
    );
    check(
        CLASSES,
        "@@\n-        stop()\n+        halt()\n@@\n-        stop()\n+        end()\n",
        expect![
            "hunk 1: the text to find stands at 2 places (lines 4, 7); add lines around it so that it stands only once, or name a line above it behind @@"
        ],
    );
}

#[test]
fn hunks_out_of_order_are_taken_when_each_stands_once() {
    check(
        "a\nb\nc\n",
        "@@\n-c\n+C\n@@\n-a\n+A\n",
        expect![[r#"
        Exact
        -1 "a\n"
        +1 "A\n"
        -3 "c\n"
        +3 "C\n"
    "#]],
    );
}

#[test]
fn lines_that_are_only_added_need_a_place() {
    check(
        "a\nb\n",
        "@@\n+c\n",
        expect![
            "hunk 1: the hunk only adds lines and does not say where: give some lines around them that stay as they are, or the line above them behind @@"
        ],
    );
    check(
        "a\nb\n",
        "@@\n+c\n$\n",
        expect![[r#"
        Exact
        +3 "c\n"
    "#]],
    );
    check(
        "a\nb",
        "@@\n+c\n$\n",
        expect![[r#"
        Exact
        -2 "b"
        +2 "b\n"
        +3 "c"
    "#]],
    );
    check(
        "",
        "@@\n+c\n",
        expect![[r#"
        Exact
        +1 "c\n"
    "#]],
    );
    check(
        CLASSES,
        "@@ class Two:\n+    kind = 2\n",
        expect![[r#"
        Exact
        +10 "    kind = 2\n"
    "#]],
    );
    check(
        CLASSES,
        "@@ def run\n+        pass\n",
        expect![
            "hunk 1: the line `def run` behind @@ is not clear: the text to find stands at 2 places (lines 2, 10); add lines around it so that it stands only once, or name the line above it behind another @@"
        ],
    );
    check(
        CLASSES,
        "@@ class Three:\n+    kind = 3\n",
        expect!["hunk 1: the line `class Three:` behind @@ is not in the file"],
    );
}

#[test]
fn the_end_of_the_file_says_which_place_is_meant() {
    check(
        "x\ny\nx\n",
        "@@\n-x\n+z\n$\n",
        expect![[r#"
        Exact
        -3 "x\n"
        +3 "z\n"
    "#]],
    );
    check(
        "x\ny\nx",
        "@@\n-x\n+z\n$\n",
        expect![[r#"
        Exact
        -3 "x"
        +3 "z"
    "#]],
    );
}

#[test]
fn another_indentation_and_a_nearly_right_block_are_understood() {
    check(
        "f {\n\tg();\n\th();\n}\n",
        "@@\n f {\n     g();\n-    h();\n+    i();\n+    j();\n }\n",
        expect![[r#"
            Indentation
            -3 "\th();\n"
            +3 "\ti();\n"
            +4 "\tj();\n"
        "#]],
    );
    check(
        "fn f() {\n    // first\n    one();\n    two();\n    three();\n}\n",
        "@@\n fn f() {\n     one();\n-    two();\n+    2();\n     three();\n }\n",
        expect![[r#"
            BlankLines
            -4 "    two();\n"
            +4 "    2();\n"
        "#]],
    );
    check(
        "a\r\nb\r\nc\r\n",
        "@@\n a\n-b\n+B\n+b2\n c\n",
        expect![[r#"
        Exact
        -2 "b\r\n"
        +2 "B\r\n"
        +3 "b2\r\n"
    "#]],
    );
}

#[test]
fn a_hunk_may_count_on_lines_of_an_earlier_one() {
    check(
        "a\nb\nc\nd\n",
        "@@\n a\n+new\n@@\n new\n-b\n+B\n",
        expect![[r#"
        Exact
        -2 "b\n"
        +2 "new\n"
        +3 "B\n"
    "#]],
    );
}

#[test]
fn a_hunk_that_fits_nowhere_is_refused_with_what_is_near() {
    check(
        CLASSES,
        "@@\n-    def halt(self):\n+    def stop(self):\n",
        expect![[r#"
        hunk 1: the text to find is not in the file; the nearest is line 2:
        2:     def run(self):
        line 2 is `    def run(self):`, not `    def halt(self):` (the first difference)"#]],
    );
    check(
        "total = 1\nfinal_sum = total\n",
        "@@\n-initial_sum = total\n+final_sum = total\n",
        expect![[r#"
        hunk 1: the text to find is not in the file; the nearest is line 2:
        2: final_sum = total
        line 2 is `final_sum = total`, not `initial_sum = total` (the first difference)
        the replacement stands at line 2 already: the edit may have been made before"#]],
    );
}
