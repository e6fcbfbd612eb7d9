//! The tools under their neutral names: thin wrappers over those of askls, which do the work, and the test tools whose
//! results the case gives. Each keeps what it ran.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

use askls::{
    protocol::ToolCall,
    tools::{Access, Effect, Tool, ToolContext, ToolError, ToolSettings, Toolbox},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    names,
    observed::{CallResult, Execution},
};

/// What the wrappers share.
#[derive(Clone)]
pub(crate) struct Bench(Arc<Inner>);

struct Inner {
    own: Toolbox,
    executions: Mutex<Vec<Execution>>,
    canned: Mutex<BTreeMap<String, VecDeque<String>>>,
}

impl Bench {
    pub(crate) fn new(settings: &ToolSettings, results: &Value) -> Self {
        let mut canned: BTreeMap<String, VecDeque<String>> = BTreeMap::new();
        for (name, texts) in results.as_object().into_iter().flatten() {
            let texts = texts.as_array().cloned().unwrap_or_else(|| vec![texts.clone()]);
            let texts =
                texts.iter().map(|text| text.as_str().map_or_else(|| text.to_string(), str::to_owned));
            canned.insert(name.clone(), texts.collect());
        }
        Self(Arc::new(Inner {
            own: Toolbox::standard(settings),
            executions: Mutex::default(),
            canned: Mutex::new(canned),
        }))
    }

