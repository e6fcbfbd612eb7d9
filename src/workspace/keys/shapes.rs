//! What keys look like. Every shape here was counted on millions of lines of other people's code: one that is not sure
//! enough hides what the user needs.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;

use super::{addresses, constant};

/// Keys as the services make them that are used most: they tell themselves by how they begin. What stands before one may
/// be anything but a letter or a digit, which would make it a part of a word.
const BY_BEGINNING: &[&str] = &[
    // OpenAI, Anthropic, OpenRouter, DeepSeek and others.
    r"sk-[\w-]{16,}",
    // Stripe.
    r"[sr]k_(?:live|test)_\w{16,}",
    r"whsec_[\w+/]{24,}",
    // GitHub, GitLab.
    r"gh[oprsu]_\w{20,}",
    r"github_pat_\w{20,}",
    r"gl(?:pat|dt|rt|cbt|ptt|ft|soat|imt|agent)-[\w-]{16,}",
    // Hugging Face, npm, PyPI, RubyGems, crates.io.
    r"hf_\w{20,}",
    r"npm_\w{20,}",
    r"pypi-[\w-]{32,}",
    r"rubygems_[0-9a-f]{48}",
    r"cio[A-Za-z0-9]{32}",
    // Slack.
    r"xox[abeoprs]-[\w-]{10,}",
    r"xapp-\d-[\w-]{20,}",
    // AWS, Google.
    r"A[KS]IA[A-Z0-9]{16}",
    r"AIza[\w-]{35}",
    r"GOCSPX-[\w-]{24,}",
    r"ya29\.[\w-]{20,}",
    // Groq, xAI, NVIDIA, Replicate, Databricks.
    r"gsk_\w{40,}",
    r"xai-\w{60,}",
    r"nvapi-[\w-]{50,}",
    r"r8_\w{37,}",
    r"dapi[0-9a-f]{32}",
    // SendGrid, DigitalOcean, Shopify, Linear, Vault, age.
    r"SG\.[\w-]{20,}\.[\w-]{40,}",
    r"do[opr]_v1_[0-9a-f]{64}",
    r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",
    r"lin_api_\w{32,}",
    r"hv[sb]\.[\w-]{24,}",
    r"AGE-SECRET-KEY-1[0-9A-Z]{50,}",
    // A signed token, whoever made it.
    r"eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?",
];

/// What stands where only a key does: the one group of each is the key.
const BY_PLACE: &[&str] = &[
    r#"(?i:aws.{0,20}secret.{0,24}?)["'\s:=]([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)"#,
    r#"npmAuth(?:Token|Ident)["']?\s{0,3}[:=]\s{0,3}["']?([A-Za-z0-9_.:/+=-]{16,200})"#,
    r"AccountKey=([A-Za-z0-9+/]{86}==)",
    r#"(?i:api_?-?key|secret_?-?key|client_?-?secret|access_?-?token|auth_?-?token|private_?-?key)["']?\s{0,3}(?::|=|:=|=>)\s{0,3}["']([A-Za-z0-9_/+=-]{24,200})["']"#,
    r#"(?i:authorization["']?\s{0,3}[:=,]\s{0,3}["']?(?:bearer|basic|token))\s([A-Za-z0-9._~/+=-]{20,})"#,
];

static BEGINNINGS: LazyLock<Regex> = LazyLock::new(|| constant(&format!("(?-u:{})", BY_BEGINNING.join("|"))));

static PLACES: LazyLock<Vec<Regex>> =
    LazyLock::new(|| BY_PLACE.iter().map(|place| constant(place)).collect());

/// A key is random: of its characters at least so many differ. Placeholders (`sk-xxxxxxxx`) repeat a few.
const MIN_DIFFERENT: usize = 8;

/// Words that placeholders and the examples of services' own documents have.
pub(in crate::workspace) const PLACEHOLDERS: &[&str] =
    &["example", "your", "placeholder", "xxxx", "changeme", "redacted", "dummy", "sample", "test-key"];

/// Letters in a row without a digit that are no word any more.
const LONGEST_WORD: usize = 15;

pub(super) fn places(text: &str) -> Vec<Range<usize>> {
    let mut places = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let moved = |place: Range<usize>| start + place.start..start + place.end;
        if holds_random(line) {
            places.extend(places_in(line).into_iter().map(moved));
        }
        places.extend(addresses::places(line).map(moved));
        start += line.len();
    }
    places
}

fn places_in(line: &str) -> Vec<Range<usize>> {
    let mut places = Vec::new();
    let mut from = 0;
    while let Some(found) = BEGINNINGS.find_at(line, from) {
        if !begins_word(line, found.start()) || !is_random(found.as_str()) {
            // What it begins with is one byte in every shape.
            from = found.start() + 1;
            continue;
        }
        places.push(found.range());
        from = found.end();
    }
    for place in &*PLACES {
        let found = place.captures_iter(line).filter_map(|found| found.get(1));
        places.extend(found.filter(|key| is_random(key.as_str())).map(|key| key.range()));
    }
    places
}

/// Whether a word begins there: behind nothing that is a part of one, or behind a line end as programs and JSON write it.
fn begins_word(line: &str, at: usize) -> bool {
    let before = line.get(..at).unwrap_or_default();
    !before.ends_with(|c: char| c.is_ascii_alphanumeric())
        || ["\\n", "\\r", "\\t"].iter().any(|end| before.ends_with(end))
}

/// Whether the characters are those of a machine and not words, a name, or a placeholder.
fn is_random(key: &str) -> bool {
    !is_example(key) && holds_random(key)
}

/// Whether it stands for a key, or repeats a few characters.
pub(super) fn is_example(key: &str) -> bool {
    let lower = key.to_ascii_lowercase();
    different(key) < MIN_DIFFERENT || PLACEHOLDERS.iter().any(|word| lower.contains(word))
}

/// How many bytes of a text differ from each other.
pub(super) fn different(text: &str) -> usize {
    let mut different = [false; 256];
    text.bytes().for_each(|byte| different[usize::from(byte)] = true);
    different.iter().filter(|is_there| **is_there).count()
}

/// Whether any part is no word: a cheap look that spares most lines of code the expensive ones.
pub(in crate::workspace) fn holds_random(text: &str) -> bool {
    let mut parts = text.as_bytes().split(|byte| !byte.is_ascii_alphanumeric());
    parts.any(|part| {
        let digits = part.iter().filter(|byte| byte.is_ascii_digit()).count();
        part.len() > LONGEST_WORD || (digits > 1 && digits < part.len())
    })
}
