//! What the counters, metrics, traps and failures mean, row by row.

use warpfold_ir::TrapCode;

#[cfg(doc)]
use crate::ExecError;

/// Counters that share a line: `CLASS` and `N` in a name stand for several.
pub(super) struct Row {
    pub names: &'static [&'static str],
    pub unit: &'static str,
    pub meaning: &'static str,
    /// The counterpart in Nsight Compute, without `.sum`.
    pub cuda: &'static str,
}

const fn row(
    names: &'static [&'static str],
    unit: &'static str,
    meaning: &'static str,
    cuda: &'static str,
) -> Row {
    Row {
        names,
        unit,
        meaning,
        cuda,
    }
}

/// Every counter, in the order of the page.
pub(super) const COUNTERS: &[Row] = &[
    row(
        &["inst_executed"],
        "issues",
        "Instructions executed by a warp, terminators included.",
        "`smsp__inst_executed`",
    ),
    row(
        &["thread_inst_executed"],
        "lanes · issues",
        "Active lanes, whatever their guard says.",
        "`smsp__thread_inst_executed`",
    ),
    row(
        &["thread_inst_executed_pred_on"],
        "lanes · issues",
        "Active lanes whose guard holds; without a guard all active ones.",
        "`smsp__thread_inst_executed_pred_on`",
    ),
    row(
        &["inst_executed_CLASS"],
        "issues",
        "By counter class, see below; together `inst_executed`.",
        "",
    ),
    row(
        &["issue_CLASS"],
        "issues",
        "By cost class, see below; together `inst_executed`. This is what a machine weighs.",
        "",
    ),
    row(
        &["guarded"],
        "issues",
        "Of instructions with a guard, guarded exits and traps among them.",
        "",
    ),
    row(
        &["lost_partial"],
        "lanes · issues",
        "Lanes that the last warp of a block does not have.",
        "",
    ),
    row(
        &["lost_exited"],
        "lanes · issues",
        "Lanes that have returned, exited or trapped.",
        "",
    ),
    row(
        &["lost_diverged"],
        "lanes · issues",
        "Lanes on another side, or waiting at a join.",
        "",
    ),
    row(
        &["lost_predicated"],
        "lanes · issues",
        "Active lanes whose guard does not hold.",
        "",
    ),
    row(
        &["branch"],
        "executions",
        "Of `br` and `switch`, and of indirect calls that split. Jumps, returns and guarded exits \
         are none.",
        "`smsp__sass_branch_targets`",
    ),
    row(
        &["branch_proven"],
        "executions",
        "Of branches marked proven uniform, and of those with one target block.",
        "",
    ),
    row(
        &["branch_agree"],
        "executions",
        "Of other branches, the lanes going to one block.",
        "",
    ),
    row(
        &["branch_split"],
        "executions",
        "Of other branches, the lanes going to several.",
        "",
    ),
    row(
        &["divergent_branch"],
        "executions",
        "Whose lanes went to several blocks, or callees.",
        "`smsp__sass_branch_targets_threads_divergent`",
    ),
    row(
        &["extra_targets"],
        "blocks",
        "Target blocks, or callees, taken beyond the first.",
        "",
    ),
    row(
        &["stack_pushes"],
        "entries",
        "Sides pushed by splits; a side that goes straight to the join is not.",
        "",
    ),
    row(
        &["stack_max_depth"],
        "entries",
        "Most entries on any warp's stacks, the bases included; no sum.",
        "",
    ),
    row(
        &["joins_on_time"],
        "barriers",
        "Convergence barriers released with all lanes that had not left, at the textbook's join, \
         or behind a call.",
        "",
    ),
    row(
        &["joins_deferred"],
        "barriers",
        "The same at a join that is earlier than the textbook's.",
        "",
    ),
    row(
        &["joins_early"],
        "barriers",
        "Convergence barriers released without lanes that had yielded.",
        "",
    ),
    row(
        &["barrier_max_depth"],
        "barriers",
        "Most convergence barriers that a lane was inside of at once; no sum.",
        "",
    ),
    row(
        &["yields"],
        "issues",
        "Of lanes that gave way on a back edge; each is an issue of the class `ctl`.",
        "",
    ),
    row(
        &["call_max_depth"],
        "frames",
        "Most frames of any warp, the kernel's included; no sum.",
        "",
    ),
    row(
        &["barriers"],
        "barriers",
        "Completed by a block; the issues are `issue_bar`.",
        "",
    ),
    row(&["traps"], "lanes", "That trapped.", ""),
    row(
        &[
            "global_load_requests",
            "global_store_requests",
            "global_atomic_requests",
        ],
        "requests",
        "Instructions in which a lane reached a buffer.",
        "`l1tex__t_requests_pipe_lsu_mem_global_op_ld`, `_st`",
    ),
    row(
        &[
            "global_load_sectors",
            "global_store_sectors",
            "global_atomic_sectors",
        ],
        "32 bytes",
        "Distinct sectors of each request.",
        "`l1tex__t_sectors_pipe_lsu_mem_global_op_ld`, `_st`",
    ),
    row(
        &[
            "global_load_sectors_ideal",
            "global_store_sectors_ideal",
            "global_atomic_sectors_ideal",
        ],
        "32 bytes",
        "Fewest sectors that the distinct bytes of each request could lie in.",
        "`memory_l2_theoretical_sectors_global_ideal`, of all together",
    ),
    row(
        &[
            "global_load_lines",
            "global_store_lines",
            "global_atomic_lines",
        ],
        "128 bytes",
        "Distinct lines of each request.",
        "",
    ),
    row(
        &[
            "local_load_requests",
            "local_store_requests",
            "local_atomic_requests",
        ],
        "requests",
        "Instructions in which a lane reached a stack slot.",
        "`l1tex__t_requests_pipe_lsu_mem_local_op_ld`, `_st`",
    ),
    row(
        &[
            "local_load_sectors",
            "local_store_sectors",
            "local_atomic_sectors",
        ],
        "32 bytes",
        "Distinct sectors of each request, slots interleaved by lane.",
        "`l1tex__t_sectors_pipe_lsu_mem_local_op_ld`, `_st`",
    ),
    row(
        &[
            "local_load_sectors_ideal",
            "local_store_sectors_ideal",
            "local_atomic_sectors_ideal",
        ],
        "32 bytes",
        "Fewest sectors that the distinct bytes of each request could lie in.",
        "",
    ),
    row(
        &[
            "local_load_lines",
            "local_store_lines",
            "local_atomic_lines",
        ],
        "128 bytes",
        "Distinct lines of each request, slots interleaved by lane.",
        "",
    ),
    row(
        &[
            "shared_load_requests",
            "shared_store_requests",
            "shared_atomic_requests",
        ],
        "requests",
        "Instructions in which a lane reached shared memory.",
        "`smsp__inst_executed_op_shared_ld`, `_st`",
    ),
    row(
        &[
            "shared_load_wavefronts",
            "shared_store_wavefronts",
            "shared_atomic_wavefronts",
        ],
        "wavefronts",
        "Rounds in which each bank serves one word.",
        "`l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld`, `_st`",
    ),
    row(
        &[
            "shared_load_wavefronts_ideal",
            "shared_store_wavefronts_ideal",
            "shared_atomic_wavefronts_ideal",
        ],
        "wavefronts",
        "Fewest that the distinct bytes of each request could take, 128 in each.",
        "`memory_l1_wavefronts_shared_ideal`, of all together",
    ),
    row(
        &[
            "shared_load_conflicts",
            "shared_store_conflicts",
            "shared_atomic_conflicts",
        ],
        "wavefronts",
        "Beyond each request's first.",
        "`l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld`, `_st`",
    ),
    row(
        &["active_lanes_N"],
        "issues",
        "With exactly N active lanes, N from 1 to 32.",
        "",
    ),
];

