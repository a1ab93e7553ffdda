//! The bytes of Apache Kafka's controller listener: versioned messages, record batches, control records.
#![no_std]

extern crate alloc;
