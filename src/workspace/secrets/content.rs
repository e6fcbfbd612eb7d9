//! Whether a text holds a secret, for files whose names leave it open: a key that shows by its shape, or a password or
//! token that is assigned to a name that says so. What stands for one (`${TOKEN}`, `{{ .Values.password }}`, `changeme`),
//! what is encrypted, and what names a place or a kind instead, is none.
//!
//! A password behind a name that does not say so, and one of several words, look like other settings and are not found.

mod meaning;
mod values;

use std::{borrow::Cow, sync::LazyLock};

use regex::Regex;

use crate::workspace::keys::{self, constant};
use meaning::{Meaning, PASSWORD_ENDINGS, TOKEN_ENDINGS, meaning, names_passwords, words};
use values::{Written, fallback, stands_for_value};

/// What a file is, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Keys and certificates in PEM armour, which says what it holds.
    Armour,
    /// Names and values.
    Data,
    /// A program: only what is quoted is a value.
    Code,
    /// Nothing says of a word what it is.
    Words,
}

/// Whether the beginning of a file holds a secret. What is no text may.
pub(super) fn holds_secret(bytes: &[u8], form: Form) -> bool {
    let Some(text) = text(bytes) else { return true };
    if text.trim().is_empty() {
        return false;
    }
    let begins = |line: &str| line.contains(BEGIN);
    text.lines().any(|line| begins(line) && line.contains("PRIVATE KEY"))
        || matches!(keys::masked(text), Cow::Owned(_))
        || match form {
            Form::Armour => !text.lines().any(begins),
            Form::Words => are_words(text) || assigns(text, form),
            Form::Data | Form::Code => assigns(text, form) || is_manifest_with_values(text),
        }
}

/// How armour begins.
const BEGIN: &str = "-----BEGIN ";

/// The text up to the last whole character; `None` for other bytes.
fn text(bytes: &[u8]) -> Option<&str> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(bytes.get(..error.valid_up_to())?).ok()?
        }
        Err(_) => return None,
    };
    (!text.contains('\0')).then_some(text)
}

/// Whether it is a list of words, and not prose, and one of them stands for nothing else: a password by itself, or behind the name
/// of its user. Comments have a blank behind their sign.
fn are_words(text: &str) -> bool {
    let is_comment = |line: &str| ["# ", "// ", "; "].iter().any(|sign| line.starts_with(sign));
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !is_comment(line));
    let (mut in_all, mut of_words, mut has_value) = (0_usize, 0_usize, false);
    for line in lines {
        in_all += 1;
        let mut cells = cells(line).peekable();
        let is_record = cells.next_if(|cell| cell.len() < line.len()).is_some();
        if is_record || !line.contains(char::is_whitespace) {
            of_words += 1;
            let is_value = |cell: &str| {
                !cell.contains(char::is_whitespace) && !stands_for_value(cell, Written::Quoted, &[])
            };
            has_value = has_value || cells.any(is_value);
        }
    }
    has_value && of_words * 2 >= in_all
}

/// The cells of a line of a table: unlike the parts of a sentence, they have no blank before them.
fn cells(line: &str) -> impl Iterator<Item = &str> {
    let is_end = |(at, sign): (usize, &str)| {
        let behind = line.get(at + sign.len()..).unwrap_or_default();
        !behind.is_empty() && !behind.starts_with(' ')
    };
    let ends = line.match_indices([',', ';', '\t']).filter(move |end| is_end(*end)).map(|(at, _)| at);
    let mut from = 0;
    ends.chain([line.len()]).filter_map(move |end| {
        let cell = line.get(from..end);
        from = end + 1;
        cell.map(str::trim)
    })
}

