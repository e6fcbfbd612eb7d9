//! Prints how fast texts are looked through for keys, and how many masks stand in texts that hold none: other people's
//! published code, by default the crates that this one is built from.
//!
//! `cargo bench --bench keys [-- FOLDER]`

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark prints its figures, and fails by panicking"
)]

use std::{env, fs, path::PathBuf, time::Instant};

use askls::workspace::keys::{MASK, masked};
use ignore::WalkBuilder;

/// Bytes that are looked through: enough to count what is rare.
const MOST_BYTES: usize = 200 * 1024 * 1024;

/// Longer files are data.
const LONGEST_FILE: u64 = 1024 * 1024;

/// Masks whose lines are shown, to see what they stand for.
const SHOWN: usize = 20;

fn main() {
    let named = env::args().skip(1).find(|argument| !argument.starts_with('-')).map(PathBuf::from);
    let folder = named.unwrap_or_else(|| {
        let home = env::var_os("CARGO_HOME").map(PathBuf::from);
        let home = home.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cargo")));
        home.expect("a home folder").join("registry").join("src")
    });
    let mut texts = Vec::new();
    let mut bytes = 0;
    for entry in WalkBuilder::new(&folder).standard_filters(false).build().flatten() {
        let is_text = entry.metadata().is_ok_and(|file| file.is_file() && file.len() <= LONGEST_FILE);
        let Some(text) = is_text.then(|| fs::read_to_string(entry.path()).ok()).flatten() else { continue };
        bytes += text.len();
        texts.push((entry.into_path(), text));
        if bytes >= MOST_BYTES {
            break;
        }
    }
    let (mut masks, mut lines, mut files, mut shown) = (0, 0, 0, 0);
    let start = Instant::now();
    let found: Vec<_> = texts.iter().map(|(path, text)| (path, text, masked(text))).collect();
    let seconds = start.elapsed().as_secs_f64();
    for (path, text, masked) in &found {
        lines += text.lines().count();
        let count = masked.matches(MASK).count() - text.matches(MASK).count();
        masks += count;
        files += usize::from(count > 0);
        for line in masked.lines().filter(|line| line.contains(MASK)) {
            if shown < SHOWN {
                let line: String = line.trim().chars().take(120).collect();
                let name = path.strip_prefix(&folder).unwrap_or(path).display();
                println!("  {name}: {line}");
                shown += 1;
            }
        }
    }
    let megabytes = bytes as f64 / 1e6;
    println!("looked through: {megabytes:.0} MB, {lines} lines, {} files", texts.len());
    println!("speed: {:.0} MB/s", megabytes / seconds);
    println!("masks: {masks} in {files} files, one in {} lines", lines / masks.max(1));
}
