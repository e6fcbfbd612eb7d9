//! What a project's settings file said, for the ends that come of it.

use std::{collections::BTreeMap, sync::Arc};

/// The settings that a project's file set and that hold, each as it stands there. Whatever ends by one of them names it:
/// its user may never have seen that file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectSettings(Arc<BTreeMap<&'static str, String>>);

impl ProjectSettings {
    /// Whether the project's file is where this setting comes from.
    pub fn has(&self, setting: &str) -> bool {
        self.0.contains_key(setting)
    }

    /// The end of a clause that names the setting: `, which is the project's: max_steps = 3 of .askls/config.toml`. Empty
    /// for what the project did not set.
    pub fn named(&self, setting: &str) -> String {
        let line = self.0.get(setting);
        line.map(|line| format!(", which is the project's: {line}")).unwrap_or_default()
    }
}

/// From names, and for each the words `name = value of file`.
impl FromIterator<(&'static str, String)> for ProjectSettings {
    fn from_iter<I: IntoIterator<Item = (&'static str, String)>>(lines: I) -> Self {
        Self(Arc::new(lines.into_iter().collect()))
    }
}
