//! Records in the form that all data records of a metadata log have: the time of their batch, no key, no headers.
//!
//! There are millions of them in a log and one look at each is enough. Whatever looks different, be it wrong or only
//! written in another way, is left to the general reader, which also says what is wrong.

use core::ops::Range;

/// Where the value lies of the record that begins at `position` and is number `index` of its batch; the record ends
/// one byte behind it. `None` if it is not of the plain form.
#[inline]
pub(super) fn value_at(batch: &[u8], position: usize, index: i32) -> Option<Range<usize>> {
    let (length, start) = small_varint(batch, position)?;
    let end = start.checked_add(length)?;
    let record = batch.get(..end)?;
    // The attributes have no meaning; behind them stands the time.
    if *record.get(start + 1)? != 0 {
        return None;
    }
    let (delta, key) = small_varint(record, start + 2)?;
    if delta != index as usize || *record.get(key)? != NULL {
        return None;
    }
    let (length, value) = small_varint(record, key + 1)?;
    // A value has bytes, and nothing follows it but the number of headers.
    let is_plain = length > 0 && value.checked_add(length)? + 1 == end && record[end - 1] == 0;
    is_plain.then(|| value..end - 1)
}

/// Appends a plain record.
#[inline]
pub(super) fn put(batch: &mut alloc::vec::Vec<u8>, index: i32, value: &[u8]) {
    let mut head = [0; HEAD_SIZE_MAX];
    let mut at = put_varint(&mut head, 0, fields_size(index, value.len()));
    // Attributes and time are zero.
    at = put_varint(&mut head, at + 2, index as usize);
    head[at] = NULL;
    at = put_varint(&mut head, at + 1, value.len());
    batch.reserve(at + value.len() + 1);
    batch.extend_from_slice(&head[..at]);
    batch.extend_from_slice(value);
    batch.push(0);
}

/// Size of a plain record without its length.
#[inline]
pub(super) fn fields_size(index: i32, value_length: usize) -> usize {
    // Attributes, time, null key and number of headers take one byte each.
    4 + varint_size(index as usize) + varint_size(value_length) + value_length
}

/// Size of a plain record.
#[inline]
pub(super) fn size(index: i32, value_length: usize) -> usize {
    let fields = fields_size(index, value_length);
    varint_size(fields) + fields
}

/// A zig-zag varint that is not negative, and where it ends.
#[inline]
fn small_varint(bytes: &[u8], position: usize) -> Option<(usize, usize)> {
    let mut raw = 0_usize;
    // The lengths in a batch need four bytes at most.
    for index in 0..4 {
        let byte = *bytes.get(position + index)?;
        raw |= usize::from(byte & 0x7f) << (7 * index);
        if byte < 0x80 {
            return (raw & 1 == 0).then_some((raw >> 1, position + index + 1));
        }
    }
    None
}

#[inline]
fn put_varint(bytes: &mut [u8], mut at: usize, value: usize) -> usize {
    let mut raw = value << 1;
    while raw >= 0x80 {
        bytes[at] = raw as u8 | 0x80;
        raw >>= 7;
        at += 1;
    }
    bytes[at] = raw as u8;
    at + 1
}

#[inline]
fn varint_size(value: usize) -> usize {
    let bits = usize::BITS - (value << 1 | 1).leading_zeros();
    bits.div_ceil(7) as usize
}

const NULL: u8 = 1;
/// Three varints of five bytes and three single ones.
const HEAD_SIZE_MAX: usize = 3 * 5 + 3;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn sizes_are_those_of_what_is_written_and_the_value_is_found_again() {
        let lengths = [1, 63, 64, 120, 8191, 8192, 1 << 20];
        let indexes = [0, 1, 63, 64, 8191, 8192, 1 << 20, 0x0fff_ffff / 2];
        for length in lengths {
            for index in indexes {
                let value: Vec<u8> = (0..length).map(|at| at as u8).collect();
                let mut batch = Vec::from([9; 3]);
                put(&mut batch, index, &value);
                assert_eq!(batch.len(), 3 + size(index, length), "{index} {length}");
                assert_eq!(
                    value_at(&batch, 3, index),
                    Some(batch.len() - 1 - length..batch.len() - 1)
                );
                assert_eq!(value_at(&batch, 3, index + 1), None);
                assert_eq!(value_at(&batch[..batch.len() - 1], 3, index), None);
            }
        }
    }
}
