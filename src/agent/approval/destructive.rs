//! A second line behind the rules: what plainly destroys a machine is refused whatever is allowed. It knows the usual
//! spellings and no more; what keeps a user's files safe is being asked.

/// Folders of a system, as they are written.
const SYSTEM_FOLDERS: &[&str] = &[
    "",
    "/*",
    "/.",
    "/..",
    "~",
    "~/*",
    "$HOME",
    "${HOME}",
    "$HOME/*",
    "${HOME}/*",
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/home",
    "/lib",
    "/lib64",
    "/opt",
    "/proc",
    "/root",
    "/sbin",
    "/sys",
    "/usr",
    "/var",
    "/System",
    "/Users",
    "/Library",
    "/Applications",
    "C:",
    "C:\\",
    "c:",
    "c:\\",
];

/// How disks are called below `/dev`.
const DISKS: &[&str] =
    &["sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "rdisk", "mapper", "md", "dm-", "loop"];

/// Why a command with these words is refused; `None` when it is not known to destroy.
pub(super) fn destroys(words: &[&str]) -> Option<&'static str> {
    let (program, words) = words.split_first()?;
    let name = program.rsplit('/').next().unwrap_or_default();
    let has_letter = |letters: &[char]| {
        words.iter().any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains(letters))
    };
    let is_recursive = has_letter(&['r', 'R']) || words.contains(&"--recursive");
    let names_system = words.iter().any(|word| is_system(word));
    match name {
        "rm" if words.contains(&"--no-preserve-root") => Some("it deletes the whole system"),
        "rm" if is_recursive && names_system => Some("it deletes a folder of the system or the home folder"),
        "chmod" | "chown" | "chgrp" if is_recursive && names_system => {
            Some("it changes the rights of a folder of the system or of the home folder")
        }
        "find" if words.first().is_some_and(|word| is_system(word)) && words.contains(&"-delete") => {
            Some("it deletes a folder of the system or the home folder")
        }
        "dd" if words.iter().any(|word| word.strip_prefix("of=").is_some_and(is_disk)) => {
            Some("it overwrites a disk")
        }
        "shred" | "wipefs" | "blkdiscard" | "sgdisk" if words.iter().any(|word| is_disk(word)) => {
            Some("it overwrites a disk")
        }
        name if name == "mkfs" || name.starts_with("mkfs.") || name == "mke2fs" => Some("it formats a disk"),
        _ => None,
    }
}

/// Whether a path is that of a disk, not of a file on one.
pub(super) fn is_disk(path: &str) -> bool {
    let name = path.strip_prefix("/dev/").unwrap_or_default();
    DISKS.iter().any(|disk| name.starts_with(disk))
}

/// The same for a text that is not understood: every word in it may be a command.
pub(super) fn text_destroys(text: &str) -> Option<&'static str> {
    let bare: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    if bare.contains("(){") && bare.contains("|") && bare.contains("&};") {
        return Some("it starts itself again and again");
    }
    let unquoted: String = text.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
    for command in unquoted.split([';', '|', '&', '(', ')', '`', '\n']) {
        let words: Vec<&str> = command.split_whitespace().collect();
        for start in 0..words.len() {
            if let Some(reason) = destroys(words.get(start..).unwrap_or_default()) {
                return Some(reason);
            }
        }
        let target = command.rsplit_once('>').map(|(_, target)| target.trim()).unwrap_or_default();
        if is_disk(target) {
            return Some("it overwrites a disk");
        }
    }
    None
}

fn is_system(word: &str) -> bool {
    let slashes = word.trim_end_matches('/');
    let collapsed = if word.starts_with('/') {
        format!("/{}", slashes.trim_start_matches('/'))
    } else {
        slashes.to_owned()
    };
    let collapsed = if collapsed == "/" { "" } else { collapsed.as_str() };
    !word.is_empty() && SYSTEM_FOLDERS.contains(&collapsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    // SPEC T11
    #[test]
    fn what_destroys_a_machine_is_known_in_its_spellings() {
        for text in [
            "rm -rf /",
            "rm -fr //",
            "rm -r -f /*",
            "rm --recursive --force /",
            "/bin/rm -Rf ~",
            "rm -rf $HOME/",
            "rm -rf \"/\"",
            "true; rm -rf / --no-preserve-root",
            "x=$(rm -rf /)",
            "sudo rm -rf /etc",
            "mkfs.ext4 /dev/sda1",
            "dd if=/dev/zero of=/dev/nvme0n1",
            "cat x > /dev/sda",
            ":(){ :|:& };:",
            ":() { : | : & } ; :",
            "chmod -R 777 /",
            "find / -delete",
            "shred /dev/sdb",
        ] {
            assert!(text_destroys(text).is_some(), "{text}");
        }
        for text in [
            "rm -rf target",
            "rm -rf ./",
            "rm -rf /tmp/x",
            "rm /",
            "dd if=a of=b",
            "dd if=/dev/sda of=x.img",
            "echo x > /dev/null",
            "chmod -R u+w .",
            "find . -delete",
            "make clean",
            "rm -rf etc",
            "f() { ls | cat; }; f",
        ] {
            assert_eq!(text_destroys(text), None, "{text}");
        }
    }
}
