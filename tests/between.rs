//! What must hold between decisions: dearer branches are not executed more often,
//! dearer instructions do not issue more often, mirror images and other orders of
//! blocks get the same forms at the same numbers, and a second conversion changes
//! nothing. On generated kernels; on `textbook` and `unit`, where ties are common,
//! as well as on machines that tell a guard from a select.

use std::path::Path;

use warpfold::machine::Machine;
use warpfold_testkit::checks::between::{
    Raised, check_mirrored, check_monotone, check_order, check_settled, mirrored,
};
use warpfold_testkit::checks::{Failure, Subject};
use warpfold_testkit::generate::{Options, Program, generate, random_bytes};

const MACHINES: [&str; 4] = ["unit", "textbook", "ampere", "pascal"];

/// `n` kernels, each with one of the machines and a number of its own.
fn drawn(n: u64) -> impl Iterator<Item = (u64, Program, Machine)> {
    (0..n).map(|i| {
        let options = Options {
            cross_lane: i % 4 == 3,
            shared: i % 4 == 3,
            ..Options::default()
        };
        let program = generate(&random_bytes(0xbe7 << 20 | i, 0..260), &options);
        let machine = Machine::builtin(MACHINES[i as usize % 4]).unwrap();
        (i, program, machine)
    })
}

fn read(program: &Program) -> Subject {
    let read = Subject::read(&program.text, "between.clif", Path::new("."));
    read.unwrap_or_else(|e| panic!("{e}\n{}", program.text))
}

fn held<T>(result: Result<T, Failure>, program: &Program) -> T {
    result.unwrap_or_else(|e| panic!("{e}\n{}", program.text))
}

#[test]
fn what_is_dearer_is_not_done_more_often() {
    let mut seen = [Raised::default(); 3];
    for (_, program, machine) in drawn(120) {
        let found = held(check_monotone(&read(&program), &machine), &program);
        for (seen, found) in seen.iter_mut().zip(found.into_iter().flatten()) {
            seen.add(found);
        }
    }
    let [overhead, class, instruction] = seen;
    println!("{overhead:?} {class:?} {instruction:?}");
    assert!(
        overhead.compared > 400 && overhead.fell > 20,
        "{overhead:?}"
    );
    assert!(class.compared > 4_000 && class.fell > 100, "{class:?}");
    assert!(
        instruction.compared > 200 && instruction.fell > 10,
        "{instruction:?}"
    );
}

#[test]
fn mirror_images_and_other_orders_get_the_same_numbers() {
    let (mut kernels, mut branches, mut orders) = (0, 0, 0);
    for (i, program, machine) in drawn(160) {
        let turned = held(check_mirrored(&program.text, &machine), &program);
        kernels += u32::from(turned.is_some());
        branches += turned.unwrap_or(0);
        orders += u32::from(held(check_order(&read(&program), i, &machine), &program));
    }
    println!("{kernels} kernels, {branches} branches, {orders} orders");
    assert!(kernels > 60 && branches > 150, "{kernels} {branches}");
    assert!(orders > 60, "{orders}");
}

#[test]
fn a_second_conversion_changes_nothing() {
    let mut again = 0;
    for (_, program, machine) in drawn(160) {
        again += held(check_settled(&read(&program), &machine), &program).branches;
    }
    println!("{again} branches again");
    assert!(again > 150, "{again}");
}

/// Turned round twice a kernel is what it was.
#[test]
fn mirrors_swap_sides_and_negate() {
    let text = "    v2 = icmp slt v0, v1\n    brif v2, block1(v0, v1), block2\n    \
                v3 = fcmp lt v4, v5\n    brif v3, block1, block2(v3)\n    brif v0, block1, block2\n";
    let (mirror, turned) = mirrored(text);
    assert_eq!(turned, 1);
    assert!(mirror.starts_with(
        "    v2 = icmp sge v0, v1\n    brif v2, block2, block1(v0, v1)\n    v3 = fcmp lt"
    ));
    assert_eq!(mirrored(&mirror), (text.to_owned(), 1));
}
