//! Reading frames without believing their length.

use bytes::{Bytes, BytesMut};
use std::{io, sync::Arc};
use thiserror::Error;
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    sync::{OwnedSemaphorePermit, Semaphore},
};

/// Why no frame was read.
#[derive(Debug, Error)]
pub(crate) enum FrameError {
    /// The length is negative or larger than a frame may be.
    #[error("a frame of {0} bytes is announced")]
    Length(i32),
    /// The connection ended inside a frame.
    #[error("the connection ended after {received} of {announced} bytes of a frame")]
    Cut {
        /// Bytes of the frame that came.
        received: usize,
        /// Bytes that were announced.
        announced: usize,
    },
    /// The connection failed.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// A frame, and its share of what all connections together may hold.
pub(crate) struct Frame {
    /// Header and body.
    pub(crate) bytes: Bytes,
    _share: Option<OwnedSemaphorePermit>,
}

/// What all connections of a listener together may hold in frames above [`FREE_BYTES`].
#[derive(Clone)]
pub(crate) struct Budget(Arc<Semaphore>);

impl Budget {
    /// A budget of so many bytes.
    pub(crate) fn new(bytes: usize) -> Self {
        Self(Arc::new(Semaphore::new(bytes.div_ceil(UNIT_BYTES))))
    }

    async fn take(&self, bytes: usize) -> OwnedSemaphorePermit {
        let units = u32::try_from(bytes.div_ceil(UNIT_BYTES)).unwrap_or(u32::MAX);
        let taken = Arc::clone(&self.0).acquire_many_owned(units).await;
        taken.expect("the semaphore is never closed")
    }
}

/// Reads one frame; `None` at the end of the connection.
///
/// Memory grows with the bytes that have come, never with the bytes that are announced. Small frames cost nothing of
/// the budget, so that nobody can starve the requests that keep a quorum alive.
pub(crate) async fn read_frame(
    stream: &mut (impl AsyncRead + Unpin),
    max_bytes: usize,
    budget: Option<&Budget>,
) -> Result<Option<Frame>, FrameError> {
    // An idle connection waits here, without a buffer.
    let mut length = [0; 4];
    let mut have = 0;
    while have < length.len() {
        match stream.read(&mut length[have..]).await? {
            0 if have == 0 => return Ok(None),
            0 => {
                return Err(FrameError::Cut {
                    received: 0,
                    announced: length.len(),
                });
            }
            n => have += n,
        }
    }
    let length = i32::from_be_bytes(length);
    let announced = usize::try_from(length)
        .ok()
        .filter(|bytes| *bytes <= max_bytes)
        .ok_or(FrameError::Length(length))?;

    let mut buffer = BytesMut::with_capacity(announced.min(FIRST_BYTES));
    let mut share: Option<OwnedSemaphorePermit> = None;
    while buffer.len() < announced {
        if buffer.len() == buffer.capacity() {
            let grown = (buffer.len() * 2).min(announced);
            if let Some(budget) = budget.filter(|_| grown > FREE_BYTES) {
                let held = share.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
                let more = grown.div_ceil(UNIT_BYTES).saturating_sub(held);
                let permit = budget.take(more * UNIT_BYTES).await;
                match &mut share {
                    Some(share) => share.merge(permit),
                    None => share = Some(permit),
                }
            }
            buffer.reserve(grown - buffer.len());
        }
        let room = announced - buffer.len();
        let mut limited = (&mut *stream).take(room as u64);
        if limited.read_buf(&mut buffer).await? == 0 {
            return Err(FrameError::Cut {
                received: buffer.len(),
                announced,
            });
        }
    }
    Ok(Some(Frame {
        bytes: buffer.freeze(),
        _share: share,
    }))
}

/// What is allocated when the first byte of a frame is awaited.
const FIRST_BYTES: usize = 4 * 1024;

/// Frames up to this size take nothing of the budget.
const FREE_BYTES: usize = 64 * 1024;

/// The budget is counted in these.
const UNIT_BYTES: usize = 4 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread()
            .build()
            .expect("a runtime")
            .block_on(future)
    }

    #[test]
    fn frames_follow_one_another() {
        let mut bytes: &[u8] = &[0, 0, 0, 2, 7, 8, 0, 0, 0, 0, 0, 0, 0, 1, 9];
        block_on(async {
            for expected in [&[7, 8][..], &[], &[9]] {
                let frame = read_frame(&mut bytes, 100, None).await.unwrap().unwrap();
                assert_eq!(&frame.bytes[..], expected);
            }
            assert!(read_frame(&mut bytes, 100, None).await.unwrap().is_none());
        });
    }

    #[test]
    fn lengths_out_of_range_are_refused_before_anything_is_read() {
        for length in [-1, i32::MIN, 101, i32::MAX] {
            let bytes = length.to_be_bytes();
            let error = block_on(read_frame(&mut &bytes[..], 100, None)).err();
            assert!(matches!(error, Some(FrameError::Length(found)) if found == length));
        }
    }

    #[test]
    fn a_frame_larger_than_the_first_buffer_arrives_whole() {
        let body: Vec<u8> = (0..300_000_u32).map(|n| n as u8).collect();
        let mut bytes = 300_000_i32.to_be_bytes().to_vec();
        bytes.extend_from_slice(&body);
        let budget = Budget::new(1 << 20);
        let frame = block_on(read_frame(&mut &bytes[..], 1 << 20, Some(&budget)));
        let frame = frame.unwrap().unwrap();
        assert_eq!(frame.bytes, body);
        assert!(budget.0.available_permits() < 256);
        drop(frame);
        assert_eq!(budget.0.available_permits(), 256);
    }

    #[test]
    fn a_cut_frame_says_how_far_it_came() {
        let mut bytes = 100_000_000_i32.to_be_bytes().to_vec();
        bytes.extend_from_slice(&[1, 2, 3]);
        let error = block_on(read_frame(&mut &bytes[..], 100_000_000, None)).err();
        assert!(matches!(
            error,
            Some(FrameError::Cut {
                received: 3,
                announced: 100_000_000
            })
        ));
    }
}
