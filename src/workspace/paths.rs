//! Paths and URIs: one spelling a file, and links resolved before anything is compared.

use std::{
    borrow::Cow,
    cmp::Ordering,
    collections::VecDeque,
    ffi::OsString,
    fmt, fs,
    hash::{Hash, Hasher},
    io,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};

use super::secrets;

/// A place inside the workspace, or outside where the user allowed it (or an open buffer that is no file). Two that are equal are the same file.
#[derive(Clone, Debug)]
pub struct FilePath {
    /// Absolute, symlinks resolved; `None` for a buffer that is no file.
    disk: Option<Arc<Path>>,
    /// As the model and the user read it: relative to its root with `/`, or the buffer's URI; the whole path of what lies
    /// in no root.
    shown: Arc<str>,
    /// Whether it lay outside when it was found, and the user let it be used all the same.
    is_outside: bool,
}

impl FilePath {
    pub(crate) fn file(disk: &Path, shown: &str) -> Self {
        Self { disk: Some(disk.into()), shown: shown.into(), is_outside: false }
    }

    /// A place outside the workspace.
    pub(crate) fn outside(disk: &Path) -> Self {
        Self { is_outside: true, ..Self::file(disk, &disk.to_string_lossy()) }
    }

    pub(crate) fn is_outside(&self) -> bool {
        self.is_outside
    }

    pub(crate) fn buffer(uri: &str) -> Self {
        Self { disk: None, shown: uri.into(), is_outside: false }
    }

    pub fn disk(&self) -> Option<&Path> {
        self.disk.as_deref()
    }

    pub fn as_str(&self) -> &str {
        &self.shown
    }

    /// Whether it holds secrets, as its name or the disk says: nothing of it goes to a model, and no agent changes it.
    pub fn is_secret(&self) -> bool {
        match self.disk() {
            Some(disk) => secrets::is_secret(disk),
            None => secrets::is_secret_buffer(&self.shown),
        }
    }

    /// Whether it would if this were its text.
    pub(crate) fn is_secret_with(&self, text: &str) -> bool {
        match self.disk() {
            Some(disk) => secrets::is_secret_with(disk, text),
            None => secrets::is_secret_buffer(&self.shown),
        }
    }

    /// What makes two the same: the place on disk whatever it is shown as, else the URI. Files come before buffers.
    fn key(&self) -> Result<&Path, &str> {
        self.disk.as_deref().ok_or(&self.shown)
    }
}

