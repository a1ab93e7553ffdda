//! One target for so many seconds: `fuzz NAME SECONDS SEED`. An input that breaks it is printed as hex; add it to the
//! corpus together with the fix.

use std::process::ExitCode;
use std::time::Duration;

use kraft_fuzz::{TARGETS, run};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, seconds, seed] = &arguments[..] else {
        for target in TARGETS {
            println!("{}", target.name);
        }
        return ExitCode::SUCCESS;
    };
    let Some(target) = TARGETS.iter().find(|target| target.name == name) else {
        eprintln!("{name} is no target");
        return ExitCode::FAILURE;
    };
    let number = |text: &String| text.parse().expect("a number");
    match run(target, number(seed), 0, Duration::from_secs(number(seconds))) {
        Ok(inputs) => {
            println!("summary: {name}: {inputs} inputs from seed {seed}, all well");
            ExitCode::SUCCESS
        }
        Err(input) => {
            eprintln!("{name} breaks under {input}");
            ExitCode::FAILURE
        }
    }
}
