//! What is written is read again, for any content.

use bytes::Bytes;
use kraft_wire::batch::{BatchBuilder, BatchView, Batches, Record, RecordHeader};
use kraft_wire::{Reader, Writer, uuid_text};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use uuid::Uuid;

fn bytes(length: usize) -> impl Strategy<Value = Bytes> {
    vec(any::<u8>(), 0..length).prop_map(Bytes::from)
}

fn header() -> impl Strategy<Value = RecordHeader> {
    (bytes(6), option::of(bytes(6))).prop_map(|(key, value)| RecordHeader { key, value })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn records(
        records in vec((option::of(bytes(20)), option::of(bytes(300)), -500..500_i64, vec(header(), 0..3)), 1..20),
        base in 0..i64::MAX / 2,
        epoch in any::<i32>(),
        time in -1_000..i64::MAX / 2,
    ) {
        let mut builder = BatchBuilder::data(time);
        for (key, value, delta, headers) in &records {
            builder.push_record(key.as_deref(), value.as_deref(), *delta, headers).expect("small");
        }
        let size = builder.size();
        let batch = BatchView::parse(builder.build(base, epoch)).expect("a batch");
        prop_assert_eq!((batch.size(), batch.base_offset(), batch.leader_epoch()), (size, base, epoch));
        prop_assert!(batch.crc_is_valid());
        let read: Vec<Record> = batch.records().collect::<Result<_, _>>().expect("readable");
        let expected: Vec<Record> = (base..)
            .zip(records)
            .map(|(offset, (key, value, delta, headers))| Record { offset, timestamp: time + delta, key, value, headers })
            .collect();
        prop_assert_eq!(read, expected);
    }

    #[test]
    fn data_batches_are_valid_and_follow_each_other(batches in vec(vec(bytes(200), 1..8), 1..6)) {
        let mut log = Vec::new();
        let mut end = 7;
        for values in &batches {
            let mut builder = BatchBuilder::data(0);
            for value in values {
                // An empty value has no place in a metadata log.
                let value = if value.is_empty() { &b"x"[..] } else { value };
                let size = builder.size_with(value.len());
                builder.push(value).expect("small");
                prop_assert_eq!(builder.size(), size);
            }
            log.extend(builder.build(end, 1));
            end += values.len() as i64;
        }
        let read = Batches::collect_all(log.into()).expect("whole batches");
        prop_assert_eq!(read.len(), batches.len());
        let mut next = 7;
        for batch in read {
            batch.validate().expect("valid");
            prop_assert_eq!(batch.base_offset(), next);
            next = batch.last_offset() + 1;
        }
        prop_assert_eq!(next, end);
    }

    #[test]
    fn variable_length_integers(small in any::<i32>(), large in any::<i64>(), unsigned in any::<u32>(), shift in 0..64) {
        let (small, large, unsigned) = (small >> (shift / 2), large >> shift, unsigned >> (shift / 2));
        let mut out = Vec::new();
        let mut writer = Writer::appending(&mut out);
        writer.put_varint(small);
        writer.put_varlong(large);
        writer.put_unsigned_varint(unsigned);
        let mut reader = Reader::new(out.into());
        prop_assert_eq!(reader.varint(), Ok(small));
        prop_assert_eq!(reader.varlong(), Ok(large));
        prop_assert_eq!(reader.unsigned_varint(), Ok(unsigned));
        prop_assert_eq!(reader.remaining(), 0);
    }

    #[test]
    fn ids_as_text(id in any::<u128>()) {
        let id = Uuid::from_u128(id);
        prop_assert_eq!(uuid_text::parse(&uuid_text::format(&id)), Ok(id));
    }

    #[test]
    fn no_text_makes_the_id_reader_panic(text in ".{0,24}") {
        if let Ok(id) = uuid_text::parse(&text) {
            prop_assert_eq!(uuid_text::format(&id), text);
        }
    }
}
