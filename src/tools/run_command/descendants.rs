//! Finds what a command started, also what left its process group: by a variable in its environment, which children
//! inherit, and by who is whose child. What cleared its environment *and* lost its parent is not found.

use std::{
    fs::{self, File},
    io::Read as _,
    path::Path,
};

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::Command;

/// The variable that holds the mark of a command.
const VARIABLE: &str = "ASKLS_JOB";

/// Bytes of an environment that are looked at: what the kernel allows for arguments and environment by default.
const MAX_ENVIRONMENT: u64 = 2 << 20;

/// Tells the processes of one command from all others.
#[derive(Clone, Debug)]
pub(super) struct Mark(String);

impl Mark {
    pub(super) fn new() -> Self {
        Self(format!("{:032x}", rand::random::<u128>()))
    }

    pub(super) fn put_on(&self, command: &mut Command) {
        command.env(VARIABLE, &self.0);
    }

    /// The processes that carry the mark, the children of `shell` and those of `known`, and the children of all these.
    /// Not the shell itself, nor what has ended.
    pub(super) fn find(&self, shell: Option<u32>, known: &[Process]) -> Vec<Process> {
        let mut family = family(|process| {
            Some(process.id) == shell || known.iter().any(|known| known.is(process)) || self.is_on(process.id)
        });
        family.retain(|process| Some(process.id) != shell);
        family
    }

    fn is_on(&self, id: u32) -> bool {
        let mut environment = Vec::new();
        let read = File::open(Path::new("/proc").join(id.to_string()).join("environ"))
            .and_then(|file| file.take(MAX_ENVIRONMENT).read_to_end(&mut environment));
        read.is_ok() && memchr::memmem::find(&environment, self.0.as_bytes()).is_some()
    }
}

/// All that descends from this process and has not ended.
pub(super) fn of_this_process() -> Vec<Process> {
    let own = std::process::id();
    let mut family = family(|process| process.id == own);
    family.retain(|process| process.id != own);
    family
}

/// The processes for which `is_first` holds, their children, the children of these, and so on.
fn family(is_first: impl Fn(Process) -> bool) -> Vec<Process> {
    let mut family = Vec::new();
    let mut others = Vec::new();
    let names = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.file_name());
    for id in names.filter_map(|name| name.to_str()?.parse().ok()) {
        let Some(Stat { process, parent }) = Stat::of(id) else { continue };
        if is_first(process) {
            family.push(process);
        } else {
            others.push((process, parent));
        }
    }
    // A child may stand before its parent.
    loop {
        let before = family.len();
        others.retain(|(process, parent)| {
            let is_child = family.iter().any(|member: &Process| member.id == *parent);
            if is_child {
                family.push(*process);
            }
            !is_child
        });
        if family.len() == before {
            return family;
        }
    }
}

/// One process, told from a later one with the same number by its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Process {
    id: u32,
    started: u64,
    /// Its process group when it was found.
    group: u32,
}

impl Process {
    /// Whether a signal to that group reaches it.
    pub(super) fn is_in(&self, group: Option<u32>) -> bool {
        Some(self.group) == group
    }

    pub(super) fn is_alive(&self) -> bool {
        Stat::of(self.id).is_some_and(|stat| self.is(stat.process))
    }

    pub(super) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    pub(super) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    fn is(&self, other: Self) -> bool {
        (self.id, self.started) == (other.id, other.started)
    }

    /// Looks before, since the number of a process that has ended may be another's.
    fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.id).ok().and_then(Pid::from_raw);
        if let Some(id) = id.filter(|_| self.is_alive()) {
            // It may have ended in this moment.
            let _ = kill_process(id, signal);
        }
    }
}

/// What `/proc` says of a process that has not ended.
struct Stat {
    process: Process,
    parent: u32,
}

impl Stat {
    fn of(id: u32) -> Option<Self> {
        let text = fs::read_to_string(Path::new("/proc").join(id.to_string()).join("stat")).ok()?;
        Self::parse(id, &text)
    }

    fn parse(id: u32, text: &str) -> Option<Self> {
        // The second field is the program's name in parentheses and may hold anything, blanks and parentheses too.
        let (_, fields) = text.rsplit_once(") ")?;
        let mut fields = fields.split(' ');
        // Of one that has ended only the number is left, until its parent looks.
        if matches!(fields.next()?, "Z" | "X") {
            return None;
        }
        let parent = fields.next()?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        // `starttime` is the 22nd field of all.
        let started = fields.nth(16)?.parse().ok()?;
        Some(Self { process: Process { id, started, group }, parent })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_whatever_its_program_is_called() {
        let line = "42 (a) S 1 (b) S 7 40 40 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 0 0";
        let Stat { process, parent } = Stat::parse(42, line).unwrap();
        assert_eq!((process, parent), (Process { id: 42, started: 12_345, group: 40 }, 7));
        let ended = line.replace("S 7", "Z 7");
        assert!(Stat::parse(42, &ended).is_none());
    }

    #[test]
    fn this_process_is_alive_and_carries_no_mark() {
        let own = Stat::of(std::process::id()).unwrap().process;
        assert!(own.is_alive());
        assert!(!Process { started: own.started + 1, ..own }.is_alive());
        assert_eq!(Mark::new().find(None, &[]), []);
        assert_eq!(Mark::new().find(None, &[own]).first(), Some(&own));
    }
}
