//! The members of a JavaScript or TypeScript class, told apart from the statements in them by how far they are
//! indented.

use std::sync::LazyLock;

use regex::Regex;

use super::{outline_line::indent, words::constant};

static CLASS: LazyLock<Regex> = LazyLock::new(|| {
    constant(r"^\s*(?:export\s+)?(?:default\s+)?(?:abstract\s+)?class\b[^{]*\{\s*(?://.*)?$")
});

/// A method, a getter, a constructor, or a field that holds a function.
static MEMBER: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"^\s*(?:(?:public|private|protected|static|async|get|set|readonly|override|abstract)\s+)*\*?\s*(?:#?[\w$]+|\[[^\]]+\])\s*(?:\?|!)?\s*(?:(?:<[^>]*>)?\(|(?::[^=]+)?=\s*(?:async\s+)?(?:function\b|\([^)]*\)\s*(?::[^=]+)?=>|\w+\s*=>))",
    )
});

/// The class that the lines are in.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ScriptClass {
    /// Columns before the class, while its lines last.
    level: Option<usize>,
    /// Columns before its members, known from the first of them.
    member_level: Option<usize>,
}

impl ScriptClass {
    /// Takes the next line; whether it begins a member of the class.
    pub(super) fn has_member(&mut self, line: &str) -> bool {
        let text = line.trim();
        if text.is_empty() {
            return false;
        }
        let columns = indent(line);
        if self.level.is_some_and(|level| columns <= level) {
            *self = Self::default();
        }
        if self.level.is_none() {
            if CLASS.is_match(line) {
                self.level = Some(columns);
            }
            return false;
        }
        columns == *self.member_level.get_or_insert(columns) && MEMBER.is_match(line)
    }

    /// Whether the line stands in the class: what is no member there is a statement.
    pub(super) fn is_inside(&self, line: &str) -> bool {
        self.level.is_some_and(|level| indent(line) > level)
    }
}

/// The head of a member, without the body that may follow on its line.
pub(super) fn class_member(line: &str) -> String {
    static BODY: LazyLock<Regex> = LazyLock::new(|| constant(r"^(.*?(?:\)|\)\s*:[^{=]+|=>))\s*\{.*$"));
    let line = line.trim();
    let head = BODY.captures(line).and_then(|parts| parts.get(1)).map_or(line, |head| head.as_str());
    head.trim_end_matches(['{', ' ', ';']).to_owned()
}
