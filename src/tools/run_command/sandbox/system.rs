//! The sandbox on Linux: Landlock for files, namespaces for what Landlock cannot leave out and for a network of one's own,
//! a filter of system calls for sockets.

mod arrivals;
mod beneath;
mod calls;
mod earlier;
mod entry;
mod files;
mod hidden;
mod keeper;
mod lifeline;
mod mounts;
mod namespaces;
mod plan;
mod powers;
mod repositories;
mod settings;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{Sandbox, report::Wall};
use crate::workspace::guard;
use plan::{Network, Walls};
use repositories::Held;

pub use entry::enter;
pub use powers::Powers;

pub(super) use earlier::Earlier;

pub(in crate::tools::run_command) use entry::Entry;
pub(in crate::tools::run_command) use lifeline::Lifeline;
pub(in crate::tools::run_command) use plan::Plan;

/// Keeps this process's environment and memory, which hold keys, from other processes of the same user: those that it starts
/// without a sandbox could read them else. Where the kernel refuses, nothing is lost that there was before.
pub fn keep_private() {
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}

/// All that the powers of this machine can hold of what `sandbox` asks for.
pub(super) fn plan(sandbox: &Sandbox, roots: &[PathBuf]) -> Option<Plan> {
    let powers = sandbox.launcher.powers();
    let walls = Walls {
        files: powers.landlock.is_ok(),
        namespaces: powers.namespaces.is_ok(),
        calls: powers.calls.is_ok(),
        processes: powers.namespaces.is_ok() && powers.processes.is_ok(),
    };
    let network = match (sandbox.network, walls.namespaces) {
        (true, _) => Network::Open,
        (false, true) => Network::Loopback,
        (false, false) => Network::None,
    };
    let real = |path: &Path| fs::canonicalize(path).ok();
    let allowed: Vec<_> = sandbox.writable.iter().filter_map(|path| real(path)).collect();
    let temporary = sandbox.temporary.iter().filter_map(|path| real(path));
    let repositories: Vec<_> = roots.iter().filter_map(|root| repositories::repository_of(root)).collect();
    let writable = roots.iter().cloned().chain(temporary).chain(allowed.iter().cloned());
    let mut plan = Plan {
        walls,
        network,
        writable: writable.chain(repositories.iter().cloned()).collect(),
        ..Plan::default()
    };
    plan.hidden = hidden::of_user(sandbox.home.as_deref(), &sandbox.private);
    let of_user = plan.hidden.clone();
    let mut found = hidden::in_workspace(roots, sandbox.home.as_deref());
    for repository in repositories {
        found.held.version_control(repositories::GIT, repository, None, sandbox.home.as_deref(), roots);
    }
    found.held.git_settings(&sandbox.git_settings, sandbox.home.as_deref(), roots);
    sandbox.launcher.earlier().go_on(&mut found, roots);
    let Held { fixed, anchored, made, absent, repositories } = found.held;
    found.survey.holds(repositories);
    if walls.namespaces {
        found.survey.misses(absent);
        plan.hidden_here = found.secrets.iter().filter_map(|path| relative(path, roots)).collect();
        plan.secrets = Some(found.secrets.clone());
        plan.staying = found.secrets.clone();
        plan.hidden.append(&mut found.secrets);
        plan.hidden.extend(hidden::sockets().into_iter().filter(|path| !lies_in(path, roots)));
        (plan.fixed, plan.anchored, plan.made) = (fixed, anchored, made);
        let held = plan.fixed.iter().chain(&plan.anchored).chain(&of_user).chain(&plan.staying);
        let above: Vec<_> = held.flat_map(|path| above(path, &plan.writable)).collect();
        plan.anchored.extend(above);
    }
    plan.survey = Arc::new(found.survey);
    plan.hidden_here.retain(|path| !allowed.iter().any(|allowed| allowed.ends_with(path)));
    // What the user opened or named is meant to be seen.
    plan.hidden.retain(|path| !allowed.contains(path) && !roots.iter().any(|root| root.starts_with(path)));
    for paths in [&mut plan.writable, &mut plan.hidden, &mut plan.fixed, &mut plan.anchored, &mut plan.made] {
        paths.sort_unstable();
        paths.dedup();
    }
    // What lies in a hidden folder is not there any more once that is hidden.
    let is_hidden = |path: &Path| plan.hidden.binary_search_by(|hidden| hidden.as_path().cmp(path)).is_ok();
    plan.staying.retain(|path| is_hidden(path) && !path.ancestors().skip(1).any(is_hidden));
    Some(plan)
}

/// Folders of the workspace in which the sandbox finds no secrets: what tools fill, and what was too much to look through.
pub(super) fn not_looked_through(roots: &[PathBuf]) -> Vec<PathBuf> {
    hidden::in_workspace(roots, None).left_out
}

/// The folders above `path` up to the writable one that it lies in, and that: where one of them could be moved, what is held would
/// go with it, and another could take its place.
fn above(path: &Path, writable: &[PathBuf]) -> Vec<PathBuf> {
    let is_writable = |folder: &&Path| writable.iter().any(|writable| folder.starts_with(writable));
    path.ancestors().skip(1).take_while(is_writable).map(Path::to_owned).collect()
}

/// A plan of no walls, for a command that is only to end with askls; `None` where the hidden mode cannot be started.
pub(super) fn kept_only(powers: &Powers) -> Option<Plan> {
    powers.has_answered.then(Plan::default)
}

