use expect_test::{Expect, expect};

use super::{super::testing::Project, *};

fn project() -> Project {
    Project::new(&[
        ("Cargo.toml", "[package]\n"),
        ("src/main.rs", "fn main() {\n    run();\n}\n"),
        ("src/lib.rs", "pub fn run() {}\r\n"),
        ("docs/guide.md", "run it\n"),
        (".hidden/x.rs", "run\n"),
        (".git/config", "run\n"),
        ("target/out.rs", "run\n"),
        (".gitignore", "target/\n*.log\n"),
        ("a.log", "run\n"),
    ])
}

fn query(project: &Project, under: Option<&str>, glob: Option<&str>) -> ListQuery {
    ListQuery {
        under: under.map(|under| project.path(under)),
        glob: glob.map(str::to_owned),
        limit: 100,
        ..ListQuery::default()
    }
}

fn list(project: &Project, query: &ListQuery, expect: Expect) {
    let shown = match project.files.list(query) {
        Ok(listing) => {
            let mut out = String::new();
            for entry in listing.entries {
                let mark = if entry.is_dir { "/" } else { "" };
                out.push_str(&format!("{}{mark} {}\n", entry.path, entry.size));
            }
            out + if listing.truncated { "…\n" } else { "" }
        }
        Err(error) => error.to_string(),
    };
    expect.assert_eq(&shown);
}

fn search_with(project: &Project, query: &SearchQuery, expect: Expect) {
    let shown = match project.files.search(query) {
        Ok(found) => {
            let mut out = String::new();
            for Match { path, line, text } in found.matches {
                out.push_str(&format!("{path}:{line}: {text}\n"));
            }
            let more = if found.truncated { ", and more" } else { "" };
            format!("{out}{} files{more}\n", found.searched)
        }
        Err(error) => error.to_string(),
    };
    expect.assert_eq(&shown);
}

fn search(project: &Project, pattern: &str, under: Option<&str>, expect: Expect) {
    let files = ListQuery { limit: 0, ..query(project, under, None) };
    let query = SearchQuery { pattern: pattern.to_owned(), case_sensitive: true, files, limit: 100 };
    search_with(project, &query, expect);
}

