//! Runs one command to its end, its time-out, or its cancelling, and ends its whole process tree.

use std::{
    fmt, io,
    path::PathBuf,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use tokio::{
    process::Command,
    time::{Instant, sleep_until, timeout, timeout_at},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    super::{ToolError, cancelled, printed::Printed},
    environment,
    pipe::{self, Reader},
    recorder::{Record, Recorder},
    sandbox::{Entry, Failure, Plan},
    tree::Tree,
    unsaid::unsaid,
};

/// How long the output is awaited after the shell has ended: a background process may hold the pipe for ever, and what
/// was printed just before the end may still be in it.
const DRAIN: Duration = Duration::from_secs(2);

/// Between the polite signal and the one that cannot be refused.
const MERCY: Duration = Duration::from_millis(200);

/// How long a killed process may take to be gone. Only one that hangs in the kernel takes longer.
const LAST_WAIT: Duration = Duration::from_millis(500);

/// How long a call that is cancelled waits for its processes to be gone. Most programs need a few milliseconds; those that
/// refuse are ended while the turn is over already.
const CANCEL_WAIT: Duration = Duration::from_millis(25);

/// How long helpers of a command that has ended may take to end by themselves: most do so a moment after it, and nothing
/// that was meant to go on was ended then.
const LEAVING: Duration = Duration::from_millis(100);

/// Bytes read at once; the size of a Linux pipe.
const READ_BYTES: usize = 64 * 1024;

/// What is run, and where.
pub(super) struct CommandLine {
    /// Program and first arguments; not empty.
    pub(super) shell: Vec<String>,
    pub(super) command: String,
    pub(super) folder: PathBuf,
    /// A variable that the command must not see, beside those whose names tell that they are secret.
    pub(super) hidden_variable: Option<String>,
    /// The program that keeps it, and the walls around it.
    pub(super) keeper: Option<(PathBuf, Plan)>,
}

/// What a command is watched by while it runs.
pub(super) struct Watch<'a> {
    /// After that it is ended; `None` for one that may run as long as who started it.
    pub(super) timeout: Option<Duration>,
    pub(super) cancel: &'a CancellationToken,
    pub(super) recorder: Recorder,
    /// Keeps the tasks that end what a cancelled command leaves behind.
    pub(super) tasks: &'a TaskTracker,
}

/// How a command ended, and what it printed until then.
pub(super) struct Finished {
    pub(super) ended: Ended,
    pub(super) record: Record,
    pub(super) duration: Duration,
    pub(super) left: Left,
    /// What is to be said of what came to be meanwhile, and of hidden files that the output names. Of a cancelled command the turn
    /// does not wait for it.
    pub(super) notes: String,
    /// Whether they say what of the sandbox was in its way.
    pub(super) is_explained: bool,
}

impl Finished {
    /// Whether it ended by itself, and by its own word not well.
    pub(super) fn has_failed(&self) -> bool {
        matches!(self.ended, Ended::Exited(status) if !status.success())
    }
}

/// What of a command was still running after its shell had ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    Nothing,
    /// Processes that run no more. (Some may have ended by themselves just before.)
    Ended,
    /// Something that holds the output open and cannot be found.
    Escaped,
    /// The shell did not end by itself, and all was ended with it.
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Exited(ExitStatus),
    TimedOut,
    Cancelled,
}

/// Runs the command. Whatever way this ends, by being dropped too, nothing of it runs on that can be found; what a
/// cancelled command leaves behind is ended a moment later.
pub(super) async fn run(line: CommandLine, watch: Watch<'_>) -> Result<Finished, ToolError> {
    let Watch { timeout: limit, cancel, recorder, tasks } = watch;
    if cancel.is_cancelled() {
        return Err(cancelled());
    }
    let start = Instant::now();
    let Spawned { tree, output, mut entry } = spawn(&line).map_err(|error| not_started(&line, &error))?;
    let mut running = Running { tree, output: Some(output), recorder, buffer: vec![0; READ_BYTES] };
    let time_is_up = async {
        match limit {
            Some(limit) => sleep_until(start + limit).await,
            None => std::future::pending().await,
        }
    };
    let mut notes = String::new();
    let look_meanwhile = async {
        match &line.keeper {
            Some((_, plan)) => plan.look_meanwhile(&mut notes).await,
            None => std::future::pending().await,
        }
    };
    let ended = tokio::select! {
        biased;
        () = cancel.cancelled() => Ended::Cancelled,
        () = time_is_up => Ended::TimedOut,
        never = look_meanwhile => match never {},
        status = running.exit() => Ended::Exited(status.map_err(|error| {
            ToolError(format!("the command's end could not be awaited: {error}"))
        })?),
    };
    let duration = start.elapsed();
    if let Ended::Exited(_) = ended {
        tokio::select! {
            biased;
            () = cancel.cancelled() => {}
            () = async {
                let _ = timeout_at(Instant::now() + DRAIN, running.read_to_end()).await;
                let _ = timeout(LEAVING, running.gone()).await;
            } => {}
        }
    }
    if cancel.is_cancelled() {
        let record = running.leave_behind(tasks, line.keeper.map(|(_, plan)| plan)).await;
        return Ok(Finished {
            ended,
            record,
            duration,
            left: Left::All,
            notes: String::new(),
            is_explained: false,
        });
    }
    let there_were_more = running.end_tree().await;
    if let Ended::Exited(_) = ended {
        match entry.as_mut().and_then(Entry::failure) {
            None => {}
            Some(Failure::NotStarted(error)) => return Err(not_started(&line, &error)),
            Some(Failure::NotHeld(reason)) => {
                return Err(ToolError(format!(
                    "the command did not run, since its sandbox could not be put up: {reason}. Tell the user, who can look at \
                     askls status"
                )));
            }
        }
    }
    let left = match ended {
        _ if running.output.is_some() => Left::Escaped,
        Ended::Exited(_) if there_were_more => Left::Ended,
        Ended::Exited(_) => Left::Nothing,
        Ended::TimedOut | Ended::Cancelled => Left::All,
    };
    let record = running.recorder.finish().await;
    let mut is_explained = false;
    if let Some((_, plan)) = &line.keeper {
        notes.extend(plan.arrived().await);
        let hidden = match plan.hidden_in(&record.text) {
            None => unsaid(&line, plan).await,
            said => said,
        };
        is_explained = hidden.is_some();
        notes.extend(hidden);
    }
    Ok(Finished { ended, record, duration, left, notes, is_explained })
}

