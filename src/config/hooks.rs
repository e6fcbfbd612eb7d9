//! The programs of the setting `hooks`: where they are, and how they are called.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{Origin, Settings, project, schema};
use crate::{
    agent::{
        Guard, Guardrails,
        guardrails::{Hook, Watched},
    },
    tools::{
        hook::{DEFAULT_TIMEOUT, HookProgram},
        output::one_line,
    },
};

/// Characters of a program's name in messages.
const MAX_NAME_CHARS: usize = 40;

impl Settings {
    /// The checks of the user's that a turn stands under.
    pub fn guardrails(&self) -> Guardrails {
        let tables = self.values.hooks.iter().flat_map(|hooks| &hooks.0).enumerate();
        Guardrails::new(tables.map(|(index, table)| Arc::new(self.hook(index + 1, table)) as Arc<dyn Guard>))
    }

    fn hook(&self, number: usize, table: &schema::HookTable) -> Hook {
        let folder = self.folder_of_hooks();
        let (program, arguments) = match table.command.0.split_first() {
            Some((program, arguments)) => (program.as_str(), arguments.to_vec()),
            // Commands of the settings name a program.
            None => ("", Vec::new()),
        };
        let short = Path::new(program).file_name().map_or(program.into(), |name| name.to_string_lossy());
        Hook {
            name: format!("hook {number} ({})", one_line(&short, MAX_NAME_CHARS)),
            watched: Watched { kind: table.on, tools: table.tools.clone() },
            program: HookProgram {
                program: self.place_of(program, &folder),
                arguments,
                folder,
                timeout: table.timeout.map_or(DEFAULT_TIMEOUT, schema::Seconds::duration),
                hidden_variable: self.values.api_key_env.clone(),
                launcher: self.environment.launcher().cloned(),
            },
        }
    }

    /// The folder of the file that names them, and never the project's, where anybody's files lie: interpreters take those
    /// beside them for parts of a program.
    fn folder_of_hooks(&self) -> PathBuf {
        let beside = match self.origin("hooks") {
            Origin::UserFile(file) => file.parent().map(Path::to_owned),
            Origin::Default
            | Origin::ProjectFile(_)
            | Origin::Environment(_)
            | Origin::Editor
            | Origin::CommandLine => None,
        };
        beside.or_else(|| self.environment.home()).unwrap_or_else(|| PathBuf::from("/"))
    }

    /// A path as the user means it; a bare name is looked for in `PATH`.
    fn place_of(&self, program: &str, folder: &Path) -> PathBuf {
        let path = project::expand(Path::new(program), &self.environment);
        if path.is_relative() && path.components().count() > 1 { folder.join(path) } else { path }
    }
}
