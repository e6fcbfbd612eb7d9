//! The places that a call names, looked up once: what is decided about is what the call then reaches.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Facts, Grants, Ground, Rule, Rules, is_about_place};
use crate::{
    tools::{Effect, Extent, output::visible_path},
    workspace::place::{Nature, Place},
};

/// The setting `outside`: what becomes of a file tool's call that leads out of the workspace. The strictest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outside {
    /// It is refused.
    #[default]
    Refuse,
    /// The user is asked, whatever `approvals` says, unless a rule of `allow` names the place.
    Ask,
}

/// The places of a call.
#[derive(Clone, Debug, Default)]
pub struct Reach {
    named: Vec<Named>,
    /// Whether all that it names are known.
    is_whole: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Named {
    /// As the model wrote it.
    pub(super) written: String,
    pub(super) place: Place,
}

impl Reach {
    /// Looks at the disk through `ground`.
    pub fn of(facts: &Facts, ground: &dyn Ground) -> Self {
        let paths = &facts.access.paths;
        let place =
            |path: &String| Some(Named { written: path.clone(), place: ground.place_of_argument(path)? });
        let named: Vec<Named> = paths.iter().filter_map(place).collect();
        let is_whole = !named.is_empty() && named.len() == paths.len();
        Self { named, is_whole }
    }

    pub(super) fn named(&self) -> &[Named] {
        &self.named
    }

    pub(super) fn places(&self) -> impl Iterator<Item = &Place> {
        self.named.iter().map(|named| &named.place)
    }

    /// Whether every path of the call is that of a place that `fits`.
    pub(super) fn is_all(&self, fits: impl FnMut(&Place) -> bool) -> bool {
        self.is_whole && self.places().all(fits)
    }

    /// The places outside the workspace, links followed.
    pub fn outside(&self) -> impl Iterator<Item = &Path> {
        self.places().filter_map(|place| match place {
            Place::Outside { real, .. } => Some(real.as_path()),
            Place::Inside { .. } => None,
        })
    }

    /// Where the call leaves the workspace, for a question: in words that follow "read this". Says where links lead.
    pub fn outside_in_words(&self) -> Option<String> {
        let mut leading = Vec::new();
        for named in &self.named {
            let Place::Outside { real, .. } = &named.place else { continue };
            if Path::new(&named.written) != real {
                leading.push(visible_path(&real.display().to_string()));
            }
        }
        self.outside().next()?;
        Some(match leading.as_slice() {
            [] => "outside the workspace".to_owned(),
            places => format!("outside the workspace, at {}", places.join(" and ")),
        })
    }

    /// Whether the user has let the call go to all places outside that it names: by rules, or for the thread.
    pub(super) fn is_let_out(&self, facts: &Facts, rules: &Rules, grants: &Grants) -> bool {
        self.outside_places().all(|place| {
            let mut allowing = rules.allow.iter().chain(&grants.rules);
            allowing.any(|rule| is_about_place(rule, facts, place))
                || matches!(place, Place::Outside { real, .. } if grants.let_out(facts, real))
        })
    }

    /// The rules that would let the same call go there from now on; none where no rule could, or should.
    pub(super) fn rules(&self, facts: &Facts) -> Vec<Rule> {
        // Who lets names be listed has not let the files be read.
        if facts.access.extent == Extent::Names {
            return Vec::new();
        }
        let rule = |place: &Place| match place {
            // Editors and shells run what they find there.
            Place::Outside { nature: Nature::RunUnasked, .. } if facts.effect == Effect::Edit => None,
            Place::Outside { real, .. } => Rule::of_place(facts.effect, real),
            Place::Inside { .. } => None,
        };
        self.outside_places().map(rule).collect::<Option<Vec<_>>>().unwrap_or_default()
    }

    fn outside_places(&self) -> impl Iterator<Item = &Place> {
        self.places().filter(|place| matches!(place, Place::Outside { .. }))
    }
}
