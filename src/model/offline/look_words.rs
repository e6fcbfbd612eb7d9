//! Clauses that ask to look: list, read, outline, find, where, how many.

use std::sync::LazyLock;

use regex::Regex;

use super::{
    clause::{Clause, Subject, among, is_kind_of_thing},
    list_words::{count, list},
    name_words::{define, uses},
    place::clean_path,
    terms::{JUDGING, is_stop_word, name_pattern},
    wish::{BeyondKind, Needle, Pick, Scope, Target, ToldAs, Wish},
    words::{constant, looks_like_name, looks_like_path},
};

/// What a clause asks to look for; `None` when it is a question in words.
pub(super) fn look(clause: &Clause<'_>, has_open_file: bool) -> Option<Vec<Wish>> {
    let one = |wish: Wish| vec![wish];
    small_talk(clause)
        .map(one)
        .or_else(|| judge(clause).map(one))
        .or_else(|| count(clause, has_open_file))
        .or_else(|| read_on(clause).map(one))
        .or_else(|| uses(clause))
        .or_else(|| define(clause))
        .or_else(|| files_with(clause))
        .or_else(|| outline(clause, has_open_file))
        .or_else(|| list(clause))
        .or_else(|| find(clause))
        .or_else(|| read(clause, has_open_file).map(one))
        .or_else(|| about(clause, has_open_file))
}

/// A wish for each of the things that were named, in each of the places.
pub(super) fn each<T>(
    things: &[T],
    scopes: &[Scope],
    wish: impl Fn(&T, Option<Scope>) -> Wish,
) -> Option<Vec<Wish>> {
    let mut wishes = Vec::new();
    for thing in things {
        if scopes.is_empty() {
            wishes.push(wish(thing, None));
        }
        wishes.extend(scopes.iter().map(|scope| wish(thing, Some(scope.clone()))));
    }
    (!wishes.is_empty()).then_some(wishes)
}

/// "is there a bug in x", "find the bugs", "what is wrong with x": whether code is good is not found by searching.
fn judge(clause: &Clause<'_>) -> Option<Wish> {
    let asks =
        clause.starts_with_any("is are does do can should could find spot any what what's which how check");
    let judges = clause.has(JUDGING)
        || clause.starts_with("what is wrong")
        || clause.starts_with("what's wrong")
        || clause.starts_with("should");
    // "is the word bug used anywhere" asks for a text.
    let is_text = clause.has("used called mentioned defined contain contains word text string named")
        || clause.tokens.iter().any(|token| token.is_quoted() && !token.is_path());
    let kind = BeyondKind::Judging;
    (asks && judges && !is_text).then(|| Wish::Beyond { words: clause.source().to_owned(), kind })
}

fn small_talk(clause: &Clause<'_>) -> Option<Wish> {
    const WORDS: &str = "thanks thank you help hi hello hey great good cool nice perfect morning test ping very much bye yes no can what do who are ?";
    let is_talk = clause
        .tokens
        .iter()
        .all(|token| token.word.is_empty() && !token.is_quoted() || among(&token.word, WORDS));
    is_talk.then_some(Wish::Help)
}

fn read_on(clause: &Clause<'_>) -> Option<Wish> {
    let goes_on = clause.starts_with("continue")
        || clause.starts_with("go on")
        || clause.starts_with("show more")
        || clause.starts_with("more")
        || clause.starts_with("read on")
        || clause.after("the rest").is_some()
        || clause.after("next page").is_some()
        || clause.after("read more").is_some();
    (goes_on && clause.tokens.len() <= 6 && clause.paths().is_empty()).then_some(Wish::ReadOn)
}

/// "which files contain X", "is X mentioned anywhere", "any TODOs?".
fn files_with(clause: &Clause<'_>) -> Option<Vec<Wish>> {
    const HOLDS: &str = "contain contains containing mention mentions mentioning matching match include includes including with";
    let scopes = clause.scopes();
    let wishes = |from: usize| {
        each(&needles(clause, from), &scopes, |needle, scope| Wish::Find {
            needle: needle.clone(),
            scope,
            count: false,
        })
    };
    if let Some(verb) = clause.position(HOLDS)
        && clause.slice(0, verb).has("files file lines line places anything")
        && !clause.slice(verb, clause.tokens.len()).has("extension name ending")
        && clause.paths().is_empty()
    {
        return wishes(verb + 1);
    }
    let any = clause
        .starts_with("any")
        .then_some(1)
        .or(clause.after("are there any"))
        .or(clause.after("is there any"))
        .or(clause.after("is there a"))
        .or(clause.after("do we have any"));
    if let Some(after) = any
        && clause.tokens.len() <= after + 6
        && !clause.has("files file")
    {
        return wishes(after);
    }
    None
}

