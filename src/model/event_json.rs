//! The JSON of events as servers send it that do not quite write JSON: each oddity would cost a piece of the reply.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::surrogates;

/// Numbers that JSON does not have, as Python's writer spells them.
const NO_NUMBERS: [&str; 3] = ["-Infinity", "Infinity", "NaN"];

/// The same JSON with nothing around it and in it that no reader takes: an object in a string or in a list of its own, halves
/// of characters, numbers that are none (which become `null`). Everything else stays byte for byte.
pub(super) fn mended(json: &str) -> Cow<'_, str> {
    let json = then(unwrapped(json), surrogates::mended);
    then(json, without_odd_numbers)
}

/// Goes on with a text. What `mend` lends is the whole of what it was given.
fn then<'a>(text: Cow<'a, str>, mend: impl for<'b> Fn(&'b str) -> Cow<'b, str>) -> Cow<'a, str> {
    match text {
        Cow::Borrowed(text) => mend(text),
        Cow::Owned(text) => {
            let mended = match mend(&text) {
                Cow::Borrowed(_) => None,
                Cow::Owned(mended) => Some(mended),
            };
            Cow::Owned(mended.unwrap_or(text))
        }
    }
}

fn unwrapped(json: &str) -> Cow<'_, str> {
    let is_object = |inner: &str| inner.trim_start().starts_with('{');
    let inner = match json.trim_start().as_bytes().first() {
        Some(b'"') => serde_json::from_str::<String>(json).ok().map(Cow::Owned),
        Some(b'[') => {
            serde_json::from_str::<[&RawValue; 1]>(json).ok().map(|[inner]| Cow::Borrowed(inner.get()))
        }
        _ => None,
    };
    inner.filter(|inner| is_object(inner)).unwrap_or(Cow::Borrowed(json))
}

fn without_odd_numbers(json: &str) -> Cow<'_, str> {
    if !NO_NUMBERS.iter().any(|number| json.contains(number)) {
        return Cow::Borrowed(json);
    }
    let mut mended = String::new();
    // Up to where the text is in `mended`.
    let mut copied = 0;
    let (mut is_string, mut is_escaped) = (false, false);
    for (at, character) in json.char_indices() {
        if is_string {
            is_string = is_escaped || character != '"';
            is_escaped = character == '\\' && !is_escaped;
            continue;
        }
        is_string = character == '"';
        let rest = json.get(at..).unwrap_or_default();
        if at >= copied
            && let Some(number) = NO_NUMBERS.iter().find(|number| rest.starts_with(*number))
        {
            mended.push_str(json.get(copied..at).unwrap_or_default());
            mended.push_str("null");
            copied = at + number.len();
        }
    }
    if copied == 0 {
        return Cow::Borrowed(json);
    }
    mended.push_str(json.get(copied..).unwrap_or_default());
    Cow::Owned(mended)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_json_does_not_have_are_none() {
        for (json, expected) in [
            (r#"{"a":NaN,"b":[-Infinity,Infinity]}"#, r#"{"a":null,"b":[null,null]}"#),
            (r#"{"a":"\"NaN","b":NaN}"#, r#"{"a":"\"NaN","b":null}"#),
            (r#"{"a":"\\","b":NaN}"#, r#"{"a":"\\","b":null}"#),
        ] {
            assert_eq!(mended(json), expected);
        }
        for whole in [r#"{"a":"NaN ä Infinity"}"#, r#"{"a":1}"#] {
            assert!(matches!(mended(whole), Cow::Borrowed(same) if same == whole), "{whole}");
        }
    }

    #[test]
    fn an_object_is_found_in_what_is_around_it() {
        for wrapped in [r#" [ {"a":1} ]"#, r#" "{\"a\":1}""#] {
            assert_eq!(mended(wrapped), r#"{"a":1}"#);
        }
        for other in [r#"["a"]"#, "[]", r#"[{"a":1},{"b":2}]"#, r#""busy""#, "[", "\""] {
            assert_eq!(mended(other), other);
        }
        assert_eq!(mended(r#""{\"a\":NaN}""#), r#"{"a":null}"#);
    }
}
