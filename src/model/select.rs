//! Which model answers: what was set, else OpenAI or Anthropic where their key is, else a local server that answers,
//! else the model inside askls. Nothing goes to the network before [`choose`] is called, and then only what the choice
//! needs.

mod key_source;
mod late_key;
mod local;
mod place;

use std::{sync::Arc, time::Duration};

use futures::future::join_all;

use crate::protocol::Wire;

use super::{
    ErrorKind, ModelClient, ModelError, Tunings, catalog,
    chat::ChatClient,
    guided,
    http::{self, Endpoint, Probed, Route},
    messages::MessagesClient,
    offline::OfflineModel,
    responses::ResponsesClient,
};

pub use key_source::{KeyCommand, KeySource, ServiceVariables};
pub use local::LocalServer;

use late_key::LateKey;
use place::{Place, Service};

/// The name of the model inside askls, as a setting.
pub const OFFLINE: &str = "offline";

/// How long a local server may take to tell its models: long for a loopback connection, short for someone who waits.
const LOCAL_PROBE_TIMEOUT: Duration = Duration::from_millis(500);

/// How long a server that was set may take to tell its models; it may be far away.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// Local servers are silent while they read a long prompt.
pub const LOCAL_IDLE_TIMEOUT: Duration = Duration::from_secs(300);

/// Most names of models in a message.
const MOST_NAMES: usize = 8;

/// Everything that the choice depends on, from the settings.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// Free text; [`OFFLINE`] is the model inside askls, whatever server is set.
    pub model: Option<String>,
    pub base_url: Option<String>,
    pub wire: Option<Wire>,
    /// Why no server may be chosen: something that decides which one is set and cannot be used. The model inside askls
    /// can still be asked for by its name.
    pub unusable: Option<String>,
    /// Why no model may be asked, the one inside askls included: a bound of the turn that cannot be used.
    pub unbounded: Option<String>,
    /// The key that was set for askls.
    pub key: Option<KeySource>,
    /// A service's own variables: its key goes to the service and to the base URL beside it, nowhere else.
    pub openai: ServiceVariables,
    pub anthropic: ServiceVariables,
    /// Asked in this order when nothing is set.
    pub local: Vec<LocalServer>,
    /// How requests travel to whichever server is chosen.
    pub route: Route,
    /// `None`: the default of the wires.
    pub connect_timeout: Option<Duration>,
    /// `None`: the default of the wires, longer for a server on this machine.
    pub idle_timeout: Option<Duration>,
    /// `None`: a reply may take as long as it takes.
    pub reply_timeout: Option<Duration>,
    /// How models are asked.
    pub tunings: Tunings,
}

/// The model that was chosen, and why.
#[derive(Clone)]
pub struct Chosen {
    pub client: Arc<dyn ModelClient>,
    /// For people: what led to the choice; never a key.
    pub why: String,
}

/// Chooses a model. Asks servers for their models only where the choice depends on it, with a short time-out; runs
/// no key command, since the client does that when a request needs the key.
///
/// # Errors
/// [`ErrorKind::Settings`] when what is set cannot work, with what to change.
pub async fn choose(choice: &Choice) -> Result<Chosen, ModelError> {
    if let Some(reason) = &choice.unbounded {
        return Err(settings_error(reason));
    }
    if choice.is_offline() {
        let why = "the setting model says so".to_owned();
        return Ok(Chosen { client: Arc::new(OfflineModel::chosen()), why });
    }
    if let Some(reason) = &choice.unusable {
        return Err(settings_error(reason));
    }
    if let Some(base_url) = &choice.base_url {
        return choice.server("base_url", base_url, "base_url is set").await;
    }
    if let Some(key @ (KeySource::Value { .. } | KeySource::Command(_))) = &choice.key {
        return Err(settings_error(&format!(
            "{key} is set, but not the server that it is for: set base_url (--base-url, ASKLS_BASE_URL), which is \
             https://api.openai.com/v1 for OpenAI"
        )));
    }
    for service in Service::ALL.into_iter().filter(|service| service.speaks(choice.wire)) {
        let variables = choice.variables(service);
        if let Some(base_url) = &variables.base_url {
            let setting = service.base_url_variable();
            return choice.server(setting, base_url, &format!("{setting} is set")).await;
        }
        let reason = match &choice.key {
            Some(key) => format!("{key} is set, and base_url is not"),
            None if variables.key.is_some() => format!("{} is set", service.key_variable()),
            None => continue,
        };
        return choice.server("base_url", service.base_url(), &reason).await;
    }
    choice.local_server().await
}

