//! Here-documents, taken out of a text before the grammar sees it, which does not read all of them.
//!
//! What is between quotes is told apart here as a shell does it; where the grammar then finds no redirection in a document's
//! place, nothing of the text is believed.

/// A document that a command gets as its input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Document {
    pub(in super::super) text: String,
    /// Whether values of variables are put into it.
    pub(in super::super) is_open: bool,
}

/// What stands in a document's place: a redirection of the same length in words, from nowhere.
const STAND_IN: &str = "</dev/null";

/// A text without its documents, and where in it each of them was named.
pub(super) struct Taken {
    pub(super) text: String,
    pub(super) documents: Vec<(usize, Document)>,
}

/// What a character stands in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Commands,
    DoubleQuotes,
}

const NOT_CLEAR: &str = "has a document as its input";

/// # Errors
/// Why it is not clear where its documents end, in words that follow "since it".
pub(super) fn taken_out(text: &str) -> Result<Taken, String> {
    let mut taken = Taken { text: String::new(), documents: Vec::new() };
    if !text.contains("<<") {
        taken.text = text.to_owned();
        return Ok(taken);
    }
    let mut within = vec![Within::Commands];
    let mut waiting: Vec<Named> = Vec::new();
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let is_quoted = within.last() == Some(&Within::DoubleQuotes);
        let length = match character {
            '\\' => 1 + rest.chars().nth(1).ok_or(NOT_CLEAR)?.len_utf8(),
            // Its quotes would have to be read anew.
            '`' => return Err(NOT_CLEAR.to_owned()),
            '\'' if !is_quoted => rest.get(1..).and_then(|rest| rest.find('\'')).ok_or(NOT_CLEAR)? + 2,
            '"' => {
                if is_quoted {
                    within.pop();
                } else {
                    within.push(Within::DoubleQuotes);
                }
                1
            }
            '$' if rest.starts_with("$((") || rest.starts_with("${") || rest.starts_with("$'") => {
                return Err(NOT_CLEAR.to_owned());
            }
            '$' if rest.starts_with("$(") => {
                within.push(Within::Commands);
                2
            }
            '(' if !is_quoted => {
                within.push(Within::Commands);
                1
            }
            ')' if !is_quoted => {
                within.pop();
                // As `case` has them.
                (!within.is_empty()).then_some(1).ok_or(NOT_CLEAR)?
            }
            '#' if !is_quoted && begins_word(&taken.text) => rest.find('\n').unwrap_or(rest.len()),
            '<' if !is_quoted && rest.starts_with("<<") && !rest.starts_with("<<<") => {
                let named = Named::read(rest).ok_or(NOT_CLEAR)?;
                rest = rest.get(named.length..).unwrap_or_default();
                taken.documents.push((taken.text.len(), Document::default()));
                taken.text.push_str(STAND_IN);
                waiting.push(named);
                continue;
            }
            '<' if !is_quoted && rest.starts_with("<<<") => 3,
            '\n' if !waiting.is_empty() => {
                if is_quoted {
                    return Err(NOT_CLEAR.to_owned());
                }
                let first = taken.documents.len() - waiting.len();
                rest = rest.get(1..).unwrap_or_default();
                for (index, named) in waiting.drain(..).enumerate() {
                    let (document, after) = named.body(rest)?;
                    rest = after;
                    if let Some((_, place)) = taken.documents.get_mut(first + index) {
                        *place = document;
                    }
                }
                taken.text.push('\n');
                continue;
            }
            other => other.len_utf8(),
        };
        let (passed, after) = rest.split_at_checked(length).ok_or(NOT_CLEAR)?;
        taken.text.push_str(passed);
        rest = after;
    }
    if waiting.is_empty() && within == [Within::Commands] { Ok(taken) } else { Err(NOT_CLEAR.to_owned()) }
}

/// Whether what follows a text is no part of a word in it.
pub(super) fn begins_word(before: &str) -> bool {
    before.chars().next_back().is_none_or(|c| " \t\n;&|(".contains(c))
}

/// `<<END`, `<<'END'` or `<<-END`.
struct Named {
    end: String,
    is_literal: bool,
    takes_tabs: bool,
    /// Bytes of its name and of what stands before it.
    length: usize,
}

impl Named {
    fn read(text: &str) -> Option<Self> {
        let after = text.strip_prefix("<<")?;
        let takes_tabs = after.starts_with('-');
        let after = after.strip_prefix('-').unwrap_or(after).trim_start_matches([' ', '\t']);
        let quote = after.chars().next().filter(|c| matches!(c, '\'' | '"'));
        let name = quote.map_or(after, |_| after.get(1..).unwrap_or_default());
        let length = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(name.len());
        let (end, after) = name.split_at_checked(length)?;
        let after = match quote {
            Some(quote) => after.strip_prefix(quote)?,
            None => after,
        };
        let is_over = after.chars().next().is_none_or(|c| " \t\n;|&<>)".contains(c));
        (is_over && !end.is_empty()).then(|| Self {
            end: end.to_owned(),
            is_literal: quote.is_some(),
            takes_tabs,
            length: text.len() - after.len(),
        })
    }

    /// The document that begins here, and what follows it.
    fn body<'t>(&self, text: &'t str) -> Result<(Document, &'t str), String> {
        let mut rest = text;
        loop {
            if rest.is_empty() {
                return Err(NOT_CLEAR.to_owned());
            }
            let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
            let bare = if self.takes_tabs { line.trim_start_matches('\t') } else { line };
            if bare == self.end {
                let body = text.get(..text.len() - rest.len()).unwrap_or_default();
                return Ok((self.document(body)?, after));
            }
            rest = after;
        }
    }

    fn document(&self, body: &str) -> Result<Document, String> {
        let is_open = !self.is_literal && body.contains('$');
        // A backslash may join the line with the end.
        let hides = ["\\", "`", "$(", "${", "$["].iter().any(|mark| body.contains(mark));
        if !self.is_literal && hides {
            return Err("may run commands within a document".to_owned());
        }
        Ok(Document { text: body.to_owned(), is_open })
    }
}
