//! Looks at the processes of this machine, to see that none is left behind.

use std::{fs, time::Duration, time::Instant};

use super::client::WAIT;

/// A `sleep` that no other test (and no other run) starts, to be found again by its command line.
pub struct Sleep {
    seconds: String,
}

impl Sleep {
    /// `number` keeps the tests of one process apart; the process's id keeps runs apart.
    pub fn new(number: u32) -> Self {
        Self { seconds: format!("{}.{}", 16_000 + number, std::process::id()) }
    }

    pub fn command(&self) -> String {
        format!("sleep {}", self.seconds)
    }

    pub fn wait_until_running(&self) {
        wait("does not run", || is_running(&self.command()), &self.command());
    }

    pub fn wait_until_gone(&self) {
        wait("is still there", || !is_running(&self.command()), &self.command());
    }
}

fn wait(fault: &str, done: impl Fn() -> bool, command: &str) {
    let deadline = Instant::now() + WAIT;
    while !done() {
        assert!(Instant::now() < deadline, "{command} {fault} after {WAIT:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Whether a process has exactly this command line.
fn is_running(command: &str) -> bool {
    let wanted = command.replace(' ', "\0") + "\0";
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|entry| fs::read(entry.path().join("cmdline")).ok())
        .any(|line| line == wanted.as_bytes())
}
