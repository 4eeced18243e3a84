//! The machines that ship with the crate, one row each.

use crate::machine::Machine;

/// A machine that ships with the crate.
#[derive(Clone, Copy, Debug)]
pub struct Shipped {
    /// Its name.
    pub name: &'static str,
    /// Its TOML document.
    pub toml: &'static str,
}

impl Shipped {
    /// The machine.
    pub fn machine(&self) -> Machine {
        Machine::from_toml(self.toml).expect("a shipped document is a machine, as a test holds")
    }
}

macro_rules! shipped {
    ($($name:literal,)*) => {
        &[$(Shipped {
            name: $name,
            toml: include_str!(concat!("../machines/", $name, ".toml")),
        },)*]
    };
}

/// Every shipped machine. To add one, add a row and `machines/NAME.toml`.
pub const MACHINES: &[Shipped] = shipped! {
    "unit",
    "textbook",
    "pascal",
    "ampere",
    "hopper",
    "blackwell",
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::Cost;
    use crate::machine::Cycles;
    use warpfold_ir::CostClass;

    #[test]
    fn every_row_is_a_machine_with_sources() {
        assert_eq!(MACHINES.len(), 6);
        for row in MACHINES {
            let machine =
                Machine::from_toml(row.toml).unwrap_or_else(|e| panic!("{}.toml:{e}", row.name));
            assert_eq!(machine.name, row.name);
            assert_eq!(machine.pointer_bits(), 64);
            for name in [
                "issue.default",
                "guard.cost",
                "branch.proven",
                "branch.agree",
            ] {
                assert!(machine.source(name).is_some(), "{} of {}", name, row.name);
            }
            for s in &machine.sources {
                assert!(
                    s.source.split_whitespace().count() >= 3,
                    "{} of {} needs a source, not `{}`",
                    s.name,
                    row.name,
                    s.source
                );
            }
            assert_eq!(machine.issue_cost(CostClass::Const), Cost::ZERO);
            assert_eq!(machine, Machine::builtin(row.name).expect("it is a row"));
        }
    }

    #[test]
    fn unit_costs_one_and_no_overhead() {
        let m = Machine::builtin("unit").expect("shipped");
        for &class in CostClass::ALL.iter().filter(|&&c| c != CostClass::Const) {
            assert_eq!(m.issue_cost(class), Cost::ONE, "{class}");
        }
        for (proven, split) in [(true, false), (false, false), (false, true)] {
            assert_eq!(m.branch_overhead(proven, split), Cost::ZERO);
        }
        assert_eq!(m.guard, Cost::ZERO);
    }

    #[test]
    fn textbook_puts_all_control_cost_in_b() {
        let m = Machine::builtin("textbook").expect("shipped");
        for &class in CostClass::ALL {
            let free = matches!(
                class,
                CostClass::Const | CostClass::Branch | CostClass::Jump
            );
            let want = if free { Cost::ZERO } else { Cost::ONE };
            assert_eq!(m.issue_cost(class), want, "{class}");
        }
        for (proven, split) in [(true, false), (true, true), (false, false), (false, true)] {
            assert_eq!(m.branch_overhead(proven, split), Cost::issues(5));
        }
    }

    /// The thresholds that the overheads were derived from come back out:
    /// equal arms of n instructions, straight-line 2n against a branch, its
    /// jump, n and b. A provably uniform branch pays from n = 6 on; one on
    /// which a warp of Ampere or Hopper agrees from n = 8 on.
    #[test]
    fn generations_give_back_the_thresholds() {
        let first_branch = |m: &Machine, proven: bool| {
            (1..100)
                .find(|&n| {
                    let kept = Cost::issues(n + 2) + m.branch_overhead(proven, false);
                    kept < Cost::issues(2 * n)
                })
                .expect("b is small")
        };
        for name in ["pascal", "ampere", "hopper", "blackwell"] {
            let m = Machine::builtin(name).expect("shipped");
            assert_eq!(first_branch(&m, true), 6, "{name}");
            assert!(m.b_proven <= m.b_agree && m.b_agree <= m.b_split, "{name}");
        }
        for name in ["ampere", "hopper"] {
            let m = Machine::builtin(name).expect("shipped");
            assert_eq!(first_branch(&m, false), 8, "{name}");
        }
    }

    /// b is the implied total of 5.5, changed by the instructions that are
    /// issued beyond a uniform branch's, less what is counted as br and jump.
    #[test]
    fn overheads_follow_from_the_issued_instructions() {
        for name in ["pascal", "ampere", "hopper", "blackwell"] {
            let m = Machine::builtin(name).expect("shipped");
            let issued = m.issued_overhead.expect("generations record it");
            assert_eq!(issued.proven, [2, 1], "{name}");
            let mean = |paths: [u32; 2]| Cost(500) * u64::from(paths[0] + paths[1]);
            let extra = mean(issued.divergent) - mean(issued.proven);
            let implied = Cost(5500);
            assert_eq!(m.b_proven, implied - Cost::issues(2), "{name}");
            assert_eq!(m.b_agree, implied + extra - Cost::issues(2), "{name}");
        }
    }

    #[test]
    fn generations_differ_where_hardware_does() {
        let get = |name| Machine::builtin(name).expect("shipped");
        let split = |name| get(name).branch_overhead(false, true);
        assert!(split("pascal") < split("ampere"));
        assert_eq!(split("ampere"), split("hopper"));
        assert!(split("hopper") < split("blackwell"));
        let fp64 = |name| get(name).issue_cost(CostClass::Fp64);
        assert_eq!(
            [fp64("pascal"), fp64("ampere"), fp64("hopper")],
            [Cost::issues(8), Cost::issues(4), Cost::issues(2)]
        );
        assert_eq!(
            get("pascal").dependent_latency(CostClass::Alu),
            Some(Cycles { low: 6, high: 6 })
        );
        assert_eq!(get("ampere").timing.expect("known").resident_warps, 64);
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let e = Machine::builtin("fermi").expect_err("not shipped");
        assert_eq!(
            e.to_string(),
            "no machine is named `fermi`; shipped are unit, textbook, pascal, ampere, hopper, blackwell"
        );
    }
}
