use expect_test::{Expect, expect};

use super::*;

/// One command a line: its words, then what it sets, reads and writes.
fn check(text: &str, expected: Expect) {
    let shown = match parse(text) {
        Err(reason) => format!("it {reason}"),
        Ok(commands) => commands.iter().map(line).collect::<Vec<_>>().join("\n"),
    };
    expected.assert_eq(&shown);
}

fn line(command: &Simple) -> String {
    let list = |words: &[Word]| words.iter().map(|word| word.text.clone()).collect::<Vec<_>>();
    let globs = command.words.iter().filter(|word| word.is_glob).count();
    let mut line = format!("{:?}", list(&command.words));
    for (name, words) in [
        ("sets", command.assignments.iter().map(|set| format!("{}={}", set.name, set.value.text)).collect()),
        ("reads", list(&command.reads)),
        ("writes", list(&command.writes)),
    ] {
        if !words.is_empty() {
            line.push_str(&format!(" {name} {words:?}"));
        }
    }
    let open = command.words.iter().filter(|word| !word.is_spelt()).map(|word| word.text.as_str());
    let open: Vec<&str> = open.collect();
    if !open.is_empty() {
        line.push_str(&format!(" open {open:?}"));
    }
    for document in &command.documents {
        let kind = if document.is_open { "open document" } else { "document" };
        line.push_str(&format!(" {kind} {:?}", document.text));
    }
    if command.is_fed {
        line.push_str(" fed");
    }
    if globs > 0 {
        line.push_str(&format!(" globs {globs}"));
    }
    line
}

