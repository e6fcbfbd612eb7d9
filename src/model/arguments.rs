//! The arguments that a model wrote, as a JSON object. Repairs are few, and none can change what was meant; what
//! cannot be read is told with its place.

use std::{borrow::Cow, fmt};

use serde_json::{Map, Value, value::RawValue};

use super::surrogates;

/// Objects in a row that are looked at: the known servers send two.
const MAX_OBJECTS: usize = 8;

/// How often arguments are unwrapped, since nobody wraps them more often on purpose.
const MAX_LAYERS: usize = 3;

/// Characters that are shown on each side of the place where JSON breaks.
const NEAR: usize = 20;

/// What models and servers leave behind a whole object when they forget where the call ends.
const END_MARKS: [&str; 7] =
    ["```", "</tool_call>", "</function>", "<|im_end|>", "<|eot_id|>", "<|end|>", "</s>"];

/// The member under which arguments that are no object go back to a server that wants an object.
const UNREADABLE: &str = "unreadable_arguments";

/// Arguments that could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arguments<'a> {
    /// A JSON object, as the model wrote it where nothing had to be repaired.
    pub json: Cow<'a, str>,
    /// What was repaired, in order.
    pub repairs: Vec<Repair>,
}

/// A repair that leaves the meaning as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// The object stood inside a JSON string.
    EncodedTwice,
    /// Empty objects, or the same object again, stood beside the object.
    Repeated,
    /// The object stood inside a fence of Markdown.
    Fenced,
    /// A half of a character became U+FFFD.
    HalfCharacter,
    /// Line breaks and tabs stood in a string as they are.
    RawControlCharacter,
    /// Behind the whole object stood closing brackets, or marks that end a call.
    EndMark,
}

/// Why arguments cannot be read, and where. Lines and columns begin with 1; the column and the offset count bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}{place}")]
pub struct Broken {
    pub reason: String,
    pub place: Place,
}

/// Where JSON breaks; nowhere when it is JSON and only not what is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place(Option<Spot>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Spot {
    line: usize,
    column: usize,
    offset: usize,
    near: String,
}

impl Broken {
    /// Whether they are JSON all the same, and only no object.
    pub fn is_json(&self) -> bool {
        self.place.0.is_none()
    }
}

impl Repair {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::EncodedTwice => "encoded_twice",
            Self::Repeated => "repeated",
            Self::Fenced => "fenced",
            Self::HalfCharacter => "half_character",
            Self::RawControlCharacter => "raw_control_character",
            Self::EndMark => "end_mark",
        }
    }
}

/// Reads what a model wrote as the arguments of a call. Nothing, and `null`, are no arguments: an empty object.
///
/// # Errors
/// That it is no JSON object, even after every repair that cannot change what it means.
pub fn read(arguments: &str) -> Result<Arguments<'_>, Broken> {
    let mut repairs = Vec::new();
    let json = unwrap(arguments.into(), &mut repairs, MAX_LAYERS).ok_or_else(|| broken(arguments))?;
    Ok(Arguments { json, repairs })
}

/// The arguments as a server takes them in a history that it reads: the very text where that is an object, the repaired
/// one where it can be read, else an object that holds the text.
pub fn for_history(arguments: &str) -> Cow<'_, str> {
    match read(arguments) {
        Ok(arguments) => arguments.json,
        Err(_) => Value::from_iter([(UNREADABLE, arguments)]).to_string().into(),
    }
}

/// The same as a value.
pub fn object_for_history(arguments: &str) -> Map<String, Value> {
    serde_json::from_str(&for_history(arguments)).unwrap_or_default()
}

/// The object that a text holds. The repairs are noted as far as they led to it.
fn unwrap<'a>(text: Cow<'a, str>, repairs: &mut Vec<Repair>, layers: usize) -> Option<Cow<'a, str>> {
    let trimmed = text.trim_matches(|character: char| character.is_whitespace() || character == '\u{feff}');
    if matches!(trimmed, "" | "null") {
        return Some("{}".into());
    }
    if is_object(trimmed) {
        return Some(match text {
            Cow::Borrowed(text) if text.len() == trimmed.len() => text.into(),
            _ => trimmed.to_owned().into(),
        });
    }
    let layers = layers.checked_sub(1)?;
    let mut inside = |repair: Repair, inner: String| {
        repairs.push(repair);
        let object = unwrap(inner.into(), repairs, layers).map(|object| object.into_owned().into());
        if object.is_none() {
            repairs.pop();
        }
        object
    };
    if let Ok(inner) = serde_json::from_str::<String>(trimmed) {
        return inside(Repair::EncodedTwice, inner);
    }
    if let Some(inner) = fenced(trimmed) {
        return inside(Repair::Fenced, inner.to_owned());
    }
    if let Some(object) = only_object(trimmed) {
        return inside(Repair::Repeated, object.to_owned());
    }
    if let Some(object) = before_end_marks(trimmed) {
        return inside(Repair::EndMark, object.to_owned());
    }
    if let Cow::Owned(mended) = surrogates::mended(trimmed) {
        return inside(Repair::HalfCharacter, mended);
    }
    with_escaped_controls(trimmed).and_then(|escaped| inside(Repair::RawControlCharacter, escaped))
}

