//! HTML as a text that a model reads: headings, lists, links, tables and code as Markdown has them.
//!
//! The library reads tags one after the other and builds no tree, so that no page, however deep or broken, costs more
//! than its length. What is not closed ends with the page.

use html5gum::{DefaultEmitter, HtmlString, StartTag, Token, Tokenizer};
use reqwest::Url;

/// Bytes of the longest text: addresses of links are written out, and can be many times as long as a page.
const MAX_TEXT_BYTES: usize = 4 << 20;

/// Lists inside each other that are indented further.
const MAX_INDENTED: usize = 8;

/// Lists inside each other that are counted at all.
const MAX_LISTS: usize = 100;

/// Bytes of an address that is written behind the text of its link; a longer one is data.
const MAX_LINK_BYTES: usize = 300;

/// Characters of a title.
const MAX_TITLE_CHARS: usize = 200;

/// Bytes after which a line is broken at the next blank: what pages long outputs cuts longer lines.
const LONG_LINE: usize = 500;

/// Elements of which nothing is shown.
const HIDDEN: &[&[u8]] =
    &[b"script", b"style", b"noscript", b"template", b"svg", b"iframe", b"object", b"canvas", b"head"];

/// What a head consists of.
const OF_HEADS: &[&[u8]] =
    &[b"head", b"title", b"meta", b"link", b"base", b"script", b"style", b"noscript", b"template"];

/// A page's text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Html {
    pub(super) title: String,
    pub(super) text: String,
    /// Whether the text was cut.
    pub(super) is_cut: bool,
}

/// Reads a page from `base`, which its links are relative to.
pub(super) fn read(html: &str, base: &Url) -> Html {
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let mut writer = Writer::new(base);
    let mut is_cut = false;
    for token in Tokenizer::new_with_emitter(html, emitter) {
        // Reading a text cannot fail.
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) => writer.start(&tag),
            Token::EndTag(tag) => writer.end(&tag.name),
            Token::String(text) => writer.text(&String::from_utf8_lossy(&text)),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
        if writer.out.len() > MAX_TEXT_BYTES {
            is_cut = true;
            break;
        }
    }
    writer.end_link();
    if writer.in_pre > 0 {
        writer.end_pre();
    }
    let title: Vec<&str> = writer.title.split_whitespace().collect();
    let title = title.join(" ").chars().take(MAX_TITLE_CHARS).collect();
    Html { title, text: writer.out.trim().to_owned(), is_cut }
}

/// What stands between two texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    #[default]
    None,
    Blank,
    Line,
    Paragraph,
}

struct Writer<'a> {
    base: &'a Url,
    out: String,
    /// Comes before the next text, unless that is the first.
    gap: Gap,
    /// Comes before the next text, after the gap: the mark of a heading, of a list's item.
    mark: String,
    /// The element of which nothing is shown, and how often it was begun inside itself.
    hidden: Option<(HtmlString, usize)>,
    title: String,
    in_title: bool,
    in_pre: usize,
    /// Where the text of the link begins that is open, and where it leads.
    link: Option<(usize, String)>,
    /// The lists around: the number of the next item, where they have some.
    lists: Vec<Option<usize>>,
    /// Whether a cell of this row was written already.
    has_cell: bool,
    /// Where the last line begins.
    line_start: usize,
}

impl<'a> Writer<'a> {
    fn new(base: &'a Url) -> Self {
        Self {
            base,
            out: String::new(),
            gap: Gap::None,
            mark: String::new(),
            hidden: None,
            title: String::new(),
            in_title: false,
            in_pre: 0,
            link: None,
            lists: Vec::new(),
            has_cell: false,
            line_start: 0,
        }
    }

