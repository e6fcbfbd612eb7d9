//! Wishes about how a file or the whole project is built.

use std::fmt::Write as _;

use super::{
    board::{Board, Needed},
    files::{append_sentence, by_name, locate, sentence, together, tree},
    outline::{self, Entry, EntryKind},
    outputs::Listing,
    read::{MAX_SHOWN, ReadFile, read, read_whole, show_one},
    scene::Scene,
    section::{Section, counted, fenced, numbered, ticked},
    wish::{Target, Unit},
};

pub(super) fn show_outline(target: &Target, board: &Board<'_>, scene: &Scene) -> Result<Section, Needed> {
    let path = match locate(target, board, scene)? {
        Ok(paths) => paths.into_iter().next().unwrap_or_default(),
        Err(why) => return Ok(Section::said(sentence(&why))),
    };
    let (path, file) = read_whole(&path, board)?;
    let window = match file {
        ReadFile::Lines(window) if !window.lines.is_empty() => window,
        other => {
            let mut section = Section::default();
            show_one(&mut section, &path, other, MAX_SHOWN);
            return Ok(section.with_files(vec![path]));
        }
    };
    let entries = outline::outline(&path, window.numbered());
    let total = window.total.unwrap_or(window.lines.len());
    let mut section = Section::said(format!("{} has {}", ticked(&path), counted(total, "line", "lines")))
        .with_files(vec![path.clone()]);
    if let Some(parts) = parts(&path, &entries) {
        let _ = write!(section.headline, ": {parts}");
    }
    section.headline.push('.');
    if let Some(summary) = outline::summary(&path, window.numbered()) {
        append_sentence(
            &mut section.headline,
            &format!("It says of itself: “{}”", outline::cut(&summary, 160)),
        );
    }
    let selected = scene.lines.filter(|_| *target == Target::Open);
    if let Some((first, last)) = selected {
        section.paragraph(&format!("The selected lines {first}–{last}:"));
        section.paragraph(&numbered(
            &path,
            window.numbered().filter(|(number, _)| (first..=last).contains(number)).take(60),
        ));
    }
    if entries.is_empty() {
        section.paragraph("No headings, keys or definitions were recognised; it begins:");
        section.paragraph(&numbered(&path, window.numbered().take(20)));
        return Ok(section);
    }
    section.paragraph(&format!("Outline of {}:", ticked(&path)));
    section.paragraph(&entry_list(&entries));
    Ok(section)
}

/// Entries of one outline that are shown.
const MAX_ENTRIES: usize = 120;

fn entry_list(entries: &[Entry]) -> String {
    let top = entries.iter().map(|entry| entry.depth).min().unwrap_or(0);
    let mut text = String::new();
    for entry in entries.iter().take(MAX_ENTRIES) {
        let indent = "  ".repeat((entry.depth - top).min(4));
        let _ = write!(text, "{indent}- {}: {}", entry.line, ticked(&entry.text));
        if let Some(remark) = &entry.remark {
            let _ = write!(text, " — {remark}");
        }
        text.push('\n');
    }
    if entries.len() > MAX_ENTRIES {
        let _ = writeln!(text, "- … {} more", entries.len() - MAX_ENTRIES);
    }
    text
}

