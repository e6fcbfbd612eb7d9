//! The outline of a file: headings, sections, keys, and the signatures of what code defines, line by line. It reads
//! lines as a person skims them, it does not parse; a line that only looks like a definition may slip in.

use std::sync::LazyLock;

use regex::Regex;

use super::{
    outline_page::Page,
    outline_script::{ScriptClass, class_member},
    words::constant,
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    Rust,
    Python,
    Script,
    Go,
    C,
    Java,
    Lua,
    Shell,
    Ruby,
    Markdown,
    Toml,
    Json,
    Yaml,
    Css,
    Html,
    Make,
    Sql,
}

fn language(path: &str) -> Option<Language> {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    Some(match extension {
        "rs" => Language::Rust,
        "py" | "pyi" => Language::Python,
        "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts" | "vue" | "svelte" => Language::Script,
        "go" => Language::Go,
        "c" | "h" | "cc" | "cpp" | "cxx" | "hpp" | "hh" => Language::C,
        "java" | "cs" | "kt" | "kts" | "swift" | "scala" | "dart" | "php" => Language::Java,
        "lua" => Language::Lua,
        "sh" | "bash" | "zsh" => Language::Shell,
        "rb" => Language::Ruby,
        "md" | "markdown" | "mdx" => Language::Markdown,
        "toml" | "ini" | "cfg" | "conf" | "lock" => Language::Toml,
        "json" | "jsonc" | "json5" => Language::Json,
        "yaml" | "yml" => Language::Yaml,
        "css" | "scss" | "less" => Language::Css,
        "html" | "htm" | "xhtml" => Language::Html,
        "sql" => Language::Sql,
        "mk" => Language::Make,
        _ if name == "makefile" || name == "justfile" => Language::Make,
        _ => return None,
    })
}

struct Pattern {
    function: Regex,
    /// Types and what holds others.
    kind: Regex,
    other: Option<Regex>,
}

fn code(function: &'static str, kind: &'static str, other: Option<&'static str>) -> Pattern {
    Pattern { function: constant(function), kind: constant(kind), other: other.map(constant) }
}

static RUST: LazyLock<Pattern> = LazyLock::new(|| {
    code(
        r#"^\s{0,12}(?:pub(?:\([^)]*\))?\s+)?(?:default\s+|const\s+|async\s+|unsafe\s+|extern\s+(?:"[^"]*"\s+)?)*fn\s+\w+"#,
        r"^\s{0,8}(?:pub(?:\([^)]*\))?\s+)?(?:unsafe\s+)?(?:struct|enum|union|trait|type|impl|macro_rules!)\b",
        Some(r"^\s{0,4}(?:pub(?:\([^)]*\))?\s+)?(?:mod\s+\w+|(?:const|static)\s+\w+\s*:)"),
    )
});
static PYTHON: LazyLock<Pattern> = LazyLock::new(|| {
    code(r"^\s{0,12}(?:async\s+)?def\s+\w+", r"^\s{0,8}class\s+\w+", Some(r"^[A-Z][A-Z0-9_]+\s*(?::[^=]+)?="))
});
static SCRIPT: LazyLock<Pattern> = LazyLock::new(|| {
    code(
        r"^\s{0,4}(?:export\s+)?(?:default\s+)?(?:(?:async\s+)?function\b\*?\s*\w*\s*[(<]|(?:const|let|var)\s+\w+\s*(?::[^=]+)?=\s*(?:async\s*)?(?:function\b|\([^)]*\)\s*(?::[^=]+)?=>|\w+\s*=>))|^\s{2,8}(?:(?:public|private|protected|static|async|get|set|readonly)\s+)*(?:#?\w+)\s*(?:<[^>]*>)?\([^;]*\)\s*(?::[^{;]+)?\{\s*$",
        r"^\s{0,4}(?:export\s+)?(?:default\s+)?(?:declare\s+)?(?:abstract\s+)?(?:class|interface|enum|type|namespace)\s+\w+",
        Some(r"^(?:export\s+)?(?:const|let|var)\s+\w+"),
    )
});
static GO: LazyLock<Pattern> =
    LazyLock::new(|| code(r"^func\b", r"^type\s+\w+", Some(r"^(?:package|const|var)\s+\w+")));
