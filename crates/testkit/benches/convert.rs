//! Deciding and rewriting a function, beside its uniformity analysis.
#![allow(missing_docs)]

mod subjects;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use warpfold_testkit::families::Family;

fn convert(c: &mut Criterion) {
    for family in [Family::Diamonds, Family::NestedIfs, Family::ShortCircuit] {
        let mut group = c.benchmark_group(format!("convert/{}", family.name()));
        group.sample_size(10);
        for regions in [100, 1_000, 10_000] {
            let mut subject = subjects::built(family.build(regions * 10));
            group.bench_function(BenchmarkId::new("uniformity", regions), |b| {
                b.iter(|| subjects::analyse(&mut subject));
            });
            let uniformity = subjects::analyse(&mut subject);
            group.bench_function(BenchmarkId::new("conversion", regions), |b| {
                b.iter(|| subjects::convert(&subject, &uniformity));
            });
        }
    }
}

criterion_group!(benches, convert);
criterion_main!(benches);
