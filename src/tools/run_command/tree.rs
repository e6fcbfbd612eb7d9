//! A command's processes: the shell and all that it started. Whatever way this ends, none of them runs on that can be
//! found.

use std::{io, process::ExitStatus, time::Duration};

use process_wrap::tokio::{ChildWrapper, CommandWrap};
#[cfg(unix)]
use tokio::signal::unix::SignalKind;
use tokio::{
    process::{ChildStderr, ChildStdin, ChildStdout, Command},
    time::{sleep, timeout},
};

use super::{
    descendants::{Mark, Process},
    sandbox::{Lifeline, ShellEnd},
};

/// Between two looks at whether the processes that got a signal are gone.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// How long a keeper may take to end what it keeps. The kernel needs some milliseconds.
const KEEPER_WAIT: Duration = Duration::from_millis(300);

/// How often what is left is killed: more than once, since a process may start another in the moment of a look.
const KILL_ROUNDS: usize = 20;

/// The shell and all that it started. Where a keeper has them, it knows them all, and ends them when its lifeline goes; elsewhere
/// they are the shell's process group and what left that.
pub(in crate::tools) struct Tree {
    /// The shell, or its keeper.
    child: Box<dyn ChildWrapper>,
    lifeline: Option<Lifeline>,
    /// What the keeper said of the shell.
    shell_end: Option<ShellEnd>,
    mark: Mark,
    /// The child's group, which has the child's number.
    group: Option<u32>,
    /// What was found outside of the group when it was last looked for.
    strays: Vec<Process>,
    /// The tree was ended: its group's number may belong to someone else by now.
    is_over: bool,
}

impl Tree {
    /// `lifeline` is that of the keeper which `command` starts, if it does.
    pub(super) fn start(mut command: Command, lifeline: Option<Lifeline>) -> io::Result<Self> {
        let mark = Mark::new();
        mark.put_on(&mut command);
        let mut command = CommandWrap::from(command);
        // A session of its own, so that no program in it can ask on the terminal that askls was started from.
        #[cfg(unix)]
        command.wrap(process_wrap::tokio::ProcessSession);
        #[cfg(windows)]
        command.wrap(process_wrap::tokio::KillOnDrop).wrap(process_wrap::tokio::JobObject);
        let child = command.spawn()?;
        let group = child.id();
        Ok(Self { child, lifeline, shell_end: None, mark, group, strays: Vec::new(), is_over: false })
    }

    /// The pipes that the shell was started with, each once.
    pub(in crate::tools) fn pipes(
        &mut self,
    ) -> (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>) {
        (self.child.stdin().take(), self.child.stdout().take(), self.child.stderr().take())
    }

    /// Waits for the shell alone: the wrapper would wait for its whole group, which a background process may
    /// keep for ever.
    pub(in crate::tools) async fn shell_exit(&mut self) -> io::Result<ExitStatus> {
        if let (None, Some(lifeline)) = (self.shell_end, &mut self.lifeline) {
            self.shell_end = lifeline.shell_end().await;
            match self.shell_end {
                Some(end) => self.is_over = !end.left_something,
                // The keeper has ended: it started no shell, or was killed.
                None => self.lifeline = None,
            }
        }
        match self.shell_end {
            Some(end) => Ok(end.status),
            None => self.child.inner_mut().wait().await,
        }
    }

    /// Looks for what left the group.
    pub(in crate::tools) async fn look(&mut self) {
        if self.lifeline.is_some() {
            return;
        }
        let (mark, shell, known) = (self.mark.clone(), self.child.id(), std::mem::take(&mut self.strays));
        // Reads a few files of every process on the machine.
        let found = tokio::task::spawn_blocking(move || mark.find(shell, &known)).await;
        self.take_in(found.unwrap_or_default());
    }

    fn take_in(&mut self, found: Vec<Process>) {
        self.strays = found;
        self.strays.retain(|process| !process.is_in(self.group));
    }

    /// Whether any process is left. Where that cannot be asked, there may always be one.
    pub(in crate::tools) fn is_alive(&self) -> bool {
        if self.is_over || self.lifeline.is_some() {
            return !self.is_over;
        }
        #[cfg(unix)]
        {
            // The one signal that does nothing to programs that have not asked for it.
            let group_is_alive = self.child.signal(SignalKind::window_change().as_raw_value()).is_ok();
            group_is_alive || self.strays.iter().any(Process::is_alive)
        }
        #[cfg(not(unix))]
        {
            true
        }
    }

    /// Waits until none is left. Where that cannot be asked, it only waits for the shell.
    pub(super) async fn gone(&mut self) {
        if self.lifeline.is_some() && !self.is_over {
            self.keeper_exit().await;
        }
        while cfg!(unix) && self.is_alive() {
            sleep(LOOK_AGAIN).await;
        }
    }

    /// Waits for the end of the keeper. One that ends by itself leaves nothing behind.
    async fn keeper_exit(&mut self) {
        let ended = self.child.inner_mut().wait().await;
        self.lifeline = None;
        self.is_over = ended.is_ok_and(|status| status.success());
    }

    /// Asks all processes to end.
    pub(super) fn terminate(&self) {
        if let Some(lifeline) = &self.lifeline {
            lifeline.terminate();
            return;
        }
        #[cfg(unix)]
        {
            // There may be none left.
            let _ = self.child.signal(SignalKind::terminate().as_raw_value());
            self.strays.iter().for_each(Process::terminate);
        }
    }

    /// Ends all processes, those too that are started meanwhile.
    pub(in crate::tools) async fn kill(&mut self) {
        if self.lifeline.take().is_some() && !self.is_over {
            let _ = timeout(KEEPER_WAIT, self.keeper_exit()).await;
        }
        if self.is_over {
            return;
        }
        for _ in 0..KILL_ROUNDS {
            self.kill_known();
            self.look().await;
            if self.strays.is_empty() {
                return;
            }
            sleep(LOOK_AGAIN).await;
        }
    }

    fn kill_known(&mut self) {
        // There may be none left.
        let _ = self.child.start_kill();
        self.strays.iter().for_each(Process::kill);
    }

    /// Nothing is left that could be ended.
    pub(in crate::tools) fn set_over(&mut self) {
        self.is_over = true;
    }
}

impl Drop for Tree {
    /// The call was dropped: there is no time for more than the signal that cannot be refused.
    fn drop(&mut self) {
        // A keeper sees its lifeline go.
        if self.is_over || self.lifeline.is_some() {
            return;
        }
        let found = self.mark.find(self.child.id(), &self.strays);
        self.take_in(found);
        self.kill_known();
    }
}
