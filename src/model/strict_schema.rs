//! Strict schemas: the form in which a server binds what a model writes. Every object is closed, all its members are
//! required, and what could be left out may be `null` instead.

use serde_json::{Map, Value, json};

/// How deep schemas may be nested: the hosted servers take ten objects in one another, each with a list around it.
const MAX_DEPTH: usize = 32;

/// What strict schemas do not know, and what cannot be left out without changing what the schema says.
const UNKNOWN: [&str; 15] = [
    "not",
    "if",
    "then",
    "else",
    "patternProperties",
    "propertyNames",
    "minProperties",
    "maxProperties",
    "dependentRequired",
    "dependentSchemas",
    "unevaluatedProperties",
    "unevaluatedItems",
    "prefixItems",
    "contains",
    "uniqueItems",
];

/// Members whose values are schemas by name.
const BY_NAME: [&str; 3] = ["properties", "$defs", "definitions"];

/// The strict form of a tool's schema; `None` when there is none that says the same.
pub(super) fn strict(schema: &Value) -> Option<Value> {
    let strict = Root(schema).strict(schema, 0)?;
    // A nullable root, or one with choices, is refused.
    (strict.get("type")? == "object" && strict.get("anyOf").is_none()).then_some(strict)
}

/// Whether a schema is in the strict form as it is.
pub(super) fn is_strict(schema: &Value) -> bool {
    strict(schema).is_some_and(|strict| strict == *schema)
}

/// The whole schema, where its references lead.
struct Root<'a>(&'a Value);

impl Root<'_> {
    fn strict(&self, schema: &Value, depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        // `true` is anything at all.
        let mut schema = self.flat(schema.as_object()?.clone(), depth)?;
        if UNKNOWN.iter().any(|keyword| schema.contains_key(*keyword)) {
            return None;
        }
        if schema.get("default").is_some_and(Value::is_null) {
            schema.remove("default");
        }
        if let Some(choices) = schema.remove("oneOf") {
            if schema.contains_key("anyOf") {
                return None;
            }
            schema.insert("anyOf".to_owned(), choices);
        }
        for name in BY_NAME {
            if let Some(Value::Object(schemas)) = schema.get_mut(name) {
                for inner in schemas.values_mut() {
                    *inner = self.strict(inner, depth + 1)?;
                }
            }
        }
        if let Some(Value::Array(choices)) = schema.get_mut("anyOf") {
            for choice in choices {
                *choice = self.strict(choice, depth + 1)?;
            }
        }
        if let Some(items) = schema.get_mut("items") {
            *items = self.strict(items, depth + 1)?;
        }
        if allows(&schema, "object") || schema.contains_key("properties") {
            close(&mut schema, depth)?;
        }
        Some(Value::Object(schema))
    }

    /// The schema without references that have company, and without a list of one that all must hold.
    fn flat(&self, mut schema: Map<String, Value>, depth: usize) -> Option<Map<String, Value>> {
        for _ in depth..=MAX_DEPTH {
            let inner = if let Some(Value::Array(all)) = schema.get("allOf") {
                let [only] = all.as_slice() else { return None };
                let only = only.as_object()?.clone();
                schema.remove("allOf");
                only
            } else if schema.contains_key("$ref") && schema.len() > 1 {
                let Some(Value::String(path)) = schema.remove("$ref") else { return None };
                self.0.pointer(path.strip_prefix('#')?)?.as_object()?.clone()
            } else {
                let is_local = |path: &Value| path.as_str().is_some_and(|path| path.starts_with('#'));
                return schema.get("$ref").is_none_or(is_local).then_some(schema);
            };
            for (name, value) in inner {
                // What both say must be the same, words for people apart.
                match schema.get(&name) {
                    None => drop(schema.insert(name, value)),
                    Some(known) if *known == value || matches!(name.as_str(), "description" | "title") => {}
                    Some(_) => return None,
                }
            }
        }
        None
    }
}

/// Closes an object: no other members, and all of them required.
fn close(schema: &mut Map<String, Value>, depth: usize) -> Option<()> {
    match schema.get("additionalProperties") {
        Some(Value::Bool(false)) => {}
        Some(_) => return None,
        // An object of which nothing is said may hold anything; a tool of which nothing is said takes nothing.
        None if depth > 0 && !schema.contains_key("properties") => return None,
        None => {}
    }
    schema.insert("additionalProperties".to_owned(), false.into());
    let before = schema.remove("required").unwrap_or_default();
    let is_required = |name: &str| {
        before.as_array().is_some_and(|names| names.iter().any(|known| known.as_str() == Some(name)))
    };
    let properties = schema.entry("properties").or_insert_with(|| Map::new().into()).as_object_mut()?;
    for (name, property) in properties.iter_mut() {
        if !is_required(name) {
            let inner = property.take();
            *property = nullable(inner);
        }
    }
    let names: Vec<Value> = properties.keys().map(|name| name.as_str().into()).collect();
    schema.insert("required".to_owned(), names.into());
    Some(())
}

fn allows(schema: &Map<String, Value>, kind: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(only)) => only == kind,
        Some(Value::Array(kinds)) => kinds.iter().any(|known| known == kind),
        _ => false,
    }
}

