//! Kafka's metadata records and image as a ready state machine for kraft.

mod activation;
pub mod bootstrap;
pub mod feature;
pub mod frame;
pub mod image;
pub mod machine;
pub mod record;
pub mod registration;
mod replay;

pub use image::MetadataImage;
pub use machine::{MetadataMachine, MetadataSettings};
pub use record::MetadataRecord;
