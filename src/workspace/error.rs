//! Why a file cannot be used, in whole texts for the model: what is wrong and what to try.

/// Why a file cannot be read, listed, searched or staged. Every variant names the file as the model knows it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    #[error("{0} is outside the workspace; use a path below one of its folders, relative to it")]
    Outside(String),
    #[error("no folder is open, so that only open buffers can be used, and {0} is none of them")]
    NoRoots(String),
    /// The path, and behind it what is near.
    #[error("there is no file {0}")]
    Missing(String),
    /// The whole text.
    #[error("{0}")]
    Ambiguous(String),
    #[error("{0} is a directory, not a file; list it, or name a file in it")]
    Directory(String),
    #[error(
        "{0} cannot be a file below another file; choose a path whose parent is a directory or does not exist"
    )]
    BelowFile(String),
    #[error("{0} is not a regular file but a device, a pipe or a socket, which cannot be read")]
    Special(String),
    #[error("{0} is a binary file; it has no text that could be read or edited")]
    Binary(String),
    /// A link has taken its place since it was looked up.
    #[error("{0} no longer lies where it was found")]
    Moved(String),
    /// The path, and what is known of its encoding.
    #[error(
        "{0} is not UTF-8 text but {1}; once the user has opened it in the editor it can be read and edited there, else a command can convert it first"
    )]
    NotUtf8(String, String),
    #[error("{0} is larger than 20 MB, too large to read; use a command to look at a part of it")]
    TooLarge(String),
    #[error("{0} would be an edit of more than 2 MB of text, which is too large; use a command instead")]
    TooLargeEdit(String),
    #[error("{0} may hold secrets, so that it is never read, searched or edited; ask the user if it matters")]
    Secret(String),
    #[error("{0} belongs to the version control or to the settings of this agent, which it does not edit")]
    Protected(String),
    #[error("{0} is a view that can be read but not edited; edit the file that it shows")]
    ReadOnly(String),
    #[error("{0} exists already; choose another path, or edit or delete it first")]
    Exists(String),
    #[error("{0} is the same file under another name; there is nothing to move")]
    SameFile(String),
    /// The link and the file that it leads to.
    #[error(
        "{0} is a link to {1}, and only files are deleted or moved; name {1} if that one is meant, or use a command for the link"
    )]
    Link(String, String),
    #[error(
        "{0} is open in the editor and was never saved, so that it can be edited but not moved or deleted"
    )]
    Unsaved(String),
    #[error(
        "{0} has changed since it was read; nothing of this edit was kept: read the file again and edit what it says now"
    )]
    Changed(String),
    #[error("{0} has unsaved changes in the editor that were not read in this turn; read it first")]
    Unread(String),
    #[error(
        "{0} exists and was not read in this turn, so that its text is not replaced unseen; read it first, or edit only a part of it"
    )]
    NotRead(String),
    /// The path, and the lines that are not known.
    #[error(
        "{0} was read only in part in this turn, and {1} would be lost unseen; read them first (a line that is cut there cannot be read whole), or edit only the part that is to change"
    )]
    ReadInPart(String, String),
    #[error(
        "{0} is a notebook: its cells are documents of their own in an editor, so that its text can be read but not edited here; say which cell should become what, or run a command that edits notebooks"
    )]
    Notebook(String),
    /// What is wrong and where.
    #[error(
        "the pattern is not a regular expression that can be matched line by line: {0}\nput a backslash before a character to find it as it is"
    )]
    Pattern(String),
    #[error("the glob is not valid: {0}; write it as in .gitignore, such as `*.rs` or `src/**/mod.rs`")]
    Glob(String),
    /// The path and the system's reason.
    #[error("{0} cannot be used: {1}")]
    Io(String, String),
    #[error("{0}")]
    Other(String),
}
