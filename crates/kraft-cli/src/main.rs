//! The `kraft` program.

use std::process::ExitCode;

// After a stall glibc's keeps twice the largest piece that has gathered, in each of its arenas, for ever: a voter would grow with
// the worst moment that it has seen. This one gives back within seconds what nobody uses.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    kraft_cli::program()
}