/// Name, formula, counterpart.
pub(super) const METRICS: &[[&str; 3]] = &[
    [
        "thread_inst_executed_per_inst_executed",
        "thread_inst_executed / inst_executed",
        "`smsp__thread_inst_executed_per_inst_executed.ratio`",
    ],
    [
        "pred_on_per_inst_executed",
        "thread_inst_executed_pred_on / inst_executed",
        "`smsp__thread_inst_executed_pred_on_per_inst_executed.ratio`",
    ],
    [
        "warp_execution_efficiency",
        "100 · thread_inst_executed / (32 · inst_executed)",
        "nvprof's metric of this name",
    ],
    [
        "warp_nonpred_execution_efficiency",
        "100 · thread_inst_executed_pred_on / (32 · inst_executed)",
        "nvprof's metric of this name",
    ],
    [
        "branch_efficiency",
        "100 · (branch − divergent_branch) / branch",
        "nvprof's; `smsp__sass_average_branch_targets_threads_uniform.pct`",
    ],
    [
        "global_load_sectors_per_request",
        "global_load_sectors / global_load_requests",
        "`l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio`",
    ],
    [
        "global_load_sectors_per_request_ideal",
        "global_load_sectors_ideal / global_load_requests",
        "",
    ],
    [
        "global_store_sectors_per_request",
        "global_store_sectors / global_store_requests",
        "`l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio`",
    ],
    [
        "global_store_sectors_per_request_ideal",
        "global_store_sectors_ideal / global_store_requests",
        "",
    ],
    [
        "local_load_sectors_per_request",
        "local_load_sectors / local_load_requests",
        "`l1tex__average_t_sectors_per_request_pipe_lsu_mem_local_op_ld.ratio`",
    ],
    [
        "local_load_sectors_per_request_ideal",
        "local_load_sectors_ideal / local_load_requests",
        "",
    ],
    [
        "local_store_sectors_per_request",
        "local_store_sectors / local_store_requests",
        "`l1tex__average_t_sectors_per_request_pipe_lsu_mem_local_op_st.ratio`",
    ],
    [
        "local_store_sectors_per_request_ideal",
        "local_store_sectors_ideal / local_store_requests",
        "",
    ],
];

