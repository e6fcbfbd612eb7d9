//! What of the sandbox is in force, in words for people.

use serde_json::{Map, Value, json};

use super::{Sandbox, SandboxMode};

/// How much of the sandbox there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Every wall that the settings ask for.
    On,
    /// Some of them.
    Partly,
    /// The user switched it off.
    Off,
    /// This system has none: consent is the only wall.
    Unavailable,
}

/// One thing that commands are kept from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wall {
    /// What it is about, in one word.
    pub name: &'static str,
    /// What holds now.
    pub holds: String,
    /// Why not all that was asked for holds.
    pub missing: Option<String>,
    /// Whether the setting `on` is content without it.
    pub is_extra: bool,
}

/// What is in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    pub state: State,
    pub walls: Vec<Wall>,
    /// Why there is not more, one reason each.
    pub missing: Vec<String>,
}

impl State {
    pub fn name(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Partly => "partly",
            Self::Off => "off",
            Self::Unavailable => "unavailable",
        }
    }
}

impl Report {
    /// `state`, `walls` by their names, and what is `missing`.
    pub fn to_json(&self) -> Value {
        let walls: Map<_, _> =
            self.walls.iter().map(|wall| (wall.name.to_owned(), json!(wall.holds))).collect();
        json!({ "state": self.state.name(), "walls": walls, "missing": self.missing })
    }

    /// The same for a reader, a line each.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("sandbox of commands: {}", self.state.name())];
        lines.extend(self.walls.iter().map(|wall| format!("  {}: {}", wall.name, wall.holds)));
        lines.extend(self.missing.iter().map(|missing| format!("  missing: {missing}")));
        lines
    }

    pub(super) fn new(sandbox: &Sandbox) -> Self {
        if sandbox.mode == SandboxMode::Off {
            return Self { state: State::Off, walls: Vec::new(), missing: Vec::new() };
        }
        let walls = sandbox.launcher.powers().walls(sandbox);
        let missing: Vec<_> = walls.iter().filter_map(|wall| wall.missing.clone()).collect();
        let state = match (walls.is_empty(), missing.is_empty()) {
            (true, _) => return Self::unavailable(),
            (false, true) => State::On,
            (false, false) => State::Partly,
        };
        Self { state, walls, missing }
    }

    /// Whether it is what the setting `on` asks for.
    pub(super) fn is_enough(&self) -> bool {
        !self.walls.is_empty() && self.walls.iter().all(|wall| wall.is_extra || wall.missing.is_none())
    }

    /// Where there is no sandbox at all.
    pub fn unavailable() -> Self {
        let missing = "there is no sandbox on this system: your consent is what holds a command".to_owned();
        Self { state: State::Unavailable, walls: Vec::new(), missing: vec![missing] }
    }
}
