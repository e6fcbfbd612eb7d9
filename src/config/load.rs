//! Reading the layers and laying one over the other, value by value, so that one bad value costs only itself.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::{Map, Value};

use super::{
    Environment, Loaded, Origin, Settings, SettingsFile, Warning,
    entry::{self, Entry},
    project::{self, Trust},
    project_file,
    schema::{KEYS, Key, LONGEST_NAME, Shape, Values},
    unusable::{self, Unusable},
};

/// Settings take a few lines: a larger file is something else.
const LARGEST_FILE: u64 = 1 << 20;

/// The settings that have a variable of their own. `ASKLS_API_KEY` is none: it holds a key, not a setting.
const VARIABLES: &[(&str, &str)] =
    &[("ASKLS_MODEL", "model"), ("ASKLS_WIRE", "wire"), ("ASKLS_BASE_URL", "base_url")];

const NOT_UNICODE: &str = "its value is not valid Unicode: set it again, or unset it";

/// Members of the editor's section that belong to editors and their plugins.
const EDITORS_OWN: &[&str] = &["path", "trace"];

/// Warnings about one file that someone reads; a project's file may be anybody's.
const MOST_WARNINGS: usize = 20;

/// How alike a known name must be to be suggested, from 0 to 1.
const LIKENESS: f32 = 0.6;