/// A name, and what assigns.
static ASSIGNED: LazyLock<Regex> = LazyLock::new(|| {
    constant(r#"([A-Za-z_][A-Za-z0-9_.-]*)[\\"'\]]{0,3}[ \t]{0,20}(?:=>|:=|=|:)[ \t]{0,20}"#)
});

/// Bytes of the longest value that is looked at, and of what stands behind one: no password is longer, and a line of nothing
/// but assignments takes no longer than another.
const MAX_VALUE: usize = 400;

/// What is assigned at the beginning of a text: in quotes, or up to the next blank.
fn value(text: &str) -> Option<&str> {
    let text = beginning(text);
    let quoted = text.chars().next().filter(|first| matches!(first, '"' | '\'' | '`')).and_then(|quote| {
        let end = text.get(1..)?.find(quote)?;
        text.get(..end + 2)
    });
    let is_end = |c: char| c.is_whitespace() || matches!(c, ',' | ';');
    let value = quoted.or_else(|| text.split(is_end).next())?;
    (!value.is_empty()).then_some(value)
}

fn beginning(text: &str) -> &str {
    let end = (0..=MAX_VALUE.min(text.len())).rev().find(|&at| text.is_char_boundary(at));
    text.get(..end.unwrap_or_default()).unwrap_or_default()
}

/// The same as an element.
static ELEMENT: LazyLock<Regex> =
    LazyLock::new(|| constant(r"<([A-Za-z_][A-Za-z0-9_.-]*)[^<>\n]{0,200}>([^<>\n]+)</"));

/// What every name of a secret has in it.
static NAMES: LazyLock<Regex> = LazyLock::new(|| {
    constant("(?i)pass|pwd|pw|secret|token|credential|key|auth|pat|jwt|cookie|webhook|pin|otp")
});

/// Bytes of the shortest value that may be one whatever its name is, or less.
const SHORTEST_MADE: usize = 20;

/// A cheap look that spares most files the one at each of their lines.
fn may_assign(text: &str) -> bool {
    text.split_ascii_whitespace().any(|word| word.len() >= SHORTEST_MADE) || NAMES.is_match(text)
}

fn assigns(text: &str, form: Form) -> bool {
    if !may_assign(text) {
        return false;
    }
    let mut lines = text.lines().map(str::trim_end).peekable();
    let mut map = Map::default();
    while let Some(line) = lines.next() {
        map.begin_line(line);
        let mut from = 0;
        while let Some(found) = ASSIGNED.captures_at(line, from) {
            let (Some(whole), Some(name)) = (found.get(0), found.get(1)) else { break };
            map.pass(line.get(from..name.start()).unwrap_or_default());
            let behind = line.get(whole.end()..).unwrap_or_default();
            from = whole.end();
            let Some(value) = value(behind) else {
                map.begin_below(line, name.as_str());
                continue;
            };
            // A value may be a line of its own: `"--token=abc"`.
            from += usize::from(value.starts_with(QUOTES));
            // Without a blank before it, a value is one whatever follows: `PASSWORD=x command`.
            let before = line.get(name.end()..whole.end()).unwrap_or_default();
            let rest =
                behind.get(value.len()..).filter(|_| before.ends_with([' ', '\t'])).unwrap_or_default();
            let begins_block = BLOCKS.contains(&value) || BLOCKS_OF_TOML.contains(&behind);
            let block = if begins_block { lines.peek() } else { None };
            let written = match value {
                value if value.starts_with(QUOTES) => Written::Quoted,
                _ if before.contains('=') => Written::Assigned,
                _ => Written::Bare,
            };
            let named = map.name_of(name.as_str(), form);
            if value.starts_with('{') {
                map.begin_braces(name.as_str());
            }
            let is_secret = match block {
                Some(next) => is_value_of(named, next.trim(), Written::Quoted, "", form),
                None => is_value_of(named, value, written, beginning(rest), form),
            };
            if is_secret {
                return true;
            }
        }
        map.pass(line.get(from..).unwrap_or_default());
        let mut elements =
            ELEMENT.captures_iter(line).filter_map(|found| Some((found.get(1)?, found.get(2)?)));
        let of_element = |value: &str| match value.starts_with('&') {
            true => Written::Bare,
            false => Written::Assigned,
        };
        if elements.any(|(name, value)| {
            is_value_of(name.as_str(), value.as_str(), of_element(value.as_str()), "", form)
        }) {
            return true;
        }
        let is_below = |next: &&str| is_password_below(line, next);
        if form == Form::Data && lines.peek().is_some_and(is_below) {
            return true;
        }
    }
    false
}

/// Whether what is looked at lies in a map of passwords, in which names are those of users.
#[derive(Default)]
enum Map {
    #[default]
    Outside,
    /// Lines that are deeper than this belong to it.
    Below(usize),
    /// Up to the brace that closes it.
    InBraces,
}

impl Map {
    fn begin_line(&mut self, line: &str) {
        if matches!(self, Self::Below(depth) if !line.is_empty() && depth_of(line) <= *depth) {
            *self = Self::Outside;
        }
    }

    fn begin_below(&mut self, line: &str, name: &str) {
        if matches!(self, Self::Outside) && names_passwords(name) {
            *self = Self::Below(depth_of(line));
        }
    }

    fn begin_braces(&mut self, name: &str) {
        if matches!(self, Self::Outside) && names_passwords(name) {
            *self = Self::InBraces;
        }
    }

    fn pass(&mut self, text: &str) {
        if matches!(self, Self::InBraces) && text.contains('}') {
            *self = Self::Outside;
        }
    }

    /// What says what a value is: the name before it, or that of the map.
    fn name_of<'n>(&self, name: &'n str, form: Form) -> &'n str {
        match self {
            Self::Below(_) | Self::InBraces if form == Form::Data => "password",
            _ => name,
        }
    }
}

