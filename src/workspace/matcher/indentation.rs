//! The indentation of the lines that were looked for, and that of the lines that were found.

use super::lines::{Lines, split_lead};

/// How the indentation that a model wrote becomes that of the file.
#[derive(Clone, Debug, Default)]
pub(super) struct Indentation {
    /// What the model wrote and what the file has, each pair once; the most frequent of a line's pairs first. Empty: what
    /// the model wrote is right.
    known: Vec<(String, String)>,
    /// What one step is in what the model wrote and in the file, in characters.
    steps: (usize, usize),
    /// Of what the file's indentation is made.
    fill: char,
    /// Applies to the very first line alone, which was quoted from behind its indentation.
    first: Option<String>,
}

/// The same written indentation stood for different ones: no change of indentation explains the lines.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Uneven;

impl Indentation {
    /// From the pairs of lines that belong together (as written, as in the file), none blank, in order. `units` are the
    /// usual steps of the model's text and of the file, for where the pairs do not tell.
    pub(super) fn of(pairs: &[(&str, &str)], units: (usize, usize)) -> Result<Self, Uneven> {
        if let Some(even) = Self::even(pairs, units) {
            return Ok(even);
        }
        // Models often quote a block from the first character that is no blank on.
        let [(written, found), rest @ ..] = pairs else { return Err(Uneven) };
        if !split_lead(written).0.is_empty() || rest.is_empty() {
            return Err(Uneven);
        }
        let mut rest = Self::even(rest, units).ok_or(Uneven)?;
        rest.first = Some(split_lead(found).0.to_owned());
        Ok(rest)
    }

    /// As `of`, but where the lines disagree the most frequent pair counts.
    pub(super) fn mostly(pairs: &[(&str, &str)], units: (usize, usize)) -> Self {
        let mut counted: Vec<((&str, &str), usize)> = Vec::new();
        for (written, found) in pairs {
            let pair = (split_lead(written).0, split_lead(found).0);
            match counted.iter_mut().find(|(known, _)| *known == pair) {
                Some((_, count)) => *count += 1,
                None => counted.push((pair, 1)),
            }
        }
        counted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let mut known: Vec<(&str, &str)> = Vec::new();
        for (pair, _) in counted {
            let keeps_order = |(written, found): &(&str, &str)| {
                pair.0.len().cmp(&written.len()) == pair.1.len().cmp(&found.len())
            };
            if known.iter().all(keeps_order) {
                known.push(pair);
            }
        }
        Self::known(known, units)
    }

    fn even(pairs: &[(&str, &str)], units: (usize, usize)) -> Option<Self> {
        let mut known: Vec<(&str, &str)> = Vec::new();
        for (written, found) in pairs {
            let pair = (split_lead(written).0, split_lead(found).0);
            let fits = |other: &(&str, &str)| {
                // Deeper stays deeper, and the same stays the same: blocks are kept.
                let depth = pair.0.len().cmp(&other.0.len());
                depth == pair.1.len().cmp(&other.1.len()) && (depth.is_ne() || pair == *other)
            };
            if !known.iter().all(fits) {
                return None;
            }
            if !known.contains(&pair) {
                known.push(pair);
            }
        }
        Some(Self::known(known, units))
    }

    fn known(known: Vec<(&str, &str)>, units: (usize, usize)) -> Self {
        if known.iter().all(|(written, found)| written == found) {
            return Self::default();
        }
        let shallow = known.iter().min_by_key(|(written, _)| written.len());
        let deep = known.iter().max_by_key(|(written, _)| written.len());
        let mut steps = units;
        if let (Some(shallow), Some(deep)) = (shallow, deep) {
            let differ = (deep.0.len() - shallow.0.len(), deep.1.len().saturating_sub(shallow.1.len()));
            if differ.0 > 0 && differ.1 > 0 {
                steps = differ;
            } else if deep.1.starts_with('\t') && deep.0.starts_with(' ') && deep.0.len() % deep.1.len() == 0
            {
                steps = (deep.0.len() / deep.1.len(), 1);
            } else if deep.0.starts_with('\t') && deep.1.starts_with(' ') && deep.1.len() % deep.0.len() == 0
            {
                steps = (1, deep.1.len() / deep.0.len());
            }
        }
        let has_tabs = known.iter().any(|(_, found)| found.contains('\t'));
        let fill = if has_tabs { '\t' } else { ' ' };
        let known =
            known.into_iter().map(|(written, found)| (written.to_owned(), found.to_owned())).collect();
        let common = greatest_divisor(steps.0.max(1), steps.1.max(1));
        let steps = (steps.0.max(1) / common, steps.1.max(1) / common);
        Self { known, steps, fill, first: None }
    }

    pub(super) fn is_kept(&self) -> bool {
        self.known.is_empty() && self.first.is_none()
    }

    /// A line as the model wrote it, indented as the file is. Blank lines get none.
    pub(super) fn apply(&self, line: &str, is_first: bool) -> String {
        if self.is_kept() {
            return line.to_owned();
        }
        let (lead, body) = split_lead(line);
        if body.is_empty() {
            return String::new();
        }
        match &self.first {
            Some(first) if is_first => format!("{first}{body}"),
            _ => format!("{}{body}", self.lead(lead)),
        }
    }

    fn lead(&self, written: &str) -> String {
        if let Some((_, found)) = self.known.iter().find(|(known, _)| known == written) {
            return found.clone();
        }
        let below = self.known.iter().filter(|(known, _)| written.starts_with(&**known));
        if let Some((known, found)) = below.max_by_key(|(known, _)| known.len()) {
            let (steps, rest) = self.steps_of(written.len() - known.len());
            return format!("{found}{}{}", self.fill.to_string().repeat(steps), " ".repeat(rest));
        }
        let above = self.known.iter().filter(|(known, _)| known.starts_with(written));
        match above.min_by_key(|(known, _)| known.len()) {
            Some((known, found)) => {
                let (steps, rest) = self.steps_of(known.len() - written.len());
                let kept = found.chars().count().saturating_sub(steps + rest);
                found.chars().take(kept).collect()
            }
            None => written.to_owned(),
        }
    }

    /// How many characters of the file's indentation so many of the written one are, and how many spaces are left over.
    fn steps_of(&self, written: usize) -> (usize, usize) {
        let (own, files) = self.steps;
        (written / own * files, written % own)
    }
}

fn greatest_divisor(one: usize, other: usize) -> usize {
    if other == 0 { one } else { greatest_divisor(other, one % other) }
}

/// The step by which a text indents, in characters, as most of its lines do; a tab is one.
pub(super) fn usual_step(lines: &Lines<'_>) -> Option<usize> {
    let mut counts = [0usize; MAX_STEP + 1];
    let mut before = 0;
    for line in lines.contents().filter(|line| !line.trim().is_empty()).take(MAX_LINES_LOOKED_AT) {
        let depth = split_lead(line).0.len();
        if let Some(count) = depth.checked_sub(before).and_then(|step| counts.get_mut(step)) {
            *count += 1;
        }
        before = depth;
    }
    let most =
        counts.iter().enumerate().skip(1).max_by_key(|(step, count)| (**count, std::cmp::Reverse(*step)))?;
    (*most.1 > 0).then_some(most.0)
}

/// Deeper steps are alignment.
const MAX_STEP: usize = 8;
/// The style of a file shows in its first lines.
const MAX_LINES_LOOKED_AT: usize = 5_000;
