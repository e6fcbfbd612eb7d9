//! Settings: one schema under the same names in every place, and where each value came from.
//!
//! Layers, each over the one before: defaults, the user's file, the project's files (which may only narrow), the
//! environment, the editor or the command line. Nothing here fails: what cannot be used becomes a [`Warning`], and
//! everything else works, except that no server is chosen while a setting that decides about it cannot be used. This is the only module that reads the environment.

mod advice;
mod entry;
pub mod environment;
mod handed_down;
mod hooks;
mod kept_rules;
pub mod key;
mod load;
mod misplaced;
mod project;
pub mod report;
pub mod schema;
mod unusable;
mod written;

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde_json::{Map, Value};

pub use environment::Environment;
pub use kept_rules::KeptRules;
pub use load::EditorSection;
pub use schema::{Background, Edits, ShowAnswer};

use schema::{Notation, Values};
use unusable::Unusable;

/// Every setting as it holds now. Cheap to clone; never changed in place: another layer makes another `Settings`.
#[derive(Clone)]
pub struct Settings {
    /// Only what some layer set, each value valid.
    set: BTreeMap<&'static str, (Value, Origin)>,
    /// The same, typed.
    values: Values,
    environment: Arc<Environment>,
    files: Vec<SettingsFile>,
    /// Of what adds up, the layers below the last one that added to it, the weakest first.
    beneath: BTreeMap<&'static str, Vec<Origin>>,
    /// What was meant to decide where data goes, in the order of the layers.
    unusable: Vec<Unusable>,
    own: Own,
}

/// What the user's own places say, wherever they stand among the layers: no word of it is a project's.
#[derive(Clone, Default)]
struct Own {
    set: BTreeMap<&'static str, (Value, Origin)>,
    /// The same, typed.
    values: Values,
}

/// Settings, and what of their sources could not be used.
#[derive(Clone, Debug)]
pub struct Loaded {
    pub settings: Settings,
    /// For the face to show, in the order of the layers.
    pub warnings: Vec<Warning>,
}

/// Something in the settings that was not used, for people: where it stands, what is wrong, what to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Warning {
    /// `path:line:column`, the name of a variable, or `editor settings`.
    pub place: String,
    pub message: String,
}

/// The layer that a value came from, the weakest first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    Default,
    UserFile(PathBuf),
    ProjectFile(PathBuf),
    /// The variable's name.
    Environment(&'static str),
    Editor,
    CommandLine,
}

/// A place where a settings file is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsFile {
    pub path: PathBuf,
    pub exists: bool,
}

/// One line of a list of all settings, fit to be shown: no key, no credentials of a URL, no arguments of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    pub name: &'static str,
    pub value: String,
    /// The strongest layer that says something of it.
    pub origin: Origin,
    /// The others whose words are part of the value, the weakest first.
    pub beneath: Vec<Origin>,
}

impl Loaded {
    /// The warning that every ask ends with as its error.
    pub fn error_of_asks(&self) -> Option<&Warning> {
        let settings = &self.settings;
        let is_offline = settings.model_choice().is_offline();
        let of_way = || unusable::of_way(settings).filter(|_| !is_offline);
        unusable::of_bounds(settings).or_else(of_way).map(Unusable::warning)
    }

    /// The warnings that an ask does not end with as its error.
    pub fn warnings_beside_error(&self) -> impl Iterator<Item = &Warning> {
        let error = self.error_of_asks();
        self.warnings.iter().filter(move |warning| Some(*warning) != error)
    }
}

impl Settings {
    /// Reads the user's file, the file of each root and the environment. A file that is not there is no warning.
    pub fn load(environment: &Environment, roots: &[PathBuf]) -> Loaded {
        load::load(environment, roots)
    }

    /// These settings under those of the editor: `initializationOptions`, or the section `askls` of
    /// `workspace/didChangeConfiguration`; both `{"askls": {…}}` and its inner object are understood. `null` for a
    /// value, or for all, sets nothing.
    #[must_use]
    pub fn with_editor(&self, value: &Value) -> Loaded {
        load::with_editor(self, value)
    }