fn depth_of(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

const QUOTES: [char; 4] = ['"', '\'', '`', '\\'];

/// How YAML says that a value stands in the lines below.
const BLOCKS: &[&str] = &["|", "|-", "|+", ">", ">-", ">+"];

/// The same in TOML.
const BLOCKS_OF_TOML: &[&str] = &["'''", "\"\"\""];

/// Whether a line is no more than the name of a password, and the next is its value or the first of several.
fn is_password_below(line: &str, next: &str) -> bool {
    let Some(name) = line.trim().trim_start_matches("- ").strip_suffix(':') else { return false };
    let mut words = words(name.trim_matches(QUOTES));
    if let Some(last) = words.last_mut().filter(|last| last.ends_with("words")) {
        last.pop();
    }
    let value = next.trim();
    let value = value.strip_prefix("- ").unwrap_or(value).trim();
    let is_deeper = depth_of(next) > depth_of(line) || next.trim_start().starts_with("- ");
    let written = if value.starts_with(QUOTES) { Written::Quoted } else { Written::Bare };
    let is_name = value.ends_with(':') || value.contains(": ") || value.starts_with('#');
    is_deeper
        && !is_name
        && meaning(&words) == Meaning::Password
        && is_value_of(&words.join("_"), value, written, "", Form::Data)
}

/// Characters of the shortest value of each that counts.
const SHORTEST_PASSWORD: usize = 4;
const SHORTEST_TOKEN: usize = 8;

/// Whether a value is the secret that its name says; `rest` is what stands behind it in its line.
fn is_value_of(name: &str, text: &str, written: Written, rest: &str, form: Form) -> bool {
    if let Some(value) = fallback(text, rest).filter(|_| form != Form::Code) {
        return is_value_of(name, value, Written::Quoted, "", form);
    }
    let is_quoted = text.starts_with(QUOTES);
    if form == Form::Code && !is_quoted {
        return false;
    }
    let value = text.trim_matches(['"', '\'', '`', '\\', ' ', '}', ')']);
    let words = words(name);
    let length = value.chars().count();
    // Sentences have blanks.
    let is_prose = !is_quoted && rest.trim_start().starts_with(char::is_alphabetic)
        || value.contains(char::is_whitespace) && !words.iter().any(|word| word == "passphrase");
    let meaning = if name == NPM_AUTH { Meaning::Password } else { meaning(&words) };
    let may_be_secret = match meaning {
        Meaning::Password => length >= SHORTEST_PASSWORD && (!is_prose || keys::is_made(value)),
        Meaning::Token => {
            length >= SHORTEST_TOKEN && !is_number(value) && (!is_prose || keys::is_made(value))
        }
        Meaning::Key => length >= SHORTEST_TOKEN && !is_prose && keys::holds_random(value),
        Meaning::Public => false,
        Meaning::Nothing => form != Form::Code && keys::is_made(value),
    };
    // What takes longest comes last.
    may_be_secret && !stands_for_value(value, written, &words)
}

/// What npm calls a name and a password in one.
const NPM_AUTH: &str = "_auth";

fn is_number(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'_' | b',' | b'-'))
}