#[test]
fn quotes_are_taken_from_words() {
    check(
        r#"l''s -'a b' "c'd"e f\;g {} a{}b "x\y\"z" '' HEAD~1^ a=b:c"#,
        expect![[r#"["ls", "-a b", "c'de", "f;g", "{}", "a{}b", "x\\y\"z", "", "HEAD~1^", "a=b:c"]"#]],
    );
}

#[test]
fn a_dollar_that_no_name_follows_stands_for_itself() {
    check(
        r#"grep "\.(rs|ts)$" "^a$|b$" "/^}$/p" "$)" "a$\|" "a$ b" "a $ $""#,
        expect![[r#"["grep", "\\.(rs|ts)$", "^a$|b$", "/^}$/p", "$)", "a$\\|", "a$ b", "a $ $"]"#]],
    );
    for text in [
        r#"a "$$""#,
        r#"a "x$$y""#,
        r#"a "$(b)$""#,
        r#"a "$'b'""#,
        r#"a "$[1]""#,
        r#"a x$"#,
        r#"a "$$(b)""#,
        r#"a "$ $b""#,
        r#"a "$ b $(c)""#,
    ] {
        assert!(
            parse(text).map_or(true, |read| read.iter().any(|one| !one.words.iter().all(Word::is_spelt))),
            "{text}"
        );
    }
}

#[test]
fn a_text_is_taken_apart_into_its_commands() {
    check(
        "a && b || c; d | e",
        expect![[r#"
            ["a"]
            ["b"]
            ["c"]
            ["d"]
            ["e"] fed"#]],
    );
    check(
        "! (a; { b; }) > out",
        expect![[r#"
        ["a"]
        ["b"]
        [] writes ["out"]"#]],
    );
    check("X=1 Y= a b <in 2>err >>out 2>&1 *.rs", expect!["it redirects in a way that is not understood"]);
}

#[test]
fn loops_and_branches_are_taken_apart_into_the_commands_that_they_may_run() {
    check(
        "for f in a *.rs; do\n  wc -l \"$f\" ${f}\ndone",
        expect![[r#"
        [] sets ["f=$f"]
        ["wc", "-l", "a", "a"]
        ["wc", "-l", "*.rs", "${f}"] open ["${f}"] globs 1"#]],
    );
    check(
        "if [ -f a ]; then ls\nelif pwd; then\n# why\necho $HOME; else exit 1; fi\nwhile read -r f; do cat \"$f\"; done < a",
        expect![[r#"
            ["test", "-f", "a"]
            ["ls"]
            ["pwd"]
            ["echo", "$HOME"] open ["$HOME"]
            ["exit", "1"]
            ["read", "-r", "f"]
            ["cat", "$f"] open ["$f"]
            [] reads ["a"]"#]],
    );
    check(
        "find . | xargs wc -l &> out & x=1; y=$(date -u) export z=a",
        expect![[r#"
        ["find", "."]
        ["xargs", "wc", "-l"] fed
        [] writes ["out"]
        [] sets ["x=1"]
        ["date", "-u"]
        ["export", "z=a"] sets ["y=$()"]"#]],
    );
    check(
        "for f in a b; do cd \"$f\"; done",
        expect![[r#"
        [] sets ["f=$f"]
        ["cd", "$()"] open ["$()"]
        ["cd", "a"]
        ["cd", "b"]"#]],
    );
}

#[test]
fn lines_are_commands_and_what_stands_between_quotes_is_none() {
    check(
        "ls \\\n  -l\n\n# x\ngit commit -m \"a\nb\" &&\n pwd",
        expect![[r#"
        ["ls", "-l"]
        ["git", "commit", "-m", "a\nb"]
        ["pwd"]"#]],
    );
    for text in ["ls\\\n-l x", "ls\n&& pwd", "ls \\\\\n pwd"] {
        assert!(parse(text).is_err(), "{text}");
    }
}

#[test]
fn a_document_is_the_input_of_its_command_and_no_command() {
    check(
        "cat <<'EOF' > note.md && python3 - <<E 2>&1 | tail -3\n$(x) `y` it's\nEOF\nprint($a)\nE\nls",
        expect![[r#"
            ["cat"] writes ["note.md"] document "$(x) `y` it's\n" open document "print($a)\n"
            ["python3", "-"] open document "print($a)\n"
            [] open document "print($a)\n"
            ["tail", "-3"]
            ["ls"]"#]],
    );
    check(
        "git commit -m \"$(cat <<'EOF'\nrm -rf x\nEOF\n)\"",
        expect![[r#"
        ["cat"] document "rm -rf x\n"
        ["git", "commit", "-m", "$()"] open ["$()"]"#]],
    );
    check("cat <<E\n$(rm x)\nE", expect!["it may run commands within a document"]);
    for text in [
        "cat <<E\nx",
        "cat <<E\na\\\nE\nls\nE",
        "cat <<E \"\nE\n\"",
        "cat <<\"a b\"\na b",
        "echo `cat <<E\nE\n`",
    ] {
        assert!(parse(text).is_err(), "{text}");
    }
}

#[test]
fn what_is_nothing_but_nested_ends() {
    for text in [
        "(".repeat(1_900) + "ls" + &")".repeat(1_900),
        "$(".repeat(1_300) + "ls" + &")".repeat(1_300),
        "echo \"$(".repeat(400) + "ls",
        "! ".repeat(1_900) + "ls",
        "a|".repeat(1_900) + "b",
    ] {
        assert!(parse(&text).is_err());
    }
}

#[test]
fn a_chain_of_commands_is_no_group_in_a_group() {
    let chain = |parts: usize| vec!["ls"; parts].join(" && ");
    assert_eq!(parse(&chain(MAX_COMMANDS)).map(|commands| commands.len()), Ok(MAX_COMMANDS));
    let too_many = Err(format!("has more than {MAX_COMMANDS} commands"));
    assert_eq!(parse(&chain(MAX_COMMANDS + 1)), too_many);
    assert_eq!(parse(&["ls"; MAX_COMMANDS + 1].join("; ")), too_many);
    assert_eq!(parse(&format!("{}ls", "ls&&".repeat(950))), too_many);
}

#[test]
fn what_shells_read_differently_is_not_read() {
    for text in [
        "ls |& cat",
        "echo a\\",
        "time",
        "'if' x",
        "in",
        "then ls",
        "echo \"a",
        "ls ;; ls",
        "a+=b c",
        "$'x'",
        "echo ~a",
        "echo --x=~/y",
        "echo a:~",
    ] {
        let shown = parse(text).map(|commands| commands.iter().map(line).collect::<Vec<_>>());
        let is_harmless = matches!(text, "time" | "'if' x");
        assert_eq!(shown.is_ok(), is_harmless, "{text}: {shown:?}");
    }
}