fn outline(clause: &Clause<'_>, has_open_file: bool) -> Option<Vec<Wish>> {
    const ITEMS: &str = "functions methods classes structs types headings sections symbols traits enums keys exports items chapters";
    const FORMS: &str = "outline structure summary overview skeleton symbols table";
    const EXPLAINS: &str = "explain summarize summarise describe outline understand";
    let explains = clause.starts_with_any(EXPLAINS)
        || (clause.has(FORMS)
            && clause.starts_with_any(
                "show give print display what what's get outline structure summary overview",
            ))
        || (clause.has(ITEMS) && clause.starts_with_any("what which list show give enumerate"));
    let asks_purpose =
        (clause.starts_with("what does") && clause.has("do contain") && !clause.has("contain"))
            || clause.starts_with("how does") && clause.has("work") && clause.tokens.len() <= 5
            || (clause.starts_with_any("what what's") && clause.has("for about purpose"));
    if is_project(clause) && (explains || asks_purpose || clause.starts_with_any("what what's how")) {
        return Some(vec![Wish::Project]);
    }
    if !explains && !asks_purpose {
        return None;
    }
    let targets = clause.targets(has_open_file);
    if !targets.is_empty() {
        return Some(targets.into_iter().map(|target| Wish::Outline { target }).collect());
    }
    if let Some(folder) = clause.scope().filter(|scope| scope.told_as != ToldAs::Word) {
        return Some(vec![Wish::Outline { target: Target::Path(folder.path) }]);
    }
    // "what does main do": a word that says nothing in a question, and is a name in the code.
    const PRONOUNS: &str = "it this that these those they everything something anything one here there";
    if let [what, does, name, do_] = clause.tokens
        && [what, does, do_].map(|token| token.word.as_str()) == ["what", "does", "do"]
        && is_stop_word(&name.word)
        && !among(&name.word, PRONOUNS)
    {
        return Some(vec![Wish::Define { name: name.text.clone(), scope: None }]);
    }
    // "explain `run_turn`": a name in the code.
    let names = clause.subjects(1);
    let are_names = names.iter().all(|name| name.quoted || looks_like_name(&name.text));
    are_names.then(|| each(&names, &[], |name, scope| Wish::Define { name: name.name(), scope })).flatten()
}

fn is_project(clause: &Clause<'_>) -> bool {
    clause.paths().is_empty()
        && clause
            .position("project repo repository codebase workspace package app application crate program")
            .is_some_and(|at| {
                among(clause.word(at.wrapping_sub(1)), "this the my our whole entire")
                    && clause.tokens.len() <= 9
                    && at + 3 >= clause.tokens.len()
            })
}

fn find(clause: &Clause<'_>) -> Option<Vec<Wish>> {
    if lines(clause).is_some() {
        return None;
    }
    let after = match clause.word(0) {
        "find" | "locate" | "grep" | "rg" | "ack" | "spot" => 1,
        "search" => clause.position("for").map_or(1, |at| at + 1),
        "look" if clause.has("for") => clause.position("for")? + 1,
        "list" | "show"
            if clause.has("todo todos fixme fixmes occurrences matches mentions lines comments imports") =>
        {
            1
        }
        _ => return None,
    };
    if clause.word(1) == "at" {
        return None;
    }
    let needles = needles(clause, after);
    let mut scopes = clause.scopes();
    if scopes.is_empty() {
        let path = clause.paths().into_iter().find(|path| {
            !needles.iter().any(|needle| needle.shown.contains(path.as_str())) && !path.starts_with('/')
        });
        scopes.extend(path.map(|path| Scope { path, told_as: ToldAs::Path }));
    }
    each(&needles, &scopes, |needle, scope| Wish::Find { needle: needle.clone(), scope, count: false })
}

/// `/a+b/`: between strokes and with a sign that only a regex has, so that no path is taken for one.
fn between_strokes<'a>(clause: &Clause<'a>) -> Option<&'a str> {
    static STROKES: LazyLock<Regex> =
        LazyLock::new(|| constant(r"(?:^|\s)/([^/\n]*[\\^$(\[*+|?][^/\n]*)/(?:$|[\s.,;:!?])"));
    Some(STROKES.captures(clause.source())?.get(1)?.as_str())
}

/// All that is to be searched for: a regex between strokes or where one is spoken of, quoted texts as they stand,
/// names in each of their spellings.
pub(super) fn needles(clause: &Clause<'_>, from: usize) -> Vec<Needle> {
    let rest = clause.slice(from, clause.tokens.len());
    let says_regex = clause.has("regex regexp regular")
        || (clause.has("pattern") && rest.tokens.iter().any(|token| token.is_quoted()));
    if let Some(pattern) = between_strokes(&rest) {
        return vec![Needle {
            shown: format!("/{pattern}/"),
            pattern: pattern.to_owned(),
            case_sensitive: true,
        }];
    }
    rest.subjects(0).iter().filter_map(|subject| needle(subject, says_regex)).collect()
}

