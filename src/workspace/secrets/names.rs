//! What a file's name, and those of the folders above it, say of keys and passwords in it. Names count in any case, and a
//! copy that an editor or a person put aside counts as the file itself.

use std::path::Path;

use super::content::Form;
use crate::workspace::guard;

/// What a name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Naming {
    Plain,
    /// The content decides.
    Perhaps(Form),
    Secret,
}

pub(super) fn of(path: &Path) -> Naming {
    let mut parts = guard::plain_parts(path);
    let Some(name) = parts.pop() else { return Naming::Plain };
    let name = without_backup(&name);
    // The swap file of `a.pem` is `.a.pem.swp`, that of `.npmrc` has two dots.
    let swapped = name.strip_prefix('.').unwrap_or(name);
    let text = name.strip_suffix(".txt").unwrap_or(name);
    let mut said = Naming::Plain;
    // What a template is filled in with is kept elsewhere, mostly.
    let template = TEMPLATE_ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name);
    if template != name && of_name(template, &parts) != Naming::Plain {
        said = Naming::Perhaps(Form::Data);
    }
    for name in [name, swapped, text] {
        match (of_name(name, &parts), said) {
            (Naming::Secret, _) => return Naming::Secret,
            (perhaps, Naming::Plain) => said = perhaps,
            _ => {}
        }
    }
    said
}

/// `name` and the `folders` above it are in lower case.
fn of_name(name: &str, folders: &[String]) -> Naming {
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let last_word = name.rsplit(['.', '-', '_']).next().unwrap_or(name);
    let is_public_key = last_word == "pub" && !name.starts_with(".env");
    if PUBLIC_ENDINGS.contains(&last_word) || is_public_key {
        return Naming::Plain;
    }
    let is_in = |wanted: &str| folders.iter().any(|folder| folder == wanted);
    let folder = folders.last().map_or("", String::as_str);
    let is_code = CODE_EXTENSIONS.contains(&extension);
    let is_data = DATA_EXTENSIONS.contains(&extension);
    let is_environment = name.strip_prefix(".env").is_some_and(|rest| {
        !rest.starts_with(char::is_alphabetic) || ENVIRONMENTS.iter().any(|kind| rest.starts_with(kind))
    });
    let is_secret = is_environment && !ABOUT_ENVIRONMENTS.contains(&extension)
        || SECRET_NAMES.contains(&name)
        || SECRET_EXTENSIONS.contains(&extension)
        || SECRET_PARTS.iter().any(|part| name.contains(part))
        || SECRET_IN_FOLDER.contains(&(folder, name))
        || SECRET_FOLDERS.iter().any(|secret| is_in(secret))
        || is_in("gcloud") && is_in(".config")
        || is_in(".git") && name.starts_with("config")
        || is_data && SECRET_STEMS.contains(&stem)
        || !is_code && PRIVATE_KEYS.iter().any(|key| name.starts_with(key));
    if is_secret {
        return Naming::Secret;
    }
    let mut words = stem.split(['.', '-', '_', ' ']);
    // `secrets/db_password`, as containers get them: nothing but the value.
    let is_bare = folder == "secrets" && !name.contains('.');
    let is_perhaps = is_environment
        || PERHAPS_NAMES.contains(&name)
        || extension == "pem"
        || is_in(".azure")
        || is_bare
        || is_data
            && (is_in("secrets")
                || words.any(|word| PERHAPS_WORDS.contains(&word))
                || PERHAPS_STEMS.iter().any(|part| stem.contains(part)));
    match extension {
        _ if !is_perhaps => Naming::Plain,
        "pem" => Naming::Perhaps(Form::Armour),
        "txt" | "csv" => Naming::Perhaps(Form::Words),
        _ if is_bare => Naming::Perhaps(Form::Words),
        _ if is_code => Naming::Perhaps(Form::Code),
        _ => Naming::Perhaps(Form::Data),
    }
}

