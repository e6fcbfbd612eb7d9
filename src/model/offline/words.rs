//! The user's words as tokens: plain words, quoted texts and paths, with their places in the prompt.

use std::sync::LazyLock;

use regex::Regex;

pub(super) use crate::model::patterns::constant;

/// What a token of the prompt is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::model) enum Kind {
    Word,
    /// A text between quotes, back-ticks or fences, without them.
    Quoted,
    /// A word that names a file or a folder.
    Path,
    /// The end of a sentence, a paragraph or a list entry.
    Break,
    Comma,
    Colon,
}

/// One token; `start..end` is its place in the prompt, quotes included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::model) struct Token {
    pub(in crate::model) kind: Kind,
    pub(in crate::model) text: String,
    /// `text` in lower case, for comparing words; empty for quoted texts, which are never grammar.
    pub(in crate::model) word: String,
    pub(in crate::model) start: usize,
    pub(in crate::model) end: usize,
}

impl Token {
    fn new(kind: Kind, text: &str, start: usize, end: usize) -> Self {
        let word = match kind {
            Kind::Quoted => String::new(),
            _ => text.to_lowercase().replace('’', "'"),
        };
        Self { kind, text: text.to_owned(), word, start, end }
    }

    /// Names a file or a folder, quoted or not.
    pub(in crate::model) fn is_path(&self) -> bool {
        self.kind == Kind::Path || (self.kind == Kind::Quoted && looks_like_path(&self.text))
    }

    pub(in crate::model) fn is_quoted(&self) -> bool {
        self.kind == Kind::Quoted
    }
}

/// Splits a prompt into tokens. Total: every input has tokens, and no text is lost but white space and punctuation.
pub(in crate::model) fn tokens(prompt: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(rest) = prompt.get(at..) {
        let Some(first) = rest.chars().next() else { break };
        if first.is_whitespace() {
            let space = rest.len() - rest.trim_start().len();
            let is_break = rest.get(..space).is_some_and(|gap| gap.matches('\n').count() > 1)
                || (rest.get(..space).is_some_and(|gap| gap.contains('\n'))
                    && LIST_MARKER.is_match(rest.trim_start()));
            if is_break {
                tokens.push(Token::new(Kind::Break, "", at, at));
            }
            at += space;
            if is_break && let Some(marker) = LIST_MARKER.find(prompt.get(at..).unwrap_or_default()) {
                at += marker.end();
            }
            continue;
        }
        if let Some((text, length)) = quoted(rest, prompt.get(..at).and_then(|before| before.chars().last()))
        {
            tokens.push(Token::new(Kind::Quoted, text, at, at + length));
            at += length;
            continue;
        }
        let length = rest.find(char::is_whitespace).unwrap_or(rest.len());
        push_word(&mut tokens, rest.get(..length).unwrap_or_default(), at);
        at += length;
    }
    tokens
}

static LIST_MARKER: LazyLock<Regex> = LazyLock::new(|| constant(r"^(?:[-*+•]|\d{1,2}[.)])\s+"));

/// A quoted text at the beginning of `rest`, and its length with the quotes.
fn quoted(rest: &str, before: Option<char>) -> Option<(&str, usize)> {
    let first = rest.chars().next()?;
    if first == '`' {
        let ticks = rest.len() - rest.trim_start_matches('`').len();
        let fence = rest.get(..ticks)?;
        let body = rest.get(ticks..)?;
        let end = body.find(fence)?;
        let text = body.get(..end)?;
        // A fence's first line names a language, and its last line end belongs to the fence.
        let text = match text.split_once('\n') {
            Some((language, text)) if ticks >= 3 && !language.trim().contains(' ') => text,
            _ => text,
        };
        return (!text.is_empty()).then_some((text, ticks + end + ticks));
    }
    let close = match first {
        '"' => '"',
        '“' | '„' => '”',
        '«' => '»',
        '‘' => '’',
        '\'' => '\'',
        _ => return None,
    };
    if before.is_some_and(char::is_alphanumeric) {
        return None;
    }
    let body = rest.get(first.len_utf8()..)?;
    let mut from = 0;
    loop {
        let end = from + body.get(from..)?.find(close)?;
        let after = body.get(end + close.len_utf8()..)?;
        let is_apostrophe =
            matches!(close, '\'' | '’') && after.chars().next().is_some_and(char::is_alphanumeric);
        if is_apostrophe {
            from = end + close.len_utf8();
            continue;
        }
        let text = body.get(..end)?;
        // An empty text is what "replace `x` with ''" means.
        return (!text.contains("\n\n")).then_some((text, first.len_utf8() + end + close.len_utf8()));
    }
}

