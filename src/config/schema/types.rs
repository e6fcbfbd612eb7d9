//! The types of single settings: what fits, and how a JSON schema says so.

use std::{borrow::Cow, fmt, path::PathBuf, time::Duration};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer, de::Error as _};

use crate::{agent::FirstTool, protocol::Cost};

/// A day: longer waits are mistakes (milliseconds for seconds).
const MOST_SECONDS: f64 = 86_400.0;

/// A thousandth: what is shorter is no wait that a machine keeps.
const LEAST_SECONDS: f64 = 0.001;

/// Far beyond any task that ends; a number above it is a mistake.
const MOST_STEPS: u32 = 10_000;

/// Far beyond what a turn of the most steps asks for.
const MOST_CALLS: u32 = 100_000;

/// A hundredth of a cent: less than a request costs anywhere, and the least that is shown.
const LEAST_DOLLARS: f64 = 0.0001;

/// More than anyone pays for a turn; a number above it is a mistake.
const MOST_DOLLARS: f64 = 1_000_000.0;

/// Attempts that nobody waits for.
const MOST_ATTEMPTS: u32 = 100;

/// The longest name of a tool that the wires take.
const LONGEST_TOOL_NAME: usize = 64;

/// Headers that belong to the connection or to the body: a request without the right ones cannot be read.
const NOT_FOR_THE_USER: [&str; 9] = [
    "content-type",
    "content-length",
    "content-encoding",
    "host",
    "connection",
    "transfer-encoding",
    "te",
    "upgrade",
    "accept-encoding",
];

/// A whole number within bounds; the error says which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bounded<const LEAST: u32, const MOST: u32>(pub u32);

pub type Steps = Bounded<1, MOST_STEPS>;
pub type Calls = Bounded<1, MOST_CALLS>;
pub type Attempts = Bounded<1, MOST_ATTEMPTS>;

/// A time in seconds, from a thousandth to a day; parts of a second are welcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seconds(pub Duration);

/// A sum of US dollars, from a hundredth of a cent to a million; parts of a dollar are welcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dollars(pub Cost);

/// A program and its arguments: a list, or one text that is split at spaces. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine(pub Vec<String>);

/// A program and its first arguments. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shell(pub Vec<String>);

/// The name of a header, in small letters. Not one that belongs to the connection or to the body.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Header(pub String);

/// A text that may be a secret: `Debug` does not show it. One line.
#[derive(Clone)]
pub struct SecretText(pub SecretString);

/// `none`, or the address of a proxy; it may hold a password.
#[derive(Clone)]
pub struct ProxyText(pub SecretText);

/// The path of a file or folder: absolute, or below the home folder as `~/…`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePath(pub PathBuf);

/// `auto`, `none`, `required`, or the name of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolChoiceText(pub FirstTool);

impl Seconds {
    pub fn duration(self) -> Duration {
        self.0
    }
}

impl ProxyText {
    /// `None` switches proxies off.
    pub fn address(&self) -> Option<&SecretString> {
        Some(&self.0.0).filter(|text| text.expose_secret() != "none")
    }
}

/// Whether a text is an address that begins with `http://` or `https://`, in any case, and a host.
pub(super) fn is_address(text: &str) -> bool {
    let host = text
        .split_once("://")
        .filter(|(scheme, _)| ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)))
        .map(|(_, host)| host);
    host.is_some_and(|host| !host.starts_with('/') && !host.is_empty() && !host.contains(char::is_whitespace))
}

/// Whether a header, in any case, is askls's own to set.
pub(super) fn is_reserved(header: &str) -> bool {
    NOT_FOR_THE_USER.contains(&header.trim().to_ascii_lowercase().as_str())
}

pub(super) fn base_url<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let Some(url) = Option::<String>::deserialize(deserializer)? else {
        return Ok(None);
    };
    let url = url.trim().to_owned();
    if is_address(&url) { Ok(Some(url)) } else { Err(D::Error::custom("not an address")) }
}

/// Keys have small letters or dashes; names of variables have not.
pub(super) fn variable<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let Some(name) = Option::<String>::deserialize(deserializer)? else {
        return Ok(None);
    };
    let fits = !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    if fits { Ok(Some(name)) } else { Err(D::Error::custom("no name of a variable")) }
}

impl<'de, const LEAST: u32, const MOST: u32> Deserialize<'de> for Bounded<LEAST, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = u32::deserialize(deserializer)?;
        if (LEAST..=MOST).contains(&number) {
            Ok(Self(number))
        } else {
            Err(D::Error::custom("out of bounds"))
        }
    }
}

