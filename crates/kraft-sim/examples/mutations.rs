//! Makes each mistake that the engine and its log can be told to make, and looks whether the simulation finds it.
//!
//! `cargo xtask mutations` builds it with `--cfg kraft_mutations`; without that there are no mistakes to make.

#[cfg(not(kraft_mutations))]
fn main() {
    println!("built without mistakes; `cargo xtask mutations` runs it with them");
}

#[cfg(kraft_mutations)]
fn main() -> std::process::ExitCode {
    match std::env::args().nth(1) {
        Some(name) => found::look_for(&name),
        None => found::all(),
    }
}

#[cfg(kraft_mutations)]
mod found {
    use kraft_log::mutation as log;
    use kraft_sim::sim::{Settings, Simulation};
    use kraft_transport::mutation as engine;
    use std::{
        process::{Command, ExitCode},
        time::Instant,
    };

    /// How many seeds a mistake has to be found in: fewer than `ci` simulates.
    const SEEDS: u64 = 1000;

    /// A mistake that some crate can be told to make.
    struct Mistake {
        name: String,
        what: &'static str,
        make: Box<dyn FnOnce()>,
    }

    fn all_mistakes() -> Vec<Mistake> {
        let of_engine = engine::Mutation::ALL.iter().map(|mutation| Mistake {
            name: format!("{mutation:?}"),
            what: mutation.what(),
            make: Box::new(move || engine::choose(Some(*mutation))),
        });
        let of_log = log::Mutation::ALL.iter().map(|mutation| Mistake {
            name: format!("{mutation:?}"),
            what: mutation.what(),
            make: Box::new(move || log::choose(Some(*mutation))),
        });
        of_engine.chain(of_log).collect()
    }

    /// Each mistake in a process of its own, since a node that panics ends the process. That is a way to be found, too.
    pub(crate) fn all() -> ExitCode {
        let program = std::env::current_exe().expect("the program has a path");
        let mut missed = 0;
        let mistakes = all_mistakes();
        for Mistake { name, what, .. } in &mistakes {
            let started = Instant::now();
            let output = Command::new(&program).arg(name).output();
            let output = output.expect("this program can be started again");
            let seconds = started.elapsed().as_secs_f64();
            let last = |bytes: &[u8]| {
                String::from_utf8_lossy(bytes)
                    .lines()
                    .last()
                    .unwrap_or("")
                    .to_owned()
            };
            let how = match output.status.code() {
                Some(0) => {
                    missed += 1;
                    println!("error: {name} ({what}) is not found");
                    continue;
                }
                Some(1) => last(&output.stdout),
                _ => format!("a node panics: {}", last(&output.stderr)),
            };
            println!("summary: {name} ({what}): {how:.160}, {seconds:.1} s");
        }
        println!("summary: {} mistakes, {missed} not found", mistakes.len());
        ExitCode::from(u8::from(missed > 0))
    }

    /// Simulates with one mistake, in as many threads as there are processors.
    pub(crate) fn look_for(name: &str) -> ExitCode {
        let Some(mistake) = all_mistakes().into_iter().find(|mistake| mistake.name == name) else {
            eprintln!("there is no mistake {name}");
            return ExitCode::from(3);
        };
        (mistake.make)();
        let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
        let searching: Vec<_> = (0..threads)
            .map(|first| {
                std::thread::spawn(move || {
                    for seed in (first..SEEDS).step_by(threads as usize) {
                        if let Err(failure) = Simulation::of_journals(seed, Settings::of_seed(seed)).run() {
                            println!("{failure}");
                            std::process::exit(1);
                        }
                    }
                })
            })
            .collect();
        for thread in searching {
            thread.join().expect("whoever panics ends the process");
        }
        ExitCode::SUCCESS
    }
}
