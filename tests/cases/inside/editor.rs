//! The editor's part in a run without one: buffers that the user changes, a disk that others change, and edits that are
//! accepted.

use std::{fs, sync::Arc, time::Duration};

use askls::workspace::{
    EditProposal, FileEdit, FileText, TurnFiles,
    position::{Encoding, LineStarts},
};
use serde_json::{Value, json};

use super::{House, call_context};
use crate::{case::Run, names, observed::Observed, world::World};

/// Tool calls one after the other, each with its edits accepted at once, mixed with what others do meanwhile.
pub(super) async fn calls(
    house: &House,
    run: &Run,
    world: &World,
    calls: &[Value],
    observed: &mut Observed,
) -> Result<(), String> {
    if run.given["client"].get("apply_edit_result").is_some() {
        return Err("calls are made without an editor that could refuse an edit".to_owned());
    }
    // One turn: what it has read stays known to it.
    let mut files = Arc::new(TurnFiles::new(Arc::clone(&house.workspace)));
    for call in calls {
        let Some(tool) = call["tool"].as_str() else {
            event(house, world, call)?;
            continue;
        };
        let make = async |tool: &str| {
            let called = house.bench.call(&house.toolbox, tool, &call["args"], call_context(&files));
            let result = tokio::time::timeout(crate::stretched(run.wall), called).await;
            result.map_err(|_| format!("{tool} did not end"))
        };
        let mut result = make(tool).await?;
        if is_to_be_read_first(house, tool, &call["args"], &files) && !result.ok {
            house
                .bench
                .call(
                    &house.toolbox,
                    "read_file",
                    &json!({"path": call["args"]["path"]}),
                    call_context(&files),
                )
                .await;
            result = make(tool).await?;
        }
        let is_edit =
            names::tool_of_askls(tool).is_some_and(|own| own.ends_with("_file") && own != "read_file");
        observed.results.push(result);
        if is_edit {
            let proposal = files.proposal();
            note_edits(house, &proposal, observed);
            accept(house, &proposal);
            let accepted = TurnFiles::new(Arc::clone(&house.workspace));
            // What the accepted text says is what the model has just written.
            for edit in &proposal.files {
                let _ = accepted.read(&edit.path);
            }
            files = Arc::new(accepted);
        }
    }
    Ok(())
}

/// A file is replaced whole only by a model that has read it, which one that is told so does. Cases know no such rule;
/// those that are about unsaved text want the refusal.
fn is_to_be_read_first(house: &House, tool: &str, arguments: &Value, files: &TurnFiles) -> bool {
    let path = arguments["path"].as_str().and_then(|path| files.resolve(path).ok());
    tool == "write_file"
        && path.is_some_and(|path| files.exists(&path) && house.workspace.open_document(&path).is_none())
}

/// Somebody else, or the user, does something between two calls.
fn event(house: &House, world: &World, event: &Value) -> Result<(), String> {
    let fault = |error: std::io::Error| format!("{event}: {error}");
    if let Some(write) = event.get("external_write") {
        let path = world.place(write["path"].as_str().unwrap_or_default());
        let kept = fs::metadata(&path).and_then(|metadata| metadata.modified()).ok();
        fs::write(&path, write["text"].as_str().unwrap_or_default()).map_err(fault)?;
        if write["keep_mtime"] == true
            && let Some(time) = kept
        {
            let file = fs::File::options().write(true).open(&path).map_err(fault)?;
            file.set_modified(time).map_err(fault)?;
        }
    } else if let Some(delete) = event.get("external_delete") {
        fs::remove_file(world.place(delete["path"].as_str().unwrap_or_default())).map_err(fault)?;
    } else if let Some(change) = event.get("buffer_change") {
        let uri = world.uri(change["path"].as_str().unwrap_or_default());
        let version = change["version"].as_i64().and_then(|version| i32::try_from(version).ok()).unwrap_or(2);
        house.workspace.overlay().open(
            &uri,
            "plaintext",
            version,
            change["text"].as_str().unwrap_or_default().to_owned(),
        );
    } else if let Some(close) = event.get("buffer_close") {
        house.workspace.overlay().close(&world.uri(close["path"].as_str().unwrap_or_default()));
    } else if let Some(change) = event.get("workspace_change") {
        let place = |folder: &Value| world.place(folder.as_str().unwrap_or_default());
        let removed: Vec<_> = change["removed"].as_array().into_iter().flatten().map(place).collect();
        let mut roots = house.workspace.roots();
        roots.retain(|root| !removed.contains(root));
        roots.extend(change["added"].as_array().into_iter().flatten().map(place));
        house.workspace.set_roots(roots);
    } else if let Some(wait) = event["sleep_ms"].as_u64() {
        std::thread::sleep(Duration::from_millis(wait));
    } else {
        return Err(format!("the event {event} is not known"));
    }
    Ok(())
}

