//! Lines that stand for text that a model did not write out: `// ... existing code ...`, `# rest of the file unchanged`.
//! Written to a file they would take the place of what they stand for.
//!
//! Only lines that consist of nothing else count: a comment of any syntax, or a line that begins with an ellipsis, all
//! of whose words are those of such a sentence. A real line of code never is one, whatever dots it has (`...args`, the
//! `...` of a Python body, the end of a YAML document), and neither is what the file said already. A line of dots alone
//! counts in other files, where the text became shorter.

use std::collections::HashMap;

use super::{ToolError, output::cut_line};
use crate::workspace::{FilePath, keys};

/// What opens a comment, and what closes it; longer openers before those that they begin with.
const COMMENTS: &[(&str, &str)] = &[
    ("<!--", "-->"),
    ("<%--", "--%>"),
    ("<%#", "%>"),
    ("{{!--", "--}}"),
    ("{{!", "}}"),
    ("{{/*", "*/}}"),
    ("{/*", "*/}"),
    ("{#", "#}"),
    ("{-", "-}"),
    ("(*", "*)"),
    ("@*", "*@"),
    ("#|", "|#"),
    ("#=", "=#"),
    ("--[[", "]]"),
    ("/**", "*/"),
    ("/*", "*/"),
    ("\"\"\"", "\"\"\""),
    ("'''", "'''"),
    ("///", ""),
    ("//!", ""),
    ("//", ""),
    ("--", ""),
    ("#", ""),
    (";", ""),
    ("%", ""),
    ("*", ""),
    ("!", ""),
    ("' ", ""),
    ("\" ", ""),
    ("REM ", ""),
    ("rem ", ""),
    ("dnl ", ""),
];

/// What such a sentence says of the text that is missing.
const MISSING: &[&str] = &[
    "existing",
    "rest",
    "remaining",
    "remainder",
    "previous",
    "other",
    "original",
    "current",
    "more",
    "same",
    "etc",
    "snip",
    "snipped",
    "truncated",
    "elided",
    "skipped",
];
/// That it is to stay as it is: enough without an ellipsis.
const STAYS: &[&str] =
    &["unchanged", "unmodified", "untouched", "omitted", "same", "stays", "remains", "keep", "before"];
/// What kind of text it is.
const KINDS: &[&str] = &[
    "code",
    "implementation",
    "implementations",
    "file",
    "files",
    "content",
    "contents",
    "function",
    "functions",
    "method",
    "methods",
    "class",
    "classes",
    "module",
    "modules",
    "script",
    "document",
    "component",
    "components",
    "import",
    "imports",
    "line",
    "lines",
    "logic",
    "body",
    "text",
    "section",
    "sections",
    "part",
    "parts",
    "test",
    "tests",
    "field",
    "fields",
    "property",
    "properties",
    "props",
    "style",
    "styles",
    "rule",
    "rules",
    "definition",
    "definitions",
    "declaration",
    "declarations",
    "statement",
    "statements",
    "entry",
    "entries",
    "item",
    "items",
    "route",
    "routes",
    "case",
    "cases",
    "config",
    "configuration",
    "setting",
    "settings",
    "option",
    "options",
];
/// Words around these.
const FILLERS: &[&str] = &[
    "the",
    "of",
    "this",
    "that",
    "your",
    "my",
    "our",
    "its",
    "it",
    "is",
    "are",
    "and",
    "or",
    "as",
    "to",
    "be",
    "in",
    "here",
    "with",
    "from",
    "for",
    "all",
    "any",
    "above",
    "below",
    "after",
    "up",
    "down",
    "there",
    "left",
    "go",
    "goes",
    "stay",
    "stays",
    "remain",
    "remains",
    "continue",
    "continues",
    "follow",
    "follows",
    "keep",
    "kept",
    "leave",
    "no",
    "not",
    "change",
    "changes",
    "changed",
    "exactly",
    "brevity",
    "clarity",
    "before",
    "was",
    "were",
    "earlier",
    "still",
    "everything",
    "else",
];

/// A comment is a sentence of this many words at most; a longer one says something of its own.
const MAX_WORDS: usize = 14;

/// Endings of the names of files in which a line of three dots says something: a body in Python, an end in YAML.
const DOTS_ARE_CODE: &[&str] = &["py", "pyi", "yaml", "yml", "raku"];

/// Characters of such a line that an error shows.
const MAX_SHOWN_CHARS: usize = 200;

/// What a model can do about a line of which it is not shown all.
const LEAVE_MASK_OUT: &str = "change with edit_file only text before and after it, and leave it out of find and replace; where \
     a key has to move or to change, say so to the user";

