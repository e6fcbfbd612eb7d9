//! The rules of changes, one for each way to order one: replace, set, create, append, remove, move.

use std::sync::LazyLock;

use regex::Regex;

use super::{
    clause::among,
    grammar::{Reader, Text, Where},
    wish::{Places, Replacement, Target, Wish},
    words::constant,
};

/// Reads a clause from its beginning: the wishes, or why there are none although all was understood.
pub(super) type Rule = fn(&mut Reader<'_, '_>) -> Option<Result<Vec<Wish>, String>>;

pub(super) const REPLACE: &str = "replace substitute swap";
pub(super) const RENAME: &str = "rename";
pub(super) const CHANGE: &str = "change";
pub(super) const SET: &str = "set bump update";
pub(super) const CREATE: &str = "create write make overwrite touch save put";
pub(super) const APPEND: &str = "append add";
pub(super) const REMOVE: &str = "delete remove rm erase drop";
pub(super) const MOVE: &str = "move mv";
pub(super) const INSIDE: &str = "in inside within throughout across";

pub(super) static SED: LazyLock<Regex> =
    LazyLock::new(|| constant(r"^`?s/([^/\s][^/\n]*)/([^/\n]*)/(g?)`?(?:$|[\s.,!?])"));

/// `s/old/new/g in file`, for those who think in it.
pub(super) fn sed(reader: &mut Reader<'_, '_>) -> Option<Result<Vec<Wish>, String>> {
    let parts = SED.captures(reader.source())?;
    let (find, with) = (parts.get(1)?.as_str(), parts.get(2)?.as_str());
    reader.skip_to(parts.get(3)?.end());
    let places = reader.places(INSIDE)?;
    Some(replacements(find, with, None, false, &places, reader.has_open_file()))
}

/// Words that say that a text follows.
const TEXT_KINDS: &str = "the all every each any word words text string name phrase identifier symbol";
/// Words that say what a name is the name of, where nothing but the name changes.
const NAME_KINDS: &str = "the all every each a name word identifier symbol function variable method class struct enum trait type interface field parameter argument constant const module macro";

/// "In F, replace A by B", "change the word A to B in F", "rename a to b in F", "substitute A for B".
pub(super) fn replace(reader: &mut Reader<'_, '_>) -> Option<Result<Vec<Wish>, String>> {
    let before = reader.places(INSIDE)?;
    reader.skip_polite();
    let verb = reader.word().to_owned();
    let joints = match verb.as_str() {
        "replace" => "with by to",
        "substitute" => "with by for",
        "rename" => "to as into",
        "swap" => "with for to",
        "change" => "to into with",
        _ => return None,
    };
    reader.eat(&verb);
    let kinds = if verb == "rename" { NAME_KINDS } else { TEXT_KINDS };
    let stops = format!("{joints} from in inside within throughout across on everywhere globally");
    reader.skip_kinds("the", &stops);
    let is_first = reader.skip_kinds("first", &stops);
    let mut is_told = reader.skip_kinds(kinds, &stops);
    if reader.eat_sequence("occurrence of|occurrences of|instance of|instances of") {
        is_told = true;
        reader.skip_kinds(kinds, &stops);
    }
    reader.eat_colon();
    let mut old = reader.text()?;
    let mut context = None;
    if verb == "change" && reader.eat("from") {
        context = Some(std::mem::replace(&mut old, reader.text()?).text);
    }
    let between = reader.places(INSIDE)?;
    if !reader.eat(joints) {
        return None;
    }
    let is_reversed = verb == "substitute" && reader.before() == "for";
    reader.skip_kinds(if verb == "rename" { "the name" } else { "the word text string name phrase" }, &stops);
    reader.eat_colon();
    let new = reader.text()?;
    let after = reader.places(INSIDE)?;
    let places = only_one([before, between, after])?;
    if new.text == "nothing" && !new.quoted {
        return Some(Err(format!("to remove the text say: remove `{}` from FILE", old.text)));
    }
    // "change the port to 9090" may mean a setting, or the word.
    let is_plain = !is_told && !is_first && context.is_none() && places.line.is_none();
    if verb == "change" && is_plain && !old.quoted && !new.quoted {
        let (old, new) = (old.text, new.text);
        return Some(Err(format!(
            "say what is meant: replace `{old}` with `{new}` in FILE, or set `{old}` to `{new}` in FILE"
        )));
    }
    let whole_words = places.whole_words || verb == "rename" || (!old.quoted && is_identifier(&old.text));
    let (find, with) = if is_reversed { (new.text, old.text) } else { (old.text, new.text) };
    if is_first && places.line.is_some() {
        return None;
    }
    let mut wishes = replacements(&find, &with, context, whole_words, &places, reader.has_open_file());
    if is_first && let Ok(wishes) = &mut wishes {
        for wish in wishes {
            if let Wish::Replace(replacement) = wish {
                replacement.places = Places::First;
            }
        }
    }
    Some(wishes)
}

