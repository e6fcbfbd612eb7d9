//! Spellings of paths that do not mean what they say. On Windows many names are one file, or none: they are refused by
//! their text, before anything is looked at, so that no rule about a name can be gone around by another spelling of it.

use super::paths::Style;

/// Names that are devices in every folder, whatever stands behind a dot in them.
const DEVICES: &[&str] = &["con", "prn", "aux", "nul", "conin$", "conout$"];

/// Those that have a number behind them.
const NUMBERED_DEVICES: &[&str] = &["com", "lpt"];

/// What no name holds there.
const NO_NAMES: &[char] = &['<', '>', '"', '|', '?', '*'];

/// The folder by which macOS reaches the parts of a file as if they were files of their own.
const PARTS_OF_FILE: &str = "..namedfork";

/// What is wrong with a path on a system that writes paths in this style, and what to write; `None` when it has one
/// meaning there.
pub(crate) fn flaw(style: Style, path: &str) -> Option<String> {
    if path.split('/').any(|part| part.eq_ignore_ascii_case(PARTS_OF_FILE)) {
        return Some(format!("{PARTS_OF_FILE} leads into a file; name the file itself"));
    }
    if style == Style::Unix {
        return None;
    }
    let path = path.replace('/', r"\");
    if path.starts_with(r"\\?\") || path.starts_with(r"\\.\") || path.starts_with(r"\??\") {
        return Some(r"it names a device and not a file; write it as C:\folder\file".to_owned());
    }
    let rest = match path.split_once(':') {
        Some((drive, rest)) if is_drive(drive) => {
            if !rest.starts_with('\\') {
                return Some(format!(
                    r"{drive}: without a \ behind it is wherever that drive was left; add the \"
                ));
            }
            rest
        }
        _ => path.as_str(),
    };
    rest.split('\\').find_map(name_flaw)
}

/// The machine and the share that a path begins with, in small letters; `None` for a path of this machine.
pub(crate) fn share(style: Style, path: &str) -> Option<(String, String)> {
    if style == Style::Unix {
        return None;
    }
    let path = path.replace('/', r"\").to_lowercase();
    let mut parts = path.strip_prefix(r"\\")?.split('\\');
    let (machine, share) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    Some((machine.to_owned(), share.to_owned()))
}

fn is_drive(text: &str) -> bool {
    text.len() == 1 && text.starts_with(|letter: char| letter.is_ascii_alphabetic())
}

/// Of one part of a path, as Windows reads it.
fn name_flaw(name: &str) -> Option<String> {
    if name.is_empty() || name == "." || name == ".." {
        return None;
    }
    if name.contains(':') {
        return Some(format!("{name} names a stream inside of a file; name the file itself"));
    }
    if let Some(wrong) = name.chars().find(|c| NO_NAMES.contains(c) || c.is_control()) {
        return Some(format!("a name cannot hold {:?}", wrong));
    }
    if name.ends_with(['.', ' ']) {
        return Some(format!("{name:?} is another file without what ends it; leave out the dots and blanks"));
    }
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_lowercase();
    let is_numbered = NUMBERED_DEVICES.iter().filter_map(|device| stem.strip_prefix(device)).any(|number| {
        let mut digits = number.chars();
        digits.next().is_some_and(|digit| digit.is_ascii_digit() || "¹²³".contains(digit))
            && digits.next().is_none()
    });
    (is_numbered || DEVICES.contains(&stem.as_str()))
        .then(|| format!("{name} is a device in every folder; choose another name"))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(style: Style, paths: &[&str], expected: Expect) {
        let lines = paths.iter().map(|path| {
            format!("{path} => {}\n", flaw(style, path).unwrap_or_else(|| "it is what it says".to_owned()))
        });
        expected.assert_eq(&lines.collect::<String>());
    }

    // SPEC T10
    #[test]
    fn on_windows_what_is_another_file_or_none_is_refused() {
        check(
            Style::Windows,
            &[
                r"\\?\C:\Users\a.txt",
                r"\\.\PhysicalDrive0",
                r"\??\C:\a.txt",
                "//?/C:/a.txt",
                "C:a.txt",
                "c:",
                "a.txt:hidden",
                "a.txt::$DATA",
                r"C:\src\a.txt:x",
                "src/.env.",
                "src /a.txt",
                ".git./config",
                "...",
                "con",
                "src/NUL.txt",
                "aux .c",
                "com1",
                "LPT³.log",
                "conout$",
                "a?.txt",
                "a\tb",
            ],
            expect![[r#"
                \\?\C:\Users\a.txt => it names a device and not a file; write it as C:\folder\file
                \\.\PhysicalDrive0 => it names a device and not a file; write it as C:\folder\file
                \??\C:\a.txt => it names a device and not a file; write it as C:\folder\file
                //?/C:/a.txt => it names a device and not a file; write it as C:\folder\file
                C:a.txt => C: without a \ behind it is wherever that drive was left; add the \
                c: => c: without a \ behind it is wherever that drive was left; add the \
                a.txt:hidden => a.txt:hidden names a stream inside of a file; name the file itself
                a.txt::$DATA => a.txt::$DATA names a stream inside of a file; name the file itself
                C:\src\a.txt:x => a.txt:x names a stream inside of a file; name the file itself
                src/.env. => ".env." is another file without what ends it; leave out the dots and blanks
                src /a.txt => "src " is another file without what ends it; leave out the dots and blanks
                .git./config => ".git." is another file without what ends it; leave out the dots and blanks
                ... => "..." is another file without what ends it; leave out the dots and blanks
                con => con is a device in every folder; choose another name
                src/NUL.txt => NUL.txt is a device in every folder; choose another name
                aux .c => aux .c is a device in every folder; choose another name
                com1 => com1 is a device in every folder; choose another name
                LPT³.log => LPT³.log is a device in every folder; choose another name
                conout$ => conout$ is a device in every folder; choose another name
                a?.txt => a name cannot hold '?'
                a	b => a name cannot hold '\t'
            "#]],
        );
    }

    // SPEC T10
    #[test]
    fn on_windows_usual_paths_are_taken_with_either_slash() {
        let usual = [
            r"src\main.rs",
            "src/main.rs",
            r"..\a.txt",
            r"C:\Users\a b.txt",
            "c:/x/./y/../z",
            r"\\server\share\a.txt",
            r"\a.txt",
            ".env",
            "console.rs",
            "com10.txt",
            "common/com.rs",
            "nul-terminated.c",
            "auxiliary/lpt.rs",
            "naïve.txt",
            "",
        ];
        assert_eq!(usual.map(|path| flaw(Style::Windows, path)), [const { None }; 15]);
    }

    // SPEC T10
    #[test]
    fn elsewhere_only_the_parts_of_a_file_have_a_name_of_their_own() {
        let usual = ["a.txt:x", "con", "a.", "//server/share", r"\\?\C:\x", "C:x", "a?"];
        assert_eq!(usual.map(|path| flaw(Style::Unix, path)), [const { None }; 7]);
        check(
            Style::Unix,
            &[".env/..namedfork/data"],
            expect![[r#"
            .env/..namedfork/data => ..namedfork leads into a file; name the file itself
        "#]],
        );
    }

    #[test]
    fn a_share_is_known_in_every_spelling() {
        let of = |path: &str| share(Style::Windows, path);
        let expected = Some(("server".to_owned(), "code".to_owned()));
        for path in [r"\\server\code\a.txt", "//SERVER/Code/a.txt", r"\\server/code", r"\\Server\code\..\x"] {
            assert_eq!(of(path), expected, "{path}");
        }
        assert_ne!(of(r"\\server\code2\a.txt"), expected);
        assert_eq!(
            [of(r"C:\a"), of(r"\a"), of("a"), share(Style::Unix, "//server/code")],
            [const { None }; 4]
        );
    }
}