/// One run without white space: a word with its punctuation, which may hold a quoted text after a bracket.
fn push_word(tokens: &mut Vec<Token>, run: &str, start: usize) {
    let is_call = run.contains("()");
    let trimmed =
        run.trim_start_matches(['(', '[', '{', '<', '"', '\'', '*', ',', ';', ':', '!', '?', '-', '—', '–']);
    let lead = run.len() - trimmed.len();
    let body = trimmed.trim_end_matches(|c: char| {
        matches!(c, '.' | ',' | ';' | ':' | '!' | '?' | ']' | '}' | '>' | '"' | '\'' | '*' | '…' | '—' | '–')
            || (c == ')' && !is_call)
    });
    let tail = trimmed.get(body.len()..).unwrap_or_default();
    let (start_body, end_body) = (start + lead, start + lead + body.len());
    if run.starts_with("*.") && run.len() > 2 {
        // A glob is a path with its asterisk.
        let glob = run.trim_end_matches(['.', ',', ';', ':', '!', '?', ')']);
        tokens.push(Token::new(Kind::Path, glob, start, start + glob.len()));
    } else if !body.is_empty() {
        let kind = if looks_like_path(body) { Kind::Path } else { Kind::Word };
        tokens.push(Token::new(kind, body, start_body, end_body));
    } else if !run.trim_matches(['.', '/']).is_empty() || run.contains('/') || run == "." {
        // Only signs: kept when they may mean something (`.`, `../`, `=>`), not as punctuation.
        let kind = if run.trim_matches(['.', '/']).is_empty() { Kind::Path } else { Kind::Word };
        if run == "." || kind == Kind::Path || !run.chars().all(|c| ".,;:!?-—–\"'*()[]{}<>…".contains(c))
        {
            tokens.push(Token::new(kind, run, start, start + run.len()));
            return;
        }
    }
    let end = start + run.len();
    if tail.contains(['.', '!', '?', ';', '…']) {
        tokens.push(Token::new(Kind::Break, "", end, end));
    } else if tail.contains(':') {
        tokens.push(Token::new(Kind::Colon, "", end, end));
    } else if tail.contains(',') {
        tokens.push(Token::new(Kind::Comma, "", end, end));
    }
}

/// Extensions that make `name.ext` a file and not a member of something.
const EXTENSIONS: &[&str] = &[
    "adoc", "bash", "bat", "c", "cc", "cfg", "cjs", "clj", "cmake", "conf", "cpp", "cs", "css", "csv", "cts",
    "cxx", "dart", "diff", "env", "erl", "ex", "exs", "fish", "go", "gradle", "graphql", "h", "hpp", "hrl",
    "hs", "htm", "html", "ini", "ipynb", "java", "jl", "js", "json", "json5", "jsonc", "jsx", "kt", "kts",
    "less", "lock", "log", "lua", "m", "markdown", "md", "mdx", "mjs", "mk", "ml", "mli", "mod", "mts",
    "nim", "nix", "org", "patch", "php", "pl", "pm", "proto", "ps1", "py", "pyi", "r", "rb", "rs", "rst",
    "sass", "scala", "scss", "sh", "sql", "sum", "svelte", "svg", "swift", "tex", "tf", "toml", "ts", "tsv",
    "tsx", "txt", "vim", "vue", "xml", "yaml", "yml", "zig", "zsh",
];

/// Files that are known by a name without an extension.
const KNOWN_NAMES: &[&str] = &[
    ".env",
    "Makefile",
    "Dockerfile",
    "Justfile",
    "justfile",
    "LICENSE",
    "CMakeLists.txt",
    "Gemfile",
    "Rakefile",
    "Procfile",
];

/// Words with a stroke or a dot that are no paths.
const NO_PATHS: &[&str] = &[
    "and/or",
    "either/or",
    "he/she",
    "his/her",
    "i/o",
    "io/s",
    "read/write",
    "yes/no",
    "w/o",
    "node.js",
    "next.js",
    "vue.js",
    "d3.js",
    "on/off",
    "true/false",
    "input/output",
    "client/server",
    "n/a",
];

pub(super) fn looks_like_path(text: &str) -> bool {
    // Longer texts are no path that a person types.
    if text.is_empty() || text.len() > 400 || text.contains(char::is_whitespace) || text.contains("://") {
        return false;
    }
    if NO_PATHS.contains(&text.to_lowercase().as_str()) {
        return false;
    }
    if KNOWN_NAMES.contains(&text) {
        return true;
    }
    if text.contains(['(', ')', '{', '}', '|', '^', '$', '"', '\'', '<', '>', '=', ';', '`', '+'])
        && !text.contains('/')
    {
        return false;
    }
    if text.contains('/') {
        return !text.starts_with("//") && text.chars().any(char::is_alphanumeric)
            || text == "./"
            || text == "../";
    }
    let (stem, extension) = match text.rsplit_once('.') {
        Some(parts) => parts,
        None => return false,
    };
    if stem.is_empty() {
        // `.gitignore`, `.env`; but `.rs` alone is an extension.
        return extension.len() > 3
            && !EXTENSIONS.contains(&extension)
            && extension.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_');
    }
    EXTENSIONS.contains(&extension.to_lowercase().as_str())
        || (stem.contains('*') && extension.chars().all(char::is_alphanumeric))
}

/// Has the form of a name in code: `snake_case`, `camelCase`, `Type::method`, `call()`, `CONSTANT`.
pub(super) fn looks_like_name(text: &str) -> bool {
    let bare = text.trim_end_matches("()").trim_end_matches('!');
    let is_name = !bare.is_empty()
        && bare.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | ':' | '.' | '-' | '$' | '#'))
        && bare.chars().any(char::is_alphabetic);
    if !is_name || bare.len() > 200 {
        return false;
    }
    if text.len() != bare.len() || bare.contains('_') || bare.contains("::") || bare.contains('.') {
        return true;
    }
    let mut letters = bare.chars().filter(|c| c.is_alphabetic());
    let starts_small = letters.next().is_some_and(char::is_lowercase);
    let capitals = bare.chars().filter(|c| c.is_uppercase()).count();
    let smalls = bare.chars().filter(|c| c.is_lowercase()).count();
    (starts_small && capitals > 0) || (capitals > 1 && smalls > 0) || (capitals > 1 && smalls == 0)
}
