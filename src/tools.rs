//! Tools: what the model can do in the workspace. One file a tool; its arguments' doc comments are the schema and
//! the description that the model reads.

pub mod access;
pub mod apply_patch;
pub mod delete_file;
pub mod edit_file;
pub mod fetch_url;
pub mod hook;
pub mod jobs;
pub mod list_files;
pub mod move_file;
pub mod output;
pub mod printed;
pub mod read_file;
pub mod read_job;
pub mod run_command;
pub mod search;
pub mod stop_job;
pub mod write_file;

mod arguments;
mod changes;
mod patch;
mod placeholder;
#[cfg(test)]
mod testing;

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use crate::{
    model::ToolSpec,
    protocol::ToolCall,
    workspace::{FileError, Outlook, TurnFiles, outputs::Outputs},
};
pub use access::{Access, CommandText, Extent, Grammar};

use jobs::Jobs;
use output::{bounded, cut_line, one_line, visible_path};
use printed::Printed;

/// What a call can do to the world: decides about approval and about running side by side, never the tool's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Effect {
    /// Looks only. Calls of this effect run side by side.
    Read,
    /// Stages an edit, which the user sees before it happens.
    Edit,
    /// Ends what the agent itself has started, and touches nothing else: it needs no consent.
    Stop,
    /// Runs a program with the user's rights.
    Execute,
    /// Talks to another machine.
    Network,
}

/// The tools that there are, whether a model is offered them or not: what a rule and a hook may name.
pub const NAMES: &[&str] = &[
    apply_patch::ApplyPatch::NAME,
    delete_file::DeleteFile::NAME,
    edit_file::EditFile::NAME,
    fetch_url::FetchUrl::NAME,
    list_files::ListFiles::NAME,
    move_file::MoveFile::NAME,
    read_file::ReadFile::NAME,
    read_job::ReadJob::NAME,
    run_command::RunCommand::NAME,
    search::Search::NAME,
    stop_job::StopJob::NAME,
    write_file::WriteFile::NAME,
];

/// Characters of a reason why arguments do not fit: a few sentences.
const MAX_REASON_CHARS: usize = 1_000;

/// Characters of the name of a tool that there is not; servers allow 64.
const MAX_NAME_CHARS: usize = 64;

/// A typed tool. Adding one touches its file and one line of [`Toolbox::standard`].
pub trait Tool: Send + Sync + 'static {
    /// As the model calls it.
    const NAME: &'static str;
    const EFFECT: Effect;
    /// The struct's doc comment is the tool's description, those of its fields the arguments'.
    type Args: DeserializeOwned + JsonSchema + Send + 'static;

    /// What the call is about, for a progress line: a path, a pattern, a command. Whole: it is cut where it is shown, behind
    /// what hides the keys in it.
    fn target(args: &Self::Args) -> String;

    /// What the user is shown before the call is allowed; must contain everything that will happen. `roots` are the
    /// workspace's folders.
    fn preview(args: &Self::Args, _roots: &[PathBuf]) -> String {
        visible_path(&Self::target(args))
    }

    /// How and where it is done, where that matters to whoever is asked; in words that follow "to run it".
    fn circumstances(&self, _args: &Self::Args, _roots: &[PathBuf]) -> String {
        String::new()
    }

    /// What the call touches. A tool that is told apart by nothing but its name and effect says nothing.
    fn access(&self, _args: &Self::Args) -> Access {
        Access::default()
    }

    /// Whether the call waits for what changes by itself, so that to make it again is no loop.
    fn waits(_args: &Self::Args) -> bool {
        false
    }

    /// The output is a text for the model; so is the error, which says what was wrong and what to try.
    fn run(
        &self,
        args: Self::Args,
        context: ToolContext,
    ) -> impl Future<Output = Result<String, ToolError>> + Send;
}

/// What a running call may use.
#[derive(Clone)]
pub struct ToolContext {
    /// The workspace as this turn sees it: staged edits, then open buffers, then the disk.
    pub files: Arc<TurnFiles>,
    /// Fires when the turn is cancelled; a call that goes on for long must watch it.
    pub cancel: CancellationToken,
    /// The background jobs of the thread.
    pub jobs: Jobs,
    /// Where the call tells what it prints while it runs.
    pub printed: Printed,
}

