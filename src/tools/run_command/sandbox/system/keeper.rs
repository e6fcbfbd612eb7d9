//! The process that keeps a command: it starts the shell, takes over what loses its parent, and ends all of it when it is told to
//! or when askls is gone. A command cannot get away from it, whatever it does with its environment, its session or its
//! parents.
//!
//! Where processes have a namespace, the keeper is the first in it, with which the kernel ends all others. Elsewhere it asks the
//! kernel to give it the orphans among what it started.

use std::{
    ffi::OsString,
    fs::File,
    io,
    os::unix::process::CommandExt as _,
    process::{Child, Command, ExitCode, Stdio},
    sync::mpsc::{self, Sender},
    thread,
    time::Duration,
};

use rustix::process::WaitOptions;

use super::{
    super::super::descendants,
    lifeline::{Heard, Keeper},
};

/// Between two rounds of killing: what is killed may have started something in the moment before.
const KILL_AGAIN: Duration = Duration::from_millis(5);

/// How what is left of a command is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// By the end of the keeper.
    ByNamespace,
    /// One by one.
    ByKeeper,
}

enum Event {
    Heard(Heard),
    NothingLeft,
}

/// Starts the program. From here on, this process keeps what the kernel gives it.
pub(super) fn start(
    program: &OsString,
    arguments: impl Iterator<Item = OsString>,
    input: Stdio,
) -> io::Result<Child> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    // The command cannot look into the keeper, nor change what it does.
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?;
    // A group of its own: signals that the command sends to its group do not reach the keeper.
    let shell = Command::new(program).args(arguments).stdin(input).process_group(0).spawn()?;
    // Without it the output ends a little later.
    let _ = let_go_of_output();
    Ok(shell)
}

/// The output ends with the last of the command's processes that has it, and not with the one that keeps them.
pub(super) fn let_go_of_output() -> io::Result<()> {
    let nowhere = File::options().write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&nowhere)?;
    rustix::stdio::dup2_stderr(&nowhere)?;
    Ok(())
}

/// Waits until nothing is left of what `shell` has started, by itself or by force.
pub(super) fn keep(shell: &Child, line: Keeper, kept: Kept) -> ExitCode {
    let (sender, events) = mpsc::channel();
    let shell = shell.id();
    let (Ok(hearing), waiting) = (line.try_clone(), sender.clone()) else { return ExitCode::FAILURE };
    let listening = thread::Builder::new().spawn(move || listen(hearing, &sender));
    let burying = thread::Builder::new().spawn(move || bury(shell, line, &waiting));
    if listening.is_err() || burying.is_err() {
        return ExitCode::FAILURE;
    }
    for event in &events {
        match (event, kept) {
            (Event::NothingLeft, _) | (Event::Heard(Heard::End), Kept::ByNamespace) => break,
            (Event::Heard(Heard::Terminate), _) => {
                descendants::of_this_process().iter().for_each(descendants::Process::terminate);
            }
            (Event::Heard(Heard::End), Kept::ByKeeper) => {
                // Orphans come to this process, so that the last round finds all.
                while !matches!(events.recv_timeout(KILL_AGAIN), Ok(Event::NothingLeft)) {
                    descendants::of_this_process().iter().for_each(descendants::Process::kill);
                }
                break;
            }
        }
    }
    ExitCode::SUCCESS
}

fn listen(mut line: Keeper, events: &Sender<Event>) {
    loop {
        let heard = line.hear();
        if events.send(Event::Heard(heard)).is_err() || heard == Heard::End {
            return;
        }
    }
}

/// Looks at each child that has ended, and tells how the shell did.
fn bury(shell: u32, mut line: Keeper, events: &Sender<Event>) {
    let is_shell = |id: rustix::process::Pid| u32::try_from(id.as_raw_pid()) == Ok(shell);
    loop {
        let (id, status) = match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some(ended)) => ended,
            Ok(None) | Err(rustix::io::Errno::INTR) => continue,
            // There is no child.
            Err(_) => break,
        };
        if is_shell(id) {
            // What it had started is this process's child by now. What has ended of it is not left.
            let left = loop {
                match rustix::process::wait(WaitOptions::NOHANG) {
                    Ok(Some(_)) => {}
                    Ok(None) => break true,
                    Err(_) => break false,
                }
            };
            line.tell(status.as_raw(), left);
        }
    }
    // Nobody may wait for it any more.
    let _ = events.send(Event::NothingLeft);
}
