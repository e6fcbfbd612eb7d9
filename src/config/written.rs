//! Which names a settings file writes, in the order of its lines: what `toml` leaves of a file with a name that stands
//! twice does not tell where it stood first.

use std::ops::Range;

use toml_parser::{
    Source,
    parser::{Event, EventKind, RecursionGuard, parse_document},
};

/// Nesting that no setting needs; as deep as `toml` itself reads.
const DEEPEST: u32 = 80;

/// A name with all tables around it, as one place of the file writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) path: Vec<String>,
    /// From the first to the last part of the name that stands here, in bytes.
    pub(super) span: Range<usize>,
    pub(super) form: Form,
    /// How many parts of the path stand in the table's header above, not here.
    above: usize,
}

/// In which form a name gets its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Value,
    /// `name = { … }`
    InlineTable,
    /// `[name]`
    Header,
}

/// What of two places that write the same name is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Used {
    First,
    Second,
    /// Of a table that stands twice, the lines of both.
    Both,
}

/// The names of a file; of lines that are not valid TOML, those that can be read.
pub(super) fn names(text: &str) -> Vec<Written> {
    let source = Source::new(text);
    let tokens = source.lex().into_vec();
    let mut reader =
        Reader { source, header: Vec::new(), outer: Vec::new(), key: Key::default(), found: Vec::new() };
    let mut receiver = |event: Event| reader.take(&event);
    let mut receiver = RecursionGuard::new(&mut receiver, DEEPEST);
    // What is wrong is told by `toml`.
    parse_document(&tokens, &mut receiver, &mut ());
    reader.found
}

/// Where the name at `offset` stood before, when it is there for a second time, and which of the two is used.
pub(super) fn repeated(names: &[Written], offset: usize) -> Option<(&Written, &Written, Used)> {
    let index = names.iter().position(|name| name.span.contains(&offset))?;
    let second = names.get(index)?;
    let earlier = names.get(..index)?;
    let same = earlier.iter().find(|first| first.path == second.path);
    // `edits = "apply"` or a whole table, and then `edits.x = 1`.
    let around = || {
        earlier.iter().rev().find(|first| {
            let is_closed = first.form != Form::Header
                || (second.form != Form::Header && first.path.len() > second.above);
            is_closed && first.path.len() < second.path.len() && second.path.starts_with(&first.path)
        })
    };
    // `query.a = "1"`, and then `query = {}` or `[query]`.
    let inside = || earlier.iter().find(|first| first.path.starts_with(&second.path));
    let first = same.or_else(around).or_else(inside)?;
    let used = match (first.form, second.form) {
        _ if first.path.len() < second.path.len() => Used::First,
        (Form::Value, Form::Header) if first.path == second.path => Used::Second,
        (_, Form::Header) => Used::Both,
        _ => Used::First,
    };
    Some((first, second, used))
}

impl Written {
    /// The name as TOML writes it.
    pub(super) fn name(&self) -> String {
        let is_bare = |part: &str| {
            !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
        };
        let parts: Vec<_> = self
            .path
            .iter()
            .map(|part| if is_bare(part) { part.clone() } else { format!("{part:?}") })
            .collect();
        let name = parts.join(".");
        if self.form == Form::Header { format!("[{name}]") } else { name }
    }
}

/// The parts of a name that are read so far.
#[derive(Default)]
struct Key {
    parts: Vec<String>,
    span: Range<usize>,
}

struct Reader<'a> {
    source: Source<'a>,
    /// Of the table that the lines stand in.
    header: Vec<String>,
    /// The brackets that are open around the next event: what an inline table belongs to; `None` for a list, in which
    /// nothing is a name of a setting.
    outer: Vec<Option<Vec<String>>>,
    key: Key,
    found: Vec<Written>,
}

impl Reader<'_> {
    fn take(&mut self, event: &Event) {
        match event.kind() {
            EventKind::StdTableOpen | EventKind::ArrayTableOpen => {
                self.outer.clear();
                self.key = Key::default();
            }
            EventKind::StdTableClose => {
                let Key { parts, span } = std::mem::take(&mut self.key);
                self.header.clone_from(&parts);
                self.found.push(Written { path: parts, span, form: Form::Header, above: 0 });
            }
            // One of a list.
            EventKind::ArrayTableClose => self.header = std::mem::take(&mut self.key).parts,
            EventKind::SimpleKey => self.read_part(event),
            EventKind::KeyValSep => {
                let Key { parts, span } = std::mem::take(&mut self.key);
                if self.outer.iter().any(Option::is_none) {
                    return;
                }
                let above = self.outer.last().and_then(Option::as_ref).unwrap_or(&self.header);
                let (path, above) = ([above.as_slice(), &parts].concat(), above.len());
                self.found.push(Written { path, span, form: Form::Value, above });
            }
            EventKind::InlineTableOpen => {
                let within = self.found.last_mut().map(|name| {
                    name.form = Form::InlineTable;
                    name.path.clone()
                });
                self.outer.push(if self.outer.iter().any(Option::is_none) { None } else { within });
            }
            EventKind::ArrayOpen => self.outer.push(None),
            EventKind::InlineTableClose | EventKind::ArrayClose => {
                self.outer.pop();
            }
            // A name without a value is none.
            EventKind::Newline if self.outer.is_empty() => self.key = Key::default(),
            EventKind::KeySep
            | EventKind::Scalar
            | EventKind::ValueSep
            | EventKind::Whitespace
            | EventKind::Comment
            | EventKind::Newline
            | EventKind::Error => {}
        }
    }

    fn read_part(&mut self, event: &Event) {
        let span = event.span();
        let mut part = std::borrow::Cow::Borrowed("");
        if let Some(raw) = self.source.get(event) {
            raw.decode_key(&mut part, &mut ());
        }
        if self.key.parts.is_empty() {
            self.key.span = span.start()..span.end();
        }
        self.key.span.end = span.end();
        self.key.parts.push(part.into_owned());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_read_with_the_tables_around_them() {
        let text = "a = 1\nb.'c d' = { e = 2, f.g = [{ h = 3 }] }\n[i.j]\nk = \"\"\"\n[no]\nn = 1\n\"\"\"\nbroken\n[[l]]\nm = 4\n";
        let names: Vec<_> =
            names(text).into_iter().map(|name| format!("{} <- {}", name.name(), &text[name.span])).collect();
        assert_eq!(
            names,
            [
                "a <- a",
                "b.\"c d\" <- b.'c d'",
                "b.\"c d\".e <- e",
                "b.\"c d\".f.g <- f.g",
                "[i.j] <- i.j",
                "i.j.k <- k",
                "l.m <- m",
            ]
        );
    }

    #[test]
    fn what_is_nested_beyond_any_reason_ends() {
        for nest in ["a = [", "a = {b=", "[a", "a.", "[[", "a = {b=["] {
            let names = names(&nest.repeat(20_000));
            repeated(&names, usize::MAX);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_and_each_name_stands_in_it(text in "(?s)([\\[\\]{}=.,\"'ab \n#]|[^a]){0,60}") {
            let names = names(&text);
            for name in &names {
                prop_assert!(text.get(name.span.clone()).is_some(), "{name:?}");
                repeated(&names, name.span.start);
            }
        }
    }
}