impl ToolContext {
    /// For a call in a thread without jobs, on which nobody looks while it runs.
    pub fn new(files: Arc<TurnFiles>, cancel: CancellationToken) -> Self {
        Self { files, cancel, jobs: Jobs::default(), printed: Printed::default() }
    }
}

/// Why a call could not do what was asked, in words for the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ToolError(pub String);

impl From<FileError> for ToolError {
    fn from(error: FileError) -> Self {
        Self(error.to_string())
    }
}

/// What a cancelled call answers. Nothing of it happens after this.
fn cancelled() -> ToolError {
    ToolError("the turn was stopped before this call was done".to_owned())
}

/// Looks at the files off the async threads. A cancelled turn does not wait for a slow disk: it leaves the look to end
/// by itself, unheard.
async fn look<T: Send + 'static>(
    context: ToolContext,
    look: impl FnOnce(&TurnFiles) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let ToolContext { files, cancel, .. } = context;
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(cancelled()),
        looked = tokio::task::spawn_blocking(move || look(&files)) => looked.unwrap_or_else(|error| Err(fault(&error))),
    }
}

/// Stages an edit off the async threads. Waits for its end even when the turn is cancelled meanwhile, so that the
/// history says truly whether it was staged.
async fn stage(
    context: ToolContext,
    stage: impl FnOnce(&TurnFiles) -> Result<String, ToolError> + Send + 'static,
) -> Result<String, ToolError> {
    let ToolContext { files, cancel, .. } = context;
    if cancel.is_cancelled() {
        return Err(cancelled());
    }
    tokio::task::spawn_blocking(move || stage(&files)).await.unwrap_or_else(|error| Err(fault(&error)))
}

/// The last line of what a staged edit answers; it keeps the model from saying that the edit is on disk.
pub(crate) const STAGED: &str =
    "Staged as a proposal: nothing is on disk yet, and the user decides whether to apply it.";

/// The same where nobody is asked any more.
const STAGED_TO_APPLY: &str = "Staged: nothing is on disk yet; it is applied when the turn ends.";

/// The same where commands are to see it.
const STAGED_FOR_COMMANDS: &str = "Staged: nothing is on disk yet; it is written before the next command runs, and otherwise when the turn ends.";

/// What a staged edit answers: what it did, and what that is worth.
fn staged(files: &TurnFiles, report: &str) -> String {
    let worth = match files.outlook() {
        Outlook::Proposed => STAGED,
        Outlook::Applied => STAGED_TO_APPLY,
        Outlook::Written => STAGED_FOR_COMMANDS,
    };
    format!("{}\n{worth}", report.trim_end())
}

/// What a staged edit answers without what it is worth, for whoever knows better by now.
pub(crate) fn without_worth(answer: &str) -> &str {
    let worths = [STAGED, STAGED_TO_APPLY, STAGED_FOR_COMMANDS];
    worths.iter().find_map(|worth| answer.strip_suffix(worth)).unwrap_or(answer).trim_end()
}

fn fault(error: &tokio::task::JoinError) -> ToolError {
    tracing::error!(%error, "a tool ended by a fault of its own");
    ToolError("this call failed by a fault inside askls; try another way".to_owned())
}

/// A parsed call, ready to be approved and to run once.
pub struct Prepared {
    pub name: &'static str,
    pub effect: Effect,
    pub target: String,
    pub preview: String,
    /// See [`Tool::circumstances`].
    pub circumstances: String,
    pub access: Access,
    /// Whether it waits; see [`Tool::waits`].
    pub waits: bool,
    run: Box<dyn FnOnce(ToolContext) -> BoxFuture<'static, Result<String, ToolError>> + Send>,
}

