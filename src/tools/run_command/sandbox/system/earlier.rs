//! What commands were held to before. A command can fill a workspace until it is too large to be looked through, and what the
//! next look does not come to would be open: so what an earlier one found stays held.

use std::{collections::BTreeSet, path::PathBuf};

use super::{hidden::Found, lies_in};

/// Most places of a kind that are kept: twice as many as one look finds.
const MAX_KEPT: usize = 4_000;

/// The places of a [`Found`], a set for each kind of them.
#[derive(Debug, Default)]
pub(in crate::tools::run_command::sandbox) struct Earlier {
    places: [BTreeSet<PathBuf>; 6],
}

impl Earlier {
    /// Adds to what a look found what it did not come to, and keeps that for the next one. A look that came to everything tells
    /// all that there is.
    pub(super) fn go_on(&mut self, found: &mut Found, roots: &[PathBuf]) {
        let is_whole = found.is_whole;
        for (kept, now) in self.places.iter_mut().zip(found.places()) {
            if is_whole {
                kept.retain(|path| !lies_in(path, roots));
            } else {
                now.extend(kept.iter().filter(|path| lies_in(path, roots)).cloned());
                now.sort_unstable();
                now.dedup();
            }
            let room = MAX_KEPT.saturating_sub(kept.len());
            let new: Vec<PathBuf> =
                now.iter().filter(|path| !kept.contains(*path)).take(room).cloned().collect();
            kept.extend(new);
        }
        if !is_whole {
            // What was removed since is no secret that was moved away.
            found.secrets.retain(|path| path.exists());
        }
    }
}

impl Found {
    fn places(&mut self) -> [&mut Vec<PathBuf>; 6] {
        let held = &mut self.held;
        let [fixed, anchored, made] = [&mut held.fixed, &mut held.anchored, &mut held.made];
        [&mut self.secrets, fixed, anchored, made, &mut held.absent, &mut held.repositories]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_earlier_look_found_stays_until_one_comes_to_everything() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (secret, config) = (root.join(".env"), root.join("sub/.git/config"));
        std::fs::write(&secret, "X=1").unwrap();
        let mut first = Found { secrets: vec![secret.clone()], is_whole: true, ..Found::default() };
        first.held.fixed.push(config.clone());
        let mut earlier = Earlier::default();
        let roots = [root];
        earlier.go_on(&mut first, &roots);
        let mut look = |is_whole: bool| {
            let mut found = Found { is_whole, ..Found::default() };
            earlier.go_on(&mut found, &roots);
            (found.secrets, found.held.fixed)
        };
        let held = (vec![secret], vec![config]);
        assert_eq!(look(false), held);
        assert_eq!(look(false), held);
        let nothing = (Vec::new(), Vec::new());
        assert_eq!(look(true), nothing);
        assert_eq!(look(false), nothing);
    }
}
