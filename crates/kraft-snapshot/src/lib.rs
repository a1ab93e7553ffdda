//! KIP-630 metadata snapshots: writer, reader, byte windows, reassembly.