/// The places that were said, if they were said once.
fn only_one(places: [Where; 3]) -> Option<Where> {
    let is_said = |place: &Where| {
        place.everywhere || !place.files.is_empty() || place.line.is_some() || place.whole_words
    };
    let mut said = places.into_iter().filter(is_said);
    let first = said.next().unwrap_or_default();
    said.next().is_none().then_some(first)
}

fn is_identifier(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// The same replacement for each file.
fn replacements(
    find: &str,
    with: &str,
    context: Option<String>,
    whole_words: bool,
    places: &Where,
    has_open_file: bool,
) -> Result<Vec<Wish>, String> {
    let one = |target| {
        Wish::Replace(Replacement {
            find: find.to_owned(),
            with: with.to_owned(),
            target,
            everywhere: places.everywhere,
            places: places.line.map_or(Places::All, Places::Line),
            whole_words,
            on_lines_with: context.clone(),
        })
    };
    Ok(places.targets(has_open_file).into_iter().map(one).collect())
}

/// "set edition to 2024 in Cargo.toml", "bump the version to 0.2.0 in package.json".
pub(super) fn set(reader: &mut Reader<'_, '_>) -> Option<Result<Vec<Wish>, String>> {
    if !reader.eat(SET) {
        return None;
    }
    reader.skip_kinds("the key field setting value of", "to in of inside");
    let key = reader.text()?;
    let before = reader.places("in of inside")?;
    if !reader.eat("to") {
        return None;
    }
    reader.skip_kinds("the value", "in inside");
    let value = reader.text()?;
    let after = reader.places("in inside within")?;
    let places = only_one([before, after, Where::default()])?;
    // A key is one word; "update the docs to mention x" is a wish for new text.
    let is_plain = !key.text.contains(char::is_whitespace) && !value.text.contains(char::is_whitespace);
    if !is_plain || places.everywhere || places.line.is_some() || places.whole_words {
        return None;
    }
    let targets: Option<Vec<Target>> = places.targets(reader.has_open_file()).into_iter().collect();
    let Some(targets) = targets else {
        return Some(Err(format!("say in which file: set `{}` to `{}` in FILE", key.text, value.text)));
    };
    let one = |target| Wish::Set { key: key.text.clone(), value: value.text.clone(), target };
    Some(Ok(targets.into_iter().map(one).collect()))
}

/// "create hello.txt with the text `hi`"; a description of what to write is not a text.
pub(super) fn create(reader: &mut Reader<'_, '_>) -> Option<Result<Vec<Wish>, String>> {
    let verb = reader.word().to_owned();
    if !reader.eat(CREATE) && !reader.eat("add") {
        return None;
    }
    reader.eat("a an the");
    reader.eat("new");
    let mut is_empty = reader.eat("empty blank");
    reader.eat("new");
    let says_file = reader.eat("file");
    reader.eat("named called");
    if verb == "add" && !says_file {
        return None;
    }
    let path = reader.path()?;
    let overwrite = verb == "overwrite";
    reader.skip_polite();
    if reader.is_at_end() {
        is_empty |= among(&verb, "create make touch");
        return is_empty.then(|| Ok(vec![Wish::Create { path, text: String::new(), overwrite }]));
    }
    // What is lost by overwriting is worth the quotes: "overwrite a.txt: only the first line" is no text.
    let text = if overwrite { quoted_text(reader)? } else { new_text(reader)? };
    (!is_empty && verb != "touch").then(|| Ok(vec![Wish::Create { path, text: ended(&text), overwrite }]))
}

/// The text that takes the place of a whole file.
fn quoted_text(reader: &mut Reader<'_, '_>) -> Option<String> {
    if reader.eat("with") {
        reader.eat("the");
        reader.eat("text content contents line word words");
    }
    reader.eat_colon();
    reader.quoted()
}

/// The text of a new file: quoted, one word, or all behind a colon.
fn new_text(reader: &mut Reader<'_, '_>) -> Option<String> {
    let is_with = reader.eat("with");
    let mut is_told = !is_with && reader.eat_sequence("containing|saying|that says");
    if is_with || is_told {
        reader.eat("the");
        is_told |= reader.eat("text content contents line word words");
    }
    if reader.eat_colon() {
        return match reader.is_at_last() {
            true => Some(reader.text()?.text),
            false => Some(reader.rest().to_owned()).filter(|text| !text.contains('`')),
        };
    }
    if !is_with && !is_told {
        return None;
    }
    match reader.text()? {
        Text { text, quoted: true } => Some(text),
        // A word that stands alone at the end is the text; more of them describe one.
        Text { text, quoted: false } => (is_told && reader.is_at_end()).then_some(text),
    }
}

/// "write `x` to notes.md".
pub(super) fn write(reader: &mut Reader<'_, '_>) -> Option<Result<Vec<Wish>, String>> {
    if !reader.eat("write save put") {
        return None;
    }
    reader.skip_kinds("the text line word words", "to in into");
    let text = reader.quoted()?;
    if !reader.eat("to in into") {
        return None;
    }
    reader.eat("a");
    reader.eat("new");
    let path = reader.path()?;
    Some(Ok(vec![Wish::Create { path, text: ended(&text), overwrite: false }]))
}

/// A text file ends with a line end.
fn ended(text: &str) -> String {
    if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
}

/// "append `x` to notes.md", "add the line `x` to the end of F".
pub(super) fn append(reader: &mut Reader<'_, '_>) -> Option<Result<Vec<Wish>, String>> {
    let mut says_where = reader.word() == "append";
    if !reader.eat(APPEND) {
        return None;
    }
    reader.eat("the a");
    says_where |= reader.word() == "line";
    reader.eat("line text word words");
    reader.eat_colon();
    let text = reader.quoted()?;
    if reader
        .eat_sequence("to the end of|at the end of|to the bottom of|at the bottom of|to the end|at the end")
    {
        says_where = true;
    } else if !reader.eat("to") {
        let is_open = says_where && reader.has_open_file();
        return is_open.then(|| Ok(vec![Wish::Append { target: Target::Open, text }]));
    }
    let targets = match reader.files(Reader::file_to_edit) {
        Some(targets) => targets,
        None if reader.before() == "end" && reader.has_open_file() => vec![Target::Open],
        None => return None,
    };
    let one = |target| Wish::Append { target, text: text.clone() };
    says_where.then(|| Ok(targets.into_iter().map(one).collect()))
}

/// "remove `x` from F": the text needs quotes, or "the word" before it, since "the function f" is no text.
pub(super) fn remove_text(reader: &mut Reader<'_, '_>) -> Option<Result<Vec<Wish>, String>> {
    let before = reader.places(INSIDE)?;
    reader.skip_polite();
    if !reader.eat(REMOVE) {
        return None;
    }
    reader.skip_kinds("the all every each any", "from in");
    let is_word = reader.eat("word");
    reader.skip_kinds("text string phrase", "from in");
    reader.eat_sequence("occurrence of|occurrences of|instance of|instances of");
    let text = match is_word {
        true => reader.text()?.text,
        false => reader.quoted()?,
    };
    let after = reader.places("from in inside within throughout")?;
    let places = only_one([before, after, Where::default()])?;
    let says_where = places.everywhere || !places.files.is_empty() || reader.has_open_file();
    let whole_words = places.whole_words || is_identifier(&text);
    says_where.then(|| replacements(&text, "", None, whole_words, &places, reader.has_open_file()))
}

/// "delete old.txt and older.txt", "remove the file old.txt". A file is not deleted on a guess: "it" may be a
/// name or a line that was spoken of, "the license" a file that only has the word in its name.
pub(super) fn delete(reader: &mut Reader<'_, '_>) -> Option<Result<Vec<Wish>, String>> {
    if !reader.eat(REMOVE) {
        return None;
    }
    let targets = reader.files(Reader::file_to_delete)?;
    Some(Ok(targets.into_iter().map(|target| Wish::Delete { target }).collect()))
}

/// "move a.txt to b/", "mv a b", "rename a.txt to b.txt".
pub(super) fn relocate(reader: &mut Reader<'_, '_>) -> Option<Result<Vec<Wish>, String>> {
    let verb = reader.word().to_owned();
    if !reader.eat(MOVE) && !reader.eat(RENAME) {
        return None;
    }
    let from = reader.path()?;
    let joints = if verb == "rename" { "to as into" } else { "to into" };
    if !reader.eat(joints) && verb != "mv" {
        return None;
    }
    reader.eat("the");
    let says_folder = reader.eat("folder directory");
    let is_folder = says_folder || reader.names_folder();
    let to = reader.path()?;
    let is_folder = is_folder
        || reader.eat("folder directory")
        || (verb != "rename" && !file_name(&to).contains('.') && file_name(&from).contains('.'));
    let to = if is_folder { format!("{to}/{}", file_name(&from)) } else { to };
    Some(Ok(vec![Wish::Move { from, to }]))
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
