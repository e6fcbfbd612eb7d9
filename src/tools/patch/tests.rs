use std::fmt::Write as _;

use expect_test::{Expect, expect};

use super::*;

/// What a patch was read as, or why it was not.
fn check(patch: &str, expected: Expect) {
    let shown = match parse(patch) {
        Ok(files) => files.iter().map(shown).collect(),
        Err(error) => format!("error: {error}"),
    };
    expected.assert_eq(&shown);
}

fn shown(file: &FilePatch) -> String {
    let mut out = format!("{}: {} ", file.line, file.path);
    match &file.change {
        FileChange::Add { text } => out.push_str(&format!("= {text:?}\n")),
        FileChange::Delete => out.push_str("deleted\n"),
        FileChange::Update { move_to, hunks } => {
            if let Some(to) = move_to {
                let _ = write!(out, "-> {to}");
            }
            out.push('\n');
            for Hunk { line, hunk: PatchHunk { anchors, old_lines, new_lines, at_end } } in hunks {
                let end = if *at_end { " to the end" } else { "" };
                let _ = writeln!(out, "  {line}: below {anchors:?}: {old_lines:?} => {new_lines:?}{end}");
            }
        }
    }
    out
}

const WHOLE: &str = "\
*** Begin Patch
*** Add File: hello.txt
+Hello
+
+world
*** Update File: src/app.py
*** Move to: src/main.py
@@ class A
@@   def greet():
     name = 1

