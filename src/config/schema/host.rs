//! The type of a host in the settings.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de::Error as _};

use crate::tools::fetch_url::NamedHost;

/// A host, and perhaps its port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostText(pub NamedHost);

impl<'de> Deserialize<'de> for HostText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map(Self).map_err(D::Error::custom)
    }
}

impl JsonSchema for HostText {
    fn schema_name() -> Cow<'static, str> {
        "Host".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": r"^[^/@?#*\s]+$"})
    }
}