/// Whether a manifest of Kubernetes holds a secret with values: there, names need not say what they are.
fn is_manifest_with_values(text: &str) -> bool {
    let is_kind = |line: &str| {
        line.trim_start_matches("- ").trim().split_once(':').is_some_and(|(name, value)| {
            name.trim_matches(['"', ' ']) == "kind" && value.trim_matches(['"', '\'', ',', ' ']) == "Secret"
        })
    };
    if !text.lines().any(is_kind) {
        return false;
    }
    let mut data_depth = None;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let name = name.trim_matches(['"', ' ', '-']);
        if data_depth.is_some_and(|data| depth_of(line) > data) {
            let written = if value.trim().starts_with(QUOTES) { Written::Quoted } else { Written::Bare };
            let value = value.trim().trim_matches(['"', '\'', ',']);
            if !line.trim_start().starts_with('#')
                && !BLOCKS.contains(&value)
                && !stands_for_value(value, written, &words(name))
            {
                return true;
            }
        } else {
            data_depth = matches!(name, "data" | "stringData").then(|| depth_of(line));
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(form: Form, texts: &[&str], is_secret: bool) {
        for text in texts {
            assert_eq!(holds_secret(text.as_bytes(), form), is_secret, "{form:?}: {text}");
        }
    }

    #[test]
    fn armour_is_a_secret_unless_all_of_it_is_public() {
        check(
            Form::Armour,
            &[
                "-----BEGIN CERTIFICATE-----\nMIIC\n-----END CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\nMC4C\n",
                "-----BEGIN ENCRYPTED PRIVATE KEY-----\n",
                "hush-hush\n",
            ],
            true,
        );
        check(
            Form::Armour,
            &["", "# ours\n-----BEGIN CERTIFICATE-----\nMIIC\n", "-----BEGIN PUBLIC KEY-----\nMIIB\n"],
            false,
        );
    }

    #[test]
    fn a_password_or_a_token_that_is_assigned_is_a_secret() {
        check(
            Form::Data,
            &[
                "//registry.npmjs.org/:_authToken=3f2b8c1e-7d4a\n",
                "//r.example/:_password=aHVudGVyMg==\n",
                "password: hunter2\n",
                "db:\n  password: \"hunter2\"  # of staging\n",
                "{\"user\": \"a\", \"dbPassword\": \"hunter2\"}",
                "export DB_PASSWORD='hunter2'\n",
                "PGPASSWORD=hunter2 psql\n",
                "aws_secret_access_key = abcdefgh1234\n",
                "password: |\n  hunter2\n",
                "password:\n  hunter2\n",
                "passwords:\n- hunter2\n- hunter3\n",
                "password = '''\nhunter2\n'''\n",
                "password: \"!Qaz2wsx\"\n",
                "password: '#Hunter22'\n",
                "password: \"@dmin2024!\"\n",
                "{\"password\": \"*Zebra99*\", \"user\": \"a\"}",
                "password: '~zebra-99'\n",
                "password: '^zebra-99'\n",
                "password: '(zebra-99)'\n",
                "password: \"&zebra-99\"\n",
                "password: \"[zebra]99\"\n",
                "password: $ecret99!\n",
                "password: {{ .Values.password | default \"hunter2\" }}\n",
                "password: {{ password | default('hunter2') }}\n",
                "export DB_PASSWORD=${PW:-hunter2}\n",
                "export PGPASSWORD=!Qaz2wsx\n",
                "password = @dmin2024\n",
                "<password>!Qaz2wsx</password>",
                "_auth=bWU6emVicmExcHc=\n",
                "//r.example/:_auth=bWU6emVicmExcHc=\n",
                "npmAuthIdent: \"me:zebra1pw\"\n",
                "<server><password>hunter2</password></server>",
                "{\"test\": \"env API_TOKEN=ab12cd34ef jest\"}",
                "stripe: kP93nfw0XbLq72vRtaYz\n",
                "token: eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc\n",
                "url: postgres://app:Tr0ub4dor-and-3@db.internal/app\n",
                "client-key-data: LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQ0K\n",
                "kind: Secret\ntype: Opaque\ndata:\n  user: YWRtaW4x\n",
                "apiVersion: v1\nkind: Secret\nstringData:\n  settings: hunter\n",
            ],
            true,
        );
        check(Form::Code, &["const token = 'ab12cd34ef';", "{ password: \"hunter2\" }"], true);
        check(
            Form::Words,
            &[
                "hunter2\n",
                "#Hunter22\n",
                "alice:hunter2\nbob:geheim\n",
                "password = hunter2\n",
                "admin\nSommer2024!\n",
                "# staging\nSommer2024!\n",
                "user,password\nAlice Smith,hunter2\n",
            ],
            true,
        );
    }

    #[test]
    fn a_name_says_what_its_value_is_whatever_stands_behind_it() {
        check(
            Form::Data,
            &[
                "DB_PASSWORD_PROD=Sommer2024!\n",
                "password1: hunter2\n",
                "password_staging: hunter2\n",
                "API_TOKEN_V2: abcd1234\n",
                "passwords:\n  alice: hunter2\n",
                "db:\n  passwords:\n    # ours\n\n    alice: hunter2\n",
                "{\"passwords\": {\"alice\": \"hunter2\"}}",
                "{\n  \"userPasswords\": {\n    \"alice\": \"hunter2\"\n  }\n}",
            ],
            true,
        );
        check(
            Form::Data,
            &[
                "password_min_length_prod: 1234\ntoken_version: 12345678\n",
                "passwords:\n  required: true\nname: hunter2\n",
                "{\"passwords\": {}, \"name\": \"hunter2\"}",
                "password:\n  title: Heading\n",
                "{\"passwords\": {\"sent\": \"We have sent it.\"}}",
            ],
            false,
        );
    }

    #[test]
    fn a_line_of_nothing_but_assignments_is_looked_through_once() {
        // Would take minutes if each value went up to the end of its line.
        let text = "a=".repeat(1 << 15);
        assert!(!holds_secret(text.as_bytes(), Form::Data));
        assert!(holds_secret(format!("{text} password=hunter2").as_bytes(), Form::Data));
    }

    #[test]
    fn what_stands_for_a_secret_is_none() {
        check(
            Form::Data,
            &[
                "//registry.npmjs.org/:_authToken=${NPM_TOKEN}\nsave-exact=true\n",
                "npmAuthToken: \"${NPM_TOKEN-}\"\nyarnPath: .yarn/releases/yarn-4.1.0.cjs\n",
                "apiVersion: v1\nkind: Secret\nmetadata:\n  name: {{ include \"x.fullname\" . }}\ntype: Opaque\ndata:\n  \
                 password: {{ .Values.password | b64enc | quote }}\n  # user: a\n",
                "password: changeme\ntoken: <your token>\nsecret: \"\"\napi_key: null\npasswordKey: db-password\n",
                "password: %DB_PASSWORD%\nsecret: __SECRET__\ntoken: $TOKEN\npwd: ****\n",
                "{\"name\": \"@org/secrets\", \"dependencies\": {\"js-tokens\": \"^4.0.0\", \"jsonwebtoken\": \"9.0.2\"}, \
                 \"exports\": {\"./tokens\": \"./dist/tokens.js\"}, \"scripts\": {\"secrets\": \"node secrets.js\"}}",
                "password: ENC[AES256_GCM,data:p673w==,iv:YY=,aad:UQ=,tag:A=]\nmac: ENC[AES256_GCM,data:x]\n",
                "{\"password\": \"Password\", \"reset\": \"Reset your password\", \"token\": \"This token is invalid.\"}",
                "password: !vault |\n  x\ntoken: !secret app_token\npwd: *shared\nauth_token: &shared_one\n",
                "password: \"*Required\"\ntoken: \"(optional)\"\nsecret: \"#/components/secret\"\n",
                "password: $USER:$DB_PASSWORD\nsecret: \"$TOKEN\"\ntoken: '@acme/tokens'\npwd: $1\n",
                "password:\n  required: true\nsecrets:\n  - app-config\npassword:\n  - required\n",
                "<password>&PASSWORD;</password>",
                "password: {{ .Values.password | default \"changeme\" }}\nsecret: ${SECRET:-}\ntoken: ${A:-$B}\n",
                "use flake\nexport PATH=$PWD/bin:$PATH\nsource_env_if_exists .envrc.local\n",
                "max_tokens: 4096\ntoken_url: https://id.example/token\nsecretName: app-tls\n",
                "# @required @sensitive\nSTRIPE_SECRET_KEY=\nDB_PASSWORD=required|string\n",
                "\"integrity\": \"sha512-9f3kLm2Qx7Zt4Vb8Nc1Rd6Yw5Pj0Hs==\",\n",
                "kind: ServiceAccount\nmetadata:\n  name: build\nsecrets:\n  - name: build-token\n",
                "# The token: the one of the service. Secret: no.\n",
            ],
            false,
        );
        check(
            Form::Code,
            &[
                "interface Env { DB_PASSWORD: string; API_TOKEN?: string }\n",
                "const token = readToken(password);",
            ],
            false,
        );
        let prose = "Keys\n\nThey are rotated, quickly, by hand.\nAsk us how.\n";
        check(Form::Words, &["How to rotate the keys of the service\n", "${PASSWORD}\n", prose], false);
    }

    #[test]
    fn what_is_no_text_may_be_a_secret_and_a_cut_character_is_none() {
        assert!(holds_secret(b"a\0b", Form::Data));
        assert!(holds_secret(b"\xff\xfea", Form::Data));
        assert!(!holds_secret(b"a: \xc3", Form::Data));
    }
}
