//! The commands of a script, whatever it does with them: in branches, loops, functions and substitutions. What a script
//! runs is not known from that, only what it may run.

use tree_sitter::Parser;

use super::{Reader, Simple, Word, children};

/// Nodes of a script that are looked at: far more than one of some thousand lines has.
const MAX_NODES: usize = 200_000;

/// Commands that are read of one script.
const MAX_COMMANDS: usize = 2_000;

/// The commands that stand in the text of a script, each with its words up to the first that is not spelt out.
pub(in super::super) fn commands_of_script(text: &str) -> Vec<Simple> {
    let mut parser = Parser::new();
    let tree = match parser.set_language(&tree_sitter_bash::LANGUAGE.into()) {
        Ok(()) => parser.parse(text, None),
        Err(_) => None,
    };
    let Some(tree) = tree else { return Vec::new() };
    let mut reader = Reader::new(text);
    let mut commands = Vec::new();
    let mut waiting = vec![tree.root_node()];
    let mut looked_at = 0;
    while let Some(node) = waiting.pop() {
        looked_at += 1;
        if looked_at > MAX_NODES || commands.len() >= MAX_COMMANDS {
            break;
        }
        if node.kind() == "command" {
            let parts =
                children(node).filter(|part| !matches!(part.kind(), "variable_assignment" | "file_redirect"));
            let words = parts.map_while(|part| {
                let word = match part.kind() {
                    "command_name" => children(part).next().and_then(|name| reader.word(name).ok()),
                    _ => reader.word(part).ok(),
                };
                word.filter(Word::is_spelt)
            });
            commands.push(Simple { words: words.collect(), ..Simple::default() });
        }
        waiting.extend(children(node));
    }
    commands.retain(|command| !command.words.is_empty());
    commands
}
