//! Wishes about a name in the code: where it is defined, and where it is used.

use regex::{Regex, RegexBuilder};

use super::{
    board::{Board, Needed},
    files::together,
    find::{did_not_work, matches_of, on_lines, place, search, shown},
    outline_line::{has_body, is_definition},
    outputs::{Match, fact},
    read::{ReadFile, lines_of, read},
    section::{Section, counted, distinct, match_list, numbered, ticked},
    terms::name_pattern,
};

/// Definitions that are shown with the lines around them.
const MAX_DEFINITIONS: usize = 3;

/// Lines of a definition that are quoted.
const DEFINITION_LINES: usize = 14;

/// So many other places are listed beside a definition; more are only counted.
const FEW: usize = 5;

/// Lines after them that are offered where a definition may be longer.
const MORE_LINES: usize = 40;

/// Lines above a definition that are quoted: its comment and attributes.
const LINES_BEFORE: usize = 4;

/// Whether the same message asks for the definition as well as for the uses, so that neither is told twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OtherHalf {
    Asked,
    Unasked,
}

/// A name as a pattern: as it stands, or in any spelling when it is told in words.
struct Name {
    pattern: String,
    exact: bool,
}

impl Name {
    fn new(name: &str) -> Self {
        let last = name.rsplit("::").next().unwrap_or(name);
        let last = if last.matches('.').count() == 1 && !last.ends_with('.') {
            last.rsplit('.').next().unwrap_or(last)
        } else {
            last
        };
        let is_one_word = !last.contains(char::is_whitespace);
        let has_form = last.contains(['_', '-', '$']) || last.chars().any(char::is_uppercase);
        let pattern = if is_one_word { regex::escape(last) } else { name_pattern(last) };
        Self { pattern, exact: is_one_word && has_form }
    }

    /// The pattern where it stands alone, for names that begin and end with letters.
    fn alone(&self) -> String {
        let edge = |letter: Option<char>| {
            if letter.is_some_and(|c| c.is_alphanumeric() || c == '_') { r"\b" } else { "" }
        };
        format!("{}{}{}", edge(self.pattern.chars().next()), self.pattern, edge(self.pattern.chars().last()))
    }

    fn regex(&self, pattern: &str) -> Option<Regex> {
        RegexBuilder::new(pattern).case_insensitive(!self.exact).build().ok()
    }

