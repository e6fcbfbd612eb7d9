//! One value as one place says it: a line of a file, a member of the editor's section, an argument.

use std::{collections::BTreeSet, path::Path};

use serde::Deserialize;
use serde_json::{Value, json};
use toml::{
    Spanned,
    de::{DeString, DeTable, DeValue, ValueDeserializer},
};

use super::{
    Warning, advice,
    schema::{Key, LONGEST_NAME, NOT_IN_JSON, Shape},
    unusable,
    written::{self, Used, Written},
};

/// Faults of a file beyond which it is no settings file that someone wrote: each is looked for and shown.
const MOST_FAULTS: usize = 100;

/// Names of a file beyond which it is no settings file that someone wrote. A project's file may be anybody's, and each
/// name is compared with those that there are.
const MOST_NAMES: usize = 1_000;

/// One value as one place says it.
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) value: Value,
    /// Where it stands, for a warning.
    pub(super) place: String,
    /// The members of a table, or of the tables in a list, each with its own place.
    pub(super) members: Vec<Self>,
    /// Whether the name stands in the header of a table, as `[name]`.
    pub(super) is_header: bool,
}

impl Entry {
    pub(super) fn new(name: &str, value: &Value, place: &str) -> Self {
        Self {
            name: name.to_owned(),
            value: value.clone(),
            place: place.to_owned(),
            members: Self::members(value, place),
            is_header: false,
        }
    }

