//! Time of the uniformity analysis and of what it rests on, per instruction, by
//! family and size.
#![allow(missing_docs)]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use warpfold::analysis::{Cfg, JoinRule, Joins, Loops, Regions, Uniformity, UniformityOptions};
use warpfold_testkit::families::{Family, instructions};

fn uniformity(c: &mut Criterion) {
    for family in Family::ALL {
        let mut group = c.benchmark_group(format!("uniformity/{}", family.name()));
        group.sample_size(10);
        for size in [10_000, 100_000, 1_000_000] {
            let func = family.build(size);
            group.throughput(Throughput::Elements(instructions(&func) as u64));
            group.bench_function(BenchmarkId::from_parameter(size), |b| {
                b.iter(|| Uniformity::new(&func, &UniformityOptions::default()));
            });
        }
    }
}

fn graph(c: &mut Criterion) {
    for family in Family::ALL {
        let mut group = c.benchmark_group(format!("graph/{}", family.name()));
        group.sample_size(10);
        for size in [10_000, 1_000_000] {
            let func = family.build(size);
            group.throughput(Throughput::Elements(instructions(&func) as u64));
            group.bench_function(BenchmarkId::new("verify", size), |b| {
                b.iter(|| warpfold::ir::verify(&func));
            });
            group.bench_function(BenchmarkId::new("joins-loops-regions", size), |b| {
                b.iter(|| {
                    let cfg = Cfg::new(&func);
                    let joins = Joins::new(&func, &cfg, JoinRule::Default);
                    Regions::new(&func, &cfg, &joins, &Loops::new(&cfg))
                });
            });
        }
    }
}

criterion_group!(benches, uniformity, graph);
criterion_main!(benches);
