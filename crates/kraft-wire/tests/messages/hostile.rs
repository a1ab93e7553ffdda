//! Whatever arrives either decodes or gives a typed error.

use crate::support::{Random, hex, kinds, layouts, random_message, vectors};
use bytes::Bytes;
use kraft_wire::batch::{BatchView, Batches};
use kraft_wire::control::control_records;
use kraft_wire::frame::{decode_request_header, decode_response_header, split_request};
use kraft_wire::metadata_frame::MetadataFrame;
use kraft_wire::{ApiKey, DecodeErrorKind};

/// Size of the messages of which every byte gets every value: large enough to hold some of everything, small enough
/// for a short test.
const CHANGED_SIZE: usize = 50;

#[test]
fn every_prefix_and_every_changed_byte_of_every_message() {
    let layouts = layouts();
    let mut random = Random(2);
    for kind in kinds() {
        for layout in layouts.iter().filter(|layout| layout.name == kind.name) {
            let version = layout.versions.1;
            let candidates = (0..8).map(|_| random_message(&layout.body, &mut random));
            let bytes = candidates
                .min_by_key(|bytes| bytes.len().abs_diff(CHANGED_SIZE))
                .expect("eight");
            for length in 0..bytes.len() {
                let prefix = Bytes::copy_from_slice(&bytes[..length]);
                assert!(
                    (kind.decode)(&prefix, version).is_err(),
                    "{} cut at {length}",
                    kind.name
                );
            }
            for at in 0..bytes.len() {
                // Every value in the newest version, every bit in the others.
                let flips: Vec<u8> = match version == kind.versions.1 {
                    true => (1..=u8::MAX).collect(),
                    false => (0..8).map(|bit| 1 << bit).collect(),
                };
                for flip in flips {
                    let mut changed = bytes.clone();
                    changed[at] ^= flip;
                    (kind.survives)(&Bytes::from(changed), version);
                }
            }
        }
    }
}

#[test]
fn every_prefix_and_every_changed_byte_of_a_batch() {
    let text = std::fs::read_to_string(vectors().join("batches.jsonl")).expect("vectors");
    for line in text.lines().step_by(7) {
        let line: serde_json::Value = serde_json::from_str(line).expect("json");
        let bytes = hex(line["hex"].as_str().expect("hex"));
        for length in 0..bytes.len() {
            assert_eq!(Batches::new(bytes.slice(..length)).count(), 0);
            assert!(BatchView::parse(bytes.slice(..length)).is_err());
        }
        for at in 0..bytes.len().min(160) {
            for flip in [1, 2, 0x10, 0x80, 0xff] {
                let mut changed = bytes.to_vec();
                changed[at] ^= flip;
                let Ok(view) = BatchView::parse(changed.into()) else {
                    continue;
                };
                // Behind the checksum nothing goes unnoticed; in front of it only offset and epoch may differ.
                assert!(view.validate().is_err() || at < 16, "byte {at}");
                for record in view.records().flatten() {
                    let frame = MetadataFrame::parse(&record.value.unwrap_or_default());
                    drop(frame);
                }
                drop(control_records(&view));
            }
        }
    }
}

#[test]
fn noise() {
    let mut random = Random(3);
    let mut split_as_well = 0;
    for _ in 0..20_000 {
        let length = random.below(120) as usize;
        let mut noise: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
        // Half of it looks like a request, so that it comes further.
        if noise.len() >= 4 && random.below(2) == 0 {
            let api = ApiKey::ALL[random.below(ApiKey::ALL.len() as u64) as usize];
            noise[..2].copy_from_slice(&api.key().to_be_bytes());
            noise[2..4].copy_from_slice(&api.versions().end().to_be_bytes());
        }
        let noise = Bytes::from(noise);
        let header = decode_request_header(noise.clone());
        let split = split_request(noise.clone());
        match (header, split) {
            (Ok((api, header, mut reader)), Ok((head, body))) => {
                assert_eq!((api, header.request_api_version), (head.api, head.version));
                assert_eq!(header.correlation_id, head.correlation_id);
                assert_eq!(reader.rest(), body);
                split_as_well += 1;
                drop(api.decode_request(&mut reader, header.request_api_version));
            }
            (header, split) => assert_eq!(header.err(), split.err(), "{noise:?}"),
        }
        for api in [ApiKey::Fetch, ApiKey::DescribeQuorum, ApiKey::ApiVersions] {
            if let Ok((_, mut reader)) = decode_response_header(noise.clone(), api, *api.versions().end()) {
                drop(api.decode_response(&mut reader, *api.versions().end()));
            }
        }
        drop(Batches::collect_all(noise));
    }
    assert!(split_as_well > 100, "{split_as_well} headers could be read");
}

#[test]
fn a_count_never_makes_a_decoder_allocate_out_of_proportion() {
    // A megabyte of empty listeners would become many megabytes of strings.
    let mut body = vec![0; 25];
    body.extend([0x80, 0x80, 0x3f]);
    body.resize(1 << 20, 1);
    let kind = kinds()
        .find(|kind| kind.name == "AddRaftVoterRequest")
        .expect("known");
    let body = Bytes::from(body);
    let error = (kind.decode)(&body, 1).err().expect("refused");
    assert_eq!(error.kind, DecodeErrorKind::OutOfProportion);
    assert!((kind.cost)(&body, 1) <= 4 * (1 << 20) + 4096);
}

#[test]
fn decoding_allocates_in_proportion() {
    let layouts = layouts();
    let mut random = Random(4);
    let mut total = 0;
    for kind in kinds() {
        for layout in layouts.iter().filter(|layout| layout.name == kind.name) {
            for round in 0..200 {
                let mut bytes = random_message(&layout.body, &mut random);
                // Large numbers at random places, and much behind them that could be elements.
                if round % 2 == 0 && !bytes.is_empty() {
                    let at = random.below(bytes.len() as u64) as usize;
                    bytes.truncate(at);
                    bytes.extend([0x80 | random.next() as u8, 0x80 | random.next() as u8, 1]);
                    bytes.resize(20_000, random.below(3) as u8);
                }
                let bytes = Bytes::from(bytes);
                let cost = (kind.cost)(&bytes, layout.versions.1);
                total += cost;
                assert!(
                    cost <= 4 * bytes.len() as u64 + 4096,
                    "{}: {cost} for {}",
                    kind.name,
                    bytes.len()
                );
            }
        }
    }
    assert!(total > 0, "nothing was counted");
}
