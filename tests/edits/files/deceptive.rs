//! Characters that are not seen, or not as what they are.

/// Whether a character shows nothing of itself, looks like another blank, or changes how others are shown: control and
/// format characters, those that Unicode says to ignore by default, and all blanks but the plain one.
///
/// Line ends and tabs are among them; who wants to keep those asks for them first.
pub fn is_deceptive(character: char) -> bool {
    character.is_control()
        || (character.is_whitespace() && character != ' ')
        || matches!(
            character,
            '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}'
                | '\u{8e2}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}'
                | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
                | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}' | '\u{16fe4}' | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d159}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_that_unicode_calls_invisible_is_deceptive() {
        let invisible =
            regex::Regex::new(r"[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}--[\p{Cn}\p{Co} ]]").unwrap();
        for character in '\u{0}'..=char::MAX {
            if invisible.is_match(character.encode_utf8(&mut [0; 4])) {
                assert!(is_deceptive(character), "{}", character.escape_unicode());
            }
        }
    }

    #[test]
    fn what_people_write_and_see_is_not_deceptive() {
        for character in "aZ9 ~ä漢😀é\u{301}→·«»\u{fffd}".chars() {
            assert!(!is_deceptive(character), "{}", character.escape_unicode());
        }
    }
}
