//! Reading frames without believing their length.

use bytes::{Buf, Bytes, BytesMut};
use std::{
    future::poll_fn,
    io,
    mem::MaybeUninit,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};
use thiserror::Error;
use tokio::{
    io::{AsyncRead, AsyncReadExt, ReadBuf},
    sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError},
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
    /// What connections may hold together is held, some of it by this one.
    #[error("other connections hold the room for the rest of a frame of {announced} bytes")]
    Crowded {
        /// Bytes that were announced.
        announced: usize,
    },
    /// The connection failed.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// A frame.
pub(crate) struct Frame {
    /// Header and body.
    pub(crate) bytes: Bytes,
    /// Its share of what all connections together may hold, until it is dropped.
    pub(crate) share: Option<OwnedSemaphorePermit>,
}

/// What all connections of a listener together may hold in frames above [`FREE_BYTES`].
#[derive(Clone)]
pub(crate) struct Budget(Arc<Semaphore>);

impl Budget {
    /// A budget of so many bytes.
    pub(crate) fn new(bytes: usize) -> Self {
        Self(Arc::new(Semaphore::new(
            bytes.div_ceil(UNIT_BYTES).min(Semaphore::MAX_PERMITS),
        )))
    }

    /// Makes `share` one of so many bytes.
    ///
    /// Whoever has none waits for it. Whoever has some and cannot have more is refused: two that wait for what the other one
    /// has would wait for ever.
    async fn grow(
        &self,
        share: &mut Option<OwnedSemaphorePermit>,
        bytes: usize,
    ) -> Result<(), TryAcquireError> {
        let units = u32::try_from(bytes.div_ceil(UNIT_BYTES)).unwrap_or(u32::MAX);
        let budget = Arc::clone(&self.0);
        match share {
            Some(share) => {
                let held = u32::try_from(share.num_permits()).unwrap_or(u32::MAX);
                share.merge(budget.try_acquire_many_owned(units.saturating_sub(held))?);
            }
            None => {
                let taken = budget.acquire_many_owned(units).await;
                *share = Some(taken.expect("the semaphore is never closed"));
            }
        }
        Ok(())
    }
}

/// Reads the frames of one connection, with one call for each that comes in one piece.
#[derive(Debug, Default)]
pub(crate) struct FrameReader {
    /// What has come of the next frames. Empty, and without memory, while the connection is idle.
    ahead: BytesMut,
}

impl FrameReader {
    /// Reads one frame; `None` at the end of the connection.
    ///
    /// Memory grows with the bytes that have come, never with the bytes that are announced. Small frames cost nothing of
    /// the budget, so that nobody can starve the requests that keep a quorum alive.
    pub(crate) async fn read(
        &mut self,
        stream: &mut (impl AsyncRead + Unpin),
        max_bytes: usize,
        budget: Option<&Budget>,
    ) -> Result<Option<Frame>, FrameError> {
        while self.ahead.len() < LENGTH_BYTES {
            if poll_fn(|cx| poll_read_some(stream, cx, &mut self.ahead)).await? == 0 {
                if self.ahead.is_empty() {
                    return Ok(None);
                }
                return Err(FrameError::Cut {
                    received: 0,
                    announced: LENGTH_BYTES,
                });
            }
        }
        let length = self.ahead.get_i32();
        let announced = usize::try_from(length)
            .ok()
            .filter(|bytes| *bytes <= max_bytes)
            .ok_or(FrameError::Length(length))?;

        let mut buffer = if self.ahead.len() > announced {
            self.ahead.split_to(announced)
        } else {
            std::mem::take(&mut self.ahead)
        };
        let mut share: Option<OwnedSemaphorePermit> = None;
        while buffer.len() < announced {
            if buffer.len() == buffer.capacity() {
                let grown = (buffer.len() * 2).max(FIRST_BYTES).min(announced);
                if let Some(budget) = budget.filter(|_| grown > FREE_BYTES) {
                    let grown = budget.grow(&mut share, grown).await;
                    grown.map_err(|_| FrameError::Crowded { announced })?;
                }
                // Not `reserve`, which may take twice as much: records of the frame may be kept for long.
                let mut larger = BytesMut::with_capacity(grown);
                larger.extend_from_slice(&buffer);
                buffer = larger;
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
            share,
        }))
    }

    /// Whether something has come that is not read yet.
    pub(crate) fn is_ahead(&self) -> bool {
        !self.ahead.is_empty()
    }
}

/// Reads what is there, up to [`FREE_BYTES`], and appends it to `buffer`, which takes memory for no more than that. That
/// the piece on the stack is larger than most of what comes tells the runtime that nothing is left, so that it does not
/// have to try.
fn poll_read_some(
    stream: &mut (impl AsyncRead + Unpin),
    cx: &mut Context<'_>,
    buffer: &mut BytesMut,
) -> Poll<io::Result<usize>> {
    let mut piece = [MaybeUninit::uninit(); FREE_BYTES];
    let mut piece = ReadBuf::uninit(&mut piece);
    ready!(Pin::new(stream).poll_read(cx, &mut piece))?;
    buffer.extend_from_slice(piece.filled());
    Poll::Ready(Ok(piece.filled().len()))
}

