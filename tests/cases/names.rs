//! The one table from the neutral names of the cases to those of askls: tools, arguments, settings, error kinds.

use std::path::Path;

use askls::{
    config::schema::Key,
    protocol::{Fault, Limit, StopReason},
};
use serde_json::{Map, Value, json};

/// `(neutral, of askls)`.
type Pair = (&'static str, &'static str);

/// `(neutral tool, tool of askls, its arguments)`.
pub(crate) const TOOLS: &[(&str, &str, &[Pair])] = &[
    ("read_file", "read_file", &[]),
    ("list_dir", "list_files", &[]),
    ("write_file", "write_file", &[("content", "text")]),
    ("edit_file", "edit_file", &[("old_text", "find"), ("new_text", "replace"), ("replace_all", "all")]),
    ("move_file", "move_file", &[]),
    ("delete_file", "delete_file", &[]),
    ("search_text", "search", &[]),
    ("run_command", "run_command", &[("timeout_ms", "timeout")]),
    ("fetch_url", "fetch_url", &[]),
];

pub(crate) const MODEL: &str = "test-model";

/// Where a case says nothing of a key.
pub(crate) const KEY: &str = "sk-test-0123456789abcdef";

pub(crate) fn tool_of_askls(neutral: &str) -> Option<&'static str> {
    TOOLS.iter().find(|(name, ..)| *name == neutral).map(|(_, own, _)| *own)
}

pub(crate) fn neutral_tool(own: &str) -> Option<&'static str> {
    TOOLS.iter().find(|(_, name, _)| *name == own).map(|(neutral, ..)| *neutral)
}

/// Arguments under the names of askls. What is no object stays as it is.
pub(crate) fn arguments_of_askls(neutral_tool: &str, arguments: &Value) -> Value {
    rename(
        neutral_tool,
        arguments,
        |(neutral, own)| (*neutral, *own),
        |milliseconds| {
            // Whole seconds, and at least one: no command of a case takes that long for another reason.
            json!(milliseconds.div_ceil(1000).max(1))
        },
    )
}

pub(crate) fn neutral_arguments(neutral_tool: &str, arguments: &Value) -> Value {
    rename(neutral_tool, arguments, |(neutral, own)| (*own, *neutral), |seconds| json!(seconds * 1000))
}

fn rename<'a>(
    tool: &str,
    arguments: &Value,
    direction: impl Fn(&'a (&'a str, &'a str)) -> (&'a str, &'a str),
    time: impl Fn(u64) -> Value,
) -> Value {
    let Value::Object(members) = arguments else { return arguments.clone() };
    let table = TOOLS.iter().find(|(name, ..)| *name == tool).map_or(&[][..], |(_, _, table)| *table);
    let mut out = Map::new();
    for (name, value) in members {
        let entry = table.iter().map(&direction).find(|(from, _)| from == name);
        let is_time =
            entry.is_some_and(|(from, to)| from.starts_with("timeout") && to.starts_with("timeout"));
        let value = match value.as_u64() {
            Some(number) if is_time => time(number),
            _ => value.clone(),
        };
        out.insert(entry.map_or(name.as_str(), |(_, to)| to).to_owned(), value);
    }
    Value::Object(out)
}

/// The wire of a neutral provider.
pub(crate) fn wire(provider: &str) -> Option<&'static str> {
    match provider {
        "openai_chat" => Some("chat"),
        "openai_responses" => Some("responses"),
        "anthropic" => Some("messages"),
        _ => None,
    }
}

/// What a run is configured with, in the words of askls.
#[derive(Default)]
pub(crate) struct Configured {
    /// As in the user's settings file.
    pub settings: Map<String, Value>,
    pub environment: Vec<(String, String)>,
    pub is_read_only: bool,
    /// Every question is answered with no.
    pub denies: bool,
    /// Neutral keys that askls has no word for: the run goes with the default.
    pub approximate: Vec<String>,
    /// Where the fake sites of the run listen.
    site_ports: Vec<String>,
}

/// From `given` of a run whose provider is at `base_url`.
///
/// # Errors
/// When the provider is not known.
pub(crate) fn configured(given: &Value, base_url: &str) -> Result<Configured, String> {
    let provider = given["provider"].as_str().unwrap_or("openai_chat");
    let wire = wire(provider).ok_or_else(|| format!("the provider {provider} is not known"))?;
    let mut out = Configured::default();
    let sites = given["http_sites"].as_array().into_iter().flatten();
    let port = |site: &Value| site["port"].as_str().map_or_else(|| site["port"].to_string(), str::to_owned);
    out.site_ports = sites.map(port).collect();
    out.set("wire", json!(wire));
    out.set("model", json!(MODEL));
    out.set("base_url", json!(base_url));
    // What a case wants changed is to be changed: the editor of the cases accepts edits by itself.
    // Where it may refuse one, what is seen is what the model hears of it.
    let may_refuse = given["client"].get("apply_edit_result").is_some();
    out.set("edits", json!(if may_refuse { "immediate" } else { "apply" }));
    out.set("approvals", json!("edits"));
    out.set("fetch", json!(true));
    let mut names_a_key = false;
    for (name, value) in given["config"].as_object().into_iter().flatten() {
        names_a_key |= matches!(name.as_str(), "api_key" | "api_key_env" | "require_key");
        out.take(name, value);
    }
    for (name, value) in given["env"].as_object().into_iter().flatten() {
        names_a_key |= name.contains("KEY");
        if let Some(text) = value.as_str() {
            out.environment.push((name.clone(), text.to_owned()));
        }
    }
    if let Some(is_required) = given["config"]["require_key"].as_bool() {
        out.require_key(is_required, provider);
    }
    if !names_a_key {
        out.environment.push(("ASKLS_API_KEY".to_owned(), KEY.to_owned()));
    }
    Ok(out)
}

