//! Holds the house in order: layers, fences, the length of files, and that the README names all that users can set
//! and call. Each rule is a function from a file to its faults, and is shown below to find a fault made on purpose.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// From the lowest to the highest: a module uses only what stands before it. Faces do not know each other.
const LAYERS: &[&[&str]] = &[
    &["protocol"],
    &["workspace"],
    &["model"],
    &["tools"],
    &["agent"],
    &["config", "signals"],
    &["cli", "lsp"],
    &["main", "lib"],
];

/// `model` stands beside `workspace`, not on it: a model knows no files.
const STRANGERS: &[(&str, &str)] = &[("model", "workspace")];

/// Words that may only stand in some places.
const FENCES: &[(&[&str], &[&str])] = &[
    (&["tower_lsp"], &["src/lsp"]),
    // Pages are fetched by other rules than models are asked: to public addresses, without a key.
    (&["reqwest"], &["src/model", "src/tools/fetch_url"]),
    (
        &["tokio::process", "process_wrap", "process::Command"],
        // What a command runs, and two programs of the user's own that stand in the settings.
        &["src/tools/run_command", "src/tools/hook", "src/config/key"],
    ),
    (
        &[
            "fs::write",
            "File::create",
            "OpenOptions",
            "fs::rename",
            "fs::remove_",
            "fs::create_dir",
            "fs::set_permissions",
            "tempfile::",
        ],
        // The sandbox writes only what says who a process is to the kernel, and tries whether it can.
        &["src/workspace", "src/agent/store", "src/tools/run_command/sandbox/system"],
    ),
    (
        &["env::var", "env::vars", "env::temp_dir"],
        // The command tool reads the names of variables, to keep keys from what it runs.
        &["src/config", "src/tools/run_command/environment"],
    ),
    (&["io::stdout"], &["src/main.rs", "src/cli", "src/lsp"]),
];

/// A file that is longer before its tests holds more than one thing.
const MAX_LINES: usize = 500;

/// One source file without its tests and comments, by its path from the root with `/`.
struct Source {
    path: String,
    code: String,
}

impl Source {
    fn new(path: &str, text: &str) -> Self {
        let before_tests = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let code = before_tests
            .lines()
            .map(|line| line.split("//").next().unwrap_or_default())
            .collect::<Vec<_>>()
            .join("\n");
        Self { path: path.to_owned(), code }
    }

    /// `src/lsp/server.rs` is of `lsp`.
    fn module(&self) -> &str {
        let inside = self.path.trim_start_matches("src/");
        let end = inside.find(['/', '.']).unwrap_or(inside.len());
        &inside[..end]
    }
}

