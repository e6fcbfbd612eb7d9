//! Arguments of tools: the schema that the model reads, and the errors that it reads when a call does not fit it.

use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::{Map, Value};

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
        *text =
            text.split("\n\n").map(|paragraph| paragraph.replace('\n', " ")).collect::<Vec<_>>().join("\n\n");
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
pub(super) fn parse<T: DeserializeOwned + JsonSchema>(arguments: &str) -> Result<T, String> {
    // Servers send "", or null, for a call without arguments.
    let arguments = match arguments.trim() {
        "" | "null" => "{}",
        trimmed => trimmed,
    };
    // Serde would take an array for the fields in their order; no schema says so.
    if !arguments.starts_with('{') {
        let value: Value = serde_json::from_str(arguments).map_err(|error| error.to_string())?;
        return Err(format!("expected a JSON object, got {}; {}", kind(&value), fields::<T>()));
    }
    let mut deserializer = serde_json::Deserializer::from_str(arguments);
    let args = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        let error = error.into_inner();
        if !error.is_data() {
            return error.to_string();
        }
        // The path says more than the place, and an unknown or missing field is named by the error itself.
        let reason = without_place(&error);
        let place =
            if path == "." || reason.contains(" field `") { String::new() } else { format!("{path}: ") };
        format!("{place}{reason}; {}", fields::<T>())
    })?;
    deserializer.end().map_err(|error| error.to_string())?;
    Ok(args)
}

fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&place).map_or(text.clone(), str::to_owned)
}

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
            format!("{} {:?} {:?} {}", args.a, args.b, args.times, args.style.digits)
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
                  1 None None 0
                 {"a": 1, "b": null, "times": null, "style": {"digits": 2}} 
                  1 None None 2
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
              the arguments of add do not fit its schema: key must be a string at line 1 column 2
            {"a": 1
              the arguments of add do not fit its schema: EOF while parsing an object at line 1 column 7
            {"a": 1} {"a": 2}
              the arguments of add do not fit its schema: trailing characters at line 1 column 10
            oops
              the arguments of add do not fit its schema: expected value at line 1 column 1
            {"a": 1,}
              the arguments of add do not fit its schema: trailing comma at line 1 column 9
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
                  the arguments of add do not fit its schema: missing field `a`; its arguments are {a: integer, b?: integer, style?: object, times?: integer}
                {"a": 1, "c": 2}
                  the arguments of add do not fit its schema: unknown field `c`, expected one of `a`, `b`, `times`, `style`; its arguments are {a: integer, b?: integer, style?: object, times?: integer}
                {"a": "one"}
                  the arguments of add do not fit its schema: a: invalid type: string "one", expected i64; its arguments are {a: integer, b?: integer, style?: object, times?: integer}
                {"a": 1, "style": {"digits": 300}}
                  the arguments of add do not fit its schema: style.digits: invalid value: integer `300`, expected u8; its arguments are {a: integer, b?: integer, style?: object, times?: integer}
                {"a": 1, "a": 2}
                  the arguments of add do not fit its schema: duplicate field `a`; its arguments are {a: integer, b?: integer, style?: object, times?: integer}
                [1, 2]
                  the arguments of add do not fit its schema: expected a JSON object, got an array; its arguments are {a: integer, b?: integer, style?: object, times?: integer}
                "one"
                  the arguments of add do not fit its schema: expected a JSON object, got a string; its arguments are {a: integer, b?: integer, style?: object, times?: integer}
                7
                  the arguments of add do not fit its schema: expected a JSON object, got a number; its arguments are {a: integer, b?: integer, style?: object, times?: integer}
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
                  1 None Some(5) 0
                {"a": 1, "times": 5.0}
                  1 None Some(5) 0
                {"a": 1, "times": 5.5}
                  the arguments of add do not fit its schema: times: expected a whole number that is not negative, got 5.5; its arguments are {a: integer, b?: integer, style?: object, times?: integer}
                {"a": 1, "times": -5}
                  the arguments of add do not fit its schema: times: expected a whole number that is not negative, got -5; its arguments are {a: integer, b?: integer, style?: object, times?: integer}
                {"a": 1, "times": "five"}
                  the arguments of add do not fit its schema: times: expected a whole number that is not negative, got "five"; its arguments are {a: integer, b?: integer, style?: object, times?: integer}
                {"a": 1, "times": [5]}
                  the arguments of add do not fit its schema: times: expected a whole number that is not negative, got [5]; its arguments are {a: integer, b?: integer, style?: object, times?: integer}
                {"a": 1, "times": 1e300}
                  the arguments of add do not fit its schema: times: expected a whole number that is not negative, got 1e+300; its arguments are {a: integer, b?: integer, style?: object, times?: integer}
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
