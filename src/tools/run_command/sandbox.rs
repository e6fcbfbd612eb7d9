//! The sandbox of commands, on Linux: a command changes only the workspace and temporary folders, does not see secrets,
//! and has no network. It is the second wall; the first is the user's consent, which it does not replace.
//!
//! What a kernel cannot do is said, and never pretended: [`Powers`] are found out by trying, a [`Plan`] names the walls
//! that these can hold, and a command runs behind all walls of its plan or not at all. On other systems there are none.

#[cfg_attr(not(target_os = "linux"), path = "sandbox/elsewhere.rs")]
mod system;

pub(super) mod network;
mod report;

use std::{
    fmt,
    path::{Path, PathBuf},
    process::ExitStatus,
    sync::{Arc, Mutex, OnceLock},
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::ToolError;

pub use report::{Report, State};
pub use system::{Powers, enter, keep_private};

pub(super) use system::{Entry, Lifeline, Plan};

/// Words by which programs say that the system refused them something; in the output of a command that failed, they
/// may mean the sandbox.
const REFUSALS: [&str; 16] = [
    "permission denied",
    "operation not permitted",
    "read-only file system",
    "device or resource busy",
    "cross-device link",
    "network is unreachable",
    "could not resolve",
    "name resolution",
    "name or service not known",
    "failed to connect",
    "connection refused",
    "can only add regular files",
    "eacces",
    "eperm",
    "erofs",
    "enotfound",
];

/// Words by which git says that its settings were kept from it, in the middle of something that it ends all the same.
const KEPT_SETTINGS: [&str; 2] = ["could not write config file", "could not lock config file"];

/// What a call has to say to run without the sandbox.
pub(super) const UNSANDBOXED: &str = "\"unsandboxed\": true";

/// Where programs leave what they need for a while, beside the folder that the user may have set for it.
pub const TEMPORARY_FOLDERS: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// Why a command did not run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "elsewhere nothing is held, and so nothing fails")
)]
pub(super) enum Failure {
    /// Not all walls could be put up.
    NotHeld(String),
    /// They were, but the program could not be started.
    NotStarted(String),
}

/// How the shell of a command ended.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "elsewhere no keeper tells it"))]
pub(super) struct ShellEnd {
    pub(super) status: ExitStatus,
    /// Whether something that it started was still running.
    pub(super) left_something: bool,
}

/// The setting `sandbox`, the strictest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SandboxMode {
    /// A command that cannot have it does not run.
    On,
    /// As much of it as this system can; `askls status` says what.
    #[default]
    Auto,
    /// Commands run with all of the user's rights.
    Off,
}

/// What the sandbox of a turn's commands is made by.
#[derive(Clone, Debug)]
pub struct Sandbox {
    pub mode: SandboxMode,
    /// Whether commands may use the network.
    pub network: bool,
    /// Folders that commands may change beside the workspace and the temporary ones. A folder of secrets that is among them is
    /// shown to commands.
    pub writable: Vec<PathBuf>,
    /// Folders for files of a while, which commands may change too.
    pub temporary: Vec<PathBuf>,
    pub home: Option<PathBuf>,
    /// Git's settings of the user and the machine that lie elsewhere than in the home folder.
    pub git_settings: Vec<PathBuf>,
    /// What no command is to see beside the secrets that are known: settings of askls, what it remembers, the sockets of
    /// the user's desktop.
    pub private: Vec<PathBuf>,
    pub launcher: Launcher,
}

/// The program that starts commands in the sandbox: askls, by its hidden mode. It keeps what it found out about this
/// machine, and what commands were held to; clones share that.
#[derive(Clone)]
pub struct Launcher {
    askls: PathBuf,
    powers: Arc<OnceLock<Powers>>,
    earlier: Arc<Mutex<system::Earlier>>,
}

impl Launcher {
    /// Nothing is started yet.
    pub fn new(askls: PathBuf) -> Self {
        Self { askls, powers: Arc::default(), earlier: Arc::default() }
    }

    /// What this system can do. Blocks for some milliseconds when it is asked for the first time.
    pub fn powers(&self) -> &Powers {
        self.powers.get_or_init(|| Powers::ask(&self.askls))
    }

