//! One step: the wishes of the user's words are carried out as far as the outcomes known so far allow; the calls that
//! they still need are the step, and when none is needed the answer is.

use crate::protocol::Item;

use super::{
    board::{Board, Call, Needed, Turn},
    change, files, find,
    names::{self, OtherHalf},
    outlines, question, read,
    scene::Scene,
    scope::{in_folder, in_place},
    section::Section,
    understand::understand,
    whole_files,
    wish::{Scope, Target, ToldAs, Wish},
};

/// What the model does in a step.
pub(super) enum Next {
    Calls(Vec<Call>),
    Answer(String),
}

/// Earlier turns that are looked at to know what "it" means.
const MAX_TURNS_BACK: usize = 3;

pub(super) const HELP: &str = "Without a language model askls lists, reads, outlines and searches files, and makes exact edits.\n\n\
For example:\n\n\
- `what files are in src?` · `read Cargo.toml` · `lines 10-40 of src/main.rs`\n\
- `outline src/main.rs` · `what is this project about?`\n\
- `where is parse_config defined?` · `who calls parse_config?` · `how many TODOs are there?`\n\
- `how are retries limited?` finds the passages that bear on a question\n\
- `` replace `old` with `new` in src/main.rs `` · `rename old to new in src/main.rs` · `` create notes.md with `text` ``\n\
- `` run `cargo test` ``";

pub(super) fn next(turn: &Turn<'_>) -> Next {
    match carry_out_all(turn, MAX_TURNS_BACK) {
        Err(Needed(calls)) => Next::Calls(calls),
        Ok(sections) => Next::Answer(answer(&sections)),
    }
}

/// The sections of all wishes, or the calls of the next step. Wishes that only look go side by side; one that changes
/// something waits for those before it, and those after it wait for it and see the files anew.
fn carry_out_all(turn: &Turn<'_>, turns_back: usize) -> Result<Vec<Section>, Needed> {
    let mut scene = Scene::from_context(turn.user);
    let words = turn.user.map_or("", |user| user.text.as_str());
    let previous = turn.previous_words();
    let wishes = understand(words, previous, scene.open.is_some());
    if let Some(earlier) = turn.earlier_turn().filter(|_| turns_back > 0 && leans_on_history(&wishes)) {
        recall(&mut scene, &earlier, turns_back);
    }
    let mut sections: Vec<Section> = Vec::new();
    let mut needed: Vec<Call> = Vec::new();
    let mut since = 0;
    for wish in &wishes {
        let must_wait = wish.changes_files() || wish.leans_on_others();
        if must_wait && !needed.is_empty() {
            break;
        }
        let board = turn.board(since);
        match carry_out(wish, &wishes, &board, &scene) {
            Ok(section) => {
                if !section.files.is_empty() {
                    scene.recent.clone_from(&section.files);
                }
                // Two words for one thing, as the parts of a path with a blank, are answered once.
                if !sections.contains(&section) {
                    sections.push(section);
                }
                since = since.max(board.seen_until());
            }
            Err(Needed(calls)) => {
                for call in calls {
                    if !needed.contains(&call) {
                        needed.push(call);
                    }
                }
                if wish.changes_files() {
                    break;
                }
            }
        }
    }
    if needed.is_empty() { Ok(sections) } else { Err(Needed(needed)) }
}

fn leans_on_history(wishes: &[Wish]) -> bool {
    wishes.iter().any(|wish| wish.leans_on_others() || matches!(wish, Wish::ReadOn))
}

/// What the turn before showed: its wishes carried out again from its own outcomes, without any call.
fn recall(scene: &mut Scene, earlier: &Turn<'_>, turns_back: usize) {
    let files = match carry_out_all(earlier, turns_back - 1) {
        Ok(sections) => {
            sections.into_iter().rev().map(|section| section.files).find(|files| !files.is_empty())
        }
        Err(_) => None,
    };
    // Another model may have led that turn: then what it read is what was spoken of.
    scene.recent = files.unwrap_or_else(|| earlier.read_paths());
    scene.shown_to = earlier.last_window(read::MAX_SHOWN);
    if scene.open.is_none() {
        scene.open = Scene::from_context(earlier.user).open;
    }
}

