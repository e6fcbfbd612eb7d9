//! Wishes about files as such: which there are, and which of them is meant.

use super::{
    board::{Board, Call, Needed},
    outputs::{Listing, reason},
    scene::Scene,
    section::{Section, counted, fenced, ticked},
    wish::{Filter, Pick, Target},
};

/// Paths of one answer.
const MAX_LISTED: usize = 200;

/// The whole tree, from which files are found by name.
pub(super) fn tree(board: &Board<'_>) -> Result<Listing, Needed> {
    let outcome = board.ask(Call::new("list_files"))?;
    Ok(if outcome.is_error { Listing::default() } else { Listing::parse(&outcome.text) })
}

/// The paths that a target means, the likeliest first; or why there is none.
pub(super) fn locate(
    target: &Target,
    board: &Board<'_>,
    scene: &Scene,
) -> Result<Result<Vec<String>, String>, Needed> {
    Ok(match target {
        Target::Path(path) => Ok(vec![path.clone()]),
        Target::Open => scene
            .open
            .clone()
            .map(|path| vec![path])
            .ok_or_else(|| "no file is open in the editor: name the file".to_owned()),
        Target::Recent(pick) => {
            let files = match pick {
                Pick::All => scene.recent.clone(),
                Pick::Last => {
                    scene.recent.first().cloned().or_else(|| scene.open.clone()).into_iter().collect()
                }
                Pick::Nth(place) => scene.recent.get(*place).cloned().into_iter().collect(),
                Pick::End => scene.recent.last().cloned().into_iter().collect(),
            };
            match (files.is_empty(), scene.recent.len()) {
                (false, _) => Ok(files),
                (true, 0) => Err("no file was spoken of before: name the file".to_owned()),
                (true, known) => Err(format!(
                    "only {} spoken of before: name the file",
                    counted(known, "file was", "files were")
                )),
            }
        }
        Target::Named(name) => {
            let tree = tree(board)?;
            let found = by_name(&tree, name);
            if found.is_empty() {
                Err(format!("no file with {} in its name was found", ticked(name)))
            } else {
                Ok(found.into_iter().take(1).collect())
            }
        }
    })
}

/// Files whose name is, begins with, or holds the given one, in this order; shorter paths first.
pub(super) fn by_name(tree: &Listing, name: &str) -> Vec<String> {
    let wanted = name.to_lowercase();
    let wanted = match wanted.as_str() {
        "manifest" => "cargo.toml",
        "licence" => "license",
        other => other,
    };
    let last = wanted.rsplit('/').next().unwrap_or(wanted);
    let mut found: Vec<(usize, usize, &str)> = tree
        .files()
        .filter_map(|path| {
            let lower = path.to_lowercase();
            let file = lower.rsplit('/').next().unwrap_or(&lower);
            let stem = file.trim_start_matches('.').split('.').next().unwrap_or(file);
            let rank = if lower == wanted || lower.ends_with(&format!("/{wanted}")) {
                0
            } else if file == last || stem == last {
                1
            } else if file.starts_with(last) {
                2
            } else if file.contains(last) {
                3
            } else if last.contains(' ') && last.split(' ').all(|word| lower.contains(word)) {
                4
            } else {
                return None;
            };
            Some((rank, path.len(), path))
        })
        .collect();
    found.sort();
    found.into_iter().map(|(_, _, path)| path.to_owned()).collect()
}

pub(super) fn list(
    scope: Option<&str>,
    filter: &Filter,
    deep: bool,
    board: &Board<'_>,
) -> Result<Section, Needed> {
    let found = match listed(scope, filter, deep, board)? {
        Ok(found) => found,
        Err(why) => return Ok(Section::said(why)),
    };
    let place = scope.filter(|scope| *scope != ".").map_or("the workspace".to_owned(), ticked);
    let what = described(filter);
    if found.paths.is_empty() {
        return Ok(Section::said(format!("No {what} were found in {place}.")));
    }
    let files = found.files().count();
    let folders = found.paths.len() - files;
    let mut count = match (files, folders) {
        (0, folders) => counted(folders, "folder", "folders"),
        (files, 0) => counted(files, "file", "files"),
        (files, folders) => {
            format!("{} and {}", counted(files, "file", "files"), counted(folders, "folder", "folders"))
        }
    };
    if !filter.globs.is_empty() || filter.part.is_some() {
        count =
            format!("{files} {}", if files == 1 { what.replacen("files", "file", 1) } else { what.clone() });
    }
    let shown: Vec<_> = found.paths.iter().take(MAX_LISTED).map(String::as_str).collect();
    let only =
        found.paths.first().filter(|_| found.paths.len() == 1).map(|path| format!(": {}", ticked(path)));
    let mut section = Section::said(format!("{count} in {place}{}.", only.unwrap_or_default()));
    section.paragraph(&fenced("", &shown.join("\n")));
    if found.paths.len() > MAX_LISTED {
        section.paragraph(&format!("… and {} more.", found.paths.len() - MAX_LISTED));
    }
    if let Some(notice) = &found.notice {
        section.paragraph(&format!("The listing is not whole: {notice}"));
    }
    let files = found.files().map(str::to_owned).collect();
    Ok(section.with_files(files).titled(place))
}