/// A host as a case allows it, on its own port or else on those of all sites.
fn with_ports(host: &str, ports: &[String]) -> Vec<String> {
    let has_port =
        host.rsplit_once(':').is_some_and(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    if has_port && !host.ends_with("::1") {
        return vec![host.to_owned()];
    }
    ports.iter().map(|port| format!("{host}:{port}")).collect()
}

impl Configured {
    fn set(&mut self, name: &str, value: Value) {
        if Key::named(name).is_none() {
            self.approximate.push(format!("askls has no setting {name} yet"));
        }
        self.settings.insert(name.to_owned(), value);
    }

    fn take(&mut self, name: &str, value: &Value) {
        let same_name = [
            "max_attempts",
            "max_steps",
            "store",
            "echo_reasoning",
            "strict_alternation",
            "null_content",
            "base_url",
            "query",
            "api_key_env",
            "auth_header",
            "ca_file",
        ];
        match name {
            "idle_timeout_ms" => self.set("idle_timeout", seconds(value)),
            "retry_base_ms" => self.set("retry_wait", seconds(value)),
            "retry_cap_ms" => self.set("max_retry_wait", seconds(value)),
            "approval_timeout_ms" => self.set("approval_timeout", seconds(value)),
            "context_budget_tokens" => self.set("context_tokens", value.clone()),
            "strip_think_tags" => self.set("think_tags", value.clone()),
            "approval" => self.approval(value.as_str().unwrap_or_default()),
            "policy" => self.policy(value),
            "mode" => self.is_read_only = value == "read_only",
            "apply" if value == "workspace_edit" => self.set("edits", json!("immediate")),
            "shell" => self.set("shell", json!([value, "-c"])),
            "api_key" => {
                let key = value.as_str().unwrap_or_default().to_owned();
                self.environment.push(("ASKLS_API_KEY".to_owned(), key));
            }
            "fetch_allow_hosts" => {
                let hosts = value.as_array().into_iter().flatten().filter_map(Value::as_str);
                let hosts = hosts.flat_map(|host| with_ports(host, &self.site_ports));
                let hosts = hosts.map(Value::String).collect();
                self.set("fetch_hosts", Value::Array(hosts));
            }
            "log_level" => {
                let level = value.as_str().unwrap_or_default().to_owned();
                self.environment.push(("ASKLS_LOG".to_owned(), level));
            }
            // Said with `api_key_env`, once the environment is known.
            "require_key" => {}
            // Only names the file that askls protects anyway.
            "product_config_paths" => {}
            _ if same_name.contains(&name) => self.set(name, value.clone()),
            _ => self.approximate.push(format!("{name} has no counterpart")),
        }
    }

    /// A server that needs a key is one whose variable is named: askls asks nothing without it.
    fn require_key(&mut self, is_required: bool, provider: &str) {
        let named = self.settings.get("api_key_env").and_then(Value::as_str);
        let is_set = |name: &str| {
            self.environment.iter().any(|(known, value)| known == name && !value.trim().is_empty())
        };
        match named {
            Some(name) if !is_required && !is_set(name) => {
                self.settings.remove("api_key_env");
            }
            None if is_required && !is_set("ASKLS_API_KEY") => {
                let usual = if provider == "anthropic" { "ANTHROPIC_API_KEY" } else { "OPENAI_API_KEY" };
                self.set("api_key_env", json!(usual));
            }
            _ => {}
        }
    }

    fn approval(&mut self, wanted: &str) {
        match wanted {
            "allow" => self.set("approvals", json!("all")),
            "ask" => self.set("approvals", json!("none")),
            "deny" => {
                self.set("approvals", json!("none"));
                self.denies = true;
            }
            // No tool reaches outside, whatever is allowed.
            "deny_outside" => self.set("approvals", json!("edits")),
            // Said by `policy`.
            "policy" => {}
            _ => self.approximate.push(format!("approval {wanted} has no counterpart")),
        }
    }

    fn policy(&mut self, policy: &Value) {
        let approvals = match (policy["default"].as_str(), &policy["allow_edits"]) {
            (Some("allow"), _) => "all",
            (_, Value::Bool(true)) => "edits",
            _ => "none",
        };
        self.set("approvals", json!(approvals));
        self.denies |= policy["default"] == "deny";
        for (name, list, kind) in [
            ("allow_commands", "allow", "command"),
            ("deny_commands", "deny", "command"),
            ("protected", "ask", "edit"),
        ] {
            let texts = policy[name].as_array().into_iter().flatten().filter_map(Value::as_str);
            let rules: Vec<Value> = texts.map(|text| json!(rule(kind, text))).collect();
            if !rules.is_empty() {
                self.set(list, Value::Array(rules));
            }
        }
    }

    /// The user's settings file.
    ///
    /// # Errors
    /// When a value has no form in it.
    pub(crate) fn user_file(&self) -> Result<String, String> {
        toml::to_string(&Value::Object(self.settings.clone())).map_err(|error| format!("settings: {error}"))
    }
}

/// A rule of askls; a star alone stands for every command.
fn rule(kind: &str, text: &str) -> String {
    if kind == "command" && text == "*" { "effect: execute".to_owned() } else { format!("{kind}: {text}") }
}

/// A project's settings in the words of askls; `None` for a text that is none.
pub(crate) fn settings_of_askls(text: &str) -> Option<String> {
    let settings: Value = toml::from_str(text).ok()?;
    let mut out = Configured::default();
    settings.as_object()?.iter().for_each(|(name, value)| out.take(name, value));
    out.user_file().ok()
}

/// Seconds, whole where they are whole.
fn seconds(milliseconds: &Value) -> Value {
    match milliseconds.as_u64() {
        Some(number) if number % 1000 == 0 => json!(number / 1000),
        Some(number) => json!(number as f64 / 1000.0),
        None => milliseconds.clone(),
    }
}

/// Neutral kinds of an ending that is no answer; more than one where the neutral words draw no such line.
pub(crate) fn error_kinds(reason: StopReason) -> &'static [&'static str] {
    match reason {
        StopReason::Answer | StopReason::Cancelled => &[],
        StopReason::Interrupted => &["stream_incomplete"],
        StopReason::Stalled => &["idle_timeout"],
        StopReason::Guardrail => &["guardrail"],
        StopReason::Malformed | StopReason::Refused | StopReason::Filtered => &["provider_error"],
        StopReason::Empty => &["provider_error", "stream_incomplete"],
        StopReason::Limit(limit) => match limit {
            Limit::OutputTokens => &["output_truncated"],
            Limit::Context => &["context_overflow"],
            // The bounds of a turn; askls tells circles from length.
            Limit::Steps
            | Limit::TurnTokens
            | Limit::ToolCalls
            | Limit::Time
            | Limit::Cost
            | Limit::RepeatedCall
            | Limit::ToolErrors
            | Limit::MalformedCalls
            | Limit::UnknownTool => &["max_steps"],
        },
        StopReason::ProviderError(fault) => match fault {
            Fault::Auth => &["auth"],
            Fault::RateLimited => &["rate_limited"],
            Fault::Overloaded => &["overloaded"],
            Fault::Quota => &["quota_exceeded"],
            Fault::Network => &["network"],
            Fault::Tls => &["tls"],
            Fault::Rejected | Fault::Failed => &["provider_error"],
            Fault::Settings => &["bad_config"],
        },
    }
}