fn not_started(line: &CommandLine, error: &dyn fmt::Display) -> ToolError {
    let shell = line.shell.first().map_or("", String::as_str);
    ToolError(format!("the shell {shell} could not be started in {}: {error}", line.folder.display()))
}

/// A command that was started.
struct Spawned {
    tree: Tree,
    output: Reader,
    /// How it got to its keeper, if it has one.
    entry: Option<Entry>,
}

fn spawn(line: &CommandLine) -> io::Result<Spawned> {
    let [program, first_arguments @ ..] = line.shell.as_slice() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no shell is set"));
    };
    let (output, stdout, stderr) = pipe::pipe()?;
    let (entry, mut command, lifeline) = match &line.keeper {
        Some((askls, plan)) => {
            let (entry, command, lifeline) = Entry::new(askls, plan, program.as_ref(), None)?;
            (Some(entry), Command::from(command), Some(lifeline))
        }
        None => {
            let mut command = Command::new(program);
            command.stdin(Stdio::null());
            (None, command, None)
        }
    };
    command.args(first_arguments).current_dir(&line.folder);
    // `cmd` reads its command line by rules of its own, which quoting as for other programs would break.
    #[cfg(windows)]
    if program.eq_ignore_ascii_case("cmd.exe") || program.eq_ignore_ascii_case("cmd") {
        command.raw_arg(&line.command);
    } else {
        command.arg(&line.command);
    }
    #[cfg(not(windows))]
    command.arg(&line.command);
    environment::prepare(&mut command, line.hidden_variable.as_deref());
    command.stdout(stdout).stderr(stderr);
    // The writing ends go with `command` when this returns: only the child's own are left.
    Ok(Spawned { tree: Tree::start(command, lifeline)?, output, entry })
}

struct Running {
    tree: Tree,
    /// `None` after its end.
    output: Option<Reader>,
    recorder: Recorder,
    buffer: Vec<u8>,
}

impl Running {
    /// Reads output until the shell has ended.
    async fn exit(&mut self) -> io::Result<ExitStatus> {
        let Self { tree, output, recorder, buffer } = self;
        tokio::select! {
            biased;
            status = tree.shell_exit() => status,
            () = read_to_end(output, recorder, buffer) => tree.shell_exit().await,
        }
    }

    /// Reads until no process holds the pipe any more.
    async fn read_to_end(&mut self) {
        read_to_end(&mut self.output, &mut self.recorder, &mut self.buffer).await;
    }

    /// The kill ladder; says whether there was anything to end.
    async fn end_tree(&mut self) -> bool {
        let held_output = self.output.is_some();
        self.tree.look().await;
        let was_alive = self.tree.is_alive();
        if was_alive {
            self.tree.terminate();
            let _ = timeout_at(Instant::now() + MERCY, self.gone()).await;
            self.tree.kill().await;
            // None can refuse this signal, so it is enough to see the shell go and to read what is in the pipe.
            let last = async {
                let _ = self.exit().await;
                self.read_to_end().await;
            };
            let _ = timeout_at(Instant::now() + LAST_WAIT, last).await;
        }
        self.tree.set_over();
        was_alive && (cfg!(unix) || held_output)
    }

    /// Ends the tree in a task of its own, since a turn that was cancelled does not wait for programs that refuse to end.
    /// Gives what was printed until now.
    async fn leave_behind(mut self, tasks: &TaskTracker, plan: Option<Plan>) -> Record {
        let recorder = std::mem::replace(&mut self.recorder, Recorder::new(None, Printed::default()));
        let ending = tasks.spawn(async move {
            self.end_tree().await;
            // It is in the log.
            if let Some(plan) = plan {
                let _ = plan.arrived().await;
            }
        });
        // Its task goes on by itself.
        let _ = timeout(CANCEL_WAIT, ending).await;
        recorder.finish().await
    }

    /// Waits until no process is left, and reads what they had printed.
    async fn gone(&mut self) {
        // An error means that there is nothing to wait for.
        let _ = self.exit().await;
        let Self { tree, output, recorder, buffer } = self;
        tokio::select! {
            biased;
            () = tree.gone() => {}
            () = read_for_ever(output, recorder, buffer) => {}
        }
        self.read_to_end().await;
    }
}

async fn read_for_ever(output: &mut Option<Reader>, recorder: &mut Recorder, buffer: &mut [u8]) {
    read_to_end(output, recorder, buffer).await;
    std::future::pending().await
}

/// Cancel-safe: what was read is in `recorder` before the next wait.
async fn read_to_end(output: &mut Option<Reader>, recorder: &mut Recorder, buffer: &mut [u8]) {
    while let Some(reader) = output {
        // A command that prints without end must not keep a time-out or a cancel from being seen.
        tokio::task::yield_now().await;
        recorder.make_room().await;
        match reader.read(buffer).await {
            Ok(0) | Err(_) => *output = None,
            Ok(count) => recorder.push(buffer.get(..count).unwrap_or_default()),
        }
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests;
