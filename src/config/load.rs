//! Reading the layers and laying one over the other, value by value, so that one bad value costs only itself.

mod file;
mod over;

use std::{collections::BTreeSet, path::PathBuf, sync::Arc};

use serde_json::{Map, Value};

use super::{
    Environment, Loaded, Origin, Own, Settings, SettingsFile, Warning,
    entry::Entry,
    kept_rules::projects_file,
    misplaced,
    project::{self, Trust},
    schema::{Key, LONGEST_NAME, Notation, Shape, Values},
    unusable::{self, Unusable},
};
use crate::protocol::with_whole_numbers;

pub(super) use file::read_bytes;
use over::lay_over;

/// The settings that have a variable of their own. `ASKLS_API_KEY` is none: it holds a key, not a setting.
const VARIABLES: &[(&str, &str)] =
    &[("ASKLS_MODEL", "model"), ("ASKLS_WIRE", "wire"), ("ASKLS_BASE_URL", "base_url")];

const NOT_UNICODE: &str = "its value is not valid Unicode: set it again, or unset it";

/// Members of the editor's section that belong to editors and their plugins.
const EDITORS_OWN: &[&str] = &["path", "trace"];

/// Its name in the settings of an editor.
const SECTION: &str = "askls";

/// What an editor says of the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditorSection<'a> {
    /// It has no settings.
    Unset,
    /// It has settings, none of them set.
    Empty,
    Members(&'a Map<String, Value>),
    /// No section can be so.
    Garbage,
}

impl<'a> EditorSection<'a> {
    /// Of the section itself, or of an object that holds it.
    pub fn of(said: &'a Value) -> Self {
        match said.get(SECTION).unwrap_or(said) {
            Value::Null => Self::Unset,
            // A table of Lua without members.
            Value::Array(members) if members.is_empty() => Self::Empty,
            Value::Object(members) => Self::Members(members),
            _ => Self::Garbage,
        }
    }
}

pub(super) fn load(environment: &Environment, roots: &[PathBuf]) -> Loaded {
    let settings = Settings {
        set: Default::default(),
        values: Values::default(),
        environment: Arc::new(environment.clone()),
        files: Vec::new(),
        beneath: Default::default(),
        unusable: Vec::new(),
        own: Own::default(),
    };
    let mut layers = Layers { settings, warnings: Vec::new() };
    if let Some(path) = environment.user_file() {
        layers.lay_file(&path, &Origin::UserFile(path.clone()), Trust::Full);
    }
    if let Some(path) = projects_file(environment) {
        layers.settings.files.push(SettingsFile { path: path.clone(), exists: path.exists() });
        roots.iter().for_each(|root| layers.lay_kept_rules(&path, root));
    }
    for root in roots {
        let trust = project::trust(root, &layers.settings.values, environment);
        layers.lay_project_file(root, trust);
    }
    for &(variable, name) in VARIABLES {
        let origin = Origin::Environment(variable);
        if environment.is_garbled(variable) {
            layers.refuse(Some(name), variable, NOT_UNICODE.to_owned(), &origin);
        }
        if let Some(text) = environment.text(variable) {
            let entry = Entry::new(name, &text.into(), variable);
            layers.lay(entry, &origin, Trust::Full);
        }
    }
    for &(variable, name) in unusable::OTHER_VARIABLES {
        if environment.is_garbled(variable) {
            let message = NOT_UNICODE.to_owned();
            layers.refuse(Some(name), variable, message, &Origin::Environment(variable));
        }
    }
    layers.done()
}

pub(super) fn with_editor(settings: &Settings, value: &Value) -> Loaded {
    let mut layers = Layers { settings: settings.clone(), warnings: Vec::new() };
    let path = if value.get(SECTION).is_some() { format!("{SECTION}.") } else { String::new() };
    let value = with_whole_numbers(value.clone());
    match EditorSection::of(&value) {
        EditorSection::Unset | EditorSection::Empty => {}
        EditorSection::Members(members) => {
            for (name, value) in members.iter().filter(|(name, _)| !EDITORS_OWN.contains(&name.as_str())) {
                let entry = Entry::new(name, value, &format!("editor settings, {path}{name}"));
                layers.lay(entry, &Origin::Editor, Trust::Full);
            }
        }
        EditorSection::Garbage => layers.warn(
            "editor settings",
            "must be an object with one member for each setting, such as {\"max_steps\": 20}".to_owned(),
        ),
    }
    layers.done()
}

pub(super) fn with_command_line(settings: &Settings, values: &Map<String, Value>) -> Loaded {
    let mut layers = Layers { settings: settings.clone(), warnings: Vec::new() };
    for (name, value) in values {
        layers.lay(Entry::new(name, value, "command line"), &Origin::CommandLine, Trust::Full);
    }
    layers.done()
}

/// The layers so far.
struct Layers {
    settings: Settings,
    warnings: Vec<Warning>,
}