fn is_object(text: &str) -> bool {
    text.starts_with('{') && serde_json::from_str::<Map<String, Value>>(text).is_ok()
}

/// What stands in a fence that is all of the text.
fn fenced(text: &str) -> Option<&str> {
    let (language, rest) = text.strip_prefix("```")?.split_once('\n')?;
    let inner = rest.trim_end().strip_suffix("```")?;
    (language.trim().chars().all(char::is_alphanumeric) && !inner.contains("```")).then_some(inner)
}

/// The one object among several in a row, where the others are empty or the same.
fn only_object(text: &str) -> Option<&str> {
    let mut objects = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    let mut only: Option<(&str, Map<String, Value>)> = None;
    for position in 0.. {
        let Some(object) = objects.next() else { break };
        let json = object.ok()?.get();
        let object: Map<String, Value> = serde_json::from_str(json).ok()?;
        match &only {
            _ if position >= MAX_OBJECTS => return None,
            Some(_) if object.is_empty() => {}
            Some((_, known)) if known.is_empty() => only = Some((json, object)),
            Some((_, known)) if *known != object => return None,
            Some(_) => {}
            None => only = Some((json, object)),
        }
    }
    only.map(|(json, _)| json)
}

/// The object at the beginning, where nothing but closing brackets and marks stands behind it.
fn before_end_marks(text: &str) -> Option<&str> {
    let mut objects = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    let object = objects.next()?.ok()?.get();
    let mut rest = text.get(objects.byte_offset()..)?.trim();
    while !rest.is_empty() {
        let mark = END_MARKS.iter().copied().chain(["}", "]"]).find(|mark| rest.starts_with(mark))?;
        rest = rest.get(mark.len()..)?.trim_start();
    }
    is_object(object).then_some(object)
}

/// The text with control characters inside its strings as escapes; `None` when there are none.
fn with_escaped_controls(text: &str) -> Option<String> {
    let mut escaped = String::with_capacity(text.len());
    let (mut in_string, mut after_backslash, mut changed) = (false, false, false);
    for character in text.chars() {
        if in_string && !after_backslash && character.is_ascii_control() && character < ' ' {
            changed = true;
            escaped.push_str(&format!("\\u{:04x}", u32::from(character)));
            continue;
        }
        match character {
            '"' if !after_backslash => in_string = !in_string,
            _ => {}
        }
        after_backslash = in_string && character == '\\' && !after_backslash;
        escaped.push(character);
    }
    changed.then_some(escaped)
}

fn broken(arguments: &str) -> Broken {
    let error = match serde_json::from_str::<Value>(arguments) {
        Ok(value) => {
            let reason = format!("expected a JSON object, got {}", kind(&value));
            return Broken { reason, place: Place::default() };
        }
        Err(error) => error,
    };
    let (line, column) = (error.line(), error.column());
    let text = error.to_string();
    let reason = text.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&text).to_owned();
    let before = arguments.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum::<usize>();
    let offset = (before + column.saturating_sub(1)).min(arguments.len());
    Broken { reason, place: Place(Some(Spot { line, column, offset, near: near(arguments, offset) })) }
}

/// The text around an offset, which may lie inside a character.
fn near(text: &str, offset: usize) -> String {
    let boundary = |position: &usize| text.is_char_boundary(*position);
    let middle = (0..=offset.min(text.len())).rev().find(boundary).unwrap_or(0);
    let (before, after) = text.split_at(middle);
    let from = before.char_indices().rev().take(NEAR).last().map_or(middle, |(position, _)| position);
    let to = after.char_indices().nth(NEAR).map_or(text.len(), |(position, _)| middle + position);
    text.get(from..to).unwrap_or_default().to_owned()
}

