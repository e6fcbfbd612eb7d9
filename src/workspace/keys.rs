//! Keys inside of texts: what looks like one never leaves the machine, wherever it stands.
//!
//! A key is known by its shape alone: how the services that are used most begin theirs and what is assigned to a name that
//! says so (`keys/shapes.rs`), the password of an address (`keys/addresses.rs`), and the lines of a private key
//! (`keys/private.rs`); each of these says what it does not find. A mask takes its place; the lines of the text stay the
//! same in number and order, so that a line's number means the same with masks and without.
//!
//! Of a key that is cut the rest looks like none: who cuts a text that may have keys asks here where it may be cut.

mod addresses;
mod held;
mod known;
mod private;
mod shapes;

use std::{borrow::Cow, ops::Range};

use regex::Regex;

pub use held::HeldKeys;
pub use known::{KnownKeys, MaskedWriter};

pub(in crate::workspace) use held::is_made_value as is_made;
pub(in crate::workspace) use shapes::{PLACEHOLDERS, holds_random};

/// What stands in the place of a key. No file says it by chance: a text that has it more often than the one before was
/// made from what the model was shown, and would overwrite a key.
pub const MASK: &str = "<key hidden by askls>";

/// Whether keys are taken out of what the model and the faces get of the user's texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Masking {
    #[default]
    On,
    /// The user's choice; the texts of errors have no keys even so.
    Off,
}

/// The text with a mask in the place of each key.
pub fn masked(text: &str) -> Cow<'_, str> {
    masked_but(text, |_| false)
}

/// The same, but for the keys that `is_known`: whoever reads the text wrote them.
pub fn masked_but(text: &str, is_known: impl Fn(&str) -> bool) -> Cow<'_, str> {
    let mut keys = places(text);
    keys.retain(|place| !text.get(place.clone()).is_some_and(&is_known));
    cover(text, 0..text.len(), &keys)
}

/// A part of a text, with a mask in the place of each key that it has or touches. Nothing of a part that is none.
pub fn masked_part(text: &str, part: Range<usize>) -> Cow<'_, str> {
    cover(text, part, &places(text))
}

fn cover<'a>(text: &'a str, part: Range<usize>, keys: &[Range<usize>]) -> Cow<'a, str> {
    let mut shown = String::new();
    let mut rest = part.start;
    for key in keys.iter().filter(|key| key.start < part.end && part.start < key.end) {
        shown.push_str(text.get(rest..key.start).unwrap_or_default());
        shown.push_str(MASK);
        rest = key.end;
    }
    if shown.is_empty() {
        return Cow::Borrowed(text.get(part).unwrap_or_default());
    }
    shown.push_str(text.get(rest..part.end).unwrap_or_default());
    Cow::Owned(shown)
}

/// `said` of a text, without what is a key in it: a piece of a private key says by itself no more what it is.
pub fn masked_as_in<'a>(said: &'a str, text: &str) -> Cow<'a, str> {
    let mut masked = masked(said);
    for key in places(text).into_iter().filter_map(|place| text.get(place)) {
        if masked.contains(key) {
            masked = Cow::Owned(masked.replace(key, MASK));
        }
    }
    masked
}

/// Compiles a pattern of this program: what is looked for must not go unseen without a word.
#[expect(clippy::expect_used, reason = "only called with constants, each of which a test compiles")]
pub(super) fn constant(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a constant pattern")
}

/// Whether a text may have keys of several lines, of which each alone does not say what it is.
pub(super) fn spans_lines(text: &[u8]) -> bool {
    private::is_in(text)
}

/// Bytes around a cut that are looked at: more than any key in one line has. The longest are tokens of headers, of which
/// servers take this much.
pub const AROUND_CUT: usize = 8 * 1024;

/// Bytes before a key in which stands what says that it is one.
const NAME_BYTES: usize = 100;

/// Bytes behind a key in which it is seen to be one: the `@` of an address, and the first of the host.
const BEHIND_BYTES: usize = 4;

/// Where a text may end so that no key of it is cut: there, or before it. `text` goes on behind `end` as far as it is known.
pub fn end_beside_key(text: &str, end: usize) -> usize {
    let known = text.len().min(end.saturating_add(AROUND_CUT));
    let known = (0..=known).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    let places = places(text.get(..known).unwrap_or_default());
    let is_cut =
        |end: usize, key: &Range<usize>| key.start < end && end < key.end.saturating_add(BEHIND_BYTES);
    places.iter().rev().fold(end, |end, key| if is_cut(end, key) { key.start } else { end })
}