impl Layers {
    fn lay(&mut self, entry: Entry, origin: &Origin, trust: Trust) {
        if entry.name.replace('-', "_").eq_ignore_ascii_case("api_key") {
            return self.warn(
                &entry.place,
                "a key is not read from settings, where it would be copied and committed: name the variable that \
                 holds it in api_key_env, or a command that prints it in api_key_command"
                    .to_owned(),
            );
        }
        let Some(key) = Key::named(&entry.name) else {
            return self.lay_unknown(&entry, origin, trust);
        };
        // Editors send empty texts and null for what the user left alone. On the command line an empty text is a
        // variable that a script did not set.
        let is_empty = is_empty_text(&entry.value) && !(key.empty.is_some() && origin.is_file())
            || entry.value.is_null();
        if is_empty {
            if *origin == Origin::CommandLine && unusable::decides(key.name) {
                let unusable = key.check(&entry.value, origin.notation()).err();
                let message = unusable.unwrap_or_else(|| format!("{} must not be empty", key.name));
                self.refuse(Some(key.name), &entry.place, message, origin);
            }
            return;
        }
        match key.shape {
            Shape::Value | Shape::Rules => {
                self.tell_misplaced(key, &entry, origin, trust);
                if let Some(value) = self.sound(key, &entry) {
                    self.lay_value(key, &[], value, &entry.place, origin, trust);
                }
            }
            Shape::Table | Shape::Models if !entry.value.is_object() => {
                self.tell_misplaced(key, &entry, origin, trust);
                let name = unusable::meant(key.name, &entry.value).filter(|_| trust != Trust::None);
                let message = format!("{} must be {}", key.name, key.expects);
                self.refuse(name, &entry.place, message, origin);
            }
            Shape::Table | Shape::Models => {
                // One warning for the table, not one for each member.
                if let Err(message) = project::admit_table(key, origin, trust) {
                    self.tell_misplaced(key, &entry, origin, trust);
                    return self.warn(&entry.place, message);
                }
                match key.shape {
                    Shape::Models => self.lay_models(key, entry, origin, trust),
                    _ => self.lay_table(key, entry, origin, trust),
                }
            }
        }
    }

    /// A name that no setting has; what it holds of settings is lost.
    fn lay_unknown(&mut self, entry: &Entry, origin: &Origin, trust: Trust) {
        let (message, near) = misplaced::unknown(&entry.name, &misplaced::all_names());
        let inside = misplaced::inside(entry);
        let message = match inside.as_slice() {
            [] => message,
            inside => misplaced::wrapped(entry, inside, origin.is_file()),
        };
        let near = near.and_then(|name| unusable::meant(name, &entry.value));
        let meant = near.into_iter().chain(inside).filter(|_| trust != Trust::None);
        self.refuse(meant, &entry.place, message, origin);
    }

    /// Tells of the settings inside the value of another one, at any depth.
    fn tell_misplaced(&mut self, key: &'static Key, table: &Entry, origin: &Origin, trust: Trust) {
        for member in &table.members {
            let setting = misplaced::meant_inside(member).filter(|name| {
                key.shape != Shape::Models || Key::named(name).is_some_and(|key| !key.of_models)
            });
            if let Some(setting) = setting {
                let message = misplaced::misplaced(setting, key, table, origin.is_file());
                let name = (trust != Trust::None).then_some(setting);
                self.refuse(name, &member.place, message, origin);
            }
            self.tell_misplaced(key, member, origin, trust);
        }
    }

    /// The value as it is meant, without the parts that its setting does not have, each of which is told; `None` when too
    /// little is left.
    fn sound(&mut self, key: &'static Key, entry: &Entry) -> Option<Value> {
        let mut value = match key.empty {
            Some(said) if is_empty_text(&entry.value) => said.into(),
            _ => entry.value.clone(),
        };
        let Some(parts) = value.as_object_mut().filter(|_| !key.parts.is_empty()) else {
            return Some(value);
        };
        let known = |name: &str| key.parts.contains(&name);
        parts.retain(|name, _| known(name));
        let fits = key.check(&value, Notation::Toml).is_ok();
        let mut is_told = false;
        for part in entry.members.iter().filter(|part| !known(&part.name)) {
            is_told = true;
            // What is a setting was told as one.
            if misplaced::meant_inside(part).is_none() {
                let rest = if fits { "the rest of it is used" } else { "nothing of it is used" };
                self.warn(&part.place, format!("{}; {rest}", misplaced::unknown_part(key, &part.name)));
            }
        }
        (fits || !is_told).then_some(value)
    }

    /// A table of which each member stands for itself.
    fn lay_table(&mut self, key: &'static Key, table: Entry, origin: &Origin, trust: Trust) {
        let mut spellings = BTreeSet::new();
        for member in &table.members {
            // In a file it is the table above that makes it a member; elsewhere somebody put it there.
            let setting =
                Key::named(&member.name).filter(|setting| origin.is_file() || unusable::bounds(setting.name));
            if let Some(setting) = setting {
                let message = misplaced::misplaced(setting.name, key, &table, origin.is_file());
                self.refuse(Some(setting.name), &member.place, message, origin);
            }
            self.tell_misplaced(key, member, origin, trust);
            let path = [key.spelling(&member.name)];
            if !spellings.insert(path.clone()) {
                let message = format!("{} holds {} twice: remove one of them", key.name, member.name);
                self.refuse(Some(key.name), &member.place, message, origin);
                continue;
            }
            self.lay_value(key, &path, member.value.clone(), &member.place, origin, trust);
        }
    }

