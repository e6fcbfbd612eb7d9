//! `askls undo`: takes an applied turn back, or an undone one forward, and lists what was kept.

use std::{
    fmt::Write as _,
    path::PathBuf,
    sync::Arc,
    time::{Duration, SystemTime},
};

use anyhow::Context as _;

use crate::{
    config::{Environment, Settings},
    tools::output::visible_path,
    workspace::{
        FileEdit, Workspace,
        checkpoints::{ChangedFile, Checkpoints, Direction, Entry, Held, MovedOn, OnConflict, UndoPlan},
    },
};

use super::{Exit, UndoArguments, complain, here, print};

/// Files of one checkpoint that a list names; the others are counted.
const MAX_NAMED: usize = 5;

pub(super) fn run(arguments: &UndoArguments, environment: &Environment) -> anyhow::Result<Exit> {
    let given = arguments.root.roots(environment)?;
    let roots = with_journal(arguments, environment, &given)?.unwrap_or_else(|| given.clone());
    let settings = arguments.root.settings(environment, &roots);
    let folder = settings.checkpoints_folder().context(
        "no checkpoints are kept: the setting checkpoints is off, or the environment names no folder for them",
    )?;
    let now = SystemTime::now();
    if !Checkpoints::exist(&folder, &roots) {
        let above = if arguments.root.is_default() { " or a folder above it" } else { "" };
        let searched: Vec<_> = given.iter().map(|root| visible_path(&root.to_string_lossy())).collect();
        complain(&format!("no turn has been applied in {}{above}\n", searched.join(", ")));
        return Ok(if arguments.list { Exit::Done } else { Exit::NotWritten });
    }
    let checkpoints =
        Checkpoints::open(&folder, &roots, now).with_context(|| folder.display().to_string())?;
    if arguments.list {
        return list(&checkpoints, now);
    }
    let direction = if arguments.redo { Direction::Redo } else { Direction::Undo };
    let workspace = Arc::new(Workspace::new(roots));
    let held = checkpoints.lock_for_undo(direction, None, &workspace);
    let planned = held.and_then(|held| Ok((checkpoints.plan(direction, None, &workspace)?, held)));
    let (plan, held) = match planned {
        Ok(planned) => planned,
        Err(reason) => {
            complain(&format!("{}\n", visible_path(&reason.to_string())));
            return Ok(Exit::NotWritten);
        }
    };
    let on_conflict = arguments.on_conflict.as_deref();
    carry_out(&checkpoints, &held, &plan, on_conflict, &workspace, now)
}

/// Who stands in a folder of a project means the project: that in which `askls ask` works, if something was kept of it,
/// else the nearest folder, upwards, of which something was, since an editor may have another one open.
fn with_journal(
    arguments: &UndoArguments,
    environment: &Environment,
    given: &[PathBuf],
) -> anyhow::Result<Option<Vec<PathBuf>>> {
    if !arguments.root.is_default() {
        return Ok(None);
    }
    let here = here()?;
    let above = here.ancestors().map(|folder| vec![folder.to_owned()]);
    Ok([given.to_owned()].into_iter().chain(above).find(|roots| {
        let folder = Settings::load(environment, roots).settings.checkpoints_folder();
        folder.is_some_and(|folder| Checkpoints::exist(&folder, roots))
    }))
}

