//! What may enter the dependency tree: licences, one version of each crate, banned crates, sources; and what the core may
//! use.
//!
//! The lists are those of `deny.toml`, read here so that nobody has to build `cargo deny` for them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::Value;

use crate::workspace;

/// Checks every package of the locked tree; returns a summary line or all that is wrong.
pub(crate) fn check() -> Result<String, String> {
    let text = fs::read_to_string(workspace::root().join("deny.toml"))
        .map_err(|error| format!("deny.toml: {error}"))?;
    let lists = Lists::read(&text)?;
    let packages = packages()?;
    let problems = problems(&lists, &packages);
    if problems.is_empty() {
        Ok(format!("summary: {} packages, all allowed", packages.len()))
    } else {
        Err(problems.join("\n    "))
    }
}

/// The lists of `deny.toml` that are enforced.
struct Lists {
    licences: BTreeSet<String>,
    banned: BTreeSet<String>,
    duplicates_allowed: BTreeSet<String>,
    registries: BTreeSet<String>,
}

impl Lists {
    fn read(text: &str) -> Result<Lists, String> {
        let list =
            |section, key| array(text, section, key).ok_or(format!("deny.toml has no {section}.{key}"));
        Ok(Lists {
            licences: list("licenses", "allow")?,
            banned: list("bans", "deny")?,
            duplicates_allowed: list("bans", "skip")?,
            registries: list("sources", "allow-registry")?,
        })
    }
}

struct Package {
    name: String,
    version: String,
    licence: String,
    source: Option<String>,
    /// What it uses when it is built, tests and build scripts apart.
    uses: Vec<String>,
}

fn packages() -> Result<Vec<Package>, String> {
    let output = workspace::cargo(&["metadata", "--format-version", "1", "--locked", "--all-features"])
        .output()
        .map_err(|error| format!("cargo metadata: {error}"))?;
    if !output.status.success() {
        return Err(format!(
            "cargo metadata: {}",
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    let metadata: Value =
        serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))?;
    let text = |package: &Value, key: &str| package[key].as_str().unwrap_or_default().to_owned();
    let packages = metadata["packages"]
        .as_array()
        .ok_or("cargo metadata lists no packages")?;
    Ok(packages
        .iter()
        .map(|package| Package {
            name: text(package, "name"),
            version: text(package, "version"),
            licence: text(package, "license"),
            source: package["source"].as_str().map(str::to_owned),
            uses: package["dependencies"]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|dependency| dependency["kind"].is_null())
                .map(|dependency| text(dependency, "name"))
                .collect(),
        })
        .collect())
}

fn problems(lists: &Lists, packages: &[Package]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in packages {
        versions
            .entry(&package.name)
            .or_default()
            .insert(&package.version);
        let called = format!("{} {}", package.name, package.version);
        if !licence_allowed(&package.licence, &lists.licences) {
            problems.push(format!("{called}: licence '{}' is not allowed", package.licence));
        }
        if lists.banned.contains(&package.name) {
            problems.push(format!("{called}: banned"));
        }
        if let Some(source) = &package.source
            && !source
                .strip_prefix("registry+")
                .is_some_and(|registry| lists.registries.contains(registry))
        {
            problems.push(format!("{called}: source '{source}' is not allowed"));
        }
        if package.name == "kraft-core" {
            let others = package
                .uses
                .iter()
                .filter(|name| !CORE_MAY_USE.contains(&name.as_str()));
            problems
                .extend(others.map(|name| format!("kraft-core uses {name}; it may use {CORE_MAY_USE:?}")));
        }
    }
    for (name, versions) in versions {
        if versions.len() > 1 && !lists.duplicates_allowed.contains(name) {
            let versions: Vec<_> = versions.into_iter().collect();
            problems.push(format!("{name}: more than one version: {}", versions.join(", ")));
        }
    }
    problems
}

/// Whether an SPDX expression can be satisfied with the allowed licences alone. OR binds weaker than AND,
/// WITH belongs to the licence before it, and the old form `A/B` means OR.
fn licence_allowed(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let spaced = expression
        .replace('/', " OR ")
        .replace('(', " ( ")
        .replace(')', " ) ");
    let words: Vec<_> = spaced.split_whitespace().collect();
    let mut at = 0;
    let satisfied = either(&words, &mut at, allowed);
    satisfied && at == words.len()
}

fn either(words: &[&str], at: &mut usize, allowed: &BTreeSet<String>) -> bool {
    let mut satisfied = both(words, at, allowed);
    while words.get(*at) == Some(&"OR") {
        *at += 1;
        satisfied |= both(words, at, allowed);
    }
    satisfied
}

fn both(words: &[&str], at: &mut usize, allowed: &BTreeSet<String>) -> bool {
    let mut satisfied = single(words, at, allowed);
    while words.get(*at) == Some(&"AND") {
        *at += 1;
        satisfied &= single(words, at, allowed);
    }
    satisfied
}

