//! Texts of models, servers and files on a terminal.

/// A text on one line, at most `longest` characters of it.
pub(super) fn one_line(text: &str, longest: usize) -> String {
    // Only as much as is shown is looked at: results may be long.
    let mut line = String::new();
    let mut count = 0;
    for word in text.split_whitespace() {
        for c in std::iter::once(' ').take(usize::from(count > 0)).chain(word.chars()) {
            if count == longest {
                line.push('…');
                return line;
            }
            line.push(c);
            count += 1;
        }
    }
    line
}

/// A text whose control characters a terminal will not obey, nor those that change the order in which it is shown: a
/// file that the model quotes could hide or fake lines. What joins the parts of a letter stays.
pub(super) fn printable(text: &str) -> String {
    let stays = |c: char| match c {
        '\n' | '\t' => true,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => false,
        _ => !c.is_control(),
    };
    text.chars().map(|c| if stays(c) { c } else { char::REPLACEMENT_CHARACTER }).collect()
}