/// The user accepts: buffers are changed and saved, everything else is written. Files that editors or shells run by
/// themselves are asked about first, as the server does.
pub(super) fn accept(house: &House, proposal: &EditProposal) {
    let is_wanted = |edit: &&FileEdit| {
        !edit.is_run_unasked(&house.workspace)
            || house.approver.ask(if edit.before.is_none() { "write_file" } else { "edit_file" })
    };
    let (wanted, refused): (Vec<FileEdit>, Vec<FileEdit>) =
        proposal.files.iter().cloned().partition(|edit| is_wanted(&edit));
    for edit in refused {
        house.bench.forget(edit.path.as_str());
    }
    let (open, on_disk): (Vec<_>, Vec<_>) =
        wanted.into_iter().partition(|edit| house.workspace.open_document(edit.origin()).is_some());
    for edit in open {
        accept_in_buffer(house, &edit);
    }
    // What cannot be written is seen where the case looks at the disk.
    let _ = EditProposal { files: on_disk }.apply_to_disk(&house.workspace);
}

fn accept_in_buffer(house: &House, edit: &FileEdit) {
    let Some(document) = house.workspace.open_document(edit.origin()) else { return };
    // An edit for another text is refused.
    if edit.before.as_ref().is_none_or(|before| before.text != document.text) {
        return;
    }
    let overlay = house.workspace.overlay();
    let Some(after) = &edit.after else {
        overlay.close(&document.uri);
        if let Some(disk) = edit.origin().disk() {
            let _ = fs::remove_file(disk);
        }
        return;
    };
    if edit.moved_from.is_some() {
        overlay.close(&document.uri);
        if let (Some(from), Some(to)) = (edit.origin().disk(), edit.path.disk()) {
            let _ = to.parent().map(fs::create_dir_all);
            let _ = fs::rename(from, to);
        }
    }
    let uri = house.workspace.uri(&edit.path);
    overlay.open(&uri, &document.language, document.version + 1, after.clone());
}

/// What an editor would be sent: versions, URIs, and positions that lie past their line.
fn note_edits(house: &House, proposal: &EditProposal, observed: &mut Observed) {
    for edit in &proposal.files {
        let uri = house.workspace.uri(edit.origin());
        observed.edit_uris.push(uri.clone());
        let Some(before) = &edit.before else { continue };
        if let Some(version) = before.version {
            observed.edit_versions.insert(uri, version.into());
        }
        for encoding in [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32] {
            let made = made_by_positions(edit, before, encoding);
            if made.as_deref() != edit.after.as_deref() {
                observed.edit_faults.push(format!(
                    "the ranges in {encoding:?} lie past a line, or do not make the text: {made:?}"
                ));
            }
        }
    }
}

/// The text after an edit, made as an editor makes it: by positions. `None` when one lies past its line.
fn made_by_positions(edit: &FileEdit, before: &FileText, encoding: Encoding) -> Option<String> {
    let after = edit.after.as_ref()?;
    // The mark counts where the editor shows it.
    let mark = if before.bom && before.version.is_some() { "\u{feff}" } else { "" };
    let mut text = format!("{mark}{}", before.text);
    let lines = LineStarts::new(&text);
    let shown = text.clone();
    let mut edits = edit.text_edits(encoding);
    if edit.text_edits(encoding).is_empty() {
        return Some(after.clone()).filter(|after| **after == *before.text);
    }
    edits.reverse();
    for text_edit in edits {
        let [start, end] = [text_edit.range.start, text_edit.range.end].map(|position| {
            let offset = lines.offset(&shown, position, encoding);
            (lines.position(&shown, offset, encoding) == position).then_some(offset)
        });
        text.replace_range(start?..end?, &text_edit.new_text);
    }
    text.strip_prefix(mark).map(str::to_owned)
}