/// The same schema, or `null`.
fn nullable(schema: Value) -> Value {
    let Value::Object(mut schema) = schema else { return schema };
    if allows(&schema, "null") {
        return Value::Object(schema);
    }
    if let Some(Value::Array(choices)) = schema.get_mut("anyOf") {
        let null = json!({"type": "null"});
        if !choices.contains(&null) {
            choices.push(null);
        }
        return Value::Object(schema);
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    match schema.get_mut("type") {
        Some(Value::Array(kinds)) => kinds.push("null".into()),
        Some(kind @ Value::String(_)) => {
            let only = kind.take();
            *kind = json!([only, "null"]);
        }
        // A reference, a constant: its words stay with the choice, where the model reads them.
        _ => {
            let description = schema.remove("description");
            let mut choice = Map::from_iter([("anyOf".to_owned(), json!([schema, {"type": "null"}]))]);
            choice.extend(description.map(|text| ("description".to_owned(), text)));
            return Value::Object(choice);
        }
    }
    Value::Object(schema)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(schema: &Value, expected: Expect) {
        let strict = strict(schema).map(|strict| format!("{strict:#}"));
        expected.assert_eq(strict.as_deref().unwrap_or("none"));
    }

    fn with_property(schema: Value) -> Value {
        json!({"type": "object", "properties": {"a": schema}, "required": ["a"]})
    }

    // SPEC T2
    #[test]
    fn objects_are_closed_and_what_is_optional_may_be_null() {
        check(
            &json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string"},
                    "depth": {"type": "integer", "default": null, "description": "levels"},
                    "style": {"enum": ["a", "b"], "type": "string"},
                    "at": {"type": ["integer", "null"]},
                    "choice": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
                    "rest": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "number"}}}},
                },
                "required": ["path"],
            }),
            expect![[r#"
                {
                  "additionalProperties": false,
                  "properties": {
                    "at": {
                      "type": [
                        "integer",
                        "null"
                      ]
                    },
                    "choice": {
                      "anyOf": [
                        {
                          "type": "string"
                        },
                        {
                          "type": "integer"
                        },
                        {
                          "type": "null"
                        }
                      ]
                    },
                    "depth": {
                      "description": "levels",
                      "type": [
                        "integer",
                        "null"
                      ]
                    },
                    "path": {
                      "type": "string"
                    },
                    "rest": {
                      "items": {
                        "additionalProperties": false,
                        "properties": {
                          "x": {
                            "type": [
                              "number",
                              "null"
                            ]
                          }
                        },
                        "required": [
                          "x"
                        ],
                        "type": "object"
                      },
                      "type": [
                        "array",
                        "null"
                      ]
                    },
                    "style": {
                      "enum": [
                        "a",
                        "b",
                        null
                      ],
                      "type": [
                        "string",
                        "null"
                      ]
                    }
                  },
                  "required": [
                    "at",
                    "choice",
                    "depth",
                    "path",
                    "rest",
                    "style"
                  ],
                  "type": "object"
                }"#]],
        );
    }

    #[test]
    fn references_stay_unless_they_have_company_and_a_list_of_one_is_merged() {
        check(
            &json!({
                "type": "object",
                "properties": {
                    "a": {"$ref": "#/$defs/point"},
                    "b": {"$ref": "#/$defs/point", "description": "where"},
                    "c": {"allOf": [{"type": "string"}], "description": "what"},
                },
                "required": ["b", "c"],
                "$defs": {"point": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}},
            }),
            expect![[r##"
                {
                  "$defs": {
                    "point": {
                      "additionalProperties": false,
                      "properties": {
                        "x": {
                          "type": "number"
                        }
                      },
                      "required": [
                        "x"
                      ],
                      "type": "object"
                    }
                  },
                  "additionalProperties": false,
                  "properties": {
                    "a": {
                      "anyOf": [
                        {
                          "$ref": "#/$defs/point"
                        },
                        {
                          "type": "null"
                        }
                      ]
                    },
                    "b": {
                      "additionalProperties": false,
                      "description": "where",
                      "properties": {
                        "x": {
                          "type": "number"
                        }
                      },
                      "required": [
                        "x"
                      ],
                      "type": "object"
                    },
                    "c": {
                      "description": "what",
                      "type": "string"
                    }
                  },
                  "required": [
                    "a",
                    "b",
                    "c"
                  ],
                  "type": "object"
                }"##]],
        );
    }

    #[test]
    fn what_cannot_be_said_strictly_stays_as_it_is() {
        let deep =
            (0..100).fold(json!({"type": "string"}), |inner, _| json!({"type": "array", "items": inner}));
        for schema in [
            json!({"type": "string"}),
            json!({"anyOf": [{"type": "object", "properties": {}}]}),
            json!({"type": ["object", "null"], "properties": {}}),
            json!({"type": "object", "properties": {}, "additionalProperties": true}),
            with_property(json!({"type": "object"})),
            with_property(json!({"type": "object", "additionalProperties": {"type": "string"}})),
            with_property(json!({"allOf": [{"type": "string"}, {"minLength": 1}]})),
            with_property(json!({"not": {"type": "string"}})),
            with_property(json!({"$ref": "other.json"})),
            with_property(json!({"$ref": "#/nowhere", "description": "x"})),
            with_property(json!({"$ref": "#/properties/a", "description": "x"})),
            with_property(json!(true)),
            with_property(deep),
            json!(7),
        ] {
            assert_eq!(strict(&schema), None, "{schema}");
        }
    }

    #[test]
    fn a_tool_without_arguments_takes_none_and_strict_schemas_stay() {
        let none = json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false});
        assert_eq!(strict(&json!({"type": "object"})), Some(none.clone()));
        assert!(is_strict(&none) && !is_strict(&json!({"type": "object", "properties": {}})));
    }
}
