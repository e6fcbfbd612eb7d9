//! Wishes that change files or run a command. Nothing is changed that was not read first and clearly asked for; what
//! the tools refuse is told, with one other try at most.

use std::{collections::BTreeMap, sync::LazyLock};

use regex::Regex;

use super::{
    board::{Board, Call, Needed, Outcome},
    files::{append_sentence, locate, sentence, together},
    hunks::{MAX_SHOWN, changed_lines, hunks},
    outputs::{Fate, Matches, Window, reason},
    read::{ReadFile, read_whole, unread},
    scene::Scene,
    section::{Section, counted, distinct, fenced, ticked},
    wish::{Places, Replacement, Target},
    words::constant,
};

/// Files that one replacement "everywhere" changes; more need a person's eye.
const MAX_FILES: usize = 10;

/// Replaces in the file that was named; where none was, in the file that holds the text.
pub(super) fn replace(wish: &Replacement, board: &Board<'_>, scene: &Scene) -> Result<Section, Needed> {
    if wish.find.is_empty() {
        return Ok(Section::said("The text to replace is empty: say what to replace."));
    }
    let paths = match files_of(wish, board, scene)? {
        Ok(paths) => paths,
        Err(section) => return Ok(section),
    };
    let mut whole = Section::default();
    let mut fate: Option<Fate> = None;
    // All are read before the first is changed.
    for (part, part_fate) in once(together(&paths, |path| replace_in(path, wish, board))?) {
        append_sentence(&mut whole.headline, &part.headline);
        whole.paragraph(&part.body);
        whole.files.extend(part.files);
        fate = fate.into_iter().chain(part_fate).min();
    }
    if let Some(fate) = fate {
        append_sentence(&mut whole.headline, fate.sentence());
    }
    Ok(whole)
}

/// What was refused in several files for one reason is told once, with all of them.
fn once(parts: Vec<(Section, Option<Fate>)>) -> Vec<(Section, Option<Fate>)> {
    let mut told: Vec<(Section, Option<Fate>)> = Vec::new();
    let mut refusals: Vec<(String, usize)> = Vec::new();
    for (part, fate) in parts {
        let has_edit = fate.is_some();
        let name = part.files.first().map(|path| ticked(path)).unwrap_or_default();
        // The same words about another file.
        let why = part.headline.replacen(&name, "", 1);
        let known = refusals.iter().find(|(known, _)| *known == why).map(|(_, place)| *place);
        match known.filter(|_| !has_edit && !name.is_empty()).and_then(|place| told.get_mut(place)) {
            Some((first, _)) => {
                let last = first.files.last().map(|path| ticked(path)).unwrap_or_default();
                first.headline = first.headline.replacen(&last, &format!("{last}, {name}"), 1);
                first.files.extend(part.files);
            }
            None => {
                if !has_edit {
                    refusals.push((why, told.len()));
                }
                told.push((part, fate));
            }
        }
    }
    told
}

/// The files to change; or an answer that says why none is.
fn files_of(
    wish: &Replacement,
    board: &Board<'_>,
    scene: &Scene,
) -> Result<Result<Vec<String>, Section>, Needed> {
    if let Some(target) = &wish.target {
        let located = locate(target, board, scene)?;
        return Ok(located.map_err(|why| Section::said(sentence(&format!("nothing was changed: {why}")))));
    }
    let first_line = wish.find.lines().find(|line| !line.trim().is_empty()).unwrap_or(&wish.find);
    let outcome = board
        .ask(Call::new("search").with("pattern", regex::escape(first_line)).with("case_sensitive", true))?;
    let found = Matches::parse(&outcome.text);
    let files = distinct(found.matches.iter().map(|found| found.path.as_str()));
    if outcome.is_error || files.is_empty() {
        let why = if outcome.is_error {
            reason(&outcome.text)
        } else {
            format!("{} was not found in the workspace", ticked(&wish.find))
        };
        return Ok(Err(Section::said(sentence(&format!("nothing was changed: {why}")))));
    }
    if files.len() == 1 || (wish.everywhere && files.len() <= MAX_FILES && !found.truncated) {
        return Ok(Ok(files));
    }
    let mut section = Section::said(format!(
        "Nothing was changed: {} stands in {}{}; name the file{}.",
        ticked(&wish.find),
        if found.truncated { "at least " } else { "" },
        counted(files.len(), "file", "files"),
        if files.len() <= MAX_FILES { ", or say “in all files”" } else { "" },
    ));
    section.paragraph(&super::section::match_list(found.matches.iter().take(MAX_SHOWN)));
    section.files = files;
    Ok(Err(section))
}