    pub(crate) fn executions(&self) -> Vec<Execution> {
        self.0.executions.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// An edit that was refused did not take place.
    pub(crate) fn forget(&self, path: &str) {
        let mut executions = self.0.executions.lock().unwrap_or_else(PoisonError::into_inner);
        executions.retain(|execution| {
            execution.arguments["path"] != path || names::tool_of_askls(&execution.name) == Some("read_file")
        });
    }

    /// The tools of a run: those that the case offers, or all that askls has.
    ///
    /// # Errors
    /// When the case offers one that there is not.
    pub(crate) fn toolbox(&self, offered: Option<&Vec<Value>>) -> Result<Toolbox, String> {
        let all: Vec<&str> = names::TOOLS.iter().map(|(name, ..)| *name).collect();
        let wanted: Vec<&str> = match offered {
            None => all,
            Some(tools) => tools.iter().filter_map(|tool| tool["name"].as_str()).collect(),
        };
        wanted.into_iter().try_fold(Toolbox::default(), |toolbox, name| self.add(toolbox, name))
    }

    fn add(&self, toolbox: Toolbox, name: &str) -> Result<Toolbox, String> {
        let bench = self.clone();
        Ok(match name {
            "read_file" => toolbox.with(ReadFile(bench)),
            "list_dir" => toolbox.with(ListDir(bench)),
            "write_file" => toolbox.with(WriteFile(bench)),
            "edit_file" => toolbox.with(EditFile(bench)),
            "move_file" => toolbox.with(MoveFile(bench)),
            "delete_file" => toolbox.with(DeleteFile(bench)),
            "search_text" => toolbox.with(SearchText(bench)),
            "run_command" => toolbox.with(RunCommand(bench)),
            "fetch_url" => toolbox.with(FetchUrl(bench)),
            "list_windows" => toolbox.with(ListWindows(bench)),
            "set_plan" => toolbox.with(SetPlan(bench)),
            _ => return Err(format!("askls has no tool {name}")),
        })
    }

    fn ran(&self, name: &str, arguments: &impl Serialize) -> Value {
        let arguments = serde_json::to_value(arguments).unwrap_or_default();
        let execution = Execution { name: name.to_owned(), arguments: arguments.clone() };
        self.0.executions.lock().unwrap_or_else(PoisonError::into_inner).push(execution);
        arguments
    }

    async fn run(
        &self,
        neutral: &'static str,
        arguments: Value,
        context: ToolContext,
    ) -> Result<String, ToolError> {
        let name = names::tool_of_askls(neutral).unwrap_or(neutral);
        let arguments = names::arguments_of_askls(neutral, &arguments);
        let call =
            ToolCall { id: "case".into(), name: name.into(), arguments: arguments.to_string(), raw: None };
        self.0.own.prepare(&call)?.run(context).await
    }

    /// What a call touches is for the tool of askls to say.
    fn access(&self, neutral: &str, arguments: &impl Serialize) -> Access {
        let name = names::tool_of_askls(neutral).unwrap_or(neutral);
        let arguments = serde_json::to_value(arguments).unwrap_or_default();
        let arguments = names::arguments_of_askls(neutral, &arguments).to_string();
        let call = ToolCall { id: "case".into(), name: name.into(), arguments, raw: None };
        self.0.own.prepare(&call).map(|prepared| prepared.access).unwrap_or_default()
    }

    fn canned(&self, name: &str) -> Result<String, ToolError> {
        let mut canned = self.0.canned.lock().unwrap_or_else(PoisonError::into_inner);
        let next = canned.get_mut(name).and_then(VecDeque::pop_front);
        next.ok_or_else(|| ToolError(format!("the case gives {name} no result")))
    }

    /// One call as if a model had made it, without asking anybody.
    pub(crate) async fn call(
        &self,
        toolbox: &Toolbox,
        name: &str,
        arguments: &Value,
        context: ToolContext,
    ) -> CallResult {
        let call =
            ToolCall { id: "case".into(), name: name.into(), arguments: arguments.to_string(), raw: None };
        let result = match toolbox.prepare(&call) {
            Ok(prepared) => prepared.run(context).await,
            Err(error) => Err(error),
        };
        match result {
            Ok(text) => CallResult { ok: true, text },
            Err(ToolError(text)) => CallResult { ok: false, text },
        }
    }
}

/// A tool of askls under its neutral name and with the neutral names of its arguments.
macro_rules! neutral_tool {
    ($tool:ident, $args:ident, $name:literal, $effect:ident, $target:ident, $doc:literal,
     { $($field:ident : $type:ty),* } $(, optional { $($optional:ident : $optional_type:ty),* })?) => {
        struct $tool(Bench);

        #[doc = $doc]
        #[derive(Deserialize, Serialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        struct $args {
            $($field: $type,)*
            $($(#[serde(default, skip_serializing_if = "Option::is_none")] $optional: Option<$optional_type>,)*)?
        }

        impl Tool for $tool {
            const NAME: &'static str = $name;
            const EFFECT: Effect = Effect::$effect;
            type Args = $args;

            fn target(args: &$args) -> String {
                format!("{:?}", args.$target)
            }

            fn access(&self, args: &$args) -> Access {
                self.0.access($name, args)
            }

            async fn run(&self, args: $args, context: ToolContext) -> Result<String, ToolError> {
                let arguments = self.0.ran($name, &args);
                self.0.run($name, arguments, context).await
            }
        }
    };
}

neutral_tool!(ReadFile, ReadFileArgs, "read_file", Read, path, "Read a text file.", { path: String });
neutral_tool!(ListDir, ListDirArgs, "list_dir", Read, path, "List a folder.", {}, optional { path: String });
neutral_tool!(
    SearchText, SearchTextArgs, "search_text", Read, pattern, "Search files by a regular expression.",
    { pattern: String }, optional { path: String }
);
neutral_tool!(
    WriteFile, WriteFileArgs, "write_file", Edit, path, "Write a file.", { path: String, content: String }
);
neutral_tool!(
    EditFile, EditFileArgs, "edit_file", Edit, path, "Replace a text in a file by another.",
    { path: String, old_text: String, new_text: String }, optional { replace_all: bool }
);
neutral_tool!(MoveFile, MoveFileArgs, "move_file", Edit, from, "Move a file.", { from: String, to: String });
neutral_tool!(DeleteFile, DeleteFileArgs, "delete_file", Edit, path, "Delete a file.", { path: String });
neutral_tool!(
    RunCommand, RunCommandArgs, "run_command", Execute, command, "Run a command.",
    { command: String }, optional { timeout_ms: u64 }
);
neutral_tool!(FetchUrl, FetchUrlArgs, "fetch_url", Network, url, "Get a page.", { url: String });

struct ListWindows(Bench);

/// List the windows.
#[derive(Deserialize, Serialize, JsonSchema)]
struct ListWindowsArgs {}

impl Tool for ListWindows {
    const NAME: &'static str = "list_windows";
    const EFFECT: Effect = Effect::Read;
    type Args = ListWindowsArgs;

    fn target(_args: &ListWindowsArgs) -> String {
        String::new()
    }

    async fn run(&self, args: ListWindowsArgs, _context: ToolContext) -> Result<String, ToolError> {
        self.0.ran(Self::NAME, &args);
        self.0.canned(Self::NAME)
    }
}

struct SetPlan(Bench);

/// Set the plan.
#[derive(Deserialize, Serialize, JsonSchema)]
struct SetPlanArgs {
    steps: Vec<Value>,
}

impl Tool for SetPlan {
    const NAME: &'static str = "set_plan";
    const EFFECT: Effect = Effect::Read;
    type Args = SetPlanArgs;

    fn target(args: &SetPlanArgs) -> String {
        format!("{} steps", args.steps.len())
    }

    async fn run(&self, args: SetPlanArgs, _context: ToolContext) -> Result<String, ToolError> {
        self.0.ran(Self::NAME, &args);
        self.0.canned(Self::NAME)
    }
}
