//! Model servers on this machine, where their own settings say that they are.

/// A model server that needs no key, most often on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalServer {
    pub name: &'static str,
    pub base_url: String,
}

impl LocalServer {
    /// `host` in any spelling that `OLLAMA_HOST` has: `host`, `host:port`, `:port`, `http://host:port/path`.
    pub fn ollama(host: Option<&str>) -> Self {
        const PORT: &str = "11434";
        let host = host.unwrap_or_default().trim().trim_end_matches('/');
        let (scheme, rest) = host.split_once("://").unwrap_or(("http", host));
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (name, port) = match authority.rsplit_once(':') {
            Some((name, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => {
                (name, port)
            }
            _ if host.contains("://") && scheme == "https" => (authority, "443"),
            _ => (authority, PORT),
        };
        Self { name: "Ollama", base_url: format!("{scheme}://{}:{port}{path}/v1", reachable(name)) }
    }

    /// `host` and `port` as llama.cpp's server takes them from `LLAMA_ARG_HOST` and `LLAMA_ARG_PORT`.
    pub fn llama_cpp(host: Option<&str>, port: Option<&str>) -> Self {
        let base_url =
            format!("http://{}:{}/v1", reachable(host.unwrap_or_default()), port.unwrap_or("8080"));
        Self { name: "llama.cpp", base_url }
    }
}

/// The name under which a client reaches a server that listens at `host`: the address that means "all addresses" to a
/// server means this machine.
fn reachable(host: &str) -> &str {
    match host {
        "" | "0.0.0.0" | "[::]" | "::" => "127.0.0.1",
        host => host,
    }
}
