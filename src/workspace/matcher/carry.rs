//! Carries an edit over to the lines of the file: what a model wrote differently but did not mean to change stays as the
//! file has it.
//!
//! An edit is what has to be done to `find` to make it `replace_with`, line by line. It is done to the file's lines that
//! `find` stands for, so a line that both share keeps its bytes, whatever the model made of them. Where a line is changed
//! that the file has otherwise, both changes are made, word by word, or none: then the edit is in conflict.

use std::ops::Range;

use super::{
    fold::{fancy_only_in, plain},
    indentation::Indentation,
    lines::{Lines, split_lead},
    merge::{Group, MIN_LINE_LIKENESS, changes, is_alike, is_same, likeness, merge, slide_up},
};

/// What a model wants to have changed.
pub(super) struct Edit<'a> {
    pub(super) find: Lines<'a>,
    pub(super) replace: Lines<'a>,
    groups: Vec<Group>,
}

/// Where a line of `find` stands in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) content: Range<usize>,
    /// Behind the line end, as far as `find` has one.
    pub(super) end: usize,
}

/// A stretch of the file that `find` stands for.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) range: Range<usize>,
    /// One for each line of `find`; `None` for what the file does not have. What lies between them in the file stays.
    pub(super) pieces: Vec<Option<Piece>>,
    pub(super) indentation: Indentation,
}

/// The edit changes what the file has otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conflict {
    /// This line of `find` (from zero) is another one in the file, or none.
    Line(usize),
    /// Before this line of `find`, among lines that go, the file has lines that it does not show.
    Hidden(usize),
}

impl<'a> Edit<'a> {
    /// Blanks at the ends of lines count for nothing: an edit that is to change them has to be exact.
    pub(super) fn new(find: &'a str, replace: &'a str) -> Self {
        Self::by(find, replace, str::trim_end)
    }

    /// For a `find` that stands in the file as it is.
    pub(super) fn exact(find: &'a str, replace: &'a str) -> Self {
        Self::by(find, replace, |line| line)
    }

    fn by(find: &'a str, replace: &'a str, key: fn(&str) -> &str) -> Self {
        let (find, replace) = (Lines::new(find), Lines::new(replace));
        let key = |lines: &Lines<'a>, line: usize| (key(lines.content(line)), lines.has_end(line));
        let old: Vec<_> = (0..find.len()).map(|line| key(&find, line)).collect();
        let new: Vec<_> = (0..replace.len()).map(|line| key(&replace, line)).collect();
        let mut groups = changes(&old, &new);
        slide_up(&mut groups, &old, &new);
        Self { find, replace, groups }
    }

    /// What takes the place's stretch of the file.
    pub(super) fn carry(&self, file: &Lines<'_>, place: &Place) -> Result<String, Conflict> {
        let here = file.text.get(place.range.clone()).unwrap_or_default();
        let fancy = if here == self.find.text { Vec::new() } else { fancy_only_in(self.find.text, here) };
        Carrier { edit: self, file, place, fancy }.run()
    }

    /// The lines of `replace` that are not in `find`.
    pub(super) fn new_lines(&self) -> impl Iterator<Item = &'a str> {
        self.groups.iter().flat_map(|group| group.new.clone()).map(|line| self.replace.content(line))
    }
}

/// An edit on its way to one place of a file.
struct Carrier<'c, 't> {
    edit: &'c Edit<'t>,
    file: &'c Lines<'c>,
    place: &'c Place,
    /// Characters that the file writes plainly.
    fancy: Vec<char>,
}

/// A line of `find` and where the file has it.
type Target<'c> = (usize, &'c Piece);