impl Choice {
    /// Whether the model inside askls is asked for by its name: then nothing goes to the network, whatever else is set.
    pub fn is_offline(&self) -> bool {
        self.model.as_deref().is_some_and(|model| model.trim().eq_ignore_ascii_case(OFFLINE))
    }

    /// The model that answers where none is set, as far as that is known without asking a server for its models.
    pub fn default_model(&self) -> Option<&'static str> {
        let of_service = |service: Service| {
            let variables = self.variables(service);
            let has_key = self.key.is_some() || variables.key.is_some();
            variables.base_url.as_deref().or_else(|| has_key.then(|| service.base_url()))
        };
        let services = || Service::ALL.into_iter().filter(|service| service.speaks(self.wire));
        let base_url = self.base_url.as_deref().or_else(|| services().find_map(of_service))?;
        Some(Place::of(base_url).service()?.default_model())
    }

    /// The server at `base_url`, which comes from `setting` for the given reason.
    async fn server(
        &self,
        setting: &'static str,
        base_url: &str,
        reason: &str,
    ) -> Result<Chosen, ModelError> {
        let place = Place::of(base_url);
        let key = self.key_for(base_url, place)?;
        let wire = self.wire_for(setting, base_url, place);
        let mut endpoint = self.endpoint(setting, base_url, place)?;
        let why = match (&self.model, place.service()) {
            (Some(model), _) => {
                endpoint.model.clone_from(model);
                format!("{reason}, and so is the model")
            }
            (None, Some(service)) => {
                service.default_model().clone_into(&mut endpoint.model);
                format!("{reason}; no model is set, so it is askls's default for {}", service.name())
            }
            (None, None) => {
                let probed = listed(&endpoint, wire, key.as_ref()).await?;
                let (model, count) = first_model(&probed).ok_or_else(|| {
                    settings_error(&format!(
                        "no model is set, and {} has none that can answer (it has {}): load one there, or set model \
                         (--model, ASKLS_MODEL)",
                        endpoint.server(),
                        names(&probed.models)
                    ))
                })?;
                endpoint.take_listed(model, &probed);
                format!("{reason}; no model is set, so it is {count} of the server")
            }
        };
        Ok(Chosen { client: self.client(endpoint, wire, key, place), why })
    }

    async fn local_server(&self) -> Result<Chosen, ModelError> {
        let probes = self.local.iter().map(|server| http::probe(&server.base_url, LOCAL_PROBE_TIMEOUT));
        let answers: Vec<_> = self
            .local
            .iter()
            .zip(join_all(probes).await)
            .filter_map(|(server, probed)| Some((server, probed?)))
            .collect();
        for (server, probed) in &answers {
            let found = match &self.model {
                Some(model) => has_model(&probed.models, model)
                    .map(|name| (name, format!("the model is set, and {} has it", server.name))),
                None => first_model(probed).map(|(name, count)| {
                    (
                        name,
                        format!("no model is configured; {} answers, and it is {count} there", server.name),
                    )
                }),
            };
            if let Some((model, why)) = found {
                let mut endpoint = self.endpoint("base_url", &server.base_url, Place::Local)?;
                endpoint.take_listed(model, probed);
                let wire = self.wire.unwrap_or(Wire::Chat);
                let client = self.client(endpoint, wire, None, Place::Local);
                return Ok(Chosen { client, why });
            }
        }
        match &self.model {
            None => {
                let asked: Vec<_> = self
                    .local
                    .iter()
                    .map(|server| format!("{} at {}", server.name, shown(&server.base_url)))
                    .collect();
                Ok(offline(format!(
                    "no model is configured, neither OPENAI_API_KEY nor ANTHROPIC_API_KEY is set, and no local server answers \
                     with a model (asked: {})",
                    asked.join(", ")
                )))
            }
            Some(model) => {
                let others: Vec<_> = answers
                    .iter()
                    .map(|(server, probed)| format!("; {} has {}", server.name, names(&probed.models)))
                    .collect();
                Err(settings_error(&format!(
                    "no server is known that has the model {model}: set base_url (--base-url, ASKLS_BASE_URL) to the \
                     address of the one that has it, or OPENAI_API_KEY or ANTHROPIC_API_KEY if it is one of theirs{}",
                    others.concat()
                )))
            }
        }
    }

    fn variables(&self, service: Service) -> &ServiceVariables {
        match service {
            Service::OpenAi => &self.openai,
            Service::Anthropic => &self.anthropic,
        }
    }

    /// The key that may go to `base_url`: the one that was set for askls, or a service's own for that service and for the
    /// base URL of its own variable. A key that was made for one server is never sent to another.
    fn key_for(&self, base_url: &str, place: Place) -> Result<Option<KeySource>, ModelError> {
        match &self.key {
            Some(KeySource::Unset { variable }) => {
                return Err(settings_error(&format!(
                    "api_key_env names the variable {variable}, which is not set: set it, or change api_key_env"
                )));
            }
            Some(key) => return Ok(Some(key.clone())),
            None => {}
        }
        let own = Service::ALL.into_iter().find_map(|service| {
            let variables = self.variables(service);
            let is_its = place.service() == Some(service) || variables.base_url.as_deref() == Some(base_url);
            let key = variables.key.clone().filter(|_| is_its)?;
            Some(KeySource::Value { name: service.key_variable().to_owned(), key })
        });
        match (own, place.service()) {
            (None, Some(service)) => Err(settings_error(&format!(
                "{} needs a key: set {} or ASKLS_API_KEY, or name where it is in api_key_env or api_key_command",
                service.name(),
                service.key_variable()
            ))),
            (own, _) => Ok(own),
        }
    }

    fn wire_for(&self, setting: &str, base_url: &str, place: Place) -> Wire {
        let of_service = Service::ALL.into_iter().find(|service| service.base_url_variable() == setting);
        self.wire.unwrap_or_else(|| match (of_service, place) {
            (Some(service), Place::Elsewhere | Place::Local) => {
                http::address::wire_of(base_url).unwrap_or(service.wire_elsewhere())
            }
            _ => place.wire(base_url),
        })
    }

    /// Without a model and a key.
    fn endpoint(&self, setting: &'static str, base_url: &str, place: Place) -> Result<Endpoint, ModelError> {
        let mut endpoint = Endpoint::of_setting(setting, base_url, "")?;
        endpoint.route = self.route.clone();
        if endpoint.route.key_header.is_none() {
            let wire = self.wire_for(setting, base_url, place);
            endpoint.route.key_header = place.key_header(wire).map(str::to_owned);
        }
        if let Some(timeout) = self.connect_timeout {
            endpoint.connect_timeout = timeout;
        }
        endpoint.reply_timeout = self.reply_timeout;
        match (self.idle_timeout, place) {
            (Some(timeout), _) => endpoint.idle_timeout = timeout,
            (None, Place::Local) => endpoint.idle_timeout = LOCAL_IDLE_TIMEOUT,
            (None, _) => {}
        }
        Ok(endpoint)
    }

    fn client(
        &self,
        mut endpoint: Endpoint,
        wire: Wire,
        key: Option<KeySource>,
        place: Place,
    ) -> Arc<dyn ModelClient> {
        let is_local = place == Place::Local;
        let tuning = self.tunings.of(&endpoint.model);
        endpoint.options = tuning.options(is_local);
        endpoint.context_window = tuning.window.map(|tokens| tokens.0).or(endpoint.context_window);
        // A server on this machine costs nothing, unless the user says that it does.
        let listed = if is_local { None } else { catalog::price(&endpoint.model) };
        endpoint.price = tuning.price.or(listed);
        match key {
            Some(KeySource::Command(command)) => {
                endpoint.key_source = Some(http::API_KEY_COMMAND.to_owned());
                Arc::new(LateKey::new(endpoint, wire, command))
            }
            key => client(with_value(endpoint, key.as_ref()), wire),
        }
    }
}

