//! The outline of a file: headings, sections, keys, and the signatures of what code defines, line by line. It reads
//! lines as a person skims them, it does not parse; a line that only looks like a definition may slip in.

use super::{
    outline_line::{Language, entry, indent, language},
    outline_page::Page,
    outline_script::{ScriptClass, class_member},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryKind {
    Function,
    Type,
    /// Headings, sections, keys, modules, constants.
    Other,
}

/// One line of an outline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) line: usize,
    pub(super) depth: usize,
    pub(super) text: String,
    pub(super) kind: EntryKind,
    /// What the comment just above says first.
    pub(super) remark: Option<String>,
}

/// Longer signatures are cut.
const MAX_TEXT: usize = 140;

/// What the entries are that are neither functions nor types: one of them, and several.
pub(super) fn other_entries(path: &str) -> (&'static str, &'static str) {
    match language(path) {
        Some(Language::Markdown) => ("heading", "headings"),
        Some(Language::Toml | Language::Json | Language::Yaml) => ("key", "keys"),
        Some(Language::Html) => ("heading or other element", "headings and other elements"),
        _ => ("other item", "other items"),
    }
}

pub(super) fn outline<'a>(path: &str, lines: impl Iterator<Item = (usize, &'a str)>) -> Vec<Entry> {
    let Some(language) = language(path) else { return Vec::new() };
    let mut entries = Vec::new();
    let mut comment: Option<String> = None;
    let mut in_fence = false;
    let mut class = ScriptClass::default();
    let mut page = Page::default();
    for (number, line) in lines {
        if language == Language::Html {
            entries.extend(page.elements(line).into_iter().map(|(depth, text)| Entry {
                line: number,
                depth,
                text: cut(&text, MAX_TEXT),
                kind: EntryKind::Other,
                remark: None,
            }));
            continue;
        }
        if language == Language::Markdown && line.trim_start().starts_with("```") {
            in_fence = !in_fence;
        }
        let is_comment = language != Language::Markdown
            && !line.trim().is_empty()
            && comment_text(line, language).is_some();
        if is_comment {
            // The file's own comment is its summary; a note to do something says nothing of what follows.
            let says = |text: &&str| {
                !text.is_empty()
                    && number > 1
                    && !["TODO", "FIXME", "ask:"].iter().any(|note| text.starts_with(note))
            };
            comment = comment.or_else(|| comment_text(line, language).filter(says).map(first_sentence));
            continue;
        }
        let is_member = language == Language::Script && class.has_member(line);
        let found = if in_fence {
            None
        } else if is_member {
            Some((indent(line) / 2, class_member(line), EntryKind::Function))
        } else if class.is_inside(line) {
            None
        } else {
            entry(language, line)
        };
        // Attributes stand between a comment and what it is about.
        let is_attribute = line.trim_start().starts_with(['#', '@']);
        if let Some((depth, text, kind)) = found {
            entries.push(Entry {
                line: number,
                depth,
                text: cut(&text, MAX_TEXT),
                kind,
                remark: comment.take(),
            });
        } else if !is_attribute {
            comment = None;
        }
    }
    entries
}

/// The text of a comment line; `None` when the line is none.
fn comment_text(line: &str, language: Language) -> Option<&str> {
    let line = line.trim();
    let signs: &[&str] = match language {
        Language::Python
        | Language::Shell
        | Language::Toml
        | Language::Yaml
        | Language::Make
        | Language::Ruby => &["#"],
        Language::Lua => &["---", "--"],
        Language::Sql => &["--"],
        Language::Html => &["<!--"],
        Language::Markdown => return None,
        _ => &["//!", "///", "//", "/**", "/*", "*/", "* ", "*"],
    };
    // `*pointer = …` is code; a lone asterisk or one with a blank is inside a block comment.
    let sign = signs.iter().find(|sign| match **sign {
        "*" => line == "*",
        "//" | "///" | "//!" | "/**" | "/*" | "*/" | "* " | "#" | "--" | "---" | "<!--" => {
            line.starts_with(**sign)
        }
        _ => false,
    })?;
    let text = line.strip_prefix(sign)?.trim().trim_end_matches("*/").trim_end_matches("-->").trim();
    // `#!/bin/sh` and `#[derive]` say nothing to people.
    if *sign == "#" && text.starts_with(['!', '[']) { Some("") } else { Some(text) }
}

/// What the file says about itself at its top: the first comment, doc string or paragraph.
pub(super) fn summary<'a>(path: &str, lines: impl Iterator<Item = (usize, &'a str)>) -> Option<String> {
    let language = language(path)?;
    let mut text = String::new();
    let mut in_doc = false;
    // What is not said in the first lines is not said at the top.
    for (_, line) in lines.take(40) {
        let line = line.trim();
        let part = if language == Language::Markdown {
            let is_prose = !line.is_empty() && !line.starts_with(['#', '|', '<', '[', '!', '`', '=', '-']);
            is_prose.then_some(line)
        } else if language == Language::Python
            && (in_doc || line.starts_with("\"\"\"") || line.starts_with("'''"))
        {
            let opened = !in_doc;
            let bare = line.trim_matches(['"', '\'']);
            let closes = line.len() > 3 && (line.ends_with("\"\"\"") || line.ends_with("'''"))
                || (!opened && line.len() <= 3);
            in_doc = !closes;
            (!bare.is_empty()).then_some(bare)
        } else if line.is_empty() {
            None
        } else {
            comment_text(line, language).filter(|text| !text.is_empty())
        };
        match part {
            Some(part) => {
                if !text.is_empty() {
                    text.push(' ');
                }
                text.push_str(part);
            }
            None if !text.is_empty() => break,
            // Code before any comment: the comments that follow are about something smaller.
            None if !line.is_empty()
                && language != Language::Markdown
                && comment_text(line, language).is_none()
                && !in_doc =>
            {
                break;
            }
            None => {}
        }
    }
    (!text.is_empty()).then(|| cut(&text, 400))
}

fn first_sentence(text: &str) -> String {
    let end = text.find(". ").map_or(text.len(), |at| at + 1);
    cut(text.get(..end).unwrap_or(text), 100)
}

/// At most so many characters, with a sign where something is missing.
pub(super) fn cut(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(limit.saturating_sub(1)).collect();
    short.push('…');
    short
}
