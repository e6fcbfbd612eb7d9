//! How a command gets into the sandbox: askls starts itself in a hidden mode, which holds its own process and then
//! becomes the command. So the process keeps its number and its group, and nothing is left around the command.
//!
//! The plan comes as the standard input, a file in memory that both ends see. Just before the command begins it is
//! emptied. So what askls finds in it afterwards tells for certain what happened: nothing, and the command ran; the
//! plan, and the mode never got that far; anything else, and it is the reason why the command did not run.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::{self, Read, Seek as _, Write as _},
    os::{
        fd::{AsFd as _, AsRawFd as _},
        unix::process::CommandExt as _,
    },
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
};

use rustix::fs::MemfdFlags;

use super::{
    super::Failure,
    calls, files, namespaces,
    plan::{MAX_BYTES, Plan},
    powers,
};

/// The first argument that asks for the hidden mode.
pub(super) const MODE: &str = "sandboxed-command";

/// The second: run the rest of the arguments, or say what the machine can do.
const RUN: &str = "run";
pub(super) const PROBE: &str = "probe";

/// The code with which the hidden mode ends when there is nobody to tell it why; shells use it for what cannot be run.
const NOT_RUN: u8 = 126;

/// What stands before the reason why the program behind the walls could not be started.
const NOT_STARTED: &[u8] = b"start: ";

/// Longest reason that is read, in bytes.
pub(super) const MAX_REASON_BYTES: u64 = 4_000;

/// One command on its way into the sandbox.
pub(in crate::tools::run_command) struct Entry {
    askls: PathBuf,
    control: File,
    sent: Vec<u8>,
}

impl Entry {
    /// `askls` is the program that has the hidden mode.
    pub(in crate::tools::run_command) fn new(askls: &Path, plan: &Plan) -> io::Result<Self> {
        let mut control = File::from(rustix::fs::memfd_create("askls-sandbox", MemfdFlags::CLOEXEC)?);
        let sent = plan.encode();
        control.write_all(&sent)?;
        Ok(Self { askls: askls.to_owned(), control, sent })
    }

    /// The command that enters the sandbox and becomes `program`, whose arguments are to be added. It has its standard
    /// input already.
    pub(in crate::tools::run_command) fn command(&self, program: &OsStr) -> io::Result<Command> {
        let mut command = Command::new(&self.askls);
        command.arg(MODE).arg(RUN).arg(program).stdin(Stdio::from(self.control.try_clone()?));
        Ok(command)
    }

    /// Why the command did not run; `None` if it did. To be asked after its process has ended.
    pub(in crate::tools::run_command) fn failure(&mut self) -> Option<Failure> {
        let mut left = Vec::new();
        let read = self.control.rewind().and_then(|()| {
            let most = MAX_REASON_BYTES.max(self.sent.len() as u64 + 1);
            (&mut self.control).take(most).read_to_end(&mut left)
        });
        let not_held = |reason: &str| Some(Failure::NotHeld(reason.to_owned()));
        match read {
            Err(error) => not_held(&error.to_string()),
            Ok(0) => None,
            Ok(_) if left == self.sent => not_held("its process ended before the sandbox was up"),
            Ok(_) => match left.strip_prefix(NOT_STARTED) {
                Some(reason) => Some(Failure::NotStarted(String::from_utf8_lossy(reason).into_owned())),
                None => not_held(&String::from_utf8_lossy(&left)),
            },
        }
    }
}

/// Does what the hidden mode does, if these arguments of the process ask for it; returns only when there is no command
/// to become. Reads no settings, and has to be called before the process has a second thread.
pub fn enter(mut arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    if arguments.nth(1)? != MODE {
        return None;
    }
    if arguments.next()? == PROBE {
        return Some(powers::tell());
    }
    let Some(program) = arguments.next() else { return Some(ExitCode::from(NOT_RUN)) };
    let Ok(mut control) = io::stdin().as_fd().try_clone_to_owned().map(File::from) else {
        return Some(ExitCode::from(NOT_RUN));
    };
    let reason = match prepare(&mut control) {
        Err(reason) => reason.into_bytes(),
        Ok(()) => {
            let error = Command::new(&program).args(arguments).exec();
            [NOT_STARTED, error.to_string().as_bytes()].concat()
        }
    };
    // A file in memory takes what is written to it.
    let _ = control.rewind().and_then(|()| control.set_len(0)).and_then(|()| control.write_all(&reason));
    Some(ExitCode::from(NOT_RUN))
}

/// Puts up the walls of the plan in `control`, all of them; at the end `control` is empty and no longer the input.
fn prepare(control: &mut File) -> Result<(), String> {
    let mut plan = Vec::new();
    let read = control.rewind().and_then(|()| Read::by_ref(control).take(MAX_BYTES).read_to_end(&mut plan));
    read.map_err(|error| format!("the plan cannot be read: {error}"))?;
    if plan.len() as u64 >= MAX_BYTES {
        return Err("the plan is too long".to_owned());
    }
    close_others(control).map_err(|error| format!("files that are open: {error}"))?;
    put_up(&Plan::decode(&plan)?)?;
    let input = File::open("/dev/null").map_err(|error| format!("/dev/null: {error}"))?;
    rustix::stdio::dup2_stdin(&input).map_err(|error| format!("standard input: {error}"))?;
    control.set_len(0).map_err(|error| format!("the plan cannot be cleared: {error}"))
}

/// Closes what this process was given beside its input and output. An editor may leave files and connections open in what it
/// starts; no wall holds what is open already.
fn close_others(control: &File) -> io::Result<()> {
    const INPUT_AND_OUTPUT: i32 = 2;
    let open: Vec<i32> = fs::read_dir("/proc/self/fd")?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|number| *number > INPUT_AND_OUTPUT && *number != control.as_raw_fd())
        .collect();
    for number in open {
        // That of the list itself is closed by now.
        let _ = nix::unistd::close(number);
    }
    Ok(())
}

fn put_up(plan: &Plan) -> Result<(), String> {
    let walls = plan.walls;
    if walls.namespaces {
        namespaces::enter(plan)?;
    }
    namespaces::drop_capabilities()?;
    let landlock = if walls.files { Some(files::restrict(plan)?) } else { None };
    if walls.calls {
        calls::restrict(plan, landlock)?;
    }
    Ok(())
}
