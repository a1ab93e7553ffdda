//! The page that lists the scenarios says what is there.

use kraft_sim::scenario;
use std::{fs, path::Path};

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_page_is_up_to_date() {
    let report = scenario::report(&root()).expect("the scenario folders can be read");
    let path = root().join("docs/scenarios.md");
    if std::env::var_os("KRAFT_SCENARIO_REWRITE").is_some_and(|value| value == "1") {
        fs::write(&path, &report).expect("docs/scenarios.md can be written");
    }
    let page = fs::read_to_string(&path).expect("docs/scenarios.md");
    assert_eq!(
        page, report,
        "write the output of `cargo xtask scenarios` into docs/scenarios.md"
    );
}

#[test]
fn every_scenario_belongs_to_a_theme() {
    let found = scenario::find(&root()).expect("the scenario folders can be read");
    let themes = scenario::THEMES.iter().chain(scenario::OWN_THEMES);
    let known: Vec<String> = themes.flat_map(scenario::Theme::ids).collect();
    let strangers: Vec<_> = found.keys().filter(|id| !known.contains(id)).collect();
    assert!(strangers.is_empty(), "no theme has {strangers:?}");
}

#[test]
fn every_entry_of_the_reference_is_listed() {
    let entries: u32 = scenario::THEMES.iter().map(|theme| theme.entries).sum();
    assert_eq!(entries, 438);
}