fn rank(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

/// The modules that a `use crate::{…}` or a `crate::…` path names.
fn used_modules(code: &str) -> BTreeSet<String> {
    let mut used = BTreeSet::new();
    for (start, _) in code.match_indices("crate::") {
        let rest = &code[start + "crate::".len()..];
        match rest.strip_prefix('{') {
            None => used.extend(first_name(rest)),
            Some(group) => {
                let mut depth = 0;
                let mut at_start = true;
                for (i, c) in group.char_indices() {
                    match c {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => at_start = true,
                        c if at_start && c.is_alphabetic() => {
                            used.extend(first_name(&group[i..]));
                            at_start = false;
                        }
                        _ => {}
                    }
                }
            }
        }
    }
    used
}

fn first_name(text: &str) -> Option<String> {
    let name: String = text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    (!name.is_empty()).then_some(name)
}

fn layer_faults(source: &Source) -> Vec<String> {
    let module = source.module();
    let Some(own) = rank(module) else {
        return vec![format!("{}: {module} stands in no layer", source.path)];
    };
    let mut faults = Vec::new();
    for used in used_modules(&source.code) {
        let Some(other) = rank(&used) else { continue };
        let stranger = STRANGERS.contains(&(module, used.as_str()));
        if used != module && (other >= own || stranger) {
            faults.push(format!("{}: {module} must not use {used}", source.path));
        }
    }
    faults
}

fn fence_faults(source: &Source) -> Vec<String> {
    let mut faults = Vec::new();
    for (words, places) in FENCES {
        if places.iter().any(|place| source.path.starts_with(place)) {
            continue;
        }
        for word in words.iter().filter(|word| source.code.contains(**word)) {
            faults.push(format!("{}: {word} belongs in {}", source.path, places.join(", ")));
        }
    }
    faults
}

fn length_faults(source: &Source) -> Vec<String> {
    let lines = source.code.lines().count();
    if lines <= MAX_LINES { Vec::new() } else { vec![format!("{}: {lines} lines", source.path)] }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn sources() -> Vec<Source> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(&root().join("src"), &mut found);
    found.sort();
    found
        .iter()
        .map(|path| path.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/"))
        .filter(|path| {
            !path.ends_with("/tests.rs") && !path.contains("/tests/") && !path.ends_with("/testing.rs")
        })
        .map(|path| Source::new(&path, &read(&path)))
        .collect()
}

#[track_caller]
fn assert_none(faults: Vec<String>) {
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn a_module_uses_only_what_stands_below_it() {
    assert_none(sources().iter().flat_map(layer_faults).collect());
}

#[test]
fn what_is_fenced_stays_behind_its_fence() {
    assert_none(sources().iter().flat_map(fence_faults).collect());
}

#[test]
fn no_file_outgrows_its_purpose() {
    assert_none(sources().iter().flat_map(length_faults).collect());
}

/// Tests talk to servers on this machine, which a proxy does not reach; what `tests/run` installs comes through them.
#[cfg(target_os = "linux")]
#[test]
fn tests_run_without_the_proxies_and_keys_of_the_environment() {
    let script = read("tests/run");
    let start = script.find("\nisolated() {").unwrap();
    let function = &script[start..start + script[start..].find("\n}\n").unwrap() + 3];
    let names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"];
    let names = names.iter().flat_map(|name| [(*name).to_owned(), name.to_lowercase()]);
    let names = names.chain(["OPENAI_API_KEY".to_owned()]);
    let scratch = tempfile::tempdir().unwrap();
    let output = std::process::Command::new("bash")
        .args(["-c", &format!("scratch=$1\n{function}\nisolated 60 env"), "bash"])
        .arg(scratch.path())
        .envs(names.map(|name| (name, "http://proxy.invalid")))
        .output()
        .unwrap();
    let seen = String::from_utf8(output.stdout).unwrap();
    assert!(seen.contains("\nXDG_CONFIG_HOME="), "{seen}{}", String::from_utf8_lossy(&output.stderr));
    assert!(!seen.contains("proxy.invalid"), "{seen}");
}

#[test]
fn the_readme_names_every_setting_and_command() {
    let readme = read("README.md");
    let schema: serde_json::Value = serde_json::from_str(&read("settings.schema.json")).unwrap();
    let settings: Vec<String> = schema["properties"].as_object().unwrap().keys().cloned().collect();
    assert!(settings.len() > 10, "the schema lists no settings");
    let commands = server_commands();
    assert!(commands.len() >= 7, "found only {commands:?}");
    let missing: Vec<String> =
        settings.into_iter().chain(commands).filter(|name| !readme.contains(&format!("`{name}`"))).collect();
    assert_none(missing);
}

/// Every `"askls.…"` that stands as a string in the server.
fn server_commands() -> BTreeSet<String> {
    let server = sources().into_iter().filter(|source| source.module() == "lsp");
    server
        .flat_map(|source| {
            let pieces: Vec<String> = source.code.split('"').map(str::to_owned).collect();
            pieces
        })
        .filter(|piece| {
            piece
                .strip_prefix("askls.")
                .is_some_and(|rest| rest.chars().all(char::is_alphabetic) && !rest.is_empty())
        })
        .collect()
}

#[test]
fn each_rule_finds_a_fault_made_on_purpose() {
    let faults = |path: &str, text: &str| {
        let source = Source::new(path, text);
        [layer_faults(&source), fence_faults(&source), length_faults(&source)].concat()
    };
    assert_eq!(faults("src/agent.rs", "use crate::lsp::Session;"), ["src/agent.rs: agent must not use lsp"]);
    assert_eq!(
        faults("src/cli.rs", "use crate::{agent::Agent, lsp::{Session, agent}};"),
        ["src/cli.rs: cli must not use lsp"]
    );
    assert_eq!(
        faults("src/model/chat.rs", "fn f() { crate::workspace::x() }"),
        ["src/model/chat.rs: model must not use workspace"]
    );
    assert_eq!(
        faults("src/agent.rs", "use tower_lsp::Client;"),
        ["src/agent.rs: tower_lsp belongs in src/lsp"]
    );
    assert_eq!(
        faults("src/cli.rs", "std::fs::write(path, text)"),
        [
            "src/cli.rs: fs::write belongs in src/workspace, src/agent/store, src/tools/run_command/sandbox/system"
        ]
    );
    assert_eq!(faults("src/cli.rs", "// reqwest is elsewhere"), [] as [&str; 0]);
    assert_eq!(faults("src/cli.rs", &"x();\n".repeat(501)), ["src/cli.rs: 501 lines"]);
    assert_eq!(faults("src/attic.rs", ""), ["src/attic.rs: attic stands in no layer"]);
}
