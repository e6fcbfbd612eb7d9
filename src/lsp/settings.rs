//! The session's settings: files and environment under what the editor says, read anew for each turn, and the model
//! that they choose.

use std::{
    collections::HashSet,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use serde_json::{Value, json};

use super::{lsp_types::MessageType, session::Session};
use crate::{
    config::{EditorSection, Environment, Settings, Warning},
    model::{
        ModelError,
        select::{self, Chosen},
    },
};

/// How long the client may take to say its settings.
const CONFIGURATION_LIMIT: Duration = Duration::from_secs(5);

const NOTHING_CHANGED_BY_NULL: &str =
    "askls settings: the editor sent no `askls` section; its settings stay as they were";

const NOTHING_CHANGED_BY_GARBAGE: &str = "askls settings: the editor sent an `askls` section that is not an object with one \
     member for each setting; its settings stay as they were";

/// Stands behind a fault that every ask ends with.
const NOTHING_ASKED: &str = "nothing can be asked until this is mended";

/// Why the editor's settings are not taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NoSection {
    Null,
    Garbage,
}

/// Where the settings come from, and what was made of them.
#[derive(Default)]
pub(super) struct SettingsSource {
    environment: Environment,
    editor: Mutex<EditorSettings>,
    warnings: Mutex<Warnings>,
    chosen: Mutex<Option<(ChoiceKey, Chosen)>>,
}

/// What the editor said, in two layers: its section changes while it runs and hides, key by key, what it said at first.
#[derive(Clone, Debug, Default)]
struct EditorSettings {
    /// `initializationOptions`.
    options: Value,
    /// The section `askls` of the editor's settings, as it was last told.
    section: Value,
}

#[derive(Default)]
struct Warnings {
    current: Vec<Warning>,
    /// The one of them that every ask ends with.
    error_of_asks: Option<Warning>,
    /// What the user has seen already.
    shown: HashSet<Warning>,
}

/// What the choice of a model depends on: the same key, the same model. Holds no secret: a key that changes while its
/// name stays comes from a file or from the editor.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ChoiceKey {
    choice: String,
    editor: String,
    files: Vec<Option<SystemTime>>,
}

/// A fault of the settings that every ask ends with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    warning: Warning,
    /// The user was told before, in whole.
    was_shown: bool,
}

impl Fault {
    /// What is shown of an ask that ends with `detail`, when the user was told in whole before: what to write, without what
    /// it is good for.
    pub(super) fn in_short(&self, detail: &str) -> Option<String> {
        let is_told_again = self.was_shown && detail.contains(&self.warning.message);
        is_told_again.then(|| format!("nothing was asked: {}", self.warning))
    }
}

impl SettingsSource {
    pub(super) fn new(environment: Environment) -> Self {
        Self { environment, ..Self::default() }
    }

    /// `initializationOptions`; they hold for as long as the session.
    pub(super) fn set_options(&self, options: Value) {
        lock(&self.editor).options = options;
    }

    /// Replaces the section, which says all that the editor's user has set. What cannot be a section changes nothing:
    /// the error says what it was.
    fn set_section(&self, section: Value) -> Result<(), NoSection> {
        match EditorSection::of(&section) {
            EditorSection::Unset => return Err(NoSection::Null),
            EditorSection::Garbage => return Err(NoSection::Garbage),
            EditorSection::Empty | EditorSection::Members(_) => {}
        }
        lock(&self.editor).section = section;
        Ok(())
    }

    /// Reads the settings files; blocks.
    fn load(&self, roots: &[PathBuf]) -> Settings {
        let mut loaded = Settings::load(&self.environment, roots);
        let EditorSettings { options, section } = lock(&self.editor).clone();
        for layer in [options, section] {
            let with_layer = loaded.settings.with_editor(&layer);
            loaded.settings = with_layer.settings;
            let known = loaded.warnings.clone();
            loaded
                .warnings
                .extend(with_layer.warnings.into_iter().filter(|warning| !known.contains(warning)));
        }
        let error_of_asks = loaded.error_of_asks().cloned();
        let mut warnings = lock(&self.warnings);
        warnings.error_of_asks = error_of_asks;
        warnings.current = loaded.warnings;
        loaded.settings
    }

    /// The place for checkpoints under the settings as they are now; blocks.
    pub(super) fn checkpoints_folder(&self, roots: &[PathBuf]) -> Option<PathBuf> {
        self.load(roots).checkpoints_folder()
    }

    /// Everything that is wrong with the settings now.
    pub(super) fn warnings(&self) -> Vec<String> {
        lock(&self.warnings).current.iter().map(ToString::to_string).collect()
    }

    /// What an ask ends with as its error; from now on it counts as seen, since the ask says it.
    fn take_error_of_asks(&self) -> Option<Fault> {
        let mut warnings = lock(&self.warnings);
        let warning = warnings.error_of_asks.clone()?;
        let was_shown = !warnings.shown.insert(warning.clone());
        Some(Fault { warning, was_shown })
    }

