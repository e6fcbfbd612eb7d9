//! One line as its language reads: whether it defines something, and what. Nothing is parsed; a line that only looks like
//! a definition may slip in.

use std::sync::LazyLock;

use regex::Regex;

use super::{outline::EntryKind, words::constant};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
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

pub(super) fn language(path: &str) -> Option<Language> {
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

pub(super) fn entry(language: Language, line: &str) -> Option<(usize, String, EntryKind)> {
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

/// Whether a line that defines something has more to it than that there is such a thing: a type, or a function with a body
/// instead of one that is only declared (in an interface, in a header, as abstract).
pub(super) fn has_body(path: &str, line: &str) -> bool {
    let is_function = is_function(path, line);
    let line = line.trim_end();
    let is_declared = line.ends_with(';') && !line.contains('{') && !line.contains("=>");
    !is_function || !(is_declared || line.ends_with("..."))
}

/// Whether a line of this file is where a function of that name, in any case, is written out.
pub(super) fn is_function_named(path: &str, line: &str, name: &str) -> bool {
    /// A name, and what makes it the one of a function: its parameters, or that it is assigned.
    static NAMES: LazyLock<Regex> = LazyLock::new(|| constant(r"([\w$]+)\s*(?:<[^>]*>)?\s*(?:\(|[:=])"));
    is_function(path, line)
        && has_body(path, line)
        && NAMES
            .captures(line)
            .and_then(|names| names.get(1))
            .is_some_and(|found| found.as_str().eq_ignore_ascii_case(name))
}

fn is_function(path: &str, line: &str) -> bool {
    let found = language(path).and_then(|language| entry(language, line));
    found.is_some_and(|(_, _, kind)| kind == EntryKind::Function)
}