/// What is to be known where a text to find has a mask, for the end of the sentence that it was not found.
pub(super) fn hint(find: &str) -> String {
    match find.contains(keys::MASK) {
        true => format!("\n(`{}` stands for a key that you are not shown: {LEAVE_MASK_OUT})", keys::MASK),
        false => String::new(),
    }
}

/// How sure it is that a line stands for other text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    /// It says something of its own.
    Own,
    /// It may be a comment that somebody wants: it counts where the text became shorter.
    Perhaps,
    Placeholder,
}

/// Refuses a new text that has more lines standing for others than the old one (`None`: a new file) had, or masks in the
/// place of keys.
pub(super) fn check(path: &FilePath, old: Option<&str>, new: &str) -> Result<(), ToolError> {
    if keys::writes_mask(old.unwrap_or_default(), new) {
        return Err(ToolError(format!(
            "{path} was not changed: `{}` in the new text stands for a key that you are not shown, and would take its \
             place in the file; {LEAVE_MASK_OUT}",
            keys::MASK
        )));
    }
    let extension = path.as_str().rsplit_once('.').map_or("", |(_, extension)| extension);
    let dots_are_code = DOTS_ARE_CODE.iter().any(|language| language.eq_ignore_ascii_case(extension));
    let Some(line) = added(old.unwrap_or_default(), new, dots_are_code) else { return Ok(()) };
    let line = cut_line(line, MAX_SHOWN_CHARS);
    let instead = match old {
        Some(_) => {
            "write out the text that it stands for, or change with edit_file only the lines that are to change"
        }
        None => "the file is new, so write out its whole text",
    };
    Err(ToolError(format!(
        "{path} was not changed: the line `{line}` of the new text stands for text that is not there, and would take its \
         place in the file; {instead}"
    )))
}

fn added<'a>(old: &str, new: &'a str, dots_are_code: bool) -> Option<&'a str> {
    let is_shorter = new.lines().count() < old.lines().count();
    let counts = |meaning: Meaning| match meaning {
        Meaning::Own => false,
        Meaning::Perhaps => is_shorter,
        Meaning::Placeholder => true,
    };
    let is_dots = |line: &str| is_shorter && !dots_are_code && matches!(line, "..." | "…");
    let mut lines =
        new.lines().map(str::trim).filter(|line| is_dots(line) || counts(meaning(line))).peekable();
    lines.peek()?;
    let mut there: HashMap<&str, usize> = HashMap::new();
    for line in old.lines() {
        *there.entry(line.trim()).or_default() += 1;
    }
    lines.find(|line| match there.get_mut(line) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    })
}

fn meaning(line: &str) -> Meaning {
    let line = line.trim();
    let (inner, is_comment) = match comment(line) {
        Some(inner) => (inner.trim(), true),
        None => (line, false),
    };
    let unbracketed = inner.trim_start_matches(['[', '(', '<', '{']);
    let starts_with_ellipsis = unbracketed.starts_with("...") || unbracketed.starts_with('…');
    let has_ellipsis = inner.contains("...") || inner.contains('…');
    if !is_comment && !starts_with_ellipsis {
        return Meaning::Own;
    }
    let words: Vec<String> = inner
        .split(|character: char| !character.is_alphanumeric() && character != '_')
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    if words.is_empty() {
        return if is_comment && has_ellipsis { Meaning::Perhaps } else { Meaning::Own };
    }
    let any = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    let is_of_sentence = |word: &String| {
        let word = word.as_str();
        [MISSING, STAYS, KINDS, FILLERS].iter().any(|list| list.contains(&word))
            || word.chars().all(|character| character.is_ascii_digit())
    };
    if words.len() > MAX_WORDS || !words.iter().all(is_of_sentence) {
        return Meaning::Own;
    }
    let (is_missing, stays, has_kind) = (any(MISSING), any(STAYS), any(KINDS));
    // Without a comment around it, one word behind dots is code: `...rest`.
    if !is_comment {
        let is_sentence = words.len() > 1 && (is_missing || stays) && !inner.ends_with([',', ';']);
        return if is_sentence { Meaning::Placeholder } else { Meaning::Own };
    }
    // The last line of a sentence that began on the line above often looks the same.
    let ends_a_sentence = !has_ellipsis && inner.trim_end_matches(['"', ')', '`']).ends_with('.');
    let is_left_out = any(&["rest", "remaining", "remainder", "existing", "previous", "other", "original"]);
    let is_plainly_code = any(&["rest", "remaining", "remainder", "existing"])
        && any(&["code", "implementation", "implementations"])
        && !any(&["no"]);
    let is_unchanged = any(&["unchanged", "unmodified", "untouched", "omitted"]);
    match () {
        () if ends_a_sentence && (is_missing || stays) => Meaning::Perhaps,
        () if has_ellipsis && has_kind && (is_missing || stays) => Meaning::Placeholder,
        () if starts_with_ellipsis && has_kind && !any(&["your"]) => Meaning::Placeholder,
        () if starts_with_ellipsis && words.len() > 1 && (is_missing || stays) => Meaning::Placeholder,
        () if is_plainly_code || has_kind && is_unchanged => Meaning::Placeholder,
        () if has_kind && is_left_out && stays => Meaning::Placeholder,
        () if is_missing || stays => Meaning::Perhaps,
        () => Meaning::Own,
    }
}

