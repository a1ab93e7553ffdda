//! The kraft program: format, run and operate a KRaft controller quorum.

fn main() {}
