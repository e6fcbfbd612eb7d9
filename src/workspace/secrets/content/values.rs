//! What a value says: a text itself, or that it stands for one that is kept elsewhere.

use std::sync::LazyLock;

use regex::Regex;

use super::{PASSWORD_ENDINGS, TOKEN_ENDINGS};
use crate::workspace::keys::{self, constant};

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// A text, whatever it begins with.
    Quoted,
    /// Behind `=`, where a text needs no quotes.
    Assigned,
    /// Where signs say that something else than a text follows.
    Bare,
}

/// Parts of what is filled in later, or was encrypted.
const FILLED_IN: &[&str] = &[
    "{{",
    "}}",
    "${",
    "$(",
    "$[",
    "<%",
    "%>",
    "#{",
    "%{",
    "%(",
    "ENC[",
    "://",
    "...",
    "…",
    "process.env",
    "environ",
];
/// How what is no text begins, but in quotes.
const SIGNS: &[&str] = &["!", "*", "&", "(", "^", "~", ">", "@", "#"];
/// The same, behind `=` as well: anything else there is a text.
const SIGNS_BEHIND_EQUALS: &[&str] = &["&", "(", "~/", ">"];
/// How a place begins where the value is, and a thing that is made of others.
const REFERENCES: &[&str] = &[
    "{",
    "[",
    "<",
    "/",
    "./",
    "../",
    "~/",
    "#/",
    "@/",
    "$.",
    "vault:",
    "ssm:",
    "file:",
    "arn:",
    "env:",
    "sha1-",
    "sha256-",
    "sha512-",
    "sha256:",
    "workspace:",
    "npm:",
];
/// Values that are none, and kinds of values.
const NO_VALUES: &[&str] = &[
    "true",
    "false",
    "null",
    "none",
    "nil",
    "yes",
    "no",
    "on",
    "off",
    "undefined",
    "string",
    "str",
    "number",
    "boolean",
    "bool",
    "int",
    "integer",
    "any",
    "unknown",
    "required",
    "optional",
    "required|string",
    "text",
    "object",
    "array",
    "latest",
    "next",
    "inherit",
    "test",
    "todo",
    "tbd",
    "foo",
    "bar",
    "postgres",
    "root",
    "guest",
    "admin",
    "fake",
    "change-me",
    "change_me",
    "change",
    "replace-me",
    "replaceme",
    "opaque",
    "default",
    "hidden",
    "visible",
];

/// Whether a value stands for one that is kept elsewhere, or is a kind, a number of a version or a place.
pub(super) fn stands_for_value(value: &str, written: Written, name: &[String]) -> bool {
    /// Variables, and what joins them.
    static VARIABLES: LazyLock<Regex> =
        LazyLock::new(|| constant(r"^(?:[/:.,@-]*\$(?:[A-Za-z_]\w*|[\d@*#?!$-]))+$"));
    /// A name of a package: `@scope/name`.
    static PACKAGE: LazyLock<Regex> = LazyLock::new(|| constant(r"^@[a-z0-9_.-]+/[a-z0-9_.-]+$"));
    static VERSION: LazyLock<Regex> =
        LazyLock::new(|| constant(r"^[v~^<>= ]*\d+(?:\.[\dx*]+)+(?:-[\w.]+)?(?:\+[\w.]+)?$"));
    let lower = value.to_lowercase();
    let has_word = |word: &str| {
        PASSWORD_ENDINGS.iter().chain(TOKEN_ENDINGS).any(|ending| word.ends_with(ending))
            || name.iter().any(|part| part.as_str() == word)
    };
    // `*required`, `(optional)`.
    let bare = lower.trim_matches(|c: char| c.is_ascii_punctuation());
    // `db-password`, `YOUR_TOKEN`: the name of a value.
    let is_name = || {
        bare.chars().all(|c| c.is_ascii_alphabetic() || matches!(c, '-' | '_' | '.'))
            && bare.split(['-', '_', '.']).any(has_word)
    };
    // In quotes brackets are signs where they are around all of it: `[hidden]`, `<your token>`.
    let is_cut_off =
        value.starts_with('[') && !value.ends_with(']') || value.starts_with('<') && !value.ends_with('>');
    let signs = match written {
        Written::Quoted => &[],
        Written::Assigned => SIGNS_BEHIND_EQUALS,
        Written::Bare => SIGNS,
    };
    let is_fill = || {
        value.chars().all(|c| matches!(c, '*' | 'x' | 'X' | '.' | '-' | '_' | '?' | '=' | '|'))
            || value.starts_with('%') && value.ends_with('%')
            || value.starts_with("__") && value.ends_with("__")
    };
    value.is_empty()
        || is_fill()
        || NO_VALUES.contains(&lower.as_str())
        || NO_VALUES.contains(&bare)
        || VARIABLES.is_match(value)
        || PACKAGE.is_match(value)
        || FILLED_IN.iter().any(|part| value.contains(part))
        || signs.iter().chain(REFERENCES).any(|start| value.starts_with(start))
            && !(written == Written::Quoted && is_cut_off)
            && !keys::is_made(value.trim_start_matches('/'))
        || keys::PLACEHOLDERS.iter().any(|word| lower.contains(word))
        || VERSION.is_match(value)
        || is_name()
}

/// The value that counts where nothing is filled in: of `{{ … | default "x" }}` and of `${NAME:-x}`; `rest` is what stands
/// behind the text in its line.
pub(super) fn fallback<'t>(text: &'t str, rest: &'t str) -> Option<&'t str> {
    static IN_TEMPLATE: LazyLock<Regex> = LazyLock::new(|| constant(r#"\bdefault[ \t(]+["']([^"'\n]+)["']"#));
    static IN_SHELL: LazyLock<Regex> = LazyLock::new(|| constant(r"\$\{\w+:?[-=]([^{}$]+)\}"));
    let looked_at = if text.contains("{{") { [text, rest] } else { [text, ""] };
    let found = looked_at.into_iter().find_map(|text| {
        IN_SHELL.captures(text).or_else(|| IN_TEMPLATE.captures(text).filter(|_| looked_at[0].contains("{{")))
    })?;
    found.get(1).map(|value| value.as_str())
}
