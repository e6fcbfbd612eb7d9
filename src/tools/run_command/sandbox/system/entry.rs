//! How a command gets into the sandbox: askls starts itself in a hidden mode, which holds its own process and then starts
//! the command and keeps it. Where the command's processes have a namespace, the mode is two processes: one outside, which
//! askls sees, and the first one inside.
//!
//! The plan comes in a file in memory that both ends see. Just before the command begins it is emptied. So what askls finds in it
//! afterwards tells for certain what happened: nothing, and the command ran; the plan, and the mode never got that far;
//! anything else, and it is the reason why the command did not run.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::{self, Read, Seek as _, Write as _},
    os::{
        fd::{AsFd as _, AsRawFd as _, OwnedFd},
        unix::net::UnixStream,
    },
    path::Path,
    process::{Command, ExitCode, Stdio},
};

use rustix::fs::MemfdFlags;

use super::{
    super::Failure,
    calls, files,
    keeper::{self, Kept},
    lifeline::{self, Keeper, Lifeline},
    namespaces,
    plan::{MAX_BYTES, Plan},
    powers,
};

/// The first argument that asks for the hidden mode.
pub(super) const MODE: &str = "sandboxed-command";

/// The second: run the rest of the arguments, do so as the first process of a namespace, or say what the machine can do.
const RUN: &str = "run";
const KEEP: &str = "keep";
pub(super) const PROBE: &str = "probe";
pub(super) const PROBE_PROCESSES: &str = "probe-processes";

/// This program, as this process sees it.
pub(super) const SELF: &str = "/proc/self/exe";

/// The code with which the hidden mode ends when there is nobody to tell it why; shells use it for what cannot be run.
const NOT_RUN: u8 = 126;

/// What stands before the reason why the program behind the walls could not be started.
const NOT_STARTED: &[u8] = b"start: ";

/// Longest reason that is read, in bytes.
pub(super) const MAX_REASON_BYTES: u64 = 4_000;

/// One command that went into the sandbox.
pub(in crate::tools::run_command) struct Entry {
    control: File,
    sent: Vec<u8>,
}

