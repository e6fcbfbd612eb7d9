//! Which models a server has (`GET <base_url>/models`).

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use tokio::time::timeout;

use super::{
    Endpoint, ModelError,
    body::{read, refusal, without_mark},
    failure, route, shown,
};
use crate::protocol::Wire;

/// Bytes that are read of a list of models; the longest known list (300 models) has 0.5 MB.
const MAX_LIST_BYTES: usize = 4 * 1024 * 1024;

/// A server that told its models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probed {
    /// The names of its models, in the server's order.
    pub models: Vec<String>,
    /// The window in tokens with which the first model runs, where the server tells it (llama.cpp does).
    pub context_window: Option<u64>,
}

/// Asks a server that nobody set, and that therefore gets no key, for its models, within `within` for all of it. `None`
/// when nothing answers there or what answers is no model server; never an error, since looking is all this does.
pub async fn probe(base_url: &str, within: Duration) -> Option<Probed> {
    let endpoint = Endpoint::new(base_url, "").ok()?;
    models(&endpoint, Wire::Chat, within).await.ok()
}

/// Asks a server that was set, and is spoken to by `wire`, for its models, with its key, within `within` for all of it.
///
/// # Errors
/// What is wrong there, and the setting that mends it.
pub async fn models(endpoint: &Endpoint, wire: Wire, within: Duration) -> Result<Probed, ModelError> {
    match timeout(within, ask(endpoint, wire, within)).await {
        Ok(answer) => answer,
        Err(_) => Err(failure::of_slow_list(endpoint, within)),
    }
}

async fn ask(endpoint: &Endpoint, wire: Wire, within: Duration) -> Result<Probed, ModelError> {
    let url = endpoint.url(&endpoint.path(wire, "models"));
    let address = shown(&url);
    let request = route::line(endpoint, &url)?.client.get(url).headers(route::headers(endpoint, wire)?);
    let response = request.send().await.map_err(|error| failure::of_sending(endpoint, &error))?;
    if !response.status().is_success() {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = refusal(response, within).await;
        let body = String::from_utf8_lossy(&body);
        return Err(failure::of_list_status(endpoint, &address, status, &headers, &body));
    }
    let body = read(response, MAX_LIST_BYTES, within)
        .await
        .map_err(|(_, fault)| fault.into_model_error(endpoint))?;
    let is_listed = |model: &&Value| model.get("id").is_some_and(Value::is_string);
    let no_list = || failure::of_no_list(endpoint, &address, &String::from_utf8_lossy(&body));
    let list: ModelList =
        serde_json::from_str(without_mark(&String::from_utf8_lossy(&body))).map_err(|_| no_list())?;
    // A member of a strange form costs only itself.
    let listed: Vec<_> = list.data.iter().filter(is_listed).collect();
    if listed.is_empty() && !list.data.is_empty() {
        return Err(no_list());
    }
    let window = listed.first().and_then(|model| model.pointer("/meta/n_ctx")?.as_u64());
    let names = listed.iter().filter_map(|model| model.get("id")?.as_str().map(str::to_owned));
    Ok(Probed { context_window: window.filter(|window| *window > 0), models: names.collect() })
}

#[derive(Deserialize)]
struct ModelList {
    data: Vec<Value>,
}
