//! Rules in the settings: as texts, each checked when it is read.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de::Error as _};

use crate::agent::Rule;

/// One rule of what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleText(pub Rule);

/// One rule that asks or forbids: it must not mean one spelling only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardText(pub Rule);

/// A rule as a text of the settings spells it, for the list of that name. The error says what is wrong and what fits.
pub(super) fn rule(list: &str, text: &str) -> Result<Rule, String> {
    let rule: Rule = text.parse()?;
    if list != "allow" && !rule.is_plain() {
        return Err(format!(
            "`{rule}` would hold for this spelling only: name the program and its first words, as in `command: git push`"
        ));
    }
    Ok(rule)
}

impl<'de> Deserialize<'de> for RuleText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        rule("allow", &String::deserialize(deserializer)?).map(Self).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for GuardText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        rule("deny", &String::deserialize(deserializer)?).map(Self).map_err(D::Error::custom)
    }
}

const RULE_PATTERN: &str = r"^\s*(command|exactly|edit|read|tool|effect|host)\s*:\s*\S";

impl JsonSchema for RuleText {
    fn schema_name() -> Cow<'static, str> {
        "Rule".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": RULE_PATTERN})
    }
}

impl JsonSchema for GuardText {
    fn schema_name() -> Cow<'static, str> {
        "GuardRule".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": RULE_PATTERN})
    }
}
