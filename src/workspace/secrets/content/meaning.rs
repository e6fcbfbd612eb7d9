//! What a name says of its value.

/// Of what kind the value is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    Password,
    Token,
    /// A key of some kind, or what else may be one.
    Key,
    /// A sum, a name, or what everybody may know.
    Public,
    Nothing,
}

pub(super) const PASSWORD_ENDINGS: &[&str] =
    &["password", "passwd", "passwort", "passphrase", "passcode", "pwd"];
const PASSWORD_WORDS: &[&str] = &["pass", "pw"];
pub(super) const TOKEN_ENDINGS: &[&str] = &[
    "token",
    "tokens",
    "secret",
    "secrets",
    "credential",
    "credentials",
    "apikey",
    "secretkey",
    "accesskey",
    "privatekey",
    "authkey",
];
/// Words before `key` that say that it is one that is kept.
const KEPT_KEYS: &[&str] = &[
    "secret",
    "private",
    "api",
    "access",
    "auth",
    "encryption",
    "signing",
    "master",
    "account",
    "license",
    "ssh",
    "deploy",
    "storage",
    "service",
    "client",
    "app",
];
const KEY_WORDS: &[&str] = &["key", "keys", "auth", "pat", "jwt", "cookie", "webhook", "pin", "otp"];
/// Of what anybody may see, however random it looks.
const PUBLIC_WORDS: &[&str] = &[
    "integrity",
    "checksum",
    "digest",
    "hash",
    "sha1",
    "sha256",
    "sha512",
    "sum",
    "commit",
    "rev",
    "revision",
    "ref",
    "etag",
    "id",
    "ids",
    "uuid",
    "guid",
    "ca",
    "cert",
    "certs",
    "certificate",
    "certificates",
    "crt",
    "pem",
    "public",
    "pub",
    "pubkey",
    "csr",
    "signature",
    "sig",
    "fingerprint",
    "fp",
    "mac",
    "nonce",
    "iv",
    "resolved",
    "version",
    "encrypted",
    "enc",
    "bundle",
    "cabundle",
];

/// What may stand behind the word that says it: where a value is for, and which of several it is.
const BEHIND: &[&str] = &[
    "prod",
    "production",
    "live",
    "staging",
    "stage",
    "dev",
    "development",
    "test",
    "testing",
    "qa",
    "uat",
    "ci",
    "local",
    "old",
    "new",
    "backup",
    "main",
    "v",
];

pub(super) fn meaning(words: &[String]) -> Meaning {
    let without_number = |word: &String| word.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
    let stands_behind = |word: &String| {
        let word = without_number(word);
        word.is_empty() || BEHIND.contains(&word.as_str())
    };
    let end = words.iter().rposition(|word| !stands_behind(word)).map_or(0, |at| at + 1);
    let Some((last, before)) = words.get(..end).and_then(<[String]>::split_last) else {
        return Meaning::Nothing;
    };
    let last = &without_number(last);
    let ends = |endings: &[&str]| endings.iter().any(|ending| last.ends_with(ending));
    let is_in = |all: &[&str]| words.iter().any(|word| all.contains(&word.as_str()));
    match last.as_str() {
        last if ends(PASSWORD_ENDINGS) || PASSWORD_WORDS.contains(&last) => Meaning::Password,
        _ if ends(TOKEN_ENDINGS) => Meaning::Token,
        // A name and a password, as npm and yarn keep them.
        "ident" if before.last().is_some_and(|word| word == "auth") => Meaning::Password,
        "key" | "keys" if before.iter().any(|word| KEPT_KEYS.contains(&word.as_str())) => Meaning::Token,
        _ if is_in(PUBLIC_WORDS) => Meaning::Public,
        last if KEY_WORDS.contains(&last) || before.last().is_some_and(|word| word == "key") => Meaning::Key,
        _ => Meaning::Nothing,
    }
}

/// The words of a name in lower case: `npmAuthToken`, `NPM_AUTH_TOKEN`.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut was_small = false;
    for c in name.chars() {
        if !c.is_alphanumeric() {
            was_small = false;
            words.push(String::new());
            continue;
        }
        if c.is_uppercase() && was_small || words.is_empty() {
            words.push(String::new());
        }
        was_small = c.is_lowercase() || c.is_numeric();
        if let Some(word) = words.last_mut() {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Whether a name is that of several passwords.
pub(super) fn names_passwords(name: &str) -> bool {
    let words = words(name);
    let last = words.last().and_then(|last| last.strip_suffix('s'));
    last.is_some_and(|last| PASSWORD_ENDINGS.iter().any(|ending| last.ends_with(ending)))
}
