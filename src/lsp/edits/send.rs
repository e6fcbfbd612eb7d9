//! An edit on its way through the editor, and what of it came about: by what the editor says of it, by how the documents
//! changed meanwhile, and by what the files hold then.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Value, json};

use super::{
    accept::Way,
    apply::{LOOK_AGAIN, Left, SETTLE_LIMIT, Sees, TELL_LIMIT, on_disk},
    part::{PlaceNow, likeness, places},
    trail::{CarriedOut, Watch, carried_out},
};
use crate::{
    lsp::{
        capabilities::Failing,
        editor::{RequestError, one_line},
        session::Session,
    },
    workspace::{FileEdit, FilePath, Workspace, document::is_empty_line},
};

/// Longest reason that an editor gives; more is no reason.
const MAX_REASON: usize = 500;

/// The documents of an edit, followed since before it was sent.
pub(super) type Watches<'a> = BTreeMap<FilePath, Watch<'a>>;

/// What became of the files of an edit that was sent.
#[derive(Debug, Default)]
pub(super) struct Sent {
    pub(super) done: Vec<FileEdit>,
    /// Of what was done, what a document was seen to become by just that edit.
    pub(super) seen: Vec<FilePath>,
    pub(super) left: Vec<Left>,
    /// What the editor did where it was not meant.
    pub(super) misplaced: Vec<Misplaced>,
    /// The editor said no to some of it, or skipped it. One that says yes and shows nothing may have a user who took it
    /// back.
    pub(super) is_refused: bool,
}

/// An edit that an editor has carried out by its line numbers on a text that was another by then.
#[derive(Clone, Debug)]
pub(super) struct Misplaced {
    pub(super) file: FileEdit,
    pub(super) carried: CarriedOut,
}

/// What the editor says of an edit.
enum Said {
    Applied,
    Refused {
        reason: String,
        /// At which step it failed.
        failed: Option<usize>,
    },
    /// It has not answered.
    Nothing(String),
}

impl Said {
    fn of(answer: &Result<Value, RequestError>) -> Self {
        match answer {
            Ok(answer) if answer.get("applied").and_then(Value::as_bool) == Some(true) => Self::Applied,
            Ok(answer) => {
                let reason = match answer.get("failureReason").and_then(Value::as_str) {
                    Some(reason) => RequestError::Refused(one_line(reason, MAX_REASON)).to_string(),
                    None => "the editor refused without a reason".to_owned(),
                };
                let failed = answer.get("failedChange").and_then(Value::as_u64);
                Self::Refused { reason, failed: failed.and_then(|failed| failed.try_into().ok()) }
            }
            Err(error @ RequestError::Refused(_)) => {
                Self::Refused { reason: error.to_string(), failed: None }
            }
            Err(error) => Self::Nothing(error.to_string()),
        }
    }

    fn reason(&self) -> Option<&String> {
        match self {
            Self::Applied => None,
            Self::Refused { reason, .. } | Self::Nothing(reason) => Some(reason),
        }
    }
}

/// How much of an edit came about.
#[derive(Debug)]
enum Came {
    Whole,
    /// The document was seen to be changed by just this edit.
    Seen,
    /// The edit of just these places.
    Part(FileEdit),
    Nothing,
    /// The editor says that it applied the edit, and has left out this file.
    Skipped,
    Elsewhere(CarriedOut),
}

/// What can be there of a file after a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leaves {
    Nothing,
    /// At most the file, made or moved, without its new text.
    Place,
    /// All that the edit does to the file.
    Whole,
    /// Some of it, as the editor says.
    Part,
}

