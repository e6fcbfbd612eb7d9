//! The names of hunks.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

/// The name of a hunk, or of a file that is taken as a whole; never given twice by one [`HunkNames`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HunkId(pub u32);

/// Gives names to hunks; the clones of one never give the same.
#[derive(Clone, Debug, Default)]
pub struct HunkNames(Arc<AtomicU32>);

impl HunkNames {
    pub(super) fn next(&self) -> HunkId {
        HunkId(self.0.fetch_add(1, Ordering::Relaxed) + 1)
    }
}