fn needle(subject: &Subject, says_regex: bool) -> Option<Needle> {
    let text = subject.text.as_str();
    if text.trim().is_empty() {
        return None;
    }
    if says_regex {
        return Some(Needle { shown: text.to_owned(), pattern: text.to_owned(), case_sensitive: true });
    }
    // A text of several lines cannot be found line by line; its first line can.
    if subject.quoted {
        return text.lines().find(|line| !line.trim().is_empty()).map(Needle::text);
    }
    let name = subject.name();
    let singular = match name.as_str() {
        // "TODOs": the plural is English, not code.
        plural
            if plural.len() > 3
                && plural.ends_with('s')
                && plural.trim_end_matches('s').chars().all(char::is_uppercase) =>
        {
            plural.trim_end_matches('s')
        }
        "todos" | "fixmes" => name.trim_end_matches('s'),
        other => other,
    };
    Some(Needle { shown: singular.to_owned(), pattern: name_pattern(singular), case_sensitive: false })
}

fn read(clause: &Clause<'_>, has_open_file: bool) -> Option<Wish> {
    let is_order =
        clause.starts_with_any("read show open print display cat view give check see look type head list");
    let asks_contents = clause.starts_with_any("what what's")
        && (clause.has("in inside contain say contents content contains says"))
        || clause.starts_with_any("contents content");
    let lines = lines(clause);
    let begins_with_lines = lines.is_some() && clause.starts_with_any("lines line first top the");
    if !is_order && !asks_contents && !begins_with_lines {
        return None;
    }
    let mut targets: Vec<_> = clause.paths().into_iter().map(Target::Path).collect();
    if targets.is_empty() {
        targets.extend(clause.target(has_open_file));
    }
    // A path with blanks stands between quotes.
    if targets.is_empty() && lines.is_some() {
        targets.extend(
            clause
                .tokens
                .iter()
                .find(|token| token.is_quoted())
                .map(|token| Target::Path(token.text.clone())),
        );
    }
    if targets.is_empty() && lines.is_some() && has_open_file {
        targets.push(Target::Open);
    }
    if targets.is_empty() && clause.has("each all") {
        targets.push(Target::Recent(Pick::All));
    }
    if targets.is_empty()
        && clause.has("file")
        && is_order
        && let Some(subject) = clause.subject(1)
    {
        // "show me the config file".
        targets.push(Target::Named(subject.text.to_lowercase()));
    }
    if targets.is_empty()
        && is_order
        && among(clause.word(0), "read cat open view")
        && clause.tokens.len() <= 5
        && let Some(subject) = clause.subject(1)
    {
        let is_phrase = subject.text.contains(' ');
        targets.push(if is_phrase { Target::Named(subject.text) } else { Target::Path(subject.text) });
    }
    (!targets.is_empty()).then_some(Wish::Read { targets, lines })
}

/// "lines 10-20", "lines 10 to 20", "line 7", "the first 20 lines"; whichever end is told first.
fn lines(clause: &Clause<'_>) -> Option<(usize, usize)> {
    let at = clause.position("lines line")?;
    let word = clause.word(at + 1);
    let number = |word: &str| word.parse::<usize>().ok();
    let between = ["-", "–", ".."].iter().find_map(|sign| {
        let (first, last) = word.split_once(sign)?;
        Some((number(first)?, number(last)?))
    });
    let range = between.or_else(|| {
        let first = number(word)?;
        let next = clause.word(at + 2);
        let joint = usize::from(among(next, "to - – through and until"));
        Some((first, number(clause.word(at + 2 + joint)).unwrap_or(first)))
    });
    if let Some((one, other)) = range {
        return Some((one.min(other).max(1), one.max(other).max(1)));
    }
    let count = at.checked_sub(1).and_then(|before| number(clause.word(before)));
    count.filter(|count| *count > 0 && clause.has("first top")).map(|count| (1, count))
}

/// A question whose only subject is one file or one name in the code.
fn about(clause: &Clause<'_>, has_open_file: bool) -> Option<Vec<Wish>> {
    let define = |name: String| Some(vec![Wish::Define { name, scope: None }]);
    if let [token] = clause.tokens {
        if token.is_path() {
            return Some(vec![Wish::Read {
                targets: vec![Target::Path(clean_path(&token.text))],
                lines: None,
            }]);
        }
        if token.is_quoted() || looks_like_name(&token.text) {
            return define(token.text.trim_end_matches("()").to_owned());
        }
    }
    let asks_what =
        clause.starts_with("what is") || clause.starts_with("what's") || clause.starts_with("what are");
    if !asks_what || clause.tokens.len() > 6 {
        return None;
    }
    let names = clause.subjects(1);
    let is_name = |name: &Subject| {
        let is_capital = clause.tokens.len() <= 4
            && !name.text.contains(' ')
            && name.text.chars().next().is_some_and(char::is_uppercase);
        (name.quoted || is_capital || looks_like_name(&name.text))
            && !looks_like_path(&name.text)
            && !is_kind_of_thing(&name.text)
    };
    if !names.is_empty() && names.iter().all(is_name) {
        return each(&names, &clause.scopes(), |name, scope| Wish::Define { name: name.name(), scope });
    }
    let target = clause.paths().into_iter().next().map(Target::Path);
    let target =
        target.or_else(|| clause.reference(has_open_file).filter(|target| *target == Target::Open))?;
    Some(vec![Wish::Outline { target }])
}
