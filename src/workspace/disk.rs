//! Reading text from the disk: only regular files of UTF-8 text, never more than is sensible, never blocked.

mod encoding;

use std::{io, path::Path, sync::Arc};

use super::{
    FileError, FileText,
    bounded::{self, Unread},
};

/// The largest file that is read: what a model could use of more is nothing, and memory is bounded.
pub(crate) const MAX_READ_BYTES: u64 = 20_000_000;

const BYTE_ORDER_MARK: char = '\u{feff}';

/// The text of the file at `path`; `shown` names it in errors.
pub(crate) fn read(path: &Path, shown: &str) -> Result<FileText, FileError> {
    read_again(path, shown, None)
}

/// The same for a file that probably still says what is `known` of it: then that text is shared, not checked and copied
/// once more.
pub(crate) fn read_again(path: &Path, shown: &str, known: Option<&Arc<str>>) -> Result<FileText, FileError> {
    let bytes = read_bytes(path, shown)?;
    if let Some(encoding) = encoding::wide(&bytes) {
        return Err(FileError::NotUtf8(shown.to_owned(), encoding.to_owned()));
    }
    if memchr::memchr(0, &bytes).is_some() {
        return Err(FileError::Binary(shown.to_owned()));
    }
    if let Some(known) = known {
        let text = bytes.strip_prefix(BYTE_ORDER_MARK.encode_utf8(&mut [0; 4]).as_bytes());
        if text.unwrap_or(&bytes) == known.as_bytes() {
            return Ok(FileText { text: Arc::clone(known), version: None, bom: text.is_some() });
        }
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(without_mark(&text, None)),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            Err(FileError::NotUtf8(shown.to_owned(), encoding::narrow(error.as_bytes(), at)))
        }
    }
}

/// The bytes of a file for a search, without a byte order mark; nothing for what cannot be searched. Text in an old
/// encoding can: its ASCII parts are the same.
pub(crate) fn read_searchable(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = read_bytes(path, "").ok()?;
    if memchr::memchr(0, &bytes).is_some() {
        return None;
    }
    if bytes.starts_with(BYTE_ORDER_MARK.encode_utf8(&mut [0; 4]).as_bytes()) {
        bytes.drain(..BYTE_ORDER_MARK.len_utf8());
    }
    Some(bytes)
}

/// Splits the byte order mark from a text.
pub(crate) fn without_mark(text: &str, version: Option<i32>) -> FileText {
    match text.strip_prefix(BYTE_ORDER_MARK) {
        Some(text) => FileText { text: text.into(), version, bom: true },
        None => FileText { text: text.into(), version, bom: false },
    }
}

/// What is written for a text.
pub(crate) fn bytes(text: &str, bom: bool) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len() + BYTE_ORDER_MARK.len_utf8());
    if bom {
        bytes.extend_from_slice(BYTE_ORDER_MARK.encode_utf8(&mut [0; 4]).as_bytes());
    }
    bytes.extend_from_slice(text.as_bytes());
    bytes
}

