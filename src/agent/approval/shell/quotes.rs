//! What stands between quotes, and braces outside of them.

use tree_sitter::Node;

use super::{NOT_READ, Word, children};

/// What follows a part of a text between double quotes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Quote,
    /// The value of a variable, or what another command prints.
    Value,
}

/// Characters before which every shell takes `$` for itself, as it does at the end: `"\.(rs|ts)$"`, `"/^}$/p"`.
const ENDS_NO_NAME: &[char] = &[')', '|', '/', ' ', '\\', ',', '.', ';'];

/// What stands between double quotes, up to an end.
pub(super) fn quoted(source: &str, end: End, word: &mut Word) -> Result<(), String> {
    let mut characters = source.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '$' if characters.peek().map_or(end == End::Quote, |next| ENDS_NO_NAME.contains(next)) => {
                word.text.push('$');
            }
            '$' | '`' => return Err("uses the values of variables or of other commands".to_owned()),
            '\\' => match characters.peek() {
                // Before any other character a backslash stands for itself here.
                Some('"' | '\\' | '$' | '`') => word.text.extend(characters.next()),
                // The line goes on.
                Some('\n') => drop(characters.next()),
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
        "raw_string" | "string" | "simple_expansion" | "expansion" | "command_substitution" => false,
        "concatenation" => {
            // Unquoted parts side by side, so that `{}` counts as a pair.
            let mut run = String::new();
            let mut runs = Vec::new();
            for child in children(node) {
                let kinds = ["raw_string", "string", "simple_expansion", "expansion", "command_substitution"];
                if kinds.contains(&child.kind()) {
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