    /// Lines that define the name, in the common languages.
    fn definition(&self) -> String {
        let name = &self.pattern;
        [
            // Words that introduce a name: `fn name`, `class Name`, `local function M.name`, `const name`.
            format!(r"\b(fn|struct|enum|union|trait|type|mod|macro_rules!|def|class|function\*?|func|interface|const|static|let|var|val|namespace|module|record|object|protocol|typedef|package|define|sub|table|view)\s+(mut\s+)?([\w]+[.:])*{name}\b"),
            // Go methods: `func (r *T) name(`.
            format!(r"\bfunc\s*\([^)]*\)\s*{name}\b"),
            // At the line's beginning: assignments, keys, shell functions, methods, C functions.
            format!(r#"^\s*(export\s+|public\s+|private\s+|protected\s+|static\s+|async\s+|get\s+|set\s+|local\s+|readonly\s+|["'#*])*([\w]+\.)*{name}["']?\s*(:?=[^=]|\(\s*\)\s*\{{|\([^;]*\)\s*(:\s*[\w<>\[\], |]+)?\{{\s*$|:\s*($|[^:]))"#),
            format!(r"^[A-Za-z_][\w<>:,*& ]*[\s*&]{name}\s*\([^;]*$"),
            // Types of languages that write `typedef struct … name;`, CSS classes, headings.
            format!(r"^\}}\s*{name}\s*;|^\s*[.#]{name}\b.*\{{|^#+\s.*\b{name}\b"),
        ]
        .join("|")
    }
}

pub(super) fn define(
    name: &str,
    scope: Option<&str>,
    uses_too: OtherHalf,
    board: &Board<'_>,
) -> Result<Section, Needed> {
    let told = Name::new(name);
    let uses = match matches_of(board.ask(search(&told.alone(), told.exact, scope))?) {
        Ok(uses) => uses,
        Err(why) => return Ok(did_not_work(name, &why)),
    };
    let definition = told.regex(&told.definition());
    let is_definition = |found: &Match| definition.as_ref().is_some_and(|regex| regex.is_match(&found.text));
    let mut found: Vec<_> = uses.matches.iter().filter(|found| is_definition(found)).cloned().collect();
    if found.is_empty() && uses.truncated {
        // The definition may stand after the lines at which the search was cut.
        let outcome = board.ask(search(&told.definition(), told.exact, scope))?;
        found = matches_of(outcome).unwrap_or_default().matches;
    }
    found.retain(|found| !is_comment(&found.text));
    found.sort_by_key(|found| definition_rank(name, found));
    let place = place(scope);
    if found.is_empty() && uses.matches.is_empty() {
        let mut section = Section::said(format!("{} was not found in {place}.", ticked(name)));
        section.paragraph(&format!(
            "Searched for the pattern {} and for definitions of it in the common languages.",
            ticked(&told.alone())
        ));
        return Ok(section);
    }
    if found.is_empty() {
        let files = distinct(uses.matches.iter().map(|found| found.path.as_str()));
        let mut section = Section::said(format!(
            "No definition of {} was recognised in {place}, but it stands {} in {}.",
            ticked(name),
            on_lines(uses.matches.len()),
            counted(files.len(), "file", "files")
        ));
        section.paragraph(&shown(&uses.matches));
        return Ok(section.with_files(files));
    }
    let best: Vec<_> = found.iter().take(MAX_DEFINITIONS).cloned().collect();
    let windows = together(&best, |found| {
        read(
            &found.path,
            Some((found.line.saturating_sub(LINES_BEFORE).max(1), found.line + DEFINITION_LINES)),
            board,
        )
    })?;
    let first = best.first().map(|found| format!("{}:{}", found.path, found.line)).unwrap_or_default();
    let more = if found.len() > 1 {
        format!(" ({} in all look like a definition of it)", counted(found.len(), "line", "lines"))
    } else {
        String::new()
    };
    let others: Vec<_> = uses
        .matches
        .iter()
        .filter(|used| !found.iter().any(|found| found.path == used.path && found.line == used.line))
        .collect();
    let also = match others.len() {
        _ if uses_too == OtherHalf::Asked => String::new(),
        0 => String::new(),
        count => format!(
            "; it stands on {}{}",
            if uses.truncated { "at least " } else { "" },
            counted(count, "other line", "other lines")
        ),
    };
    let mut section =
        Section::said(format!("{} is defined at {}{more}{also}.", ticked(name), ticked(&first)));
    for (found, (path, file)) in best.iter().zip(windows) {
        section.paragraph(&format!("**{path}:{}**", found.line));
        match file {
            ReadFile::Lines(window) => {
                let last =
                    last_of_definition(window.numbered().skip_while(|(number, _)| *number < found.line));
                let lines = window
                    .numbered()
                    .skip_while(|(number, line)| {
                        *number < found.line && !belongs_to_next(line, found.line - number)
                    })
                    .take_while(|(number, _)| *number <= last.unwrap_or(found.line));
                section.paragraph(&numbered(&path, lines));
                if last == Some(window.last()) && window.goes_on() {
                    let (first, last) = (window.last() + 1, window.last() + MORE_LINES);
                    let last = window.total.map_or(last, |total| total.min(last));
                    section.paragraph(&format!("It may go on: ask for {}.", lines_of(&path, first, last)));
                }
            }
            _ => section.paragraph(&match_list(std::iter::once(found))),
        }
    }
    if let Some(rest) = found.get(best.len()..).filter(|rest| !rest.is_empty()) {
        section.paragraph(&shown(rest));
    }
    if !others.is_empty() && others.len() <= FEW && uses_too == OtherHalf::Unasked {
        section.paragraph("It also stands here:");
        section.paragraph(&match_list(others.into_iter()));
    }
    Ok(section.with_files(distinct(found.iter().map(|found| found.path.as_str()))))
}

/// The last line of the definition that the first of these lines begins: what is indented below it, and what closes
/// it. Blank lines at the end are none of it.
fn last_of_definition<'a>(mut lines: impl Iterator<Item = (usize, &'a str)>) -> Option<usize> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let (mut last, first) = lines.next()?;
    let level = indent(first);
    for (number, line) in lines {
        let text = line.trim();
        if text.is_empty() {
            continue;
        }
        if indent(line) <= level {
            // `) -> T {`, `where` and a brace alone go on with what was begun; `}` and `end` close it.
            let goes_on = text.starts_with(['{', ')', ']']) || text == "where" || text.ends_with("({");
            let closes = text.starts_with('}') || text == "end" || text.starts_with("end ");
            if !goes_on && !closes {
                break;
            }
            last = number;
            if closes && !text.ends_with('{') || text.ends_with(';') {
                break;
            }
            continue;
        }
        last = number;
    }
    Some(last)
}

