//! Names of calls as every wire takes them back. A model may make one up that its own server then refuses in the
//! history, as `functions.read_file`, and with it every further turn of the thread.

use std::borrow::Cow;

/// The longest name that the hosted servers take back.
const LONGEST_NAME: usize = 64;

/// Stands for no name at all.
const UNNAMED: &str = "unnamed";

/// The name itself where it is fit, as that of every tool is, else the closest fit one.
pub(super) fn sendable(name: &str) -> Cow<'_, str> {
    let is_fit = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
    if name.is_empty() {
        return UNNAMED.into();
    }
    if name.len() <= LONGEST_NAME && name.chars().all(is_fit) {
        return name.into();
    }
    let fit = name.chars().map(|character| if is_fit(character) { character } else { '_' });
    fit.take(LONGEST_NAME).collect::<String>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_servers_refuse_is_changed_as_little_as_can_be() {
        for (name, sent) in [
            ("read_file", "read_file"),
            ("functions.read_file", "functions_read_file"),
            (" read\n", "_read_"),
            ("läs", "l_s"),
            ("", "unnamed"),
        ] {
            assert_eq!(sendable(name), sent);
        }
        assert_eq!(sendable(&"n".repeat(65)), "n".repeat(64));
    }
}
