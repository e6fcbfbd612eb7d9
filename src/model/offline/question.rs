//! Questions in words: the key terms are searched for at once, the places that hold most of them, and the rarest, are
//! read and quoted. No question is known beforehand.

use super::{
    board::{Board, Call, Needed, Outcome},
    clause::among,
    files::{self, together},
    outlines,
    outputs::{Listing, Matches, reason},
    place::clean_path,
    rank::{self, Lines, Passage},
    read::{ReadFile, read},
    scene::Scene,
    section::{Section, counted, distinct, numbered, ticked},
    terms::{JUDGING, Term, stem, terms},
    wish::{BeyondKind, Target},
    words::tokens,
};

/// Lines that are quoted at least, where the file has them.
const QUOTED: usize = 12;

/// Lines that are quoted before and after a passage.
const BEFORE: usize = 3;
const AFTER: usize = 6;

/// Letters that a part of a file's name has at least: fewer stand in any name.
const LEAST_OF_NAME: usize = 4;

/// Files that are told by their names at most.
const MOST_NAMED: usize = 8;

/// The passages that bear on a question; for what is `beyond` this model, after saying so.
pub(super) fn answer(
    words: &str,
    beyond: Option<BeyondKind>,
    board: &Board<'_>,
    scene: &Scene,
) -> Result<Section, Needed> {
    let asked = tokens(words);
    let mut terms = terms(&asked);
    if beyond == Some(BeyondKind::Judging) {
        terms.retain(|term| !among(&term.shown, JUDGING) && !among(&term.shown, "wrong"));
    }
    let mut section = Section::said(beyond.map_or("", |kind| match kind {
        BeyondKind::Writing => {
            "Writing is beyond the built-in model, which only searches, reads and makes exact edits."
        }
        BeyondKind::Judging => {
            "Judging code is beyond the built-in model, which only searches, reads and makes exact edits."
        }
        BeyondKind::Running => {
            "Working out a command is beyond the built-in model: give it in back-ticks, as in run `…`."
        }
    }));
    // A selection is what the question is about.
    let shows_open = scene.open.is_some() && (scene.lines.is_some() || terms.is_empty());
    if shows_open {
        let open = outlines::show_outline(&Target::Open, board, scene)?;
        files::append_sentence(&mut section.headline, &open.headline);
        section.paragraph(&open.body);
        section.files = open.files;
        if terms.is_empty() || scene.lines.is_some() {
            return Ok(section);
        }
    }
    let named = asked.iter().find(|token| token.is_path() && !token.text.contains('*'));
    if let Some(token) = named.filter(|_| beyond.is_some()) {
        let target = Target::Path(clean_path(&token.text));
        let outline = outlines::show_outline(&target, board, scene)?;
        files::append_sentence(&mut section.headline, &outline.headline);
        section.paragraph(&outline.body);
        section.files = outline.files;
        if terms.len() <= 1 {
            return Ok(section);
        }
    }
    if terms.is_empty() && beyond.is_some() {
        return Ok(section);
    }
    if terms.is_empty() {
        files::append_sentence(
            &mut section.headline,
            "Nothing to look for was recognised in the question: name a file, or something that stands in the code.",
        );
        return Ok(section);
    }
    let looked_for = terms.iter().map(|term| ticked(&term.shown)).collect::<Vec<_>>().join(", ");
    let evidence = gather(&terms, board)?;
    let passages = rank::passages(&terms, &evidence.rarity, &evidence.lines);
    if passages.is_empty() {
        files::append_sentence(&mut section.headline, &format!("Nothing was found for {looked_for}."));
        section.paragraph("All files were searched, in any case and for other forms of the words too.");
        if !evidence.named.is_empty() {
            let named: Vec<_> = evidence.named.iter().map(|path| ticked(path)).collect();
            section.paragraph(&format!("Files with such a name: {}.", named.join(", ")));
        }
        section.files = evidence.named;
        section.paragraph(
            &evidence.error.map(|error| format!("A search did not work: {error}.")).unwrap_or_default(),
        );
        return Ok(section);
    }
    let windows = windows(&passages);
    let read = together(&windows, |window| read(&window.path, Some((window.first, window.last)), board))?;
    files::append_sentence(&mut section.headline, &best_match(&passages));
    for (window, (path, file)) in windows.iter().zip(read) {
        let held: Vec<_> = window
            .terms
            .keys()
            .filter_map(|index| terms.get(*index))
            .map(|term| term.shown.as_str())
            .collect();
        let held = if terms.len() > 1 { format!(" ({})", held.join(", ")) } else { String::new() };
        section.paragraph(&format!("**{path}:{}**{held}", window.best_line));
        match file {
            ReadFile::Lines(lines) => section.paragraph(&numbered(&path, lines.numbered())),
            _ => section.paragraph(&numbered(
                &path,
                window.lines.iter().map(|(number, text)| (*number, text.as_str())),
            )),
        }
    }
    section.paragraph(&format!(
        "Looked for {looked_for}: {} in {}, ranked by how many of the terms stand together and how rare they are.",
        counted(evidence.lines.count(), "line", "lines"),
        counted(evidence.lines.files(), "file", "files")
    ));
    let held = |index: &usize| evidence.lines.hold(terms.get(*index));
    let missing: Vec<_> = (0..terms.len())
        .filter(|index| !held(index))
        .filter_map(|index| terms.get(index))
        .map(|term| ticked(&term.shown))
        .collect();
    if !missing.is_empty() {
        section.paragraph(&format!("Not found: {}.", missing.join(", ")));
    }
    section.files = distinct(passages.iter().map(|passage| passage.path.as_str()));
    Ok(section)
}

