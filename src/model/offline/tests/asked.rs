//! What people ask in their own words: the wishes that are read from it, and the answers, over a small shop.

use expect_test::{Expect, expect};

use super::{
    super::{outline, outputs, plan, understand::understand, wish::Wish},
    Item, ToolChoice, ToolOutput,
    project::{Project, user},
};

const SHOP: &str = r#"//- shop/cart.py
"""A cart."""

TAX_RATE = 0.2


class Item:
    def __init__(self, name, price):
        self.name = name
        self.price = price


class Cart:
    # FIXME: the same item twice
    def add(self, item):
        self.items.append(item)


# ask: where is parse_price used?
def parse_price(text):
    # TODO: commas
    return float(text)
//- shop/main.py
from .cart import Cart, Item, parse_price

cart = Cart()
cart.add(Item("tea", parse_price("2.5")))
//- js/app.js
// The list.
export class TodoList {
  constructor(name) {
    this.name = name;
  }

  get open() { return this.items.filter((item) => !item.done); }

  add(text) {
    if (!text) {
      return;
    }
  }
}
//- docs/setup guide.md
# One
two
three
"#;

/// Each prompt with the answer that it gets, without the line about language models.
fn check(prompts: &[&str], expected: Expect) {
    let mut text = String::new();
    for prompt in prompts {
        text.push_str(&format!("> {prompt}\n{}\n\n", answer(SHOP, prompt)));
    }
    expected.assert_eq(&text);
}

fn answer(project: &str, prompt: &str) -> String {
    let items = Project::new(project).ask(&[], user(prompt));
    let Some(Item::Agent(agent)) = items.last() else { panic!("no answer to {prompt}") };
    agent.text.rsplit_once("\n\n").map_or(String::new(), |(answer, _)| answer.to_owned())
}

/// Each prompt with the first paragraph of its answer.
fn check_results(prompts: &[&str], expected: Expect) {
    let mut text = String::new();
    for prompt in prompts {
        let answer = answer(SHOP, prompt);
        text.push_str(&format!("> {prompt}\n{}\n", answer.lines().next().unwrap_or_default()));
    }
    expected.assert_eq(&text);
}

