//! The folder or file in which a wish is to look: words that may name one are compared with what is there.

use super::{
    board::{Board, Call, Needed},
    files::{append_sentence, by_name},
    outputs::Listing,
    section::{Section, ticked},
    wish::{Scope, ToldAs},
};

/// Folders that are told when the one that was named is not there.
const MAX_FOLDERS: usize = 12;

/// What a scope turned out to be.
enum Place {
    /// No scope was named, or what was named is only a word of the sentence.
    Everywhere,
    At(String),
    /// There is no such folder; what there is instead.
    Missing {
        name: String,
        tree: Listing,
    },
}

/// Looks in the place that was named. Where there is none of this name, all files are searched, and it is said.
pub(super) fn in_place(
    scope: Option<&Scope>,
    board: &Board<'_>,
    run: impl FnOnce(Option<&str>) -> Result<Section, Needed>,
) -> Result<Section, Needed> {
    match place(scope, board)? {
        Place::Everywhere => run(None),
        Place::At(path) => run(Some(&path)),
        Place::Missing { name, tree } => {
            // A file may be named without its ending.
            let file = by_name(&tree, &name).into_iter().find(|path| stem(path).eq_ignore_ascii_case(&name));
            if let Some(file) = file {
                return run(Some(&file));
            }
            let found = run(None)?;
            let mut headline =
                format!("There is no folder or file named {}, so all files were searched.", ticked(&name));
            append_sentence(&mut headline, &found.headline);
            Ok(Section { headline, ..found })
        }
    }
}

/// Looks in the folder that was named. Where there is none of this name, nothing else is shown in its stead.
pub(super) fn in_folder(
    scope: Option<&Scope>,
    board: &Board<'_>,
    run: impl FnOnce(Option<&str>) -> Result<Section, Needed>,
) -> Result<Section, Needed> {
    match place(scope, board)? {
        Place::Everywhere => run(None),
        Place::At(path) => run(Some(&path)),
        Place::Missing { name, tree } => {
            let mut section = Section::said(format!("There is no folder named {}.", ticked(&name)));
            let like = by_name(&tree, &name);
            let told = |paths: &mut dyn Iterator<Item = &str>| {
                paths.take(MAX_FOLDERS).map(ticked).collect::<Vec<_>>().join(", ")
            };
            if !like.is_empty() {
                section.paragraph(&format!(
                    "Files with such a name: {}.",
                    told(&mut like.iter().map(String::as_str))
                ));
            }
            let folders = told(&mut folders(&tree));
            if !folders.is_empty() {
                section.paragraph(&format!("Folders that are there: {folders}."));
            }
            Ok(section.with_files(like))
        }
    }
}

fn place(scope: Option<&Scope>, board: &Board<'_>) -> Result<Place, Needed> {
    let Some(scope) = scope else { return Ok(Place::Everywhere) };
    let name = scope.path.as_str();
    if scope.told_as == ToldAs::Path && name.contains(['/', '.']) {
        return Ok(Place::At(name.to_owned()));
    }
    let known = board.ask(Call::new("list_files").with("path", name).with("depth", 1))?;
    if !known.is_error {
        return Ok(Place::At(name.to_owned()));
    }
    let all = board.ask(Call::new("list_files"))?;
    if all.is_error {
        // What is there is not known: the search itself says whether the place is.
        return Ok(Place::At(name.to_owned()));
    }
    let tree = Listing::parse(&all.text);
    let deeper =
        folders(&tree).filter(|path| last(path).eq_ignore_ascii_case(name)).min_by_key(|path| path.len());
    if let Some(folder) = deeper {
        return Ok(Place::At(folder.to_owned()));
    }
    Ok(match scope.told_as {
        ToldAs::Word => Place::Everywhere,
        ToldAs::Path | ToldAs::Place => Place::Missing { name: name.to_owned(), tree },
    })
}

fn folders(tree: &Listing) -> impl Iterator<Item = &str> {
    tree.paths.iter().filter_map(|path| path.strip_suffix('/'))
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn stem(path: &str) -> &str {
    let name = last(path);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}