/// "The best match is `a.rs:3`: `…`; see also …".
fn best_match(passages: &[Passage]) -> String {
    let place = |passage: &Passage| ticked(&format!("{}:{}", passage.path, passage.best_line));
    let Some((first, others)) = passages.split_first() else { return String::new() };
    let line =
        first.lines.iter().find(|(number, _)| *number == first.best_line).map_or("", |(_, text)| text.trim());
    let others: Vec<_> = others.iter().map(place).collect();
    let also = if others.is_empty() { String::new() } else { format!("; see also {}", others.join(", ")) };
    format!("The best match is {}: {}{also}.", place(first), ticked(line))
}

/// The lines to read for each passage; those that touch in one file become one.
fn windows(passages: &[Passage]) -> Vec<Passage> {
    let mut windows: Vec<Passage> = Vec::new();
    for passage in passages {
        let first = passage.first.saturating_sub(BEFORE).max(1);
        let last = (passage.last + AFTER).max(first + QUOTED);
        let touched = windows
            .iter_mut()
            .find(|window| window.path == passage.path && first <= window.last && window.first <= last);
        match touched {
            Some(window) => {
                window.first = window.first.min(first);
                window.last = window.last.max(last);
                window.terms.extend(&passage.terms);
                window.lines.extend(passage.lines.iter().cloned());
                window.lines.sort();
            }
            None => windows.push(Passage { first, last, ..passage.clone() }),
        }
    }
    windows
}

/// What the searches gave.
struct Evidence {
    lines: Lines,
    /// For each term, how much it says.
    rarity: Vec<f64>,
    /// Why a search gave nothing.
    error: Option<String>,
    /// Files that are named like a term, which no line need hold.
    named: Vec<String>,
}

/// The files in whose names a term stands, in any form of it.
fn named_like(terms: &[Term], tree: &Listing) -> Vec<String> {
    let stems: Vec<_> = terms.iter().map(|term| stem(&term.shown.to_lowercase())).collect();
    let is_like = |path: &&str| {
        let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
        stems.iter().any(|stem| stem.chars().count() >= LEAST_OF_NAME && name.contains(stem))
    };
    tree.files().filter(is_like).take(MOST_NAMED).map(str::to_owned).collect()
}

/// The file tree and the lines of each term are asked for in one step. A term that stands in more lines than a search
/// gives is then looked for once more: beside the other terms, and in the files that are likely anyway.
fn gather(terms: &[Term], board: &Board<'_>) -> Result<Evidence, Needed> {
    let mut calls = vec![Call::new("list_files")];
    calls.extend(terms.iter().map(|term| Call::new("search").with("pattern", term.pattern.as_str())));
    let mut outcomes = board.ask_all(calls)?.into_iter();
    let tree =
        outcomes.next().filter(|outcome| !outcome.is_error).map(|outcome| Listing::parse(&outcome.text));
    let tree = tree.unwrap_or_default();
    let outcomes: Vec<_> = outcomes.collect();
    let error = outcomes.iter().find(|outcome| outcome.is_error).map(|outcome| reason(&outcome.text));
    let found: Vec<_> = outcomes.iter().map(matches_of).collect();
    let rarity = rank::rarity(terms, &tree, &found);
    let mut lines = Lines::default();
    for matches in &found {
        lines.add(matches);
    }
    if found.iter().any(|matches| matches.truncated) {
        let any = terms.iter().map(|term| term.pattern.as_str()).collect::<Vec<_>>().join("|");
        let mut calls = Vec::new();
        if terms.len() > 1 {
            calls.push(Call::new("search").with("pattern", format!("({any}).*({any})")));
        }
        let files = lines.likely_files(terms, &rarity, &tree);
        calls.extend(
            files
                .iter()
                .map(|path| Call::new("search").with("pattern", any.as_str()).with("path", path.as_str())),
        );
        for outcome in board.ask_all(calls)? {
            lines.add(&matches_of(&outcome));
        }
    }
    Ok(Evidence { lines, rarity, error, named: named_like(terms, &tree) })
}

fn matches_of(outcome: &Outcome) -> Matches {
    if outcome.is_error { Matches::default() } else { Matches::parse(&outcome.text) }
}