pub(super) fn load(environment: &Environment, roots: &[PathBuf]) -> Loaded {
    let settings = Settings {
        set: Default::default(),
        values: Values::default(),
        environment: Arc::new(environment.clone()),
        files: Vec::new(),
        unusable: Vec::new(),
    };
    let mut layers = Layers { settings, warnings: Vec::new() };
    if let Some(path) = environment.user_file() {
        layers.lay_file(&path, &Origin::UserFile(path.clone()), Trust::Full);
    }
    for root in roots {
        let path = project_file(root);
        let trust = project::trust(root, &layers.settings.values, environment);
        layers.lay_file(&path, &Origin::ProjectFile(path.clone()), trust);
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
    let mut path = String::new();
    let mut section = value;
    if let Some(inner) = section.get("askls") {
        "askls.".clone_into(&mut path);
        section = inner;
    }
    match section {
        Value::Null => {}
        Value::Object(members) => {
            for (name, value) in members.iter().filter(|(name, _)| !EDITORS_OWN.contains(&name.as_str())) {
                let entry = Entry::new(name, value, &format!("editor settings, {path}{name}"));
                layers.lay(entry, &Origin::Editor, Trust::Full);
            }
        }
        _ => layers.warn(
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
    fn lay_file(&mut self, path: &Path, origin: &Origin, trust: Trust) {
        let text = match read(path) {
            Ok(text) => text,
            Err(error) => {
                let exists = error.kind() != io::ErrorKind::NotFound;
                self.settings.files.push(SettingsFile { path: path.to_owned(), exists });
                if exists {
                    self.refuse_file(path, &format!("it cannot be read: {error}"), origin, trust);
                }
                return;
            }
        };
        self.settings.files.push(SettingsFile { path: path.to_owned(), exists: true });
        let contents = match entry::of_file(path, &text) {
            Ok(contents) => contents,
            Err(reason) => return self.refuse_file(path, &reason, origin, trust),
        };
        let first = self.warnings.len();
        if let Some(broken) = contents.broken.first().filter(|_| trust != Trust::None) {
            let read = |name: &str| contents.entries.iter().any(|entry| entry.name == name);
            for name in unusable::mentioned(&text).filter(|name| !read(name)) {
                self.settings.unusable.push(Unusable::new(name, origin, broken.clone()));
            }
        }
        self.warnings.extend(contents.broken);
        for (name, Warning { place, message }) in contents.repeated {
            let key = Key::named(&name).filter(|_| trust != Trust::None);
            self.refuse(key.map(|key| key.name), &place, message, origin);
        }
        for entry in contents.entries {
            self.lay(entry, origin, trust);
        }
        let more = (self.warnings.len() - first).saturating_sub(MOST_WARNINGS);
        if more > 0 {
            self.warnings.truncate(first + MOST_WARNINGS);
            self.warn(
                &path.display().to_string(),
                format!("{more} more warnings about this file are not shown"),
            );
        }
    }

    /// Nothing in a file is used.
    fn refuse_file(&mut self, path: &Path, reason: &str, origin: &Origin, trust: Trust) {
        let name = (trust != Trust::None).then_some(unusable::WHOLE_FILE);
        let message = format!("nothing in this file is used: {reason}");
        self.refuse(name, &path.display().to_string(), message, origin);
    }

    fn lay(&mut self, entry: Entry, origin: &Origin, trust: Trust) {
        let Entry { name, value, place, members } = entry;
        if name.replace('-', "_").eq_ignore_ascii_case("api_key") {
            return self.warn(
                &place,
                "a key is not read from settings, where it would be copied and committed: name the variable that \
                 holds it in api_key_env, or a command that prints it in api_key_command"
                    .to_owned(),
            );
        }
        let Some(key) = Key::named(&name) else {
            let names: Vec<_> = KEYS.iter().map(|key| key.name).collect();
            let (message, near) = unknown(&name, &names);
            let inside = unusable::inside(&value);
            let meant = near.or(inside).filter(|_| trust != Trust::None);
            let message = wrapped(&name, &value, origin).unwrap_or(message);
            return self.refuse(meant, &place, message, origin);
        };
        // Editors send empty texts and null for what the user left alone. On the command line an empty text is a
        // variable that a script did not set.
        let is_empty = value.is_null() || value.as_str().is_some_and(|text| text.trim().is_empty());
        if is_empty && !(*origin == Origin::CommandLine && unusable::decides(key.name)) {
            return;
        }
        let inner = match key.shape {
            Shape::Value => return self.lay_value(key, &[], value, &place, origin, trust),
            Shape::Table | Shape::Models if value.is_object() => members,
            Shape::Table | Shape::Models => {
                let name = (trust != Trust::None).then_some(key.name);
                let message = format!("{} must be {}", key.name, key.expects);
                return self.refuse(name, &place, message, origin);
            }
        };
        // One warning for the table, not one for each member.
        if let Err(message) = project::admit_table(key, origin, trust) {
            return self.warn(&place, message);
        }
        let mut spellings = BTreeSet::new();
        for member in inner {
            if key.shape == Shape::Models {
                self.lay_model(key, member, origin, trust);
                continue;
            }
            if let Some(setting) = Key::named(&member.name).filter(|_| origin.is_file()) {
                let message = misplaced(setting.name, key);
                self.refuse(Some(setting.name), &member.place, message, origin);
            }
            let path = [key.spelling(&member.name)];
            if !spellings.insert(path.clone()) {
                let message = format!("{} holds {} twice: remove one of them", key.name, member.name);
                self.refuse(Some(key.name), &member.place, message, origin);
                continue;
            }
            self.lay_value(key, &path, member.value, &member.place, origin, trust);
        }
    }

    /// The settings of one model.
    fn lay_model(&mut self, key: &'static Key, model: Entry, origin: &Origin, trust: Trust) {
        if !model.value.is_object() {
            let shown: String = model.name.chars().take(LONGEST_NAME).collect();
            let setting = Key::named(&model.name).map(|setting| setting.name);
            let message = match setting {
                Some(setting) => misplaced(setting, key),
                None => format!("{}.{shown:?} must be a table, such as {{ temperature = 0.2 }}", key.name),
            };
            return self.refuse(setting, &model.place, message, origin);
        }
        for setting in model.members {
            let named = Key::named(&setting.name);
            let Some(of_model) = named.filter(|key| key.of_models) else {
                let names: Vec<_> = KEYS.iter().map(|key| key.name).collect();
                let (message, meant) = match named {
                    Some(named) => (
                        format!(
                            "{} cannot be set for single models: write it above the first [table] line",
                            named.name
                        ),
                        Some(named.name),
                    ),
                    None => unknown(&setting.name, &names),
                };
                self.refuse(meant, &setting.place, message, origin);
                continue;
            };
            if let Err(message) = of_model.check(&setting.value) {
                self.warn(&setting.place, message);
                continue;
            }
            let path = [model.name.clone(), setting.name];
            self.lay_value(key, &path, setting.value, &setting.place, origin, trust);
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
        let proposed = match key.check(&value) {
            Ok(proposed) => proposed,
            Err(message) => {
                let name = (trust != Trust::None).then_some(key.name);
                return self.refuse(name, place, message, origin);
            }
        };
        if let Err(message) = project::admit_table(key, origin, trust) {
            return self.warn(place, message);
        }
        let shown = self.settings.set.get(key.name).map(|(value, _)| key.show(value));
        let shown = shown.as_deref().unwrap_or(key.default);
        if let Err(message) = project::admit(key, &proposed, &self.settings.values, shown, trust) {
            return self.warn(place, message);
        }
        let value = match self.settings.set.remove(key.name) {
            Some((below, _)) if key.shape != Shape::Value => merged(below, value),
            _ => value,
        };
        self.settings.set.insert(key.name, (value, origin.clone()));
        let whole: Map<_, _> =
            self.settings.set.iter().map(|(name, (value, _))| ((*name).to_owned(), value.clone())).collect();
        match serde_json::from_value(Value::Object(whole)) {
            Ok(values) => self.settings.values = values,
            // Each value fits by itself, and none depends on another.
            Err(error) => self.warn(place, error.to_string()),
        }
    }

    /// Warns; and what decides where a turn's data goes holds every turn up until it is mended, `name` being the
    /// setting that was meant.
    fn refuse(&mut self, name: Option<&'static str>, place: &str, message: String, origin: &Origin) {
        self.warn(place, message);
        if let (Some(name), Some(warning)) =
            (name.filter(|name| unusable::decides(name)), self.warnings.last())
        {
            self.settings.unusable.push(Unusable::new(name, origin, warning.clone()));
        }
    }

    fn warn(&mut self, place: &str, message: String) {
        self.warnings.push(Warning { place: place.to_owned(), message });
    }

    fn done(self) -> Loaded {
        Loaded { settings: self.settings, warnings: self.warnings }
    }
}

/// A settings file's text. A folder, a device and a file of some other size or encoding are errors.
fn read(path: &Path) -> io::Result<String> {
    let text = String::from_utf8(read_bytes(path)?).map_err(|error| {
        let before = error.utf8_error().valid_up_to();
        let valid = String::from_utf8_lossy(error.as_bytes().get(..before).unwrap_or_default());
        let (line, column) = entry::position(&valid, before);
        io::Error::other(format!("line {line}, column {column} is not UTF-8"))
    })?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// The bytes of a regular file of a size that people write.
pub(super) fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let metadata = fs::metadata(path).map_err(|error| match error.kind() {
        // A root that is a file has no settings below it.
        io::ErrorKind::NotADirectory => io::ErrorKind::NotFound.into(),
        _ => error,
    })?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    if metadata.len() > LARGEST_FILE {
        return Err(io::Error::other(format!("it is larger than {LARGEST_FILE} bytes")));
    }
    fs::read(path)
}

/// One table over another, member by member.
fn merged(below: Value, above: Value) -> Value {
    match (below, above) {
        (Value::Object(mut below), Value::Object(above)) => {
            for (name, value) in above {
                let value = match below.remove(&name) {
                    Some(old) => merged(old, value),
                    None => value,
                };
                below.insert(name, value);
            }
            Value::Object(below)
        }
        (_, above) => above,
    }
}

/// What is said of a name that no setting of `names` has, and the setting that was probably meant.
fn unknown(name: &str, names: &[&'static str]) -> (String, Option<&'static str>) {
    // `maxSteps` and `max-steps` are `max_steps`.
    let mut spelling = String::new();
    for c in name.chars() {
        if c.is_uppercase() {
            spelling.push('_');
        }
        spelling.extend(if c == '-' { '_' } else { c }.to_lowercase());
    }
    let shown: String = name.chars().take(LONGEST_NAME).collect();
    match similar::get_close_matches(spelling.as_str(), names, 1, LIKENESS).first() {
        Some(near) => (format!("there is no setting {shown}; did you mean {near}?"), Some(near)),
        None => (format!("there is no setting {shown}; askls status lists them all"), None),
    }
}

/// What is said of a setting that a file writes below the header of a table.
fn misplaced(setting: &str, table: &Key) -> String {
    let table = table.name;
    format!(
        "{setting} stands below [{table}] and is taken for a part of it: write the setting above the first [table] line"
    )
}

/// What is said of settings that stand inside a table of another name, as of `[askls]` in a file.
fn wrapped(name: &str, value: &Value, origin: &Origin) -> Option<String> {
    let members = value.as_object()?;
    let setting = KEYS.iter().find(|key| members.contains_key(key.name))?.name;
    let shown: String = name.chars().take(LONGEST_NAME).collect();
    Some(match (origin.is_file(), name) {
        (true, "askls") => "settings stand in no table here: remove the line [askls]".to_owned(),
        (true, _) => format!("there is no table {shown}: write {setting} above the first [table] line"),
        (false, _) => format!("there is no setting {shown}: write {setting} beside it, not inside"),
    })
}