impl Session {
    /// Has the editor apply an edit, and looks what of it came about: some editors say yes to an edit that they
    /// skipped, some stop halfway, and in some the user picks.
    pub(super) async fn send(
        &self,
        edit: &Value,
        files: &[&FileEdit],
        watches: &Watches<'_>,
        (label, way, limit): (&str, Way, Duration),
    ) -> Sent {
        let mut params = json!({ "label": label, "edit": edit });
        if self.client().edits.metadata {
            // The editor saves what it did, if its user set it so; commands of the agent read the disk.
            params["metadata"] = json!({ "isRefactoring": true });
        }
        let said = Said::of(&self.editor.request("workspace/applyEdit", params, limit).await);
        match &said {
            Said::Applied => self.settle(files, watches, way).await,
            // Some refuse after they did a part, and what they did may not have been told yet.
            Said::Refused { .. } => _ = self.wait_for_files(TELL_LIMIT, files).await,
            Said::Nothing(_) => {}
        }
        let mut sent = Sent { is_refused: said.reason().is_some(), ..Sent::default() };
        for &file in files {
            let watch = watches.get(&file.path);
            let came = match &said {
                Said::Applied => self.came_of_yes(file, watch, way),
                Said::Refused { failed, .. } => {
                    self.came_of_no(file, watch, self.leaves(edit, file, *failed))
                }
                Said::Nothing(_) => self.came_of_silence(file, watch),
            };
            let path = &file.path;
            let reason = match (came, said.reason()) {
                (came @ (Came::Whole | Came::Seen), _) => {
                    if matches!(came, Came::Seen) {
                        sent.seen.push(path.clone());
                    }
                    sent.done.push(file.clone());
                    continue;
                }
                (Came::Elsewhere(carried), _) => {
                    sent.misplaced.push(Misplaced { file: file.clone(), carried });
                    continue;
                }
                (Came::Part(part), reason) => {
                    let reason = reason.map_or("the editor left out the rest", String::as_str);
                    let told = match (without_text(file).as_ref() == Some(&part), &part.moved_from) {
                        (true, None) => format!("{path} was made, but is empty: {reason}"),
                        (true, Some(_)) => format!("{path} was moved, but its text is as before: {reason}"),
                        (false, _) => format!("some places of {path}: {reason}"),
                    };
                    sent.done.push(part);
                    told
                }
                (Came::Nothing | Came::Skipped, Some(reason)) => reason.clone(),
                (Came::Nothing, None) => {
                    format!("the editor said that it applied the edits, but {path} did not change")
                }
                (Came::Skipped, None) => {
                    sent.is_refused = true;
                    format!("the editor said that it applied the edits, but it left out {path}")
                }
            };
            sent.left.push(Left { file: file.clone(), reason, is_impossible: false });
        }
        sent
    }

    /// What a refusal can have left of a file. An editor that says where it failed has done what comes before. One that
    /// does not is taken at its word where there was nothing else to fail at, or where it takes back what it did: what is
    /// there then, its user has made.
    fn leaves(&self, edit: &Value, file: &FileEdit, failed: Option<usize>) -> Leaves {
        let steps = edit.get("documentChanges").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let uri = self.workspace.uri(&file.path);
        let is_of_file = |step: &Value| {
            let names = [&step["uri"], &step["newUri"], &step["textDocument"]["uri"]];
            names.into_iter().any(|name| name.as_str() == Some(&uri))
        };
        if let Some(failed) = failed {
            let first = steps.iter().position(is_of_file).unwrap_or_default();
            return if first < failed { Leaves::Part } else { Leaves::Nothing };
        }
        let are_texts = steps.iter().all(|step| step.get("kind").is_none());
        let is_alone = steps.iter().all(is_of_file);
        match self.client().edits.failing {
            _ if is_alone && steps.len() < 2 => Leaves::Nothing,
            Failing::Undoes => Leaves::Nothing,
            Failing::UndoesTexts if are_texts => Leaves::Nothing,
            _ if is_alone => Leaves::Place,
            Failing::UndoesTexts | Failing::Keeps => Leaves::Whole,
        }
    }

    /// All but what surely is not there counts: the user may have typed since.
    fn came_of_yes(&self, file: &FileEdit, watch: Option<&Watch<'_>>, way: Way) -> Came {
        if let Some(carried) = self.carried_out(file, watch) {
            return placed(file, carried);
        }
        match self.sees(file) {
            Sees::After => return Came::Whole,
            Sees::Before => return came_without_text(&self.workspace, file),
            // Where the file is not open, an editor may hold a text that it does not tell of.
            Sees::Else if file.moved_from.is_some() => {
                return match self.has_moved_text(file) {
                    true => came_without_text(&self.workspace, file),
                    false => Came::Whole,
                };
            }
            Sees::Else => {}
        }
        let now = match (self.workspace.open_document(&file.path), way) {
            (Some(document), _) => document.text.to_string(),
            // An editor opens what it edits, or writes it: what is seen nowhere by now, the user has not ticked.
            (None, Way::Previewed) => match on_disk_as(file) {
                Some(now) => now,
                None => return Came::Whole,
            },
            (None, Way::AtOnce | Way::Back(_)) => return Came::Whole,
        };
        let places = places(file, &now);
        let is_kept = |place: &PlaceNow| *place != PlaceNow::Before;
        let kept = places.iter().filter(|place| is_kept(place)).count();
        match way {
            _ if kept == places.len() => Came::Whole,
            Way::Previewed if kept == 0 => Came::Nothing,
            Way::Previewed => Came::Part(file.only(|index| places.get(index).is_some_and(is_kept))),
            // Nobody has picked any of them: what is there, the user has typed.
            Way::AtOnce | Way::Back(_) => Came::Skipped,
        }
    }

    fn came_of_no(&self, file: &FileEdit, watch: Option<&Watch<'_>>, leaves: Leaves) -> Came {
        match leaves {
            Leaves::Nothing => return Came::Nothing,
            Leaves::Place => return came_without_text(&self.workspace, file),
            Leaves::Whole => {}
            Leaves::Part if self.sees(file) == Sees::After => return Came::Whole,
            Leaves::Part => {
                let document = self.workspace.open_document(&file.path).map(|it| it.text.to_string());
                let now = document.or_else(|| on_disk(&file.path)).unwrap_or_default();
                let places = places(file, &now);
                let is_there = |place: &PlaceNow| *place == PlaceNow::After;
                return match places.iter().any(is_there) {
                    true => Came::Part(file.only(|index| places.get(index).is_some_and(is_there))),
                    false => came_without_text(&self.workspace, file),
                };
            }
        }
        self.came_of_silence(file, watch)
    }

