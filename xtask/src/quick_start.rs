//! The quick start for embedders in the README, followed literally.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::workspace;

/// Makes a package of what the README says, runs it, and compares what it prints.
pub(crate) fn check() -> Result<String, String> {
    let failed = |error: std::io::Error| error.to_string();
    let readme = fs::read_to_string(workspace::root().join("README.md")).map_err(failed)?;
    let section = section(&readme).ok_or("README.md has no section `Embed it`")?;
    let block = |language| block(section, language).ok_or(format!("the section has no {language} block"));
    let folder = workspace::target().join("quick-start");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(failed)?;
    }
    fs::create_dir_all(folder.join("src")).map_err(failed)?;
    // The target directory lies inside of the workspace, and the checkout has another name there.
    let dependencies = block("toml")?.replace("../kraft/", &format!("{}/", workspace::root().display()));
    let manifest = format!("{PACKAGE}{dependencies}\n[workspace]\n");
    fs::write(folder.join("Cargo.toml"), manifest).map_err(failed)?;
    fs::write(folder.join("src/main.rs"), block("rust")?).map_err(failed)?;
    fs::copy(workspace::root().join("Cargo.lock"), folder.join("Cargo.lock")).map_err(failed)?;
    let printed = run(&folder)?;
    if printed == block("text")? {
        Ok("the README's program prints what the README says".to_owned())
    } else {
        Err(format!("the README's program prints\n{printed}"))
    }
}

fn run(folder: &Path) -> Result<String, String> {
    let output = workspace::cargo(&["run", "--quiet", "--offline"])
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", workspace::target())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("the README's program: {}", output.status))
    }
}

fn section(readme: &str) -> Option<&str> {
    let (_, rest) = readme.split_once("\n## Embed it\n")?;
    Some(rest.split_once("\n## ").map_or(rest, |(section, _)| section))
}

/// What stands in the first block of a language.
fn block<'a>(section: &'a str, language: &str) -> Option<&'a str> {
    let (_, rest) = section.split_once(&format!("```{language}\n"))?;
    Some(rest.split_once("```")?.0)
}

/// What `cargo init` writes.
const PACKAGE: &str = "\
[package]
name = \"counter\"
version = \"0.1.0\"
edition = \"2024\"

";