/// What is not found out about a workspace, and so not hidden in it.
pub(super) fn not_looked_at(sandbox: &Sandbox, roots: &[PathBuf]) -> Option<String> {
    let is_looked_at =
        sandbox.launcher.powers().namespaces.is_err() || hidden::in_workspace(roots, None).is_whole;
    (!is_looked_at).then(|| {
        "secrets and git's settings in the workspace: it is too large to find them all, so that some deep in it can be read \
         or changed"
            .to_owned()
    })
}

/// A path as programs that run in one of the roots name it.
fn relative(path: &Path, roots: &[PathBuf]) -> Option<String> {
    let relative = roots.iter().find_map(|root| path.strip_prefix(root).ok())?;
    Some(relative.to_str()?.to_owned()).filter(|path| !path.is_empty())
}

/// Whether what lies at a path runs unasked, by the names of its part in the root.
fn is_run_unasked(path: &Path, roots: &[PathBuf]) -> bool {
    let below = roots.iter().find_map(|root| path.strip_prefix(root).ok()).unwrap_or(path);
    let mut ends = below.iter().rev();
    let name = Path::new(ends.next().unwrap_or_default());
    // Folders above that say so are not looked into, but those of version control.
    match ends.next().filter(|folder| repositories::system(folder).is_none()) {
        Some(folder) => guard::is_run_unasked(&Path::new(folder).join(name)),
        None => guard::is_run_unasked(name),
    }
}

fn lies_in(path: &Path, roots: &[PathBuf]) -> bool {
    roots.iter().any(|root| path.starts_with(root))
}

impl Powers {
    /// What of each wall holds under these settings; empty when there is none.
    pub(super) fn walls(&self, sandbox: &Sandbox) -> Vec<Wall> {
        if self.landlock.is_err() && self.namespaces.is_err() && self.calls.is_err() {
            return Vec::new();
        }
        vec![self.changes(), self.secrets(), self.network(sandbox), self.programs()]
    }

    fn changes(&self) -> Wall {
        let (holds, missing) = match &self.landlock {
            Ok(version) => {
                let attributes = if self.namespaces.is_err() {
                    "; modes, owners and times of other files too"
                } else {
                    ""
                };
                let holds = format!(
                    "only the workspace, temporary folders and sandbox_write can be changed{attributes} (held by Landlock, version {version})"
                );
                (holds, None)
            }
            Err(why) => ("commands can change whatever you can".to_owned(), Some(format!("changes: {why}"))),
        };
        Wall { name: "changes", holds, missing, is_extra: false }
    }

    fn secrets(&self) -> Wall {
        let (holds, missing, is_extra) = match (&self.landlock, &self.namespaces) {
            (Ok(_), Ok(())) => ("hidden, those in the workspace too", None, false),
            (Ok(_), Err(why)) => (
                "hidden outside the workspace; what lies in it can be read, and git's settings and hooks be changed",
                Some(format!("secrets in the workspace: {why}")),
                true,
            ),
            // `/proc` has the files as other processes see them.
            (Err(why), Ok(())) => (
                "out of sight, but a command that looks for a way to them finds one",
                Some(format!("secrets: {why}")),
                false,
            ),
            (Err(why), Err(_)) => {
                ("commands can read whatever you can", Some(format!("secrets: {why}")), false)
            }
        };
        Wall { name: "secrets", holds: holds.to_owned(), missing, is_extra }
    }

    fn network(&self, sandbox: &Sandbox) -> Wall {
        let (holds, missing) = match (sandbox.network, &self.namespaces, &self.calls) {
            (true, ..) => ("open, by sandbox_network", None),
            (false, Ok(()), _) => {
                ("none but 127.0.0.1, on which each command sees only what it started", None)
            }
            (false, Err(_), Ok(())) => ("none, not even 127.0.0.1", None),
            (false, Err(_), Err(why)) => ("open", Some(format!("network: {why}"))),
        };
        Wall { name: "network", holds: holds.to_owned(), missing, is_extra: false }
    }

    fn programs(&self) -> Wall {
        /// The version of Landlock since which it keeps signals and unnamed sockets inside.
        const SCOPED: u8 = 6;
        let sockets = match (&self.namespaces, &self.calls) {
            (Ok(()), _) => "the sockets that they have open when a command starts cannot be reached",
            (Err(_), Ok(())) => "no sockets of the machine's own can be made",
            (Err(_), Err(_)) => "their sockets can be reached",
        };
        let (signals, missing) = match (&self.processes, &self.landlock) {
            (Ok(()), _) => (
                "they are not seen, and get no signals; all that a command started ends with it, and with askls",
                None,
            ),
            (Err(why), Ok(version)) if *version >= SCOPED => (
                "no signals to them; they are seen",
                Some(format!(
                    "programs: what a command started ends with it unless it ends its keeper ({why})"
                )),
            ),
            (Err(_), Ok(_)) => (
                "signals to them",
                Some("programs: signals are held since Landlock 6 (Linux 6.12)".to_owned()),
            ),
            (Err(_), Err(why)) => {
                ("signals to them, and a look into those of yours", Some(format!("programs: {why}")))
            }
        };
        Wall { name: "programs", holds: format!("{sockets}; {signals}"), missing, is_extra: true }
    }
}
