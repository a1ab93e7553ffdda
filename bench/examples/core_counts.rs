//! Takes one kind of step of kraft-core so many times, for a tool that counts instructions: `core_counts NAME TIMES`.
//! Without arguments it names the kinds.

use kraft_bench::core::{Cluster, Observed, Quorum, Unwatched};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, times] = &arguments[..] else {
        return NAMES.iter().for_each(|name| println!("{name}"));
    };
    let times = times.parse().expect("a number");
    match name.as_str() {
        "round of 3 voters" => rounds(false, times),
        "round of 3 voters, fetches wait" => rounds(true, times),
        "fetch among 10 observers" => fetches(10, times),
        "fetch among 1000 observers" => fetches(1000, times),
        "election of 3 voters" => elections(3, times),
        "election of 5 voters" => elections(5, times),
        "election of 7 voters" => elections(7, times),
        other => panic!("{other} is not among {NAMES:?}"),
    }
}

fn rounds(fetches_wait: bool, times: usize) {
    let mut quorum = Quorum::new(fetches_wait);
    for _ in 0..times {
        quorum.round(&mut Unwatched);
    }
}

fn fetches(observers: usize, times: usize) {
    let mut observed = Observed::new(observers);
    for _ in 0..times {
        observed.fetch();
    }
}

fn elections(voters: usize, times: usize) {
    let fresh = Cluster::new(voters);
    for _ in 0..times {
        fresh.clone().elect();
    }
}

const NAMES: [&str; 7] = [
    "round of 3 voters",
    "round of 3 voters, fetches wait",
    "fetch among 10 observers",
    "fetch among 1000 observers",
    "election of 3 voters",
    "election of 5 voters",
    "election of 7 voters",
];
