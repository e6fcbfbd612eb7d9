//! Texts as the values that a tool's schema asks for.

use serde_json::Value;

/// How often a reference is followed: schemas of tools are flat.
const MAX_DEPTH: usize = 4;

/// The argument `name` of a tool, which came as a text; none when the schema does not know it, or wants what the text is
/// not.
pub(super) fn typed(parameters: &Value, name: &str, text: String) -> Option<Value> {
    let schema = parameters.get("properties")?.get(name)?;
    let mut types = Vec::new();
    collect(schema, parameters, MAX_DEPTH, &mut types);
    let wants = |kind: &str| types.contains(&kind);
    let json: Option<Value> = serde_json::from_str(text.trim()).ok();
    match json {
        // Any value.
        _ if types.is_empty() => Some(json.unwrap_or(Value::String(text))),
        Some(json @ Value::Null) if wants("null") => Some(json),
        Some(json @ Value::Array(_)) if wants("array") => Some(json),
        Some(json @ Value::Object(_)) if wants("object") => Some(json),
        // A text may look like a number.
        _ if wants("string") => Some(Value::String(text)),
        Some(Value::Number(number)) if wants("number") => Some(Value::Number(number)),
        Some(Value::Number(number)) if wants("integer") && !number.is_f64() => Some(Value::Number(number)),
        Some(json @ Value::Bool(_)) if wants("boolean") => Some(json),
        // As Python has them, in which many models think.
        None if wants("boolean") && text.trim() == "True" => Some(Value::Bool(true)),
        None if wants("boolean") && text.trim() == "False" => Some(Value::Bool(false)),
        _ => None,
    }
}

/// The types that a schema lets through; none at all where it does not say.
fn collect<'a>(schema: &'a Value, root: &'a Value, depth: usize, types: &mut Vec<&'a str>) {
    match schema.get("type") {
        Some(Value::String(kind)) => types.push(kind),
        Some(Value::Array(kinds)) => types.extend(kinds.iter().filter_map(Value::as_str)),
        _ => {}
    }
    let Some(depth) = depth.checked_sub(1) else { return };
    let referred = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix('#'));
    let branches =
        ["anyOf", "oneOf", "allOf"].iter().filter_map(|name| schema.get(*name)?.as_array()).flatten();
    for schema in branches.chain(referred.and_then(|path| root.pointer(path))) {
        collect(schema, root, depth, types);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_is_what_the_schema_wants() {
        let parameters = json!({
            "properties": {
                "text": {"type": "string"},
                "maybe": {"type": ["integer", "null"]},
                "size": {"type": "number"},
                "flag": {"type": "boolean"},
                "list": {"anyOf": [{"type": "array"}, {"type": "string"}]},
                "mode": {"$ref": "#/$defs/Mode"},
                "any": {},
            },
            "$defs": {"Mode": {"type": "string", "enum": ["a", "b"]}},
        });
        for (name, text, expected) in [
            ("text", "5", Some(json!("5"))),
            ("text", " a\n", Some(json!(" a\n"))),
            ("text", "null", Some(json!("null"))),
            ("maybe", "5", Some(json!(5))),
            ("maybe", "null", Some(json!(null))),
            ("maybe", "5.5", None),
            ("maybe", "five", None),
            ("size", " 5.5 ", Some(json!(5.5))),
            ("flag", "true", Some(json!(true))),
            ("flag", "True", Some(json!(true))),
            ("flag", "yes", None),
            ("list", "[\"a\"]", Some(json!(["a"]))),
            ("list", "a", Some(json!("a"))),
            ("mode", "a", Some(json!("a"))),
            ("any", "{\"a\": 1}", Some(json!({"a": 1}))),
            ("any", "a", Some(json!("a"))),
            ("other", "a", None),
        ] {
            assert_eq!(typed(&parameters, name, text.to_owned()), expected, "{name}: {text}");
        }
    }

    #[test]
    fn a_schema_that_refers_to_itself_ends() {
        let parameters = json!({"properties": {"a": {"$ref": "#/properties/a"}}});
        assert_eq!(typed(&parameters, "a", "1".to_owned()), Some(json!(1)));
    }
}
