//! Systems without a sandbox: a command has the user's consent, and all of the user's rights.

use std::{
    convert::Infallible,
    ffi::{OsStr, OsString},
    io,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use super::{Failure, Sandbox, ShellEnd, report::Wall};

/// What this system can do: nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Powers(());

/// There is no plan.
#[derive(Clone, Debug)]
pub(in crate::tools::run_command) enum Plan {}

impl Plan {
    pub(in crate::tools::run_command) async fn arrived(&self) -> Option<String> {
        match *self {}
    }

    pub(in crate::tools::run_command) async fn look_meanwhile(&self, _said: &mut String) -> Infallible {
        match *self {}
    }
}

/// Never asked for: what has no powers has no plan.
pub(super) fn plan(_sandbox: &Sandbox, _roots: &[PathBuf]) -> Option<Plan> {
    None
}

/// Nothing is hidden, wherever it lies.
pub(super) fn not_looked_through(roots: &[PathBuf]) -> Vec<PathBuf> {
    roots.to_vec()
}

/// Nothing was held before.
#[derive(Debug, Default)]
pub(super) struct Earlier;

/// Nothing keeps a command.
pub(super) fn kept_only(_powers: &Powers) -> Option<Plan> {
    None
}

/// Nothing is looked at.
pub(super) fn not_looked_at(_sandbox: &Sandbox, _roots: &[PathBuf]) -> Option<String> {
    None
}

/// There is no way in.
pub(in crate::tools::run_command) enum Entry {}

/// There is none.
pub(in crate::tools::run_command) enum Lifeline {}

impl Plan {
    pub(in crate::tools::run_command) fn hidden_in(&self, _output: &str) -> Option<String> {
        match *self {}
    }

    pub(in crate::tools::run_command) fn hides_here(&self) -> bool {
        match *self {}
    }

    pub(in crate::tools::run_command) fn is_writable(&self, _path: &Path) -> bool {
        match *self {}
    }

    pub(in crate::tools::run_command) fn hidden_among(
        &self,
        _got_in: &dyn Fn(&Path) -> bool,
    ) -> Option<String> {
        match *self {}
    }

    pub(in crate::tools::run_command) fn secrets(&self) -> Option<&[PathBuf]> {
        match *self {}
    }

    pub(in crate::tools::run_command) fn has_walls(&self) -> bool {
        match *self {}
    }
}

impl Lifeline {
    pub(in crate::tools::run_command) async fn shell_end(&mut self) -> Option<ShellEnd> {
        match *self {}
    }

    pub(in crate::tools::run_command) fn terminate(&self) {
        match *self {}
    }
}

impl Powers {
    pub(super) fn ask(_askls: &Path) -> Self {
        Self(())
    }

    pub(super) fn walls(&self, _sandbox: &Sandbox) -> Vec<Wall> {
        Vec::new()
    }
}

impl Entry {
    pub(in crate::tools::run_command) fn new(
        _askls: &Path,
        plan: &Plan,
        _program: &OsStr,
        _input: Option<&[u8]>,
    ) -> io::Result<(Self, Command, Lifeline)> {
        match *plan {}
    }

    pub(in crate::tools::run_command) fn failure(&mut self) -> Option<Failure> {
        match *self {}
    }
}

/// There is no hidden mode.
pub fn enter(_arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    None
}

/// Nothing is known to be open here.
pub fn keep_private() {}
