//! The key that a command prints. The second place, beside the command tool, that may start a process: the command is
//! the user's own and part of the settings.

use std::{
    io,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use futures::future::BoxFuture;
use process_wrap::tokio::{ChildWrapper, CommandWrap};
use secrecy::SecretString;
use tokio::{io::AsyncReadExt, process::Command};

use crate::{model::select, workspace::keys::KnownKeys};

use super::schema::CommandLine;

/// Password managers answer at once, or after a touch; one that waits longer waits for a window that nobody sees.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Keys have some hundred bytes; this keeps a command that never ends its output from filling the memory.
const LONGEST_OUTPUT: u64 = 16 * 1024;

/// Runs the user's command each time a key is asked for; without a shell, so that nothing in it is expanded.
pub struct KeyCommand {
    command: CommandLine,
    /// Where it is set, as people call it.
    place: String,
    timeout: Duration,
    /// Gets each key that was printed.
    known_keys: KnownKeys,
}

impl KeyCommand {
    /// `place` is where the command is set, for errors.
    pub fn new(command: CommandLine, place: String, known_keys: KnownKeys) -> Self {
        Self { command, place, timeout: TIMEOUT, known_keys }
    }

    /// The first line of the output, as password managers print the password before everything else.
    async fn run(&self) -> Result<SecretString, String> {
        let Some((program, arguments)) = self.command.0.split_first() else {
            return Err("api_key_command names no program".to_owned());
        };
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut tree = Tree::start(command)
            .map_err(|error| format!("api_key_command: {program} cannot be started: {error}"))?;
        let mut output = String::new();
        let finish = async {
            if let Some(stdout) = tree.child.stdout().take() {
                // Whatever is no UTF-8 is no key.
                let _ = stdout.take(LONGEST_OUTPUT).read_to_string(&mut output).await;
            }
            tree.end().await
        };
        let status = tokio::time::timeout(self.timeout, finish)
            .await
            .map_err(|_| {
                format!("api_key_command: {program} did not end within {} s", self.timeout.as_secs())
            })?
            .map_err(|error| format!("api_key_command: {program}: {error}"))?;
        if !status.success() {
            return Err(format!(
                "api_key_command: {program} ended with {status}; run it in a terminal to see why"
            ));
        }
        let key = output.lines().next().unwrap_or_default().trim();
        if key.is_empty() || !key.chars().all(|c| c.is_ascii_graphic()) {
            return Err(format!("api_key_command: the first line that {program} printed is not a key"));
        }
        self.known_keys.add(key);
        Ok(SecretString::from(key))
    }
}

/// The command and all that it started. Dropped before its end, as by a time-out or a cancelled turn, it is killed as
/// a whole: a shell's child would wait for its touch for ever.
struct Tree {
    child: Box<dyn ChildWrapper>,
    /// The command has ended: its group's number may belong to someone else by now.
    is_over: bool,
}

impl Tree {
    fn start(command: Command) -> io::Result<Self> {
        let mut command = CommandWrap::from(command);
        // Not a session of its own: a password manager may need the terminal or the desktop of its user.
        #[cfg(unix)]
        command.wrap(process_wrap::tokio::ProcessGroup::leader());
        #[cfg(windows)]
        command.wrap(process_wrap::tokio::KillOnDrop).wrap(process_wrap::tokio::JobObject);
        Ok(Self { child: command.spawn()?, is_over: false })
    }

    /// Waits for the command alone, not for helpers that it leaves behind on purpose, as agents that keep a key.
    async fn end(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.inner_mut().wait().await;
        self.is_over = status.is_ok();
        status
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        if !self.is_over {
            // There may be none left.
            let _ = self.child.start_kill();
        }
    }
}

impl select::KeyCommand for KeyCommand {
    fn key(&self) -> BoxFuture<'_, Result<SecretString, String>> {
        Box::pin(async { self.run().await.map_err(|error| format!("{}: {error}", self.place)) })
    }
}

#[cfg(all(test, unix))]
mod tests;
