//! The `kraft` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    kraft_cli::program()
}