impl<const LEAST: u32, const MOST: u32> JsonSchema for Bounded<LEAST, MOST> {
    fn schema_name() -> Cow<'static, str> {
        format!("From{LEAST}To{MOST}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "integer", "minimum": LEAST, "maximum": MOST})
    }
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let seconds = f64::deserialize(deserializer)?;
        if !(LEAST_SECONDS..=MOST_SECONDS).contains(&seconds) {
            return Err(D::Error::custom("out of bounds"));
        }
        Duration::try_from_secs_f64(seconds).map(Self).map_err(D::Error::custom)
    }
}

impl JsonSchema for Seconds {
    fn schema_name() -> Cow<'static, str> {
        "Seconds".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "number", "minimum": LEAST_SECONDS, "maximum": MOST_SECONDS})
    }
}

impl<'de> Deserialize<'de> for Dollars {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let dollars = f64::deserialize(deserializer)?;
        if !(LEAST_DOLLARS..=MOST_DOLLARS).contains(&dollars) {
            return Err(D::Error::custom("out of bounds"));
        }
        // Within the bounds it is a whole number of millionths.
        Ok(Self(Cost((dollars * 1e6).round() as u64)))
    }
}

impl JsonSchema for Dollars {
    fn schema_name() -> Cow<'static, str> {
        "Dollars".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "number", "minimum": LEAST_DOLLARS, "maximum": MOST_DOLLARS})
    }
}

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?.trim().to_ascii_lowercase();
        // What RFC 9110 calls a token.
        let fits = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        if name.is_empty() || !name.chars().all(fits) || is_reserved(&name) {
            return Err(D::Error::custom("no header"));
        }
        Ok(Self(name))
    }
}

impl JsonSchema for Header {
    fn schema_name() -> Cow<'static, str> {
        "Header".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string"})
    }
}

impl<'de> Deserialize<'de> for SecretText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.chars().any(char::is_control) {
            return Err(D::Error::custom("more than one line"));
        }
        Ok(Self(text.into()))
    }
}

impl JsonSchema for SecretText {
    fn schema_name() -> Cow<'static, str> {
        "SecretText".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string"})
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

impl<'de> Deserialize<'de> for ProxyText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?.trim().to_owned();
        if text != "none" && !is_address(&text) {
            return Err(D::Error::custom("no proxy"));
        }
        Ok(Self(SecretText(text.into())))
    }
}

impl JsonSchema for ProxyText {
    fn schema_name() -> Cow<'static, str> {
        "Proxy".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string"})
    }
}

impl fmt::Debug for ProxyText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<'de> Deserialize<'de> for FilePath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let path = PathBuf::deserialize(deserializer)?;
        if path.is_absolute() || path.starts_with("~") {
            Ok(Self(path))
        } else {
            Err(D::Error::custom("not absolute"))
        }
    }
}

impl JsonSchema for FilePath {
    fn schema_name() -> Cow<'static, str> {
        "FilePath".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string"})
    }
}

impl<'de> Deserialize<'de> for ToolChoiceText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?.trim().to_owned();
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        Ok(Self(match text.as_str() {
            "auto" => FirstTool::Auto,
            "none" => FirstTool::None,
            "required" => FirstTool::Required,
            name if !name.is_empty() && name.len() <= LONGEST_TOOL_NAME && name.chars().all(fits) => {
                FirstTool::Named(text)
            }
            _ => return Err(D::Error::custom("no name of a tool")),
        }))
    }
}

impl JsonSchema for ToolChoiceText {
    fn schema_name() -> Cow<'static, str> {
        "ToolChoice".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": "^[a-zA-Z0-9_-]{1,64}$"})
    }
}

impl<'de> Deserialize<'de> for CommandLine {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Spelling {
            Line(String),
            Parts(Vec<String>),
        }
        let parts = match Spelling::deserialize(deserializer)? {
            Spelling::Line(line) => line.split_whitespace().map(str::to_owned).collect(),
            Spelling::Parts(parts) => parts,
        };
        not_empty(parts).map(Self)
    }
}

impl JsonSchema for CommandLine {
    fn schema_name() -> Cow<'static, str> {
        "CommandLine".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["array", "string"], "items": {"type": "string"}, "minItems": 1})
    }
}

impl<'de> Deserialize<'de> for Shell {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        not_empty(Vec::deserialize(deserializer)?).map(Self)
    }
}

impl JsonSchema for Shell {
    fn schema_name() -> Cow<'static, str> {
        "Shell".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "array", "items": {"type": "string"}, "minItems": 1})
    }
}

fn not_empty<E: serde::de::Error>(parts: Vec<String>) -> Result<Vec<String>, E> {
    match parts.first() {
        Some(program) if !program.trim().is_empty() => Ok(parts),
        _ => Err(E::custom("names no program")),
    }
}