impl Prepared {
    /// The same call with `circumstance` before those that the user is shown, and `note` behind whatever it answers.
    #[must_use]
    pub fn noted(self, circumstance: &str, note: String) -> Self {
        let run = self.run;
        let run = move |context| -> BoxFuture<'static, Result<String, ToolError>> {
            Box::pin(async move {
                let noted = |text: String| format!("{}\n{note}", text.trim_end());
                run(context).await.map(noted).map_err(|ToolError(reason)| ToolError(noted(reason)))
            })
        };
        let circumstances = match self.circumstances.as_str() {
            "" => circumstance.to_owned(),
            others => format!("{circumstance}, {others}"),
        };
        Self { circumstances, run: Box::new(run), ..self }
    }

    pub fn run(self, context: ToolContext) -> BoxFuture<'static, Result<String, ToolError>> {
        (self.run)(context)
    }
}

/// The tools that one turn may use, by name.
#[derive(Clone, Default)]
pub struct Toolbox {
    tools: BTreeMap<&'static str, Arc<dyn ErasedTool>>,
    specs: Arc<[ToolSpec]>,
    offers_patches: bool,
}

/// What the tools need to know of the settings.
#[derive(Clone, Debug, Default)]
pub struct ToolSettings {
    /// Program and first arguments that take a command line as their last one, as `["/bin/sh", "-c"]`;
    /// `None` means the platform's shell.
    pub shell: Option<Vec<String>>,
    /// How long a command may run when the model does not say; `None` means the tool's default.
    pub command_timeout: Option<std::time::Duration>,
    /// The environment variable that holds the model server's key, whatever its name: no command may see it.
    pub hidden_variable: Option<String>,
    /// Which of them are the project's.
    pub project: crate::protocol::ProjectSettings,
    /// What commands are held by; `None` means nothing but the user's consent.
    pub sandbox: Option<run_command::sandbox::Sandbox>,
    /// Where outputs go that are too long to be shown; `None` means that their middle is lost.
    pub outputs: Option<Outputs>,
    /// How pages of the web are fetched; `None` means not at all.
    pub fetch: Option<fetch_url::Settings>,
}

impl Toolbox {
    /// Every tool that askls has.
    pub fn standard(settings: &ToolSettings) -> Self {
        let toolbox = Self::default()
            .with(list_files::ListFiles)
            .with(read_file::ReadFile::new(settings))
            .with(search::Search)
            .with(edit_file::EditFile)
            .with(write_file::WriteFile)
            .with(delete_file::DeleteFile)
            .with(move_file::MoveFile)
            .with(run_command::RunCommand::new(settings))
            .with(read_job::ReadJob)
            .with(stop_job::StopJob)
            .with(apply_patch::ApplyPatch);
        match fetch_url::FetchUrl::new(settings) {
            Some(fetch_url) => toolbox.with(fetch_url),
            None => toolbox,
        }
    }

    /// Offers `apply_patch` where the model was trained on it. Others write it badly, and a description that they read
    /// with every request would cost more than it gives; a call of it is taken from any model.
    #[must_use]
    pub fn for_model(mut self, name: &str) -> Self {
        self.offers_patches = is_trained_on_patches(name);
        self.update_specs()
    }

    #[must_use]
    pub fn with<T: Tool>(mut self, tool: T) -> Self {
        self.tools.insert(T::NAME, Arc::new(Typed(Arc::new(tool))));
        self.update_specs()
    }

    /// The same tools without those that do more than read.
    #[must_use]
    pub fn only_reading(mut self) -> Self {
        self.tools.retain(|_, tool| tool.effect() == Effect::Read);
        self.update_specs()
    }

    fn update_specs(mut self) -> Self {
        let is_offered = |name: &str| self.offers_patches || name != apply_patch::ApplyPatch::NAME;
        let offered = self.tools.iter().filter(|(name, _)| is_offered(name));
        self.specs = offered.map(|(_, tool)| tool.spec()).collect();
        self
    }

    /// In the order of their names, the same in every request.
    pub fn specs(&self) -> &[ToolSpec] {
        &self.specs
    }

    /// The tool of that name, or of the name within what some models write around it.
    fn named(&self, name: &str) -> Option<&dyn ErasedTool> {
        self.tools.get(name).or_else(|| self.tools.get(bare_name(name))).map(AsRef::as_ref)
    }

    /// Whether a call of that name finds a tool.
    pub fn has(&self, name: &str) -> bool {
        self.named(name).is_some()
    }

