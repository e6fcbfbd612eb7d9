//! The editor's side of the files: open buffers, and `workspace/applyEdit` carried out on them as real editors do it.

use std::{collections::BTreeMap, fs, path::PathBuf};

use serde_json::{Value, json};

use super::project::{file_uri, uri_path};

/// In what a position's `character` is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Utf8,
    Utf16,
    Utf32,
}

/// How an editor goes about `workspace/applyEdit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// Answers first and tells of the change afterwards; refuses an outdated edit without a reason.
    VsCode,
    /// Tells of the change first; skips an outdated edit and still says that it was applied.
    Neovim,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    pub uri: String,
    pub version: i64,
    pub text: String,
}

pub struct Editor {
    pub encoding: Encoding,
    pub manner: Manner,
    /// Version of a document when it is opened: 1 in VS Code, 0 in Neovim and Emacs.
    pub first_version: i64,
    documents: BTreeMap<PathBuf, Document>,
}

/// What carrying out an edit gave: the notifications that tell the server, and whether the editor says it applied it.
pub struct Applied {
    pub notifications: Vec<(&'static str, Value)>,
    pub applied: bool,
    pub failure_reason: Option<String>,
}

impl Editor {
    pub fn new(manner: Manner, first_version: i64) -> Self {
        Self { encoding: Encoding::Utf16, manner, first_version, documents: BTreeMap::new() }
    }

    /// Opens a document; the parameters of the `textDocument/didOpen` that says so.
    pub fn open(&mut self, uri: &str, text: &str) -> Value {
        let document = Document { uri: uri.to_owned(), version: self.first_version, text: text.to_owned() };
        let params = json!({"textDocument": {
            "uri": uri, "languageId": "plaintext", "version": document.version, "text": text,
        }});
        self.documents.insert(key(uri), document);
        params
    }

    pub fn document(&self, uri: &str) -> Option<&Document> {
        self.documents.get(&key(uri))
    }

    /// Closes a document; the parameters of `textDocument/didClose`.
    pub fn close(&mut self, uri: &str) -> Value {
        let document = self.documents.remove(&key(uri)).unwrap_or_else(|| panic!("{uri} is not open"));
        json!({"textDocument": {"uri": document.uri}})
    }

    /// Changes ranges of an open document one after the other; the parameters of `textDocument/didChange`.
    pub fn change(&mut self, uri: &str, changes: Vec<(Value, String)>) -> Value {
        let encoding = self.encoding;
        let document = self.documents.get_mut(&key(uri)).unwrap_or_else(|| panic!("{uri} is not open"));
        let mut content_changes = Vec::new();
        for (range, text) in changes {
            let (start, end) = byte_range(&document.text, &range, encoding)
                .unwrap_or_else(|reason| panic!("{uri}: {reason}"));
            document.text.replace_range(start..end, &text);
            content_changes.push(json!({"range": range, "text": text}));
        }
        document.version += 1;
        json!({
            "textDocument": {"uri": document.uri, "version": document.version},
            "contentChanges": content_changes,
        })
    }

    /// Replaces the whole text of an open document; the parameters of `textDocument/didChange`.
    pub fn replace(&mut self, uri: &str, text: &str) -> Value {
        let document = self.documents.get_mut(&key(uri)).unwrap_or_else(|| panic!("{uri} is not open"));
        document.text = text.to_owned();
        document.version += 1;
        json!({
            "textDocument": {"uri": document.uri, "version": document.version},
            "contentChanges": [{"text": text}],
        })
    }

    /// Carries out a `WorkspaceEdit`, or nothing of it when a document has moved on.
    pub fn apply(&mut self, edit: &Value) -> Applied {
        let steps = steps(edit);
        let outdated = steps.iter().any(|step| self.is_outdated(step));
        if outdated && self.manner == Manner::VsCode {
            return Applied { notifications: Vec::new(), applied: false, failure_reason: None };
        }
        let mut notifications = Vec::new();
        for step in &steps {
            if self.is_outdated(step) {
                continue;
            }
            if let Err(reason) = self.apply_step(step, &mut notifications) {
                return Applied { notifications, applied: false, failure_reason: Some(reason) };
            }
        }
        Applied { notifications, applied: true, failure_reason: None }
    }