-    print(\"Hi\")
+    print(\"Hello\")
@@
 last
+more
*** End of File
*** Update File: b.txt
-one
+two
*** Delete File: obsolete.txt
*** End Patch
";

const READ: &str = r#"2: hello.txt = "Hello\n\nworld\n"
6: src/app.py -> src/main.py
  8: below ["class A", "def greet():"]: ["    name = 1", "", "    print(\"Hi\")"] => ["    name = 1", "", "    print(\"Hello\")"]
  14: below []: ["last"] => ["last", "more"] to the end
18: b.txt 
  19: below []: ["one"] => ["two"]
21: obsolete.txt deleted
"#;

#[test]
fn every_form_of_the_format_is_read() {
    let shown: String = parse(WHOLE).unwrap().iter().map(shown).collect();
    assert_eq!(shown, READ);
}

/// A name for each way in which models send the same patch.
#[test]
fn what_is_written_around_a_patch_does_not_matter() {
    let without_end = WHOLE.replace("*** End Patch\n", "");
    let wrapped = [
        ("carriage returns", WHOLE.replace('\n', "\r\n")),
        ("no last line end", WHOLE.trim_end().to_owned()),
        ("no end", without_end.clone()),
        ("no begin", WHOLE.replacen("*** Begin Patch\n", "\n", 1)),
        ("empty lines before the end", WHOLE.replace("*** End Patch", "\n\n*** End Patch")),
        ("empty lines between files", WHOLE.replace("*** Delete", "\n*** Delete").replace("21", "22")),
        ("blanks behind the marks", WHOLE.replace(" Patch\n", " Patch  \n").replace(".txt\n", ".txt \n")),
        (
            "small letters",
            WHOLE.replace("*** Begin Patch", "*** begin patch").replace("Update File", "update file"),
        ),
    ];
    for (name, patch) in wrapped {
        let moved = usize::from(name == "empty lines between files");
        let shown: String =
            parse(&patch).unwrap_or_else(|error| panic!("{name}: {error}")).iter().map(shown).collect();
        assert_eq!(shown, READ.replace("21: obs", &format!("{}: obs", 21 + moved)), "{name}");
    }
    let below_a_line = [
        ("a fence", format!("```diff\n{WHOLE}```\n")),
        ("a fence without an end", format!("```\n{without_end}```")),
        ("a here-document", format!("apply_patch <<'EOF'\n{WHOLE}EOF\n")),
        ("a here-document without an end", format!("apply_patch <<PATCH\n{without_end}PATCH\n")),
        ("talk", format!("Here is the patch:\n{WHOLE}")),
    ];
    let places: Vec<usize> = parse(WHOLE).unwrap().iter().map(|file| file.line + 1).collect();
    for (name, patch) in below_a_line {
        let files = parse(&patch).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(files.iter().map(|file| file.line).collect::<Vec<_>>(), places, "{name}");
        let changes = |files: Vec<FilePatch>| -> Vec<String> {
            files
                .iter()
                .map(|file| shown(file).split_once(' ').unwrap().1.replace(char::is_numeric, ""))
                .collect()
        };
        assert_eq!(changes(files), changes(parse(WHOLE).unwrap()), "{name}");
    }
}

#[test]
fn two_patches_one_after_the_other_are_one() {
    check(
        "*** Begin Patch\n*** Delete File: a\n*** End Patch\n\n*** Begin Patch\n*** Delete File: b\n*** End Patch",
        expect![[r#"
            2: a deleted
            6: b deleted
        "#]],
    );
}

#[test]
fn what_models_leave_out_in_hunks_is_taken_as_meant() {
    // The blank before lines that stay, the mark before the lines of a new file, line numbers in place of an anchor.
    check(
        "*** Begin Patch\n*** Update File: a.go\n@@ -10,3 +10,4 @@ func main() {\nfunc main() {\n\tgo()\n-\tstop()\n+\twait()\n}\n*** Add File: b.txt\nplain\n\ntext\n*** End Patch",
        expect![[r#"
            2: a.go 
              3: below []: ["func main() {", "\tgo()", "\tstop()", "}"] => ["func main() {", "\tgo()", "\twait()", "}"]
            9: b.txt = "plain\n\ntext\n"
        "#]],
    );
    check(
        "*** Begin Patch\n*** Update File: a.txt\n--- a/a.txt\n+++ b/a.txt\n@@\n-a\n+b\n*** Add File: c.txt\n@@\n+c\n*** Delete File: d.txt\n-d\n*** Update File: \"e f.txt\"\n@@ fn x() @@\n-e\n+f\n*** End Patch",
        expect![[r#"
            2: a.txt 
              5: below []: ["a"] => ["b"]
            8: c.txt = "c\n"
            11: d.txt deleted
            13: e f.txt 
              14: below ["fn x()"]: ["e"] => ["f"]
        "#]],
    );
}

#[test]
fn a_line_that_looks_like_a_mark_is_content_behind_its_own_mark() {
    check(
        "*** Begin Patch\n*** Update File: a.sql\n@@\n-*** End Patch\n+*** Begin Patch\n ```\n--- old comment\n+++ counter\n*** End Patch",
        expect![[r#"
            2: a.sql 
              3: below []: ["*** End Patch", "```", "-- old comment"] => ["*** Begin Patch", "```", "++ counter"]
        "#]],
    );
}

#[test]
fn a_plain_git_diff_is_read_when_it_is_whole() {
    check(
        "\
diff --git a/src/a.rs b/src/a.rs
index 1111111..2222222 100644
--- a/src/a.rs
+++ b/src/a.rs
@@ -1,3 +1,3 @@ fn main() {
 one
-two
--- two and a half
+2
 three
@@ -9 +9,2 @@
 nine
+ten
\\ No newline at end of file
diff --git a/new.txt b/new.txt
new file mode 100644
--- /dev/null
+++ b/new.txt
@@ -0,0 +1,2 @@
+new
+
diff --git a/gone.txt b/gone.txt
deleted file mode 100644
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
-gone
diff --git a/from.txt b/to.txt
similarity index 100%
rename from from.txt
rename to to.txt
",
        expect![[r#"
            1: src/a.rs 
              5: below []: ["one", "two", "-- two and a half", "three"] => ["one", "2", "three"]
              11: below []: ["nine"] => ["nine", "ten"]
            15: new.txt = "new\n\n"
            22: gone.txt deleted
            28: from.txt -> to.txt
        "#]],
    );
    check(
        "```diff\n--- a.txt\t2026-01-01\n+++ a.txt\t2026-01-02\n@@ -1 +1 @@\n-a\n+b\n--- b.txt\n+++ b.txt\n@@ -1 +1 @@\n-c\n+d\n```\n",
        expect![[r#"
            2: a.txt 
              4: below []: ["a"] => ["b"]
            7: b.txt 
              9: below []: ["c"] => ["d"]
        "#]],
    );
}

#[test]
fn a_patch_that_is_not_clear_is_refused_with_its_line() {
    check(
        "",
        expect![
            "error: the patch names no file: after `*** Begin Patch` begin each file with `*** Update File: path`, `*** Add File: path` or `*** Delete File: path`"
        ],
    );
    check(
        "*** Begin Patch\n*** End Patch",
        expect![
            "error: the patch names no file: after `*** Begin Patch` begin each file with `*** Update File: path`, `*** Add File: path` or `*** Delete File: path`"
        ],
    );
    check(
        "*** Begin Patch\n*** Update File: a\n*** End Patch",
        expect![
            "error: line 2 of the patch: the file has no hunk: below `@@` give lines that stay (begin with a blank), go (`-`) and come (`+`)"
        ],
    );
    check(
        "*** Begin Patch\n*** Update File:\n@@\n-a\n*** End Patch",
        expect!["error: line 2 of the patch: the name of the file is missing behind the colon"],
    );
    check(
        "*** Begin Patch\n*** Update File: a\n@@\n a\n b\n*** End Patch",
        expect![
            "error: line 3 of the patch: the hunk changes nothing: begin lines that go with `-` and lines that come with `+`"
        ],
    );
    check(
        "*** Begin Patch\n*** Update File: a\n@@\n-a\n*** Rename File: b\n*** End Patch",
        expect![
            "error: line 5 of the patch: `*** Rename File: b` is no line of a hunk; begin a line that stays with a blank"
        ],
    );
    check(
        "*** Begin Patch\n*** Rename File: b\n*** Update File: a\n@@\n-a\n*** End Patch",
        expect![
            "error: line 2 of the patch: `*** Rename File: b` belongs to no file; begin each file with `*** Update File: path`, `*** Add File: path` or `*** Delete File: path`"
        ],
    );
    check(
        "*** Begin Patch\n*** Add File: a\n+a\nb\n*** End Patch",
        expect![
            "error: line 4 of the patch: every line of a new file begins with `+`, and this one does not"
        ],
    );
    check(
        "*** Begin Patch\n*** Delete File: a\n+a\n*** End Patch",
        expect![
            "error: line 3 of the patch: nothing follows `*** Delete File`; use `*** Update File` to change a part of a file"
        ],
    );
    check(
        "*** Begin Patch\n*** Update File: a\n*** Move to:\n*** End Patch",
        expect!["error: line 3 of the patch: the new name is missing behind `*** Move to:`"],
    );
    check(
        "*** Begin Patch\n*** Delete File: a\n*** End Patch\n*** Delete File: b\n",
        expect![
            "error: line 4 of the patch: there is text behind `*** End Patch`; put all files before it, into one patch"
        ],
    );
    check(
        "--- a/a.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-a\n+b\n",
        expect![
            "error: line 1 of the patch: the diff names two files, a.txt and another; use `*** Update File: path` and `*** Move to: path`"
        ],
    );
    check(
        "diff --git a/a.png b/a.png\nGIT binary patch\n",
        expect!["error: line 2 of the patch: a binary file cannot be patched"],
    );
    check(
        "--- \"a/\\303\\266\"\n+++ \"b/\\303\\266\"\n@@ -1 +1 @@\n-a\n+b\n",
        expect![
            "error: line 1 of the patch: a name in quotes cannot be read; begin the file with `*** Update File: path`"
        ],
    );
}

#[test]
fn a_patch_is_bounded() {
    let many = |count: usize| {
        let files: String = (0..count).map(|number| format!("*** Delete File: {number}\n")).collect();
        parse(&format!("*** Begin Patch\n{files}*** End Patch")).map(|files| files.len())
    };
    assert_eq!(many(MAX_FILES), Ok(MAX_FILES));
    assert!(many(MAX_FILES + 1).is_err());
    assert!(parse(&"+".repeat(MAX_PATCH_BYTES + 1)).is_err());
}

proptest::proptest! {
    /// Whatever is sent, an answer comes, and no line of the patch is lost in what was read.
    #[test]
    fn any_text_is_read_or_refused(text in r"(\*\*\* (Begin Patch|End Patch|Update File: a|Add File: b|Delete File: c|Move to: d|End of File)\n|@@( x)?\n|[-+ ]?[a-c]{0,2}\n|--- a\n|\+\+\+ a\n|diff --git\n){0,14}") {
        if let Ok(files) = parse(&text) {
            proptest::prop_assert!(!files.is_empty());
            proptest::prop_assert!(files.iter().all(|file| !file.path.is_empty()));
        }
    }
}
