//! Drives the real binary over stdio, as an editor does, against a fake model server that refuses broken histories.
//!
//! A test names the row of the capability list that it shows: `// SPEC L3`.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr,
    unreachable_pub,
    reason = "this crate is nothing but tests; its helpers fail a test by panicking and say why on stderr"
)]

mod answers;
mod approval;
mod ask;
mod cancel;
mod clients;
mod code_actions;
mod commands;
mod documents;
mod edges;
mod edits_apply;
mod edits_commands;
mod edits_followed;
mod edits_hunks;
mod edits_immediate;
mod edits_meanwhile;
mod edits_offer;
mod edits_part;
mod edits_preview;
mod edits_shown;
mod edits_stale;
mod edits_turns;
mod edits_whose;
mod flood;
mod hooks;
mod hostile;
mod jobs;
mod lifecycle;
mod limits;
#[cfg(unix)]
mod outside;
mod provider;
mod restart;
mod settings;
mod support;
mod undo;
mod undo_journal;
mod undo_typed;