    /// The warnings that the user has not seen; they count as seen from now on.
    fn new_warnings(&self) -> Vec<String> {
        let mut warnings = lock(&self.warnings);
        let Warnings { current, error_of_asks, shown } = &mut *warnings;
        let new = current.iter().filter(|warning| shown.insert((*warning).clone()));
        new.map(|warning| match error_of_asks.as_ref() == Some(warning) {
            true => format!("{warning}; {NOTHING_ASKED}"),
            false => warning.to_string(),
        })
        .collect()
    }
}

impl Session {
    /// The settings as they are now; warnings that are new are shown to the user.
    pub(super) async fn settings(self: &Arc<Self>) -> Settings {
        let settings = self.load_settings().await;
        self.show_new_warnings().await;
        settings
    }

    /// The same for an ask, which says by itself what it ends with.
    pub(super) async fn settings_of_ask(self: &Arc<Self>) -> (Settings, Option<Fault>) {
        let settings = self.load_settings().await;
        let fault = self.settings.take_error_of_asks();
        self.show_new_warnings().await;
        (settings, fault)
    }

    async fn load_settings(self: &Arc<Self>) -> Settings {
        let session = Arc::clone(self);
        let load = tokio::task::spawn_blocking(move || session.settings.load(&session.workspace.roots()));
        let settings = match load.await {
            Ok(settings) => settings,
            Err(error) => {
                tracing::error!(%error, "the settings cannot be read");
                Settings::load(&Environment::default(), &[]).settings
            }
        };
        self.hints.set(settings.edit_lenses(), settings.edit_hints());
        settings
    }

    async fn show_new_warnings(&self) {
        for warning in self.settings.new_warnings() {
            self.editor.log_message(MessageType::WARNING, &warning).await;
            self.editor.show_message(MessageType::WARNING, &format!("askls settings: {warning}")).await;
        }
    }

    /// Shows a warning about the settings that comes up in a turn; each one once.
    pub(super) async fn warn_once(&self, message: String) {
        let warning = Warning { place: "a turn".to_owned(), message: message.clone() };
        if !lock(&self.settings.warnings).shown.insert(warning) {
            return;
        }
        self.editor.log_message(MessageType::WARNING, &message).await;
        self.editor.show_message(MessageType::WARNING, &format!("askls settings: {message}")).await;
    }

    /// `workspace/didChangeConfiguration`. A client that keeps its settings to be asked for sends `null`.
    pub(super) async fn settings_changed(self: &Arc<Self>, settings: Value) {
        let settings = match settings {
            Value::Null if self.client().configuration => {
                let params = json!({ "items": [{ "section": "askls" }] });
                match self.editor.request("workspace/configuration", params, CONFIGURATION_LIMIT).await {
                    Ok(mut answer) => match answer.get_mut(0) {
                        Some(section) => section.take(),
                        None => answer,
                    },
                    Err(error) => {
                        tracing::warn!(%error, "the editor does not say its settings");
                        return;
                    }
                }
            }
            settings => settings,
        };
        match self.settings.set_section(settings) {
            Ok(()) => {}
            // Usual: the user has set nothing, and what the editor said at first holds.
            Err(NoSection::Null) => {
                self.editor.log_message(MessageType::WARNING, NOTHING_CHANGED_BY_NULL).await;
            }
            Err(NoSection::Garbage) => {
                self.editor.show_message(MessageType::WARNING, NOTHING_CHANGED_BY_GARBAGE).await;
            }
        }
        self.settings().await;
    }

    /// The model that the settings choose, or `model` on the same server. Asked for at the first turn and then kept
    /// for as long as the settings stay; the model inside askls is not kept when a local server might have come up.
    pub(super) async fn choose_model(
        &self,
        settings: &Settings,
        model: Option<String>,
    ) -> Result<Chosen, ModelError> {
        let mut choice = settings.model_choice();
        if model.is_some() {
            choice.model = model;
        }
        let key = ChoiceKey {
            choice: format!("{choice:?}"),
            editor: format!("{:?}", lock(&self.settings.editor)),
            files: settings.files().iter().map(|file| modified(&file.path)).collect(),
        };
        let kept = lock(&self.settings.chosen).clone();
        if let Some((of, chosen)) = kept
            && of == key
            && (chosen.client.info().wire.is_some() || choice.model.is_some())
        {
            return Ok(chosen);
        }
        let chosen = select::choose(&choice).await?;
        *lock(&self.settings.chosen) = Some((key, chosen.clone()));
        Ok(chosen)
    }
}

fn modified(path: &std::path::Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|file| file.modified()).ok()
}

/// These values are whole after every statement, so a panic elsewhere does not spoil them.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
