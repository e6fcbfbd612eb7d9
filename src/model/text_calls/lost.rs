//! Tells a message that ends in what looks like a call and is none: it stayed text, and its user should know that
//! nothing ran.

/// How models begin a call in tags.
const BEGIN: [&str; 2] = ["<tool_call>", "<function="];

/// How they end it, or a part of it.
const ENDS: [&str; 3] = ["</tool_call>", "</function>", "</parameter>"];

/// What stands behind the beginning of a call, and not behind a tag that a sentence is about.
const BODIES: [&str; 3] = ["{", "<function=", "<parameter="];

/// Whether a message ends in a call in tags, whole or not, which stands neither in a fence nor in a quote.
pub(super) fn ends_in_call(text: &str) -> bool {
    let text = text.trim_end();
    let mut is_fenced = false;
    let mut call = None;
    let mut from = 0;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim_start();
        is_fenced ^= trimmed.starts_with("```");
        let is_shown_as_text = is_fenced || trimmed.starts_with('>') || trimmed.starts_with('`');
        if !is_shown_as_text && let Some(begin) = BEGIN.iter().filter_map(|begin| line.find(begin)).min() {
            call = text.get(from + begin..);
        }
        from += line.len();
    }
    call.is_some_and(|call| ENDS.iter().any(|end| call.ends_with(end)) || is_cut(call))
}

/// Whether a call was begun and ends nowhere.
fn is_cut(call: &str) -> bool {
    let Some((_, body)) = call.split_once('>') else { return false };
    let has_body = BODIES.iter().any(|begin| body.trim_start().starts_with(begin));
    has_body && !ENDS.iter().take(2).any(|end| body.contains(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_at_the_end_is_told_from_a_sentence_about_one() {
        for (text, expected) in [
            ("<tool_call>\n<function=frob>\n</function>\n</tool_call>\n", true),
            ("I look.\n<function=read><parameter=path>a</parameter>", true),
            ("<tool_call>{\"name\": \"frob\", \"arguments\": {", true),
            ("<tool_call>\n<function=read>\n<parameter=path>\na", true),
            ("<function=read><parameter=path>a</parameter></function>\nThis reads it.", false),
            ("```\n<tool_call>{}</tool_call>\n```", false),
            ("> <tool_call>{}</tool_call>", false),
            ("The tag is <tool_call>.", false),
            ("`<tool_call>{}</tool_call>`", false),
            ("4", false),
            ("", false),
        ] {
            assert_eq!(ends_in_call(text), expected, "{text}");
        }
    }
}
