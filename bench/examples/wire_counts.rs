//! Encodes and decodes one sample so many times, for a tool that counts instructions: `wire_counts NAME TIMES`. Without
//! arguments it names the samples.

use kraft_bench::samples;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let samples = samples::all();
    let [name, times] = &arguments[..] else {
        for sample in samples {
            println!("{}", sample.name());
        }
        return;
    };
    let sample = samples
        .iter()
        .find(|sample| sample.name() == name)
        .expect("the name of a sample");
    for _ in 0..times.parse::<u32>().expect("a number") {
        sample.ours();
    }
}