/// The name of the file of which this is a copy put aside: `.env` for `.env~`, `#.env#`, `.#.env`, `.env.bak`.
fn without_backup(name: &str) -> &str {
    let mut name = name;
    loop {
        let rest = name.trim_end_matches(['~', '#']).trim_start_matches('#');
        let rest = rest.strip_prefix(".#").unwrap_or(rest);
        let ending = rest.rsplit_once('.').filter(|(_, ending)| {
            // One of several: `.old2`, `.1`.
            let kind = ending.trim_end_matches(|c: char| c.is_ascii_digit());
            BACKUP_ENDINGS.contains(&kind) || (kind.is_empty() && !ending.is_empty())
        });
        let rest = ending.map_or(rest, |(rest, _)| rest);
        if rest.len() == name.len() || rest.is_empty() {
            return name;
        }
        name = rest;
    }
}

/// Of copies and of what packs them.
const BACKUP_ENDINGS: &[&str] = &[
    "bak", "backup", "old", "orig", "save", "saved", "copy", "tmp", "swp", "swo", "swn", "gz", "bz2", "xz",
    "zst", "zip", "gpg", "age", "enc",
];
/// What people write right behind `.env`.
const ENVIRONMENTS: &[&str] = &["prod", "dev", "local", "test", "stag", "secret", "backup", "old", "copy"];
/// Of templates that a tool fills in.
const TEMPLATE_ENDINGS: &[&str] = &[".j2", ".jinja", ".jinja2", ".erb", ".tpl", ".tmpl"];
/// Templates are written to be shared.
const PUBLIC_ENDINGS: &[&str] = &["example", "sample", "template", "dist"];
/// Programs that handle secrets are called after them.
const CODE_EXTENSIONS: &[&str] = &[
    "rs", "go", "py", "js", "mjs", "cjs", "ts", "jsx", "tsx", "vue", "c", "h", "cc", "cpp", "hpp", "cs",
    "java", "kt", "rb", "php", "swift", "scala", "ex", "exs", "hs", "ml", "zig", "lua", "el", "sh", "md",
    "rst", "html", "css",
];
const DATA_EXTENSIONS: &[&str] =
    &["json", "yaml", "yml", "toml", "ini", "conf", "cfg", "properties", "xml", "txt", "csv", "db", "sqlite"];
const SECRET_NAMES: &[&str] = &[
    ".netrc",
    "_netrc",
    ".git-credentials",
    ".pypirc",
    ".pgpass",
    "pgpass.conf",
    ".htpasswd",
    ".vault-token",
    ".vault_pass",
    ".vault-pass",
    ".secrets",
    ".dockercfg",
    ".dockerconfigjson",
    ".s3cfg",
    ".boto",
    ".my.cnf",
    ".mylogin.cnf",
    ".terraformrc",
    ".smbcredentials",
    ".msmtprc",
    ".fetchmailrc",
    "rclone.conf",
    "kubeconfig",
];
const SECRET_EXTENSIONS: &[&str] = &[
    "env", "key", "p8", "p12", "pfx", "pkcs12", "jks", "jceks", "keystore", "keytab", "ppk", "kdb", "kdbx",
    "ovpn", "tfvars", "tfstate",
];
const SECRET_PARTS: &[&str] = &[".tfvars.", ".tfstate."];
const SECRET_FOLDERS: &[&str] = &[".ssh", ".gnupg", ".password-store"];
const SECRET_IN_FOLDER: &[(&str, &str)] = &[
    (".aws", "credentials"),
    (".kube", "config"),
    (".docker", "config.json"),
    (".cargo", "credentials"),
    (".gem", "credentials"),
    ("gh", "hosts.yml"),
    ("glab-cli", "config.yml"),
    (".m2", "settings.xml"),
    (".gradle", "gradle.properties"),
    (".codex", "auth.json"),
];
/// Names of files of data that hold nothing else: `credentials.toml`.
const SECRET_STEMS: &[&str] = &["credential", "credentials", "password", "passwords"];
/// What tools keep tokens in beside their other settings, and shells variables of every kind.
const PERHAPS_NAMES: &[&str] = &[".npmrc", ".yarnrc", ".yarnrc.yml", ".envrc"];
/// A file of data with such a word in its name: `app-secrets.yaml`, `password-reset.json`.
const PERHAPS_WORDS: &[&str] = &["credential", "credentials", "secret", "secrets", "password", "passwords"];
/// The same for what is several words.
const PERHAPS_STEMS: &[&str] =
    &["service-account", "service_account", "serviceaccount", "application_default", "kubeconfig"];