/// What a server lists, asked with its key. A key command runs only when the server wants a key for its list.
async fn listed(endpoint: &Endpoint, wire: Wire, key: Option<&KeySource>) -> Result<Probed, ModelError> {
    let mut endpoint = with_value(endpoint.clone(), key);
    let probed = http::models(&endpoint, wire, PROBE_TIMEOUT).await;
    let (Err(ModelError { kind: ErrorKind::Auth, .. }), Some(KeySource::Command(command))) = (&probed, key)
    else {
        return probed;
    };
    endpoint.key =
        Some(command.key().await.map_err(|message| ModelError::new(ErrorKind::Settings, message))?);
    endpoint.key_source = Some(http::API_KEY_COMMAND.to_owned());
    http::models(&endpoint, wire, PROBE_TIMEOUT).await
}

/// The endpoint with its key, where that is known already.
fn with_value(mut endpoint: Endpoint, key: Option<&KeySource>) -> Endpoint {
    if let Some(KeySource::Value { name, key }) = key {
        endpoint.key = Some(key.clone());
        endpoint.key_source = Some(format!("the environment variable {name}"));
    }
    endpoint
}

fn client(endpoint: Endpoint, wire: Wire) -> Arc<dyn ModelClient> {
    let client: Arc<dyn ModelClient> = match wire {
        Wire::Responses => Arc::new(ResponsesClient::new(endpoint.clone())),
        Wire::Chat => Arc::new(ChatClient::new(endpoint.clone())),
        Wire::Messages => Arc::new(MessagesClient::new(endpoint.clone())),
    };
    guided::wrap(client, &endpoint)
}

