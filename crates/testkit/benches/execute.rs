//! The executor beside cranelift-interpreter and beside machine code that
//! cranelift-jit makes, both of which run the scalar kernel item by item.
#![allow(missing_docs)]

mod subjects;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};

fn execute(c: &mut Criterion) {
    for mut subject in subjects::kernels::subjects() {
        subject.check();
        let mut group = c.benchmark_group(format!("execute/{}", subject.name));
        group.sample_size(10);
        group.throughput(Throughput::Elements(subjects::kernels::ITEMS.into()));
        group.bench_function("warpfold", |b| b.iter(|| subject.on_warps()));
        group.bench_function("cranelift-interpreter", |b| {
            b.iter(|| subject.interpreted())
        });
        group.bench_function("cranelift-jit", |b| b.iter(|| subject.native().len()));
    }
}

criterion_group!(benches, execute);
criterion_main!(benches);