fn single(words: &[&str], at: &mut usize, allowed: &BTreeSet<String>) -> bool {
    let Some(word) = words.get(*at) else { return false };
    *at += 1;
    if *word == "(" {
        let satisfied = either(words, at, allowed);
        *at += 1;
        return satisfied;
    }
    let mut licence = (*word).to_owned();
    if words.get(*at) == Some(&"WITH") {
        licence = format!(
            "{licence} WITH {}",
            words.get(*at + 1).copied().unwrap_or_default()
        );
        *at += 2;
    }
    allowed.contains(&licence)
}

/// The strings of one array in one section of a TOML file: as much of the format as the lists need, which is
/// strings without quotes or `#` in them.
fn array(text: &str, section: &str, key: &str) -> Option<BTreeSet<String>> {
    let lines = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim());
    let inside = lines.skip_while(|line| *line != format!("[{section}]")).skip(1);
    let body: Vec<_> = inside.take_while(|line| !is_section(line)).collect();
    let start = body
        .iter()
        .position(|line| line.split('=').next().map(str::trim) == Some(key))?;
    let value = body[start..].join("\n");
    let (items, _) = value.split_once('[')?.1.split_once(']')?;
    Some(items.split('"').skip(1).step_by(2).map(str::to_owned).collect())
}

fn is_section(line: &str) -> bool {
    line.starts_with('[') && line.ends_with(']')
}

const CORE_MAY_USE: [&str; 4] = ["uuid", "thiserror", "tracing", "smallvec"];

#[cfg(test)]
mod tests {
    use super::*;

    fn set(items: &[&str]) -> BTreeSet<String> {
        items.iter().map(|item| (*item).to_owned()).collect()
    }

    #[test]
    fn licence_expressions() {
        let allowed = set(&[
            "MIT",
            "Apache-2.0",
            "Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception",
        ]);
        for (expression, expected) in [
            ("MIT", true),
            ("GPL-3.0", false),
            ("GPL-3.0 OR MIT", true),
            ("MIT/Apache-2.0", true),
            ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
            ("(MIT OR Apache-2.0) AND GPL-3.0", false),
            ("Apache-2.0 WITH LLVM-exception OR GPL-3.0", true),
            ("GPL-3.0 WITH Classpath-exception-2.0", false),
            ("MIT Apache-2.0", false),
            ("", false),
        ] {
            assert_eq!(licence_allowed(expression, &allowed), expected, "{expression}");
        }
    }

    #[test]
    fn lists_of_a_section() {
        let text = "[a]\nallow = [\"x\"]\n\n[b]\n# allow = [\"no\"]\nallow = [\n    \"y\", # why\n    \"z\",\n]\nnone = []\n";
        assert_eq!(array(text, "b", "allow"), Some(set(&["y", "z"])));
        assert_eq!(array(text, "b", "none"), Some(set(&[])));
        assert_eq!(array(text, "a", "allow"), Some(set(&["x"])));
        assert_eq!(array(text, "b", "missing"), None);
    }

    #[test]
    fn each_rule_can_fail() {
        let lists = Lists {
            licences: set(&["MIT"]),
            banned: set(&["bad"]),
            duplicates_allowed: set(&["twice"]),
            registries: set(&["https://registry"]),
        };
        let package = |name: &str, version: &str, licence: &str, source: Option<&str>| Package {
            name: name.to_owned(),
            version: version.to_owned(),
            licence: licence.to_owned(),
            source: source.map(str::to_owned),
            uses: Vec::new(),
        };
        let core = |uses: &[&str]| Package {
            uses: uses.iter().map(|name| (*name).to_owned()).collect(),
            ..package("kraft-core", "0.1.0", "MIT", None)
        };
        let good = Some("registry+https://registry");
        let packages = [
            package("ours", "0.1.0", "MIT", None),
            package("fine", "1.0.0", "MIT", good),
            package("twice", "1.0.0", "MIT", good),
            package("twice", "2.0.0", "MIT", good),
            package("bad", "1.0.0", "MIT", good),
            package("copyleft", "1.0.0", "GPL-3.0", good),
            package("git", "1.0.0", "MIT", Some("git+https://elsewhere")),
            package("double", "1.0.0", "MIT", good),
            package("double", "2.0.0", "MIT", good),
            core(&["uuid", "smallvec"]),
            core(&["uuid", "tokio"]),
        ];
        let problems = problems(&lists, &packages);
        let names: Vec<_> = problems
            .iter()
            .map(|problem| problem.split([' ', ':']).next().unwrap())
            .collect();
        assert_eq!(names, ["bad", "copyleft", "git", "kraft-core", "double"]);
    }
}