/// Every trap code and what makes a lane trap with it; `User` stands for all.
pub(super) const TRAPS: &[(TrapCode, &str)] = &[
    (
        TrapCode::HeapOutOfBounds,
        "an access that is not mapped as a whole, a store to a read-only buffer, or an indirect \
         call of what is no function of its signature",
    ),
    (
        TrapCode::HeapMisaligned,
        "an access with `aligned`, or an atomic one, at an address that is no multiple of its width",
    ),
    (
        TrapCode::IntegerDivisionByZero,
        "a division or remainder by zero",
    ),
    (
        TrapCode::IntegerOverflow,
        "a signed quotient or a conversion from a float that does not fit",
    ),
    (
        TrapCode::BadConversionToInteger,
        "a NaN converted to an integer",
    ),
    (
        TrapCode::StackOverflow,
        "a call that a lane has no room for: too many frames, or too many bytes of stack slots",
    ),
    (TrapCode::User(1), "`trap` and `trap if` with their code"),
];

/// How a run fails, by the names of [`ExecError`].
pub(super) const FAILURES: &[(&str, &str)] = &[
    (
        "Launch",
        "The launch is not possible: sizes, arguments, memory. Nothing has run.",
    ),
    (
        "BarrierDivergence",
        "Lanes wait at a `barrier` or `warp_sync` that other live lanes of the warp, or those that \
         the mask names, cannot reach. Says which arrived and which are missing.",
    ),
    (
        "OutsideMask",
        "Lanes execute a `warp_sync` whose mask does not name them.",
    ),
    (
        "NoProgress",
        "A warp repeats a state that it has been in, and nothing can change that.",
    ),
    (
        "StepLimit",
        "The launch takes more issues than `--step-limit` allows.",
    ),
    (
        "RecordLimit",
        "Timeline and event log together take more records than allowed.",
    ),
    (
        "TimingLimit",
        "The warps that are resident at once in the timing model have more steps than it keeps.",
    ),
    (
        "Check",
        "A [check](checks.md) that was asked for found something wrong.",
    ),
];
