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

/// Characters of the name of a model; the longest known ones are the paths of files.
const MAX_NAME: usize = 512;

/// A server that told its models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probed {
    /// The names of its models, in the server's order.
    pub models: Vec<String>,
    /// The server listed more, which cannot be the names of models.
    pub leaves_some_out: bool,
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
    let name = |model: &Value| model.get("id")?.as_str().map(str::to_owned);
    let is_listed = |model: &&Value| name(model).is_some_and(|name| is_name(endpoint, &name));
    let no_list = || failure::of_no_list(endpoint, &address, &String::from_utf8_lossy(&body));
    let list: ModelList =
        serde_json::from_str(without_mark(&String::from_utf8_lossy(&body))).map_err(|_| no_list())?;
    // A member of a strange form, or that no model is called by, costs only itself.
    let listed: Vec<_> = list.data.iter().filter(is_listed).collect();
    if listed.is_empty() && !list.data.is_empty() {
        return Err(no_list());
    }
    let window = listed.first().and_then(|model| model.pointer("/meta/n_ctx")?.as_u64());
    Ok(Probed {
        context_window: window.filter(|window| *window > 0),
        leaves_some_out: listed.len() < list.data.len(),
        models: listed.iter().filter_map(|model| name(model)).collect(),
    })
}

/// Whether what a server lists can be the name of a model: it is sent back, and shown wherever the model is named.
fn is_name(endpoint: &Endpoint, name: &str) -> bool {
    !name.trim().is_empty()
        && name.chars().nth(MAX_NAME).is_none()
        && !name.contains(char::is_control)
        && !failure::holds_key(endpoint, name)
}

#[derive(Deserialize)]
struct ModelList {
    data: Vec<Value>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_model_is_called_by_is_no_name() {
        let mut endpoint = Endpoint::new("http://server.test/v1", "").expect("a good base URL");
        endpoint.key = Some("mykeyabcdef1234567890".into());
        // Nearly all that is said with a request may stand in the name of a model too.
        endpoint.route.headers = vec![("x-portkey-provider".to_owned(), "deepseek".into())];
        endpoint.route.query = vec![("deployment".to_owned(), "gpt-4o-mini-2024-07-18".into())];
        let names = [
            "gpt-5",
            "/models/Qwen 3 (8B).gguf",
            "hf.co/a/b:Q4_K_M",
            "deepseek-chat",
            "gpt-4o-mini-2024-07-18",
        ];
        for name in names {
            assert!(is_name(&endpoint, name), "{name}");
        }
        let long = "z".repeat(MAX_NAME + 1);
        let keys = ["mykeyabcdef1234567890", "for MYKEYABCDEF1234567890", "bXlrZXlhYmNkZWYxMjM0NTY3ODkw"];
        for other in ["", "  ", "a\u{1b}[2J", "a\nwarning: b", &long].into_iter().chain(keys) {
            assert!(!is_name(&endpoint, other), "{other}");
        }
        // What people set where a server wants no key.
        for placeholder in ["mistral", "ollama", "sk-local", "lm-studio", "vllm-token"] {
            endpoint.key = Some(placeholder.into());
            assert!(is_name(&endpoint, &format!("{placeholder}-community/qwen3")), "{placeholder}");
        }
    }
}
