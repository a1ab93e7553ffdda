//! Runs the text scenarios: every file, or those whose id contains one of the words given.

use kraft_sim::scenario::{self, Scenario};
use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    process::ExitCode,
};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .collect();
    if std::env::args().any(|word| word == "--list") {
        return ExitCode::SUCCESS;
    }
    let rewrite = std::env::var_os("KRAFT_SCENARIO_REWRITE").is_some_and(|value| value == "1");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let files = scenario::find(&root).expect("the scenario folders can be read");
    let chosen = files
        .iter()
        .filter(|(id, _)| arguments.is_empty() || arguments.iter().any(|word| id.contains(word)));
    let (mut passed, mut failed) = (0, 0);
    for (id, path) in chosen {
        match run(id, path, rewrite) {
            Ok(title) => {
                passed += 1;
                println!("scenario {id} {title} ... ok");
            }
            Err(fault) => {
                failed += 1;
                println!("scenario {id} ... FAILED\n{}: {fault}", path.display());
            }
        }
    }
    let verdict = if failed == 0 { "ok" } else { "FAILED" };
    println!("\ntest result: {verdict}. {passed} passed; {failed} failed");
    ExitCode::from(u8::from(failed > 0))
}

/// Runs one file and returns its title.
fn run(id: &str, path: &Path, rewrite: bool) -> Result<String, String> {
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    let scenario = Scenario::parse(&text).map_err(|error| error.to_string())?;
    if scenario.id != id {
        return Err(format!("the file says that it is {}", scenario.id));
    }
    let run = catch_unwind(AssertUnwindSafe(|| scenario::run(&scenario)))
        .map_err(|_| "the replica panicked; the message is above".to_owned())?;
    if let Some(error) = run.error() {
        return Err(error.to_owned());
    }
    if rewrite {
        let rewritten = scenario.with_outputs(&run.outputs);
        if rewritten != text {
            fs::write(path, rewritten).map_err(|error| error.to_string())?;
        }
    } else if let Some(difference) = run.difference(&scenario) {
        return Err(difference);
    }
    Ok(scenario.title)
}
