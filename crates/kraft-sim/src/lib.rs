//! Whole quorums in virtual time over a faulty network and faulty disks; text scenarios; checkers.
//!
//! The crate has no executor of its own: what runs here is the engine of `kraft-transport` with its own `turn`, the core
//! inside it and the log of `kraft-log` under it, over another network, another clock and disks in memory. So a run tests
//! what production runs. Broker projects run their own state machine in it.
//!
//! # Contract, in call order
//!
//! 1. [`Simulation::new`](sim::Simulation::new) takes a seed, [`Settings`](sim::Settings), a way to make state machines and a
//!    way to make records; [`of_journals`](sim::Simulation::of_journals) brings the smallest state machine worth replicating, and with the
//!    feature `metadata` `of_metadata` brings Kafka's own metadata.
//! 2. [`with_checkers`](sim::Simulation::with_checkers) and [`with_witness`](sim::Simulation::with_witness) say who watches;
//!    by default all [checkers](checker) do.
//! 3. [`run`](sim::Simulation::run) plays until the quorum has come to rest, and gives [counts](sim::Counts), or the first
//!    [failure](sim::Failure) with the seed that replays it.
//!
//! Equal seed and settings give an equal run, on every machine. What is done to the quorum is decided before the run: it is a
//! [`Plan`](sim::Plan), which can be printed, kept, and run again with [`of_plan`](sim::Simulation::of_plan);
//! [`shrink`](sim::shrink) makes the plan of a run that fails as short as it can.
//!
//! The example `own_machine` simulates a state machine of its own; the example `seeds` runs many seeds:
//! `cargo run --release -p kraft-sim --example seeds -- --seeds 0..1000`.
//!
//! [`scenario`] runs text scenarios, of one replica and of clusters.
//!
//! # What it does not do
//!
//! It knows no sockets, threads or wall clock, so the driver and the listener of `kraft-transport` are not in it. Of the voters it
//! lets only one at a time lose its disk, or be found at another address than others think: more than a quorum of three survives
//! is not simulated.
//!
//! # Example
//!
//! ```
//! use kraft_sim::sim::{Count, Settings, Simulation};
//! use std::time::Duration;
//!
//! let settings = Settings {
//!     voters: 3,
//!     duration: Duration::from_secs(5),
//!     ..Settings::default()
//! };
//! let counts = Simulation::of_journals(7, settings).run()?;
//! assert!(counts.of(Count::Elections) >= 1);
//! assert!(counts.of(Count::Commits) >= 3);
//! # Ok::<(), kraft_sim::sim::Failure>(())
//! ```

pub mod checker;
pub mod scenario;
pub mod sim;
