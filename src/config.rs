//! Settings: one schema under the same names in every place, and where each value came from.
//!
//! Layers, each over the one before: defaults, the user's file, the project's files (which may only narrow), the
//! environment, the editor or the command line. Nothing here fails: what cannot be used becomes a [`Warning`], and
//! everything else works, except that no server is chosen while a setting that decides about it cannot be used. This is the only module that reads the environment.

mod advice;
mod entry;
pub mod environment;
pub mod key;
mod load;
mod misplaced;
mod project;
pub mod report;
pub mod schema;
mod unusable;
mod written;

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde_json::{Map, Value};

use crate::{
    agent::{ApprovalPolicy, FirstTool, Limits, RetryPolicy},
    model::{
        Tunings,
        http::{Certificates, ProxyChoice, Route},
        select::{Choice, KeySource, LocalServer, ServiceVariables},
    },
    tools::ToolSettings,
};

pub use environment::Environment;
pub use schema::{Background, Edits, ShowAnswer};

use schema::{Notation, Values};
use unusable::Unusable;

/// Every setting as it holds now. Cheap to clone; never changed in place: another layer makes another `Settings`.
#[derive(Clone)]
pub struct Settings {
    /// Only what some layer set, each value valid.
    set: BTreeMap<&'static str, (Value, Origin)>,
    /// The same, typed.
    values: Values,
    environment: Arc<Environment>,
    files: Vec<SettingsFile>,
    /// What was meant to decide where data goes, in the order of the layers.
    unusable: Vec<Unusable>,
}

/// Settings, and what of their sources could not be used.
#[derive(Clone, Debug)]
pub struct Loaded {
    pub settings: Settings,
    /// For the face to show, in the order of the layers.
    pub warnings: Vec<Warning>,
}

/// Something in the settings that was not used, for people: where it stands, what is wrong, what to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Warning {
    /// `path:line:column`, the name of a variable, or `editor settings`.
    pub place: String,
    pub message: String,
}

/// The layer that a value came from, the weakest first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    Default,
    UserFile(PathBuf),
    ProjectFile(PathBuf),
    /// The variable's name.
    Environment(&'static str),
    Editor,
    CommandLine,
}

/// A place where a settings file is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsFile {
    pub path: PathBuf,
    pub exists: bool,
}

/// One line of a list of all settings, fit to be shown: no key, no credentials of a URL, no arguments of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    pub name: &'static str,
    pub value: String,
    pub origin: Origin,
}

impl Loaded {
    /// The warnings that an ask does not end with as its error.
    pub fn warnings_beside_error(&self) -> impl Iterator<Item = &Warning> {
        let settings = &self.settings;
        let is_offline = settings.model_choice().is_offline();
        let of_way = || unusable::of_way(settings).filter(|_| !is_offline);
        let error = unusable::of_bounds(settings).or_else(of_way).map(Unusable::warning);
        self.warnings.iter().filter(move |warning| Some(*warning) != error)
    }
}

impl Settings {
    /// Reads the user's file, the file of each root and the environment. A file that is not there is no warning.
    pub fn load(environment: &Environment, roots: &[PathBuf]) -> Loaded {
        load::load(environment, roots)
    }

    /// These settings under those of the editor: `initializationOptions`, or the section `askls` of
    /// `workspace/didChangeConfiguration`; both `{"askls": {…}}` and its inner object are understood. `null` for a
    /// value, or for all, sets nothing.
    #[must_use]
    pub fn with_editor(&self, value: &Value) -> Loaded {
        load::with_editor(self, value)
    }

    /// These settings under those of the command line, by the settings' names.
    #[must_use]
    pub fn with_command_line(&self, values: &Map<String, Value>) -> Loaded {
        load::with_command_line(self, values)
    }

    pub fn limits(&self) -> Limits {
        self.limits_for("")
    }

    /// The limits of a turn with that model.
    pub fn limits_for(&self, model: &str) -> Limits {
        let defaults = Limits::default();
        Limits {
            max_steps: self.values.max_steps.map_or(defaults.max_steps, |steps| steps.0),
            max_turn_tokens: self.values.max_turn_tokens.map(|tokens| tokens.0),
            max_tool_calls: self.values.max_tool_calls.map(|calls| calls.0),
            turn_timeout: self.values.turn_timeout.map(schema::Seconds::duration),
            max_cost: self.values.max_cost.map(|dollars| dollars.0),
            on_limit: self.values.on_limit.unwrap_or(defaults.on_limit),
            unknown_tools: self.values.unknown_tools.unwrap_or_default(),
            repeated_calls: self.values.repeated_calls.unwrap_or_default(),
            context_tokens: self.tunings().of(model).context_tokens.map(|tokens| tokens.0),
        }
    }

