//! Looks at the processes of this machine: those of one run, and no others.

use std::{
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::stretched;

/// How often is looked.
const LOOK: Duration = Duration::from_millis(10);

/// Ids of the processes that have exactly this command line and belong to the run whose folders these are: they work in
/// one of them, or have one of them in their environment.
pub(crate) fn with_command_line(line: &str, folders: &[PathBuf]) -> Vec<u32> {
    let wanted: Vec<u8> = line.split(' ').flat_map(|word| [word.as_bytes(), b"\0"].concat()).collect();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter(|entry| fs::read(entry.path().join("cmdline")).is_ok_and(|line| line == wanted))
        .filter(|entry| {
            let place = fs::read_link(entry.path().join("cwd")).unwrap_or_default();
            let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
            let environment = String::from_utf8_lossy(&environment);
            folders.iter().any(|folder| {
                place.starts_with(folder) || environment.contains(&folder.to_string_lossy().into_owned())
            })
        })
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

pub(crate) fn wait(limit: Duration, done: impl Fn() -> bool) -> bool {
    let deadline = Instant::now() + limit;
    while !done() {
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(LOOK);
    }
    true
}

/// Ends one process that this run started.
pub(crate) fn end(process: u32) {
    let _ = std::process::Command::new("kill").args(["-9", &process.to_string()]).status();
}

/// Memory of a process in megabytes.
pub(crate) fn resident_mb(process: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes / 1024.0)
}

/// What `expect.cleanup` says must be gone and is not; ends what the driver has to end itself.
pub(crate) fn left_behind(cleanup: &Value, folders: &[PathBuf]) -> Vec<String> {
    let lines = |name: &str| {
        let lines = cleanup[name].as_array().cloned().unwrap_or_default();
        lines.into_iter().filter_map(|line| line.as_str().map(str::to_owned)).collect::<Vec<_>>()
    };
    let limit = stretched(Duration::from_millis(cleanup["within_ms"].as_u64().unwrap_or(5_000)));
    let mut faults = Vec::new();
    for line in lines("no_process") {
        if !wait(limit, || with_command_line(&line, folders).is_empty()) {
            faults.push(format!("`{line}` still runs"));
            with_command_line(&line, folders).into_iter().for_each(end);
        }
    }
    for line in lines("kill_after_test") {
        with_command_line(&line, folders).into_iter().for_each(end);
    }
    faults
}