fn described(filter: &Filter) -> String {
    match (&filter.globs, &filter.part) {
        (globs, _) if !globs.is_empty() => {
            let globs: Vec<_> = globs.iter().map(|glob| ticked(glob)).collect();
            format!("files like {}", globs.join(", "))
        }
        (_, Some(part)) => format!("files whose path holds {}", ticked(part)),
        _ if filter.folders_only => "folders".to_owned(),
        _ => "files".to_owned(),
    }
}

/// What a list is of, filtered; or why there is none, as a sentence.
fn listed(
    scope: Option<&str>,
    filter: &Filter,
    deep: bool,
    board: &Board<'_>,
) -> Result<Result<Listing, String>, Needed> {
    let call = || Call::new("list_files").maybe("path", scope).maybe("depth", (!deep).then_some(1));
    let calls: Vec<_> = if filter.globs.is_empty() {
        vec![call()]
    } else {
        filter.globs.iter().map(|glob| call().with("glob", glob.as_str())).collect()
    };
    let outcomes = board.ask_all(calls)?;
    if let Some(error) = outcomes.iter().find(|outcome| outcome.is_error) {
        return Ok(Err(format!("The files could not be listed: {}.", reason(&error.text))));
    }
    let mut all = Listing::default();
    for outcome in &outcomes {
        let listing = Listing::parse(&outcome.text);
        all.notice = all.notice.or(listing.notice.filter(|_| !listing.paths.is_empty()));
        all.paths.extend(listing.paths);
    }
    all.paths.sort();
    all.paths.dedup();
    let part = filter.part.as_deref().map(str::to_lowercase);
    all.paths.retain(|path| {
        let fits_part =
            part.as_deref().is_none_or(|part| !path.ends_with('/') && path.to_lowercase().contains(part));
        let fits_kind = if filter.folders_only {
            path.ends_with('/')
        } else {
            filter.globs.is_empty() || !path.ends_with('/')
        };
        fits_part && fits_kind
    });
    Ok(Ok(all))
}

pub(super) fn count_files(
    scope: Option<&str>,
    filter: &Filter,
    board: &Board<'_>,
) -> Result<Section, Needed> {
    let found = match listed(scope, filter, true, board)? {
        Ok(found) => found,
        Err(why) => return Ok(Section::said(why)),
    };
    let place = scope.map_or("the workspace".to_owned(), ticked);
    let at_least = if found.notice.is_some() { "At least " } else { "" };
    let count = if filter.folders_only { found.paths.len() } else { found.files().count() };
    let what = described(filter);
    let mut section = Section::said(format!("{at_least}{count} {what} in {place}."))
        .with_files(found.files().map(str::to_owned).collect());
    if !filter.globs.is_empty() || filter.part.is_some() {
        let shown: Vec<_> = found.paths.iter().take(MAX_LISTED).map(String::as_str).collect();
        if !shown.is_empty() {
            section.paragraph(&fenced("", &shown.join("\n")));
        }
    }
    Ok(section)
}

/// Several wishes for several files need their calls at once: all that are missing are asked for together.
pub(super) fn together<T, R>(
    targets: &[T],
    mut run: impl FnMut(&T) -> Result<R, Needed>,
) -> Result<Vec<R>, Needed> {
    let mut results = Vec::new();
    let mut needed = Vec::new();
    for target in targets {
        match run(target) {
            Ok(result) => results.push(result),
            Err(Needed(calls)) => {
                for call in calls {
                    if !needed.contains(&call) {
                        needed.push(call);
                    }
                }
            }
        }
    }
    if needed.is_empty() { Ok(results) } else { Err(Needed(needed)) }
}

pub(super) fn append_sentence(text: &mut String, sentence: &str) {
    if !text.is_empty() && !sentence.is_empty() {
        text.push(' ');
    }
    text.push_str(sentence);
}

/// With a capital and a full stop.
pub(super) fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first: String = chars.next().map(|c| c.to_uppercase().collect()).unwrap_or_default();
    format!("{first}{}.", chars.as_str().trim_end_matches('.'))
}
