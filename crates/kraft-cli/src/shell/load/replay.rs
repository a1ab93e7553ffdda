//! Records into an image, batch by batch.

use bytes::Bytes;
use kraft_metadata::record::{AbortTransactionRecord, BeginTransactionRecord, EndTransactionRecord};
use kraft_wire::Message;
use kraft_wire::metadata_frame::MetadataFrame;

use crate::shell::image::{Image, NotShown, Provenance};

/// An image in the making.
pub(super) struct Replay {
    pub(super) image: Image,
    /// The records of an open transaction, with their offsets: they count when it has ended.
    open: Option<Vec<(i64, MetadataFrame)>>,
    not_shown: u64,
    first_not_shown: Option<(i64, NotShown)>,
}

impl Replay {
    pub(super) fn new() -> Self {
        Self {
            image: Image::empty(),
            open: None,
            not_shown: 0,
            first_not_shown: None,
        }
    }

    /// Applies records of a log, the first of which stands at `base`.
    pub(super) fn batch(&mut self, base: i64, values: impl Iterator<Item = Bytes>) {
        for (value, offset) in values.zip(base..) {
            match MetadataFrame::parse(&value) {
                Ok(frame) => self.record(offset, frame),
                Err(error) => self.leave_out(offset, error.into()),
            }
        }
    }

    /// Applies records of a snapshot, where transactions have no place.
    pub(super) fn snapshot_batch(&mut self, base: i64, values: impl Iterator<Item = Bytes>) {
        for (value, offset) in values.zip(base..) {
            let frame = MetadataFrame::parse(&value).map_err(NotShown::from);
            let applied = frame.and_then(|frame| self.image.apply(&frame));
            if let Err(reason) = applied {
                self.leave_out(offset, reason);
            }
        }
    }

    pub(super) fn moved_to(&mut self, place: Provenance) {
        self.image.provenance = place;
    }

    /// What the reader of the image has to know beside it.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some((offset, reason)) = &self.first_not_shown {
            let (count, first) = match self.not_shown {
                1 => ("1 record is".to_owned(), "at"),
                count => (format!("{count} records are"), "the first at"),
            };
            notes.push(format!("{count} not shown, {first} offset {offset}: {reason}"));
        }
        if let Some(open) = &self.open {
            let count = open.len();
            notes.push(format!(
                "a transaction has not ended; its records ({count}) are not shown"
            ));
        }
        notes
    }

    fn record(&mut self, offset: i64, frame: MetadataFrame) {
        let refused = |what: &str| NotShown::Contradiction(what.to_owned());
        match frame.api_key {
            BeginTransactionRecord::API_KEY if self.open.is_some() => {
                self.leave_out(offset, refused("a transaction begins inside another"));
            }
            BeginTransactionRecord::API_KEY => self.open = Some(Vec::new()),
            EndTransactionRecord::API_KEY => match self.open.take() {
                Some(records) => records
                    .into_iter()
                    .for_each(|(offset, frame)| self.apply(offset, &frame)),
                None => self.leave_out(offset, refused("a transaction ends that never began")),
            },
            AbortTransactionRecord::API_KEY => {
                if self.open.take().is_none() {
                    self.leave_out(offset, refused("a transaction is aborted that never began"));
                }
            }
            _ => match &mut self.open {
                Some(records) => records.push((offset, frame)),
                None => self.apply(offset, &frame),
            },
        }
    }

    fn apply(&mut self, offset: i64, frame: &MetadataFrame) {
        if let Err(reason) = self.image.apply(frame) {
            self.leave_out(offset, reason);
        }
    }

    fn leave_out(&mut self, offset: i64, reason: NotShown) {
        self.not_shown += 1;
        self.first_not_shown.get_or_insert((offset, reason));
    }
}