impl<'c> Carrier<'c, '_> {
    fn run(&self) -> Result<String, Conflict> {
        let text = self.file.text;
        let mut made: Vec<(Range<usize>, String)> = Vec::new();
        for group in &self.edit.groups {
            self.carry_group(group, &mut made)?;
        }
        made.sort_by_key(|(range, _)| (range.start, range.end));
        let mut out = String::with_capacity(self.place.range.len());
        let mut done = self.place.range.start;
        for (range, new) in made {
            out.push_str(text.get(done..range.start).unwrap_or_default());
            out.push_str(&new);
            done = range.end.max(done);
        }
        out.push_str(text.get(done..self.place.range.end).unwrap_or_default());
        Ok(out)
    }

    fn carry_group(&self, group: &Group, made: &mut Vec<(Range<usize>, String)>) -> Result<(), Conflict> {
        let mut targets: Vec<Target<'c>> = Vec::new();
        for line in group.old.clone() {
            match self.piece(line) {
                Some(piece) => targets.push((line, piece)),
                None if self.is_blank(line) => {}
                None => return Err(Conflict::Line(line)),
            }
        }
        let (Some(&(first_line, first)), Some(&(last_line, last))) = (targets.first(), targets.last()) else {
            made.push(self.inserted(group)?);
            return Ok(());
        };
        let in_order = targets.is_sorted_by_key(|(_, piece)| piece.content.start);
        let is_closed = targets.windows(2).all(|pair| match pair {
            [(_, one), (_, other)] => {
                let between = self.file.text.get(one.end..other.content.start);
                between.unwrap_or_default().trim().is_empty()
            }
            _ => true,
        });
        if !in_order || !is_closed {
            if targets.len() != group.new.len() {
                return Err(if in_order { Conflict::Hidden(last_line) } else { Conflict::Line(first_line) });
            }
            // Each new line takes the place of its old one; what lies between stays.
            for (&target, new) in targets.iter().zip(group.new.clone()) {
                let piece = target.1;
                let out = self.lines(new..new + 1, |_| Some(target), piece.content.end)?;
                made.push((piece.content.start..piece.end, out));
            }
            return Ok(());
        }
        let partners = self.partners(&targets, group);
        for (index, &(line, piece)) in targets.iter().enumerate() {
            if !partners.contains(&Some(index)) && !is_alike(self.edit.find.content(line), self.own(piece)) {
                return Err(Conflict::Line(line));
            }
        }
        let partner = |index: usize| targets.get(partners.get(index).copied().flatten()?).copied();
        let out = self.lines(group.new.clone(), partner, last.content.end)?;
        made.push((first.content.start..last.end, out));
        Ok(())
    }

    fn piece(&self, line: usize) -> Option<&'c Piece> {
        self.place.pieces.get(line)?.as_ref()
    }

    /// The line as the file has it.
    fn own(&self, piece: &Piece) -> &'c str {
        self.file.text.get(piece.content.clone()).unwrap_or_default()
    }

    /// Whether a line of `find` is blank.
    fn is_blank(&self, line: usize) -> bool {
        self.edit.find.content(line).trim().is_empty()
    }

    /// Lines that are only added.
    fn inserted(&self, group: &Group) -> Result<(Range<usize>, String), Conflict> {
        let at = self.insertion(group.old.start)?;
        let mut out = self.lines(group.new.clone(), |_| None, at)?;
        let before = self.file.text.get(..at).unwrap_or_default();
        let is_behind_line = group.old.start == 0 || self.edit.find.has_end(group.old.start - 1);
        if is_behind_line
            && at == self.file.text.len()
            && !before.is_empty()
            && !before.ends_with(['\n', '\r'])
        {
            // Behind a last line without an end the new ones have none either.
            let end = self.file.end_around(at).unwrap_or("\n");
            out = format!("{end}{}", out.strip_suffix(end).unwrap_or(&out));
        }
        Ok((at..at, out))
    }

    /// Where lines go that are put before a line of `find`: directly behind the line before.
    fn insertion(&self, line: usize) -> Result<usize, Conflict> {
        let Some(above) = line.checked_sub(1) else { return Ok(self.place.range.start) };
        if let Some(before) = self.piece(above) {
            let next = self.piece(line).map_or(before.end, |next| next.content.start);
            let here = self.file.line_at(before.end);
            // Where a blank line stands for several, the new ones come behind all of them.
            let blanks = (here..self.file.len())
                .filter(|_| self.is_blank(above))
                .filter_map(|line| self.file.span(line))
                .take_while(|span| span.end <= next)
                .take_while(|span| {
                    self.file.text.get(span.content.clone()).is_some_and(|line| line.trim().is_empty())
                });
            return Ok(blanks.last().map_or(before.end, |span| span.end));
        }
        if let Some(behind) = self.piece(line) {
            return Ok(behind.content.start);
        }
        // A blank line that the file does not have stands for nothing: what is before it counts.
        let filled = (0..line).rev().find(|&line| !self.is_blank(line));
        filled.and_then(|line| self.piece(line)).map(|piece| piece.end).ok_or(Conflict::Line(line))
    }

    /// New lines, ended as those whose place they take. `partner` has that for the index of a new line; `around` is where
    /// they go.
    fn lines(
        &self,
        new: Range<usize>,
        partner: impl Fn(usize) -> Option<Target<'c>>,
        around: usize,
    ) -> Result<String, Conflict> {
        let replace = &self.edit.replace;
        let mut out = String::new();
        let mut line_end = None;
        for (index, line) in new.enumerate() {
            let written = plain(replace.content(line), &self.fancy);
            let partner = partner(index);
            match partner {
                Some(target) => out.push_str(&self.changed(target, &written, line == 0)?),
                None => out.push_str(&self.place.indentation.apply(&written, line == 0)),
            }
            let Some(span) = replace.span(line).filter(|_| replace.has_end(line)) else { continue };
            let own = partner.and_then(|(_, piece)| self.file.text.get(piece.content.end..piece.end));
            line_end = own.filter(|end| !end.is_empty()).or(line_end).or_else(|| self.end_before(around));
            let given = replace.text.get(span.content.end..span.end);
            out.push_str(line_end.or(given).unwrap_or("\n"));
        }
        Ok(out)
    }

    /// The end of the line before an offset inside the place, as that may be no true line end but an escape; else that of
    /// the lines around.
    fn end_before(&self, offset: usize) -> Option<&'c str> {
        let ended = self.place.pieces.iter().flatten().filter(|piece| piece.content.end < piece.end);
        let before = ended.rev().find(|piece| piece.end <= offset || piece.content.end == offset);
        match before {
            Some(piece) => self.file.text.get(piece.content.end..piece.end),
            None => self.file.end_around(offset),
        }
    }

    /// The file's line with what the model changed of it.
    fn changed(&self, (line, piece): Target<'c>, written: &str, is_first: bool) -> Result<String, Conflict> {
        let (found, own) = (self.edit.find.content(line), self.own(piece));
        if found == own {
            return Ok(written.to_owned());
        }
        if found.trim_end() == written.trim_end() {
            return Ok(own.to_owned());
        }
        let (old_lead, old_body) = split_lead(found.trim_end());
        let (own_lead, own_body) = split_lead(own.trim_end());
        let (lead, body) = split_lead(written);
        let body = merge(old_body, own_body, body).ok_or(Conflict::Line(line))?;
        if lead == old_lead && !body.is_empty() {
            return Ok(format!("{own_lead}{body}"));
        }
        Ok(self.place.indentation.apply(&format!("{lead}{body}"), is_first))
    }

    /// For each new line of a group the index of the old one whose place it takes.
    fn partners(&self, targets: &[Target<'c>], group: &Group) -> Vec<Option<usize>> {
        let differs = |&(line, piece): &Target<'c>| !is_same(self.edit.find.content(line), self.own(piece));
        if targets.len() == group.new.len() || !targets.iter().any(differs) {
            return (0..group.new.len()).map(|index| (index < targets.len()).then_some(index)).collect();
        }
        let mut free = 0;
        let mut partners = Vec::new();
        for new in group.new.clone() {
            let written = self.edit.replace.content(new).trim();
            let candidates = targets.iter().enumerate().skip(free);
            let best = candidates
                .map(|(index, (line, _))| (index, likeness(self.edit.find.content(*line).trim(), written)))
                .filter(|(_, likeness)| *likeness >= MIN_LINE_LIKENESS)
                .max_by(|one, other| one.1.total_cmp(&other.1).then(other.0.cmp(&one.0)));
            free = best.map_or(free, |(index, _)| index + 1);
            partners.push(best.map(|(index, _)| index));
        }
        partners
    }
}
