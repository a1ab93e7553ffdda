//! Decoding and encoding of the messages of a running quorum, beside an independent codec.

use std::hint::black_box;

use bytes::{Bytes, BytesMut};
use criterion::{Criterion, criterion_group, criterion_main};
use kafka_protocol::messages as theirs;
use kafka_protocol::protocol::{Decodable, Encodable};
use kraft_bench::{Exchange, decode, exchanges};
use kraft_wire::batch::{BatchBuilder, BatchView};
use kraft_wire::{ApiKey, Message, message as ours};

/// The largest recorded request of an API.
fn sample(api: ApiKey) -> Exchange {
    let exchanges = exchanges().expect("the recordings are there").into_iter();
    exchanges
        .filter(|exchange| exchange.api == api)
        .max_by_key(|exchange| exchange.request.len())
        .expect("recorded")
}

fn vote(criterion: &mut Criterion) {
    let Exchange { request, version, .. } = sample(ApiKey::Vote);
    criterion.bench_function("decode Vote request, kraft", |bencher| {
        bencher.iter(|| decode::<ours::VoteRequest>(black_box(&request), version));
    });
    criterion.bench_function("decode Vote request, kafka-protocol", |bencher| {
        bencher.iter(|| theirs::VoteRequest::decode(&mut black_box(&request).clone(), version));
    });
    let our_message: ours::VoteRequest = decode(&request, version).expect("recorded");
    let their_message = theirs::VoteRequest::decode(&mut request.clone(), version).expect("recorded");
    criterion.bench_function("encode Vote request, kraft", |bencher| {
        bencher.iter(|| black_box(&our_message).to_bytes(version));
    });
    criterion.bench_function("encode Vote request, kafka-protocol", |bencher| {
        bencher.iter(|| {
            let mut out = BytesMut::new();
            black_box(&their_message).encode(&mut out, version).map(|()| out)
        });
    });
}

fn batch(criterion: &mut Criterion) {
    let batch = |records: usize| -> Bytes {
        let mut builder = BatchBuilder::data(1);
        for _ in 0..records {
            builder.push(&[7; 256]).expect("it fits");
        }
        builder.build(0, 1)
    };
    for records in [1, 100] {
        let bytes = batch(records);
        criterion.bench_function(
            &format!("validate a batch of {records} records of 256 bytes"),
            |bencher| {
                bencher.iter(|| BatchView::parse(black_box(&bytes).clone()).map(|view| view.validate()));
            },
        );
        criterion.bench_function(
            &format!("build a batch of {records} records of 256 bytes"),
            |bencher| {
                bencher.iter(|| batch(black_box(records)));
            },
        );
    }
}

criterion_group!(benches, vote, batch);
criterion_main!(benches);