/// The length before each frame.
const LENGTH_BYTES: usize = 4;

/// What is allocated at least where a frame is not read in one piece.
const FIRST_BYTES: usize = 4 * 1024;

/// Frames up to this size take nothing of the budget.
const FREE_BYTES: usize = 64 * 1024;

/// The budget is counted in these.
const UNIT_BYTES: usize = 4 * 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncWriteExt;

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread()
            .build()
            .expect("a runtime")
            .block_on(future)
    }

    fn read_frame(
        mut bytes: &[u8],
        max: usize,
        budget: Option<&Budget>,
    ) -> Result<Option<Frame>, FrameError> {
        block_on(FrameReader::default().read(&mut bytes, max, budget))
    }

    #[test]
    fn frames_follow_one_another() {
        let mut bytes: &[u8] = &[0, 0, 0, 2, 7, 8, 0, 0, 0, 0, 0, 0, 0, 1, 9];
        block_on(async {
            let mut reader = FrameReader::default();
            for expected in [&[7, 8][..], &[], &[9]] {
                let frame = reader.read(&mut bytes, 100, None).await.unwrap().unwrap();
                assert_eq!(&frame.bytes[..], expected);
            }
            assert!(!reader.is_ahead());
            assert!(reader.read(&mut bytes, 100, None).await.unwrap().is_none());
        });
    }

    #[test]
    fn lengths_out_of_range_are_refused_before_anything_is_read() {
        for length in [-1, i32::MIN, 101, i32::MAX] {
            let bytes = length.to_be_bytes();
            let error = read_frame(&bytes, 100, None).err();
            assert!(matches!(error, Some(FrameError::Length(found)) if found == length));
        }
    }

    #[test]
    fn a_frame_larger_than_the_first_buffer_arrives_whole() {
        let body: Vec<u8> = (0..300_000_u32).map(|n| n as u8).collect();
        let mut bytes = 300_000_i32.to_be_bytes().to_vec();
        bytes.extend_from_slice(&body);
        let budget = Budget::new(1 << 20);
        let frame = read_frame(&bytes, 1 << 20, Some(&budget));
        let frame = frame.unwrap().unwrap();
        assert_eq!(frame.bytes, body);
        assert!(budget.0.available_permits() < 256);
        // Its records may be kept, so it has no memory to spare.
        assert_eq!(Vec::from(frame.bytes).capacity(), 300_000);
        drop(frame.share);
        assert_eq!(budget.0.available_permits(), 256);
    }

    #[test]
    fn of_two_that_would_wait_for_what_the_other_one_has_one_is_refused() {
        let (half, rest) = (500_000, 500_000);
        let budget = Budget::new(1 << 20);
        block_on(async {
            let mut ends = Vec::new();
            let mut reading = Vec::new();
            for _ in 0..2 {
                let (mut near, mut far) = tokio::io::duplex(64 * 1024);
                let budget = budget.clone();
                reading.push(Box::pin(async move {
                    let mut reader = FrameReader::default();
                    reader.read(&mut far, half + rest, Some(&budget)).await
                }));
                let announced = i32::try_from(half + rest).unwrap();
                near.write_all(&announced.to_be_bytes()).await.unwrap();
                ends.push(near);
            }
            let (mut second, mut first) = (reading.pop().unwrap(), reading.pop().unwrap());
            let part = vec![7; half];
            for (end, read) in ends.iter_mut().zip([&mut first, &mut second]) {
                tokio::select! {
                    biased;
                    _ = read => panic!("it is not whole"),
                    sent = end.write_all(&part) => sent.unwrap(),
                }
            }
            let rest = vec![7; rest];
            let refused = tokio::select! {
                refused = &mut first => refused,
                _ = ends[0].write_all(&rest) => first.await,
            };
            assert!(matches!(
                refused,
                Err(FrameError::Crowded { announced: 1_000_000 })
            ));
            let (read, sent) = tokio::join!(second, ends[1].write_all(&rest));
            sent.unwrap();
            assert_eq!(read.unwrap().unwrap().bytes.len(), 1_000_000);
        });
    }

    #[test]
    fn a_cut_frame_says_how_far_it_came() {
        let mut bytes = 100_000_000_i32.to_be_bytes().to_vec();
        bytes.extend_from_slice(&[1, 2, 3]);
        let error = read_frame(&bytes, 100_000_000, None).err();
        assert!(matches!(
            error,
            Some(FrameError::Cut {
                received: 3,
                announced: 100_000_000
            })
        ));
    }
}
