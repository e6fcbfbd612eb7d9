//! Arguments of tools: the schema that the model reads, and the errors that it reads when a call does not fit it.

use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::model;

/// The description and the JSON schema of a tool's arguments, from the doc comments of `T` and its fields.
///
/// The schema holds what a model needs and no more: it is sent with every request.
pub(super) fn schema<T: JsonSchema>() -> (String, Value) {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = SchemaGenerator::from(settings).into_root_schema_for::<T>().to_value();
    simplify(&mut schema);
    let mut description = String::new();
    if let Value::Object(root) = &mut schema {
        root.remove("title");
        if let Some(Value::String(text)) = root.remove("description") {
            description = text;
        }
        // Some servers refuse an object schema without the key.
        root.entry("properties").or_insert_with(|| Map::new().into());
    }
    (description, schema)
}

/// An optional argument is one that may be left out: that it may also be null, which serde takes, is not worth the
/// words. Neither are Rust's number formats, nor the line breaks of its comments.
fn simplify(schema: &mut Value) {
    let Value::Object(schema) = schema else { return };
    schema.remove("format");
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
    if let Some(Value::String(text)) = schema.get_mut("description") {
        // What stands between fences is shown to the model as it stands.
        let unwrapped = |paragraph: &str| match paragraph.starts_with("```") {
            true => paragraph.to_owned(),
            false => paragraph.replace('\n', " "),
        };
        *text = text.split("\n\n").map(unwrapped).collect::<Vec<_>>().join("\n\n");
    }
    if let Some(kind) = schema.get_mut("type")
        && let Value::Array(kinds) = kind
    {
        kinds.retain(|kind| kind != "null");
        if let [only] = kinds.as_slice() {
            *kind = only.clone();
        }
    }
    if let Some(items) = schema.get_mut("items") {
        simplify(items);
    }
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.values_mut().for_each(simplify);
    }
}

/// Parses JSON arguments; the reason names the path of the value that does not fit and what is expected, or the place
/// where the JSON breaks.
///
/// Arguments that can mean only one thing are taken as they were meant, which the log tells without their contents.
pub(super) fn parse<T: DeserializeOwned + JsonSchema>(arguments: &str) -> Result<T, String> {
    let arguments = model::arguments::read(arguments).map_err(|broken| match broken.is_json() {
        true => format!("{broken}; {}", fields::<T>()),
        false => broken.to_string(),
    })?;
    for repair in &arguments.repairs {
        tracing::info!(repair = repair.as_str(), "the arguments of a call were repaired");
    }
    // From the text, since a value would hide that a field came twice.
    let mut deserializer = serde_json::Deserializer::from_str(&arguments.json);
    let reason = match serde_path_to_error::deserialize(&mut deserializer) {
        Ok(args) => return Ok(args),
        Err(error) => misfit::<T>(error),
    };
    let Ok(mut value) = serde_json::from_str(&arguments.json) else { return Err(reason) };
    if reason.contains("duplicate field") || !fit(&mut value, &schema::<T>().1) {
        return Err(reason);
    }
    tracing::info!(repair = "fitted", "the arguments of a call were repaired");
    serde_path_to_error::deserialize(value).map_err(misfit::<T>)
}

/// What does not fit, where, and what would.
fn misfit<T: JsonSchema>(error: serde_path_to_error::Error<serde_json::Error>) -> String {
    let path = error.path().to_string();
    // The path says more than the place, and an unknown or missing field is named by the error itself.
    let reason = without_place(error.inner());
    let place = if path == "." || reason.contains(" field `") { String::new() } else { format!("{path}: ") };
    format!("{place}{reason}; {}", fields::<T>())
}

