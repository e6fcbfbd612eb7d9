//! Reads what the tools answered. Tolerant of details; a text that has another form is no listing, no match and no
//! window, and its reader shows it as it is instead of guessing.

use std::sync::LazyLock;

use regex::Regex;

use super::words::constant;

/// The paths of a `list_files` output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::model) struct Listing {
    /// Folders end with `/`.
    pub(in crate::model) paths: Vec<String>,
    /// What the tool added, such as that there are more.
    pub(in crate::model) notice: Option<String>,
}

static NOTICE: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"(?i)\b(truncated|not shown|left out|showing|there (are|is)|no (files|entries|match(es)?)|nothing|empty|more (files|entries|matches|lines)|narrow)\b",
    )
});

impl Listing {
    pub(in crate::model) fn parse(text: &str) -> Self {
        let mut listing = Self::default();
        for line in text.lines() {
            let line = line.trim_end();
            if line.is_empty() {
                continue;
            }
            // A file's name may hold blanks and words; a sentence has both and begins or ends like one.
            let is_sentence = line.contains(' ')
                && (NOTICE.is_match(line)
                    || line.ends_with(':')
                    || line.starts_with(['(', '[']) && line.ends_with([')', ']']));
            if is_sentence {
                listing.notice = Some(fact(line.trim_matches(['(', ')', '[', ']', '…', ' '])));
                continue;
            }
            let path = line.trim_start().trim_start_matches("./");
            // A size or another column stands behind a tab or two blanks.
            let path = path.split(['\t']).next().and_then(|path| path.split("  ").next()).unwrap_or(path);
            if !path.is_empty() {
                listing.paths.push(path.to_owned());
            }
        }
        listing
    }

    pub(in crate::model) fn files(&self) -> impl Iterator<Item = &str> {
        self.paths.iter().map(String::as_str).filter(|path| !path.ends_with('/'))
    }
}

/// One line that a search found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::model) struct Match {
    pub(in crate::model) path: String,
    pub(in crate::model) line: usize,
    pub(in crate::model) text: String,
}

/// The lines of a `search` output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::model) struct Matches {
    pub(in crate::model) matches: Vec<Match>,
    pub(in crate::model) notice: Option<String>,
    /// Lines that were found but only ask an agent something: `// ask: where is x used?`. They count as nothing else.
    pub(in crate::model) asks: usize,
    /// There are more than these.
    pub(in crate::model) truncated: bool,
}

static MATCH: LazyLock<Regex> = LazyLock::new(|| constant(r"^(.+?):(\d+):(?:\d+:)? ?(.*)$"));

impl Matches {
    pub(in crate::model) fn parse(text: &str) -> Self {
        let mut matches = Self::default();
        for line in text.lines() {
            let found = MATCH.captures(line).and_then(|parts| {
                Some(Match {
                    path: parts.get(1)?.as_str().trim_start_matches("./").to_owned(),
                    line: parts.get(2)?.as_str().parse().ok()?,
                    text: parts.get(3)?.as_str().to_owned(),
                })
            });
            match found {
                // A question to an agent speaks of the code and is no part of it.
                Some(found) if ASKS.is_match(&found.text) => matches.asks += 1,
                Some(found) => matches.matches.push(found),
                None if line.trim().is_empty() || line.trim() == "--" => {}
                None => {
                    matches.notice = Some(line.trim().trim_matches(['(', ')', '[', ']', '…', ' ']).to_owned())
                }
            }
        }
        matches.truncated = !matches.matches.is_empty()
            && matches.notice.as_deref().is_some_and(|notice| TRUNCATED.is_match(notice));
        matches
    }
}

static ASKS: LazyLock<Regex> =
    LazyLock::new(|| constant(r"(?i)(?:^|\s)(?://[/!]?|#|--|/\*|\*|<!--|;+|%)\s*ask\s*:"));

static TRUNCATED: LazyLock<Regex> =
    LazyLock::new(|| constant(r"(?i)\b(truncated|more|first|only|cut|limit|narrow|not shown|left out)\b"));

/// The lines of a `read_file` output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::model) struct Window {
    /// As the tool calls the file, where it says it.
    pub(in crate::model) path: Option<String>,
    /// One-based number of the first line.
    pub(in crate::model) first: usize,
    pub(in crate::model) lines: Vec<String>,
    /// Lines of the whole file, where the tool says it.
    pub(in crate::model) total: Option<usize>,
}

static HEADER: LazyLock<Regex> =
    LazyLock::new(|| constant(r"^(.+?)[ ,]+\(?lines? (\d+)(?:\s*[-–to]+\s*(\d+))? of (\d+)"));
static WHOLE_HEADER: LazyLock<Regex> = LazyLock::new(|| constant(r"^(.+?) \((\d+) lines?\)"));
static NUMBERED: LazyLock<Regex> = LazyLock::new(|| constant(r"^\s*(\d+)(?:\t| ?[|│→] ?)(.*)$"));
static EMPTY: LazyLock<Regex> = LazyLock::new(|| constant(r"(?i)\b(is empty|empty file|0 lines|no lines)\b"));

