//! The rules that the user's answers keep: in a file of the user's, beside their settings, under the path of the project
//! that they are for. So a project cannot bring any, and the agent changes none.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::Environment;
use crate::{agent::Rule, workspace::kept_rules};

/// What the file may say of a project.
pub(super) const LISTS: &[&str] = &["allow", "ask", "deny"];

/// The file, whether it exists or not.
pub(super) fn projects_file(environment: &Environment) -> Option<PathBuf> {
    Some(environment.user_file()?.with_file_name("projects.toml"))
}

/// Under which name the file has a project: its real path.
pub(super) fn project_name(root: &Path) -> String {
    fs::canonicalize(root).unwrap_or_else(|_| root.to_owned()).display().to_string()
}

/// Where answers that hold for a project are kept.
#[derive(Clone, Debug)]
pub struct KeptRules {
    pub(super) file: PathBuf,
}

impl KeptRules {
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Adds rules to what the project at `root` allows; blocks. What else stands in the file stays.
    ///
    /// # Errors
    /// When the file cannot be read, is not valid, or cannot be written; it is then as it was.
    pub fn allow(&self, root: &Path, rules: &[Rule]) -> io::Result<()> {
        let rules: Vec<String> = rules.iter().map(ToString::to_string).collect();
        kept_rules::add(&self.file, &project_name(root), &rules)
    }
}
