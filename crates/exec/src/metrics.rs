//! What is derived from counters, and all of them by name.

use warpfold_ir::{CostClass, CounterClass};

use crate::counters::{Counters, LoadStore, Transactions};

/// `part / whole`, or `None` for nothing.
pub(crate) fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole != 0).then(|| part as f64 / whole as f64)
}

fn sides<T>(t: &LoadStore<T>) -> [(&'static str, &T); 3] {
    [
        ("load", &t.loads),
        ("store", &t.stores),
        ("atomic", &t.atomics),
    ]
}

impl Transactions {
    /// Sectors that a request takes on average.
    pub fn sectors_per_request(&self) -> Option<f64> {
        ratio(self.sectors, self.requests)
    }

    /// Sectors that a request would take on average if its bytes were neighbours.
    pub fn ideal_per_request(&self) -> Option<f64> {
        ratio(self.ideal, self.requests)
    }
}

impl Counters {
    /// Active lanes per issue, at most 32.
    pub fn thread_inst_executed_per_inst_executed(&self) -> Option<f64> {
        ratio(self.thread_inst_executed, self.inst_executed)
    }

    /// Active lanes whose guard holds, per issue.
    pub fn pred_on_per_inst_executed(&self) -> Option<f64> {
        ratio(self.thread_inst_executed_pred_on, self.inst_executed)
    }

    /// Active lanes in percent of 32.
    pub fn warp_execution_efficiency(&self) -> Option<f64> {
        ratio(100 * self.thread_inst_executed, 32 * self.inst_executed)
    }

    /// Active lanes whose guard holds, in percent of 32.
    pub fn warp_nonpred_execution_efficiency(&self) -> Option<f64> {
        ratio(
            100 * self.thread_inst_executed_pred_on,
            32 * self.inst_executed,
        )
    }

    /// Branch executions that did not diverge, in percent.
    pub fn branch_efficiency(&self) -> Option<f64> {
        let branches = self.branches.total();
        ratio(100 * (branches - self.divergent_branch), branches)
    }

    /// Every counter with its name, in a fixed order: text and JSON come from
    /// this list. Histogram entries are `active_lanes_1` … `active_lanes_32`.
    pub fn rows(&self) -> Vec<(String, u64)> {
        let mut rows: Vec<(String, u64)> = Vec::new();
        let mut add = |name: &str, n: u64| rows.push((name.to_owned(), n));
        add("inst_executed", self.inst_executed);
        add("thread_inst_executed", self.thread_inst_executed);
        add(
            "thread_inst_executed_pred_on",
            self.thread_inst_executed_pred_on,
        );
        for &class in CounterClass::ALL {
            add(&format!("inst_executed_{class}"), self.counter_class(class));
        }
        for &class in CostClass::ALL {
            if class != CostClass::Const {
                add(&format!("issue_{class}"), self.class(class));
            }
        }
        add("guarded", self.guarded);
        add("lost_partial", self.lost.partial);
        add("lost_exited", self.lost.exited);
        add("lost_diverged", self.lost.diverged);
        add("lost_predicated", self.lost.predicated);
        add("branch", self.branches.total());
        add("branch_proven", self.branches.proven);
        add("branch_agree", self.branches.agree);
        add("branch_split", self.branches.split);
        add("divergent_branch", self.divergent_branch);
        add("extra_targets", self.extra_targets);
        add("stack_pushes", self.pushes);
        add("stack_max_depth", self.max_depth);
        add("joins_on_time", self.joins_on_time);
        add("joins_deferred", self.joins_deferred);
        add("joins_early", self.joins_early);
        add("barrier_max_depth", self.max_barrier_depth);
        add("yields", self.yields);
        add("call_max_depth", self.max_call_depth);
        add("barriers", self.barriers);
        add("traps", self.traps);
        for (space, t) in [("global", &self.global), ("local", &self.local)] {
            for (side, t) in sides(t) {
                add(&format!("{space}_{side}_requests"), t.requests);
                add(&format!("{space}_{side}_sectors"), t.sectors);
                add(&format!("{space}_{side}_sectors_ideal"), t.ideal);
                add(&format!("{space}_{side}_lines"), t.lines);
            }
        }
        for (side, t) in sides(&self.shared) {
            add(&format!("shared_{side}_requests"), t.requests);
            add(&format!("shared_{side}_wavefronts"), t.wavefronts);
            add(&format!("shared_{side}_wavefronts_ideal"), t.ideal);
            add(&format!("shared_{side}_conflicts"), t.conflicts);
        }
        for (lanes, &n) in self.active_lanes.iter().enumerate().skip(1) {
            add(&format!("active_lanes_{lanes}"), n);
        }
        rows
    }

    /// The derived metrics that are defined, with their names.
    pub fn metrics(&self) -> Vec<(&'static str, f64)> {
        let (global, local) = (&self.global, &self.local);
        let sectors = [
            (
                "global_load_sectors_per_request",
                global.loads.sectors_per_request(),
            ),
            (
                "global_load_sectors_per_request_ideal",
                global.loads.ideal_per_request(),
            ),
            (
                "global_store_sectors_per_request",
                global.stores.sectors_per_request(),
            ),
            (
                "global_store_sectors_per_request_ideal",
                global.stores.ideal_per_request(),
            ),
            (
                "local_load_sectors_per_request",
                local.loads.sectors_per_request(),
            ),
            (
                "local_load_sectors_per_request_ideal",
                local.loads.ideal_per_request(),
            ),
            (
                "local_store_sectors_per_request",
                local.stores.sectors_per_request(),
            ),
            (
                "local_store_sectors_per_request_ideal",
                local.stores.ideal_per_request(),
            ),
        ];
        [
            (
                "thread_inst_executed_per_inst_executed",
                self.thread_inst_executed_per_inst_executed(),
            ),
            (
                "pred_on_per_inst_executed",
                self.pred_on_per_inst_executed(),
            ),
            (
                "warp_execution_efficiency",
                self.warp_execution_efficiency(),
            ),
            (
                "warp_nonpred_execution_efficiency",
                self.warp_nonpred_execution_efficiency(),
            ),
            ("branch_efficiency", self.branch_efficiency()),
        ]
        .into_iter()
        .chain(sectors)
        .filter_map(|(name, x)| x.map(|x| (name, x)))
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_metrics_undefined_without_issues() {
        let rows = Counters::default().rows();
        let mut names: Vec<_> = rows.iter().map(|(n, _)| n).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), rows.len());
        assert!(Counters::default().metrics().is_empty());
    }
}
