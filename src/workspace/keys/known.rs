//! Keys that are known by their values, whatever they look like, and a writer that lets none of them through.

use std::{
    borrow::Cow,
    fmt,
    io::{self, Write},
    sync::{Arc, PoisonError, RwLock},
};

use secrecy::{ExposeSecret as _, SecretString};

use super::{MASK, masked};

/// Shorter values are words that texts have for other reasons; no service makes keys like that.
const SHORTEST: usize = 6;

/// More are not kept: a process has some ten, and each is looked for in every line.
const MOST: usize = 200;

/// A line that is longer is written in pieces of at least this many bytes.
const LONGEST_LINE: usize = 1024 * 1024;

/// The values of keys that this process was given. Clones share them.
#[derive(Clone, Default)]
pub struct KnownKeys {
    values: Arc<RwLock<Vec<SecretString>>>,
}

impl KnownKeys {
    /// From now on this is taken out of all that is written; not what is too short to be a key.
    pub fn add(&self, key: &str) {
        let key = key.trim();
        let mut values = self.values.write().unwrap_or_else(PoisonError::into_inner);
        let is_known = values.iter().any(|value| value.expose_secret() == key);
        if key.len() < SHORTEST || is_known || values.len() >= MOST {
            return;
        }
        values.push(SecretString::from(key));
        // A key that holds another one goes first, so that nothing of it is left.
        values.sort_by_key(|value| std::cmp::Reverse(value.expose_secret().len()));
    }

    /// A text without them, and without what looks like a key.
    pub fn masked<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut without = Cow::Borrowed(text);
        for value in self.values.read().unwrap_or_else(PoisonError::into_inner).iter() {
            if without.contains(value.expose_secret()) {
                without = Cow::Owned(without.replace(value.expose_secret(), MASK));
            }
        }
        match without {
            Cow::Borrowed(text) => masked(text),
            Cow::Owned(text) => Cow::Owned(masked(&text).into_owned()),
        }
    }

    /// Writes what it gets without keys. Whole lines are written at once; the rest of one waits for its end or a flush.
    pub fn writer<W: Write>(&self, inner: W) -> MaskedWriter<W> {
        MaskedWriter { known: self.clone(), inner, waiting: Vec::new() }
    }
}

/// How many there are; they are not shown.
impl fmt::Debug for KnownKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.values.read().unwrap_or_else(PoisonError::into_inner).len();
        f.debug_struct("KnownKeys").field("count", &count).finish()
    }
}

/// See [`KnownKeys::writer`].
#[derive(Debug)]
pub struct MaskedWriter<W: Write> {
    known: KnownKeys,
    inner: W,
    waiting: Vec<u8>,
}

impl<W: Write> MaskedWriter<W> {
    fn write_waiting(&mut self) -> io::Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        if waiting.is_empty() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&waiting);
        self.inner.write_all(self.known.masked(&text).as_bytes())
    }
}

impl<W: Write> Write for MaskedWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.waiting.extend_from_slice(bytes);
        if bytes.ends_with(b"\n") || self.waiting.len() >= LONGEST_LINE {
            self.write_waiting()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.write_waiting()?;
        self.inner.flush()
    }
}

impl<W: Write> Drop for MaskedWriter<W> {
    fn drop(&mut self) {
        // There is nobody to tell that it could not be written.
        let _ = self.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes out of a writer that gets these pieces.
    fn written(keys: &[&str], pieces: &[&str]) -> String {
        let known = KnownKeys::default();
        keys.iter().for_each(|key| known.add(key));
        let mut out = Vec::new();
        let mut writer = known.writer(&mut out);
        for piece in pieces {
            writer.write_all(piece.as_bytes()).unwrap();
        }
        drop(writer);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_key_is_taken_out_by_its_value_and_by_its_shape() {
        assert_eq!(
            written(&["correct horse"], &["a correct horse, ghp_0123456789abcdefghij\n"]),
            format!("a {MASK}, {MASK}\n")
        );
    }

    #[test]
    fn a_key_that_comes_in_pieces_is_one() {
        assert_eq!(written(&["correct horse"], &["a correct", " horse", " b"]), format!("a {MASK} b"));
    }

    #[test]
    fn a_key_that_holds_another_one_goes_as_a_whole() {
        assert_eq!(written(&["hush-hush", "hush-hush-more"], &["hush-hush-more\n"]), format!("{MASK}\n"));
    }

    #[test]
    fn what_is_too_short_to_be_a_key_stays() {
        assert_eq!(written(&["info", ""], &["info: ok\n"]), "info: ok\n");
    }

    #[test]
    fn keys_are_not_shown() {
        let known = KnownKeys::default();
        known.add("correct horse");
        assert_eq!(format!("{known:?}"), "KnownKeys { count: 1 }");
    }
}