/// `main` says nothing in other questions, where it means the most important.
#[test]
fn what_main_does_is_asked_of_the_function() {
    check_results(
        &["what does main do", "what does main do?", "explain the main function", "what does it do"],
        expect![[r#"
            > what does main do
            `main` was not found in the workspace.
            > what does main do?
            `main` was not found in the workspace.
            > explain the main function
            `main` was not found in the workspace.
            > what does it do
            No file was spoken of before: name the file.
        "#]],
    );
    let many =
        "//- benches/a.rs\nfn main() {}\n//- src/app.rs\nfn main() {}\n//- src/main.rs\nfn main() {}\n";
    let answer = answer(many, "what does main do");
    assert!(answer.starts_with("`main` is defined at `src/main.rs:1`"), "{answer}");
}

#[test]
fn a_definition_and_its_uses_are_told_once_each() {
    check(
        &["where is parse_price defined and who calls it"],
        expect![[r#"
        > where is parse_price defined and who calls it
        `parse_price` is defined at `shop/cart.py:19`. `parse_price` is called on 1 line in 1 file.

        **shop/cart.py:19**

        ```python
           18  # ask: where is parse_price used?
           19  def parse_price(text):
           20      # TODO: commas
           21      return float(text)
        ```

        `parse_price`:

        - `shop/main.py:4` `cart.add(Item("tea", parse_price("2.5")))`

    "#]],
    );
}

#[test]
fn the_parts_of_a_file_are_called_what_they_are() {
    check_results(
        &["outline docs/setup guide.md", "outline shop/main.py"],
        expect![[r#"
        > outline docs/setup guide.md
        `docs/setup guide.md` has 3 lines: 1 heading. It says of itself: “two three”
        > outline shop/main.py
        `shop/main.py` has 4 lines.
    "#]],
    );
}

#[test]
fn every_phrase_that_the_help_names_is_understood() {
    let mut text = String::new();
    for line in plan::HELP.lines().filter(|line| line.starts_with("- ")) {
        // A phrase in two back-ticks holds single ones.
        for part in line.trim_start_matches("- ").split(" · ") {
            let ticks = if part.starts_with("``") { "``" } else { "`" };
            let phrase = part.split(ticks).nth(1).unwrap_or_default().trim();
            let wishes = understand(phrase, None, false);
            assert!(
                !matches!(wishes.as_slice(), [Wish::Beyond { .. } | Wish::Unclear { .. } | Wish::Help]),
                "{phrase}"
            );
            text.push_str(&format!("{phrase}\n  {:?}\n", wishes));
        }
    }
    expect![[r#"
        what files are in src?
          [List { scope: Some(Scope { path: "src", told_as: Place }), filter: Filter { globs: [], part: None, folders_only: false }, deep: false }]
        read Cargo.toml
          [Read { targets: [Path("Cargo.toml")], lines: None }]
        lines 10-40 of src/main.rs
          [Read { targets: [Path("src/main.rs")], lines: Some((10, 40)) }]
        outline src/main.rs
          [Outline { target: Path("src/main.rs") }]
        what is this project about?
          [Project]
        where is parse_config defined?
          [Define { name: "parse_config", scope: None }]
        who calls parse_config?
          [Uses { name: "parse_config", scope: None, calls_only: true, count: false }]
        how many TODOs are there?
          [Find { needle: Needle { shown: "TODO", pattern: "todo", case_sensitive: false }, scope: None, count: true }]
        how are retries limited?
          [Question { words: "how are retries limited" }]
        replace `old` with `new` in src/main.rs
          [Replace(Replacement { find: "old", with: "new", target: Some(Path("src/main.rs")), everywhere: false, places: All, whole_words: false, on_lines_with: None })]
        rename old to new in src/main.rs
          [Replace(Replacement { find: "old", with: "new", target: Some(Path("src/main.rs")), everywhere: false, places: All, whole_words: true, on_lines_with: None })]
        create notes.md with `text`
          [Create { path: "notes.md", text: "text\n", overwrite: false }]
        run `cargo test`
          [Run { command: "cargo test" }]
    "#]].assert_eq(&text);
}

#[test]
fn the_lines_that_an_answer_offers_are_read_when_they_are_asked_for() {
    let long: String = (1..=450).map(|number| format!("line {number}\n")).collect();
    for path in ["long.txt", "a folder/long name.txt"] {
        let mut prompt = format!("lines 3-5 of \"{path}\"");
        let mut read = Vec::new();
        let project = format!("//- {path}\n{long}");
        for _ in 0..4 {
            let answer = answer(&project, &prompt);
            let numbers: Vec<usize> = answer
                .lines()
                .filter_map(|line| line.trim_start().split_once("  line ")?.0.parse().ok())
                .collect();
            read.push((numbers[0], numbers[numbers.len() - 1]));
            let Some((_, offered)) = answer.split_once("ask for `") else { break };
            prompt = offered.split_once('`').unwrap().0.to_owned();
        }
        assert_eq!(read, [(3, 5), (6, 205), (206, 405), (406, 450)], "{path}");
    }
}

#[test]
fn lines_are_asked_for_in_many_ways() {
    check_results(
        &[
            "lines 3-5 of js/app.js",
            "lines 3 to 5 of js/app.js",
            "line 2 in js/app.js",
            "lines 5-3 of js/app.js",
            "the first 2 lines of js/app.js",
            "lines 2-3 of `docs/setup guide.md`",
            "lines 40-50 of js/app.js",
        ],
        expect![[r#"
            > lines 3-5 of js/app.js
            `js/app.js` has 14 lines; lines 3–5 are below.
            > lines 3 to 5 of js/app.js
            `js/app.js` has 14 lines; lines 3–5 are below.
            > line 2 in js/app.js
            `js/app.js` has 14 lines; line 2 is below.
            > lines 5-3 of js/app.js
            `js/app.js` has 14 lines; lines 3–5 are below.
            > the first 2 lines of js/app.js
            `js/app.js` has 14 lines; lines 1–2 are below.
            > lines 2-3 of `docs/setup guide.md`
            `docs/setup guide.md` has 3 lines; lines 2–3 are below.
            > lines 40-50 of js/app.js
            There is no line 40; js/app.js has 14 lines.
        "#]],
    );
}

#[test]
fn any_folder_that_is_there_can_be_named() {
    check_results(
        &[
            "what files are in shop?",
            "What files are in Shop?",
            "what is in js?",
            "list js",
            "list shop",
            "ls shop",
            "list shop and js",
            "list python files in shop",
            "how many files are in shop?",
            "find parse_price in js",
            "find parse_price in shop",
            "where is parse_price used in main?",
        ],
        expect![[r#"
            > what files are in shop?
            2 files in `shop`.
            > What files are in Shop?
            2 files in `shop`.
            > what is in js?
            1 file in `js`: `js/app.js`.
            > list js
            1 file in `js`: `js/app.js`.
            > list shop
            2 files in `shop`.
            > ls shop
            2 files in `shop`.
            > list shop and js
            2 files in `shop`. 1 file in `js`: `js/app.js`.
            > list python files in shop
            2 files like `*.py` in `shop`.
            > how many files are in shop?
            2 files in `shop`.
            > find parse_price in js
            `parse_price` was not found in `js`.
            > find parse_price in shop
            `parse_price` was found on 3 lines in 2 files.
            > where is parse_price used in main?
            `parse_price` is used on 2 lines in 1 file.
        "#]],
    );
}

#[test]
fn a_folder_that_is_not_there_is_said_not_to_be() {
    check(
        &["what files are in nope?", "list cart", "find TAX_RATE in nope", "how many files are in nope?"],
        expect![[r#"
            > what files are in nope?
            There is no folder named `nope`.

            Folders that are there: `docs`, `js`, `shop`.

            > list cart
            There is no folder named `cart`.

            Files with such a name: `shop/cart.py`.

            Folders that are there: `docs`, `js`, `shop`.

            > find TAX_RATE in nope
            There is no folder or file named `nope`, so all files were searched. `TAX_RATE` was found on 1 line in 1 file.

            - `shop/cart.py:3` `TAX_RATE = 0.2`

            > how many files are in nope?
            There is no folder named `nope`.

            Folders that are there: `docs`, `js`, `shop`.

        "#]],
    );
}

#[test]
fn each_thing_that_is_named_is_looked_for() {
    check_results(
        &[
            "find FIXME or TODO",
            "find FIXME and TODO",
            "find `TODO` and `FIXME`",
            "find parse_price, TAX_RATE and Cart",
            "where are Cart and Item defined?",
            "where is parse_price defined and used?",
            "who calls add and parse_price?",
            "how many TODOs and FIXMEs are there?",
            "which files contain float or append?",
            "outline js/app.js and shop/main.py",
            "how many lines do js/app.js and shop/main.py have?",
            "delete js/app.js and shop/main.py",
        ],
        expect![[r#"
            > find FIXME or TODO
            `FIXME` was found on 1 line in 1 file. `TODO` was found on 2 lines in 2 files.
            > find FIXME and TODO
            `FIXME` was found on 1 line in 1 file. `TODO` was found on 2 lines in 2 files.
            > find `TODO` and `FIXME`
            `TODO` was found on 1 line in 1 file. `FIXME` was found on 1 line in 1 file.
            > find parse_price, TAX_RATE and Cart
            `parse_price` was found on 3 lines in 2 files. `TAX_RATE` was found on 1 line in 1 file. `Cart` was found on 5 lines in 2 files.
            > where are Cart and Item defined?
            `Cart` is defined at `shop/cart.py:12`; it stands on 2 other lines. `Item` is defined at `shop/cart.py:6`; it stands on 2 other lines.
            > where is parse_price defined and used?
            `parse_price` is defined at `shop/cart.py:19`. `parse_price` is used on 2 lines in 1 file.
            > who calls add and parse_price?
            `add` is called on 1 line in 1 file. `parse_price` is called on 1 line in 1 file.
            > how many TODOs and FIXMEs are there?
            `TODO` was found on 2 lines in 2 files. `FIXME` was found on 1 line in 1 file.
            > which files contain float or append?
            `float` was found on 1 line in 1 file. `append` was found on 1 line in 1 file.
            > outline js/app.js and shop/main.py
            `js/app.js` has 14 lines: 3 functions, 1 type or block. It says of itself: “The list.” `shop/main.py` has 4 lines.
            > how many lines do js/app.js and shop/main.py have?
            `js/app.js` has 14 lines. `shop/main.py` has 4 lines.
            > delete js/app.js and shop/main.py
            `js/app.js` is deleted. The edit is proposed. `shop/main.py` is deleted. The edit is proposed.
        "#]],
    );
}

#[test]
fn more_things_than_are_answered_are_not_dropped_in_silence() {
    let names: Vec<_> = ('a'..='l').map(|letter| format!("`{letter}`")).collect();
    let answer = answer(SHOP, &format!("find {}", names.join(", ")));
    assert!(
        answer.contains("Only the first 8 things are answered: ask again for the 4 after them."),
        "{answer}"
    );
}

#[test]
fn a_file_that_is_named_like_what_no_line_says_is_told() {
    let shop = "//- shop.py\nprice = 2\n//- checks/test_shop.py\nassert price\n";
    let answer = answer(shop, "why does the parser test fail?");
    assert!(
        answer.contains("Nothing was found for ") && answer.contains("Files with such a name: "),
        "{answer}"
    );
    assert!(answer.contains("`checks/test_shop.py`"), "{answer}");
}

#[test]
fn what_is_beyond_this_model_is_said_and_its_words_are_not_looked_for() {
    check(
        &[
            "Is there a bug in shop/main.py?",
            "what is wrong with parse_price?",
            "run the tests",
            "Write a class for TAX_RATE",
            "how do I run the cart?",
        ],
        expect![[r#"
            > Is there a bug in shop/main.py?
            Judging code is beyond the built-in model, which only searches, reads and makes exact edits. `shop/main.py` has 4 lines.

            No headings, keys or definitions were recognised; it begins:

            ```python
                1  from .cart import Cart, Item, parse_price
                2  
                3  cart = Cart()
                4  cart.add(Item("tea", parse_price("2.5")))
            ```

            > what is wrong with parse_price?
            Judging code is beyond the built-in model, which only searches, reads and makes exact edits. The best match is `shop/cart.py:19`: `def parse_price(text):`; see also `shop/main.py:1`.

            **shop/cart.py:19**

            ```python
               16  
               17  
               18  # ask: where is parse_price used?
               19  def parse_price(text):
               20      # TODO: commas
               21      return float(text)
            ```

            **shop/main.py:1**

            ```python
                1  from .cart import Cart, Item, parse_price
                2  
                3  cart = Cart()
                4  cart.add(Item("tea", parse_price("2.5")))
            ```

            Looked for `parse_price`: 3 lines in 2 files, ranked by how many of the terms stand together and how rare they are.

            > run the tests
            Working out a command is beyond the built-in model: give it in back-ticks, as in run `…`. Nothing was found for `tests`.

            All files were searched, in any case and for other forms of the words too.

            > Write a class for TAX_RATE
            Writing is beyond the built-in model, which only searches, reads and makes exact edits. The best match is `shop/cart.py:3`: `TAX_RATE = 0.2`.

            **shop/cart.py:3** (TAX_RATE, class)

            ```python
                1  """A cart."""
                2  
                3  TAX_RATE = 0.2
                4  
                5  
                6  class Item:
                7      def __init__(self, name, price):
                8          self.name = name
                9          self.price = price
               10  
               11  
               12  class Cart:
               13      # FIXME: the same item twice
               14      def add(self, item):
               15          self.items.append(item)
               16  
               17  
               18  # ask: where is parse_price used?
            ```

            Looked for `TAX_RATE`, `class`: 4 lines in 2 files, ranked by how many of the terms stand together and how rare they are.

            > how do I run the cart?
            The best match is `shop/cart.py:12`: `class Cart:`; see also `shop/main.py:1`.

            **shop/cart.py:12**

            ```python
                1  """A cart."""
                2  
                3  TAX_RATE = 0.2
                4  
                5  
                6  class Item:
                7      def __init__(self, name, price):
                8          self.name = name
                9          self.price = price
               10  
               11  
               12  class Cart:
               13      # FIXME: the same item twice
               14      def add(self, item):
               15          self.items.append(item)
               16  
               17  
               18  # ask: where is parse_price used?
            ```

            **shop/main.py:1**

            ```python
                1  from .cart import Cart, Item, parse_price
                2  
                3  cart = Cart()
                4  cart.add(Item("tea", parse_price("2.5")))
            ```

            Looked for `cart`: 5 lines in 2 files, ranked by how many of the terms stand together and how rare they are.

        "#]],
    );
}

#[test]
fn a_name_to_define_is_looked_up() {
    check(
        &["define TodoList", "where is TAX_RATE defined?", "where is parse_price defined?"],
        expect![[r#"
        > define TodoList
        `TodoList` is defined at `js/app.js:2`.

        **js/app.js:2**

        ```js
            1  // The list.
            2  export class TodoList {
            3    constructor(name) {
            4      this.name = name;
            5    }
            6  
            7    get open() { return this.items.filter((item) => !item.done); }
            8  
            9    add(text) {
           10      if (!text) {
           11        return;
           12      }
           13    }
           14  }
        ```

        > where is TAX_RATE defined?
        `TAX_RATE` is defined at `shop/cart.py:3`.

        **shop/cart.py:3**

        ```python
            3  TAX_RATE = 0.2
        ```

        > where is parse_price defined?
        `parse_price` is defined at `shop/cart.py:19`; it stands on 2 other lines.

        **shop/cart.py:19**

        ```python
           18  # ask: where is parse_price used?
           19  def parse_price(text):
           20      # TODO: commas
           21      return float(text)
        ```

        It also stands here:

        - `shop/main.py:1` `from .cart import Cart, Item, parse_price`
        - `shop/main.py:4` `cart.add(Item("tea", parse_price("2.5")))`

    "#]],
    );
}

#[test]
fn a_quoted_text_is_found_as_it_stands() {
    check(
        &["find \"def \"", "find `cart`", "find `CART`", "find \" Item\""],
        expect![[r#"
        > find "def "
        `def ` was found on 3 lines in 1 file.

        - `shop/cart.py:7` `def __init__(self, name, price):`
        - `shop/cart.py:14` `def add(self, item):`
        - `shop/cart.py:19` `def parse_price(text):`

        > find `cart`
        `cart` was found on 4 lines in 2 files.

        - `shop/cart.py:1` `"""A cart."""`
        - `shop/main.py:1` `from .cart import Cart, Item, parse_price`
        - `shop/main.py:3` `cart = Cart()`
        - `shop/main.py:4` `cart.add(Item("tea", parse_price("2.5")))`

        > find `CART`
        `CART` was not found as it is written. In any case: `CART` was found on 5 lines in 2 files.

        - `shop/cart.py:1` `"""A cart."""`
        - `shop/cart.py:12` `class Cart:`
        - `shop/main.py:1` `from .cart import Cart, Item, parse_price`
        - `shop/main.py:3` `cart = Cart()`
        - `shop/main.py:4` `cart.add(Item("tea", parse_price("2.5")))`

        > find " Item"
        ` Item` was found on 2 lines in 2 files.

        - `shop/cart.py:6` `class Item:`
        - `shop/main.py:1` `from .cart import Cart, Item, parse_price`

    "#]],
    );
}

#[test]
fn a_question_to_an_agent_is_no_use() {
    check(
        &["where is parse_price used?"],
        expect![[r#"
        > where is parse_price used?
        `parse_price` is used on 2 lines in 1 file.

        - `shop/main.py:1` `from .cart import Cart, Item, parse_price`
        - `shop/main.py:4` `cart.add(Item("tea", parse_price("2.5")))`

        Lines that look like its definition:

        - `shop/cart.py:19` `def parse_price(text):`

    "#]],
    );
}

#[test]
fn what_a_tool_advises_a_model_is_not_told_to_a_person() {
    let said = [
        "there is no file nope.py; list the files to see what there is",
        "there is no file src/mian.rs; near it are: src/main.rs; use write_file to create it",
        ".env may hold secrets, so that it is never read, searched or edited; ask the user if it matters",
        "src is a folder: use list_files to see what is in it",
        "../b.rs is outside the workspace; use a path below one of its folders, relative to it",
        "no folder is open, so there is nowhere to run a command: ask the user to open one",
        "a.rs was not edited: the text to find stands at 2 places (lines 2, 10); add lines around it so that it stands only once, or ask to replace all",
        "docs is empty (files that are ignored or hidden are listed with hidden: true)",
        "more than 400 entries, the rest is left out: call list_files with the path of a folder",
        "start_line 4 is past the end; a.txt has 3 lines",
        "this call was not allowed and did not run: not on Mondays",
        "use read_file",
    ];
    expect![[r#"
        there is no file nope.py
        there is no file src/mian.rs; near it are: src/main.rs
        .env may hold secrets, so that it is never read, searched or edited
        src is a folder
        ../b.rs is outside the workspace
        no folder is open, so there is nowhere to run a command
        a.rs was not edited: the text to find stands at 2 places (lines 2, 10)
        docs is empty
        more than 400 entries, the rest is left out
        there is no line 4; a.txt has 3 lines
        this call was not allowed and did not run: not on Mondays
        use read_file"#]]
    .assert_eq(&said.map(outputs::reason).join("\n"));
}

#[test]
fn what_is_refused_for_several_files_is_said_once() {
    let project = Project::new("//- a.txt\none\n//- b.txt\none\n//- c.txt\none\n");
    let mut items = vec![Item::User(user("replace `one` with `two` in all files"))];
    let answer = loop {
        let produced = project.step(&items, ToolChoice::Auto);
        if let Some(Item::Agent(agent)) = produced.last() {
            break agent.text.clone();
        }
        for item in produced {
            let Item::Call(call) = &item else { continue };
            let refused = call.name == "edit_file";
            let text = if refused {
                "this call was not allowed and did not run: the user said no".to_owned()
            } else {
                project.clone().run(call).unwrap()
            };
            let output = ToolOutput { call_id: call.id.clone(), text, is_error: refused };
            items.extend([item, Item::Output(output)]);
        }
    };
    expect!["Nothing was changed in `a.txt`, `b.txt`, `c.txt`: this call was not allowed and did not run: the user said no."].assert_eq(answer.rsplit_once("\n\n").unwrap().0);
}

#[test]
fn a_replacement_stays_in_the_place_that_was_named() {
    check_results(
        &[
            "replace `TAX_RATE` with `VAT` in shop",
            "replace `TAX_RATE` with `VAT` in js",
            "replace `TAX_RATE` with `VAT` in nope",
            "replace TAX_RATE with VAT in .env",
        ],
        expect![[r#"
            > replace `TAX_RATE` with `VAT` in shop
            Nothing was changed: “shop” was not understood; what is understood: replace `old` with `new` in FILE, or in FILE and FILE, or in all files; replace the first `old` with `new` in FILE; replace `old` with `new` on line 3 of FILE.
            > replace `TAX_RATE` with `VAT` in js
            Nothing was changed: “js” was not understood; what is understood: replace `old` with `new` in FILE, or in FILE and FILE, or in all files; replace the first `old` with `new` in FILE; replace `old` with `new` on line 3 of FILE.
            > replace `TAX_RATE` with `VAT` in nope
            Nothing was changed: “nope” was not understood; what is understood: replace `old` with `new` in FILE, or in FILE and FILE, or in all files; replace the first `old` with `new` in FILE; replace `old` with `new` on line 3 of FILE.
            > replace TAX_RATE with VAT in .env
            Nothing was changed: there is no file .env.
        "#]],
    );
}

#[test]
fn an_existing_file_is_written_anew_in_the_words_that_the_refusal_offers() {
    let refused = answer(SHOP, "create shop/main.py with `x`");
    let (_, offered) = refused.split_once('“').unwrap();
    let offered = offered.split_once('”').unwrap().0.replace('…', "x");
    assert_eq!(
        answer(SHOP, &offered).lines().next(),
        Some("`shop/main.py` is rewritten with 1 line. The edit is proposed.")
    );
}

#[test]
fn the_members_of_a_script_class_are_in_its_outline() {
    check_outline(
        "a.ts",
        "\
export class Cart<T> extends Base {
  #items: T[] = [];
  static count = 0;

  constructor(private readonly name: string, { open = f() } = {}) {
    super(name);
    describe(\"x\", function () {
    });
  }

  get open(): number { return 1; }
  set open(value) {
    if (value) {
    }
  }
  async *each(
    first,
  ) {
    call(first);
  }
  #total = (at) => {
    return at;
  };
  [Symbol.iterator]() {}
}

function after(x) {
  return x;
}
",
        expect![[r#"
            1 export class Cart<T> extends Base
              5 constructor(private readonly name: string, { open = f() } = {})
              11 get open(): number
              12 set open(value)
              16 async *each(
              21 #total = (at) =>
              24 [Symbol.iterator]()
            27 function after(x)
        "#]],
    );
}

#[test]
fn a_page_shows_its_headings_ids_and_files() {
    check_outline(
        "index.html",
        "\
<!doctype html>
<html>
<head>
  <title>A  list</title>
  <link rel=\"stylesheet\" href=\"style.css\"><script src='app.js'></script>
  <style>
    #no { color: red; }
  </style>
</head>
<body>
  <!-- <h1>not this</h1>
       <p id=\"nor-this\"> -->
  <header id=top><h1>All <em>lists</em></h1></header>
  <ul class=\"x\" id=\"list\"></ul>
  <h2>More</h2><p>text</p>
  <script>
    const html = '<div id=\"never\">';
  </script>
</body>
</html>
",
        expect![[r#"
            4 <title> A list
            5 <link href="style.css">
            5 <script src="app.js">
            6 <style>
            10 <body>
            13 <header id="top">
            13 <h1> All lists
            14 <ul id="list">
              15 <h2> More
            16 <script>
        "#]],
    );
}

fn check_outline(path: &str, source: &str, expected: Expect) {
    let mut text = String::new();
    for entry in outline::outline(path, source.lines().enumerate().map(|(at, line)| (at + 1, line))) {
        text.push_str(&format!("{}{} {}\n", "  ".repeat(entry.depth), entry.line, entry.text));
    }
    expected.assert_eq(&text);
}

#[test]
fn a_function_stands_before_what_only_declares_one_of_its_name() {
    let mut text = String::new();
    for (project, prompt) in [
        (
            "//- src/a_greeter.ts\nexport interface Greeter {\n  greet(name: string): string;\n  greetAll(): void;\n}\n\
             //- src/hello.ts\nexport function greet(name: string): string {\n  return `hi ${name}`;\n}\n",
            "how does greet work",
        ),
        (
            "//- src/greet.ts\nexport interface Greet { greeting: string }\n\
             export const greet = (who: string) => `${who}!`;\n",
            "how does greet work?",
        ),
        (
            "//- src/a.rs\npub trait Greet {\n    fn greet(&self) -> String;\n}\n\
             //- src/b.rs\nimpl Greet for Cat {\n    fn greet(&self) -> String {\n        \"mew\".into()\n    }\n}\n",
            "how does greet work",
        ),
        (
            "//- greet.h\nint greet(const char *name);\n\
             //- main.c\nint greet(const char *name)\n{\n    return puts(name);\n}\n",
            "where is greet defined?",
        ),
        (
            "//- base.py\nclass Greeter:\n    def greet(self): ...\n\
             //- cat.py\nclass Cat(Greeter):\n    def greet(self):\n        return 'mew'\n",
            "explain `greet`",
        ),
    ] {
        text.push_str(&format!("{}\n", answer(project, prompt).lines().next().unwrap_or_default()));
    }
    expect![[r#"
        The best match is `src/hello.ts:1`: `export function greet(name: string): string {`; see also `src/a_greeter.ts:1`.
        The best match is `src/greet.ts:2`: `` export const greet = (who: string) => `${who}!`; ``.
        The best match is `src/b.rs:2`: `fn greet(&self) -> String {`; see also `src/a.rs:1`.
        `greet` is defined at `main.c:1`; it stands on 1 other line.
        `greet` is defined at `cat.py:2` (2 lines in all look like a definition of it).
    "#]].assert_eq(&text);
}