fn offline(why: String) -> Chosen {
    Chosen { client: Arc::new(OfflineModel::new()), why }
}

/// The first model that can answer, and how to call it in a sentence. Servers list models that only embed as well.
fn first_model(probed: &Probed) -> Option<(String, &'static str)> {
    let mut chatting = probed.models.iter().filter(|name| !name.to_ascii_lowercase().contains("embed"));
    let first = chatting.next()?.clone();
    let is_only = chatting.next().is_none() && !probed.leaves_some_out;
    Some((first, if is_only { "the only model" } else { "the first model" }))
}

/// The server's own name of a model.
fn has_model(models: &[String], wanted: &str) -> Option<String> {
    models.iter().find(|name| catalog::is_called(name, wanted)).cloned()
}

fn names(models: &[String]) -> String {
    if models.is_empty() {
        return "no model".to_owned();
    }
    let shown: Vec<_> = models.iter().take(MOST_NAMES).map(String::as_str).collect();
    let more = models.len() - shown.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

/// A base URL as people may see it.
fn shown(base_url: &str) -> String {
    Endpoint::new(base_url, "").map(|endpoint| endpoint.server()).unwrap_or_default()
}

fn settings_error(message: &str) -> ModelError {
    ModelError::new(ErrorKind::Settings, message.to_owned())
}

#[cfg(test)]
mod tests;
