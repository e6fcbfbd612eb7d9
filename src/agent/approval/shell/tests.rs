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
        ("sets", command.assignments.clone()),
        ("reads", list(&command.reads)),
        ("writes", list(&command.writes)),
    ] {
        if !words.is_empty() {
            line.push_str(&format!(" {name} {words:?}"));
        }
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
fn a_text_is_taken_apart_into_its_commands() {
    check(
        "a && b || c; d | e",
        expect![[r#"
        ["a"]
        ["b"]
        ["c"]
        ["d"]
        ["e"]"#]],
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
fn what_is_nothing_but_nested_ends() {
    for text in
        ["(".repeat(1_900) + "ls" + &")".repeat(1_900), "! ".repeat(1_900) + "ls", "a|".repeat(1_900) + "b"]
    {
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
        "ls &> x",
        "ls |& cat",
        "echo a\\",
        "time",
        "'if' x",
        "in",
        "then ls",
        "echo \"a",
        "ls ;; ls",
        "ls \\\n -l",
        "a+=b c",
        "$'x'",
        "echo ~",
        "echo --x=~/y",
        "echo a:~",
    ] {
        let shown = parse(text).map(|commands| commands.iter().map(line).collect::<Vec<_>>());
        let is_harmless = matches!(text, "time" | "'if' x");
        assert_eq!(shown.is_ok(), is_harmless, "{text}: {shown:?}");
    }
}