    /// As [`Toolbox::prepare_in`], for callers that show nobody what will happen.
    pub fn prepare(&self, call: &ToolCall) -> Result<Prepared, ToolError> {
        self.prepare_in(call, &[])
    }

    /// Parses the arguments; nothing has happened yet. `roots` are the workspace's folders, for the preview. The error is a
    /// text for the model.
    pub fn prepare_in(&self, call: &ToolCall, roots: &[PathBuf]) -> Result<Prepared, ToolError> {
        match self.named(&call.name) {
            Some(tool) => tool.prepare(&call.arguments, roots),
            None => {
                let names: Vec<_> = self.specs.iter().map(|spec| spec.name.as_str()).collect();
                let known = if names.is_empty() {
                    "there are no tools now".to_owned()
                } else {
                    format!("use one of: {}", names.join(", "))
                };
                let name = one_line(&call.name, MAX_NAME_CHARS);
                Err(ToolError(match name.as_str() {
                    "" => format!("this call names no tool; {known}"),
                    name => format!("there is no tool named {name}; {known}"),
                }))
            }
        }
    }
}

/// Whether a model of this name, behind the name of who serves it, was trained on the format of `apply_patch`.
fn is_trained_on_patches(name: &str) -> bool {
    const TRAINED: &[&str] = &["gpt-4.1", "gpt-5", "gpt-oss", "o3", "o4", "codex"];
    let name = name.rsplit('/').next().unwrap_or(name).to_lowercase();
    name.contains("-codex") || TRAINED.iter().any(|start| name.starts_with(start))
}

/// A name without blanks, without the namespace of its training (`functions.read_file`), and without the marks of its
/// template that a server left standing (`read_file<|channel|>commentary`).
fn bare_name(name: &str) -> &str {
    let name = name.split("<|").next().unwrap_or_default().trim();
    name.strip_prefix("functions.").unwrap_or(name)
}

trait ErasedTool: Send + Sync {
    fn effect(&self) -> Effect;
    fn spec(&self) -> ToolSpec;
    fn prepare(&self, arguments: &str, roots: &[PathBuf]) -> Result<Prepared, ToolError>;
}

struct Typed<T>(Arc<T>);

impl<T: Tool> ErasedTool for Typed<T> {
    fn effect(&self) -> Effect {
        T::EFFECT
    }

    fn spec(&self) -> ToolSpec {
        let (description, parameters) = arguments::schema::<T::Args>();
        ToolSpec { name: T::NAME.to_owned(), description, parameters }
    }

    fn prepare(&self, arguments: &str, roots: &[PathBuf]) -> Result<Prepared, ToolError> {
        let args: T::Args = arguments::parse(arguments).map_err(|reason| {
            // A reason quotes the value that does not fit, which may be a whole file.
            let reason = cut_line(&reason, MAX_REASON_CHARS);
            ToolError(format!("the arguments of {} do not fit its schema: {reason}", T::NAME))
        })?;
        let tool = Arc::clone(&self.0);
        Ok(Prepared {
            name: T::NAME,
            effect: T::EFFECT,
            target: T::target(&args),
            preview: T::preview(&args, roots),
            circumstances: tool.circumstances(&args, roots),
            access: tool.access(&args),
            waits: T::waits(&args),
            run: Box::new(move |context| {
                Box::pin(async move {
                    let answer = tool.run(args, context).await;
                    answer.map(bounded).map_err(|error| ToolError(bounded(error.0)))
                })
            }),
        })
    }
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    mod boundaries;
    #[cfg(unix)]
    mod outside;
    mod secrets;

    use expect_test::expect;
    use serde_json::json;

    use super::{testing::Project, *};

    fn call(name: &str) -> ToolCall {
        ToolCall { id: "1".into(), name: name.into(), arguments: "{}".into(), raw: None }
    }

    #[test]
    fn rules_and_hooks_can_name_every_tool() {
        let all = ToolSettings { fetch: Some(fetch_url::Settings::default()), ..ToolSettings::default() };
        assert_eq!(Toolbox::standard(&all).tools.into_keys().collect::<Vec<_>>(), NAMES);
    }

