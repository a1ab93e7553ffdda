//! KRaft's consensus state machine: events in, actions out; no IO, no clock.
#![no_std]

extern crate alloc;