#[test]
fn a_listing_is_sorted_and_leaves_out_what_is_ignored_or_hidden() {
    let project = project();
    list(
        &project,
        &query(&project, None, None),
        expect![[r#"
        Cargo.toml 10
        docs/ 0
        docs/guide.md 7
        src/ 0
        src/lib.rs 17
        src/main.rs 25
    "#]],
    );
    let hidden = ListQuery { hidden: true, depth: Some(1), ..query(&project, None, None) };
    list(
        &project,
        &hidden,
        expect![[r#"
        .gitignore 14
        .hidden/ 0
        Cargo.toml 10
        a.log 4
        docs/ 0
        src/ 0
        target/ 0
    "#]],
    );
}

#[test]
fn a_glob_a_depth_and_a_limit_narrow_a_listing() {
    let project = project();
    list(
        &project,
        &query(&project, None, Some("*.rs")),
        expect![[r#"
        src/lib.rs 17
        src/main.rs 25
    "#]],
    );
    list(&project, &query(&project, None, Some("**/main.{rs,md}")), expect!["src/main.rs 25\n"]);
    list(&project, &query(&project, Some("src"), Some("./main.*")), expect!["src/main.rs 25\n"]);
    list(
        &project,
        &query(&project, None, Some("!src")),
        expect![[r#"
        Cargo.toml 10
        docs/ 0
        docs/guide.md 7
    "#]],
    );
    list(
        &project,
        &ListQuery { limit: 2, ..query(&project, Some("src"), None) },
        expect![[r#"
        src/lib.rs 17
        src/main.rs 25
    "#]],
    );
    list(
        &project,
        &ListQuery { limit: 1, ..query(&project, Some("src"), None) },
        expect![[r#"
        src/lib.rs 17
        …
    "#]],
    );
    list(
        &project,
        &query(&project, None, Some("a[")),
        expect![[r#"
        the glob is not valid: error parsing glob 'a[': unclosed character class; missing ']'; write it as in .gitignore, such as `*.rs` or `src/**/mod.rs`"#]],
    );
}

#[test]
fn one_file_can_be_listed_also_when_it_is_ignored_and_a_missing_one_is_named() {
    let project = project();
    list(&project, &query(&project, Some("a.log"), None), expect!["a.log 4\n"]);
    list(&project, &query(&project, Some("src/main.rs"), Some("*.rs")), expect!["src/main.rs 25\n"]);
    list(
        &project,
        &query(&project, Some("scr"), None),
        expect![[r#"
        there is no file scr; near it are: src/lib.rs, src/main.rs"#]],
    );
    list(
        &project,
        &query(&project, Some(".git"), None),
        expect!["what is in .git is neither listed nor searched"],
    );
}

#[test]
fn a_listing_shows_what_the_turn_has_staged() {
    let project = project();
    project.stage("new/deep/a.rs", "1234").unwrap();
    project.stage("src/main.rs", "12").unwrap();
    project.delete("Cargo.toml").unwrap();
    project.rename("docs/guide.md", "docs/other.md").unwrap();
    list(
        &project,
        &query(&project, None, None),
        expect![[r#"
        docs/ 0
        docs/other.md 7
        new/ 0
        new/deep/ 0
        new/deep/a.rs 4
        src/ 0
        src/lib.rs 17
        src/main.rs 2
    "#]],
    );
    list(&project, &ListQuery { depth: Some(1), ..query(&project, None, Some("new")) }, expect!["new/ 0\n"]);
    list(&project, &query(&project, Some("new/deep"), None), expect!["new/deep/a.rs 4\n"]);
    list(
        &project,
        &query(&project, Some("Cargo.toml"), None),
        expect![[r#"
        there is no file Cargo.toml; list the files to see what there is"#]],
    );
}

#[test]
fn a_listing_shows_open_buffers_that_are_not_on_disk() {
    let project = project();
    project.open("src/draft.rs", 1, "draft");
    project.workspace.overlay().open("untitled:Untitled-1", "text", 1, "hello".to_owned());
    list(
        &project,
        &query(&project, None, Some("{src/*.rs,untitled*}")),
        expect![[r#"
        src/draft.rs 5
        src/lib.rs 17
        src/main.rs 25
        untitled:Untitled-1 5
    "#]],
    );
    list(&project, &query(&project, Some("untitled:Untitled-1"), None), expect!["untitled:Untitled-1 5\n"]);
}

#[cfg(unix)]
#[test]
fn links_are_shown_but_not_followed() {
    let project = Project::new(&[("dir/a.txt", "run\n")]);
    let outside = tempfile::tempdir().unwrap();
    let link =
        |to: &std::path::Path, name: &str| std::os::unix::fs::symlink(to, project.root.join(name)).unwrap();
    link(std::path::Path::new("dir"), "link");
    link(std::path::Path::new("dir/a.txt"), "b.txt");
    link(outside.path(), "out");
    list(
        &project,
        &query(&project, None, None),
        expect![[r#"
        b.txt 4
        dir/ 0
        dir/a.txt 4
        link/ 0
    "#]],
    );
    search(
        &project,
        "run",
        None,
        expect![[r#"
        dir/a.txt:1: run
        1 files
    "#]],
    );
}

#[test]
fn a_search_finds_lines_in_order() {
    let project = project();
    search(
        &project,
        r"\brun\b",
        None,
        expect![[r#"
        docs/guide.md:1: run it
        src/lib.rs:1: pub fn run() {}
        src/main.rs:2:     run();
        4 files
    "#]],
    );
    search(
        &project,
        r"\{\}$",
        Some("src"),
        expect![[r#"
        src/lib.rs:1: pub fn run() {}
        2 files
    "#]],
    );
    search(
        &project,
        "run",
        Some("a.log"),
        expect![[r#"
        a.log:1: run
        1 files
    "#]],
    );
    let files = query(&project, None, Some("*.md"));
    let any_case = SearchQuery { pattern: "RUN".to_owned(), case_sensitive: false, files, limit: 9 };
    search_with(
        &project,
        &any_case,
        expect![[r#"
        docs/guide.md:1: run it
        1 files
    "#]],
    );
}

#[test]
fn a_search_sees_staged_edits_and_open_buffers_instead_of_the_disk() {
    let project = project();
    project.open("docs/guide.md", 1, "nothing\n");
    project.workspace.overlay().open("untitled:1", "text", 1, "run here\n".to_owned());
    project.stage("src/lib.rs", "fn walk() {}\n").unwrap();
    project.stage("src/new.rs", "walk, then run\n").unwrap();
    project.delete("src/main.rs").unwrap();
    search(
        &project,
        "run|walk",
        None,
        expect![[r#"
        src/lib.rs:1: fn walk() {}
        src/new.rs:1: walk, then run
        untitled:1:1: run here
        5 files
    "#]],
    );
}

#[test]
fn a_search_passes_over_binary_files_and_secrets() {
    let project =
        Project::new(&[("a.bin", "run\0"), (".env", "run"), ("server.pem", "run"), ("b.txt", "\u{feff}run")]);
    project.write("old.txt", b"run caf\xe9\n");
    let files = ListQuery { hidden: true, ..query(&project, None, None) };
    let query = SearchQuery { pattern: "^run".to_owned(), case_sensitive: true, files, limit: 9 };
    search_with(
        &project,
        &query,
        expect![[r#"
        b.txt:1: run
        old.txt:1: run caf�
        2 files
    "#]],
    );
}

#[test]
fn a_search_stops_at_its_limit_and_says_so() {
    let project = Project::new(&[("a.txt", "x\nx\nx\n"), ("b.txt", "x\n")]);
    let with_limit = |limit| SearchQuery {
        pattern: "x".to_owned(),
        case_sensitive: true,
        files: query(&project, None, None),
        limit,
    };
    search_with(
        &project,
        &with_limit(2),
        expect![[r#"
        a.txt:1: x
        a.txt:2: x
        1 files, and more
    "#]],
    );
    search_with(
        &project,
        &with_limit(4),
        expect![[r#"
        a.txt:1: x
        a.txt:2: x
        a.txt:3: x
        b.txt:1: x
        2 files
    "#]],
    );
}

#[test]
fn a_long_line_is_cut_around_what_matched() {
    let project = Project::new(&[("a.js", &format!("{}needle{}", "é".repeat(5_000), "x".repeat(5_000)))]);
    let found = project.files.search(&SearchQuery {
        pattern: "needle".to_owned(),
        case_sensitive: true,
        files: ListQuery::default(),
        limit: 1,
    });
    let text = found.unwrap().matches.remove(0).text;
    assert!(text.starts_with("…é") && text.contains("needle") && text.ends_with("x…"), "{text}");
    assert_eq!(text.chars().count(), MAX_LINE + 2);
}

#[test]
fn a_pattern_that_is_no_regular_expression_says_where() {
    let project = project();
    search(
        &project,
        "fn main(",
        None,
        expect![[r#"
            the pattern is not a regular expression that can be matched line by line: regex parse error:
                fn main(
                       ^
            error: unclosed group
            put a backslash before a character to find it as it is"#]],
    );
    search(
        &project,
        "a\\nb",
        None,
        expect![[r#"
        the pattern is not a regular expression that can be matched line by line: the literal "\n" is not allowed in a regex
        put a backslash before a character to find it as it is"#]],
    );
}

#[test]
fn a_short_pattern_that_would_take_hundreds_of_megabytes_is_refused() {
    search(
        &project(),
        "(a{1000}){1000}",
        None,
        expect![[r#"
        the pattern is not a regular expression that can be matched line by line: Compiled regex exceeds size limit of 10485760 bytes.
        put a backslash before a character to find it as it is"#]],
    );
}

#[test]
fn ignore_rules_of_folders_above_count_only_in_a_repository() {
    let project = Project::new(&[("inner/a.txt", ""), ("inner/b.log", "")]);
    std::fs::write(project.root.parent().unwrap().join(".gitignore"), "*\n").unwrap();
    list(
        &project,
        &query(&project, None, None),
        expect![[r#"
        inner/ 0
        inner/a.txt 0
        inner/b.log 0
    "#]],
    );
    project.write(".git/", "");
    project.write(".gitignore", "*.log\n");
    list(&project, &query(&project, Some("inner"), None), expect!["inner/a.txt 0\n"]);
}

#[test]
fn several_roots_are_listed_under_their_names_and_one_inside_another_only_once() {
    let project = Project::new(&[("b/x.txt", ""), ("a/y.txt", ""), ("a/sub/z.txt", "")]);
    let roots = ["b", "a", "a/sub"].map(|root| project.root.join(root)).to_vec();
    project.workspace.set_roots(roots);
    list(
        &project,
        &query(&project, None, None),
        expect![[r#"
        sub/ 0
        sub/z.txt 0
        a/y.txt 0
        b/x.txt 0
    "#]],
    );
}

#[test]
fn without_a_root_open_buffers_are_listed_and_searched() {
    let other = Project::new(&[("a.txt", "disk\n"), ("closed.txt", "run\n")]);
    other.workspace.set_roots(Vec::new());
    other.open("a.txt", 1, "run\n");
    let listing = other.files.list(&query(&other, None, None)).unwrap();
    let shown = other.root.join("a.txt").to_string_lossy().into_owned();
    assert_eq!(listing.entries.iter().map(|entry| entry.path.to_string()).collect::<Vec<_>>(), [shown]);
    let under = query(&other, Some("a.txt"), None);
    let found = other.files.search(&SearchQuery {
        pattern: "run".to_owned(),
        case_sensitive: true,
        files: under,
        limit: 9,
    });
    assert_eq!(found.unwrap().matches.len(), 1);
}