/// What a value is, in words for a model.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            None => Ok(()),
            Some(Spot { line, column, offset, near }) => {
                write!(f, " at line {line} column {column} (byte {offset}, near {near:?})")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::*;

    fn check(arguments: &[&str], expected: Expect) {
        let lines = arguments.iter().map(|text| match read(text) {
            Ok(Arguments { json, repairs }) if repairs.is_empty() => format!("{text}\n  {json}\n"),
            Ok(Arguments { json, repairs }) => {
                let repairs: Vec<_> = repairs.iter().map(|repair| repair.as_str()).collect();
                format!("{text}\n  {json} ({})\n", repairs.join(", "))
            }
            Err(broken) => format!("{text}\n  => {broken}\n"),
        });
        expected.assert_eq(&lines.collect::<String>());
    }

    #[test]
    fn an_object_stays_as_the_model_wrote_it() {
        check(
            &["{}", r#"{"b": 1,"a":"\u00e4"}"#, " {\"a\": {}}\n"],
            expect![[r#"
            {}
              {}
            {"b": 1,"a":"\u00e4"}
              {"b": 1,"a":"\u00e4"}
             {"a": {}}

              {"a": {}}
        "#]],
        );
    }

    // SPEC E5
    #[test]
    fn nothing_is_an_empty_object() {
        for nothing in ["", " ", "null", "\n", r#""""#] {
            assert_eq!(read(nothing).map(|arguments| arguments.json), Ok("{}".into()), "{nothing:?}");
        }
    }

    // SPEC E6
    #[test]
    fn what_can_mean_only_one_thing_is_repaired() {
        check(
            &[
                r#""{\"p\": 1}""#,
                r#""\"{}\"""#,
                r#"{}{"p":1}"#,
                r#"{"p":1}{"p": 1}"#,
                r#"{"p":1} {}"#,
                "{}{}",
                "```json\n{\"p\":1}\n```",
                r#"{"p":1}}"#,
                "{\"p\":1}\n</tool_call>",
                "{\"p\":\"a\n\tb\"}",
                r#"{"p":"\ud83d!"}"#,
            ],
            expect![[r#"
                "{\"p\": 1}"
                  {"p": 1} (encoded_twice)
                "\"{}\""
                  {} (encoded_twice, encoded_twice)
                {}{"p":1}
                  {"p":1} (repeated)
                {"p":1}{"p": 1}
                  {"p":1} (repeated)
                {"p":1} {}
                  {"p":1} (repeated)
                {}{}
                  {} (repeated)
                ```json
                {"p":1}
                ```
                  {"p":1} (fenced)
                {"p":1}}
                  {"p":1} (end_mark)
                {"p":1}
                </tool_call>
                  {"p":1} (end_mark)
                {"p":"a
                	b"}
                  {"p":"a\u000a\u0009b"} (raw_control_character)
                {"p":"\ud83d!"}
                  {"p":"\ufffd!"} (half_character)
            "#]],
        );
    }

    // SPEC E3, E6
    #[test]
    fn what_may_mean_something_else_is_refused_with_its_place() {
        check(
            &[
                "{oops",
                r#"{"p":1"#,
                r#"{"p":1,}"#,
                r#"{"p":1}{"p":2}"#,
                r#"{"p":1} and more"#,
                "path is a.txt",
                "{'p': 1}",
                "[1]",
                "7",
                r#""a.txt""#,
                r#""\"\\\"\\\\\\\"{}\\\\\\\"\\\"\"""#,
                "{\n \"ä\": \"ööö\",\n \"p\": ü}",
            ],
            expect![[r#"
                {oops
                  => key must be a string at line 1 column 2 (byte 1, near "{oops")
                {"p":1
                  => EOF while parsing an object at line 1 column 6 (byte 5, near "{\"p\":1")
                {"p":1,}
                  => trailing comma at line 1 column 8 (byte 7, near "{\"p\":1,}")
                {"p":1}{"p":2}
                  => trailing characters at line 1 column 8 (byte 7, near "{\"p\":1}{\"p\":2}")
                {"p":1} and more
                  => trailing characters at line 1 column 9 (byte 8, near "{\"p\":1} and more")
                path is a.txt
                  => expected value at line 1 column 1 (byte 0, near "path is a.txt")
                {'p': 1}
                  => key must be a string at line 1 column 2 (byte 1, near "{'p': 1}")
                [1]
                  => expected a JSON object, got an array
                7
                  => expected a JSON object, got a number
                "a.txt"
                  => expected a JSON object, got a string
                "\"\\\"\\\\\\\"{}\\\\\\\"\\\"\""
                  => expected a JSON object, got a string
                {
                 "ä": "ööö",
                 "p": ü}
                  => expected value at line 3 column 7 (byte 25, near "\n \"ä\": \"ööö\",\n \"p\": ü}")
            "#]],
        );
    }

    #[test]
    fn a_history_holds_an_object_whatever_the_model_wrote() {
        let sent =
            ["{\"p\": 1}", "", r#""{\"p\":1}""#, "{oops", "[1]"].map(|text| for_history(text).into_owned());
        expect![[r#"
            {"p": 1}
            {}
            {"p":1}
            {"unreadable_arguments":"{oops"}
            {"unreadable_arguments":"[1]"}"#]]
        .assert_eq(&sent.join("\n"));
    }

    #[test]
    fn deep_nesting_is_refused_and_no_overflow() {
        for open in ["[", "{\"a\":", "\""] {
            assert!(read(&open.repeat(100_000)).is_err());
        }
    }

    proptest! {
        #[test]
        fn whatever_is_read_is_an_object_and_nothing_panics(text in r#"[{}\[\]":,a1ä\\n`ud83 \n]{0,24}"#) {
            if let Ok(arguments) = read(&text) {
                prop_assert!(is_object(&arguments.json));
            }
            prop_assert!(is_object(&for_history(&text)));
        }
    }
}
