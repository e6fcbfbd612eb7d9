//! Turns played over small projects, printed as plain lines; the line that says how to get a model is left out.

mod asked;
mod change_requests;
mod project;

use expect_test::{Expect, expect};
use futures::StreamExt;
use proptest::prelude::*;

use super::*;
use crate::{
    model::ToolChoice,
    protocol::{ToolOutput, UserMessage},
};
use project::{PYTHON, Project, RUST, WEB, lines, user};

fn check(project: &str, prompt: &str, expected: Expect) {
    expected.assert_eq(&lines(&Project::new(project).ask(&[], user(prompt))));
}

/// The first paragraph of the answer, which is all that some editors show.
fn result(project: &mut Project, before: &[Item], message: UserMessage) -> String {
    match project.ask(before, message).last() {
        Some(Item::Agent(agent)) => agent.text.lines().next().unwrap_or_default().to_owned(),
        other => panic!("the turn ended with {other:?}"),
    }
}

/// Each prompt, the calls that it led to, and the first paragraph of its answer.
fn check_all(project: &str, prompts: &[&str], expected: Expect) {
    let mut text = String::new();
    for prompt in prompts {
        let items = Project::new(project).ask(&[], user(prompt));
        text.push_str(&format!("> {prompt}\n"));
        for item in &items {
            match item {
                Item::Call(call) => text.push_str(&format!("  {} {}\n", call.name, call.arguments)),
                Item::Agent(agent) => {
                    text.push_str(&format!("{}\n\n", agent.text.lines().next().unwrap_or_default()))
                }
                _ => {}
            }
        }
    }
    expected.assert_eq(&text);
}