    /// These settings under those of the command line, by the settings' names.
    #[must_use]
    pub fn with_command_line(&self, values: &Map<String, Value>) -> Loaded {
        load::with_command_line(self, values)
    }

    /// Whether edits are offered or applied at once.
    pub fn edits(&self) -> Edits {
        self.values.edits.unwrap_or_default()
    }

    /// How long a question to the user stays open before it counts as a no.
    pub fn approval_timeout(&self) -> Duration {
        self.values.approval_timeout.map_or(schema::DEFAULT_APPROVAL_TIMEOUT, schema::Seconds::duration)
    }

    /// Whether `askls.ask` is answered at once, for clients that give up on a command.
    pub fn background(&self) -> Background {
        self.values.background.unwrap_or_default()
    }

    /// How the editor shows an answer.
    pub fn show_answer(&self) -> ShowAnswer {
        self.values.show_answer.unwrap_or_default()
    }

    /// Whether there are code lenses above proposed edits.
    pub fn edit_lenses(&self) -> bool {
        self.values.edit_lenses.unwrap_or(true)
    }

    /// Whether hints show where edits are proposed.
    pub fn edit_hints(&self) -> bool {
        self.values.edit_hints.unwrap_or(true)
    }

    /// Every setting with its value and its origin, in the order of the schema.
    pub fn shown(&self) -> Vec<Shown> {
        schema::KEYS
            .iter()
            .map(|key| match self.set.get(key.name) {
                Some((value, origin)) => {
                    let beneath = self.beneath.get(key.name).cloned().unwrap_or_default();
                    Shown { name: key.name, value: key.show(value), origin: origin.clone(), beneath }
                }
                None => Shown {
                    name: key.name,
                    value: key.default.to_owned(),
                    origin: Origin::Default,
                    beneath: Vec::new(),
                },
            })
            .collect()
    }

    /// Where settings files were looked for.
    pub fn files(&self) -> &[SettingsFile] {
        &self.files
    }

    /// The place for files that may be deleted at any time, as answers that an editor opens; not created here.
    pub fn cache_folder(&self) -> Option<PathBuf> {
        self.environment.cache_folder()
    }

    /// Where answers are kept that hold for a project; `None` when the environment names no folder for them.
    pub fn kept_rules(&self) -> Option<KeptRules> {
        Some(KeptRules { file: kept_rules::projects_file(&self.environment)? })
    }

    /// The place for the checkpoints of all workspaces; `None` when they are switched off, or when the environment names no
    /// folder for them. Not created here.
    pub fn checkpoints_folder(&self) -> Option<PathBuf> {
        let folder = self.environment.state_folder()?.join("checkpoints");
        self.values.checkpoints.unwrap_or(true).then_some(folder)
    }

    fn origin(&self, name: &str) -> Origin {
        self.set.get(name).map_or(Origin::Default, |(_, origin)| origin.clone())
    }
}

impl Shown {
    /// All places that the value comes from.
    pub fn origins(&self) -> String {
        let origins: Vec<_> = self.beneath.iter().chain([&self.origin]).map(ToString::to_string).collect();
        origins.join(" and ")
    }
}

impl Origin {
    /// How a value of this layer is written.
    fn notation(&self) -> Notation {
        if *self == Self::Editor { Notation::Json } else { Notation::Toml }
    }

    fn is_file(&self) -> bool {
        matches!(self, Self::UserFile(_) | Self::ProjectFile(_))
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Default => 0,
            Self::UserFile(_) => 1,
            Self::ProjectFile(_) => 2,
            Self::Environment(_) => 3,
            Self::Editor => 4,
            Self::CommandLine => 5,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::UserFile(path) | Self::ProjectFile(path) => path.display().fmt(f),
            Self::Environment(name) => f.write_str(name),
            Self::Editor => f.write_str("editor"),
            Self::CommandLine => f.write_str("command line"),
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// Shows what `askls status` shows, so that no credential can reach a log.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.shown().into_iter().map(|shown| (shown.name, shown.value))).finish()
    }
}

/// The project's settings file below a root.
pub fn project_file(root: &Path) -> PathBuf {
    root.join(".askls").join("config.toml")
}

#[cfg(test)]
mod tests;
