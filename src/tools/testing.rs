//! A project for tests of tools: real files in a temporary folder, and calls as a model makes them.

use std::{fs, path::PathBuf, sync::Arc, time::Duration};

use serde_json::Value;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::{ToolContext, ToolSettings, Toolbox};
use crate::{
    protocol::ToolCall,
    workspace::{TurnFiles, Workspace, paths::to_uri},
};

/// Far more than any call here takes; only a hang reaches it.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) struct Project {
    folder: TempDir,
    pub(super) settings: ToolSettings,
    pub(super) context: ToolContext,
}

impl Project {
    /// One text holds all files, each after a line `//- /path`.
    pub(super) fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let files = TurnFiles::new(Arc::new(Workspace::new(vec![folder.path().to_owned()])));
        let context = ToolContext::new(Arc::new(files), CancellationToken::new());
        let project = Self { folder, settings: ToolSettings::default(), context };
        for file in text.split("//- /").skip(1) {
            let (path, text) = file.split_once('\n').unwrap();
            project.write(path, text);
        }
        project
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    pub(super) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// As if the user had opened the file and typed.
    pub(super) fn open(&self, path: &str, text: &str) {
        let uri = to_uri(&self.path(path));
        self.context.files.workspace().overlay().open(&uri, "text", 1, text.to_owned());
    }

    /// The answer of a call, after `error: ` if it is one.
    pub(super) async fn call(&self, tool: &str, arguments: Value) -> String {
        let call =
            ToolCall { id: "1".into(), name: tool.into(), arguments: arguments.to_string(), raw: None };
        let prepared = match Toolbox::standard(&self.settings).prepare(&call) {
            Ok(prepared) => prepared,
            Err(error) => return format!("error: {error}"),
        };
        let answer = tokio::time::timeout(PATIENCE, prepared.run(self.context.clone())).await;
        match answer.unwrap_or_else(|_| panic!("{tool} hangs")) {
            Ok(text) => text,
            Err(error) => format!("error: {error}"),
        }
    }

    /// What the turn sees of a file.
    pub(super) fn text(&self, path: &str) -> String {
        let path = self.context.files.resolve(path).unwrap();
        self.context.files.read(&path).unwrap().text.to_string()
    }
}
