//! `askls undo`: takes an applied turn back, or an undone one forward, and lists what was kept.

use std::{
    fmt::Write as _,
    sync::Arc,
    time::{Duration, SystemTime},
};

use anyhow::Context as _;

use crate::{
    config::Environment,
    tools::output::visible_path,
    workspace::{
        FileEdit, Workspace,
        checkpoints::{ChangedFile, Checkpoints, Direction, Entry, Kind, MovedOn, OnConflict, UndoPlan},
    },
};

use super::{Exit, UndoArguments, complain, print};

/// Files of one checkpoint that a list names; the others are counted.
const MAX_NAMED: usize = 5;

pub(super) fn run(arguments: &UndoArguments, environment: &Environment) -> anyhow::Result<Exit> {
    let roots = arguments.root.roots()?;
    let settings = arguments.root.settings(environment, &roots);
    let folder = settings.checkpoints_folder().context(
        "no checkpoints are kept: the setting checkpoints is off, or the environment names no folder for them",
    )?;
    let now = SystemTime::now();
    let checkpoints =
        Checkpoints::open(&folder, &roots, now).with_context(|| folder.display().to_string())?;
    if arguments.list {
        return list(&checkpoints, now);
    }
    let direction = if arguments.redo { Direction::Redo } else { Direction::Undo };
    let workspace = Arc::new(Workspace::new(roots));
    let plan = match checkpoints.plan(direction, None, &workspace) {
        Ok(plan) => plan,
        Err(reason) => {
            complain(&format!("nothing was changed: {reason}\n"));
            return Ok(Exit::NotWritten);
        }
    };
    let on_conflict = arguments.on_conflict.as_deref();
    carry_out(&checkpoints, &plan, on_conflict, &workspace, now)
}

fn carry_out(
    checkpoints: &Checkpoints,
    plan: &UndoPlan,
    on_conflict: Option<&str>,
    workspace: &Workspace,
    now: SystemTime,
) -> anyhow::Result<Exit> {
    for problem in plan.problems.iter().chain(&plan.left) {
        complain(&format!("{}\n", visible_path(problem)));
    }
    for path in &plan.unsaved {
        let path = visible_path(path);
        complain(&format!(
            "{path} is as before on the disk, and may be unsaved in an editor: undo it there\n"
        ));
    }
    let label = visible_path(&plan.turn.label);
    let is_whole = plan.unsaved.is_empty() || on_conflict.is_some();
    if plan.is_settled() {
        complain(&format!(
            "nothing was changed: the files are as before \"{label}\" already, or cannot be undone\n"
        ));
        checkpoints.keep_undo(plan, &[], is_whole, workspace, now)?;
        return Ok(Exit::NotWritten);
    }
    let on_conflict = match on_conflict {
        _ if plan.moved_on.is_empty() => OnConflict::Restore,
        Some("merge") => OnConflict::Merge,
        Some("restore") => OnConflict::Restore,
        _ => {
            complain(&moved_on(&label, &plan.moved_on));
            return Ok(Exit::NotWritten);
        }
    };
    let proposal = plan.proposal(on_conflict);
    if proposal.is_empty() {
        complain("nothing was changed: what came later is in the same lines\n");
        return Ok(Exit::NotWritten);
    }
    if let Err(conflicts) = proposal.apply_to_disk(workspace) {
        for conflict in conflicts {
            complain(&format!("{}\n", visible_path(&conflict.reason)));
        }
        complain("nothing was changed\n");
        return Ok(Exit::NotWritten);
    }
    let kept = checkpoints.keep_undo(plan, &proposal.files, is_whole, workspace, now);
    let done = if plan.direction == Direction::Undo { "undone" } else { "redone" };
    let mut text = format!("{done}: \"{label}\"\n");
    for file in &proposal.files {
        // Writing to a text cannot fail.
        let _ = writeln!(text, "  {}", line(file));
    }
    if on_conflict == OnConflict::Merge {
        for file in plan.moved_on.iter().filter(|file| file.touched > 0) {
            let path = visible_path(&file.path);
            let _ = writeln!(text, "  left as it is where the same lines were changed since: {path}");
        }
    }
    let printed = print(&text);
    if let Err(error) = kept {
        complain(&format!(
            "warning: this cannot be undone again, since its checkpoint was not written: {error}\n"
        ));
    }
    Ok(printed)
}

/// Why nothing happens without a choice, and which choices there are.
fn moved_on(label: &str, files: &[MovedOn]) -> String {
    let mut text = format!("nothing was changed: since \"{label}\" these files have changed:\n");
    for file in files {
        let touched = match file.touched {
            0 => "not in the same lines",
            _ => "also in the same lines, which a merge leaves as they are",
        };
        let _ = writeln!(text, "  {} ({touched})", visible_path(&file.path));
    }
    text.push_str(
        "choose with --on-conflict: merge takes only the agent's part back; restore makes the whole files what they were \
         (what changed since is kept among the checkpoints)\n",
    );
    text
}

fn line(file: &FileEdit) -> String {
    let path = visible_path(file.path.as_str());
    match (&file.moved_from, &file.before, &file.after) {
        (_, _, None) => format!("deleted: {path}"),
        (Some(from), ..) => format!("moved: {} to {path}", visible_path(from.as_str())),
        (None, None, Some(_)) => format!("written: {path} (new)"),
        (None, Some(_), Some(_)) => format!("written: {path}"),
    }
}

fn list(checkpoints: &Checkpoints, now: SystemTime) -> anyhow::Result<Exit> {
    let (entries, problems) = checkpoints.list()?;
    for problem in problems {
        complain(&format!("{}\n", visible_path(&problem)));
    }
    if entries.is_empty() {
        complain("no turn has been applied here\n");
    }
    let lines: String = entries.iter().map(|entry| entry_line(entry, now)).collect();
    Ok(print(&lines))
}

/// `3 min ago  turn  "make it B" (thread-…): edited a.txt, new b.txt`
fn entry_line(entry: &Entry, now: SystemTime) -> String {
    let ago = ago(now.duration_since(entry.time).unwrap_or_default());
    let state = match (entry.stands, entry.kind) {
        (true, _) => "",
        (false, Kind::Undo) => " (redone)",
        (false, Kind::Turn | Kind::Redo) => " (undone)",
    };
    let label = visible_path(&entry.turn.label);
    format!("{ago:>10}  {}  \"{label}\"{state}: {}\n", entry.kind.as_str(), summary(&entry.files))
}

fn summary(files: &[ChangedFile]) -> String {
    if files.is_empty() {
        return "nothing, since the files were as before already".to_owned();
    }
    let (named, others) = files.split_at(files.len().min(MAX_NAMED));
    let mut parts: Vec<_> =
        named.iter().map(|file| format!("{} {}", file.what, visible_path(&file.path))).collect();
    if !others.is_empty() {
        parts.push(format!("and {} more", others.len()));
    }
    parts.join(", ")
}

fn ago(age: Duration) -> String {
    match age.as_secs() {
        0..60 => "just now".to_owned(),
        seconds @ 60..3_600 => format!("{} min ago", seconds / 60),
        seconds @ 3_600..86_400 => format!("{} h ago", seconds / 3_600),
        seconds => format!("{} d ago", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_told_in_its_largest_unit() {
        let told = [0, 59, 60, 3_599, 3_600, 90_000].map(|seconds| ago(Duration::from_secs(seconds)));
        assert_eq!(told, ["just now", "just now", "1 min ago", "59 min ago", "1 h ago", "1 d ago"]);
    }
}
