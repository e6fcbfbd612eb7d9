//! Arguments that a model wrote as tags (`<parameter=path>src/a.rs</parameter>`), as Qwen3-Coder does.

/// How a parameter begins, up to its name, and how it ends.
const BEGIN: &str = "<parameter=";
const END: &str = "</parameter>";

/// How the call ends behind its last parameter.
const CALL_END: &str = "</function>";

/// Bytes of a tag: names of parameters are short.
const MAX_TAG: usize = 256;

/// The parameters of one call on their way.
#[derive(Default)]
pub(super) struct Parameters {
    /// Names and values, in the order in which the model wrote them.
    whole: Vec<(String, String)>,
    /// The tag that is being read.
    tag: String,
    /// The parameter whose value is being read.
    open: Option<(String, String)>,
}

/// Whether the parameters go on after a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    More,
    /// They are all there, and the call is closed.
    Whole,
    /// They are no parameters.
    Misfit,
}

impl Parameters {
    pub(super) fn take(&mut self, character: char) -> Progress {
        if let Some((name, mut value)) = self.open.take() {
            value.push(character);
            match value.strip_suffix(END) {
                Some(value) => self.whole.push((name, without_outer_breaks(value).to_owned())),
                None => self.open = Some((name, value)),
            }
            return Progress::More;
        }
        if self.tag.is_empty() && character.is_whitespace() {
            return Progress::More;
        }
        self.tag.push(character);
        if self.tag == CALL_END {
            return Progress::Whole;
        }
        if let Some(name) = self.tag.strip_prefix(BEGIN).and_then(|tag| tag.strip_suffix('>')) {
            let name = name.trim();
            // A name that comes twice says two things.
            if name.is_empty() || self.whole.iter().any(|(known, _)| known == name) {
                return Progress::Misfit;
            }
            self.open = Some((name.to_owned(), String::new()));
            self.tag.clear();
            return Progress::More;
        }
        let is_begun = [BEGIN, CALL_END].iter().any(|whole| whole.starts_with(&self.tag));
        let is_naming = self.tag.starts_with(BEGIN) && self.tag.len() < MAX_TAG;
        if is_begun || is_naming { Progress::More } else { Progress::Misfit }
    }

    pub(super) fn into_values(self) -> Vec<(String, String)> {
        self.whole
    }
}

/// The value without the line breaks that set it apart from its tags; any other blank belongs to it.
fn without_outer_breaks(value: &str) -> &str {
    let value = value.strip_prefix("\r\n").or_else(|| value.strip_prefix('\n')).unwrap_or(value);
    value.strip_suffix("\r\n").or_else(|| value.strip_suffix('\n')).unwrap_or(value)
}