    /// Only what surely is the editor's counts.
    fn came_of_silence(&self, file: &FileEdit, watch: Option<&Watch<'_>>) -> Came {
        match (self.carried_out(file, watch), watch.and_then(Watch::documents)) {
            (Some(carried), _) => placed(file, carried),
            (None, Some(_)) => Came::Nothing,
            (None, None) if self.sees(file) == Sees::After => Came::Whole,
            (None, None) => came_without_text(&self.workspace, file),
        }
    }

    /// Whether a file that was moved is open at its new place with its old text.
    fn has_moved_text(&self, file: &FileEdit) -> bool {
        let document = self.workspace.open_document(&file.path).filter(|_| file.moved_from.is_some());
        document.is_some() && matches!(came_without_text(&self.workspace, file), Came::Part(_))
    }

    fn carried_out(&self, file: &FileEdit, watch: Option<&Watch<'_>>) -> Option<CarriedOut> {
        carried_out(file, &watch?.documents()?, self.client().encoding)
    }

    /// Waits for what the editor has to tell of the files after it said that it applied the edits.
    async fn settle(&self, files: &[&FileEdit], watches: &Watches<'_>, way: Way) {
        let is_there = |file: &FileEdit| {
            self.sees(file) == Sees::After || self.carried_out(file, watches.get(&file.path)).is_some()
        };
        let is_so = || files.iter().all(|file| is_there(file));
        let tell = || async {
            let wait = async { while !self.wait_for_documents(LOOK_AGAIN, is_so).await {} };
            tokio::time::timeout(TELL_LIMIT, wait).await.is_ok()
        };
        // Of a preview any part may come about, and be told of late.
        let is_unseen = |file: &FileEdit| {
            let is_closed = self.workspace.open_document(&file.path).is_none();
            let before = file.before.as_ref().filter(|_| is_closed && matches!(way, Way::Previewed));
            before.is_some_and(|before| on_disk_as(file).is_some_and(|now| *now == *before.text))
        };
        let waits =
            |file: &FileEdit| self.sees(file) == Sees::Before || self.has_moved_text(file) || is_unseen(file);
        let is_as_before = || files.iter().any(|file| waits(file));
        let wait = async { while !tell().await && is_as_before() {} };
        // What has not come about then is for the caller to see.
        let _ = tokio::time::timeout(SETTLE_LIMIT, wait).await;
    }
}

/// What the disk holds of a file that an edit changes, with a byte order mark only where the edit's own text has one.
fn on_disk_as(file: &FileEdit) -> Option<String> {
    let is_marked = file.before.as_ref()?.text.starts_with('\u{feff}');
    let mut now = on_disk(&file.path)?;
    if !is_marked && now.starts_with('\u{feff}') {
        now.remove(0);
    }
    Some(now)
}

/// How much of an edit came about that makes or moves a file, when it is not there as a whole: some editors stop between
/// that and the text.
fn came_without_text(workspace: &Workspace, file: &FileEdit) -> Came {
    let Some(part) = without_text(file) else { return Came::Nothing };
    let is_gone = |from: &FilePath| from.disk().is_some_and(|disk| disk.symlink_metadata().is_err());
    if !part.moved_from.as_ref().is_none_or(is_gone) {
        return Came::Nothing;
    }
    let document = workspace.open_document(&file.path).map(|document| document.text.to_string());
    let now = document.or_else(|| on_disk(&file.path));
    let is_there = |now: &String| match &part.before {
        None => now.is_empty() || is_empty_line(now),
        Some(before) => likeness(file)(&before.text, now),
    };
    match now.is_some_and(|now| is_there(&now)) {
        true => Came::Part(part),
        false => Came::Nothing,
    }
}

/// Of an edit that makes or moves a file and gives it another text, the first step alone.
fn without_text(file: &FileEdit) -> Option<FileEdit> {
    let before = match (&file.before, &file.moved_from) {
        (Some(_), None) => return None,
        (before, _) => before.as_ref().map_or("", |before| &*before.text),
    };
    file.after.as_ref().filter(|after| after.as_str() != before)?;
    Some(FileEdit { after: Some(before.to_owned()), stretches: None, ..file.clone() })
}

/// Whether an edit that was carried out did what it was meant to do.
fn placed(file: &FileEdit, carried: CarriedOut) -> Came {
    let is_right = || {
        let meant = file.onto(&carried.before).edit.after;
        meant.is_some_and(|meant| likeness(file)(&meant, &carried.after.text))
    };
    match carried.is_on_time || is_right() {
        true => Came::Seen,
        false => Came::Elsewhere(carried),
    }
}
