//! How the server is started: a clean environment, the project, the fake model, and what the client says of itself.

use std::{path::PathBuf, process::Command};

use serde_json::{Value, json};

use super::{
    capabilities,
    client::{Client, KEY},
    editor::{Editor, Encoding, Manner},
    model::FakeModel,
    project::Project,
    transport::{Answer, Shared},
};

pub struct Builder {
    project: Project,
    home: PathBuf,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    /// Parameters of `initialize`.
    initialize: Value,
    manner: Manner,
    first_version: i64,
}

impl Builder {
    pub(super) fn new(project: &Project) -> Self {
        let root_uri = project.root_uri();
        Self {
            project: project.clone(),
            home: project.home(),
            arguments: vec!["lsp".to_owned()],
            // Nothing listens there, so that a server on the machine of the test is not asked.
            environment: [("OLLAMA_HOST", "127.0.0.1:9"), ("LLAMA_ARG_PORT", "9")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .to_vec(),
            initialize: json!({
                "processId": std::process::id(),
                "clientInfo": {"name": "test client", "version": "1"},
                "rootUri": root_uri,
                "workspaceFolders": [{"uri": root_uri, "name": "my project"}],
                "capabilities": capabilities::full(),
                // Most tests are not about the answer's message; those that are say so.
                "initializationOptions": {"show_answer": "none"},
            }),
            manner: Manner::VsCode,
            first_version: 1,
        }
    }

    /// Uses this model server, chosen by the environment.
    pub fn model(self, model: &FakeModel) -> Self {
        self.env("ASKLS_MODEL", "test-model")
            .env("ASKLS_BASE_URL", &model.base_url())
            .env("ASKLS_WIRE", model.wire().as_str())
            .env("ASKLS_API_KEY", KEY)
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn arguments(mut self, arguments: &[&str]) -> Self {
        self.arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
        self
    }

    pub fn capabilities(mut self, capabilities: Value) -> Self {
        self.initialize["capabilities"] = capabilities;
        self
    }

    /// Adds settings as the editor sends them with `initialize`.
    pub fn settings(mut self, settings: Value) -> Self {
        merge(&mut self.initialize["initializationOptions"], settings);
        self
    }

    /// Changes members of the `initialize` parameters; null stays null.
    pub fn initialize(mut self, params: Value) -> Self {
        merge(&mut self.initialize, params);
        self
    }

    /// Takes members out of the `initialize` parameters.
    pub fn without(mut self, members: &[&str]) -> Self {
        for &member in members {
            self.initialize.as_object_mut().expect("an object").remove(member);
        }
        self
    }

    /// Says of itself what a real editor said, on this project. Settings stay, as a user of that editor would set them.
    pub fn recorded(mut self, editor: &str) -> Self {
        let mut params = capabilities::recorded(editor);
        let ours = self.initialize.clone();
        params["rootUri"] = ours["rootUri"].clone();
        params["rootPath"] = self.project.root().to_str().into();
        if params.get("workspaceFolders").is_some() {
            params["workspaceFolders"] = ours["workspaceFolders"].clone();
        }
        if !params["processId"].is_null() {
            params["processId"] = ours["processId"].clone();
        }
        params["initializationOptions"] = ours["initializationOptions"].clone();
        self.initialize = params;
        if editor.starts_with("neovim") || editor.starts_with("emacs") {
            self.manner = Manner::Neovim;
            self.first_version = 0;
        }
        self
    }

    pub fn manner(mut self, manner: Manner) -> Self {
        self.manner = manner;
        self
    }

    /// Starts the process and says nothing yet.
    pub fn spawn(&self) -> Client {
        std::fs::create_dir_all(&self.home).expect("a home");
        let mut command = Command::new(env!("CARGO_BIN_EXE_askls"));
        command.args(&self.arguments).current_dir(&self.home).env_clear();
        for name in ["PATH", "SYSTEMROOT", "TMPDIR", "TEMP"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        for name in ["HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"] {
            command.env(name, &self.home);
        }
        for (name, folder) in [
            ("XDG_CONFIG_HOME", ".config"),
            ("XDG_CACHE_HOME", ".cache"),
            ("XDG_DATA_HOME", ".data"),
            ("XDG_STATE_HOME", ".state"),
        ] {
            command.env(name, self.home.join(folder));
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        let shared = Shared::new(Editor::new(self.manner, self.first_version));
        let client = Client::launch(command, shared, self.initialize["capabilities"].clone(), &self.project);
        let settings = self.initialize["initializationOptions"].clone();
        client.on_request("window/workDoneProgress/create", |_| Answer::Result(Value::Null));
        client.on_request("client/registerCapability", |_| Answer::Result(Value::Null));
        client.on_request("workspace/configuration", move |params| {
            let items = params["items"].as_array().cloned().unwrap_or_default();
            let value =
                |item: &Value| if item["section"] == "askls" { settings.clone() } else { Value::Null };
            Answer::Result(items.iter().map(value).collect())
        });
        client.on_request("workspace/applyEdit", |_| Answer::Apply);
        client.on_request("workspace/codeLens/refresh", |_| Answer::Result(Value::Null));
        client
    }

    /// Starts the process and shakes hands with it.
    pub fn start(&self) -> Client {
        let mut client = self.spawn();
        client.initialize(self.initialize.clone());
        client
    }

    /// The parameters that [`Self::start`] sends with `initialize`.
    pub fn initialize_params(&self) -> Value {
        self.initialize.clone()
    }
}

impl Client {
    /// `initialize`, its answer, `initialized`.
    pub fn initialize(&mut self, params: Value) {
        self.initialized = self.request("initialize", params);
        let encoding = match self.initialized["capabilities"]["positionEncoding"].as_str() {
            None | Some("utf-16") => Encoding::Utf16,
            Some("utf-8") => Encoding::Utf8,
            Some("utf-32") => Encoding::Utf32,
            Some(other) => panic!("the server chose the position encoding {other}"),
        };
        self.shared.lock().editor.encoding = encoding;
        self.notify("initialized", json!({}));
    }
}

/// Objects member by member, everything else replaced.
fn merge(target: &mut Value, patch: Value) {
    match (target, patch) {
        (Value::Object(target), Value::Object(patch)) => {
            for (name, value) in patch {
                merge(target.entry(name).or_insert(Value::Null), value);
            }
        }
        (target, patch) => *target = patch,
    }
}
