//! Lowering, one verification, uniformity and if-conversion together, beside
//! Cranelift's optimising compilation of the same function.
#![allow(missing_docs)]

mod subjects;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use warpfold_testkit::families::clif::{diamonds, straight};

fn compile(c: &mut Criterion) {
    let isa = subjects::cranelift();
    type Build = fn(usize) -> cranelift_codegen::ir::Function;
    for (name, build) in [("straight", straight as Build), ("diamonds", diamonds)] {
        let mut group = c.benchmark_group(format!("compile/{name}"));
        group.sample_size(10);
        for size in [1_000, 10_000, 40_000] {
            let func = build(size);
            group.throughput(Throughput::Elements(func.dfg.num_insts() as u64));
            group.bench_function(BenchmarkId::new("warpfold", size), |b| {
                b.iter(|| subjects::whole(&func));
            });
            group.bench_function(BenchmarkId::new("cranelift", size), |b| {
                b.iter_batched(
                    || func.clone(),
                    |func| subjects::compile(func, &isa),
                    BatchSize::LargeInput,
                );
            });
        }
    }
}

criterion_group!(benches, compile);
criterion_main!(benches);
