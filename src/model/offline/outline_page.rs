//! What a reader of an HTML page looks for: its title and headings, the elements that have an id, and the scripts,
//! styles and other files that it takes in.

use std::sync::LazyLock;

use regex::Regex;

use super::words::constant;

/// An element's name, its attributes, and the text up to the next element.
static ELEMENT: LazyLock<Regex> = LazyLock::new(|| constant(r"(?i)<([a-z][\w-]*)\b([^<>]*)>?"));
static ATTRIBUTE: LazyLock<Regex> =
    LazyLock::new(|| constant(r#"(?i)(?:^|\s)(id|src|href)\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+)"#));
static TAG: LazyLock<Regex> = LazyLock::new(|| constant(r"<[^<>]*>?"));

/// Inside what a line stands, other than the page itself.
#[derive(Clone, Debug, Default)]
pub(super) struct Page {
    /// What ends the script, style or comment that the lines are in.
    until: Option<&'static str>,
}

impl Page {
    /// The elements of the next line that a reader looks for, each with its depth: headings below the first level are
    /// deeper.
    pub(super) fn elements(&mut self, line: &str) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        let mut rest = line;
        loop {
            if let Some(end) = self.until {
                let Some(at) = rest.to_ascii_lowercase().find(end) else { return found };
                self.until = None;
                rest = rest.get(at + end.len()..).unwrap_or_default();
            }
            let element = ELEMENT.captures(rest);
            let start = element.as_ref().and_then(|parts| parts.get(0)).map(|whole| whole.start());
            if let Some(at) = rest.find("<!--").filter(|at| start.is_none_or(|start| *at < start)) {
                self.until = Some("-->");
                rest = rest.get(at..).unwrap_or_default();
                continue;
            }
            let Some(parts) = element else { return found };
            let part = |at: usize| parts.get(at).map_or("", |part| part.as_str());
            let name = part(1).to_ascii_lowercase();
            let end = parts.get(0).map_or(rest.len(), |whole| whole.end());
            rest = rest.get(end..).unwrap_or_default();
            found.extend(told(&name, part(2), rest));
            self.until = match name.as_str() {
                "script" => Some("</script"),
                "style" => Some("</style"),
                _ => None,
            };
        }
    }
}

/// How an element is shown; `None` when it says nothing to a reader.
fn told(name: &str, attributes: &str, after: &str) -> Option<(usize, String)> {
    let mut shown = String::new();
    for parts in ATTRIBUTE.captures_iter(attributes) {
        let (Some(key), Some(value)) = (parts.get(1), parts.get(2)) else { continue };
        let key = key.as_str().to_ascii_lowercase();
        let takes_in = matches!(name, "script" | "link" | "img" | "iframe" | "source");
        if key == "id" || takes_in {
            shown.push_str(&format!(" {key}=\"{}\"", value.as_str().trim_matches(['"', '\''])));
        }
    }
    let level =
        name.strip_prefix('h').and_then(|level| level.parse::<usize>().ok()).filter(|level| *level <= 6);
    if level.is_some() || name == "title" {
        let end = after.to_ascii_lowercase().find(&format!("</{name}")).unwrap_or(after.len());
        let text = TAG.replace_all(after.get(..end).unwrap_or_default(), "");
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        return Some((
            level.unwrap_or(1).saturating_sub(1),
            format!("<{name}{shown}> {text}").trim().to_owned(),
        ));
    }
    let is_told = !shown.is_empty() || matches!(name, "script" | "style" | "body" | "main" | "form");
    is_told.then(|| (0, format!("<{name}{shown}>")))
}