/// A comment or an attribute right above a definition is shown with it.
fn belongs_to_next(line: &str, distance: usize) -> bool {
    distance <= LINES_BEFORE
        && (is_comment(line) || line.trim_start().starts_with(['@']) || line.trim_start().starts_with("#["))
}

fn is_comment(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("//")
        || line.starts_with("/*")
        || line.starts_with("* ")
        || line.starts_with("--")
        || (line.starts_with("# ") && !line.starts_with("# !"))
}

/// Code before tests and benchmarks, these before prose; what looks like a definition in its language first, of these a
/// function before its declaration, and then what stands in a file of that name: of many a `main` the one of
/// `src/main.rs`.
fn definition_rank(name: &str, found: &Match) -> (bool, bool, bool, bool, bool) {
    const ASIDE: [&str; 6] = ["bench", "benches", "benchmarks", "example", "examples", "fuzz"];
    let lower = found.path.to_lowercase();
    let is_prose = [".md", ".txt", ".rst", ".adoc", ".lock"].iter().any(|end| lower.ends_with(end));
    let is_test = lower.contains("test") || lower.contains("spec");
    let is_aside = is_test || lower.split('/').any(|part| ASIDE.contains(&part));
    let file = lower.rsplit('/').next().unwrap_or_default();
    let is_namesake = file.split('.').next() == Some(name.to_lowercase().as_str());
    let is_declared = !has_body(&found.path, &found.text);
    (is_prose, !is_definition(&found.path, &found.text), is_aside, is_declared, !is_namesake)
}

pub(super) fn uses(
    name: &str,
    scope: Option<&str>,
    calls_only: bool,
    count_only: bool,
    definition_too: OtherHalf,
    board: &Board<'_>,
) -> Result<Section, Needed> {
    let told = Name::new(name);
    let found = match matches_of(board.ask(search(&told.alone(), told.exact, scope))?) {
        Ok(found) => found,
        Err(why) => return Ok(did_not_work(name, &why)),
    };
    let place = place(scope);
    if found.matches.is_empty() {
        let mut section = Section::said(format!("{} was not found in {place}.", ticked(name)));
        section.paragraph(&format!("Searched for the pattern {}.", ticked(&told.alone())));
        return Ok(section);
    }
    let definition = told.regex(&told.definition());
    let call = told.regex(&format!(r"{}(::<[^>]*>)?!?\s*[(\[{{]", told.alone()));
    let (defined, used): (Vec<_>, Vec<_>) = found.matches.into_iter().partition(|found| {
        definition.as_ref().is_some_and(|pattern| pattern.is_match(&found.text)) && !is_comment(&found.text)
    });
    let called: Vec<_> = used
        .iter()
        .filter(|found| {
            call.as_ref().is_some_and(|pattern| pattern.is_match(&found.text)) && !is_comment(&found.text)
        })
        .cloned()
        .collect();
    let (verb, used) = if calls_only && !called.is_empty() { ("called", called) } else { ("used", used) };
    let files = distinct(used.iter().map(|found| found.path.as_str()));
    let at_least = if found.truncated { "at least " } else { "" };
    let mut section = match (used.is_empty(), defined.first()) {
        (true, Some(_)) if definition_too == OtherHalf::Asked => {
            Section::said(format!("{} is {verb} nowhere else in {place}.", ticked(name)))
        }
        (true, Some(only)) => Section::said(format!(
            "{} is defined at {} and {verb} nowhere else in {place}.",
            ticked(name),
            ticked(&format!("{}:{}", only.path, only.line))
        )),
        _ => Section::said(format!(
            "{} is {verb} on {at_least}{} in {}.",
            ticked(name),
            counted(used.len(), "line", "lines"),
            counted(files.len(), "file", "files")
        )),
    };
    if count_only && files.len() > 1 {
        let per_file: Vec<_> = files
            .iter()
            .map(|file| {
                format!("- {}: {}", ticked(file), used.iter().filter(|found| found.path == *file).count())
            })
            .collect();
        section.paragraph(&per_file.join("\n"));
    }
    section.paragraph(&shown(&used));
    if !defined.is_empty() && !used.is_empty() && definition_too == OtherHalf::Unasked {
        section.paragraph("Lines that look like its definition:");
        section.paragraph(&shown(&defined));
    }
    if found.truncated {
        section.paragraph(
            &found
                .notice
                .map(|notice| format!("The search is not whole: {}.", fact(&notice)))
                .unwrap_or_default(),
        );
    }
    Ok(section.with_files(files).titled(ticked(name)))
}
