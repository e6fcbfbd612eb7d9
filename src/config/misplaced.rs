//! Names that a place writes and that are no settings there: what was probably meant, and what is said of them. A
//! setting inside a table of another name sets nothing, however it came to stand there.

use super::{
    entry::Entry,
    schema::{KEYS, Key, LONGEST_NAME},
    unusable,
};

/// How alike a known name must be to be suggested, from 0 to 1.
const LIKENESS: f32 = 0.6;

/// The same inside a table that is none of ours: there it ends the ask, and the table may be meant for something else.
const LIKENESS_INSIDE: f32 = 0.8;

/// Settings that one warning names.
const MOST_NAMED: usize = 4;

/// What options of the command line are called that set something of another name.
const OPTIONS: &[(&str, &str)] =
    &[("approve", "approvals"), ("max_tokens", "max_turn_tokens"), ("timeout", "turn_timeout")];

/// What is said of a name that no setting of `names` has, and the setting that was probably meant.
pub(super) fn unknown(name: &str, names: &[&'static str]) -> (String, Option<&'static str>) {
    let shown = shown(name);
    let option = OPTIONS.iter().find(|(option, _)| *option == name.replace('-', "_"));
    let of_option = option.map(|(_, setting)| *setting).filter(|setting| names.contains(setting));
    match of_option.or_else(|| nearest(name, names, LIKENESS)) {
        Some(near) => (format!("there is no setting {shown}; did you mean {near}?"), Some(near)),
        None => (format!("there is no setting {shown}; askls status lists them all"), None),
    }
}

/// What is said of a part that a setting made of parts does not have.
pub(super) fn unknown_part(key: &Key, name: &str) -> String {
    let shown = shown(name);
    match nearest(name, key.parts, LIKENESS) {
        Some(near) => format!("{} has no part {shown} (did you mean {near}?)", key.name),
        None => format!("{} has no part {shown} (its parts are {})", key.name, key.parts.join(", ")),
    }
}

/// The settings inside a table that is none, as `[limits]` in a file, at any depth.
pub(super) fn inside(entry: &Entry) -> Vec<&'static str> {
    let mut found = Vec::new();
    for member in &entry.members {
        let setting = if member.value.is_null() { None } else { meant_inside(member) };
        for name in setting.into_iter().chain(inside(member)) {
            if !found.contains(&name) {
                found.push(name);
            }
        }
    }
    found
}

/// The setting that is meant by a member of a table of another name.
pub(super) fn meant_inside(member: &Entry) -> Option<&'static str> {
    let near = || nearest(&member.name, &unusable::all_deciding().collect::<Vec<_>>(), LIKENESS_INSIDE);
    let meant = || near().and_then(|name| unusable::meant(name, &member.value));
    Key::named(&member.name).map(|key| key.name).or_else(meant)
}

/// What is said of `settings` that stand inside a table of another name, as of `[askls]` in a file.
pub(super) fn wrapped(table: &Entry, settings: &[&str], is_file: bool) -> String {
    let name = shown(&table.name);
    let (named, more) = settings.split_at(settings.len().min(MOST_NAMED));
    let mut named = named.join(", ");
    if !more.is_empty() {
        named.push_str(" and the others");
    }
    match (is_file, table.is_header) {
        (true, true) if table.name == "askls" => {
            "settings stand in no table here: remove the line [askls]".to_owned()
        }
        (true, true) => {
            format!(
                "there is no table {name}: write {named} above the first [table] line and remove [{name}]"
            )
        }
        (true, false) => {
            format!("there is no table {name}: write {named} above the first [table] line, not inside {name}")
        }
        (false, _) => format!("there is no setting {name}: write {named} beside it, not inside"),
    }
}

/// What is said of a setting that stands inside the table of another one.
pub(super) fn misplaced(setting: &str, key: &Key, table: &Entry, is_file: bool) -> String {
    let other = key.name;
    match (is_file, table.is_header) {
        (true, true) => format!(
            "{setting} stands below [{other}] and is taken for a part of it: write {setting} above the first [table] line"
        ),
        (true, false) => format!(
            "{setting} stands inside {other} and is taken for a part of it: write {setting} on a line of its own above \
             the first [table] line"
        ),
        (false, _) => format!(
            "{setting} stands inside {other} and is taken for a part of it: write {setting} beside {other}"
        ),
    }
}

/// What is said of a setting in the table of one model that cannot differ by model.
pub(super) fn not_of_models(setting: &str) -> String {
    format!("{setting} cannot be set for single models: write it above the first [table] line")
}

/// `maxSteps` and `max-steps` are `max_steps`.
fn nearest(name: &str, names: &[&'static str], likeness: f32) -> Option<&'static str> {
    let mut spelling = String::new();
    for c in name.chars().take(LONGEST_NAME) {
        if c.is_uppercase() && !spelling.is_empty() && !spelling.ends_with('_') {
            spelling.push('_');
        }
        spelling.extend(if c == '-' { '_' } else { c }.to_lowercase());
    }
    similar::get_close_matches(spelling.as_str(), names, 1, likeness).first().copied()
}

/// The names of all settings.
pub(super) fn all_names() -> Vec<&'static str> {
    KEYS.iter().map(|key| key.name).collect()
}

fn shown(name: &str) -> String {
    name.chars().take(LONGEST_NAME).collect()
}
