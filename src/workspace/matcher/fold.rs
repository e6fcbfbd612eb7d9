//! A text with differences folded away, and the way back to the offsets of the original.

use std::{borrow::Cow, ops::Range};

use super::lines::Lines;

/// What is folded away, besides the kind of line ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fold {
    LineEnds,
    /// Blanks before line ends and before the text's end go.
    TrailingSpaces,
    /// Characters that look alike become one; blanks inside a line become one space; trailing blanks go.
    Typography(Dash),
    /// A line end, a tab, a quote or a backslash that is written as an escape becomes what it stands for.
    Escapes,
}

/// What a long dash (`–`, `—`) is written as on a keyboard: nobody agrees, so both are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dash {
    One,
    Two,
}

pub(super) struct Folded<'a> {
    pub(super) text: Cow<'a, str>,
    steps: Vec<Step>,
}

/// From `folded` on, the folded text stands for the original from `original` on.
struct Step {
    folded: usize,
    original: usize,
    /// Byte for byte; else all up to the next step stands for all up to its original, and nothing inside is a boundary.
    is_even: bool,
}

impl<'a> Folded<'a> {
    pub(super) fn new(original: &'a str, fold: Fold) -> Self {
        if fold == Fold::LineEnds && memchr::memchr(b'\r', original.as_bytes()).is_none() {
            let start = Step { folded: 0, original: 0, is_even: true };
            return Self { text: Cow::Borrowed(original), steps: vec![start] };
        }
        let mut builder = Builder::default();
        let lines = Lines::new(original);
        for line in 0..lines.len() {
            let content = lines.content(line);
            builder.line(content, fold);
            if let Some(span) = lines.span(line).filter(|span| span.content.end < span.end) {
                builder.unit(span.end - span.content.end, "\n");
            }
        }
        Self { text: Cow::Owned(builder.text), steps: builder.steps }
    }

    /// Where `needle`, folded the same way, stands: ranges of the folded text.
    pub(super) fn places(&self, needle: &str) -> Vec<Range<usize>> {
        if needle.is_empty() {
            return Vec::new();
        }
        // Both are UTF-8, so that whole characters are found.
        memchr::memmem::find_iter(self.text.as_bytes(), needle)
            .map(|start| start..start + needle.len())
            .filter(|place| self.original(place.start).is_some() && self.original(place.end).is_some())
            .collect()
    }

    /// The offset of the original for which an offset of the folded text stands, before all that was left out there;
    /// `None` inside of what is one character in the original.
    pub(super) fn original(&self, folded: usize) -> Option<usize> {
        let behind = self.steps.partition_point(|step| step.folded < folded);
        if let Some(here) = self.steps.get(behind).filter(|step| step.folded == folded) {
            return Some(here.original);
        }
        let before = self.steps.get(behind.checked_sub(1)?)?;
        before.is_even.then(|| before.original + folded - before.folded)
    }
}

#[derive(Default)]
struct Builder {
    text: String,
    original: usize,
    steps: Vec<Step>,
}

impl Builder {
    /// A step where none is needed would only cost memory: even stretches run on.
    fn step(&mut self, is_even: bool) {
        let goes_on = self.steps.last().is_some_and(|last| {
            last.is_even && is_even && self.text.len() - last.folded == self.original - last.original
        });
        if !goes_on {
            self.steps.push(Step { folded: self.text.len(), original: self.original, is_even });
        }
    }

    fn same(&mut self, text: &str) {
        self.step(true);
        self.text.push_str(text);
        self.original += text.len();
        self.step(true);
    }

    /// So many bytes of the original become `folded`.
    fn unit(&mut self, bytes: usize, folded: &str) {
        let is_even = bytes == folded.len() && bytes == 1;
        self.step(is_even);
        self.text.push_str(folded);
        self.original += bytes;
        self.step(true);
    }

    fn line(&mut self, content: &str, fold: Fold) {
        match fold {
            Fold::LineEnds => self.same(content),
            Fold::TrailingSpaces => {
                let kept = content.trim_end_matches([' ', '\t']);
                self.same(kept);
                if kept.len() < content.len() {
                    self.unit(content.len() - kept.len(), "");
                }
            }
            Fold::Typography(dash) => {
                let kept = content.trim_end_matches(|character| is_blank(character) || is_unseen(character));
                each_alike(kept, dash, |piece, folded| match folded {
                    None => self.same(piece),
                    Some(folded) => self.unit(piece.len(), folded),
                });
                if kept.len() < content.len() {
                    self.unit(content.len() - kept.len(), "");
                }
            }
            Fold::Escapes => {
                let mut rest = content;
                while let Some(at) = rest.find('\\') {
                    let (before, escape) = rest.split_at(at);
                    self.same(before);
                    rest = match unescaped(escape) {
                        Some(meant) => {
                            self.unit(2, meant);
                            escape.get(2..).unwrap_or_default()
                        }
                        None => {
                            self.same("\\");
                            escape.get(1..).unwrap_or_default()
                        }
                    };
                }
                self.same(rest);
            }
        }
    }
}