/// Where a text may begin so that no key of it is cut: there, or behind it. `text` begins before `start` as far as it is
/// known.
pub fn start_beside_key(text: &str, start: usize) -> usize {
    let known = start.saturating_sub(AROUND_CUT);
    let known = (known..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len());
    let places = places(text.get(known..).unwrap_or_default());
    let places = places.into_iter().map(|key| known + key.start..known + key.end);
    let is_cut =
        |start: usize, key: &Range<usize>| key.start < start.saturating_add(NAME_BYTES) && start < key.end;
    places.fold(start, |start, key| if is_cut(start, &key) { key.end } else { start })
}

/// Whether a new text has more masks than the old one.
pub fn writes_mask(old: &str, new: &str) -> bool {
    new.matches(MASK).count() > old.matches(MASK).count()
}

/// Where the keys of a text stand, in order and apart from each other; each within one line.
fn places(text: &str) -> Vec<Range<usize>> {
    let mut places = shapes::places(text);
    places.extend(private::places(text));
    places.sort_unstable_by_key(|place| (place.start, place.end));
    places.dedup_by(|next, last| {
        let touches = next.start < last.end;
        if touches {
            last.end = last.end.max(next.end);
        }
        touches
    });
    places
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(text: &str, expected: Expect) {
        let masked = masked(text);
        assert_eq!(masked.lines().count(), text.lines().count());
        expected.assert_eq(&masked);
    }

    #[test]
    fn a_key_is_known_by_how_its_service_begins_it() {
        check(
            "sk_live_51Habcdefghijklmnop hf_abcdefghijklmnopqrstuvwxyz npm_abcdefghijklmnopqrstuv x_sk-proj-abcdefghijklmnop ésk-proj-abcdefghijklmnop",
            expect![
                "<key hidden by askls> <key hidden by askls> <key hidden by askls> x_<key hidden by askls> é<key hidden by askls>"
            ],
        );
        check("KEY=sk-ant-api03-AbC_dEf-0123456789, next", expect!["KEY=<key hidden by askls>, next"]);
        check(
            "Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc",
            expect!["Bearer <key hidden by askls>"],
        );
        check(r#"{"a":"x\nghp_0123456789abcdefghij\n"}"#, expect![[r#"{"a":"x\n<key hidden by askls>\n"}"#]]);
        check("id: AKIAI44QH8DHBEXAMPL2", expect!["id: <key hidden by askls>"]);
    }

    #[test]
    fn a_key_is_known_by_the_name_to_which_it_is_assigned() {
        check(
            "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYzq1w2e3r4t",
            expect!["aws_secret_access_key = <key hidden by askls>"],
        );
        check(
            r#"{"clientSecret": "f3a9c1d27b804e56a1c2d3e4f5a6b7c8"}"#,
            expect![[r#"{"clientSecret": "<key hidden by askls>"}"#]],
        );
        check(
            "npmAuthToken: NpmToken.3f2b8c1e-7d4a-4e9b-a1c2-d3e4f5a6b7c8",
            expect!["npmAuthToken: <key hidden by askls>"],
        );
        check(
            "DATABASE_URL=postgres://app:Tr0ub4dor-and-3@db.internal/app",
            expect!["DATABASE_URL=postgres://app:<key hidden by askls>@db.internal/app"],
        );
    }

    #[test]
    fn of_an_address_only_the_password_is_hidden() {
        check(
            "https://alice:longpassword1@host/x postgres://app:hunter2@db/x?a=b redis://:p%40ss-w0rd@h:6379 git+HTTPS://ci:p@ss:w0rd@[::1]/x",
            expect![
                "https://alice:<key hidden by askls>@host/x postgres://app:<key hidden by askls>@db/x?a=b redis://:<key hidden by askls>@h:6379 git+HTTPS://ci:<key hidden by askls>@[::1]/x"
            ],
        );
        check(
            "mongodb://u:x9-long-one@h1:27017,h2:27017/d jdbc:mysql://h/d?user=app&password=hunter2&ssl=1 GET /a?token=9f8e7d6c&x",
            expect![
                "mongodb://u:<key hidden by askls>@h1:27017,h2:27017/d jdbc:mysql://h/d?user=app&password=<key hidden by askls>&ssl=1 GET /a?token=<key hidden by askls>&x"
            ],
        );
    }

    #[test]
    fn what_stands_for_a_password_in_an_address_is_shown() {
        let text = r#"
http://localhost:8080 git@github.com:a/b ssh://git@github.com:22/a https://a.b/@c http://h:8080,me@there.org
https://user:password@example.com postgres://postgres:postgres@localhost redis://:secret@h amqp://guest:guest@mq
https://USER:DB_PASSWORD@h ftp://me:my-secret-2024@h http://u:your-token-here@h http://u:password123@h
https://$USER:$PASS@host https://${user}:${password1234}@host http://u:{{pw}}@h http://%s:%s@h "//" + user + ":" + pass + "@"
http://u:******@h https://a:<password>@h http://foo:bar@h http://jschmoe:xyzzy@h https://user:pass@h:8080/?token=abc
/x?password=$PASSWORD&token={token} ?pass=1 f(a ? token = 1 : 2) &token=get_token()
"#;
        assert_eq!(masked(text), text);
    }

    /// A key as commands print it, with the number of its lines and of those that are hidden.
    fn count(text: &str) -> String {
        let masked = masked(text);
        format!("{} of {}", masked.matches(MASK).count(), text.lines().count())
    }

    const KEY: [&str; 6] = [
        "-----BEGIN RSA PRIVATE KEY-----",
        "MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7MbzYLdZ7ZvVy7F7V",
        "ygWyF8PbnGy0AHB7MbzYLdZ7ZvVy7F7VMbzYLdZ7ZvVy7F7VygWyF8PbnGy0AHB7",
        "0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7MbzYLdZ7ZvVy7F7VygWyF8PbnGy0AHB7",
        "qwT9Q1z+/=",
        "-----END RSA PRIVATE KEY-----",
    ];

    #[test]
    fn a_private_key_is_known_whatever_of_it_a_command_prints() {
        let lines = |lines: &[&str]| lines.join("\n");
        let mut reversed = KEY;
        reversed.reverse();
        let mut sorted = KEY;
        sorted.sort_unstable();
        assert_eq!(count(&lines(&KEY)), "4 of 6");
        assert_eq!(count(&lines(&reversed)), "4 of 6");
        assert_eq!(count(&lines(&sorted)), "4 of 6");
        // Without the lines around it, and what comes behind it then.
        assert_eq!(count(&format!("{}\ndone\n", lines(&KEY[1..5]))), "4 of 5");
        assert_eq!(count(&format!("done\n{}\ndone\n", lines(&reversed[1..5]))), "4 of 6");
        // In one line, as variables have it, and without its beginning.
        let quoted = KEY.join("\\n");
        assert_eq!(count(&quoted), "4 of 1");
        assert_eq!(count(quoted.split_once("A0Z").unwrap().1), "4 of 1");
        assert_eq!(count(&format!("KEY={}", KEY[1..5].concat())), "1 of 1");
        // What says nothing of where it is from.
        assert_eq!(count(&lines(&KEY[2..5])), "0 of 3");
    }

    #[test]
    fn every_kind_of_private_key_is_known_by_its_first_line() {
        for line in [
            "MIIEogIBAAKCAQEAudTAiHoRKbD4I6BjsFmvwzNmAoL6o",
            "MIICXAIBAAKBgQCY0W/prL4q2d650lLsEhtvX/c6qqX+8Y",
            "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAA",
            "MIICXQIBADCCAjYGByqGSM44BAEwggIpAoIBAQDtXPAxUhrHCvy9",
            "MHcCAQEEIPUt/ld1rxqki+3KmxP0AJ49ydTwG0piN324wxQUi9",
            "MIGkAgEBBDD4gEunny3lZQ074nGIzSHozGea4H7gepd5TBgf",
            "MIIBaAIBAQQgkQMf5T140nV5UvtoAwymKHlAj1Rrbr3Mr0j7nYZ6E",
            "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg9S3",
            "MC4CAQAwBQYDK2VwBCIEIP8PUNWAf69QS1qMcpFYvPt136vlmuH",
            "MIIFLTBXBgkqhkiG9w0BBQ0wSjApBgkqhkiG9w0BBQwwHAQINI0",
            "MIIE6jAcBgoqhkiG9w0BDAEDMA4ECBp6JctT3T/fAgIIAASCBMgnOA",
            "MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAgMN62",
            "MIIJzwIBAzCCCYUGCSqGSIb3DQEHAaCCCXYEgglyMIIJbjCCA",
            "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gt",
        ] {
            assert_eq!(masked(&format!("key: {line}, ")), format!("key: {MASK}, "));
        }
    }

    #[test]
    fn a_private_key_is_taken_out_line_by_line() {
        check(
            "a\n-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7MbzYLdZ7ZvVy7F7V\n  qwT9Q1z+/=\n-----END RSA PRIVATE KEY-----\nb\n",
            expect![[r#"
                a
                -----BEGIN RSA PRIVATE KEY-----
                Proc-Type: 4,ENCRYPTED

                <key hidden by askls>
                  <key hidden by askls>
                -----END RSA PRIVATE KEY-----
                b
            "#]],
        );
        // In a text of a program, and with the numbers of `read_file`.
        check(
            r"key = '-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn\nygWyF8PbnGy0AHB7MbzYLdZ7ZvVy7F7V\n-----END PRIVATE KEY-----'",
            expect![[
                r"key = '-----BEGIN PRIVATE KEY-----\n<key hidden by askls>\n<key hidden by askls>\n-----END PRIVATE KEY-----'"
            ]],
        );
        check(
            "k.txt (lines 1-2 of 9)\n     1\t-----BEGIN PRIVATE KEY-----\n     2\tMIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7MbzYLdZ7ZvVy7F7V\n",
            expect![[r#"
                k.txt (lines 1-2 of 9)
                     1	-----BEGIN PRIVATE KEY-----
                     2	<key hidden by askls>
            "#]],
        );
    }

    #[test]
    fn a_private_key_without_its_begin_is_known_by_its_end() {
        check(
            "MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7MbzYLdZ7ZvVy7F7V\nqwT9Q1z+/=\n-----END RSA PRIVATE KEY-----\n",
            expect![[r#"
                <key hidden by askls>
                <key hidden by askls>
                -----END RSA PRIVATE KEY-----
            "#]],
        );
    }

    #[test]
    fn what_only_looks_like_a_key_stays() {
        let text = r#"
task-list-of-things-to-be-done sk-fading-circle-and-some-words sk-SK
sk-xxxxxxxxxxxxxxxxxxxxxxxx ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxx sk-your-api-key-goes-here-1234
AKIAIOSFODNN7EXAMPLE wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY
api_key = os.environ["SERVICE_API_KEY"]
client_secret: "${{ secrets.CLIENT_SECRET_OF_THE_DEPLOYMENT }}"
https://user:password@host https://${user}:${password1234}@host http://localhost:8080/@a
const BEGIN: &str = "-----BEGIN PRIVATE KEY-----";
sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
commit 0e838bf0e838bf0e838bf0e838bf0e838bf0e838b
"MIH3AgEBMCwGByqGSM49AQECIQD/////AAAAAQAAAAAAAAAAAAAAAP//////////" of a curve
const FIRST: &str = "MIIEpAIBAAKCAQEA"; // and "b3BlbnNzaC1rZXktdjEA"
-----BEGIN CERTIFICATE-----
MIIC+TCCAeGgAwIBAgIUcbOLao5cpvZNH/WcufFUOwqdeDcwDQYJKoZIhvcNAQEL
BQAwDDEKMAgGA1UEAwwBYTAeFw0yNjExMzAxOTM3NDNaFw0yNjEyMzAxOTM3NDNa
-----END CERTIFICATE-----
-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAplrAlDeoXSfxTSx8CIQx
RYIK2c+3d+dY7INKhfbOEMtYlNpwNO1jMIIBCgKCAQEAplrAlDeoXSfxTSx8CIQx
-----END PUBLIC KEY-----
"#;
        assert_eq!(masked(text), text);
    }

    #[test]
    fn what_was_masked_has_nothing_more_to_mask() {
        let text = "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYzq1w2e3r4t\n-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7MbzYLdZ7ZvVy7F7V\n-----END PRIVATE KEY-----\n";
        let once = masked(text).into_owned();
        assert_eq!(masked(&once), once);
    }

    #[test]
    fn a_key_that_the_reader_wrote_is_shown_to_it() {
        let text = "ghp_0123456789abcdefghij and ghp_abcdefghij0123456789";
        let shown = masked_but(text, |key| key == "ghp_0123456789abcdefghij");
        assert_eq!(shown, format!("ghp_0123456789abcdefghij and {MASK}"));
    }

    #[test]
    fn a_line_out_of_a_private_key_is_masked_by_what_it_was_taken_from() {
        let line = "ygWyF8PbnGy0AHB7MbzYLdZ7ZvVy7F7V0Z3VS5JJcds3xfn/qwT9Q1z+7AbLdZ7Z";
        let text = format!("-----BEGIN PRIVATE KEY-----\n{line}\n-----END PRIVATE KEY-----\n");
        let said = format!("the nearest text is `{line}`");
        assert_eq!(masked(&said), said);
        assert_eq!(masked_as_in(&said, &text), format!("the nearest text is `{MASK}`"));
    }

    #[test]
    fn a_part_of_a_text_shows_no_piece_of_a_key() {
        let text = "a ghp_0123456789abcdefghij b";
        assert_eq!(masked_part(text, 0..text.len()), format!("a {MASK} b"));
        assert_eq!(masked_part(text, 0..10), format!("a {MASK}"));
        assert_eq!(masked_part(text, 10..text.len()), format!("{MASK} b"));
        assert_eq!(masked_part(text, 8..12), MASK);
        assert_eq!(masked_part(text, 0..2), "a ");
    }

    #[test]
    fn masks_are_written_when_there_are_more_of_them_than_before() {
        assert!(writes_mask("a", &format!("a {MASK}")));
        assert!(!writes_mask(MASK, &format!("{MASK} a")));
        assert!(!writes_mask(MASK, "a"));
    }
}
