//! What decides where a turn's data goes or what it may do and cost, and cannot be used as it is written. Such a setting
//! is never left out: the prompt, the files and the key would go to a server that the user did not choose, or a turn
//! would do or spend what they did not want.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Origin, Settings, Warning};
use crate::model::select::OFFLINE;

/// The name under which a settings file counts that cannot be read at all: it may set anything.
pub(super) const WHOLE_FILE: &str = "the settings file";

/// Variables that decide like a setting without setting it.
pub(super) const OTHER_VARIABLES: &[(&str, &str)] = &[
    ("ASKLS_API_KEY", "ASKLS_API_KEY"),
    (OPENAI_BASE_URL, OPENAI_BASE_URL),
    (ANTHROPIC_BASE_URL, ANTHROPIC_BASE_URL),
];

const OPENAI_BASE_URL: &str = "OPENAI_BASE_URL";
const ANTHROPIC_BASE_URL: &str = "ANTHROPIC_BASE_URL";

/// Among its values is the one that forbids the network.
const MODEL: &str = "model";

/// The table of settings of each model, which is nearly called so.
const MODELS: &str = "models";

/// A way that leaves out a proxy, or a header by which a gateway sends things on, leads elsewhere too.
const DECIDING: &[&str] = &[
    MODEL,
    "base_url",
    "wire",
    "api_key_env",
    "api_key_command",
    "auth_header",
    "headers",
    "query",
    "proxy",
    "ca_file",
];

/// Bounds of a turn, and walls around what it does: without a usable value there would be none, or one that the user did not choose.
const BOUNDING: &[&str] = &[
    "approvals",
    "outside",
    "ask",
    "deny",
    "hooks",
    "sandbox",
    "sandbox_network",
    "sandbox_write",
    "mask_secrets",
    "max_steps",
    "max_turn_tokens",
    "max_tool_calls",
    "turn_timeout",
    "max_cost",
];

/// The spellings of the key: of these the strongest layer counts.
const KEYS: &[&str] = &["api_key_env", "api_key_command", "ASKLS_API_KEY"];

/// A deciding setting that a layer means and that cannot be used.
#[derive(Clone, Debug)]
pub(super) struct Unusable {
    name: &'static str,
    origin: Origin,
    warning: Warning,
}

impl Unusable {
    pub(super) fn new(name: &'static str, origin: &Origin, warning: Warning) -> Self {
        Self { name, origin: origin.clone(), warning }
    }

    pub(super) fn warning(&self) -> &Warning {
        &self.warning
    }

    /// Why no ask goes on, for people.
    pub(super) fn reason(&self) -> String {
        let name = self.name;
        let what = match name {
            WHOLE_FILE => "says what goes where and what a turn may do",
            "hooks" => "holds checks of what a turn may do",
            "ask" | "deny" => "holds rules of what a turn may do",
            "sandbox" | "sandbox_network" | "sandbox_write" => "says what commands may do",
            "mask_secrets" => "says what is sent of keys",
            name if bounds(name) => "is a limit that you set",
            _ => "decides what goes where",
        };
        format!("{}; nothing is sent anywhere until this is fixed, since {name} {what}", self.warning)
    }

    /// Whether a stronger layer says what this one meant to say.
    fn is_overridden(&self, settings: &Settings) -> bool {
        let rank = self.origin.rank();
        let is_set = |name: &str| settings.origin(name).rank() > rank;
        match self.name {
            // It may hold bounds as well as ways, and nobody knows which.
            WHOLE_FILE => false,
            // What a stronger layer says is added to it.
            "ask" | "deny" => false,
            // It may have been a ban of the network, which no project lifts.
            MODEL => settings.own.set.get(MODEL).is_some_and(|(_, origin)| origin.rank() > rank),
            OPENAI_BASE_URL | ANTHROPIC_BASE_URL => settings.values.base_url.is_some(),
            name if KEYS.contains(&name) => {
                let own_key = Origin::Environment("ASKLS_API_KEY").rank() > rank
                    && settings.environment.text("ASKLS_API_KEY").is_some();
                own_key || is_set("api_key_env") || is_set("api_key_command")
            }
            name => is_set(name),
        }
    }
}

/// Whether a setting decides where data goes or what a turn may cost, by its name.
pub(super) fn decides(name: &str) -> bool {
    DECIDING.contains(&name) || bounds(name) || OTHER_VARIABLES.iter().any(|(_, other)| *other == name)
}

/// The setting that a value is meant for below a name that is nearly `name`. `model` is nearly `mode` and `node`: with it
/// only what forbids the network counts, and that is meant for it though it stands in `models`.
pub(super) fn meant(name: &'static str, value: &Value) -> Option<&'static str> {
    match name {
        MODEL | MODELS if says_offline(value) => Some(MODEL),
        MODEL => None,
        name => Some(name),
    }
}

fn says_offline(value: &Value) -> bool {
    match value {
        Value::String(text) => text.trim().eq_ignore_ascii_case(OFFLINE),
        Value::Array(list) => list.iter().any(says_offline),
        _ => false,
    }
}

/// Whether a setting bounds a turn, by its name.
pub(super) fn bounds(name: &str) -> bool {
    name == WHOLE_FILE || BOUNDING.contains(&name)
}

/// The names of the settings that decide.
pub(super) fn all_deciding() -> impl Iterator<Item = &'static str> {
    DECIDING.iter().chain(BOUNDING).copied()
}

/// The deciding settings that a broken file speaks of outside its comments.
pub(super) fn mentioned(text: &str) -> impl Iterator<Item = &'static str> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let lines = lines.map(|line| line.replace('-', "_").to_ascii_lowercase());
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let words = |line: String| line.split(|c| !is_part(c)).map(str::to_owned).collect::<Vec<_>>();
    let said: BTreeSet<String> = lines.flat_map(words).collect();
    all_deciding().filter(move |name| said.contains(*name) || said.contains(&name.replace('_', "")))
}

/// Why no server may be chosen with these settings; `None` when one may.
pub(super) fn of_way(settings: &Settings) -> Option<&Unusable> {
    first(settings, |name| name == WHOLE_FILE || !bounds(name))
}

/// Why no turn may begin with these settings, whatever model answers; `None` when one may.
pub(super) fn of_bounds(settings: &Settings) -> Option<&Unusable> {
    first(settings, bounds)
}

fn first(settings: &Settings, is_meant: impl Fn(&str) -> bool) -> Option<&Unusable> {
    let mut all = settings.unusable.iter();
    all.find(|unusable| is_meant(unusable.name) && !unusable.is_overridden(settings))
}