/// Takes out of a value what models add to a schema's form, and says whether there was any of it: `null` for a member
/// that may be left out (strict schemas make them write all of them), and a list or an object inside a string.
fn fit(value: &mut Value, schema: &Value) -> bool {
    let wants = |kind: &str| schema["type"] == kind;
    if let Value::String(text) = value
        && (wants("array") || wants("object"))
        && let Ok(inner) = serde_json::from_str::<Value>(text)
        && (inner.is_array() && wants("array") || inner.is_object() && wants("object"))
    {
        *value = inner;
        fit(value, schema);
        return true;
    }
    match value {
        Value::Object(members) => {
            let required = |name: &str| {
                schema["required"].as_array().is_some_and(|names| names.iter().any(|known| known == name))
            };
            let before = members.len();
            members.retain(|name, member| {
                !member.is_null() || required(name) || schema["properties"].get(name).is_none()
            });
            let mut changed = members.len() < before;
            for (name, member) in members {
                changed |= fit(member, &schema["properties"][name.as_str()]);
            }
            changed
        }
        Value::Array(elements) => {
            let mut changed = false;
            for element in elements {
                changed |= fit(element, &schema["items"]);
            }
            changed
        }
        _ => false,
    }
}

fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&place).map_or(text.clone(), str::to_owned)
}

/// All fields with their types on one line: `its arguments are {path: string, depth?: integer}`.
fn fields<T: JsonSchema>() -> String {
    let (_, schema) = schema::<T>();
    let is_required = |name: &str| {
        schema["required"].as_array().is_some_and(|names| names.iter().any(|known| known == name))
    };
    let fields: Vec<_> = schema["properties"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, property)| {
            let mark = if is_required(name) { "" } else { "?" };
            format!("{name}{mark}: {}", property["type"].as_str().unwrap_or("value"))
        })
        .collect();
    format!("its arguments are {{{}}}", fields.join(", "))
}

/// For whole-number arguments: small models write them as `"5"` or `5.0`, which can mean nothing else.
pub(super) fn whole_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    /// Beyond this, a float does not hold every whole number.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let value = Value::deserialize(deserializer)?;
    let number = match &value {
        Value::Null => return Ok(None),
        Value::Number(number) => number.as_u64().or_else(|| {
            let float = number.as_f64()?;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "checked just before"
            )]
            (float.fract() == 0.0 && (0.0..=EXACT).contains(&float)).then_some(float as u64)
        }),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number.map(Some).ok_or_else(|| {
        serde::de::Error::custom(format!("expected a whole number that is not negative, got {value}"))
    })
}

