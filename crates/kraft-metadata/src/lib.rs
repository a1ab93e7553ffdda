//! Kafka's metadata records and image as a ready state machine for kraft.

pub mod bootstrap;
pub mod feature;
pub mod frame;
pub mod record;