/// What was done in one file, and what became of the edit there, if there is one.
fn replace_in(path: &str, wish: &Replacement, board: &Board<'_>) -> Result<(Section, Option<Fate>), Needed> {
    let (path, file) = read_whole(path, board)?;
    let plain = || edit(&path, &wish.find, &wish.with, wish.places == Places::All);
    let window = match file {
        ReadFile::Lines(window) if window.first == 1 && !window.goes_on() => window,
        ReadFile::Failed(why) => {
            return Ok((nothing(&unread(&path, &why)), None));
        }
        ReadFile::Folder(_) => {
            return Ok((nothing(&format!("{} is a folder: name a file", ticked(&path))), None));
        }
        // What was not read whole is left to the tool, which knows the text.
        ReadFile::Lines(_) | ReadFile::Unknown(_) => {
            let outcome = board.ask(plain())?;
            return Ok(reported(&path, wish, &[outcome], 0));
        }
    };
    if wish.find.contains('\n') {
        let outcome = board.ask(plain())?;
        return Ok(reported(&path, wish, &[outcome], 0));
    }
    let changed = changed_lines(&window, wish);
    if changed.is_empty() {
        return Ok((not_there(&path, &window, wish), None));
    }
    let every = window.lines.iter().map(|line| line.matches(&wish.find).count()).sum::<usize>();
    let all_at_once = window.lines.iter().enumerate().all(|(at, line)| {
        changed
            .get(&at)
            .map_or(!line.contains(&wish.find), |new| *new == line.replace(&wish.find, &wish.with))
    });
    if all_at_once {
        let outcome = board.ask(edit(&path, &wish.find, &wish.with, every > 1))?;
        // The one other try: whole lines, which may stand alone where the bare text does not.
        if !outcome.is_error || !is_about_the_text(&outcome) {
            return Ok(reported(&path, wish, &[outcome], changed.len()));
        }
    }
    let hunks = hunks(&window.lines, &changed);
    let calls = hunks.iter().map(|(find, with)| edit(&path, find, with, false)).collect();
    let outcomes = board.ask_all(calls)?;
    Ok(reported(&path, wish, &outcomes, changed.len()))
}

pub(super) fn nothing(why: &str) -> Section {
    Section::said(sentence(&format!("nothing was changed: {why}")))
}

fn edit(path: &str, find: &str, with: &str, all: bool) -> Call {
    Call::new("edit_file")
        .with("path", path)
        .with("find", find)
        .with("replace", with)
        .maybe("all", all.then_some(true))
}

/// A refusal that another spelling of the same edit may get past; a "no" of the user is none.
fn is_about_the_text(outcome: &Outcome) -> bool {
    static ABOUT: LazyLock<Regex> = LazyLock::new(|| {
        constant(
            r"(?i)\b(unique|times|once|occurs|places|not (?:found|there|in)|no match|does not (?:contain|stand|occur)|stands)\b",
        )
    });
    ABOUT.is_match(&outcome.text)
}

/// `count`: lines that change, 0 where that is not known.
fn reported(path: &str, wish: &Replacement, outcomes: &[Outcome], count: usize) -> (Section, Option<Fate>) {
    let errors: Vec<_> = outcomes.iter().filter(|outcome| outcome.is_error).collect();
    let made = outcomes.iter().filter(|outcome| !outcome.is_error);
    let fate = made.map(|outcome| Fate::of(&outcome.text)).min();
    let staged = outcomes.len() - errors.len();
    if let Some(error) = errors.first() {
        let why = reason(&error.text);
        // Some tools name the file in what they say of it.
        let why = why.strip_prefix(&format!("{path} was not edited: ")).unwrap_or(&why);
        let mut section = Section::said(sentence(&format!("nothing was changed in {}: {why}", ticked(path))));
        if staged > 0 {
            section.headline = format!(
                "Only {} of {} in {} could be edited: {why}.",
                staged,
                counted(outcomes.len(), "place", "places"),
                ticked(path),
            );
        }
        return (section.with_files(vec![path.to_owned()]), fate);
    }
    let lines = if count > 0 { format!(" on {}", counted(count, "line", "lines")) } else { String::new() };
    let what = if wish.with.is_empty() {
        format!("{} is removed", ticked(&wish.find))
    } else {
        format!("{} is replaced by {}", ticked(&wish.find), ticked(&wish.with))
    };
    // The lines themselves are shown by whoever shows edits.
    let section = Section::said(format!("In {} {what}{lines}.", ticked(path)));
    (section.with_files(vec![path.to_owned()]), fate)
}

fn not_there(path: &str, window: &Window, wish: &Replacement) -> Section {
    let lower = wish.find.to_lowercase();
    let near = window.numbered().find(|(_, line)| line.to_lowercase().contains(&lower));
    let where_to = match wish.places {
        Places::Line(number) => format!(" on line {number}"),
        _ => wish
            .on_lines_with
            .as_ref()
            .map(|text| format!(" on a line with {}", ticked(text)))
            .unwrap_or_default(),
    };
    let alone = if wish.whole_words { " as a whole word" } else { "" };
    let mut section =
        nothing(&format!("{} does not occur in {}{where_to}{alone}", ticked(&wish.find), ticked(path)));
    if let Some((number, line)) = near {
        section.paragraph(&format!("The nearest is line {number}: {}", ticked(line.trim())));
    }
    section.with_files(vec![path.to_owned()])
}