    fn names(toolbox: &Toolbox) -> Vec<&str> {
        toolbox.specs().iter().map(|spec| spec.name.as_str()).collect()
    }

    // SPEC E1
    #[test]
    fn what_models_write_around_a_name_does_not_hide_the_tool() {
        for name in [" list_files\n", "functions.list_files", "list_files<|channel|>commentary", "list_files"]
        {
            let prepared = Toolbox::standard(&ToolSettings::default()).prepare(&call(name));
            assert_eq!(prepared.map(|prepared| prepared.name).ok(), Some("list_files"), "{name:?}");
        }
        for name in ["", "functions.", "list files", "other.list_files", "<|list_files"] {
            assert!(Toolbox::standard(&ToolSettings::default()).prepare(&call(name)).is_err(), "{name:?}");
        }
    }

    #[test]
    fn an_unknown_tool_is_answered_with_those_that_there_are() {
        let toolbox = Toolbox::standard(&ToolSettings::default()).only_reading();
        let answer = toolbox.prepare(&call("mul")).err().map(|error| error.to_string());
        assert_eq!(
            answer.as_deref(),
            Some("there is no tool named mul; use one of: list_files, read_file, read_job, search")
        );
        let answer = Toolbox::default().prepare(&call("mul")).err().map(|error| error.to_string());
        assert_eq!(answer.as_deref(), Some("there is no tool named mul; there are no tools now"));
    }

    #[test]
    fn tools_that_do_more_than_read_can_be_left_out() {
        let toolbox = Toolbox::standard(&ToolSettings::default());
        assert_eq!(
            names(&toolbox),
            [
                "delete_file",
                "edit_file",
                "list_files",
                "move_file",
                "read_file",
                "read_job",
                "run_command",
                "search",
                "stop_job",
                "write_file"
            ]
        );
        assert_eq!(names(&toolbox.only_reading()), ["list_files", "read_file", "read_job", "search"]);
    }

    #[test]
    fn patches_are_offered_to_models_that_know_them_and_taken_from_all() {
        for (model, is_offered) in [
            ("gpt-5.1-codex", true),
            ("openai/GPT-5-mini", true),
            ("gpt-oss:20b", true),
            ("qwen3-coder:30b", false),
            ("claude-sonnet-4-5", false),
            ("", false),
        ] {
            let toolbox = Toolbox::standard(&ToolSettings::default()).for_model(model);
            assert_eq!(names(&toolbox).contains(&"apply_patch"), is_offered, "{model}");
            let mut patch = call("apply_patch");
            patch.arguments = json!({"input": ""}).to_string();
            assert!(toolbox.prepare(&patch).is_ok(), "{model}");
            assert!(toolbox.only_reading().prepare(&patch).is_err(), "{model}");
        }
    }

