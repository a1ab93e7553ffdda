//! Record bytes are passed on, never copied: not by the encoder, not by the decoder.

use kraft_bench::samples;

#[test]
fn records_keep_their_place_in_memory() {
    let mut with_records = 0;
    for sample in samples::all() {
        let Some(records) = sample.records() else { continue };
        with_records += 1;
        let parts = sample.parts();
        assert_eq!(parts.concat(), *sample.encoded(), "{}", sample.name());
        assert!(
            parts
                .iter()
                .any(|part| part.as_ptr() == records.as_ptr() && part.len() == records.len())
        );

        let decoded = sample.decoded_records().expect("records");
        assert_eq!(decoded, *records);
        let frame = sample.encoded().as_ptr_range();
        assert!(frame.contains(&decoded.as_ptr()), "{}", sample.name());
        let cost = allocation_counter::measure(|| sample.ours());
        assert!(
            cost.bytes_total < 4096,
            "{}: {} bytes",
            sample.name(),
            cost.bytes_total
        );
    }
    assert_eq!(with_records, 3);
}