/// The same from the words that a result over LSP carries.
pub(crate) fn stop_reason(reason: &str, limit: Option<&str>, fault: Option<&str>) -> Option<StopReason> {
    let limits = [
        Limit::Steps,
        Limit::TurnTokens,
        Limit::ToolCalls,
        Limit::Time,
        Limit::Cost,
        Limit::OutputTokens,
        Limit::Context,
        Limit::RepeatedCall,
        Limit::ToolErrors,
        Limit::MalformedCalls,
        Limit::UnknownTool,
    ];
    let faults = [
        Fault::Auth,
        Fault::RateLimited,
        Fault::Overloaded,
        Fault::Quota,
        Fault::Network,
        Fault::Tls,
        Fault::Rejected,
        Fault::Failed,
        Fault::Settings,
    ];
    let plain = [
        StopReason::Answer,
        StopReason::Interrupted,
        StopReason::Stalled,
        StopReason::Malformed,
        StopReason::Refused,
        StopReason::Filtered,
        StopReason::Cancelled,
        StopReason::Empty,
        StopReason::Guardrail,
    ];
    let limits = limits.into_iter().filter(|known| Some(known.as_str()) == limit).map(StopReason::Limit);
    let faults =
        faults.into_iter().filter(|known| Some(known.as_str()) == fault).map(StopReason::ProviderError);
    plain.into_iter().chain(limits).chain(faults).find(|known| known.as_str() == reason)
}

/// The project's own settings file, relative to its root.
pub(crate) fn project_file() -> String {
    let path = askls::config::project_file(Path::new(""));
    path.to_str().unwrap_or_default().to_owned()
}
