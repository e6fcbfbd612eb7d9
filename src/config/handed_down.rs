//! What the layers below get of the settings: small structs of what each needs, and nothing to look up.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use secrecy::ExposeSecret as _;
use serde_json::Value;

use super::{
    Origin, Settings, key, load, project, project_file,
    schema::{self, GuardText, Values},
    unusable,
};
use crate::{
    agent::{ApprovalPolicy, FirstTool, Limits, RetryPolicy, Rules},
    model::{
        Tunings, catalog,
        http::{Certificates, ProxyChoice, Route},
        select::{Choice, KeySource, LocalServer, ServiceVariables},
        tuning::Held,
    },
    protocol::ProjectSettings,
    tools::{
        ToolSettings, fetch_url,
        run_command::sandbox::{Sandbox, TEMPORARY_FOLDERS},
    },
    workspace::{Surroundings, keys::Masking, outputs::Outputs},
};

impl Settings {
    pub fn limits(&self) -> Limits {
        self.limits_for("")
    }

    /// The limits of a turn with that model.
    pub fn limits_for(&self, model: &str) -> Limits {
        let defaults = Limits::default();
        let tuning = self.tunings().of(model);
        Limits {
            max_steps: self.values.max_steps.map_or(defaults.max_steps, |steps| steps.0),
            max_turn_tokens: self.values.max_turn_tokens.map(|tokens| tokens.0),
            max_tool_calls: self.values.max_tool_calls.map(|calls| calls.0),
            turn_timeout: self.values.turn_timeout.map(schema::Seconds::duration),
            max_cost: self.values.max_cost.map(|dollars| dollars.0),
            on_limit: self.values.on_limit.unwrap_or(defaults.on_limit),
            unknown_tools: self.values.unknown_tools.unwrap_or_default(),
            repeated_calls: self.values.repeated_calls.unwrap_or_default(),
            context_tokens: tuning.context_tokens.map(|tokens| tokens.0),
            window: tuning.window.map(|tokens| tokens.0),
            project: self.of_project(Some(model)),
        }
    }

    /// What the project's files set, each as `max_steps = 3 of .askls/config.toml`. Where the model that answers is
    /// known, the project's choice of one counts only if it is that.
    fn of_project(&self, model: Option<&str>) -> ProjectSettings {
        let is_chosen =
            |value: &Value, model: &str| value.as_str().is_some_and(|name| catalog::is_called(model, name));
        let holds = |key: &schema::Key, value: &Value| {
            key.name != "model" || model.is_none_or(|model| is_chosen(value, model))
        };
        let set = schema::KEYS.iter().filter_map(|key| Some((key, self.set.get(key.name)?)));
        let set = set.filter(|(key, (value, _))| holds(key, value));
        set.filter_map(|(key, (value, origin))| match origin {
            Origin::ProjectFile(path) => {
                let (value, file) = (key.show(value), self.project_file_in_short(path));
                Some((key.name, format!("{} = {value} of {file}", key.name)))
            }
            Origin::Default
            | Origin::UserFile(_)
            | Origin::Environment(_)
            | Origin::Editor
            | Origin::CommandLine => None,
        })
        .collect()
    }

    /// A project's file as its user knows it: below its folder, which is named where there are several.
    fn project_file_in_short(&self, path: &Path) -> String {
        let below = project_file(Path::new(""));
        let is_only = self.files.iter().filter(|file| file.path.ends_with(&below)).count() <= 1;
        let root = path.ancestors().nth(below.components().count()).and_then(Path::file_name);
        let short = match root.filter(|_| !is_only) {
            Some(root) => Path::new(root).join(below),
            None => below,
        };
        // As it is written on every platform.
        short.display().to_string().replace('\\', "/")
    }

    pub fn policy(&self) -> ApprovalPolicy {
        ApprovalPolicy {
            approvals: self.values.approvals.unwrap_or_default(),
            outside: self.values.outside.unwrap_or_default(),
            rules: Arc::new(self.rules()),
        }
    }

    /// What of this machine no call reaches, wherever it may go.
    pub fn surroundings(&self) -> Surroundings {
        Surroundings::new(self.environment.home(), self.own_folders())
    }

    /// Where askls keeps settings and what it remembers, and the sockets of the user's desktop.
    fn own_folders(&self) -> Vec<PathBuf> {
        let environment = &self.environment;
        let own = [
            environment.user_file().and_then(|file| file.parent().map(Path::to_owned)),
            environment.state_folder(),
            environment.cache_folder(),
            environment.runtime_folder(),
        ];
        own.into_iter().flatten().collect()
    }

    fn rules(&self) -> Rules {
        let guards =
            |rules: &Option<Vec<GuardText>>| rules.iter().flatten().map(|rule| rule.0.clone()).collect();
        Rules {
            allow: self.values.allow.iter().flatten().map(|rule| rule.0.clone()).collect(),
            ask: guards(&self.values.ask),
            deny: guards(&self.values.deny),
        }
    }