impl Entry {
    /// The command that enters the sandbox and starts `program`, whose arguments are to be added; it has its standard input
    /// already: `input`, or nothing. What holds it once it is started comes with it. `askls` is the program that has the hidden mode. To be called
    /// where tokio runs.
    pub(in crate::tools::run_command) fn new(
        askls: &Path,
        plan: &Plan,
        program: &OsStr,
        input: Option<&[u8]>,
    ) -> io::Result<(Self, Command, Lifeline)> {
        let sent = Plan { has_input: input.is_some(), ..plan.clone() }.encode();
        let control = in_memory(&sent)?;
        let (near, far) = UnixStream::pair()?;
        let readers = 1 + usize::from(plan.walls.processes);
        for _ in 0..readers {
            lifeline::hand_over(&near, &control)?;
        }
        if let Some(input) = input {
            let mut file = in_memory(input)?;
            file.rewind()?;
            lifeline::hand_over(&near, &file)?;
        }
        let mut command = Command::new(askls);
        command.arg(MODE).arg(RUN).arg(program).stdin(Stdio::from(OwnedFd::from(far)));
        Ok((Self { control, sent }, command, Lifeline::new(near)?))
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

/// A file that lies on no disk.
fn in_memory(bytes: &[u8]) -> io::Result<File> {
    let mut file = File::from(rustix::fs::memfd_create("askls-sandbox", MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    Ok(file)
}

/// Does what the hidden mode does, if these arguments of the process ask for it. Reads no settings, and has to be called
/// before the process has a second thread.
pub fn enter(mut arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    if arguments.nth(1)? != MODE {
        return None;
    }
    let stage = arguments.next()?;
    if stage == PROBE {
        return Some(powers::tell());
    }
    if stage == PROBE_PROCESSES {
        return Some(powers::tell_of_processes());
    }
    let is_first = stage == KEEP;
    let number = if is_first { arguments.next() } else { None };
    let Some(program) = arguments.next() else { return Some(ExitCode::from(NOT_RUN)) };
    let Ok(line) = io::stdin().as_fd().try_clone_to_owned().map(Keeper::new) else {
        return Some(ExitCode::from(NOT_RUN));
    };
    let Ok(mut control) = line.take_file() else { return Some(ExitCode::from(NOT_RUN)) };
    let done = match is_first {
        false => outside(&mut control, line, &program, arguments),
        true => inside(&mut control, line, number.as_deref(), &program, arguments),
    };
    Some(done.unwrap_or_else(|reason| {
        // A file in memory takes what is written to it.
        let _ = control.rewind().and_then(|()| control.set_len(0)).and_then(|()| control.write_all(&reason));
        ExitCode::from(NOT_RUN)
    }))
}

/// What the process does that askls sees. The error is the reason why the command did not run.
fn outside(
    control: &mut File,
    line: Keeper,
    program: &OsString,
    arguments: impl Iterator<Item = OsString>,
) -> Result<ExitCode, Vec<u8>> {
    let plan = read_plan(control)?;
    close_others(&[control.as_raw_fd(), line.as_raw_fd()])
        .map_err(|error| format!("files that are open: {error}"))?;
    if plan.walls.namespaces {
        namespaces::enter(&plan)?;
    }
    if !plan.walls.processes {
        return become_keeper(&plan, control, line, program, arguments, Kept::ByKeeper);
    }
    namespaces::separate_processes()?;
    // Only the first process is to have them.
    drop(line);
    let mut first = Command::new(SELF);
    first.arg(MODE).arg(KEEP).arg(std::process::id().to_string()).arg(program).args(arguments);
    let ended = first.spawn().and_then(|mut first| {
        // Without it the output ends a little later.
        let _ = keeper::let_go_of_output();
        first.wait()
    });
    let ended = ended.map_err(|error| format!("the first process: {error}"))?;
    Ok(if ended.success() { ExitCode::SUCCESS } else { ExitCode::from(NOT_RUN) })
}

/// What the first process of a namespace does.
fn inside(
    control: &mut File,
    line: Keeper,
    number: Option<&OsStr>,
    program: &OsString,
    arguments: impl Iterator<Item = OsString>,
) -> Result<ExitCode, Vec<u8>> {
    // If the process outside is killed, so is this one, and the kernel ends all others.
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
        .map_err(|error| format!("the first process: {error}"))?;
    let plan = read_plan(control)?;
    namespaces::show_processes(number)?;
    become_keeper(&plan, control, line, program, arguments, Kept::ByNamespace)
}

/// Puts up the walls that hold this process and what it starts, starts the program, and keeps it.
fn become_keeper(
    plan: &Plan,
    control: &mut File,
    line: Keeper,
    program: &OsString,
    arguments: impl Iterator<Item = OsString>,
    kept: Kept,
) -> Result<ExitCode, Vec<u8>> {
    let walls = plan.walls;
    if walls.namespaces || walls.files || walls.calls {
        namespaces::drop_capabilities()?;
    }
    let landlock = if walls.files { Some(files::restrict(plan)?) } else { None };
    if walls.calls {
        calls::restrict(plan, landlock)?;
    }
    let input = if plan.has_input {
        line.take_file().map(Stdio::from).map_err(|error| format!("the input: {error}"))?
    } else {
        Stdio::null()
    };
    control.set_len(0).map_err(|error| format!("the plan cannot be cleared: {error}"))?;
    let shell = keeper::start(program, arguments, input);
    let shell = shell.map_err(|error| [NOT_STARTED, error.to_string().as_bytes()].concat())?;
    Ok(keeper::keep(&shell, line, kept))
}

fn read_plan(control: &mut File) -> Result<Plan, String> {
    let mut plan = Vec::new();
    let read = control.rewind().and_then(|()| Read::by_ref(control).take(MAX_BYTES).read_to_end(&mut plan));
    read.map_err(|error| format!("the plan cannot be read: {error}"))?;
    if plan.len() as u64 >= MAX_BYTES {
        return Err("the plan is too long".to_owned());
    }
    Plan::decode(&plan)
}

/// Closes what this process was given beside its input and output. An editor may leave files and connections open in what it
/// starts; no wall holds what is open already.
fn close_others(kept: &[i32]) -> io::Result<()> {
    const INPUT_AND_OUTPUT: i32 = 2;
    let open: Vec<i32> = fs::read_dir("/proc/self/fd")?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|number| *number > INPUT_AND_OUTPUT && !kept.contains(number))
        .collect();
    for number in open {
        // That of the list itself is closed by now.
        let _ = nix::unistd::close(number);
    }
    Ok(())
}
