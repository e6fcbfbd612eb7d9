//! Wishes that write, delete or move a file as a whole.

use super::{
    board::{Board, Call, Needed, Outcome},
    change::nothing,
    files::{by_name, locate, tree},
    outputs::{Fate, reason},
    read::read_whole,
    scene::Scene,
    section::{Section, counted, fence_language, fenced, ticked},
    wish::Target,
};

pub(super) fn create(path: &str, text: &str, overwrite: bool, board: &Board<'_>) -> Result<Section, Needed> {
    let there =
        board.ask(Call::new("read_file").with("path", path).with("start_line", 1).with("end_line", 1))?;
    if !there.is_error && !overwrite {
        return Ok(nothing(&format!(
            "{} exists already; say “overwrite {path} with `…`”, or name another file",
            ticked(path)
        ))
        .with_files(vec![path.to_owned()]));
    }
    if !there.is_error {
        // A file is not replaced that was not read to its end.
        read_whole(path, board)?;
    }
    let written = board.ask(Call::new("write_file").with("path", path).with("text", text))?;
    if written.is_error {
        return Ok(nothing(&refused(path, &reason(&written.text))));
    }
    let verb = if there.is_error { "created" } else { "rewritten" };
    let mut section = Section::said(format!(
        "{} is {verb} with {}. {}",
        ticked(path),
        counted(text.lines().count(), "line", "lines"),
        Fate::of(&written.text).sentence(),
    ));
    if !text.is_empty() {
        section.paragraph(&fenced(fence_language(path), text));
    }
    Ok(section.with_files(vec![path.to_owned()]))
}

pub(super) fn delete(target: &Target, board: &Board<'_>, scene: &Scene) -> Result<Section, Needed> {
    let path = match locate(target, board, scene)? {
        Ok(paths) => match paths.as_slice() {
            [path] => path.clone(),
            _ => return Ok(nothing("only one file is deleted at a time: name it")),
        },
        Err(why) => return Ok(nothing(&why)),
    };
    let outcome = board.ask(Call::new("delete_file").with("path", path.as_str()))?;
    one_file(&outcome, &path, &format!("{} is deleted.", ticked(&path)), board)
}

pub(super) fn relocate(from: &str, to: &str, board: &Board<'_>) -> Result<Section, Needed> {
    let outcome = board.ask(Call::new("move_file").with("from", from).with("to", to))?;
    let section = one_file(&outcome, from, &format!("{} is moved to {}.", ticked(from), ticked(to)), board)?;
    Ok(if outcome.is_error { section } else { section.with_files(vec![to.to_owned()]) })
}

/// The result of a call about one file; where it did not work, files of a like name are told, never used.
fn one_file(outcome: &Outcome, path: &str, done: &str, board: &Board<'_>) -> Result<Section, Needed> {
    if !outcome.is_error {
        return Ok(Section::said(format!("{done} {}", Fate::of(&outcome.text).sentence())));
    }
    let why = reason(&outcome.text);
    let mut section = nothing(&why);
    // The tool names some of them itself.
    let is_news = |known: &String| known != path && !why.contains(known.as_str());
    let like: Vec<_> = by_name(&tree(board)?, path).into_iter().filter(is_news).take(5).collect();
    if !like.is_empty() {
        section.paragraph(&format!(
            "Files with such a name: {}.",
            like.iter().map(|path| ticked(path)).collect::<Vec<_>>().join(", ")
        ));
    }
    Ok(section.with_files(like))
}

/// Why a file was not written; the file is named once.
fn refused(path: &str, why: &str) -> String {
    if why.contains(path) { why.to_owned() } else { format!("{} was not written: {why}", ticked(path)) }
}