    /// As if the system could do no more than that.
    #[must_use]
    pub fn with_powers(self, powers: Powers) -> Self {
        Self { powers: Arc::new(OnceLock::from(powers)), ..self }
    }

    /// What keeps a program without walls, so that it ends with askls; `None` where nothing can. Blocks for some milliseconds when
    /// it is asked for the first time.
    pub(super) fn keeper(&self) -> Option<(&Path, Plan)> {
        Some((&self.askls, system::kept_only(self.powers())?))
    }

    /// What commands were held to before.
    #[cfg(target_os = "linux")]
    fn earlier(&self) -> std::sync::MutexGuard<'_, system::Earlier> {
        self.earlier.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub(super) fn askls(&self) -> &Path {
        &self.askls
    }
}

impl fmt::Debug for Launcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Launcher").field(&self.askls).finish()
    }
}

impl Sandbox {
    /// The walls for a command now; `None` when it runs without any. Blocks: the workspace is looked through. The error is
    /// a text for the model.
    pub(super) fn plan(&self, roots: &[PathBuf]) -> Result<Option<Plan>, ToolError> {
        if self.mode == SandboxMode::Off {
            return Ok(None);
        }
        let report = Report::new(self);
        if self.mode == SandboxMode::On && !report.is_enough() {
            return Err(ToolError(format!(
                "the command did not run: the setting sandbox is on, and this system cannot hold all of it ({}). \
                 Only the user can change that; askls status says more",
                report.missing.join("; ")
            )));
        }
        match report.state {
            State::Off | State::Unavailable => Ok(None),
            State::On | State::Partly => Ok(system::plan(self, roots)),
        }
    }

    /// What a command is started through, and how it is held there; `None` where nothing can keep it. Blocks for some milliseconds
    /// when it is asked for the first time.
    pub(super) fn keeper(&self, plan: Option<Plan>) -> Option<(PathBuf, Plan)> {
        let plan = plan.or_else(|| system::kept_only(self.launcher.powers()))?;
        Some((self.launcher.askls().to_owned(), plan))
    }

    /// Whether commands may be held by it: it is wanted, and systems like this one have it.
    pub(super) fn is_wanted(&self) -> bool {
        self.mode != SandboxMode::Off && cfg!(target_os = "linux")
    }

    /// Whether commands cannot see the files with secrets that are found in the workspace. Blocks for some milliseconds when it is
    /// asked for the first time.
    pub(super) fn hides_secrets(&self) -> bool {
        Report::new(self).walls.iter().any(|wall| wall.name == "secrets" && wall.missing.is_none())
    }

    /// What is in force in a workspace with these folders. Blocks: they are looked through.
    pub fn report(&self, roots: &[PathBuf]) -> Report {
        let mut report = Report::new(self);
        if matches!(report.state, State::On | State::Partly) {
            report.missing.extend(system::not_looked_at(self, roots));
        }
        report
    }
}

/// Folders of a workspace with these roots in which the sandbox does not look for secrets, so that commands see those that are
/// there. Blocks: the workspace is looked through.
pub fn not_looked_through(roots: &[PathBuf]) -> Vec<PathBuf> {
    system::not_looked_through(roots)
}

/// What an output says of settings of git that the sandbox has held, however the command ended: git goes on without them.
pub(super) fn kept_settings(output: &str) -> Option<&'static str> {
    let output = output.to_lowercase();
    KEPT_SETTINGS.iter().any(|words| output.contains(words)).then_some(
        "note: this is the sandbox: commands in it cannot change git's settings, so what git wanted to write there (which branch \
         another one follows, a remote) is not set, whatever its exit code. If it is needed, call run_command again with \
         \"unsandboxed\": true and the reason; the user is asked",
    )
}

/// What the output of a command that failed says of the sandbox, when that may be why.
pub(super) fn hint(output: &str, network: bool, reaches_out: bool) -> Option<String> {
    let output = output.to_lowercase();
    let is_refused = REFUSALS.iter().any(|words| output.contains(words)) || (reaches_out && !network);
    let network = if network { "" } else { ", reach no network" };
    is_refused.then(|| {
        format!(
            "note: this may be the sandbox: commands cannot change anything outside the workspace and temporary folders{network}, \
             or read secrets. If the command needs more, call run_command again with \"unsandboxed\": true and the reason; \
             the user is asked"
        )
    })
}
