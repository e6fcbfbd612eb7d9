//! Passwords in addresses: what stands between a user and a host, and what a query says is one. The user, the host and
//! the rest of the address are shown.
//!
//! A password may be anything, so what is told apart is what an address in a document or a test has in its place: a word
//! for it (`user:password@`), a variable, the user's own name (`postgres:postgres@`). A password that is a short word of
//! letters alone (`swordfish`) reads like those, and is shown. So is one with a quote, a bracket, a blank, `/`, `?` or `#`
//! in it, which addresses write in another way.

use std::{ops::Range, sync::LazyLock};

use regex::{Captures, Regex};

use super::{
    constant,
    shapes::{PLACEHOLDERS, different},
};

/// `scheme://user:password@host`; a password may have an `@` in it, and its host stands behind the last one.
const USER_AND_HOST: &str = r#"[A-Za-z][A-Za-z0-9+.-]{1,20}://(?<user>[^\s:/@?#"'`<>{}()\\]{0,100}):(?<password>[^\s/?#"'`<>{}()\\]{1,200})@[\w\[%]"#;

/// `?password=` and `&token=`.
const QUERY: &str = r#"[?&](?i:password|passwd|passphrase|pwd|pass|secret|client_?secret|token|access_?token|auth_?token|refresh_?token|api_?key)=(?<password>[^\s&;,#"'`<>{}()\[\]\\]{1,400})"#;

static ADDRESSES: LazyLock<Vec<Regex>> = LazyLock::new(|| [USER_AND_HOST, QUERY].map(constant).to_vec());

/// Characters of the shortest password; what is shorter is an example, and protects nothing.
const SHORTEST: usize = 6;

/// The same for one of letters alone, which documents are full of.
const SHORTEST_OF_LETTERS: usize = 12;

/// Characters of a password that differ, at least: `******` is none.
const MIN_DIFFERENT: usize = 4;

/// What stands for a password, alone or as a word of several (`db_password`, `YOUR-TOKEN`), with a number behind it or not.
const STAND_INS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "pass",
    "pwd",
    "pw",
    "secret",
    "token",
    "apikey",
    "key",
    "user",
    "username",
    "admin",
    "root",
    "guest",
    "test",
    "postgres",
    "foobar",
    "value",
];

/// Where passwords stand in a line.
pub(super) fn places(line: &str) -> impl Iterator<Item = Range<usize>> {
    let is_address = memchr::memmem::find(line.as_bytes(), b"://").is_some();
    let is_query = memchr::memchr2(b'?', b'&', line.as_bytes()).is_some();
    let addresses =
        ADDRESSES.iter().zip([is_address, is_query]).filter_map(|(address, may)| may.then_some(address));
    addresses.flat_map(|address| address.captures_iter(line)).filter_map(|found| password(&found))
}

fn password(found: &Captures<'_>) -> Option<Range<usize>> {
    let password = found.name("password")?;
    let user = found.name("user").map_or("", |user| user.as_str());
    is_password(user, password.as_str()).then(|| password.range())
}

fn is_password(user: &str, password: &str) -> bool {
    let is_of_letters = password.bytes().all(|byte| byte.is_ascii_alphabetic());
    let shortest = if is_of_letters { SHORTEST_OF_LETTERS } else { SHORTEST };
    password.len() >= shortest
        && password != user
        && different(password) >= MIN_DIFFERENT
        && !is_template(password)
        && !is_port(password)
        && !stands_in(password)
}

/// Whether a program puts something else in its place: `$PASSWORD`, `%s`, `:password`.
fn is_template(password: &str) -> bool {
    let is_escape = |at: usize| {
        let digits = password.as_bytes().get(at + 1..at + 3);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    password.starts_with(['$', ':', '*'])
        || password.contains("...")
        || password.match_indices('%').any(|(at, _)| !is_escape(at))
}

/// Whether it is a port, and the `@` that follows one of something else: `http://localhost:8080,me@host`.
fn is_port(password: &str) -> bool {
    let rest = password.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.len() < password.len() && rest.starts_with([',', ';', '|', '&'])
}

/// Whether it is words, one of which says that a password belongs there.
fn stands_in(password: &str) -> bool {
    let lower = password.to_ascii_lowercase();
    if PLACEHOLDERS.iter().any(|word| lower.contains(word)) {
        return true;
    }
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<&str> = words.map(|word| word.trim_end_matches(|c: char| c.is_ascii_digit())).collect();
    words.iter().all(|word| word.bytes().all(|byte| byte.is_ascii_alphabetic()))
        && words.iter().any(|word| STAND_INS.contains(word))
}