/// Gives a key of a settings file another value.
pub(super) fn set(
    key: &str,
    value: &str,
    target: &Target,
    board: &Board<'_>,
    scene: &Scene,
) -> Result<Section, Needed> {
    let path = match locate(target, board, scene)? {
        Ok(paths) => paths.into_iter().next().unwrap_or_default(),
        Err(why) => return Ok(nothing(&why)),
    };
    let (path, file) = read_whole(&path, board)?;
    let ReadFile::Lines(window) = file else {
        return Ok(nothing(&format!("{} could not be read as lines", ticked(&path))));
    };
    let Ok(pattern) = Regex::new(&format!(
        r#"(?i)^\s*["']?{}["']?\s*(?:=|:)\s*(?P<value>"[^"]*"|'[^']*'|[^\s,;#]+)"#,
        regex::escape(key)
    )) else {
        return Ok(nothing(&format!("{} cannot be a key", ticked(key))));
    };
    let found = window
        .lines
        .iter()
        .enumerate()
        .find_map(|(at, line)| Some((at, line, pattern.captures(line)?.name("value")?.range())));
    let Some((at, line, range)) = found else {
        return Ok(nothing(&format!("no line of {} gives {} a value", ticked(&path), ticked(key))));
    };
    let old = line.get(range.clone()).unwrap_or_default();
    let quote = old.chars().next().filter(|c| matches!(c, '"' | '\'')).map(String::from).unwrap_or_default();
    let new = format!(
        "{}{quote}{}{quote}{}",
        line.get(..range.start).unwrap_or_default(),
        value.trim_matches(['"', '\'']),
        line.get(range.end..).unwrap_or_default()
    );
    let changed = BTreeMap::from([(at, new)]);
    let calls =
        hunks(&window.lines, &changed).iter().map(|(find, with)| edit(&path, find, with, false)).collect();
    let outcomes = board.ask_all(calls)?;
    let wish = Replacement {
        find: old.trim_matches(['"', '\'']).to_owned(),
        with: value.trim_matches(['"', '\'']).to_owned(),
        target: None,
        everywhere: false,
        places: Places::First,
        whole_words: false,
        on_lines_with: None,
    };
    let (mut section, fate) = reported(&path, &wish, &outcomes, changed.len());
    if let Some(fate) = fate {
        append_sentence(&mut section.headline, fate.sentence());
    }
    Ok(section)
}

pub(super) fn append(
    target: &Target,
    text: &str,
    board: &Board<'_>,
    scene: &Scene,
) -> Result<Section, Needed> {
    let path = match locate(target, board, scene)? {
        Ok(paths) => paths.into_iter().next().unwrap_or_default(),
        Err(why) => return Ok(nothing(&why)),
    };
    let (path, file) = read_whole(&path, board)?;
    let window = match file {
        ReadFile::Lines(window) if !window.goes_on() => window,
        ReadFile::Failed(why) => return Ok(nothing(&unread(&path, &why))),
        _ => return Ok(nothing(&format!("the end of {} could not be read", ticked(&path)))),
    };
    let text = text.trim_end_matches('\n');
    let call = match window.lines.iter().rposition(|line| !line.trim().is_empty()) {
        None => Call::new("write_file").with("path", path.as_str()).with("text", format!("{text}\n")),
        Some(last) => {
            let line = window.lines.get(last).map_or("", String::as_str);
            let changed = BTreeMap::from([(last, format!("{line}\n{text}"))]);
            match hunks(&window.lines, &changed).into_iter().next() {
                Some((find, with)) => edit(&path, &find, &with, false),
                None => return Ok(nothing("the end of the file was not found")),
            }
        }
    };
    let outcome = board.ask(call)?;
    if outcome.is_error {
        return Ok(nothing(&format!("{} was not edited: {}", ticked(&path), reason(&outcome.text))));
    }
    let fate = Fate::of(&outcome.text).sentence();
    Ok(Section::said(format!("{} is added at the end of {}. {fate}", ticked(text), ticked(&path)))
        .with_files(vec![path]))
}

pub(super) fn run(command: &str, board: &Board<'_>) -> Result<Section, Needed> {
    let outcome = board.ask(Call::new("run_command").with("command", command))?;
    let mut section = Section::said(match outcome.is_error {
        true => format!(
            "{} did not run to its end: {}.",
            ticked(command),
            reason(&outcome.text).trim_end_matches('.')
        ),
        false => format!("{} was run: {}.", ticked(command), reason(&outcome.text).trim_end_matches('.')),
    });
    section.paragraph(&fenced("", &super::outline::cut(&outcome.text, 8_000)));
    Ok(section)
}