    // SPEC T1
    #[test]
    fn what_a_model_reads_of_the_tools() {
        let text: String = Toolbox::standard(&ToolSettings::default())
            .for_model("gpt-5")
            .specs()
            .iter()
            .map(|spec| format!("{}: {}\n{:#}\n", spec.name, spec.description, spec.parameters))
            .collect();
        expect![[r#"
            apply_patch: Change, create, delete and move files with one patch; all of it is staged, or nothing. Read the files first. Give three lines that stay before and after each change; where these stand more than once, name lines above them behind `@@`. The edit is staged: later calls see it, the user decides whether it is applied.

            ```text
            *** Begin Patch
            *** Update File: src/app.py
            *** Move to: src/main.py
            @@ def greet():
                 name = input()
            -    print("Hi")
            +    print("Hello, " + name)
            *** Add File: notes/new.txt
            +each line of a new file
            *** Delete File: old.txt
            *** End Patch
            ```
            {
              "additionalProperties": false,
              "properties": {
                "input": {
                  "description": "The whole patch, from `*** Begin Patch` to `*** End Patch`; paths relative to the workspace.",
                  "type": "string"
                }
              },
              "required": [
                "input"
              ],
              "type": "object"
            }
            delete_file: Delete one file (not a folder). The deletion is staged: later calls no longer see the file, the user decides whether it is deleted. To rename a file use move_file.
            {
              "additionalProperties": false,
              "properties": {
                "path": {
                  "description": "File to delete, relative to the workspace.",
                  "type": "string"
                }
              },
              "required": [
                "path"
              ],
              "type": "object"
            }
            edit_file: Replace a piece of text in a file by another. `find` must stand in the file exactly once, unless `all` is true: take enough lines around the change to make it unique, as read_file shows them but without line numbers. Read the file first. Put further changes of the same file into `edits`: all are made, or none. The edit is staged: later calls see it, the user decides whether it is applied. To create a file, or to rewrite it whole, use write_file.
            {
              "additionalProperties": false,
              "properties": {
                "all": {
                  "description": "Replace every place where `find` stands instead of exactly one. Default: false.",
                  "type": "boolean"
                },
                "edits": {
                  "description": "Further replacements in the same file. Each finds its text in the file as it is before the call.",
                  "items": {
                    "additionalProperties": false,
                    "description": "One more replacement.",
                    "properties": {
                      "all": {
                        "description": "Replace every place instead of exactly one. Default: false.",
                        "type": "boolean"
                      },
                      "find": {
                        "description": "The text to replace.",
                        "type": "string"
                      },
                      "replace": {
                        "description": "The text that takes its place.",
                        "type": "string"
                      }
                    },
                    "required": [
                      "find",
                      "replace"
                    ],
                    "type": "object"
                  },
                  "type": "array"
                },
                "find": {
                  "description": "The text to replace, with its indentation and line breaks. May begin and end in the middle of a line.",
                  "type": "string"
                },
                "path": {
                  "description": "File to edit, relative to the workspace.",
                  "type": "string"
                },
                "replace": {
                  "description": "The text that takes its place, written out in full; empty to delete it.",
                  "type": "string"
                }
              },
              "required": [
                "path",
                "find",
                "replace"
              ],
              "type": "object"
            }
            list_files: List the files and folders of the workspace, one path a line, sorted, folders with a `/` at the end. Use it to learn how a project is laid out, or with `glob` to find files by name; to find files by what is in them, use search. Paths are relative to the workspace, as the other tools take them. Lists the whole tree; when that is more than 500 entries, as many levels as fit.
            {
              "additionalProperties": false,
              "properties": {
                "depth": {
                  "description": "Levels to list: 1 is only what lies directly in the folder. Default: all levels.",
                  "minimum": 1,
                  "type": "integer"
                },
                "glob": {
                  "description": "List only files that match this pattern, as in .gitignore: `*.rs`, `src/**/mod.rs`.",
                  "type": "string"
                },
                "hidden": {
                  "description": "Also list files that .gitignore or a leading dot hides (never those in .git). Default: false.",
                  "type": "boolean"
                },
                "path": {
                  "description": "Folder to list. Default: the whole workspace.",
                  "type": "string"
                }
              },
              "type": "object"
            }
            move_file: Move or rename one file (not a folder). Folders on the way are created; a file that exists is never overwritten. Uses of the old path in other files are not changed: search for them. The move is staged: later calls see the file in its new place, the user decides whether it is moved.
            {
              "additionalProperties": false,
              "properties": {
                "from": {
                  "description": "File to move, relative to the workspace.",
                  "type": "string"
                },
                "to": {
                  "description": "Its whole new path, name included, relative to the workspace.",
                  "type": "string"
                }
              },
              "required": [
                "from",
                "to"
              ],
              "type": "object"
            }
            read_file: Read a text file, or a part of it, with line numbers. Shows what the user sees in the editor, unsaved changes included, and your own staged edits. At most 2,000 lines and 50 KB a call; the end says how to go on. The number and the tab before each line are not part of the file: leave them out of what you give to edit_file. To look for something in many files use search first, then read around the lines that it names.
            {
              "additionalProperties": false,
              "properties": {
                "end_line": {
                  "description": "Last line to read, inclusive. Default: as far as one call goes.",
                  "minimum": 1,
                  "type": "integer"
                },
                "path": {
                  "description": "File to read, relative to the workspace; or the output of a command by the name that run_command gave it.",
                  "type": "string"
                },
                "start_line": {
                  "description": "First line to read, counted from 1. Default: 1.",
                  "minimum": 1,
                  "type": "integer"
                }
              },
              "required": [
                "path"
              ],
              "type": "object"
            }
            read_job: Read what a background job, which run_command has started, printed since it was read last (of its last 2,000 lines), and whether it still runs. Without `id` it lists all jobs. To wait for a job to end give `wait` instead of asking again and again.
            {
              "additionalProperties": false,
              "properties": {
                "all": {
                  "default": false,
                  "description": "Read again all that is kept, not only what is new. Default: false.",
                  "type": "boolean"
                },
                "id": {
                  "description": "Number of the job. Default: list all jobs.",
                  "minimum": 1,
                  "type": "integer"
                },
                "wait": {
                  "description": "Seconds to wait for its end first, at most 600. Default: 0.",
                  "maximum": 600,
                  "minimum": 0,
                  "type": "integer"
                }
              },
              "type": "object"
            }
            run_command: Run a command line in the user's shell and read what it prints (standard output and errors together, the middle left out when it is long) and its exit code. Use it to build, to run tests, and for what no other tool does; to list, read, search and change files use the other tools: they see unsaved changes and staged edits, commands see only what is on disk. The user may be asked first. There is no input and no terminal: use options that ask nothing. What the command leaves running is ended with it: start servers and watchers with `background`, and see to them with read_job and stop_job. Variables that look like keys or passwords are not in its environment. It may run in a sandbox: it changes only the workspace and temporary folders, cannot read secrets, and has no network but what it starts itself on 127.0.0.1.
            {
              "additionalProperties": false,
              "properties": {
                "background": {
                  "default": false,
                  "description": "Let it run on as a background job: the answer comes after a second, with its number and first output. It has no time-out unless `timeout` is given, and ends with the thread at the latest. In a sandbox without network no other command reaches its ports: start a server and use it in one command there. Default: false.",
                  "type": "boolean"
                },
                "background_after": {
                  "description": "The same, but only when it has not ended after so many seconds, at most 600: for a command that may take long. 10 is a good choice.",
                  "maximum": 600,
                  "minimum": 1,
                  "type": "integer"
                },
                "command": {
                  "description": "The command line, as for `sh -c` (on Windows `cmd /C`).",
                  "type": "string"
                },
                "path": {
                  "description": "Folder to run it in, relative to the workspace. Default: the first folder of the workspace.",
                  "type": "string"
                },
                "reason": {
                  "description": "Why it has to run without the sandbox, for the user.",
                  "type": "string"
                },
                "timeout": {
                  "description": "Seconds after which it is ended; what it has printed until then is kept. At most 600. Default: 120.",
                  "maximum": 600,
                  "minimum": 1,
                  "type": "integer"
                },
                "unsandboxed": {
                  "default": false,
                  "description": "Run it without the sandbox, with all of the user's rights. Only for a command that failed because of the sandbox, and with a reason: the user is asked.",
                  "type": "boolean"
                }
              },
              "required": [
                "command"
              ],
              "type": "object"
            }
            search: Search the text of all files for a regular expression, line by line. Answers one line a match: `path:line: text`. Use it to find where something is defined or used; then read_file around the lines that matter. Sees unsaved changes and staged edits; skips binary files and what .gitignore excludes. At most 100 matches: narrow a search that has more by `path`, `glob`, or a more exact pattern.
            {
              "additionalProperties": false,
              "properties": {
                "case_sensitive": {
                  "description": "Whether capital and small letters differ. Default: false.",
                  "type": "boolean"
                },
                "glob": {
                  "description": "Search only files that match this pattern, as in .gitignore: `*.rs`, `src/**/*.ts`.",
                  "type": "string"
                },
                "path": {
                  "description": "Folder or file to search. Default: the whole workspace.",
                  "type": "string"
                },
                "pattern": {
                  "description": "Regular expression (syntax of Rust's regex crate; no look-around, no back references). Put a backslash before `( ) [ ] { } . * + ? | ^ $` and before a backslash to find them as they are.",
                  "type": "string"
                }
              },
              "required": [
                "pattern"
              ],
              "type": "object"
            }
            stop_job: End a background job that run_command has started, with everything that it started, and read what it printed last.
            {
              "additionalProperties": false,
              "properties": {
                "id": {
                  "description": "Number of the job, as read_job lists it.",
                  "minimum": 1,
                  "type": "integer"
                }
              },
              "required": [
                "id"
              ],
              "type": "object"
            }
            write_file: Create a file with the given text, or replace the whole text of one that exists and that you have read whole. Folders on the way are created. Use it for new files and full rewrites; to change a part of a file use edit_file, which is shorter and keeps the rest as it is. The file is staged: later calls see it, the user decides whether it is written.
            {
              "additionalProperties": false,
              "properties": {
                "path": {
                  "description": "File to write, relative to the workspace.",
                  "type": "string"
                },
                "text": {
                  "description": "The whole new text of the file, nothing left out.",
                  "type": "string"
                }
              },
              "required": [
                "path",
                "text"
              ],
              "type": "object"
            }
        "#]].assert_eq(&text);
    }

    #[test]
    fn every_argument_is_described() {
        for spec in Toolbox::standard(&ToolSettings::default()).specs() {
            assert!(!spec.description.is_empty(), "{}", spec.name);
            for (name, property) in spec.parameters["properties"].as_object().unwrap() {
                assert!(property["description"].is_string(), "{}.{name}", spec.name);
                assert!(property["type"].is_string(), "{}.{name}", spec.name);
            }
        }
    }

    #[tokio::test]
    async fn what_a_model_wrote_wrong_is_not_thrown_back_at_length() {
        let project = Project::new("//- /a.txt\none\n");
        let long = "x".repeat(1_000_000);
        for (tool, arguments) in [
            (long.as_str(), json!({})),
            ("read_file", json!({"path": "a.txt", "start_line": long})),
            ("read_file", json!({"path": long})),
            ("read_file", json!({"path": "a.txt", &long: 1})),
            ("search", json!({"pattern": long})),
            ("search", json!({"pattern": format!("{long}(")})),
            ("edit_file", json!({"path": "a.txt", "find": long, "replace": "y"})),
            ("list_files", json!({"glob": long})),
        ] {
            let answer = project.call(tool, arguments).await;
            assert!(answer.len() < 60_000, "{} bytes: {}", answer.len(), output::one_line(&answer, 200));
        }
    }

    // SPEC T10
    #[tokio::test]
    async fn no_tool_leaves_the_workspace() {
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("secret.txt"), "secret\n").unwrap();
        let project = Project::new("//- /a.txt\none\n");
        let mut paths =
            ["..", "../x.txt", "dir/../../x.txt", "/etc/passwd", "file:///etc/passwd", "~/x.txt/../../../x"]
                .map(str::to_owned)
                .to_vec();
        paths.push(outside.path().join("secret.txt").display().to_string());
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(outside.path(), project.path("link")).unwrap();
            paths.extend(["link", "link/secret.txt", "link/new.txt", "link/new/deep.txt"].map(str::to_owned));
        }
        for path in &paths {
            for (tool, arguments) in [
                ("list_files", json!({"path": path})),
                ("read_file", json!({"path": path})),
                ("search", json!({"pattern": "secret", "path": path})),
                ("edit_file", json!({"path": path, "find": "secret", "replace": "x"})),
                ("write_file", json!({"path": path, "text": "x"})),
                ("delete_file", json!({"path": path})),
                ("move_file", json!({"from": path, "to": "b.txt"})),
                ("move_file", json!({"from": "a.txt", "to": path})),
                ("run_command", json!({"command": "ls", "path": path})),
            ] {
                let answer = project.call(tool, arguments).await;
                assert!(
                    answer.starts_with("error: ") && answer.contains(" is outside the workspace"),
                    "{tool} {path}: {answer}"
                );
            }
        }
        assert!(project.context.files.proposal().is_empty());
        assert_eq!(std::fs::read_to_string(outside.path().join("secret.txt")).unwrap(), "secret\n");
    }
}
