//! askls gives any editor an agent.
//!
//! An editor starts `askls` as a language server; a command starts a *turn* (model → tools → model → … → answer)
//! over the workspace's files. Reads go through the open buffers first, edits are staged and offered, never
//! written behind the editor's back. The same binary answers on the command line.
//!
//! The modules, in reading order; each uses only those above it, and the two faces at the end do not know
//! each other:

pub mod protocol;

pub mod workspace;

pub mod model;

pub mod tools;

pub mod agent;

pub mod config;

mod signals;

pub mod cli;

pub mod lsp;