static C: LazyLock<Pattern> = LazyLock::new(|| {
    code(
        r"^(?:[A-Za-z_][\w:<>,*&\s\[\]]*\s+[*&]*)?~?[A-Za-z_][\w:~]*\s*\([^;]*\)?\s*(?:const\b|noexcept\b|override\b|\{|$)[^;]*$",
        r"^\s{0,8}(?:typedef\s+)?(?:struct|class|enum|union|namespace|template)\b[^;]*$",
        Some(r"^#\s*define\s+\w+"),
    )
});
static JAVA: LazyLock<Pattern> = LazyLock::new(|| {
    code(
        r"^\s{0,12}(?:@\w+\s+)*(?:(?:public|private|protected|internal|static|final|abstract|override|open|async|virtual|synchronized|suspend|inline|native|mutating)\s+)+[\w<>\[\],.?\s]*\w+\s*\([^;]*$|^\s{0,12}(?:fun|func|def|function)\s+\w+",
        r"^\s{0,8}(?:(?:public|private|protected|internal|static|final|abstract|sealed|open|data|partial)\s+)*(?:class|interface|enum|record|struct|trait|object|protocol|extension|mixin)\s+\w+",
        None,
    )
});
static LUA: LazyLock<Pattern> = LazyLock::new(|| {
    code(
        r"^\s{0,4}(?:local\s+)?function\s+[\w.:]+|^\s{0,4}(?:local\s+)?[\w.]+\s*=\s*function\b",
        r"^local\s+[A-Z]\w*\s*=\s*\{",
        Some(r"^(?:local\s+)?[A-Z][A-Z0-9_]+\s*="),
    )
});
static SHELL: LazyLock<Pattern> = LazyLock::new(|| {
    code(
        r"^\s{0,4}(?:function\s+[\w-]+|[\w-]+\s*\(\s*\))",
        r"^\s*case\s+\$1\b",
        Some(r"^(?:export\s+|readonly\s+)?[A-Z][A-Z0-9_]*="),
    )
});
static RUBY: LazyLock<Pattern> = LazyLock::new(|| {
    code(r"^\s{0,12}def\s+", r"^\s{0,8}(?:class|module)\s+", Some(r"^\s{0,4}[A-Z][A-Z0-9_]+\s*="))
});
static CSS: LazyLock<Pattern> = LazyLock::new(|| {
    code(r"^\s{0,4}@(?:mixin|function|keyframes)\b", r"^\s{0,2}[^\s{}/@][^{};]*\{", Some(r"^@\w+"))
});
static MAKE: LazyLock<Pattern> = LazyLock::new(|| {
    code(r"^[A-Za-z][\w./-]*(?:\s+[\w-]+)*\s*:(?:[^=]|$)", r"^define\s+\w+", Some(r"^[A-Z_]+\s*[:?]?="))
});
static SQL: LazyLock<Pattern> = LazyLock::new(|| {
    code(
        r"(?i)^\s*create\s+(?:or\s+replace\s+)?(?:function|procedure|trigger)\b",
        r"(?i)^\s*create\s+(?:table|view|type|index)\b",
        Some(r"(?i)^\s*alter\s+table\b"),
    )
});

static HEADING: LazyLock<Regex> = LazyLock::new(|| constant(r"^(#{1,6})\s+(.+?)\s*#*$"));
static TABLE: LazyLock<Regex> = LazyLock::new(|| constant(r"^\s*\[{1,2}[^\]]+\]{1,2}"));
static ASSIGNMENT: LazyLock<Regex> = LazyLock::new(|| constant(r#"^[\w."-]+\s*="#));
static JSON_KEY: LazyLock<Regex> = LazyLock::new(|| constant(r#"^(\s{0,8}|\t{0,2})"([^"]+)"\s*:"#));
static YAML_KEY: LazyLock<Regex> = LazyLock::new(|| constant(r#"^(\s{0,4})(?:- )?([\w./"' -]+):(?:\s|$)"#));

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

fn entry(language: Language, line: &str) -> Option<(usize, String, EntryKind)> {
    let pattern = match language {
        Language::Markdown => {
            let parts = HEADING.captures(line)?;
            return Some((parts.get(1)?.len() - 1, parts.get(2)?.as_str().to_owned(), EntryKind::Other));
        }
        Language::Toml => {
            if TABLE.is_match(line) {
                return Some((0, line.trim().to_owned(), EntryKind::Other));
            }
            return ASSIGNMENT.is_match(line).then(|| (1, line.trim().to_owned(), EntryKind::Other));
        }
        Language::Json => {
            let parts = JSON_KEY.captures(line)?;
            let indent = parts.get(1)?.as_str();
            let depth = if indent.contains('\t') { indent.len() } else { indent.len() / 2 };
            return (depth <= 2).then(|| {
                (
                    depth.saturating_sub(1),
                    line.trim().trim_end_matches([',', '{', '[', ' ']).to_owned(),
                    EntryKind::Other,
                )
            });
        }
        Language::Yaml => {
            let indent = YAML_KEY.captures(line)?.get(1)?.len();
            return Some((indent / 2, line.trim().to_owned(), EntryKind::Other));
        }
        Language::Rust => &*RUST,
        Language::Python => &*PYTHON,
        Language::Script => &*SCRIPT,
        Language::Go => &*GO,
        Language::C => &*C,
        Language::Java => &*JAVA,
        Language::Lua => &*LUA,
        Language::Shell => &*SHELL,
        Language::Ruby => &*RUBY,
        Language::Css => &*CSS,
        // Read element by element.
        Language::Html => return None,
        Language::Make => &*MAKE,
        Language::Sql => &*SQL,
    };
    static FLOW: LazyLock<Regex> = LazyLock::new(|| {
        constant(
            r"^\s*(?:if|for|while|switch|catch|return|else|do|try|with|new|throw|await|match|assert\w*)\b",
        )
    });
    let kind = if FLOW.is_match(line) {
        return None;
    } else if pattern.function.is_match(line) {
        EntryKind::Function
    } else if pattern.kind.is_match(line) {
        EntryKind::Type
    } else if pattern.other.as_ref().is_some_and(|other| other.is_match(line)) {
        EntryKind::Other
    } else {
        return None;
    };
    let width = if matches!(language, Language::Script | Language::Ruby | Language::Css) { 2 } else { 4 };
    let text = line.trim().trim_end_matches(['{', ' ']).to_owned();
    Some((indent(line) / width, text, kind))
}

/// Columns before the text; a tab is four.
pub(super) fn indent(line: &str) -> usize {
    line.chars().take_while(|c| c.is_whitespace()).map(|c| if c == '\t' { 4 } else { 1 }).sum()
}

/// Whether a line of this file looks like a definition or a heading.
pub(super) fn is_definition(path: &str, line: &str) -> bool {
    language(path).is_some_and(|language| {
        !matches!(language, Language::Json | Language::Yaml | Language::Html)
            && entry(language, line).is_some()
    })
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