    fn start(&mut self, tag: &StartTag<()>) {
        let name: &[u8] = &tag.name;
        let is_in_head = self.hidden.as_ref().is_some_and(|(hidden, _)| **hidden == *b"head");
        if is_in_head && !OF_HEADS.contains(&name) {
            // A head needs no end.
            self.hidden = None;
        }
        if let Some((hidden, depth)) = &mut self.hidden {
            if **hidden == *name && !tag.self_closing {
                *depth += 1;
            }
            self.in_title |= is_in_head && name == b"title";
            return;
        }
        if HIDDEN.contains(&name) && !tag.self_closing {
            self.hidden = Some((tag.name.clone(), 1));
            return;
        }
        match name {
            b"title" => self.in_title = true,
            b"br" => self.widen(Gap::Line),
            b"hr" => {
                self.widen(Gap::Paragraph);
                self.write("---");
                self.widen(Gap::Paragraph);
            }
            b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6" => {
                self.widen(Gap::Paragraph);
                let level = name.get(1).map_or(1, |digit| usize::from(digit - b'0'));
                self.mark = format!("{} ", "#".repeat(level));
            }
            b"ul" | b"ol" => {
                self.widen(if self.lists.is_empty() { Gap::Paragraph } else { Gap::Line });
                if self.lists.len() < MAX_LISTS {
                    self.lists.push((name == b"ol").then_some(1));
                }
            }
            b"li" => self.item(),
            b"tr" => {
                self.widen(Gap::Line);
                self.has_cell = false;
            }
            b"td" | b"th" => {
                if std::mem::replace(&mut self.has_cell, true) {
                    self.widen(Gap::Blank);
                    "| ".clone_into(&mut self.mark);
                }
            }
            b"pre" => {
                self.widen(Gap::Paragraph);
                if self.in_pre == 0 {
                    self.write("```\n");
                }
                self.in_pre += 1;
            }
            b"code" | b"kbd" | b"samp" if self.in_pre == 0 => self.mark.push('`'),
            b"a" => {
                self.end_link();
                if let Some(address) = attribute(tag, b"href").and_then(|href| self.address(&href)) {
                    // A mark stands before the link, not in it.
                    if !self.mark.is_empty() {
                        self.write_gap();
                    }
                    self.link = Some((self.out.len(), address));
                }
            }
            b"img" => {
                let alt = attribute(tag, b"alt").unwrap_or_default();
                if !alt.trim().is_empty() {
                    self.text(&format!("[image: {}]", alt.trim()));
                }
            }
            b"option" | b"dd" | b"dt" => self.widen(Gap::Line),
            _ => self.widen(gap_around(name)),
        }
    }

    fn end(&mut self, name: &[u8]) {
        if name == b"title" {
            self.in_title = false;
        }
        if let Some((hidden, depth)) = &mut self.hidden {
            if **hidden == *name {
                *depth -= 1;
                if *depth == 0 {
                    self.hidden = None;
                }
            }
            return;
        }
        match name {
            b"a" => self.end_link(),
            b"pre" if self.in_pre > 0 => self.end_pre(),
            b"code" | b"kbd" | b"samp" if self.in_pre == 0 => {
                // Nothing was in it.
                if self.mark.ends_with('`') {
                    self.mark.pop();
                } else if !self.out.is_empty() {
                    self.out.push('`');
                }
            }
            b"ul" | b"ol" => {
                self.lists.pop();
                self.widen(if self.lists.is_empty() { Gap::Paragraph } else { Gap::Line });
            }
            b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6" => {
                self.mark.clear();
                self.widen(Gap::Paragraph);
            }
            _ => self.widen(gap_around(name)),
        }
    }

    fn text(&mut self, text: &str) {
        if self.in_title {
            if self.title.len() < 4 * MAX_TITLE_CHARS {
                self.title.push_str(text);
            }
            return;
        }
        if self.hidden.is_some() {
            return;
        }
        if self.in_pre > 0 {
            self.write_gap();
            self.out.push_str(text);
            return;
        }
        if text.starts_with(char::is_whitespace) {
            self.widen(Gap::Blank);
        }
        for word in text.split_whitespace() {
            self.write(word);
            self.widen(Gap::Blank);
        }
        // What follows without a blank belongs to the last word.
        if self.gap == Gap::Blank && !text.ends_with(char::is_whitespace) && !text.trim().is_empty() {
            self.gap = Gap::None;
        }
    }

    fn item(&mut self) {
        self.widen(Gap::Line);
        let indentation = "  ".repeat(self.lists.len().saturating_sub(1).min(MAX_INDENTED));
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            Some(None) | None => "- ".to_owned(),
        };
        self.mark = format!("{indentation}{mark}");
    }

    fn end_pre(&mut self) {
        self.in_pre -= 1;
        if self.in_pre == 0 {
            if !self.out.ends_with('\n') {
                self.out.push('\n');
            }
            self.write("```");
            self.widen(Gap::Paragraph);
        }
    }

    /// Writes where the open link leads behind its text.
    fn end_link(&mut self) {
        let Some((start, address)) = self.link.take() else { return };
        let Some(text) = self.out.get(start..) else { return };
        if text.trim().is_empty() || text.contains(&address) {
            return;
        }
        let begins = start + (text.len() - text.trim_start().len());
        self.out.insert(begins, '[');
        self.out.push_str(&format!("]({address})"));
    }

    /// Where a link leads; `None` for a place on the same page, for scripts and for data.
    fn address(&self, href: &str) -> Option<String> {
        let href = href.trim();
        if href.is_empty() || href.starts_with('#') || href.len() > MAX_LINK_BYTES {
            return None;
        }
        let url = self.base.join(href).ok()?;
        let is_shown =
            matches!(url.scheme(), "http" | "https" | "mailto") && url.as_str().len() <= MAX_LINK_BYTES;
        is_shown.then(|| url.into())
    }

    fn widen(&mut self, gap: Gap) {
        self.gap = self.gap.max(gap);
    }

    fn write(&mut self, word: &str) {
        self.write_gap();
        self.out.push_str(word);
    }

    fn write_gap(&mut self) {
        let mut gap = std::mem::take(&mut self.gap);
        if gap == Gap::Blank && self.out.len() - self.line_start > LONG_LINE {
            gap = Gap::Line;
        }
        if !self.out.is_empty() {
            let ends = self.out.len() - self.out.trim_end_matches('\n').len();
            match gap {
                Gap::None => {}
                Gap::Blank if ends > 0 => {}
                Gap::Blank => self.out.push(' '),
                Gap::Line => self.out.push_str(if ends > 0 { "" } else { "\n" }),
                Gap::Paragraph => self.out.push_str("\n\n".get(ends.min(2)..).unwrap_or_default()),
            }
        }
        if gap >= Gap::Line {
            self.line_start = self.out.len();
        }
        self.out.push_str(&std::mem::take(&mut self.mark));
    }
}