/// The same for those that must be there.
pub(super) fn required_whole_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    whole_number(deserializer)?.ok_or_else(|| serde::de::Error::custom("expected a whole number, got null"))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::super::{Effect, Tool, ToolContext, ToolError, Toolbox};
    use crate::protocol::ToolCall;

    use super::*;

    struct Add;

    /// Adds two numbers.
    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Args {
        /// The first number.
        a: i64,
        /// What is added to it.
        #[serde(default)]
        b: Option<i64>,
        /// How often.
        #[serde(default, deserialize_with = "whole_number")]
        times: Option<u64>,
        /// How it is shown.
        #[serde(default)]
        style: Style,
        /// What is added last.
        #[serde(default)]
        rest: Vec<i64>,
    }

    #[derive(Debug, Default, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case", deny_unknown_fields)]
    struct Style {
        /// Digits after the point.
        #[serde(default)]
        digits: u8,
    }

    impl Tool for Add {
        const NAME: &'static str = "add";
        const EFFECT: Effect = Effect::Read;
        type Args = Args;

        fn target(args: &Args) -> String {
            format!("{} {:?} {:?} {} {:?}", args.a, args.b, args.times, args.style.digits, args.rest)
        }

        async fn run(&self, _args: Args, _context: ToolContext) -> Result<String, ToolError> {
            unreachable!("arguments are only parsed here")
        }
    }

    fn prepare(arguments: &str) -> String {
        let call = ToolCall { id: "1".into(), name: "add".into(), arguments: arguments.into(), raw: None };
        match Toolbox::default().with(Add).prepare(&call) {
            Ok(prepared) => prepared.target,
            Err(error) => error.to_string(),
        }
    }

    fn check(arguments: &[&str], expected: Expect) {
        let answers: String = arguments.iter().map(|text| format!("{text}\n  {}\n", prepare(text))).collect();
        expected.assert_eq(&answers);
    }

    #[test]
    fn arguments_that_fit_are_taken() {
        check(
            &[r#"{"a": 1}"#, r#" {"a": 1, "b": null, "times": null, "style": {"digits": 2}} "#],
            expect![[r#"
                {"a": 1}
                  1 None None 0 []
                 {"a": 1, "b": null, "times": null, "style": {"digits": 2}} 
                  1 None None 2 []
            "#]],
        );
    }

    // SPEC E3
    #[test]
    fn broken_json_is_refused_with_its_place() {
        check(
            &["{oops", r#"{"a": 1"#, r#"{"a": 1} {"a": 2}"#, "oops", r#"{"a": 1,}"#],
            expect![[r#"
                {oops
                  the arguments of add do not fit its schema: key must be a string at line 1 column 2 (byte 1, near "{oops")
                {"a": 1
                  the arguments of add do not fit its schema: EOF while parsing an object at line 1 column 7 (byte 6, near "{\"a\": 1")
                {"a": 1} {"a": 2}
                  the arguments of add do not fit its schema: trailing characters at line 1 column 10 (byte 9, near "{\"a\": 1} {\"a\": 2}")
                oops
                  the arguments of add do not fit its schema: expected value at line 1 column 1 (byte 0, near "oops")
                {"a": 1,}
                  the arguments of add do not fit its schema: trailing comma at line 1 column 9 (byte 8, near "{\"a\": 1,}")
            "#]],
        );
    }

    // SPEC E4
    #[test]
    fn arguments_that_do_not_fit_name_the_field_and_what_is_expected() {
        check(
            &[
                r#"{}"#,
                r#"{"a": 1, "c": 2}"#,
                r#"{"a": "one"}"#,
                r#"{"a": 1, "style": {"digits": 300}}"#,
                r#"{"a": 1, "a": 2}"#,
                r#"[1, 2]"#,
                r#""one""#,
                r#"7"#,
            ],
            expect![[r#"
                {}
                  the arguments of add do not fit its schema: missing field `a`; its arguments are {a: integer, b?: integer, rest?: array, style?: object, times?: integer}
                {"a": 1, "c": 2}
                  the arguments of add do not fit its schema: unknown field `c`, expected one of `a`, `b`, `times`, `style`, `rest`; its arguments are {a: integer, b?: integer, rest?: array, style?: object, times?: integer}
                {"a": "one"}
                  the arguments of add do not fit its schema: a: invalid type: string "one", expected i64; its arguments are {a: integer, b?: integer, rest?: array, style?: object, times?: integer}
                {"a": 1, "style": {"digits": 300}}
                  the arguments of add do not fit its schema: style.digits: invalid value: integer `300`, expected u8; its arguments are {a: integer, b?: integer, rest?: array, style?: object, times?: integer}
                {"a": 1, "a": 2}
                  the arguments of add do not fit its schema: duplicate field `a`; its arguments are {a: integer, b?: integer, rest?: array, style?: object, times?: integer}
                [1, 2]
                  the arguments of add do not fit its schema: expected a JSON object, got an array; its arguments are {a: integer, b?: integer, rest?: array, style?: object, times?: integer}
                "one"
                  the arguments of add do not fit its schema: expected a JSON object, got a string; its arguments are {a: integer, b?: integer, rest?: array, style?: object, times?: integer}
                7
                  the arguments of add do not fit its schema: expected a JSON object, got a number; its arguments are {a: integer, b?: integer, rest?: array, style?: object, times?: integer}
            "#]],
        );
    }

    // SPEC E6
    #[test]
    fn what_can_mean_only_one_thing_is_taken_as_it_was_meant() {
        check(
            &[
                r#""{\"a\": 1}""#,
                r#"{}{"a": 1}"#,
                r#"{"a": 1, "rest": "[2]", "style": "{\"digits\": 3}"}"#,
                r#"{"a": 1, "b": null, "rest": null, "style": {"digits": null}}"#,
                r#"{"a": null}"#,
                r#"{"a": 1, "rest": "2"}"#,
                r#"{"a": 1, "rest": "[2", "style": null}"#,
            ],
            expect![[r#"
                "{\"a\": 1}"
                  1 None None 0 []
                {}{"a": 1}
                  1 None None 0 []
                {"a": 1, "rest": "[2]", "style": "{\"digits\": 3}"}
                  1 None None 3 [2]
                {"a": 1, "b": null, "rest": null, "style": {"digits": null}}
                  1 None None 0 []
                {"a": null}
                  the arguments of add do not fit its schema: a: invalid type: null, expected i64; its arguments are {a: integer, b?: integer, rest?: array, style?: object, times?: integer}
                {"a": 1, "rest": "2"}
                  the arguments of add do not fit its schema: rest: invalid type: string "2", expected a sequence; its arguments are {a: integer, b?: integer, rest?: array, style?: object, times?: integer}
                {"a": 1, "rest": "[2", "style": null}
                  the arguments of add do not fit its schema: rest: invalid type: string "[2", expected a sequence; its arguments are {a: integer, b?: integer, rest?: array, style?: object, times?: integer}
            "#]],
        );
    }

    // SPEC E5
    #[test]
    fn no_arguments_are_an_empty_object() {
        for nothing in ["", "  ", "null"] {
            assert_eq!(prepare(nothing), prepare("{}"));
        }
    }

    #[test]
    fn whole_numbers_may_be_written_as_texts_and_floats() {
        check(
            &[
                r#"{"a": 1, "times": "5"}"#,
                r#"{"a": 1, "times": 5.0}"#,
                r#"{"a": 1, "times": 5.5}"#,
                r#"{"a": 1, "times": -5}"#,
                r#"{"a": 1, "times": "five"}"#,
                r#"{"a": 1, "times": [5]}"#,
                r#"{"a": 1, "times": 1e300}"#,
            ],
            expect![[r#"
                {"a": 1, "times": "5"}
                  1 None Some(5) 0 []
                {"a": 1, "times": 5.0}
                  1 None Some(5) 0 []
                {"a": 1, "times": 5.5}
                  the arguments of add do not fit its schema: times: expected a whole number that is not negative, got 5.5; its arguments are {a: integer, b?: integer, rest?: array, style?: object, times?: integer}
                {"a": 1, "times": -5}
                  the arguments of add do not fit its schema: times: expected a whole number that is not negative, got -5; its arguments are {a: integer, b?: integer, rest?: array, style?: object, times?: integer}
                {"a": 1, "times": "five"}
                  the arguments of add do not fit its schema: times: expected a whole number that is not negative, got "five"; its arguments are {a: integer, b?: integer, rest?: array, style?: object, times?: integer}
                {"a": 1, "times": [5]}
                  the arguments of add do not fit its schema: times: expected a whole number that is not negative, got [5]; its arguments are {a: integer, b?: integer, rest?: array, style?: object, times?: integer}
                {"a": 1, "times": 1e300}
                  the arguments of add do not fit its schema: times: expected a whole number that is not negative, got 1e+300; its arguments are {a: integer, b?: integer, rest?: array, style?: object, times?: integer}
            "#]],
        );
    }

    #[test]
    fn a_schema_holds_what_a_model_needs_and_no_more() {
        let (description, schema) = schema::<Args>();
        assert_eq!(description, "Adds two numbers.");
        expect![[r#"
            {
              "additionalProperties": false,
              "properties": {
                "a": {
                  "description": "The first number.",
                  "type": "integer"
                },
                "b": {
                  "description": "What is added to it.",
                  "type": "integer"
                },
                "rest": {
                  "default": [],
                  "description": "What is added last.",
                  "items": {
                    "type": "integer"
                  },
                  "type": "array"
                },
                "style": {
                  "additionalProperties": false,
                  "description": "How it is shown.",
                  "properties": {
                    "digits": {
                      "default": 0,
                      "description": "Digits after the point.",
                      "maximum": 255,
                      "minimum": 0,
                      "type": "integer"
                    }
                  },
                  "type": "object"
                },
                "times": {
                  "description": "How often.",
                  "minimum": 0,
                  "type": "integer"
                }
              },
              "required": [
                "a"
              ],
              "type": "object"
            }"#]]
        .assert_eq(&serde_json::to_string_pretty(&schema).unwrap());
    }

    #[test]
    fn deep_nesting_is_an_error_and_no_overflow() {
        let text = format!("{{\"a\": {}", "[".repeat(100_000));
        assert!(prepare(&text).starts_with("the arguments of add do not fit its schema: "));
        assert!(prepare(&"[".repeat(100_000)).contains("recursion limit"));
    }
}