/// "12 functions, 3 types".
fn parts(path: &str, entries: &[Entry]) -> Option<String> {
    let (one, many) = outline::other_entries(path);
    let count = |kind: EntryKind| entries.iter().filter(|entry| entry.kind == kind).count();
    let parts: Vec<_> = [
        (count(EntryKind::Function), "function", "functions"),
        (count(EntryKind::Type), "type or block", "types and blocks"),
        (count(EntryKind::Other), one, many),
    ]
    .into_iter()
    .filter(|(count, _, _)| *count > 0)
    .map(|(count, one, many)| counted(count, one, many))
    .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

pub(super) fn count_in(
    target: &Target,
    unit: Unit,
    board: &Board<'_>,
    scene: &Scene,
) -> Result<Section, Needed> {
    let path = match locate(target, board, scene)? {
        Ok(paths) => paths.into_iter().next().unwrap_or_default(),
        Err(why) => return Ok(Section::said(sentence(&why))),
    };
    // The first line of a window says how many lines the file has.
    let (path, file) =
        if unit == Unit::Lines { read(&path, None, board)? } else { read_whole(&path, board)? };
    let ReadFile::Lines(window) = file else {
        let mut section = Section::default();
        show_one(&mut section, &path, file, MAX_SHOWN);
        return Ok(section);
    };
    let total = window.total.unwrap_or(window.lines.len());
    let (kind, one, many) = match unit {
        Unit::Lines => {
            return Ok(Section::said(format!("{} has {}.", ticked(&path), counted(total, "line", "lines")))
                .with_files(vec![path]));
        }
        Unit::Functions => (EntryKind::Function, "function", "functions"),
        Unit::Types => (EntryKind::Type, "type", "types"),
    };
    let entries: Vec<_> = outline::outline(&path, window.numbered())
        .into_iter()
        .filter(|entry| entry.kind == kind && !(kind == EntryKind::Type && entry.text.starts_with("impl")))
        .map(|entry| Entry { depth: 0, ..entry })
        .collect();
    let mut section = Section::said(format!(
        "{} has {}, as far as its lines show.",
        ticked(&path),
        counted(entries.len(), one, many)
    ));
    section.paragraph(&entry_list(&entries));
    Ok(section.with_files(vec![path]))
}

/// Files that say what a project is, the most telling first.
const TELLING: &[&str] = &[
    "readme",
    "cargo.toml",
    "package.json",
    "pyproject.toml",
    "go.mod",
    "setup.py",
    "pom.xml",
    "build.gradle",
    "cmakelists.txt",
    "makefile",
    "architecture",
    "gemfile",
];

pub(super) fn show_project(board: &Board<'_>) -> Result<Section, Needed> {
    let tree = tree(board)?;
    if tree.paths.is_empty() {
        return Ok(Section::said("No files were found in the workspace."));
    }
    let telling: Vec<String> = TELLING
        .iter()
        .filter_map(|name| by_name(&tree, name).into_iter().find(|path| !path.contains('/')))
        .take(3)
        .collect();
    let read = together(&telling, |path| read(path, Some((1, 80)), board))?;
    let mut section = Section::default();
    let mut about = None;
    for (path, file) in &read {
        let ReadFile::Lines(window) = file else { continue };
        about = about.or_else(|| {
            outline::summary(path, window.numbered())
                .filter(|_| path.to_lowercase().contains("readme"))
                .map(|text| (path, text))
        });
        let description = window
            .numbered()
            .find(|(_, line)| line.trim_start().trim_start_matches('"').starts_with("description"));
        if about.is_none()
            && let Some((_, line)) = description
        {
            about = line
                .split_once(['=', ':'])
                .map(|(_, text)| (path, text.trim().trim_matches(['"', ',', '\'']).to_owned()));
        }
        section.paragraph(&format!("**{path}**"));
        section.paragraph(&numbered(path, window.numbered().take(30)));
    }
    section.headline = match about {
        Some((path, text)) => format!("{} says: “{}”", ticked(path), outline::cut(&text, 220)),
        None => "No file at the top says in words what the project is.".to_owned(),
    };
    append_sentence(&mut section.headline, &kinds_of_files(&tree));
    let top: Vec<_> = tree
        .paths
        .iter()
        .map(String::as_str)
        .filter(|path| path.trim_end_matches('/').matches('/').count() < 2)
        .take(60)
        .collect();
    section.paragraph("Files and folders of the upper two levels:");
    section.paragraph(&fenced("", &top.join("\n")));
    section.files = telling;
    Ok(section)
}

/// "42 files, most of them .rs (30), .md (5)."
fn kinds_of_files(tree: &Listing) -> String {
    let mut counts = std::collections::BTreeMap::new();
    for path in tree.files() {
        if let Some((_, extension)) = path.rsplit('/').next().and_then(|name| name.rsplit_once('.')) {
            *counts.entry(extension).or_insert(0usize) += 1;
        }
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let most: Vec<_> =
        counts.iter().take(3).map(|(extension, count)| format!("`.{extension}` ({count})")).collect();
    let total = counted(tree.files().count(), "file", "files");
    let more = if tree.notice.is_some() { "at least " } else { "" };
    if most.is_empty() {
        format!("There are {more}{total}.")
    } else {
        format!("There are {more}{total}, most of them {}.", most.join(", "))
    }
}