/// What a line that is one comment says.
fn comment(line: &str) -> Option<&str> {
    COMMENTS.iter().find_map(|(open, close)| {
        let inner = line.strip_prefix(open)?;
        // The end of a comment may stand on a later line.
        Some(inner.strip_suffix(close).unwrap_or(inner))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added<'a>(old: &str, new: &'a str) -> Option<&'a str> {
        super::added(old, new, false)
    }

    fn check(lines: &[&str], expected: Meaning) {
        for line in lines {
            assert_eq!(meaning(line), expected, "{line}");
        }
    }

    #[test]
    fn a_line_that_stands_for_other_text_is_known_in_every_comment_syntax() {
        check(
            &[
                "// ... existing code ...",
                "    // ...existing code...",
                "/// … existing code …",
                "// ... rest of the code ...",
                "# rest of the file unchanged",
                "# ... (rest of the file remains the same)",
                "# Rest of the code remains unchanged",
                "/* ... existing code ... */",
                "/* rest of the styles unchanged */",
                "{/* ... existing code ... */}",
                "{/* Rest of the component remains the same */}",
                "<!-- ... existing content ... -->",
                "<!-- rest of the document unchanged -->",
                "-- ... remaining code ...",
                "--[[ ... existing code ... ]]",
                ";; ... rest of the functions unchanged",
                "% ... remaining lines ...",
                "\" ... existing settings ...",
                "(* ... existing code ... *)",
                "{# ... existing content ... #}",
                "{{!-- ... existing content ... --}}",
                "REM ... rest of the script ...",
                "// Existing implementation...",
                "// ... other methods ...",
                "// ... (previous code) ...",
                "// [rest of the implementation]",
                "// keep existing code",
                "// ... keep the rest of the function as it was before ...",
                "// Remaining code stays the same",
                "// other imports unchanged",
                "# ... 120 more lines ...",
                "# ... rest of your code here ...",
                "# ... same as before ...",
                "// imports omitted for brevity",
                "... existing code ...",
                "[... rest of the file unchanged ...]",
                "… (rest of the file unchanged)",
            ],
            Meaning::Placeholder,
        );
    }

    #[test]
    fn code_and_comments_with_something_to_say_are_their_own() {
        check(
            &[
                "...",
                "...args",
                "...rest",
                "...rest,",
                "  ...existing, ",
                "...other.props,",
                "def f(self): ...",
                "    ...",
                "..rest",
                "[...items]",
                "let existing = code; // ... existing code ...",
                "fn rest() {}",
                "// The existing code path is slow, see issue 12.",
                "# Remaining budget in cents",
                "// Keep the original order of imports stable",
                "// rest parameter",
                "// see below ...",
                "/* The remaining fields are read by the driver. */",
                "* the rest of the line is a comment",
                "// imports",
                "# Tests",
                "///     .body(())",
                "\"224, 225, 226...(truncated)\")",
                "--- - and counting ...",
                "#!/bin/sh",
                "#include <existing>",
                "",
                "existing code",
                "The rest of the file is unchanged.",
            ],
            Meaning::Own,
        );
    }

    #[test]
    fn a_comment_that_may_be_meant_counts_only_where_lines_went() {
        check(
            &[
                "// ...",
                "# ...",
                "/* … */",
                "// unchanged",
                "// same as before",
                "# etc.",
                "/// the same function.",
                "/// components are unchanged.",
                "// same as File",
                "# Other implementations",
            ],
            Meaning::Perhaps,
        );
        assert_eq!(added("a\nb\n", "a\n// ...\n"), None);
        assert_eq!(added("a\nb\nc\n", "a\n// ...\n"), Some("// ..."));
        assert_eq!(added("a\nb\nc\n", "a\n  ...\n"), Some("..."));
        assert_eq!(added("a\nb\n", "a\nb\n...\n"), None);
        assert_eq!(super::added("a\nb\nc\n", "a\n  ...\n", true), None);
    }

    #[test]
    fn what_the_file_said_already_is_no_placeholder() {
        let line = "// ... existing code ...";
        assert_eq!(added(&format!("a\n{line}\n"), &format!("    {line}\nb\n")), None);
        assert_eq!(added(&format!("a\n{line}\n"), &format!("{line}\n{line}\n")), Some(line));
        assert_eq!(added("", &format!("a\r\n{line}\r\n")), Some(line));
    }
}