fn read_bytes(path: &Path, shown: &str) -> Result<Vec<u8>, FileError> {
    bounded::read_in_place(path, MAX_READ_BYTES).map_err(|unread| match unread {
        Unread::Directory => FileError::Directory(shown.to_owned()),
        Unread::Special => FileError::Special(shown.to_owned()),
        Unread::TooLarge(_) => FileError::TooLarge(shown.to_owned()),
        Unread::Moved => FileError::Moved(shown.to_owned()),
        Unread::Io(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => FileError::Missing(shown.to_owned()),
            _ => FileError::Io(shown.to_owned(), error.to_string()),
        },
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use expect_test::{Expect, expect};

    use super::*;

    fn check(content: &[u8], expect: Expect) {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), content).unwrap();
        let shown = match read(file.path(), "a.txt") {
            Ok(read) => format!("{:?} bom: {}", read.text, read.bom),
            Err(error) => error.to_string(),
        };
        expect.assert_eq(&shown);
    }

    #[test]
    fn text_is_read_as_it_is_and_its_mark_is_kept_aside() {
        check(b"a\r\nb\rc\n", expect![[r#""a\r\nb\rc\n" bom: false"#]]);
        check(b"\xef\xbb\xbfa\n", expect![[r#""a\n" bom: true"#]]);
        check(b"", expect![[r#""" bom: false"#]]);
    }

    #[test]
    fn a_text_that_is_known_is_shared_and_any_other_is_read_anew() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let known: Arc<str> = "a\n".into();
        let shown = |content: &[u8]| {
            fs::write(file.path(), content).unwrap();
            let read = read_again(file.path(), "a.txt", Some(&known)).unwrap();
            format!("{:?} bom: {} shared: {}", read.text, read.bom, Arc::ptr_eq(&read.text, &known))
        };
        assert_eq!(shown(b"a\n"), r#""a\n" bom: false shared: true"#);
        assert_eq!(shown(b"\xef\xbb\xbfa\n"), r#""a\n" bom: true shared: true"#);
        assert_eq!(shown(b"a\n\n"), r#""a\n\n" bom: false shared: false"#);
        assert_eq!(shown(b"\xef\xbb\xbf\xef\xbb\xbfa\n"), r#""\u{feff}a\n" bom: true shared: false"#);
    }

    // SPEC T4
    #[test]
    fn what_is_no_utf8_text_is_refused_by_name() {
        check(b"a\0b", expect!["a.txt is a binary file; it has no text that could be read or edited"]);
        check(
            b"one\ncaf\xe9 cr\xe8me\n",
            expect![
                "a.txt is not UTF-8 text but probably Windows-1252 or Latin-1 (byte 0xe9 in line 2); once the user has opened it in the editor it can be read and edited there, else a command can convert it first"
            ],
        );
        check(
            b"\xef\xf0\xe8\xe2\xe5\xf2",
            expect![
                "a.txt is not UTF-8 text but in another encoding (byte 0xef in line 1); once the user has opened it in the editor it can be read and edited there, else a command can convert it first"
            ],
        );
        check(
            b"\xff\xfea\0",
            expect![
                "a.txt is not UTF-8 text but UTF-16 (little-endian); once the user has opened it in the editor it can be read and edited there, else a command can convert it first"
            ],
        );
        check(
            b"\xfe\xff\0a",
            expect![
                "a.txt is not UTF-8 text but UTF-16 (big-endian); once the user has opened it in the editor it can be read and edited there, else a command can convert it first"
            ],
        );
        check(
            b"\xff\xfe\0\0a\0\0\0",
            expect![
                "a.txt is not UTF-8 text but UTF-32 (little-endian); once the user has opened it in the editor it can be read and edited there, else a command can convert it first"
            ],
        );
        check(
            b"h\0e\0l\0l\0o\0\r\0\n\0",
            expect![
                "a.txt is not UTF-8 text but UTF-16 (little-endian, without a byte order mark); once the user has opened it in the editor it can be read and edited there, else a command can convert it first"
            ],
        );
        check(
            b"\0h\0e\0l\0l\0o\0\n",
            expect![
                "a.txt is not UTF-8 text but UTF-16 (big-endian, without a byte order mark); once the user has opened it in the editor it can be read and edited there, else a command can convert it first"
            ],
        );
    }

    #[test]
    fn a_file_over_the_bound_is_refused_before_it_is_read() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(MAX_READ_BYTES + 1).unwrap();
        assert_eq!(read(file.path(), "a"), Err(FileError::TooLarge("a".to_owned())));
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_or_a_directory_is_refused_and_never_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert_eq!(read(&socket, "s"), Err(FileError::Special("s".to_owned())));
        assert_eq!(read(Path::new("/dev/zero"), "z"), Err(FileError::Special("z".to_owned())));
        assert_eq!(read(dir.path(), "d"), Err(FileError::Directory("d".to_owned())));
        let pipe = dir.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        assert_eq!(read(&pipe, "p"), Err(FileError::Special("p".to_owned())));
    }
}