    /// The settings of single models.
    fn lay_models(&mut self, key: &'static Key, models: Entry, origin: &Origin, trust: Trust) {
        for model in &models.members {
            if model.value.is_object() {
                self.lay_model(key, model, origin, trust);
                continue;
            }
            let shown: String = model.name.chars().take(LONGEST_NAME).collect();
            let setting = misplaced::meant_inside(model);
            let message = match setting {
                Some(setting) => misplaced::misplaced(setting, key, &models, origin.is_file()),
                None => format!("{}.{shown:?} must be a table, such as {{ temperature = 0.2 }}", key.name),
            };
            self.refuse(setting, &model.place, message, origin);
            self.tell_misplaced(key, model, origin, trust);
        }
    }

    /// The settings of one model.
    fn lay_model(&mut self, key: &'static Key, model: &Entry, origin: &Origin, trust: Trust) {
        for setting in &model.members {
            let named = Key::named(&setting.name);
            let Some(of_model) = named.filter(|key| key.of_models) else {
                match named {
                    Some(named) => {
                        let message = misplaced::not_of_models(named.name);
                        self.refuse(Some(named.name), &setting.place, message, origin);
                        self.tell_misplaced(named, setting, origin, trust);
                    }
                    None => self.lay_unknown(setting, origin, trust),
                }
                continue;
            };
            self.tell_misplaced(of_model, setting, origin, trust);
            let Some(value) = self.sound(of_model, setting) else { continue };
            if let Err(message) = of_model.check(&value, origin.notation()) {
                self.warn(&setting.place, message);
                continue;
            }
            let path = [model.name.clone(), setting.name.clone()];
            self.lay_value(key, &path, value, &setting.place, origin, trust);
        }
    }

    /// Lays a value, or the one below `path` in a table, over what is there.
    fn lay_value(
        &mut self,
        key: &'static Key,
        path: &[String],
        value: Value,
        place: &str,
        origin: &Origin,
        trust: Trust,
    ) {
        let nest = |value, name: &String| Value::Object([(name.clone(), value)].into_iter().collect());
        let value = path.iter().rev().fold(value, nest);
        let proposed = match key.check(&value, origin.notation()) {
            Ok(proposed) => proposed,
            Err(message) => {
                let name = (trust != Trust::None).then_some(key.name);
                return self.refuse(name, place, message, origin);
            }
        };
        if let Err(message) = project::admit_table(key, origin, trust) {
            // The user's own bound in a place where it does not count must not be taken for one that holds.
            let name = (trust == Trust::Full).then_some(key.name);
            return self.refuse(name, place, message, origin);
        }
        let set = self.settings.set.get(key.name).map(|(value, _)| key.show(value));
        if let Err(message) =
            project::admit(key, &key.show(&value), &proposed, set.as_deref(), &self.settings.values, trust)
        {
            return self.warn(place, message);
        }
        if trust == Trust::Full
            && let Ok(values) = lay_over(&mut self.settings.own.set, key, value.clone(), origin)
        {
            self.settings.own.values = values;
        }
        if let Some((_, below)) = self.settings.set.get(key.name)
            && key.shape != Shape::Value
            && below != origin
        {
            let beneath = self.settings.beneath.entry(key.name).or_default();
            if !beneath.contains(below) {
                beneath.push(below.clone());
            }
        }
        match lay_over(&mut self.settings.set, key, value, origin) {
            Ok(values) => self.settings.values = values,
            // Each value fits by itself, and none depends on another.
            Err(error) => self.warn(place, error.to_string()),
        }
        if key.name == "sandbox_write" {
            let absent = project::absent_folders(&self.settings.values, &self.settings.environment);
            absent.into_iter().for_each(|message| self.warn(place, message));
        }
    }

    /// Warns; and what decides where a turn's data goes or bounds a turn holds every turn up until it is mended, `names`
    /// being the settings that were meant.
    fn refuse(
        &mut self,
        names: impl IntoIterator<Item = &'static str>,
        place: &str,
        message: String,
        origin: &Origin,
    ) {
        let warning = Warning { place: place.to_owned(), message };
        let deciding = names.into_iter().filter(|name| unusable::decides(name));
        let unusable = deciding.map(|name| Unusable::new(name, origin, warning.clone()));
        self.settings.unusable.extend(unusable);
        self.warnings.push(warning);
    }

    fn warn(&mut self, place: &str, message: String) {
        self.warnings.push(Warning { place: place.to_owned(), message });
    }

    fn done(self) -> Loaded {
        Loaded { settings: self.settings, warnings: self.warnings }
    }
}

fn is_empty_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.trim().is_empty())
}
