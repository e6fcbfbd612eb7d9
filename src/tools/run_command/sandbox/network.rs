//! Which commands plainly want the network: one without it fails for that, often without a word that says so.

/// Programs that do nothing without it.
const PROGRAMS: &[&str] = &[
    "apt", "apt-get", "curl", "dig", "ftp", "gh", "host", "nc", "nslookup", "ping", "rsync", "scp", "sftp",
    "ssh", "telnet", "wget",
];

/// Programs of which only some commands want it.
const COMMANDS: &[(&str, &[&str])] = &[
    ("cargo", &["fetch", "install", "publish", "search"]),
    ("docker", &["login", "pull", "push"]),
    ("gem", &["install", "update"]),
    ("git", &["clone", "fetch", "ls-remote", "pull", "push"]),
    ("go", &["get", "install"]),
    ("npm", &["add", "ci", "i", "install", "publish", "update", "view"]),
    ("pip", &["download", "install"]),
    ("pip3", &["download", "install"]),
    ("pnpm", &["add", "i", "install", "publish", "update"]),
    ("yarn", &["add", "install", "publish", "up"]),
];

/// Whether a command line names such a program. It only chooses what is said, so a word that is none may count as one.
pub(in crate::tools::run_command) fn uses_network(line: &str) -> bool {
    let is_end = |c: char| c.is_whitespace() || matches!(c, ';' | '|' | '&' | '(' | ')' | '`' | '"' | '\'');
    let words: Vec<&str> = line.split(is_end).filter(|word| !word.is_empty()).collect();
    words.iter().enumerate().any(|(index, word)| {
        let program = word.rsplit('/').next().unwrap_or(word);
        let next = || words.iter().skip(index + 1).find(|word| !word.starts_with('-'));
        PROGRAMS.contains(&program)
            || COMMANDS.iter().any(|(name, commands)| {
                *name == program && next().is_some_and(|next| commands.contains(next))
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_wants_the_network_is_known_by_program_and_command() {
        for line in
            ["curl -s http://h", "cd a && /usr/bin/git -q clone u", "(npm install)", "sh -c 'pip install x'"]
        {
            assert!(uses_network(line), "{line}");
        }
        for line in ["ls", "git status", "npm test", "cargo build", "./curlew"] {
            assert!(!uses_network(line), "{line}");
        }
    }
}
