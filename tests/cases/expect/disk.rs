//! Files, buffers, and the edits that an editor was sent.

use std::{fs, path::Path};

use serde_json::Value;

use super::{Seen, short};
use crate::world;

pub(super) fn files(value: &Value, root: &Path) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(|file| fault(file, root)).collect()
}

fn fault(file: &Value, root: &Path) -> Option<String> {
    let name = file["path"].as_str().unwrap_or_default();
    let path = root.join(name);
    let metadata = fs::symlink_metadata(&path).ok();
    if file["absent"] == true {
        return metadata.is_some().then(|| format!("{name} is there"));
    }
    let Some(metadata) = metadata else { return Some(format!("{name} is not there")) };
    if let Some(target) = file["symlink"].as_str() {
        let found = fs::read_link(&path).map(|found| found.display().to_string());
        return (found.as_deref().ok() != Some(target)).then(|| format!("{name} is no link to {target}"));
    }
    if let Some(wanted) = world::bytes(file) {
        let found = fs::read(&path).unwrap_or_default();
        if found != wanted {
            let [found, wanted] = [&found, &wanted].map(|bytes| short(&String::from_utf8_lossy(bytes)));
            return Some(format!("{name} is {found:?}, not {wanted:?}"));
        }
    }
    let wanted = world::mode(file)?;
    let found = mode(&metadata);
    (found != Some(wanted)).then(|| format!("the mode of {name} is {:o}, not {wanted:o}", found.unwrap_or(0)))
}

#[cfg(unix)]
fn mode(metadata: &fs::Metadata) -> Option<u32> {
    Some(std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o7777)
}

#[cfg(not(unix))]
fn mode(_metadata: &fs::Metadata) -> Option<u32> {
    None
}

/// One of several states of the disk.
pub(super) fn any(value: &Value, root: &Path) -> Vec<String> {
    let states = value.as_array().cloned().unwrap_or_default();
    let faults: Vec<Vec<String>> = states.iter().map(|state| files(state, root)).collect();
    if faults.iter().any(Vec::is_empty) {
        return Vec::new();
    }
    vec![format!("none of {} states is on disk: {faults:?}", states.len())]
}

pub(super) fn listing(value: &Value, root: &Path) -> Vec<String> {
    let folder = root.join(value["path"].as_str().unwrap_or("."));
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    found.sort();
    let mut wanted: Vec<&str> =
        value["equals"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    wanted.sort_unstable();
    if found == wanted { Vec::new() } else { vec![format!("the folder holds {found:?}, not {wanted:?}")] }
}

pub(super) fn buffers(value: &Value, seen: &Seen<'_>) -> Vec<String> {
    let mut faults = Vec::new();
    for wanted in value.as_array().into_iter().flatten() {
        let uri = uri(wanted, seen);
        let text = wanted["text"].as_str().unwrap_or_default();
        match buffer(&uri, seen) {
            None => faults.push(format!("{uri} is not open")),
            Some(found) if found == text => {}
            Some(found) => {
                faults.push(format!("{uri} says {:?}, not {:?}", short(&found), short(&text)));
            }
        }
    }
    faults
}

fn uri(place: &Value, seen: &Seen<'_>) -> String {
    let path = || seen.world.uri(place["path"].as_str().unwrap_or_default());
    place["uri"].as_str().map_or_else(path, str::to_owned)
}

/// A document by any spelling of its URI.
fn buffer<'a>(uri: &str, seen: &Seen<'a>) -> Option<&'a str> {
    let place = seen.world.place(uri);
    let buffers = &seen.observed.buffers;
    let same = |other: &str| other == uri || (other.starts_with("file:") && seen.world.place(other) == place);
    buffers.iter().find(|(other, _)| same(other)).map(|(_, text)| text.as_str())
}

pub(super) fn edit_version(value: &Value, seen: &Seen<'_>) -> Vec<String> {
    let place = seen.world.place(&uri(value, seen));
    let mut versions = seen.observed.edit_versions.iter();
    let found = versions.find(|(uri, _)| seen.world.place(uri) == place).map(|(_, version)| *version);
    if found == value["version"].as_i64() {
        return Vec::new();
    }
    vec![format!("the edit names version {found:?}, not {}", value["version"])]
}

/// Every edit names its document as the client spelt it.
pub(super) fn edit_uri(seen: &Seen<'_>) -> Vec<String> {
    let opened: Vec<String> = seen.run.given["open_buffers"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|buffer| uri(buffer, seen))
        .collect();
    let edits = &seen.observed.edit_uris;
    if edits.is_empty() {
        return vec!["there is no edit".to_owned()];
    }
    let others = edits.iter().filter(|uri| !opened.contains(uri));
    others.map(|uri| format!("an edit names {uri}, which the client did not open")).collect()
}