    fn is_outdated(&self, step: &Value) -> bool {
        let version = step["textDocument"]["version"].as_i64();
        let uri = step["textDocument"]["uri"].as_str().unwrap_or_default();
        match (version, self.document(uri)) {
            (Some(version), Some(document)) => version != document.version,
            _ => false,
        }
    }

    fn apply_step(
        &mut self,
        step: &Value,
        notifications: &mut Vec<(&'static str, Value)>,
    ) -> Result<(), String> {
        match step["kind"].as_str() {
            Some("create") => create(step),
            Some("delete") => {
                let uri = text_of(step, "uri")?;
                if self.document(uri).is_some() {
                    notifications.push(("textDocument/didClose", self.close(uri)));
                }
                fs::remove_file(place(uri)?).map_err(|error| format!("delete {uri}: {error}"))
            }
            Some("rename") => {
                let (old, new) = (text_of(step, "oldUri")?, text_of(step, "newUri")?);
                let target = place(new)?;
                if target.exists() {
                    return Err(format!("rename: {new} is there already"));
                }
                fs::create_dir_all(target.parent().ok_or("no parent")?).map_err(|error| error.to_string())?;
                fs::rename(place(old)?, &target).map_err(|error| format!("rename {old}: {error}"))?;
                if let Some(document) = self.document(old).cloned() {
                    notifications.push(("textDocument/didClose", self.close(old)));
                    notifications.push(("textDocument/didOpen", self.open(new, &document.text)));
                }
                Ok(())
            }
            Some(other) => Err(format!("an operation that no editor knows: {other}")),
            None => self.apply_text_edits(step, notifications),
        }
    }

    fn apply_text_edits(
        &mut self,
        step: &Value,
        notifications: &mut Vec<(&'static str, Value)>,
    ) -> Result<(), String> {
        let uri = text_of(&step["textDocument"], "uri")?;
        if self.document(uri).is_none() {
            let place = place(uri)?;
            let text = fs::read_to_string(&place).map_err(|error| format!("open {uri}: {error}"))?;
            notifications.push(("textDocument/didOpen", self.open(&file_uri(&place), &text)));
        }
        let document = self.document(uri).ok_or("it was just opened")?;
        let mut edits = Vec::new();
        for edit in step["edits"].as_array().ok_or("a document edit without edits")? {
            let (start, end) = byte_range(&document.text, &edit["range"], self.encoding)?;
            edits.push((start, end, edit["range"].clone(), text_of(edit, "newText")?.to_owned()));
        }
        edits.sort_by_key(|(start, end, ..)| (*start, *end));
        if edits.windows(2).any(|pair| pair[1].0 < pair[0].1) {
            return Err(format!("edits of {uri} overlap: {edits:?}"));
        }
        // From the end to the start, so that no change moves the range of the next one.
        let changes = edits.into_iter().rev().map(|(_, _, range, text)| (range, text)).collect();
        notifications.push(("textDocument/didChange", self.change(uri, changes)));
        Ok(())
    }
}

fn steps(edit: &Value) -> Vec<Value> {
    if let Some(steps) = edit["documentChanges"].as_array() {
        return steps.clone();
    }
    let changes = edit["changes"].as_object().cloned().unwrap_or_default();
    changes
        .into_iter()
        .map(|(uri, edits)| json!({"textDocument": {"uri": uri, "version": null}, "edits": edits}))
        .collect()
}

fn create(step: &Value) -> Result<(), String> {
    let uri = text_of(step, "uri")?;
    let place = place(uri)?;
    let flag = |name: &str| step["options"][name].as_bool().unwrap_or(false);
    if place.exists() && !flag("overwrite") {
        return if flag("ignoreIfExists") { Ok(()) } else { Err(format!("create: {uri} is there already")) };
    }
    fs::create_dir_all(place.parent().ok_or("no parent")?).map_err(|error| error.to_string())?;
    fs::write(place, "").map_err(|error| format!("create {uri}: {error}"))
}

fn key(uri: &str) -> PathBuf {
    uri_path(uri).unwrap_or_else(|| uri.into())
}

fn place(uri: &str) -> Result<PathBuf, String> {
    uri_path(uri).ok_or_else(|| format!("{uri} is no file"))
}

fn text_of<'a>(value: &'a Value, member: &str) -> Result<&'a str, String> {
    value[member].as_str().ok_or_else(|| format!("no text `{member}` in {value}"))
}

/// The bytes that an LSP range covers. Counted the slow and obvious way; a position past its line is an error, since a
/// server that knows the text has no reason to send one.
fn byte_range(text: &str, range: &Value, encoding: Encoding) -> Result<(usize, usize), String> {
    let start = byte_offset(text, &range["start"], encoding)?;
    let end = byte_offset(text, &range["end"], encoding)?;
    if start > end { Err(format!("a range that ends before it starts: {range}")) } else { Ok((start, end)) }
}

fn byte_offset(text: &str, position: &Value, encoding: Encoding) -> Result<usize, String> {
    let line = position["line"].as_u64().ok_or_else(|| format!("no line in {position}"))?;
    let character = position["character"].as_u64().ok_or_else(|| format!("no character in {position}"))?;
    let mut rest = text;
    for _ in 0..line {
        let end = rest
            .find(['\n', '\r'])
            .ok_or_else(|| format!("no line {line} in a text of {} bytes", text.len()))?;
        rest = &rest[end + if rest[end..].starts_with("\r\n") { 2 } else { 1 }..];
    }
    let start = text.len() - rest.len();
    let line_text = &rest[..rest.find(['\n', '\r']).unwrap_or(rest.len())];
    let mut units = 0;
    for (index, char) in line_text.char_indices() {
        if units == character {
            return Ok(start + index);
        }
        units += match encoding {
            Encoding::Utf8 => char.len_utf8(),
            Encoding::Utf16 => char.len_utf16(),
            Encoding::Utf32 => 1,
        } as u64;
        if units > character {
            return Err(format!("{position} lies inside the character {char:?} ({encoding:?})"));
        }
    }
    // "If the character value is greater than the line length it defaults back to the line length": an insertion into
    // nothing may reach over its end.
    if units == character || text.is_empty() {
        return Ok(start + line_text.len());
    }
    Err(format!("{position} lies past the end of its line ({encoding:?})"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::documents::lsp_range;

    fn editor(manner: Manner) -> Editor {
        let mut editor = Editor::new(manner, 1);
        editor.open("file:///a", "one\ntwo\n");
        editor
    }

    fn edit(version: i64, ranges: &[([u64; 4], &str)]) -> Value {
        let edits: Vec<Value> =
            ranges.iter().map(|(range, text)| json!({"range": lsp_range(*range), "newText": text})).collect();
        json!({"documentChanges": [{"textDocument": {"uri": "file:///a", "version": version}, "edits": edits}]})
    }

    #[test]
    fn ranges_of_one_edit_are_all_of_the_text_before_it() {
        let mut editor = editor(Manner::VsCode);
        let applied = editor.apply(&edit(1, &[([0, 0, 0, 3], "1"), ([1, 0, 1, 3], "2")]));
        assert!(applied.applied);
        assert_eq!(editor.document("file:///a").unwrap().text, "1\n2\n");
        assert_eq!(editor.document("file:///a").unwrap().version, 2);
    }

    #[test]
    fn an_outdated_edit_is_refused_by_one_and_skipped_in_silence_by_the_other() {
        for (manner, applied) in [(Manner::VsCode, false), (Manner::Neovim, true)] {
            let mut editor = editor(manner);
            assert_eq!(editor.apply(&edit(0, &[([0, 0, 0, 3], "1")])).applied, applied);
            assert_eq!(editor.document("file:///a").unwrap().text, "one\ntwo\n");
        }
    }

    #[test]
    fn overlapping_ranges_and_ranges_past_a_line_are_refused() {
        for ranges in [&[([0, 0, 0, 2], "x"), ([0, 1, 0, 3], "y")][..], &[([0, 0, 0, 4], "x")]] {
            let applied = editor(Manner::VsCode).apply(&edit(1, ranges));
            assert!(!applied.applied && applied.failure_reason.is_some(), "{ranges:?}");
        }
    }

    #[test]
    fn positions_are_counted_in_each_encoding() {
        for (encoding, character) in [(Encoding::Utf8, 6), (Encoding::Utf16, 3), (Encoding::Utf32, 2)] {
            let position = json!({"line": 1, "character": character});
            assert_eq!(byte_offset("x\r\nä😀A", &position, encoding), Ok(9), "{encoding:?}");
        }
        let inside = json!({"line": 0, "character": 1});
        assert!(byte_offset("😀", &inside, Encoding::Utf16).is_err());
    }
}
