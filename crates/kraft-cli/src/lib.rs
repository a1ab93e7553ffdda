//! The parts of the `kraft` program: format, run and operate a KRaft controller quorum.
//!
//! What a library user wants is in the other crates; this one reads arguments and prints. Its public parts are those
//! that the program shares with its own tests: [`local`] runs quorums of `kraft run` processes on loopback, puts load
//! on them and reads what is in their directories afterwards. It owns no protocol rule and no file format.
//!
//! ```
//! use kraft_cli::local::{Contents, contents_of};
//!
//! // Nothing is in a log that does not exist yet.
//! let folder = std::env::temp_dir().join("no-such-directory-of-a-node");
//! assert_eq!(contents_of(&folder)?, Contents::default());
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Every command ends with 0 on success, with 1 and one line on stderr on a failure, and with 2 on wrong usage.

mod batch_file;
mod client;
mod clock;
mod decode;
mod demo;
mod dump;
mod features;
mod format;
mod info;
mod input;
pub mod local;
mod out;
mod perf;
mod printable;
mod program;
mod progress;
mod quorum;
mod random;
mod random_uuid;
mod recover;
mod run;
mod shell;
mod signals;
mod verify;

pub use program::program;

use program::Outcome;