/// What the escape at the beginning of a text stands for: those that are the same in nearly all languages.
pub(super) fn unescaped(escape: &str) -> Option<&'static str> {
    match escape.as_bytes().get(..2)? {
        b"\\n" => Some("\n"),
        b"\\t" => Some("\t"),
        b"\\\"" => Some("\""),
        b"\\'" => Some("'"),
        b"\\\\" => Some("\\"),
        _ => None,
    }
}

/// A line with characters that look alike made one.
pub(super) fn fold_line(line: &str, dash: Dash) -> Cow<'_, str> {
    if line.is_ascii() && !line.contains("  ") && !line.contains('\t') {
        return Cow::Borrowed(line);
    }
    let mut out = String::with_capacity(line.len());
    each_alike(line, dash, |piece, folded| out.push_str(folded.unwrap_or(piece)));
    Cow::Owned(out)
}

/// Cuts a line into pieces, each with what it is folded to (`None`: itself).
fn each_alike(line: &str, dash: Dash, mut take: impl FnMut(&str, Option<&str>)) {
    let body = line.trim_start_matches(is_blank);
    let (lead, mut rest) = line.split_at(line.len() - body.len());
    for character in lead.chars() {
        let mut bytes = [0; 4];
        take(character.encode_utf8(&mut bytes), (!matches!(character, ' ' | '\t')).then_some(" "));
    }
    while let Some(character) = rest.chars().next() {
        let plain = rest.find(|character| !is_plain(character)).unwrap_or(rest.len());
        if plain > 0 {
            let (piece, behind) = rest.split_at(plain);
            take(piece, None);
            rest = behind;
            continue;
        }
        let blanks = rest.len() - rest.trim_start_matches(is_blank).len();
        if blanks > 0 {
            let (piece, behind) = rest.split_at(blanks);
            take(piece, (piece != " ").then_some(" "));
            rest = behind;
            continue;
        }
        let (piece, behind) = rest.split_at(character.len_utf8());
        let mut bytes = [0; 4];
        take(piece, alike(character, dash, &mut bytes));
        rest = behind;
    }
}

fn is_plain(character: char) -> bool {
    matches!(character, '!'..='~')
}

fn is_blank(character: char) -> bool {
    matches!(
        character,
        ' ' | '\t' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}'
    )
}

/// Characters without a width, which a model cannot see.
fn is_unseen(character: char) -> bool {
    matches!(character, '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}' | '\u{ad}')
}

/// What a character is written as on a keyboard, when that is something else.
fn alike(character: char, dash: Dash, bytes: &mut [u8; 4]) -> Option<&str> {
    Some(match character {
        '\u{2018}'..='\u{201b}' | '\u{2032}' | '\u{ff07}' => "'",
        '\u{201c}'..='\u{201f}' | '\u{2033}' | '\u{ff02}' => "\"",
        '\u{2013}'..='\u{2015}' if dash == Dash::Two => "--",
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{ff0d}' => "-",
        '\u{2026}' => "...",
        '\u{ff01}'..='\u{ff5e}' => {
            let plain = u32::from(character) - 0xff01 + u32::from('!');
            char::from_u32(plain)?.encode_utf8(bytes)
        }
        _ if is_unseen(character) => "",
        _ => return None,
    })
}

/// The characters of `one` that look like one on a keyboard and are nowhere in `other`: where the file writes plainly, so
/// should what is new.
pub(super) fn fancy_only_in(one: &str, other: &str) -> Vec<char> {
    let mut fancy: Vec<char> = one.chars().filter(|&character| plain_form(character).is_some()).collect();
    fancy.sort_unstable();
    fancy.dedup();
    fancy.retain(|&character| !other.contains(character));
    fancy
}

/// A line with each of some characters written plainly.
pub(super) fn plain<'a>(line: &'a str, fancy: &[char]) -> Cow<'a, str> {
    if fancy.is_empty() || !line.contains(fancy) {
        return Cow::Borrowed(line);
    }
    let mut out = String::with_capacity(line.len());
    for character in line.chars() {
        match plain_form(character).filter(|_| fancy.contains(&character)) {
            Some(plain) => out.push_str(&plain),
            None => out.push(character),
        }
    }
    Cow::Owned(out)
}

fn plain_form(character: char) -> Option<String> {
    if character.is_ascii() {
        return None;
    }
    if is_blank(character) {
        return Some(" ".to_owned());
    }
    alike(character, Dash::One, &mut [0; 4]).map(str::to_owned)
}