    pub fn policy(&self) -> ApprovalPolicy {
        ApprovalPolicy { approvals: self.values.approvals.unwrap_or_default() }
    }

    pub fn retries(&self) -> RetryPolicy {
        let defaults = RetryPolicy::default();
        let first_wait = self.values.retry_wait.map_or(defaults.first_wait, schema::Seconds::duration);
        RetryPolicy {
            max_attempts: self.values.max_attempts.map_or(defaults.max_attempts, |attempts| attempts.0),
            first_wait,
            longest_wait: defaults.longest_wait.max(first_wait),
            longest_server_wait: self
                .values
                .max_retry_wait
                .map_or(defaults.longest_server_wait, schema::Seconds::duration),
        }
    }

    /// Whether turns begin with a call.
    pub fn first_tool(&self) -> FirstTool {
        self.values.tool_choice.clone().map(|choice| choice.0).unwrap_or_default()
    }

    pub fn tools(&self) -> ToolSettings {
        ToolSettings {
            shell: self.values.shell.as_ref().map(|shell| shell.0.clone()),
            command_timeout: self.values.command_timeout.map(schema::Seconds::duration),
            hidden_variable: self.values.api_key_env.clone(),
        }
    }

    /// What a model is chosen by. Holds keys, so it is not shown; nothing is asked or run yet.
    pub fn model_choice(&self) -> Choice {
        let (route, unreadable) = self.route();
        let service = |key, base_url| ServiceVariables {
            key: self.environment.secret(key),
            base_url: self.environment.text(base_url).map(str::to_owned),
        };
        Choice {
            model: self.values.model.clone(),
            base_url: self.values.base_url.clone(),
            wire: self.values.wire,
            unusable: unusable::of_way(self).map(|fault| fault.reason()).or(unreadable),
            unbounded: unusable::of_bounds(self).map(|fault| fault.reason()),
            key: self.explicit_key(),
            openai: service("OPENAI_API_KEY", "OPENAI_BASE_URL"),
            anthropic: service("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
            local: self.local_servers(),
            route,
            connect_timeout: self.values.connect_timeout.map(schema::Seconds::duration),
            idle_timeout: self.values.idle_timeout.map(schema::Seconds::duration),
            reply_timeout: self.values.reply_timeout.map(schema::Seconds::duration),
            tunings: self.tunings(),
        }
    }

    /// The way to whichever server is chosen, and why it cannot be gone.
    fn route(&self) -> (Route, Option<String>) {
        let certificates = self.values.ca_file.as_ref().map(|file| {
            let path = project::expand(&file.0, &self.environment);
            let source = path.display().to_string();
            match load::read_bytes(&path) {
                Ok(pem) => Ok(Certificates { source, pem: pem.into() }),
                Err(error) => {
                    let origin = self.origin("ca_file");
                    Err(format!("{origin}: ca_file {source} cannot be read: {error}"))
                }
            }
        });
        let (certificates, unreadable) = match certificates.transpose() {
            Ok(certificates) => (certificates, None),
            Err(reason) => (None, Some(reason)),
        };
        let values = &self.values;
        let route = Route {
            key_header: values.auth_header.as_ref().map(|header| header.0.clone()),
            headers: values
                .headers
                .iter()
                .flatten()
                .map(|(name, value)| (name.0.clone(), value.0.clone()))
                .collect(),
            query: values
                .query
                .iter()
                .flatten()
                .map(|(name, value)| (name.clone(), value.0.clone()))
                .collect(),
            proxy: match values.proxy.as_ref().map(schema::ProxyText::address) {
                None => ProxyChoice::System,
                Some(None) => ProxyChoice::None,
                Some(Some(address)) => ProxyChoice::Url(address.clone()),
            },
            certificates,
        };
        (route, unreadable)
    }

    fn tunings(&self) -> Tunings {
        let models = self.values.models.iter().flatten();
        Tunings {
            general: self.values.tuning.clone(),
            models: models.map(|(name, tuning)| (name.clone(), tuning.clone())).collect(),
        }
    }

    /// Whether edits are offered or applied at once.
    pub fn edits(&self) -> Edits {
        self.values.edits.unwrap_or_default()
    }

    /// How long a question to the user stays open before it counts as a no.
    pub fn approval_timeout(&self) -> Duration {
        self.values.approval_timeout.map_or(schema::DEFAULT_APPROVAL_TIMEOUT, schema::Seconds::duration)
    }

    /// Whether `askls.ask` is answered at once, for clients that give up on a command.
    pub fn background(&self) -> Background {
        self.values.background.unwrap_or_default()
    }

    /// How the editor shows an answer.
    pub fn show_answer(&self) -> ShowAnswer {
        self.values.show_answer.unwrap_or_default()
    }

    /// Whether there are code lenses above proposed edits.
    pub fn edit_lenses(&self) -> bool {
        self.values.edit_lenses.unwrap_or(true)
    }

    /// Whether hints show where edits are proposed.
    pub fn edit_hints(&self) -> bool {
        self.values.edit_hints.unwrap_or(true)
    }

    /// Every setting with its value and its origin, in the order of the schema.
    pub fn shown(&self) -> Vec<Shown> {
        schema::KEYS
            .iter()
            .map(|key| match self.set.get(key.name) {
                Some((value, origin)) => {
                    Shown { name: key.name, value: key.show(value), origin: origin.clone() }
                }
                None => Shown { name: key.name, value: key.default.to_owned(), origin: Origin::Default },
            })
            .collect()
    }

    /// Where settings files were looked for.
    pub fn files(&self) -> &[SettingsFile] {
        &self.files
    }

    /// The place for files that may be deleted at any time, as answers that an editor opens; not created here.
    pub fn cache_folder(&self) -> Option<PathBuf> {
        self.environment.cache_folder()
    }

    /// The place for the checkpoints of all workspaces; `None` when they are switched off, or when the environment names no
    /// folder for them. Not created here.
    pub fn checkpoints_folder(&self) -> Option<PathBuf> {
        let folder = self.environment.state_folder()?.join("checkpoints");
        self.values.checkpoints.unwrap_or(true).then_some(folder)
    }

    fn origin(&self, name: &str) -> Origin {
        self.set.get(name).map_or(Origin::Default, |(_, origin)| origin.clone())
    }

    /// The key that was set for askls itself. Of its three spellings the one of the strongest layer counts, and in one
    /// layer the command before the variable.
    fn explicit_key(&self) -> Option<KeySource> {
        let spellings = [
            (self.origin("api_key_command"), self.values.api_key_command.is_some()),
            (self.origin("api_key_env"), self.values.api_key_env.is_some()),
            (Origin::Environment("ASKLS_API_KEY"), self.environment.text("ASKLS_API_KEY").is_some()),
        ];
        let strongest =
            spellings.iter().filter(|(_, is_set)| *is_set).map(|(origin, _)| origin.rank()).max()?;
        let is_strongest = |origin: Origin, is_set: bool| is_set && origin.rank() == strongest;
        if is_strongest(self.origin("api_key_command"), self.values.api_key_command.is_some()) {
            let command = self.values.api_key_command.as_ref()?;
            return Some(KeySource::Command(Arc::new(key::KeyCommand::new(command.clone()))));
        }
        if is_strongest(self.origin("api_key_env"), self.values.api_key_env.is_some()) {
            let variable = self.values.api_key_env.clone()?;
            return Some(match self.environment.secret(&variable) {
                Some(key) => KeySource::Value { name: variable, key },
                None => KeySource::Unset { variable },
            });
        }
        let key = self.environment.secret("ASKLS_API_KEY")?;
        Some(KeySource::Value { name: "ASKLS_API_KEY".to_owned(), key })
    }

    fn local_servers(&self) -> Vec<LocalServer> {
        let text = |name| self.environment.text(name);
        vec![
            LocalServer::ollama(text("OLLAMA_HOST")),
            LocalServer::llama_cpp(text("LLAMA_ARG_HOST"), text("LLAMA_ARG_PORT")),
        ]
    }
}

impl Origin {
    /// How a value of this layer is written.
    fn notation(&self) -> Notation {
        if *self == Self::Editor { Notation::Json } else { Notation::Toml }
    }

    fn is_file(&self) -> bool {
        matches!(self, Self::UserFile(_) | Self::ProjectFile(_))
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Default => 0,
            Self::UserFile(_) => 1,
            Self::ProjectFile(_) => 2,
            Self::Environment(_) => 3,
            Self::Editor => 4,
            Self::CommandLine => 5,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::UserFile(path) | Self::ProjectFile(path) => path.display().fmt(f),
            Self::Environment(name) => f.write_str(name),
            Self::Editor => f.write_str("editor"),
            Self::CommandLine => f.write_str("command line"),
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// Shows what `askls status` shows, so that no credential can reach a log.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.shown().into_iter().map(|shown| (shown.name, shown.value))).finish()
    }
}

/// The project's settings file below a root.
pub fn project_file(root: &Path) -> PathBuf {
    root.join(".askls").join("config.toml")
}

#[cfg(test)]
mod tests;
