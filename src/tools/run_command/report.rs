//! What the model is told of a command that has ended.

use std::{process::ExitStatus, time::Duration};

use super::{
    super::cancelled,
    process::{Ended, Finished, Left},
    sandbox,
};

/// What the output says about commands that read what is only staged.
const WITHOUT_EDITS: &str =
    "note: your staged edits are not on disk yet; the command saw the files without them";

/// Whether what left the process group of a command is found.
const FINDS_ALL: bool = cfg!(target_os = "linux");

/// What is known of a command beside how it went.
pub(super) struct Report {
    /// After which it was to be ended.
    pub(super) timeout: Option<Duration>,
    /// What is said of that time besides, where it is the project's.
    pub(super) timeout_set_by: String,
    pub(super) edits_are_staged: bool,
    /// Whether its sandbox had a network; `None` for a command without a sandbox.
    pub(super) network_in_sandbox: Option<bool>,
    /// Whether it plainly wants the network: many programs fail without a word about it.
    pub(super) reaches_out: bool,
}

impl Report {
    /// What a command printed and how it ended. However that was it is no error of the tool: an exit code is none either,
    /// and what the command printed is for the model as it is.
    pub(super) fn text(&self, finished: &Finished) -> String {
        let first = match finished.ended {
            Ended::Cancelled => cancelled().to_string(),
            _ => self.ending(finished),
        };
        let output = match finished.record.text.trim_end_matches('\n') {
            "" => "(no output)",
            output => output,
        };
        let mut text = format!("{first}\n{output}");
        if let Some(name) = &finished.record.whole {
            text.push_str(&format!("\nnote: the whole output is {name}; read_file reads any lines of it"));
        }
        text.push_str(match finished.left {
            Left::Nothing => "",
            Left::Ended if FINDS_ALL => {
                "\nnote: what the command left running was ended with it; use background for what has to go on"
            }
            Left::Ended => {
                "\nnote: what the command left running in its process group was ended with it; what left the group may still run"
            }
            Left::Escaped => {
                "\nnote: something that the command started on its own runs on; its output is no longer read"
            }
            Left::All if FINDS_ALL => "\nnote: all that the command had started was ended",
            Left::All => {
                "\nnote: all of the command's process group was ended; what left the group may still run"
            }
        });
        text.push_str(&finished.notes);
        if self.edits_are_staged {
            text.push('\n');
            text.push_str(WITHOUT_EDITS);
        }
        if let Some(network) = self.network_in_sandbox {
            let output = &finished.record.text;
            let hint = match finished.has_failed() {
                // What is known for certain is told already.
                true if finished.is_explained => None,
                true => sandbox::hint(output, network, self.reaches_out),
                false => sandbox::kept_settings(output).map(str::to_owned),
            };
            if let Some(hint) = hint {
                text.push('\n');
                text.push_str(&hint);
            }
        }
        text
    }

    /// How a command ended, in a few words.
    pub(super) fn ending(&self, finished: &Finished) -> String {
        match finished.ended {
            Ended::Exited(status) => name_ending(status, finished.duration),
            Ended::TimedOut => {
                let after = self.timeout.unwrap_or(finished.duration).as_secs_f64();
                format!("timed out after {after} s{}", self.timeout_set_by)
            }
            Ended::Cancelled => format!("stopped after {:.1} s", finished.duration.as_secs_f64()),
        }
    }
}

fn name_ending(status: ExitStatus, duration: Duration) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("killed by signal {signal}");
    }
    match status.code() {
        Some(code) => format!("exit code {code} ({:.1} s)", duration.as_secs_f64()),
        None => "ended without an exit code".to_owned(),
    }
}