#[test]
fn listing_and_reading_go_in_one_step() {
    check(
        RUST,
        "What files are in the current directory? Then read Cargo.toml.",
        expect![[r#"
            user: What files are in the current directory? Then read Cargo.toml.
            call 1: list_files {"depth":1}
            call 2: read_file {"path":"Cargo.toml"}
            output: 4 lines
            output: 9 lines
            agent: 2 files and 2 folders in the workspace. `Cargo.toml` has 8 lines.

            the workspace:

            ```
            Cargo.toml
            README.md
            src/
            tests/
            ```

            **Cargo.toml**

            ```toml
                1  [package]
                2  name = "larder"
                3  version = "0.3.0"
                4  edition = "2024"
                5  description = "Keeps web pages for a while"
                6  
                7  [dependencies]
                8  serde = "1"
            ```
        "#]],
    );
}

#[test]
fn a_question_is_answered_with_the_passages_that_hold_most_of_its_terms() {
    check(
        RUST,
        "How does the cache get evicted when it is full?",
        expect![[r#"
            user: How does the cache get evicted when it is full?
            call 1: list_files {}
            call 2: search {"pattern":"evicted|evict"}
            call 3: search {"pattern":"cache|cach"}
            call 4: search {"pattern":"full"}
            output: 7 lines
            output: 5 lines
            output: 10 lines
            output: 1 lines
            call 5: read_file {"end_line":32,"path":"src/cache.rs","start_line":1}
            call 6: read_file {"end_line":13,"path":"tests/cache.rs","start_line":1}
            output: 33 lines
            output: 6 lines
            agent: The best match is `src/cache.rs:23`: `/// Adds a page; when the cache is full, the oldest is evicted.`; see also `src/cache.rs:13`, `tests/cache.rs:2`.

            **src/cache.rs:23** (evicted, cache, full)

            ```rust
                1  //! Pages by their address. Old ones are evicted.
                2  
                3  use std::time::Instant;
                4  
                5  /// One page.
                6  #[derive(Default)]
                7  pub struct Entry {
                8      pub body: String,
                9      pub fetched_at: Option<Instant>,
               10  }
               11  
               12  /// All pages; at most so many.
               13  pub struct Cache {
               14      entries: Vec<(String, Entry)>,
               15      limit: usize,
               16  }
               17  
               18  impl Cache {
               19      pub fn new(limit: usize) -> Self {
               20          Self { entries: Vec::new(), limit }
               21      }
               22  
               23      /// Adds a page; when the cache is full, the oldest is evicted.
               24      pub fn insert(&mut self, address: &str, entry: Entry) {
               25          if self.entries.len() >= self.limit {
               26              self.evict_oldest();
               27          }
               28          self.entries.push((address.to_owned(), entry));
               29      }
               30  
               31      pub fn len(&self) -> usize {
               32          self.entries.len()
            ```

            **tests/cache.rs:2** (evicted, cache)

            ```rust
                1  #[test]
                2  fn insert_evicts() {
                3      let mut cache = larder::Cache::new(1);
                4      cache.insert("a", Default::default());
                5  }
            ```

            Looked for `evicted`, `cache`, `full`: 14 lines in 3 files, ranked by how many of the terms stand together and how rare they are.
        "#]],
    );
}

#[test]
fn a_replacement_reads_first_and_then_edits() {
    check(
        RUST,
        "replace `limit` with `capacity` in src/cache.rs",
        expect![[r#"
            user: replace `limit` with `capacity` in src/cache.rs
            call 1: read_file {"path":"src/cache.rs"}
            output: 40 lines
            call 2: edit_file {"all":true,"find":"limit","path":"src/cache.rs","replace":"capacity"}
            output: 1 lines
            agent: In `src/cache.rs` `limit` is replaced by `capacity` on 4 lines. The edit is proposed.
        "#]],
    );
}

#[test]
fn what_follows_an_edit_sees_the_file_anew() {
    check(
        RUST,
        "rename Entry to Page in src/cache.rs, then show me lines 5-8 of src/cache.rs",
        expect![[r#"
            user: rename Entry to Page in src/cache.rs, then show me lines 5-8 of src/cache.rs
            call 1: read_file {"path":"src/cache.rs"}
            output: 40 lines
            call 2: edit_file {"all":true,"find":"Entry","path":"src/cache.rs","replace":"Page"}
            output: 1 lines
            call 3: read_file {"end_line":8,"path":"src/cache.rs","start_line":5}
            output: 5 lines
            agent: In `src/cache.rs` `Entry` is replaced by `Page` on 3 lines. The edit is proposed. `src/cache.rs` has 39 lines; lines 5–8 are below.

            **src/cache.rs**

            ```rust
                5  /// One page.
                6  #[derive(Default)]
                7  pub struct Page {
                8      pub body: String,
            ```

            31 lines more: ask for `lines 9-39 of src/cache.rs`.
        "#]],
    );
}

#[test]
fn a_definition_is_quoted_with_its_comment() {
    check(
        RUST,
        "where is `Cache` defined?",
        expect![[r#"
            user: where is `Cache` defined?
            call 1: search {"case_sensitive":true,"pattern":"\\bCache\\b"}
            output: 5 lines
            call 2: read_file {"end_line":27,"path":"src/cache.rs","start_line":9}
            output: 20 lines
            agent: `Cache` is defined at `src/cache.rs:13`; it stands on 4 other lines.

            **src/cache.rs:13**

            ```rust
               12  /// All pages; at most so many.
               13  pub struct Cache {
               14      entries: Vec<(String, Entry)>,
               15      limit: usize,
               16  }
            ```

            It also stands here:

            - `src/cache.rs:18` `impl Cache {`
            - `src/main.rs:5` `use cache::{Cache, Entry};`
            - `src/main.rs:8` `let mut cache = Cache::new(MAX_ENTRIES);`
            - `tests/cache.rs:3` `let mut cache = larder::Cache::new(1);`
        "#]],
    );
}

#[test]
fn an_outline_names_lines_and_comments() {
    check(
        RUST,
        "explain src/cache.rs",
        expect![[r#"
            user: explain src/cache.rs
            call 1: read_file {"path":"src/cache.rs"}
            output: 40 lines
            agent: `src/cache.rs` has 39 lines: 4 functions, 3 types and blocks. It says of itself: “Pages by their address. Old ones are evicted.”

            Outline of `src/cache.rs`:

            - 7: `pub struct Entry` — One page.
            - 13: `pub struct Cache` — All pages; at most so many.
            - 18: `impl Cache`
              - 19: `pub fn new(limit: usize) -> Self`
              - 24: `pub fn insert(&mut self, address: &str, entry: Entry)` — Adds a page; when the cache is full, the oldest is evicted.
              - 31: `pub fn len(&self) -> usize`
              - 36: `fn evict_oldest(&mut self)`
        "#]],
    );
}

#[test]
fn outlines_know_common_languages() {
    let files = [
        ("a.py", "import x\n\nclass A:\n    def f(self):\n        if x:\n            pass\n"),
        (
            "a.ts",
            "export interface A {\n  b: string;\n}\nexport const f = async (x: number) => {\n  if (x) {\n  }\n};\nclass B {\n  private go(): void {\n  }\n}\n",
        ),
        ("a.go", "package a\n\n// Run runs.\nfunc (s *Server) Run() error {\n}\ntype Server struct {\n}\n"),
        (
            "a.c",
            "#define MAX 3\nstatic int add(int a, int b)\n{\n    return a + b;\n}\nstruct point {\n    int x;\n};\n",
        ),
        ("A.java", "public class A {\n    private int go(int x) {\n        return x;\n    }\n}\n"),
        ("a.lua", "local M = {}\nfunction M.setup(options)\nend\nlocal function help()\nend\n"),
        ("a.sh", "#!/bin/sh\nNAME=x\nrun() {\n  echo\n}\n"),
        ("a.rb", "module A\n  def go\n  end\nend\n"),
        ("a.md", "# One\n\n```\n# not one\n```\n\n## Two\n"),
        ("a.toml", "[package]\nname = \"x\"\n"),
        ("a.json", "{\n  \"a\": {\n    \"b\": 1\n  }\n}\n"),
        ("a.yaml", "on:\n  push:\n    - x\n"),
        ("a.css", ".a {\n  color: red;\n}\n"),
        ("a.html", "<body>\n<h1>Hi</h1>\n</body>\n"),
        ("a.sql", "create table a (\n  b int\n);\n"),
        ("Makefile", "all: build\n\tcc\n"),
    ];
    let mut text = String::new();
    for (path, source) in files {
        text.push_str(&format!("{path}\n"));
        for entry in outline::outline(path, source.lines().enumerate().map(|(at, line)| (at + 1, line))) {
            let remark = entry.remark.map(|remark| format!(" — {remark}")).unwrap_or_default();
            text.push_str(&format!(
                "  {}{} {:?} {}{remark}\n",
                "  ".repeat(entry.depth),
                entry.line,
                entry.kind,
                entry.text
            ));
        }
    }
    expect![[r#"
        a.py
          3 Type class A:
            4 Function def f(self):
        a.ts
          1 Type export interface A
          4 Function export const f = async (x: number) =>
          8 Type class B
            9 Function private go(): void
        a.go
          1 Other package a
          4 Function func (s *Server) Run() error — Run runs.
          6 Type type Server struct
        a.c
          1 Other #define MAX 3
          2 Function static int add(int a, int b)
          6 Type struct point
        A.java
          1 Type public class A
            2 Function private int go(int x)
        a.lua
          1 Type local M = {}
          2 Function function M.setup(options)
          4 Function local function help()
        a.sh
          2 Other NAME=x
          3 Function run()
        a.rb
          1 Type module A
            2 Function def go
        a.md
          1 Other One
            7 Other Two
        a.toml
          1 Other [package]
            2 Other name = "x"
        a.json
          2 Other "a":
            3 Other "b": 1
        a.yaml
          1 Other on:
            2 Other push:
        a.css
          1 Type .a
        a.html
          1 Other <body>
          2 Other <h1> Hi
        a.sql
          1 Type create table a (
        Makefile
          1 Function all: build
    "#]]
    .assert_eq(&text);
}

#[test]
fn outputs_of_another_form_are_shown_and_not_misread() {
    let project = Project::new(RUST);
    let mut items = vec![Item::User(user("read Cargo.toml"))];
    let produced = project.step(&items, ToolChoice::Auto);
    let [Item::Call(call)] = produced.as_slice() else { panic!("{produced:?}") };
    let output =
        ToolOutput { call_id: call.id.clone(), text: "7\tseven\n3\tthree".to_owned(), is_error: false };
    items.extend(produced);
    items.push(Item::Output(output));
    expect![[r#"
        agent: `Cargo.toml` was read; this is what the tool said.

        ```
        7	seven
        3	three
        ```
    "#]]
    .assert_eq(&lines(&project.step(&items, ToolChoice::Auto)));
}

#[test]
fn a_search_that_was_cut_is_known_as_cut() {
    let found = outputs::Matches::parse(
        "a.rs:1: edit\nb.rs:2: edit\n… more matches after these 2: narrow the search",
    );
    assert!(found.truncated);
    assert_eq!(found.matches.len(), 2);
}

#[test]
fn words_of_one_root_share_their_stem() {
    let stems: Vec<_> = [
        "invalidated",
        "invalidation",
        "invalidates",
        "retries",
        "retry",
        "caches",
        "caching",
        "stopped",
        "class",
        "status",
        "is",
    ]
    .map(|word| format!("{word} {}", terms::stem(word)))
    .into();
    expect![[r#"
        invalidated invalid
        invalidation invalid
        invalidates invalid
        retries retr
        retry retr
        caches cach
        caching cach
        stopped stop
        class class
        status status
        is is"#]]
    .assert_eq(&stems.join("\n"));
}

#[test]
fn files_are_listed_in_many_phrasings() {
    check_all(
        RUST,
        &[
            "ls",
            "list all rust files",
            "Which files are in src?",
            "What's in the tests folder?",
            "show me the directory structure",
            "please list the folders",
            "list *.toml files",
            "Can you find the file main.rs",
            "how many rust files are there?",
        ],
        expect![[r#"
            > ls
              list_files {"depth":1}
            2 files and 2 folders in the workspace.

            > list all rust files
              list_files {"glob":"*.rs"}
            3 files like `*.rs` in the workspace.

            > Which files are in src?
              list_files {"depth":1,"path":"src"}
            2 files in `src`.

            > What's in the tests folder?
              list_files {"depth":1,"path":"tests"}
            1 file in `tests`: `tests/cache.rs`.

            > show me the directory structure
              list_files {}
            5 files and 2 folders in the workspace.

            > please list the folders
              list_files {"depth":1}
            2 folders in the workspace.

            > list *.toml files
              list_files {"glob":"*.toml"}
            1 file like `*.toml` in the workspace: `Cargo.toml`.

            > Can you find the file main.rs
              list_files {}
            1 file whose path holds `main.rs` in the workspace: `src/main.rs`.

            > how many rust files are there?
              list_files {"glob":"*.rs"}
            3 files like `*.rs` in the workspace.

        "#]],
    );
}

#[test]
fn files_are_read_in_many_phrasings() {
    check_all(
        PYTHON,
        &[
            "cat pyproject.toml",
            "Please show me the file wages.py",
            "What does payroll/__init__.py contain?",
            "open payroll/report.py and pyproject.toml",
            "print the first 3 lines of payroll/wages.py",
            "show lines 12 to 14 of payroll/wages.py",
            "read missing.py",
            "read payroll",
            "how many lines are in payroll/wages.py?",
            "How many functions does payroll/wages.py have?",
        ],
        expect![[r#"
            > cat pyproject.toml
              read_file {"path":"pyproject.toml"}
            `pyproject.toml` has 4 lines.

            > Please show me the file wages.py
              read_file {"path":"wages.py"}
              list_files {}
              read_file {"path":"payroll/wages.py"}
            `wages.py` is not there; `payroll/wages.py` is. `payroll/wages.py` has 16 lines.

            > What does payroll/__init__.py contain?
              read_file {"path":"payroll/__init__.py"}
            `payroll/__init__.py` has 1 line.

            > open payroll/report.py and pyproject.toml
              read_file {"path":"payroll/report.py"}
              read_file {"path":"pyproject.toml"}
            `payroll/report.py` has 9 lines. `pyproject.toml` has 4 lines.

            > print the first 3 lines of payroll/wages.py
              read_file {"end_line":3,"path":"payroll/wages.py","start_line":1}
            `payroll/wages.py` has 16 lines; lines 1–3 are below.

            > show lines 12 to 14 of payroll/wages.py
              read_file {"end_line":14,"path":"payroll/wages.py","start_line":12}
            `payroll/wages.py` has 16 lines; lines 12–14 are below.

            > read missing.py
              read_file {"path":"missing.py"}
              list_files {}
            There is no file missing.py.

            > read payroll
              read_file {"path":"payroll"}
              list_files {}
              list_files {"depth":1,"path":"payroll"}
            `payroll` is a folder with 3 entries.

            > how many lines are in payroll/wages.py?
              read_file {"path":"payroll/wages.py"}
            `payroll/wages.py` has 16 lines.

            > How many functions does payroll/wages.py have?
              read_file {"path":"payroll/wages.py"}
            `payroll/wages.py` has 2 functions, as far as its lines show.

        "#]],
    );
}

#[test]
fn names_and_texts_are_found_in_many_phrasings() {
    check_all(
        PYTHON,
        &[
            "where is OVERTIME_FACTOR defined?",
            "where is compute_wage defined and who calls it?",
            "find usages of compute_wage",
            "which files use compute_wage?",
            "is csv used anywhere?",
            "what is Employee?",
            "search for \"The wage of\"",
            "grep /hours - \\d+/ in payroll",
            "Any TODOs?",
            "how many times is `hours` mentioned?",
            "which file defines write_report",
        ],
        expect![[r#"
            > where is OVERTIME_FACTOR defined?
              search {"case_sensitive":true,"pattern":"\\bOVERTIME_FACTOR\\b"}
              read_file {"end_line":19,"path":"payroll/wages.py","start_line":1}
            `OVERTIME_FACTOR` is defined at `payroll/wages.py:5`; it stands on 1 other line.

            > where is compute_wage defined and who calls it?
              search {"case_sensitive":true,"pattern":"\\bcompute_wage\\b"}
              read_file {"end_line":26,"path":"payroll/wages.py","start_line":8}
            `compute_wage` is defined at `payroll/wages.py:12`. `compute_wage` is called on 1 line in 1 file.

            > find usages of compute_wage
              search {"case_sensitive":true,"pattern":"\\bcompute_wage\\b"}
            `compute_wage` is used on 5 lines in 3 files.

            > which files use compute_wage?
              search {"case_sensitive":true,"pattern":"\\bcompute_wage\\b"}
            `compute_wage` is used on 5 lines in 3 files.

            > is csv used anywhere?
              search {"pattern":"\\bcsv\\b"}
            `csv` is used on 2 lines in 1 file.

            > what is Employee?
              search {"case_sensitive":true,"pattern":"\\bEmployee\\b"}
              read_file {"end_line":21,"path":"payroll/wages.py","start_line":3}
            `Employee` is defined at `payroll/wages.py:7`.

            > search for "The wage of"
              search {"case_sensitive":true,"pattern":"The wage of"}
            `The wage of` was found on 1 line in 1 file.

            > grep /hours - \d+/ in payroll
              list_files {"depth":1,"path":"payroll"}
              search {"case_sensitive":true,"path":"payroll","pattern":"hours - \\d+"}
            `/hours - \d+/` was found on 1 line in 1 file.

            > Any TODOs?
              search {"pattern":"todo"}
            `TODO` was not found in the workspace.

            > how many times is `hours` mentioned?
              search {"case_sensitive":true,"pattern":"hours"}
            `hours` was found on 6 lines in 2 files.

            > which file defines write_report
              search {"case_sensitive":true,"pattern":"\\bwrite_report\\b"}
              read_file {"end_line":19,"path":"payroll/report.py","start_line":1}
            `write_report` is defined at `payroll/report.py:5`.

        "#]],
    );
}

#[test]
fn questions_are_ranked_without_knowing_them() {
    check_all(
        WEB,
        &[
            "What happens when the token is wrong?",
            "What port does the server listen on?",
            "how do I run the tests?",
            "where do pins come from",
            "Which color does a pin have while the mouse is over it (hover)?",
            "What is this project about?",
            "why is the sky blue",
        ],
        expect![[r#"
            > What happens when the token is wrong?
              list_files {}
              search {"pattern":"token"}
              search {"pattern":"wrong"}
              read_file {"end_line":13,"path":"docs/setup guide.md","start_line":1}
              read_file {"end_line":17,"path":"server.js","start_line":5}
            The best match is `docs/setup guide.md:7`: `A 401 means that the token is wrong.`; see also `server.js:8`.

            > What port does the server listen on?
              list_files {}
              search {"pattern":"server|serv"}
              search {"pattern":"listen"}
              search {"pattern":"port"}
              read_file {"end_line":21,"path":"server.js","start_line":1}
            The best match is `server.js:15`: `http.createServer(handleRequest).listen(PORT);`.

            > how do I run the tests?
              list_files {}
              search {"pattern":"tests|test"}
              read_file {"end_line":15,"path":"package.json","start_line":3}
            The best match is `package.json:6`: `"test": "vitest"`.

            > where do pins come from
              list_files {}
              search {"pattern":"pins|pin"}
              read_file {"end_line":16,"path":"lib/pins.js","start_line":1}
              read_file {"end_line":13,"path":"style.css","start_line":1}
              read_file {"end_line":18,"path":"server.js","start_line":1}
              read_file {"end_line":13,"path":"index.html","start_line":1}
            The best match is `lib/pins.js:1`: `export class PinStore {`; see also `style.css:2`, `server.js:1`, `index.html:2`.

            > Which color does a pin have while the mouse is over it (hover)?
              list_files {}
              search {"pattern":"color"}
              search {"pattern":"mouse|mous"}
              search {"pattern":"hover"}
              search {"pattern":"pin"}
              read_file {"end_line":13,"path":"style.css","start_line":1}
            The best match is `style.css:3`: `.pin:hover { color: red; }`.

            > What is this project about?
              list_files {}
              read_file {"end_line":80,"path":"package.json","start_line":1}
            No file at the top says in words what the project is. There are 6 files, most of them `.js` (2), `.css` (1), `.html` (1).

            > why is the sky blue
              list_files {}
              search {"pattern":"blue"}
              search {"pattern":"sky"}
            Nothing was found for `blue`, `sky`.

        "#]],
    );
}

#[test]
fn changes_are_made_in_many_phrasings() {
    check_all(
        RUST,
        &[
            "In src/cache.rs, please replace the word limit by bound",
            "change the version from 0.3.0 to 0.4.0 in Cargo.toml",
            "set edition to 2021 in Cargo.toml",
            "s/hour/day/ in README.md",
            "rename entry to page in src/cache.rs",
            "replace `Cache` with `Store` in all files",
            "replace Cache with Store",
            "replace `nothing` with `something` in README.md",
            "remove `Default::default()` from tests/cache.rs",
            "Create notes/todo.md with the text `buy milk`",
            "create README.md with `x`",
            "append `The end.` to README.md",
            "delete tests/cache.rs",
            "move README.md to docs/",
            "rename src/cache.rs to src/store.rs",
            "run `cargo test`",
            "run the tests",
        ],
        expect![[r#"
            > In src/cache.rs, please replace the word limit by bound
              read_file {"path":"src/cache.rs"}
              edit_file {"all":true,"find":"limit","path":"src/cache.rs","replace":"bound"}
            In `src/cache.rs` `limit` is replaced by `bound` on 4 lines. The edit is proposed.

            > change the version from 0.3.0 to 0.4.0 in Cargo.toml
              read_file {"path":"Cargo.toml"}
              edit_file {"find":"0.3.0","path":"Cargo.toml","replace":"0.4.0"}
            In `Cargo.toml` `0.3.0` is replaced by `0.4.0` on 1 line. The edit is proposed.

            > set edition to 2021 in Cargo.toml
              read_file {"path":"Cargo.toml"}
              edit_file {"find":"edition = \"2024\"","path":"Cargo.toml","replace":"edition = \"2021\""}
            In `Cargo.toml` `2024` is replaced by `2021` on 1 line. The edit is proposed.

            > s/hour/day/ in README.md
              read_file {"path":"README.md"}
              edit_file {"find":"hour","path":"README.md","replace":"day"}
            In `README.md` `hour` is replaced by `day` on 1 line. The edit is proposed.

            > rename entry to page in src/cache.rs
              read_file {"path":"src/cache.rs"}
              edit_file {"all":true,"find":"entry","path":"src/cache.rs","replace":"page"}
            In `src/cache.rs` `entry` is replaced by `page` on 2 lines. The edit is proposed.

            > replace `Cache` with `Store` in all files
              search {"case_sensitive":true,"pattern":"Cache"}
              read_file {"path":"src/cache.rs"}
              read_file {"path":"src/main.rs"}
              read_file {"path":"tests/cache.rs"}
              edit_file {"all":true,"find":"Cache","path":"src/cache.rs","replace":"Store"}
              edit_file {"all":true,"find":"Cache","path":"src/main.rs","replace":"Store"}
              edit_file {"find":"Cache","path":"tests/cache.rs","replace":"Store"}
            In `src/cache.rs` `Cache` is replaced by `Store` on 2 lines. In `src/main.rs` `Cache` is replaced by `Store` on 2 lines. In `tests/cache.rs` `Cache` is replaced by `Store` on 1 line. The edit is proposed.

            > replace Cache with Store
              search {"case_sensitive":true,"pattern":"Cache"}
            Nothing was changed: `Cache` stands in 3 files; name the file, or say “in all files”.

            > replace `nothing` with `something` in README.md
              read_file {"path":"README.md"}
            Nothing was changed: `nothing` does not occur in `README.md`.

            > remove `Default::default()` from tests/cache.rs
              read_file {"path":"tests/cache.rs"}
              edit_file {"find":"Default::default()","path":"tests/cache.rs","replace":""}
            In `tests/cache.rs` `Default::default()` is removed on 1 line. The edit is proposed.

            > Create notes/todo.md with the text `buy milk`
              read_file {"end_line":1,"path":"notes/todo.md","start_line":1}
              write_file {"path":"notes/todo.md","text":"buy milk\n"}
            `notes/todo.md` is created with 1 line. The edit is proposed.

            > create README.md with `x`
              read_file {"end_line":1,"path":"README.md","start_line":1}
            Nothing was changed: `README.md` exists already; say “overwrite README.md with `…`”, or name another file.

            > append `The end.` to README.md
              read_file {"path":"README.md"}
              edit_file {"find":"Run `larder fetch URL`. Entries expire after an hour.","path":"README.md","replace":"Run `larder fetch URL`. Entries expire after an hour.\nThe end."}
            `The end.` is added at the end of `README.md`. The edit is proposed.

            > delete tests/cache.rs
              delete_file {"path":"tests/cache.rs"}
            `tests/cache.rs` is deleted. The edit is proposed.

            > move README.md to docs/
              move_file {"from":"README.md","to":"docs/README.md"}
            `README.md` is moved to `docs/README.md`. The edit is proposed.

            > rename src/cache.rs to src/store.rs
              move_file {"from":"src/cache.rs","to":"src/store.rs"}
            `src/cache.rs` is moved to `src/store.rs`. The edit is proposed.

            > run `cargo test`
              run_command {"command":"cargo test"}
            `cargo test` was run: exit code 0.

            > run the tests
              list_files {}
              search {"pattern":"tests|test"}
              read_file {"end_line":13,"path":"tests/cache.rs","start_line":1}
            Working out a command is beyond the built-in model: give it in back-ticks, as in run `…`. The best match is `tests/cache.rs:1`: `#[test]`.

        "#]],
    );
}

#[test]
fn what_needs_a_language_model_is_said_and_what_bears_on_it_is_shown() {
    check_all(
        RUST,
        &["implement a time-based expiry for Cache", "Write a test for evict_oldest", "refactor src/main.rs"],
        expect![[r#"
            > implement a time-based expiry for Cache
              list_files {}
              search {"pattern":"time[-_ ]?bas"}
              search {"pattern":"expiry|expir"}
              search {"pattern":"cache|cach"}
              read_file {"end_line":29,"path":"src/cache.rs","start_line":10}
              read_file {"end_line":16,"path":"README.md","start_line":4}
              read_file {"end_line":17,"path":"src/main.rs","start_line":1}
              read_file {"end_line":13,"path":"tests/cache.rs","start_line":1}
            Writing is beyond the built-in model, which only searches, reads and makes exact edits. The best match is `src/cache.rs:13`: `pub struct Cache {`; see also `README.md:7`, `src/main.rs:3`, `tests/cache.rs:3`.

            > Write a test for evict_oldest
              list_files {}
              search {"pattern":"evict[-_ ]?oldest"}
              search {"pattern":"test"}
              read_file {"end_line":42,"path":"src/cache.rs","start_line":23}
              read_file {"end_line":13,"path":"tests/cache.rs","start_line":1}
            Writing is beyond the built-in model, which only searches, reads and makes exact edits. The best match is `src/cache.rs:36`: `fn evict_oldest(&mut self) {`; see also `tests/cache.rs:1`.

            > refactor src/main.rs
              read_file {"path":"src/main.rs"}
            Writing is beyond the built-in model, which only searches, reads and makes exact edits. `src/main.rs` has 14 lines: 1 function, 2 other items. It says of itself: “The command line.”

        "#]],
    );
}

#[test]
fn a_thread_knows_what_it_spoke_of() {
    let mut project = Project::new(RUST);
    let mut items = Vec::new();
    let mut text = String::new();
    for prompt in [
        "list the files in src",
        "read the second one",
        "and what functions are in it?",
        "where is insert defined?",
        "who calls it?",
        "what about `evict_oldest`?",
    ] {
        let turn = project.ask(&items, user(prompt));
        items.extend(turn);
        if let Some(Item::Agent(agent)) = items.last() {
            text.push_str(&format!("> {prompt}\n{}\n", agent.text.lines().next().unwrap_or_default()));
        }
    }
    expect![[r#"
        > list the files in src
        2 files in `src`.
        > read the second one
        `src/main.rs` has 14 lines.
        > and what functions are in it?
        `src/main.rs` has 14 lines: 1 function, 2 other items. It says of itself: “The command line.”
        > where is insert defined?
        `insert` is defined at `src/cache.rs:24`; it stands on 2 other lines.
        > who calls it?
        `insert` is called on 2 lines in 2 files.
        > what about `evict_oldest`?
        `evict_oldest` is defined at `src/cache.rs:36`; it stands on 1 other line.
    "#]]
    .assert_eq(&text);
}

#[test]
fn the_selection_is_what_the_question_is_about() {
    let message = UserMessage {
        text: "Explain the selected code.".to_owned(),
        context: Some("<context>\nThe user has src/main.rs open.\nSelected lines 7-8:\n```\nfn main() {\n```\n</context>".to_owned()),
    };
    expect![[r#"
        user: Explain the selected code.
        call 1: read_file {"path":"src/main.rs"}
        output: 15 lines
        agent: `src/main.rs` has 14 lines: 1 function, 2 other items. It says of itself: “The command line.”

        The selected lines 7–8:

        ```rust
            7  fn main() {
            8      let mut cache = Cache::new(MAX_ENTRIES);
        ```

        Outline of `src/main.rs`:

        - 3: `mod cache;`
        - 7: `fn main()`
        - 14: `const MAX_ENTRIES: usize = 100;`
    "#]]
    .assert_eq(&lines(&Project::new(RUST).ask(&[], message)));
}

#[test]
fn a_name_inside_a_longer_one_is_left_alone() {
    let mut project = Project::new("//- a.txt\nlen\nlength\nlen length\n");
    project.ask(&[], user("rename len to size in a.txt"));
    assert_eq!(project.files["a.txt"], "size\nlength\nsize length\n");
}

#[test]
fn a_refused_edit_is_told_and_tried_once_more_at_most() {
    let mut project = Project::new("//- a.txt\none\n");
    project.ask(&[], user("hello"));
    let mut items = vec![Item::User(user("replace `one` with `two` in a.txt"))];
    let mut edits = 0;
    loop {
        let produced = project.step(&items, ToolChoice::Auto);
        let calls: Vec<_> = produced
            .iter()
            .filter_map(|item| if let Item::Call(call) = item { Some(call.clone()) } else { None })
            .collect();
        items.extend(produced);
        if calls.is_empty() {
            break;
        }
        for call in calls {
            let is_edit = call.name == "edit_file";
            edits += usize::from(is_edit);
            let text = if is_edit { "the user said no".to_owned() } else { project.run(&call).unwrap() };
            items.push(Item::Output(ToolOutput { call_id: call.id, text, is_error: is_edit }));
        }
    }
    let Some(Item::Agent(answer)) = items.last() else { panic!("no answer") };
    assert_eq!(
        (edits, answer.text.lines().next().unwrap_or_default()),
        (1, "Nothing was changed in `a.txt`: the user said no.")
    );
}

#[test]
fn without_tools_it_answers_from_what_is_there() {
    let mut project = Project::new(RUST);
    project.tools.clear();
    let first = result(&mut project, &[], user("read Cargo.toml"));
    expect!["`Cargo.toml` could not be read: the tool read_file is not offered here."].assert_eq(&first);
}

#[test]
fn a_step_that_may_not_call_has_no_calls() {
    let project = Project::new(RUST);
    let produced = project.step(&[Item::User(user("list the files"))], ToolChoice::None);
    assert!(matches!(produced.as_slice(), [Item::Agent(_)]), "{produced:?}");
}

#[test]
fn arguments_that_a_tool_does_not_take_are_left_out() {
    let mut project = Project::new(RUST);
    for tool in &mut project.tools {
        if tool.name == "list_files" {
            tool.parameters = serde_json::json!({"type": "object", "properties": {}});
        }
    }
    let produced = project.step(&[Item::User(user("list the files"))], ToolChoice::Auto);
    let [Item::Call(call)] = produced.as_slice() else { panic!("{produced:?}") };
    assert_eq!(call.arguments, "{}");
}

#[test]
fn how_to_get_a_model_is_said_in_exactly_one_short_line() {
    for prompt in ["read Cargo.toml", "hello", "why?", "list the files and read src/main.rs"] {
        let items = Project::new(RUST).ask(&[], user(prompt));
        let Some(Item::Agent(agent)) = items.last() else { panic!("no answer") };
        let said: Vec<_> = agent.text.lines().filter(|line| line.contains("OPENAI_API_KEY")).collect();
        assert!(matches!(said.as_slice(), [line] if line.len() <= 110), "{prompt}: {said:?}");
    }
}

#[tokio::test]
async fn the_stream_ends_with_done_and_its_text_comes_in_pieces() {
    let items = [Item::User(user("hello"))];
    let request = Request {
        instructions: "",
        items: &items,
        tools: &[],
        tool_choice: ToolChoice::Auto,
        answer_schema: None,
        cache_key: "",
    };
    let model = OfflineModel::chosen();
    let events: Vec<_> = model.stream(request).await.unwrap().collect().await;
    let deltas = events.iter().filter(|event| matches!(event, Ok(ModelEvent::TextDelta(_)))).count();
    let dones = events.iter().filter(|event| matches!(event, Ok(ModelEvent::Done { .. }))).count();
    assert!(deltas > 3 && dones == 1, "{events:?}");
    let last = events.iter().rev().find_map(|event| match event {
        Ok(ModelEvent::TextDelta(text)) => Some(text.as_str()),
        _ => None,
    });
    assert_eq!(last, Some("_No language model, since `model` is `offline`._"), "no advice for who chose it");
    assert_eq!(events.last(), Some(&Ok(ModelEvent::Done { finish: Finish::Stop, usage: None })));
}

#[test]
fn the_same_history_has_the_same_reply() {
    let first = Project::new(WEB).ask(&[], user("what happens when the token is wrong?"));
    let second = Project::new(WEB).ask(&[], user("what happens when the token is wrong?"));
    assert_eq!(first, second);
}

#[test]
fn a_huge_prompt_is_answered() {
    for piece in ["word ", "`", "a.rs ", "\n\n- ", "replace x ", "((((", "ä"] {
        let prompt = piece.repeat(1_000_000 / piece.len());
        let items = Project::new(RUST).ask(&[], user(&prompt));
        assert!(matches!(items.last(), Some(Item::Agent(_))));
    }
}

/// Prompts of words that mean something, in any order, so that every branch of the reading is reached.
fn prompts() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "read",
        "list",
        "find",
        "replace",
        "rename",
        "with",
        "to",
        "in",
        "where",
        "is",
        "defined",
        "who",
        "calls",
        "it",
        "them",
        "the",
        "second",
        "file",
        "files",
        "how",
        "many",
        "lines",
        "5-3",
        "10",
        "src/cache.rs",
        "Cargo.toml",
        "src",
        "`limit`",
        "\"\"",
        "`",
        "'",
        "“x”",
        "/a(/",
        "*.rs",
        "*",
        ".",
        "..",
        "/",
        "and",
        "then",
        ",",
        "?",
        "!",
        "set",
        "create",
        "append",
        "delete",
        "move",
        "run",
        "explain",
        "this",
        "project",
        "what",
        "about",
        "from",
        "of",
        "all",
        "everywhere",
        "s/a/b/",
        "count",
        "uses",
        "for",
        "more",
        "continue",
        "\n\n",
        "ß",
        "İ",
        "\u{0}",
        "🦀",
        "first",
        "line",
    ]);
    prop::collection::vec(words, 0..14).prop_map(|words| words.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn any_order_of_known_words_ends_with_an_answer(prompt in prompts(), open in any::<bool>()) {
        let context = open.then(|| "The user has src/main.rs open.\nSelected lines 2-4".to_owned());
        let items = Project::new(RUST).ask(&[], UserMessage { text: prompt, context });
        prop_assert!(matches!(items.last(), Some(Item::Agent(_))));
    }

    #[test]
    fn no_prompt_and_no_output_makes_it_panic(prompt in ".{0,80}", known in prompts(), context in ".{0,60}", output in "[\\PC\n\t:0-9]{0,200}", is_error in any::<bool>()) {
        let project = Project::new(RUST);
        for text in [prompt, known] {
            let mut items = vec![Item::User(UserMessage { text, context: Some(context.clone()) })];
            // Whatever the tools say, the turn ends.
            for _ in 0..8 {
                let produced = project.step(&items, ToolChoice::Auto);
                let calls: Vec<_> = produced.iter().filter_map(|item| if let Item::Call(call) = item { Some(call.id.clone()) } else { None }).collect();
                items.extend(produced);
                if calls.is_empty() {
                    break;
                }
                items.extend(calls.into_iter().map(|call_id| Item::Output(ToolOutput { call_id, text: output.clone(), is_error })));
            }
            prop_assert!(matches!(items.last(), Some(Item::Agent(_))));
        }
    }

    #[test]
    fn no_call_is_made_twice_without_a_change_between(prompt in prompts()) {
        let items = Project::new(RUST).ask(&[], user(&prompt));
        let mut seen = std::collections::HashSet::new();
        let mut ids = std::collections::HashSet::new();
        for item in &items {
            let Item::Call(call) = item else { continue };
            prop_assert!(ids.insert(call.id.clone()), "{} twice", call.id);
            if !matches!(call.name.as_str(), "list_files" | "search" | "read_file") {
                seen.clear();
            }
            prop_assert!(seen.insert((call.name.clone(), call.arguments.clone())), "{} {} twice", call.name, call.arguments);
        }
    }
}
