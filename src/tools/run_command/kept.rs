//! A program of the user's that gets one text, kept like a command: it ends with askls, however that ends.

use std::{
    ffi::OsStr,
    io,
    path::Path,
    process::{ExitStatus, Stdio},
};

use tokio::process::Command;

use super::{
    environment,
    sandbox::{Entry, Failure, Launcher},
    tree::Tree,
};

/// What is run, and where.
pub(in crate::tools) struct Program<'a> {
    pub(in crate::tools) program: &'a OsStr,
    pub(in crate::tools) arguments: &'a [String],
    pub(in crate::tools) folder: &'a Path,
    /// A variable that it must not see, beside those whose names tell that they are secret.
    pub(in crate::tools) hidden_variable: Option<&'a str>,
    /// What it may read.
    pub(in crate::tools) input: &'a [u8],
}

/// A program that was started.
pub(in crate::tools) struct Kept {
    pub(in crate::tools) tree: Tree,
    /// How it got to its keeper, if it has one.
    entry: Option<Entry>,
}

impl Kept {
    /// Without a keeper the input is still to be written to the program's pipe. `launcher` is asked before whether there is
    /// one: see [`Launcher::powers`].
    pub(in crate::tools) fn start(launcher: Option<&Launcher>, program: &Program<'_>) -> io::Result<Self> {
        let (entry, mut command, lifeline) = match launcher.and_then(Launcher::keeper) {
            Some((askls, plan)) => {
                let (entry, command, lifeline) =
                    Entry::new(askls, &plan, program.program, Some(program.input))?;
                (Some(entry), Command::from(command), Some(lifeline))
            }
            None => {
                let mut command = Command::new(program.program);
                command.stdin(Stdio::piped());
                (None, command, None)
            }
        };
        command
            .args(program.arguments)
            .current_dir(program.folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        environment::prepare(&mut command, program.hidden_variable);
        Ok(Self { tree: Tree::start(command, lifeline)?, entry })
    }

    /// Waits for the program's end. The error says why it has none.
    pub(in crate::tools) async fn exit(&mut self) -> Result<ExitStatus, String> {
        let status = self.tree.shell_exit().await;
        match self.entry.as_mut().and_then(Entry::failure) {
            Some(Failure::NotHeld(reason) | Failure::NotStarted(reason)) => {
                Err(format!("it could not be started: {reason}"))
            }
            None => status.map_err(|error| format!("its end could not be awaited: {error}")),
        }
    }
}