impl PartialEq for FilePath {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for FilePath {}

impl Hash for FilePath {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl PartialOrd for FilePath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for FilePath {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

/// `file://` URI of an absolute path, percent-encoded as editors expect.
pub fn to_uri(path: &Path) -> String {
    encode(path.as_os_str().as_encoded_bytes(), Style::HOST)
}

/// The absolute path of a `file:` URI in any of its spellings; `None` for other schemes, other machines, and what
/// can be no path.
pub fn from_uri(uri: &str) -> Option<PathBuf> {
    decode(uri, Style::HOST).and_then(into_path)
}

/// As [`from_uri`] on a system that writes paths in this style; also `None` for a path that is no text.
pub fn path_in(style: Style, uri: &str) -> Option<String> {
    decode(uri, style).and_then(|path| String::from_utf8(path).ok())
}

/// As [`to_uri`] on a system that writes paths in this style.
pub fn uri_in(style: Style, path: &str) -> String {
    encode(path.as_bytes(), style)
}

/// By what an open document is known on a system that writes paths in this style: the same for every spelling of its
/// URI.
pub fn document_key_in(style: Style, uri: &str) -> String {
    key_of(uri, style).into_owned()
}

/// The scheme before a URI's colon, when `text` looks like a URI. One letter is a drive, not a scheme.
pub(crate) fn scheme(text: &str) -> Option<&str> {
    let (scheme, _) = text.split_once(':')?;
    let starts_well = scheme.starts_with(|first: char| first.is_ascii_alphabetic());
    let looks_well = scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    (scheme.len() > 1 && starts_well && looks_well).then_some(scheme)
}

/// The text by which an open document is known: the same for every spelling of its URI. Links are not resolved.
pub(crate) fn document_key(uri: &str) -> Cow<'_, str> {
    key_of(uri, Style::HOST)
}

/// Without `.`, `..` and doubled separators, by the text alone; nothing is above the root.
pub(crate) fn normalized(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

/// The longest path, in bytes, that systems take.
pub(crate) const MAX_PATH_BYTES: usize = 4_096;

/// More links than any real path has on its way mean a circle.
const MAX_LINKS: usize = 40;

/// The place that an absolute path means once every link on its way is followed, also when the last parts do not
/// exist yet: writing to a link that dangles would write where it points.
pub(crate) fn real(path: &Path) -> io::Result<PathBuf> {
    // Each part costs a look at all before it.
    if path.as_os_str().len() > MAX_PATH_BYTES {
        return Err(io::Error::other("its path is longer than 4,096 bytes"));
    }
    let mut todo: VecDeque<OsString> = parts(path);
    let mut out = PathBuf::new();
    let mut links = 0;
    while let Some(part) = todo.pop_front() {
        match Path::new(&part).components().next() {
            Some(Component::ParentDir) => {
                out.pop();
                continue;
            }
            Some(Component::Normal(_)) => {}
            Some(Component::CurDir) | None => continue,
            Some(Component::Prefix(_) | Component::RootDir) => {
                out.push(&part);
                continue;
            }
        }
        let candidate = out.join(&part);
        let is_link = fs::symlink_metadata(&candidate).is_ok_and(|metadata| metadata.is_symlink());
        if !is_link {
            out = candidate;
            continue;
        }
        links += 1;
        if links > MAX_LINKS {
            return Err(io::Error::other("its links go round in a circle"));
        }
        for part in parts(&fs::read_link(&candidate)?).into_iter().rev() {
            todo.push_front(part);
        }
    }
    // Only the system knows the true case of a name where case does not count.
    if cfg!(any(windows, target_os = "macos")) {
        return Ok(with_true_case(&out).unwrap_or(out));
    }
    Ok(out)
}

fn parts(path: &Path) -> VecDeque<OsString> {
    path.components().map(|component| component.as_os_str().to_owned()).collect()
}

/// The system's own spelling of the part that exists.
fn with_true_case(path: &Path) -> Option<PathBuf> {
    let existing = path.ancestors().find(|ancestor| ancestor.exists())?;
    let spelt = fs::canonicalize(existing).ok()?;
    let rest = path.strip_prefix(existing).ok()?;
    let text = spelt.to_str().map(|text| match text.strip_prefix(r"\\?\UNC\") {
        Some(share) => format!(r"\\{share}"),
        None => text.strip_prefix(r"\\?\").unwrap_or(text).to_owned(),
    });
    let spelt = text.map_or(spelt, PathBuf::from);
    Some(if rest.as_os_str().is_empty() { spelt } else { spelt.join(rest) })
}

/// How paths are written; both styles work on every host, so that both can be tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Unix,
    Windows,
}

impl Style {
    pub(crate) const HOST: Self = if cfg!(windows) { Self::Windows } else { Self::Unix };
}

/// Everything but what never needs it: editors compare URIs as texts, and the strictest of them encode this.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

fn encode(path: &[u8], style: Style) -> String {
    let encoded = |bytes: &[u8]| percent_encode(bytes, ENCODED).to_string();
    if style == Style::Unix {
        return format!("file://{}", encoded(path));
    }
    let slashes: Vec<u8> = path.iter().map(|&byte| if byte == b'\\' { b'/' } else { byte }).collect();
    match slashes.as_slice() {
        [b'/', b'/', share @ ..] => format!("file://{}", encoded(share)),
        [drive, b':', rest @ ..] if drive.is_ascii_alphabetic() => {
            format!("file:///{}:{}", char::from(*drive), encoded(rest))
        }
        other => format!("file://{}", encoded(other)),
    }
}

/// Raw `#` and `?` belong to the path: clients that write them have not encoded it, and a document has neither
/// fragment nor query.
fn decode(uri: &str, style: Style) -> Option<Vec<u8>> {
    let (scheme, rest) = uri.split_once(':')?;
    if !scheme.eq_ignore_ascii_case("file") {
        return None;
    }
    let (host, path) = match rest.strip_prefix("//") {
        Some(rest) => rest.split_at(rest.find('/')?),
        None => ("", rest),
    };
    let path: Vec<u8> = percent_decode_str(path).collect();
    if !path.starts_with(b"/") || path.contains(&0) {
        return None;
    }
    let local = host.is_empty() || host.eq_ignore_ascii_case("localhost");
    match style {
        Style::Unix => local.then_some(path),
        Style::Windows => {
            let path = match path.as_slice() {
                [b'/', drive, b':', ..] if local && drive.is_ascii_alphabetic() => {
                    path.split_at(1).1.to_vec()
                }
                _ if local => path,
                _ => [b"//", host.as_bytes(), &path].concat(),
            };
            Some(path.iter().map(|&byte| if byte == b'/' { b'\\' } else { byte }).collect())
        }
    }
}

fn key_of(uri: &str, style: Style) -> Cow<'_, str> {
    let Some(mut path) = decode(uri, style) else { return Cow::Borrowed(uri) };
    if let (Style::Windows, [drive, b':', ..]) = (style, path.as_mut_slice()) {
        drive.make_ascii_lowercase();
    }
    let path = String::from_utf8_lossy(&path);
    if style != Style::HOST {
        return Cow::Owned(path.into_owned());
    }
    Cow::Owned(normalized(Path::new(path.as_ref())).to_string_lossy().into_owned())
}

#[cfg(unix)]
fn into_path(bytes: Vec<u8>) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    Some(OsString::from_vec(bytes).into())
}

#[cfg(not(unix))]
fn into_path(bytes: Vec<u8>) -> Option<PathBuf> {
    String::from_utf8(bytes).ok().map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(style: Style, uri: &str, path: &str) {
        let decoded = decode(uri, style).map(|path| String::from_utf8(path).unwrap());
        assert_eq!(decoded.as_deref(), Some(path), "{uri}");
        let again =
            decode(&encode(path.as_bytes(), style), style).map(|path| String::from_utf8(path).unwrap());
        assert_eq!(again.as_deref(), Some(path), "{path} to a URI and back");
    }

    #[test]
    fn every_spelling_of_a_file_uri_means_its_path() {
        check(Style::Unix, "file:///tmp/ws/a%20b.txt", "/tmp/ws/a b.txt");
        check(Style::Unix, "file:///tmp/ws/a%23c.txt", "/tmp/ws/a#c.txt");
        check(Style::Unix, "file:///tmp/ws/a#c.txt", "/tmp/ws/a#c.txt");
        check(Style::Unix, "file:///tmp/ws/a%3Fq.txt", "/tmp/ws/a?q.txt");
        check(Style::Unix, "file:///tmp/ws/%E6%BC%A2.txt", "/tmp/ws/漢.txt");
        check(Style::Unix, "file:///tmp/ws/%e6%bc%a2.txt", "/tmp/ws/漢.txt");
        check(Style::Unix, "file:///tmp/ws/漢.txt", "/tmp/ws/漢.txt");
        check(Style::Unix, "file:///tmp/ws/100%2525.txt", "/tmp/ws/100%25.txt");
        check(Style::Unix, "file:///tmp/ws/100%.txt", "/tmp/ws/100%.txt");
        check(Style::Unix, "file://localhost/tmp/ws/a.txt", "/tmp/ws/a.txt");
        check(Style::Unix, "FILE:/tmp/ws/a.txt", "/tmp/ws/a.txt");
        check(Style::Unix, "file:///tmp/ws/x%2By+z.txt", "/tmp/ws/x+y+z.txt");
        check(Style::Unix, "file:///", "/");
    }

    #[test]
    fn drives_and_shares_of_windows_have_their_own_spelling() {
        check(Style::Windows, "file:///c%3A/Dev/My%20App/a.rs", r"c:\Dev\My App\a.rs");
        check(Style::Windows, "file:///C:/Dev/My%20App/a.rs", r"C:\Dev\My App\a.rs");
        check(Style::Windows, "file:///C%3a/Dev/My%20App/a.rs", r"C:\Dev\My App\a.rs");
        check(Style::Windows, "file://server/share/a.rs", r"\\server\share\a.rs");
    }

    #[test]
    fn a_document_has_one_key_whatever_the_case_of_its_drive() {
        let keys = ["file:///c%3A/Dev/a.rs", "file:///C:/Dev/a.rs", "file:///C%3a/Dev/a.rs"]
            .map(|uri| key_of(uri, Style::Windows).into_owned());
        assert_eq!(keys, [r"c:\Dev\a.rs"; 3]);
    }

    #[test]
    fn a_document_has_one_key_whatever_is_encoded() {
        let keys = ["file:///w/a%281%29%21.txt", "file:///w/a(1)!.txt", "file:///w/x/../a(1)!.txt"]
            .map(|uri| key_of(uri, Style::Unix).into_owned());
        assert_eq!(keys, ["/w/a(1)!.txt"; 3]);
    }

    #[test]
    fn only_files_of_this_machine_have_a_path() {
        for uri in [
            "untitled:Untitled-1",
            "git:/tmp/a.rs?x",
            "file://server/share/a.rs",
            "file:",
            "file:a",
            "",
            "file:///a%00b",
        ] {
            assert_eq!(decode(uri, Style::Unix), None, "{uri}");
        }
    }

    #[test]
    fn what_is_no_file_keeps_its_uri_as_key() {
        assert_eq!(document_key("untitled:Untitled-1"), "untitled:Untitled-1");
    }

    #[test]
    fn a_drive_letter_is_no_scheme() {
        assert_eq!(
            [scheme("c:/a"), scheme("untitled:1"), scheme("src/a:b"), scheme("a")],
            [None, Some("untitled"), None, None]
        );
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_also_where_the_leaf_does_not_exist() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("there/deep")).unwrap();
        symlink("there/deep", root.join("link")).unwrap();
        symlink(root.join("gone/new.txt"), root.join("dangling")).unwrap();
        symlink("round", root.join("round")).unwrap();
        let real =
            |path: &str| real(&root.join(path)).map(|real| real.strip_prefix(&root).unwrap().to_owned());
        assert_eq!(real("link/new/a.txt").unwrap(), Path::new("there/deep/new/a.txt"));
        assert_eq!(real("link/../b.txt").unwrap(), Path::new("there/b.txt"));
        assert_eq!(real("dangling").unwrap(), Path::new("gone/new.txt"));
        assert!(real("round").is_err());
        assert!(real(&"a/".repeat(MAX_PATH_BYTES / 2)).is_err());
    }
}
