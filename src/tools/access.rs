//! What a call touches, told to the policy before the call is allowed.

use std::path::Path;

/// What a call touches, as data for the policy: words as the model wrote them, not yet looked up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Files and folders that it reads or edits, by its effect.
    pub paths: Vec<String>,
    pub extent: Extent,
    pub command: Option<CommandText>,
    /// Whether it leaves the sandbox in which calls of its kind run: the user is asked about it whatever else is allowed.
    pub leaves_sandbox: bool,
    /// Whether a sandbox holds it, whatever the user allows.
    pub is_held: bool,
    /// Whether that sandbox hides the files with secrets that are found in the workspace.
    pub hides_secrets: bool,
    /// Arguments that only tell the user why: calls that differ in nothing else do the same.
    pub explaining: &'static [&'static str],
    /// The machine that it talks to.
    pub host: Option<String>,
    /// The other tool whose output its answer is part of: whoever is to see that sees the answer too.
    pub repeats: Option<&'static str>,
    /// Why it can never run, whatever is allowed; nobody is asked about it.
    pub refused: Option<String>,
    /// Why the user is asked about it whatever else is allowed, in words that follow "since".
    pub suspicion: Option<String>,
}

/// Whether a call touches only the paths that it names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extent {
    #[default]
    Named,
    /// The names of what lies below them, too, but nothing in it.
    Names,
    /// What lies below them, too.
    Below,
}

/// A command line and where it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandText {
    pub text: String,
    /// As the model wrote it; `None` is the first folder of the workspace.
    pub folder: Option<String>,
    pub grammar: Grammar,
}

/// How the shell that gets a command line reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grammar {
    /// As POSIX says, or as bash does.
    Posix,
    /// Any other way.
    Unknown,
}

impl Access {
    /// Where the call takes place; `None` is the first folder of the workspace.
    pub fn place(&self) -> Option<&str> {
        match &self.command {
            Some(command) => command.folder.as_deref(),
            None => self.paths.first().map(String::as_str),
        }
    }

    /// Of a call that names these paths.
    pub(super) fn paths<'a>(paths: impl IntoIterator<Item = &'a str>) -> Self {
        Self { paths: paths.into_iter().map(str::to_owned).collect(), ..Self::default() }
    }

    /// Of a call that lists what is in a folder.
    pub(super) fn names_below(folder: Option<&str>) -> Self {
        Self { extent: Extent::Names, ..Self::paths([folder.unwrap_or(".")]) }
    }

    /// Of a call that looks through a folder.
    pub(super) fn below(folder: Option<&str>) -> Self {
        Self { extent: Extent::Below, ..Self::paths([folder.unwrap_or(".")]) }
    }
}

/// Shells that read a command line as POSIX says. Others that are like them (zsh, fish, ksh) expand some words further.
const POSIX_SHELLS: &[&str] = &["sh", "bash", "dash"];

/// How a shell reads the text that follows its own first arguments.
pub(super) fn grammar(shell: &[String]) -> Grammar {
    match shell {
        // With any other option it may read files first, or run in another way.
        [program, option] if option == "-c" => {
            let name = Path::new(program).file_name().unwrap_or_default();
            if POSIX_SHELLS.iter().any(|shell| name == *shell) { Grammar::Posix } else { Grammar::Unknown }
        }
        _ => Grammar::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_posix_shell_that_is_given_a_text_reads_it_as_posix_says() {
        for (shell, expected) in [
            (["/bin/sh", "-c"].as_slice(), Grammar::Posix),
            (&["bash", "-c"], Grammar::Posix),
            (&["bash", "-lc"], Grammar::Unknown),
            (&["bash", "--init-file", "x", "-c"], Grammar::Unknown),
            (&["/usr/bin/fish", "-c"], Grammar::Unknown),
            (&["cmd.exe", "/C"], Grammar::Unknown),
        ] {
            let shell: Vec<String> = shell.iter().map(|part| (*part).to_owned()).collect();
            assert_eq!(grammar(&shell), expected, "{shell:?}");
        }
    }
}