/// What says of variables which there are, and seldom what is in them: `.env.d.ts`, `.env.schema`.
const ABOUT_ENVIRONMENTS: &[&str] = &["ts", "mts", "cts", "js", "mjs", "cjs", "schema", "md"];
/// People add a word behind: `id_rsa_work`.
const PRIVATE_KEYS: &[&str] = &["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_xmss"];

#[cfg(test)]
mod tests {
    use super::*;

    fn check(names: &[&str], wanted: fn(Naming) -> bool) {
        for name in names {
            let naming = of(Path::new(name));
            assert!(wanted(naming), "{name}: {naming:?}");
        }
    }

    #[test]
    fn a_secret_is_one_in_every_copy_spelling_and_place() {
        let names = [
            ".env",
            ".env.local",
            "a/.ENV",
            ".env~",
            "#.env#",
            ".#.env",
            ".env.swp",
            ".env-prod",
            ".env_local",
            ".env2",
            ".envprod",
            ".env.pub",
            ".env.json",
            ".env.sh",
            "prod.env",
            "prod.env.txt",
            "tls.key",
            ".netrc",
            ".git-credentials",
            ".git-credentials.old2",
            ".netrc.gpg",
            ".vault_pass",
            ".secrets",
            "id_rsa",
            "id_rsa_work",
            "id_rsa.bak",
            "id_rsa.old",
            "id_rsa.2024",
            "a/.git/config",
            ".git/modules/x/config",
            ".docker/config.json",
            ".aws/credentials",
            ".AWS/Credentials",
            ".ssh/work",
            ".ssh/config",
            ".ssh/id_ed25519",
            ".gnupg/private-keys-v1.d/x",
            ".vault-token",
            "credentials.json",
            "passwords.txt",
            "terraform.tfvars",
            "terraform.tfstate.backup",
            "prod.auto.tfvars.json",
            ".cargo/credentials.toml",
            ".config/gh/hosts.yml",
            ".config/gcloud/access_tokens.db",
            "secrets/.env",
        ];
        check(&names, |naming| naming == Naming::Secret);
    }

    #[test]
    fn of_a_name_that_only_may_be_a_secret_the_content_decides() {
        let names = [
            "certs/server.pem",
            "server.pem.gz",
            "server.pem.bak",
            "server.pem~",
            ".server.pem.swp",
            "key.pem.txt",
            "secrets/prod.txt",
            "secrets/db_password",
            "run/secrets/jwt",
            "config/secrets.yml.erb",
            "group_vars/secrets.yml.j2",
            "credentials.json.tmpl",
            "packages/secrets/package.json",
            "templates/secret.yaml",
            "app-secrets.yaml",
            "locales/password-reset.json",
            "kubeconfig.yaml",
            "templates/serviceaccount.yaml",
            "my-service-account-prod.json",
            ".npmrc",
            "..npmrc.swp",
            ".yarnrc.yml",
            ".envrc",
            ".env.d.ts",
            ".env.schema",
            ".azure/pipelines.yml",
        ];
        check(&names, |naming| matches!(naming, Naming::Perhaps(_)));
    }

    #[test]
    fn templates_programs_and_public_keys_hold_no_secrets() {
        let names = [
            ".env.example",
            ".env.sample",
            ".env-example",
            ".env.example.bak",
            ".ssh/id_rsa.pub",
            "id_rsa.pub",
            "id_map.rs",
            "id_rsa.rs",
            "src/env.rs",
            "environment",
            "key",
            "keys.rs",
            "monkey",
            "credentials",
            "credentials.rs",
            "secrets.md",
            "docker/config.json",
            ".environment",
            ".envoy",
            "src/secrets/mod.rs",
            "src/secrets/tests/names",
            "app.yml.j2",
            "key.txt.rs",
            "src/tokens.json",
            "config",
            ".cargo/config.toml",
            ".npmignore",
            "main.rs.bak",
            "main.rs.gz",
            "~",
            "#",
            "..",
            "",
        ];
        check(&names, |naming| naming == Naming::Plain);
    }
}
