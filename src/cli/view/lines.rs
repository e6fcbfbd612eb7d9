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

/// The arguments of a call on one line, at most `longest` characters of them. The blanks in their texts are what the call
/// is about, and stay.
pub(super) fn arguments_on_one_line(json: &str, longest: usize) -> String {
    let mut line = String::new();
    let (mut is_text, mut is_escaped, mut had_blank) = (false, false, false);
    for (count, c) in json.trim().chars().enumerate() {
        if count == longest {
            line.push('…');
            break;
        }
        let is_blank = !is_text && c.is_whitespace();
        if c == '"' && !is_escaped {
            is_text = !is_text;
        }
        is_escaped = c == '\\' && !is_escaped;
        if !(is_blank && had_blank) {
            line.push(if is_blank { ' ' } else { c });
        }
        had_blank = is_blank;
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