impl Window {
    /// `None` when the text is not of the form that is known.
    pub(in crate::model) fn parse(text: &str) -> Option<Self> {
        let mut window = Self::default();
        for line in text.split('\n') {
            let line = line.strip_suffix('\r').unwrap_or(line);
            let numbered = NUMBERED.captures(line).and_then(|parts| {
                let number: usize = parts.get(1)?.as_str().parse().ok()?;
                Some((number, parts.get(2)?.as_str()))
            });
            match numbered {
                Some((number, line))
                    if window.lines.is_empty() || number == window.first + window.lines.len() =>
                {
                    if window.lines.is_empty() {
                        window.first = number;
                    }
                    window.lines.push(line.to_owned());
                }
                // Numbers that jump are of another form than is known.
                Some(_) => return None,
                None => window.take_header(line),
            }
        }
        if window.lines.is_empty() {
            return EMPTY.is_match(text.lines().next().unwrap_or_default()).then(|| Self {
                first: 1,
                total: Some(0),
                ..Self::default()
            });
        }
        Some(window)
    }

    fn take_header(&mut self, line: &str) {
        if !self.lines.is_empty() || self.path.is_some() {
            return;
        }
        if let Some(parts) = HEADER.captures(line) {
            self.path = parts.get(1).map(|path| path.as_str().to_owned());
            self.total = parts.get(4).and_then(|total| total.as_str().parse().ok());
        } else if let Some(parts) = WHOLE_HEADER.captures(line) {
            self.path = parts.get(1).map(|path| path.as_str().to_owned());
            self.total = parts.get(2).and_then(|total| total.as_str().parse().ok());
        }
    }

    /// One-based number of the last line.
    pub(in crate::model) fn last(&self) -> usize {
        (self.first + self.lines.len()).saturating_sub(1)
    }

    /// The file goes on after this window.
    pub(in crate::model) fn goes_on(&self) -> bool {
        self.total.is_some_and(|total| self.last() < total)
    }

    /// Lines with their one-based numbers.
    pub(in crate::model) fn numbered(&self) -> impl Iterator<Item = (usize, &str)> {
        self.lines.iter().enumerate().map(|(at, line)| (self.first + at, line.as_str()))
    }
}

/// Why a call gave nothing, in a few words for a person: the fact that the tool's first line states, without what it
/// advises a model to do next.
pub(in crate::model) fn reason(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("the tool said nothing");
    let line: String = fact(line).chars().take(300).collect();
    if let Some(parts) = PAST_THE_END.captures(&line) {
        let part = |at: usize| parts.get(at).map_or("", |part| part.as_str());
        return format!("there is no line {}; {}", part(1), part(2));
    }
    line
}

static PAST_THE_END: LazyLock<Regex> =
    LazyLock::new(|| constant(r"^start_line (\d+) is past the end[;,] (.+)$"));

/// What became of an edit that was not refused; the one that the user has more to do for comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::model) enum Fate {
    /// It waits for the user.
    Proposed,
    /// It waits for the end of the turn, and nobody is asked.
    ToApply,
    /// It is made.
    Applied,
}

impl Fate {
    /// From what an editing tool answered.
    pub(in crate::model) fn of(text: &str) -> Self {
        let says = |start| text.lines().any(|line| line.starts_with(start));
        match () {
            () if says("Applied in the user's editor") || says("Applied: ") => Self::Applied,
            () if says("Staged: ") => Self::ToApply,
            () => Self::Proposed,
        }
    }

    pub(in crate::model) fn sentence(self) -> &'static str {
        match self {
            Self::Proposed => "The edit is proposed.",
            Self::ToApply => "The edit is applied when the turn ends.",
            Self::Applied => "The edit is applied.",
        }
    }
}

/// What begins with one of these after a sign is advice.
static ADVICE: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"(?i)[;:,.]\s+(?:so\s+|or\s+|please\s+)?(?:list|ask|use|call|name|choose|read|convert|add|narrow|give|write|edit|delete|try|make|search|set|pass|see|look|note|check|retry|run|move|open|shorten)\b.*$|\s*\([^()]*\bhidden: true\)",
    )
});

/// The text without its advice; all of it where nothing else would be left.
pub(in crate::model) fn fact(text: &str) -> String {
    let bare = ADVICE.replace_all(text, "");
    let bare = bare.trim().trim_end_matches(['.', ';', ':', ',']);
    if bare.is_empty() { text.to_owned() } else { bare.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_that_the_editor_has_made_is_not_called_proposed() {
        let told = |text| Fate::of(text).sentence();
        assert_eq!(told("edited a\nApplied in the user's editor, and saved."), "The edit is applied.");
        assert_eq!(
            told("edited a\nStaged: nothing is on disk yet; it is applied when the turn ends."),
            "The edit is applied when the turn ends."
        );
        assert_eq!(told("edited a\nStaged as a proposal: nothing is on disk yet."), "The edit is proposed.");
    }
}