    /// Whether keys in the user's texts are taken out before anybody else sees them.
    pub fn masking(&self) -> Masking {
        match self.values.mask_secrets {
            Some(false) => Masking::Off,
            Some(true) | None => Masking::On,
        }
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
            project: self.of_project(None),
            sandbox: self.sandbox(),
            outputs: self.cache_folder().map(|folder| Outputs::new(folder.join("outputs"))),
            fetch: self.fetch(),
        }
    }

    /// How pages of the web are fetched; `None` while that is off.
    fn fetch(&self) -> Option<fetch_url::Settings> {
        if !self.values.fetch.unwrap_or_default() {
            return None;
        }
        // Certificates that cannot be read end the ask before this.
        let (Route { proxy, certificates, .. }, _) = self.route();
        let hosts = self.values.fetch_hosts.iter().flatten().map(|host| host.0.clone()).collect();
        Some(fetch_url::Settings { hosts, proxy, certificates })
    }

    /// What commands are held by; `None` where this process cannot start them so.
    pub fn sandbox(&self) -> Option<Sandbox> {
        let environment = &self.environment;
        Some(Sandbox {
            mode: self.values.sandbox.unwrap_or_default(),
            network: self.values.sandbox_network.unwrap_or_default(),
            writable: self
                .values
                .sandbox_write
                .iter()
                .flatten()
                .map(|folder| project::expand(&folder.0, environment))
                .collect(),
            temporary: TEMPORARY_FOLDERS
                .iter()
                .map(PathBuf::from)
                .chain(environment.temporary_folder())
                .collect(),
            home: environment.home(),
            git_settings: environment.git_settings(),
            private: self.own_folders(),
            launcher: environment.launcher()?.clone(),
        })
    }

    /// What a model is chosen by. Holds keys, so it is not shown; nothing is asked or run yet.
    pub fn model_choice(&self) -> Choice {
        let (route, unreadable) = self.route();
        Choice {
            unusable: unusable::of_way(self).map(|fault| fault.reason()).or(unreadable),
            unbounded: unusable::of_bounds(self).map(|fault| fault.reason()),
            route,
            connect_timeout: self.values.connect_timeout.map(schema::Seconds::duration),
            idle_timeout: self.values.idle_timeout.map(schema::Seconds::duration),
            reply_timeout: self.values.reply_timeout.map(schema::Seconds::duration),
            tunings: self.tunings(),
            ..self.server_choice()
        }
    }

    /// What decides which server is asked, and for which model.
    fn server_choice(&self) -> Choice {
        let service = |key, base_url| ServiceVariables {
            key: self.environment.secret(key),
            base_url: self.environment.text(base_url).map(str::to_owned),
        };
        Choice {
            model: self.values.model.clone(),
            base_url: self.values.base_url.clone(),
            wire: self.values.wire,
            key: self.explicit_key(),
            openai: service("OPENAI_API_KEY", "OPENAI_BASE_URL"),
            anthropic: service("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
            local: self.local_servers(),
            ..Choice::default()
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
        let sent = values.headers.iter().flat_map(BTreeMap::values);
        for secret in sent.chain(values.query.iter().flat_map(BTreeMap::values)) {
            // A key stands behind the name of its kind, as in `Bearer KEY`.
            let words = secret.0.expose_secret().split_whitespace();
            words.for_each(|word| self.environment.known_keys().add(word));
        }
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

    pub(super) fn tunings(&self) -> Tunings {
        Tunings { held: self.held(), ..tunings(&self.values) }
    }

    /// The project's choice of a model, which may have no more than the model whose place it takes. Where a server's list
    /// decides which one that is, it may have no more than any.
    fn held(&self) -> Option<Held> {
        let Origin::ProjectFile(_) = self.origin("model") else { return None };
        let (model, own) = (self.values.model.clone()?, tunings(&self.own.values));
        let instead = self.own.values.model.as_deref().or_else(|| self.server_choice().default_model());
        let mut bound = match instead {
            Some(instead) => own.of(instead),
            None => own.least(),
        };
        // What the user says of the chosen model itself needs no bound.
        if own.of(&model).parallel_tool_calls == Some(true) {
            bound.parallel_tool_calls = None;
        }
        Some(Held { model, bound })
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
            let place = self.origin("api_key_command").to_string();
            return Some(KeySource::Command(Arc::new(key::KeyCommand::new(
                command.clone(),
                place,
                self.environment.known_keys().clone(),
            ))));
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

/// What these settings say about models.
fn tunings(values: &Values) -> Tunings {
    let models = values.models.iter().flatten();
    Tunings {
        general: values.tuning.clone(),
        models: models.map(|(name, tuning)| (name.clone(), tuning.clone())).collect(),
        held: None,
    }
}