/// What stands around an element.
fn gap_around(name: &[u8]) -> Gap {
    match name {
        b"p" | b"blockquote" | b"table" | b"dl" | b"figure" | b"details" | b"form" => Gap::Paragraph,
        b"div" | b"section" | b"article" | b"header" | b"footer" | b"main" | b"nav" | b"aside"
        | b"address" | b"fieldset" | b"caption" | b"figcaption" | b"summary" | b"li" | b"tr" | b"legend"
        | b"body" => Gap::Line,
        _ => Gap::None,
    }
}

fn attribute(tag: &StartTag<()>, name: &[u8]) -> Option<String> {
    tag.attributes.get(name).map(|value| String::from_utf8_lossy(value).into_owned())
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::*;

    fn read(html: &str) -> Html {
        super::read(html, &"https://a.example/docs/".parse().unwrap())
    }

    fn check(html: &str, expected: Expect) {
        let Html { title, text, .. } = read(html);
        let title = if title.is_empty() { String::new() } else { format!("<{title}>\n") };
        expected.assert_eq(&format!("{title}{text}"));
    }

    #[test]
    fn a_page_is_its_title_and_its_words() {
        check(
            "<!doctype html><html><head><title>A &amp;\n b</title><style>p{}</style><script>if (a<b) x('</p>')</script></head>\
             <body><h1>Head <em>line</em></h1><p>One\n  two<br>three<p>f<b>o</b>ur<div>five</div>six<!-- no --></body></html>",
            expect![[r#"
                <A & b>
                # Head line

                One two
                three

                four
                five
                six"#]],
        );
    }

    #[test]
    fn lists_tables_and_code_keep_their_form() {
        check(
            "<p>All:<ul><li>a<ol><li>x</li><li><p>y</p></ol><li>b</ul><pre><code>fn f() {\n    1\n}</code></pre>\
             use <code>f()</code>.<table><tr><th>n</th><th>m</th></tr><tr><td>1<td>2</table>",
            expect![[r#"
                All:

                - a
                  1. x

                  2. y

                - b

                ```
                fn f() {
                    1
                }
                ```

                use `f()`.

                n | m
                1 | 2"#]],
        );
    }

    #[test]
    fn a_link_says_where_it_leads() {
        check(
            "see <a href='../x?a=1&amp;b'>the  docs</a>, <a href=#here>here</a>, <a href='javascript:x()'>run</a>, \
             <a href=//b.example/>b</a> <a href=y></a><a href=/z><img alt=logo></a><a href=w>open",
            expect![
                "see [the docs](https://a.example/x?a=1&b), here, run, [b](https://b.example/) [[image: logo]](https://a.example/z)[open](https://a.example/docs/w)"
            ],
        );
    }

    #[test]
    fn what_is_hidden_and_never_closed_hides_the_rest_and_a_body_ends_a_head() {
        check(
            "<head><title>t</title><body>shown",
            expect![[r#"
            <t>
            shown"#]],
        );
        check("a<svg><title>no</title><svg></svg>b</svg>c<script>d", expect!["ac"]);
    }

    #[test]
    fn a_long_paragraph_is_broken_between_words() {
        let Html { text, .. } = read(&format!("<p>{}", "word ".repeat(1_000)));
        assert!(text.lines().all(|line| line.len() <= LONG_LINE + "word ".len()));
        assert_eq!(text.split_whitespace().count(), 1_000);
    }

    /// Deep enough for any reader that calls itself.
    #[test]
    fn no_depth_is_too_deep() {
        for tag in ["<div>", "<b>", "<a href=x>", "<ul><li>", "<table><tr><td>", "<pre>", "<svg>", "<h1>"] {
            let Html { text, .. } = read(&format!("{}deep", tag.repeat(20_000)));
            assert!(tag == "<svg>" || text.contains("deep"), "{tag}");
        }
    }

    #[test]
    fn a_text_that_outgrows_its_page_is_cut() {
        let link = format!("<a href='{}'>x</a>", "y".repeat(MAX_LINK_BYTES / 2));
        let fits = MAX_TEXT_BYTES / (2 * MAX_LINK_BYTES);
        assert!(!read(&link.repeat(fits)).is_cut);
        assert!(read(&link.repeat(4 * fits)).is_cut);
    }

    proptest! {
        #[test]
        fn no_page_breaks_the_reader(
            parts in prop::collection::vec(
                prop_oneof![
                    Just("<a href='/x'>"), Just("</a>"), Just("<pre>"), Just("</pre>"), Just("<li>"), Just("<ol>"),
                    Just("</ol>"), Just("<h2>"), Just("</h2>"), Just("<code>"), Just("</code>"), Just("<svg>"),
                    Just("</svg>"), Just("<title>"), Just("</title>"), Just("<td>"), Just("<tr>"), Just("<br/>"),
                    Just("\u{e9} \n"), Just("&lt;&#x1F600;&"), Just("<!--"), Just("<"), Just("x"), Just("<head>"), Just("<body>"),
                ],
                0..60,
            )
        ) {
            let page: String = parts.concat();
            read(&page);
        }
    }
}
