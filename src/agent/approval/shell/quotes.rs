//! What stands between quotes, and braces outside of them.

use tree_sitter::Node;

use super::{NOT_READ, Word, children};

/// The variable that holds how the last command ended.
pub(super) const STATUS: &str = "$?";

/// A text that begins at `start`, with a number in the place of each `$?` in it.
pub(super) fn with_statuses<'t>(
    text: &str,
    start: usize,
    statuses: impl Iterator<Item = Node<'t>>,
) -> Result<String, String> {
    let mut text = text.to_owned();
    let statuses: Vec<_> = statuses.collect();
    for status in statuses.iter().rev() {
        let at = status.start_byte().checked_sub(start).ok_or(NOT_READ)?;
        let range = at..at + STATUS.len();
        if text.get(range.clone()) != Some(STATUS) {
            return Err(NOT_READ.to_owned());
        }
        text.replace_range(range, "0");
    }
    Ok(text)
}

/// What stands between double quotes.
pub(super) fn quoted(source: &str, word: &mut Word) -> Result<(), String> {
    let mut characters = source.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '$' | '`' => return Err("uses the values of variables or of other commands".to_owned()),
            '\\' => match characters.peek() {
                // Before any other character a backslash stands for itself here.
                Some('"' | '\\' | '$' | '`') => word.text.extend(characters.next()),
                Some(_) => word.text.push('\\'),
                None => return Err(NOT_READ.to_owned()),
            },
            '"' => return Err(NOT_READ.to_owned()),
            other => word.text.push(other),
        }
    }
    Ok(())
}

/// Whether one of the braces of a word stands outside quotes.
pub(super) fn is_unquoted_brace(node: Node<'_>, text: &str) -> bool {
    match node.kind() {
        "raw_string" | "string" => false,
        "concatenation" => {
            // Unquoted parts side by side, so that `{}` counts as a pair.
            let mut run = String::new();
            let mut runs = Vec::new();
            for child in children(node) {
                if matches!(child.kind(), "raw_string" | "string") {
                    runs.push(std::mem::take(&mut run));
                } else {
                    run.push_str(text.get(child.byte_range()).unwrap_or("{"));
                }
            }
            runs.push(run);
            runs.iter().any(|run| run.replace("{}", "").contains(['{', '}']))
        }
        _ => true,
    }
}
