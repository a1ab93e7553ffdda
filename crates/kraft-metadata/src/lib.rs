//! Kafka's metadata records and image as a ready state machine for kraft.
//!
//! [`MetadataMachine`] implements [`kraft_core::StateMachine`]: an engine that is given one runs a controller among
//! Kafka's controllers. Its image holds the finalized features, the registered controllers, the settings of brokers
//! and the SCRAM credentials; see [`MetadataImage`].
//!
//! # In call order
//!
//! 1. [`bootstrap::bootstrap_records`] makes the records of a new cluster. They are formatted into the checkpoint `0-0`.
//! 2. The engine loads that checkpoint or a newer snapshot, and applies committed batches in order. A record at which a
//!    Kafka controller would halt is a fault here too, and moves nothing.
//! 3. When it leads, the machine gives the records that Kafka's controller writes at activation: the bootstrap records
//!    on an empty log, the abort of a transaction that was left open.
//! 4. Proposals are replayed before they are appended, over everything appended so far; `appended` has to follow each
//!    proposal before the next. What is appended shows in the image once it is committed, and inside a transaction
//!    once that has ended.
//! 5. A [`registration`] is sent while [`MetadataImage::wants_registration`] says so, by a leader to itself too.
//!
//! # What it does not do
//!
//! Records of other types (brokers, topics, quotas, ACLs, delegation tokens) are carried: they pass through log and
//! snapshot as bytes and leave nothing in the image, except that it is no longer
//! [complete](MetadataImage::is_complete) and gives no snapshots. Changing a feature level over UpdateFeatures is
//! refused, because it needs the ranges of all brokers and voters. The crate knows no engine, no clock and no files.
//!
//! ```
//! use kraft_core::{Epoch, Instant, SnapshotId, StateMachine, Time, state_machine::CommittedBatch};
//! use kraft_metadata::{MetadataMachine, MetadataSettings, bootstrap::bootstrap_records, feature::MetadataVersion};
//! use std::collections::BTreeMap;
//!
//! let release = MetadataVersion::from_name("4.4").expect("a release");
//! let records = bootstrap_records(release, &BTreeMap::new(), &[])?;
//!
//! let mut machine = MetadataMachine::new(MetadataSettings::default());
//! machine.load(SnapshotId::BOOTSTRAP, 0, &mut records.iter().map(Vec::as_slice))?;
//!
//! // What an engine does when this node is elected in epoch 1, and its first batches are committed.
//! let now = Time { mono: Instant(0), wall_ms: 0 };
//! let mut base = 1;
//! for values in machine.lead(Epoch(1), now)? {
//!     machine.appended(base, Epoch(1), &values);
//!     let values: Vec<&[u8]> = values.iter().map(Vec::as_slice).collect();
//!     let last = base + i64::try_from(values.len())? - 1;
//!     machine.apply(CommittedBatch { base, last, epoch: Epoch(1), timestamp_ms: 0, values: &values })?;
//!     base = last + 1;
//! }
//! assert_eq!(machine.image().features().metadata_version(), Some(release));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod activation;
pub mod bootstrap;
pub mod feature;
pub mod frame;
pub mod image;
mod image_records;
pub mod machine;
pub mod record;
pub mod registration;
mod replay;

pub use image::MetadataImage;
pub use machine::{MetadataMachine, MetadataSettings};
pub use record::MetadataRecord;
