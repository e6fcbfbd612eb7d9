//! The wish to know where a text stands, and searching as such.

use regex::RegexBuilder;

use super::{
    board::{Board, Call, Needed, Outcome},
    outputs::{Match, Matches, fact, reason},
    section::{Section, counted, distinct, match_list, ticked},
    terms::stem,
    wish::Needle,
};

/// Found lines of one answer.
const MAX_SHOWN: usize = 50;

pub(super) fn search(pattern: &str, case_sensitive: bool, scope: Option<&str>) -> Call {
    Call::new("search")
        .with("pattern", pattern)
        .maybe("path", scope)
        .maybe("case_sensitive", case_sensitive.then_some(true))
}

/// What a search gave, or why it gave nothing, as the end of a sentence.
pub(super) fn matches_of(outcome: Outcome) -> Result<Matches, String> {
    let matches = Matches::parse(&outcome.text);
    if outcome.is_error {
        return Err(reason(&outcome.text));
    }
    Ok(matches)
}

pub(super) fn did_not_work(what: &str, why: &str) -> Section {
    Section::said(format!("The search for {} did not work: {}.", ticked(what), why.trim_end_matches('.')))
}

pub(super) fn place(scope: Option<&str>) -> String {
    scope.filter(|scope| *scope != ".").map_or("the workspace".to_owned(), ticked)
}

pub(super) fn find(
    needle: &Needle,
    scope: Option<&str>,
    count_only: bool,
    board: &Board<'_>,
) -> Result<Section, Needed> {
    let outcome = board.ask(search(&needle.pattern, needle.case_sensitive, scope))?;
    let found = match matches_of(outcome) {
        Ok(found) => found,
        Err(why) => return Ok(did_not_work(&needle.shown, &why)),
    };
    let place = place(scope);
    if found.matches.is_empty() && needle.pattern == regex::escape(&needle.shown) && needle.case_sensitive {
        let any_case = Needle { case_sensitive: false, ..needle.clone() };
        let mut section = find(&any_case, scope, count_only, board)?;
        if !section.files.is_empty() {
            section.headline = format!(
                "{} was not found as it is written. In any case: {}",
                ticked(&needle.shown),
                section.headline
            );
        }
        return Ok(section);
    }
    if found.matches.is_empty() {
        let stem = stem(&needle.shown);
        let is_word = needle.shown.chars().all(char::is_lowercase) && needle.pattern == needle.shown;
        if is_word && stem != needle.shown {
            // "authentication": what begins like the word may be what is meant.
            let wider = Needle { shown: stem.clone(), pattern: stem, case_sensitive: false };
            let mut section = find(&wider, scope, count_only, board)?;
            section.headline =
                format!("{} was not found in {place}. {}", ticked(&needle.shown), section.headline);
            return Ok(section);
        }
        let mut section = Section::said(format!("{} was not found in {place}.", ticked(&needle.shown)));
        let case = if needle.case_sensitive { "capital letters as written" } else { "in any case" };
        if found.asks > 0 {
            section.paragraph("It stands only in questions to an agent.");
        }
        section.paragraph(&format!("Searched with the pattern {}, {case}.", ticked(&needle.pattern)));
        return Ok(section);
    }
    let files = distinct(found.matches.iter().map(|found| found.path.as_str()));
    let at_least = if found.truncated { "at least " } else { "" };
    let occurrences = occurrences(needle, &found.matches);
    let times = match occurrences.filter(|times| count_only && *times != found.matches.len()) {
        Some(times) => format!(
            "{at_least}{} on {}",
            counted(times, "time", "times"),
            counted(found.matches.len(), "line", "lines")
        ),
        None => format!("{at_least}{}", on_lines(found.matches.len())),
    };
    let mut section = Section::said(format!(
        "{} was found {times} in {}.",
        ticked(&needle.shown),
        counted(files.len(), "file", "files")
    ));
    if files.len() > 1 && (count_only || found.matches.len() > 10) {
        let per_file: Vec<_> = files
            .iter()
            .take(30)
            .map(|file| {
                format!(
                    "- {}: {}",
                    ticked(file),
                    found.matches.iter().filter(|found| found.path == *file).count()
                )
            })
            .collect();
        section.paragraph(&per_file.join("\n"));
    }
    section.paragraph(&shown(&found.matches));
    if found.truncated {
        section.paragraph(
            &found
                .notice
                .map(|notice| format!("The search is not whole: {}.", fact(&notice)))
                .unwrap_or_default(),
        );
    }
    Ok(section.with_files(files).titled(ticked(&needle.shown)))
}

pub(super) fn on_lines(count: usize) -> String {
    format!("on {}", counted(count, "line", "lines"))
}

pub(super) fn shown(matches: &[Match]) -> String {
    let mut text = match_list(matches.iter().take(MAX_SHOWN));
    if matches.len() > MAX_SHOWN {
        text.push_str(&format!("- … {} more", matches.len() - MAX_SHOWN));
    }
    text
}

/// How often the needle stands on the found lines, where this program can say it.
fn occurrences(needle: &Needle, matches: &[Match]) -> Option<usize> {
    let pattern = RegexBuilder::new(&needle.pattern).case_insensitive(!needle.case_sensitive).build().ok()?;
    Some(matches.iter().map(|found| pattern.find_iter(&found.text).count()).sum())
}