fn carry_out(
    checkpoints: &Checkpoints,
    held: &Held,
    plan: &UndoPlan,
    on_conflict: Option<&str>,
    workspace: &Workspace,
    now: SystemTime,
) -> anyhow::Result<Exit> {
    for problem in plan.problems.iter().chain(&plan.left) {
        complain(&format!("{}\n", visible_path(problem)));
    }
    for path in &plan.unsaved {
        complain(&format!(
            "{} on disk does not contain this turn; the change may be unsaved in an editor: undo it there\n",
            visible_path(path)
        ));
    }
    let label = visible_path(&plan.turn.label);
    let words = words(plan.direction);
    // What is left may go later, unless the user wants to get on although nothing can be done.
    let choice = match on_conflict {
        Some("merge") => Some(OnConflict::Merge),
        Some("restore") => Some(OnConflict::Restore),
        _ => None,
    };
    let is_passed_over = choice.is_some_and(OnConflict::passes_over);
    if plan.is_settled() {
        if plan.is_open() && !is_passed_over {
            complain(&format!(
                "nothing was changed: \"{label}\" can still be {}; with --on-conflict restore it counts as {}\n",
                words.done, words.done
            ));
            return Ok(Exit::NotWritten);
        }
        checkpoints.keep_undo(plan, &[], true, workspace, now)?;
        let done = match plan.remove_made_folders(&here().into_iter().collect::<Vec<_>>()) {
            0 => "nothing was changed".to_owned(),
            folders => format!("no file was changed, only {} removed", counted(folders, "empty folder")),
        };
        let why = if plan.left.is_empty() { "the files are so already" } else { "nothing of it can be had" };
        complain(&format!("{done}: \"{label}\" counts as {} now: {why}\n", words.done));
        return Ok(Exit::NotWritten);
    }
    let is_whole = !plan.can_be_completed && (plan.unsaved.is_empty() || is_passed_over);
    let on_conflict = match (choice, on_conflict) {
        _ if plan.moved_on.is_empty() => OnConflict::Restore,
        (Some(choice), _) => choice,
        (None, Some(_)) => {
            complain("nothing was changed, as you chose\n");
            return Ok(Exit::NotWritten);
        }
        (None, None) => {
            complain(&moved_on(plan, &label, workspace));
            return Ok(Exit::NotWritten);
        }
    };
    let proposal = plan.proposal(on_conflict);
    if proposal.is_empty() {
        complain("nothing was changed: what came later is in the same lines\n");
        return Ok(Exit::NotWritten);
    }
    let intent = match checkpoints.apply_undo(held, plan, proposal, workspace, now) {
        Ok(intent) => intent,
        Err(reasons) => {
            for reason in reasons {
                complain(&format!("{}\n", visible_path(&reason)));
            }
            complain("nothing was changed\n");
            return Ok(Exit::NotWritten);
        }
    };
    let kept = intent.and_then(|intent| checkpoints.conclude_undo(plan, intent, is_whole, now));
    plan.remove_made_folders(&here().into_iter().collect::<Vec<_>>());
    let mut text = format!("{}: \"{label}\"\n", words.done);
    for file in &proposal.files {
        // Writing to a text cannot fail.
        let _ = writeln!(text, "  {}", line(file));
    }
    if on_conflict == OnConflict::Merge {
        for file in plan.moved_on.iter().filter(|file| file.touched > 0) {
            let path = visible_path(&file.path);
            let places = counted(file.touched, "place");
            let _ = writeln!(text, "  {path}: {places} that you also changed left as before");
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

struct Words {
    done: &'static str,
    merge: &'static str,
    restore: &'static str,
}

fn words(direction: Direction) -> Words {
    match direction {
        Direction::Undo => Words {
            done: "undone",
            merge: "takes only the agent's part back",
            restore: "makes the whole files what they were (--redo brings your changes back)",
        },
        Direction::Redo => Words {
            done: "redone",
            merge: "applies only the agent's part again",
            restore: "makes the whole files what the turn made them (askls undo brings your changes back)",
        },
    }
}

/// `1 place`, `2 places`.
fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// Why nothing happens without a choice, and which choices there are.
fn moved_on(plan: &UndoPlan, label: &str, workspace: &Workspace) -> String {
    let mut text = format!("nothing was changed: since \"{label}\" these files have changed:\n");
    for file in &plan.moved_on {
        let how = match file.touched {
            _ if is_gone(file, workspace) => "deleted since",
            0 => "not in the same lines",
            _ => "also in the same lines, which a merge leaves as they are",
        };
        let _ = writeln!(text, "  {} ({how})", visible_path(&file.path));
    }
    let words = words(plan.direction);
    let _ = writeln!(text, "choose with --on-conflict: merge {}; restore {}", words.merge, words.restore);
    text
}

fn is_gone(file: &MovedOn, workspace: &Workspace) -> bool {
    let path = workspace.locate(&file.path).ok();
    path.is_some_and(|path| path.disk().is_some_and(|disk| disk.symlink_metadata().is_err()))
}

fn line(file: &FileEdit) -> String {
    let path = visible_path(file.path.as_str());
    match (&file.moved_from, &file.before, &file.after) {
        (_, _, None) => format!("deleted: {path}"),
        (Some(from), ..) => format!("moved: {} to {path}", visible_path(from.as_str())),
        (None, None, Some(_)) => format!("created: {path}"),
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

/// `3 min ago  applied  "make it B": edited a.txt, created b.txt`
fn entry_line(entry: &Entry, now: SystemTime) -> String {
    let ago = ago(now.duration_since(entry.time).unwrap_or_default());
    let label = visible_path(&entry.turn.label);
    format!("{ago:>10}  {:<7}  \"{label}\": {}\n", entry.state.as_str(), summary(&entry.files))
}

fn summary(files: &[ChangedFile]) -> String {
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