/// `all`: the wishes of the message, this one among them.
fn carry_out(wish: &Wish, all: &[Wish], board: &Board<'_>, scene: &Scene) -> Result<Section, Needed> {
    let other_half = |is_it: &dyn Fn(&Wish) -> bool| {
        if all.iter().any(is_it) { OtherHalf::Asked } else { OtherHalf::Unasked }
    };
    match wish {
        Wish::List { scope, filter, deep } => {
            // Who asks for no folder and not for all means the one in which they are.
            let here = scene.folder.clone().filter(|_| !deep);
            let here = here.map(|path| Scope { path, told_as: ToldAs::Path });
            let scope = scope.as_ref().or(here.as_ref());
            in_folder(scope, board, |folder| files::list(folder, filter, *deep, board))
        }
        Wish::CountFiles { scope, filter } => {
            in_folder(scope.as_ref(), board, |folder| files::count_files(folder, filter, board))
        }
        Wish::CountIn { target, unit } => outlines::count_in(target, *unit, board, scene),
        Wish::Read { targets, lines } => {
            let lines = lines.or(scene.lines.filter(|_| targets.as_slice() == [Target::Open]));
            read::show(targets, lines, board, scene)
        }
        Wish::ReadOn => match &scene.shown_to {
            Some((path, last)) => read::show(
                &[Target::Path(path.clone())],
                Some((last + 1, last + read::MAX_SHOWN)),
                board,
                scene,
            ),
            None => Ok(Section::said("Nothing was read before that goes on: name a file.")),
        },
        Wish::Outline { target } => outlines::show_outline(target, board, scene),
        Wish::Project => outlines::show_project(board),
        Wish::Find { needle, scope, count } => {
            in_place(scope.as_ref(), board, |place| find::find(needle, place, *count, board))
        }
        Wish::Define { name, scope } => {
            let uses = other_half(&|other| matches!(other, Wish::Uses { name: used, .. } if used == name));
            in_place(scope.as_ref(), board, |place| names::define(name, place, uses, board))
        }
        Wish::Uses { name, scope, calls_only, count } => {
            let definition =
                other_half(&|other| matches!(other, Wish::Define { name: defined, .. } if defined == name));
            in_place(scope.as_ref(), board, |place| {
                names::uses(name, place, *calls_only, *count, definition, board)
            })
        }
        Wish::Replace(replacement) => change::replace(replacement, board, scene),
        Wish::Set { key, value, target } => change::set(key, value, target, board, scene),
        Wish::Create { path, text, overwrite } => whole_files::create(path, text, *overwrite, board),
        Wish::Append { target, text } => change::append(target, text, board, scene),
        Wish::Delete { target } => whole_files::delete(target, board, scene),
        Wish::Move { from, to } => whole_files::relocate(from, to, board),
        Wish::Run { command } => change::run(command, board),
        Wish::Question { words } => question::answer(words, None, board, scene),
        Wish::Beyond { words, kind } => question::answer(words, Some(*kind), board, scene),
        Wish::Unclear { what } => Ok(Section::said(files::sentence(what))),
        Wish::Help => {
            let (headline, body) = HELP.split_once("\n\n").unwrap_or((HELP, ""));
            Ok(Section { headline: headline.to_owned(), body: body.to_owned(), ..Section::default() })
        }
    }
}

/// The result first, in one paragraph, since some editors show no more; then the details.
fn answer(sections: &[Section]) -> String {
    let mut text = String::new();
    for section in sections {
        files::append_sentence(&mut text, section.headline.trim());
    }
    for section in sections {
        let body = section.bounded_body();
        if !body.is_empty() {
            text.push_str("\n\n");
            if !section.title.is_empty() && sections.len() > 1 {
                text.push_str(&format!("{}:\n\n", section.title));
            }
            text.push_str(&body);
        }
    }
    text
}

impl<'a> Turn<'a> {
    fn previous_words(&self) -> Option<&'a str> {
        self.before.iter().rev().find_map(|item| match item {
            Item::User(user) => Some(user.text.as_str()),
            _ => None,
        })
    }
}