    fn members(value: &Value, place: &str) -> Vec<Self> {
        match value {
            Value::Object(members) => members
                .iter()
                .map(|(name, value)| Self::new(name, value, &format!("{place}.{name}")))
                .collect(),
            Value::Array(list) => {
                let parts = list.iter().enumerate();
                parts.flat_map(|(index, value)| Self::members(value, &format!("{place}[{index}]"))).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// What a settings file says.
#[derive(Default)]
pub(super) struct Contents {
    /// In their order. Lines that are not valid TOML are left out, and the lines around them count.
    pub(super) entries: Vec<Entry>,
    /// Of lines that are not valid TOML, each with the number of its line.
    pub(super) broken: Vec<(usize, Warning)>,
    /// Names that are set twice, by the setting that they belong to.
    pub(super) repeated: Vec<(String, Warning)>,
}

/// # Errors
/// Why nothing in the file can be used.
pub(super) fn of_file(path: &Path, text: &str) -> Result<Contents, String> {
    let (table, mut errors) = DeTable::parse_recoverable(text);
    if errors.len() > MOST_FAULTS {
        return Err(format!("it has more than {MOST_FAULTS} lines that are not valid TOML"));
    }
    errors.sort_by_key(|error| error.span().map(|span| span.start));
    let table = table.into_inner();
    if count(&table) > MOST_NAMES {
        return Err(format!("it sets more than {MOST_NAMES} names"));
    }
    let names = if errors.is_empty() { Vec::new() } else { written::names(text) };
    let mut file = File { path, text, broken: Vec::new() };
    let mut contents = Contents::default();
    let mut told = BTreeSet::new();
    for error in errors {
        let offset = error.span().map(|span| span.start).unwrap_or_default();
        let repeated = written::repeated(&names, offset);
        let place = repeated.map_or(offset, |(_, second, _)| second.span.start);
        if repeated.is_none() {
            file.broken.push(offset);
        }
        let (line, _) = position(text, place);
        if !told.insert((line, repeated.is_some())) {
            continue;
        }
        match repeated {
            Some((first, second, used)) => {
                let message = file.repetition(first, second, used);
                let setting = second.path.first().cloned().unwrap_or_default();
                contents.repeated.push((setting, Warning { place: file.place(place), message }));
            }
            None => {
                let message = advice::of_line(text, offset, error.message());
                contents.broken.push((line, Warning { place: file.place(offset), message }));
            }
        }
    }
    let levels = |name: &str| match Key::named(name).map(|key| key.shape) {
        None | Some(Shape::Value | Shape::Rules) => 0,
        Some(Shape::Table) => 1,
        Some(Shape::Models) => 2,
    };
    contents.entries = file.entries(table, &levels);
    Ok(contents)
}

/// The names in a table, those in its tables and in its lists of tables included.
fn count(table: &DeTable<'_>) -> usize {
    table.iter().map(|(_, value)| 1 + count_inside(value)).sum()
}

fn count_inside(value: &Spanned<DeValue<'_>>) -> usize {
    match value.get_ref() {
        DeValue::Table(inner) => count(inner),
        DeValue::Array(list) => list.iter().map(count_inside).sum(),
        _ => 0,
    }
}

struct File<'a> {
    path: &'a Path,
    text: &'a str,
    /// Where it is not valid TOML.
    broken: Vec<usize>,
}

impl File<'_> {
    fn place(&self, offset: usize) -> String {
        let (line, column) = position(self.text, offset);
        format!("{}:{line}:{column}", self.path.display())
    }

    /// What is said of a name that stands in two places.
    fn repetition(&self, first: &Written, second: &Written, used: Used) -> String {
        let line = |name: &Written| position(self.text, name.span.start).0;
        let short = |name: &Written| name.name().chars().take(LONGEST_NAME).collect::<String>();
        let lines = match (line(first), line(second)) {
            (first, second) if first == second => format!("in line {first}"),
            (first, second) => format!("in lines {first} and {second}"),
        };
        // No ask goes on with one of them.
        let is_held_up = second.path.first().is_some_and(|setting| unusable::decides(setting));
        let used = match used {
            _ if is_held_up => String::new(),
            Used::First if line(first) == line(second) => "; the first is used".to_owned(),
            Used::First => format!("; line {} is used", line(first)),
            Used::Second => format!("; line {} is used", line(second)),
            Used::Both => {
                return format!(
                    "{} stands twice, {lines}; both are used: make them one table",
                    short(second)
                );
            }
        };
        if first.path == second.path {
            format!("{} is set twice, {lines}{used}: remove one of them", short(second))
        } else {
            let (first, second) = (short(first), short(second));
            format!("{second} cannot be set beside {first}, {lines}{used}: remove one of them")
        }
    }

    /// `levels` is how many levels of tables a value holds of which each member stands for itself.
    fn entries(&self, table: DeTable<'_>, levels: &dyn Fn(&str) -> usize) -> Vec<Entry> {
        let mut entries: Vec<_> = table
            .into_iter()
            .map(|(key, value)| (levels(key.get_ref()), key, value))
            .filter(|(levels, key, value)| *levels > 0 || !self.is_broken(key, value))
            .collect();
        entries.sort_by_key(|(_, key, _)| key.span().start);
        entries
            .into_iter()
            .map(|(levels, key, value)| {
                let below = |_: &str| levels.saturating_sub(1);
                let tables = tables(value.get_ref()).into_iter();
                Entry {
                    place: self.place(key.span().start),
                    is_header: self.is_header(key.span().start),
                    name: key.into_inner().into_owned(),
                    value: plain(value, self.text),
                    members: tables.flat_map(|table| self.entries(table, &below)).collect(),
                }
            })
            .collect()
    }

    /// Whether the name at `offset` stands in the header of a table.
    fn is_header(&self, offset: usize) -> bool {
        let before = self.text.get(..offset).unwrap_or_default();
        before.rsplit('\n').next().is_some_and(|line| line.trim_start().starts_with('['))
    }

    /// Whether the lines of a value are not valid.
    fn is_broken(&self, key: &Spanned<DeString<'_>>, value: &Spanned<DeValue<'_>>) -> bool {
        let before = self.text.get(..key.span().start).unwrap_or_default();
        let line = before.rfind('\n').map_or(0, |newline| newline + 1);
        let end = value.span().end;
        let rest = self.text.get(end..).and_then(|rest| rest.find('\n'));
        let end = rest.map_or(self.text.len(), |more| end + more);
        self.broken.iter().any(|offset| (line..=end).contains(offset))
    }
}

/// The table that a value is, or those that it lists.
fn tables<'text>(value: &DeValue<'text>) -> Vec<DeTable<'text>> {
    match value {
        DeValue::Table(table) => vec![table.clone()],
        DeValue::Array(list) => list.iter().flat_map(|part| tables(part.get_ref())).collect(),
        _ => Vec::new(),
    }
}

/// The value in JSON. What JSON has no form for (dates, infinity) fits no setting either, but is not nothing: it keeps
/// its own spelling.
fn plain(value: Spanned<DeValue<'_>>, text: &str) -> Value {
    let spelling = text.get(value.span()).unwrap_or_default().to_owned();
    let is_date = matches!(value.get_ref(), DeValue::Datetime(_));
    match Value::deserialize(ValueDeserializer::from(value)) {
        Ok(value) if !value.is_null() && !is_date => value,
        _ => json!({ NOT_IN_JSON: spelling }),
    }
}

/// One-based line and column, the column in characters.
pub(super) fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let column = before.get(line_start..).unwrap_or_default().chars().count();
    (before.matches('\n').count() + 1, column + 1)
}
