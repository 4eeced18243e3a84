//! Joins, loops and regions of graphs small enough to check by eye, among
//! them the kernels whose counters the literature's claims are checked by.

mod common;

use common::{Node, build, graph};
use warpfold_analysis::{
    Cfg, DomTree, Edge, EndKind, JoinRule, Joins, Loops, NoRegion, RegionShape, Regions,
};

const IF: &str = "e: a b | a: j | b: j | j";
const THEN: &str = "e: a j | a: j | j";
const NEST2: &str = "r: r1 r0 | r1: r11 r10 | r11: r1j | r10: r1j | r1j: rj | \
                     r0: r01 r00 | r01: r0j | r00: r0j | r0j: rj | rj: end | end";
const GUARD: &str = "e: x b | x | b";
const RETARM: &str = "e: t f | t: r a | r | a: z | f: z | z";
const SHARED: &str = "e: t m | t: m end | m: end | end";
const RETBAR: &str = "e: m n | m: r w | r | n: w | w*";
const LOOP: &str = "e: h | h: b x | b: h | x";
const LOCK: &str = "e: s | s: s cs | cs";
const WAIT: &str = "e: w p | w: w d | d: j | p: j | j";

#[track_caller]
fn check_joins(text: &str, default: &str, cfg: &str, deferred: &str) {
    let g = graph(text);
    assert_eq!(
        g.joins_text(JoinRule::Default),
        default,
        "default joins of {text}"
    );
    assert_eq!(g.joins_text(JoinRule::Cfg), cfg, "cfg joins of {text}");
    assert_eq!(g.deferred(), deferred, "deferred branches of {text}");
}

#[track_caller]
fn check_regions(text: &str, expected: &[&str]) {
    assert_eq!(graph(text).regions_text(), expected, "regions of {text}");
}

#[test]
fn joins_of_the_claims_kernels() {
    check_joins(IF, "e→j", "e→j", "");
    check_joins(THEN, "e→j", "e→j", "");
    let nest = "r→rj r1→r1j r0→r0j";
    check_joins(NEST2, nest, nest, "");
    check_joins(GUARD, "e→b", "e→-", "e");
    check_joins(RETARM, "e→z t→a", "e→- t→-", "e t");
    check_joins(SHARED, "e→end t→end", "e→end t→end", "");
    check_joins(RETBAR, "e→w m→w", "e→- m→-", "e m");
    check_joins(LOOP, "h→x", "h→x", "");
    check_joins(LOCK, "s→cs", "s→cs", "");
    check_joins(WAIT, "e→j w→d", "e→j w→d", "");
}

#[test]
fn a_barrier_makes_its_return_the_home_whatever_the_layout() {
    // Without the barrier the later return r would be the home.
    check_joins("e: w r | w* | r", "e→w", "e→-", "e");
    check_joins("e: w r | w | r", "e→r", "e→-", "e");
    // A barrier some way before the return counts as well.
    check_joins("e: v r | v*: w | w | r", "e→v", "e→-", "e");
    let g = graph("e: w r | w* | r");
    let ends: Vec<_> = g.joins(JoinRule::Default).ends().ranked().to_vec();
    assert_eq!(
        ends.iter()
            .map(|e| (e.kind, g.name(e.block)))
            .collect::<Vec<_>>(),
        [(EndKind::ReturnAfterBarrier, "w"), (EndKind::Return, "r")]
    );
}

#[test]
fn traps_rank_after_returns_and_before_endless_loops() {
    check_joins("e: r t | r | t!", "e→r", "e→-", "e");
    check_joins("e: l t | l: l | t!", "e→t", "e→-", "e");
    let g = graph("e: l m | l: l k | k: r t | r | t! | m: m");
    let ends = g.joins(JoinRule::Default).ends().clone();
    assert_eq!(g.names(ends.ranked().iter().map(|e| e.block)), "r t m");
    assert_eq!(ends.home(g.block("e")), Some(0));
    let loops = Loops::new(&g.cfg);
    let endless = |b| loops.headed_by(g.block(b)).map(|l| loops.is_endless(l));
    assert_eq!(
        (endless("m"), endless("l"), endless("k")),
        (Some(true), Some(false), None)
    );
    let m = g.block("m");
    let early = g.joins(JoinRule::Default);
    assert!(early.is_early_return(
        &g.cfg,
        Edge {
            from: g.block("e"),
            index: 1
        }
    ));
    assert!(!early.is_early_return(&g.cfg, Edge { from: m, index: 0 }));
}

#[test]
fn branches_in_a_loop_that_never_leaves_join_at_its_header() {
    check_joins("e: h | h: c | c: a b | a: h | b: h", "c→h", "c→h", "");
    check_joins("e: h | h: a b | a: h | b: h", "h→h", "h→h", "");
    // The back edges of the inner loop, which leaves, stay.
    check_joins(
        "e: h | h: i | i: i j | j: a h | a: h",
        "i→j j→h",
        "i→j j→h",
        "",
    );
    // A branch on the way in that meets only inside.
    check_joins("e: a h | a: h | h: h", "e→h", "e→h", "");
}

#[test]
fn a_loop_exit_is_no_early_return() {
    // Both ways out of the loop lead on to one return.
    check_joins(
        "e: h | h: b x | b: y l | l: h | x: z | y: z | z",
        "h→z b→z",
        "h→z b→z",
        "",
    );
}

#[test]
fn edges_from_dead_blocks_do_not_count() {
    let g = graph("e: a b | a: j | dead: a | b: j | j");
    assert_eq!(g.cfg.preds(g.block("a")).len(), 1);
    assert!(!g.cfg.is_reachable(g.block("dead")));
    assert_eq!(g.cfg.succs(g.block("dead")), [g.block("a")]);
    assert_eq!(g.joins(JoinRule::Default).of(g.block("dead")), None);
    let dom = DomTree::dominators(&g.cfg);
    assert_eq!(dom.idom(g.block("dead")), None);
    assert!(!dom.contains(g.block("dead")));
    assert_eq!(
        g.regions()[g.regions().roots()[0]].shape,
        RegionShape::Diamond
    );
}

#[test]
fn post_dominators_have_a_virtual_exit() {
    let g = graph(RETARM);
    let tree = DomTree::post_dominators(&g.cfg);
    assert_eq!(tree.idom(g.block("t")), None);
    assert_eq!(tree.idom(g.block("f")), Some(g.block("z")));
    assert!(tree.dominates(g.block("z"), g.block("a")));
    assert!(!tree.dominates(g.block("z"), g.block("t")));
    let g = graph("e: h | h: b | b: h");
    let tree = DomTree::post_dominators(&g.cfg);
    assert_eq!(tree.idom(g.block("h")), Some(g.block("b")));
    assert_eq!(tree.idom(g.block("b")), None);
}

#[test]
fn a_nest_of_loops() {
    let g = graph("e: h | h: b x | b: i | i: k l | k: i | l: h | x");
    let loops = Loops::new(&g.cfg);
    let [outer, inner] = loops.ids().collect::<Vec<_>>()[..] else {
        panic!("two loops, not {}", loops.len());
    };
    assert_eq!(g.names(loops.blocks(outer).iter().copied()), "h b l i k");
    assert_eq!(g.names(loops.blocks(inner).iter().copied()), "i k");
    assert_eq!(loops.parent(inner), Some(outer));
    assert_eq!((loops.depth(outer), loops.depth(inner)), (1, 2));
    assert_eq!(loops.block_depth(g.block("k")), 2);
    assert_eq!(loops.block_depth(g.block("x")), 0);
    let exit = |l| {
        loops
            .exits(&g.cfg, l)
            .map(|e| g.name(g.cfg.target(e)))
            .collect::<Vec<_>>()
    };
    assert_eq!((exit(outer), exit(inner)), (vec!["x"], vec!["l"]));
    let back = Edge {
        from: g.block("l"),
        index: 0,
    };
    assert_eq!(loops.back_edges(outer), [back]);
    assert!(loops.is_back_edge(&g.cfg, back));
    assert!(!loops.is_back_edge(
        &g.cfg,
        Edge {
            from: g.block("b"),
            index: 0
        }
    ));
    assert!(!loops.is_irreducible(outer));
}

#[test]
fn an_irreducible_loop_lists_its_entries() {
    let g = graph("e: a b | a: b x | b: a | x");
    let loops = Loops::new(&g.cfg);
    let l = loops.loop_of(g.block("b")).expect("b is in a loop");
    assert!(loops.is_irreducible(l));
    assert_eq!(g.names(loops.entries(l).iter().copied()), "a b");
    assert!(loops.is_entry(g.block("b")) && !loops.is_entry(g.block("x")));
}

#[test]
fn shapes() {
    check_regions(IF, &["e: diamond [a b] → j"]);
    check_regions(THEN, &["e: triangle [a] → j"]);
    check_regions("e: j a | a: j | j", &["e: triangle [a] → j"]);
    check_regions("e: j j | j", &["e: degenerate [] → j"]);
    check_regions(
        "e: a b c | a: j | b: j | c: j | j",
        &["e: switch [a b c] → j"],
    );
    check_regions(GUARD, &["e: guard [x] → b"]);
    check_regions(
        NEST2,
        &[
            "r: diamond [r1 r11 r10 r1j r0 r01 r00 r0j] → rj",
            "r1: diamond [r11 r10] → r1j",
            "r0: diamond [r01 r00] → r0j",
        ],
    );
    check_regions(RETARM, &["e: diamond [t r a f] → z", "t: guard [r] → a"]);
    // `if (a && b) T else F`, and without the else.
    check_regions(
        "e: t f | t: b f | b: j | f: j | j",
        &[
            "e: chain [t b f] → j",
            "t: part of the region of e, which shares f",
        ],
    );
    check_regions(
        "e: t j | t: b j | b: j | j",
        &["e: triangle [t b] → j", "t: triangle [b] → j"],
    );
    check_regions(
        SHARED,
        &[
            "e: chain [t m] → end",
            "t: part of the region of e, which shares m",
        ],
    );
    // `a && b || c`.
    check_regions(
        "e: t u | t: x u | u: x y | x: j | y: j | j",
        &[
            "e: chain [t u y x] → j",
            "t: part of the region of e, which shares u",
            "u: part of the region of e, which shares x",
        ],
    );
    // Three tests with three places to go.
    check_regions(
        "e: t u | t: x y | u: y z | x: j | y: j | z: j | j",
        &[
            "e: acyclic [t x u z y] → j",
            "t: part of the region of e, which shares y",
            "u: part of the region of e, which shares y",
        ],
    );
}

#[test]
fn why_there_is_no_region() {
    check_regions(LOOP, &["h: a cycle through h"]);
    check_regions(WAIT, &["e: a cycle through w", "w: a cycle through w"]);
    // A shared trap block.
    check_regions(
        "e: t a | a: t b | b | t!",
        &[
            "e: the way out through t is shared with a",
            "a: the way out through t is shared with e",
        ],
    );
    // The second test of a loop whose two exits differ.
    check_regions(
        "e: h | h: b x | b: y l | l: h | x: z | y: z | z",
        &["h: a cycle through h", "b: a cycle through h"],
    );
    // Two branches that share an arm, under no common region.
    check_regions(
        "e: p q z | p: m j | q: m j | z: j | m: j | j",
        &[
            "e: switch [p q z m] → j",
            "p: part of the region of e, which shares m",
            "q: part of the region of e, which shares m",
        ],
    );
    check_regions("e: h | h: a b | a: h | b: h", &["h: a cycle through h"]);
    let g = graph("e: x | d: x x | x");
    assert_eq!(
        g.regions().headed_by(g.block("d")),
        Err(&NoRegion::Unreachable)
    );
    assert_eq!(
        g.regions().headed_by(g.block("x")),
        Err(&NoRegion::NotABranch)
    );
    let g = graph("e: x b | x | b");
    let joins = g.joins(JoinRule::Cfg);
    let regions = Regions::new(&g.func, &g.cfg, &joins, &Loops::new(&g.cfg));
    assert_eq!(regions.headed_by(g.block("e")), Err(&NoRegion::NoJoin));
}

#[test]
fn own_blocks_and_nested_ones() {
    let g = graph(NEST2);
    let regions = g.regions();
    let outer = regions.headed_by(g.block("r")).expect("r heads a region");
    assert_eq!(g.names(regions.own_blocks(outer)), "r1 r1j r0 r0j");
    let inner = regions[outer].children[0];
    assert_eq!(regions[inner].parent, Some(outer));
    assert_eq!(g.names(regions.own_blocks(inner)), "r11 r10");
    assert_eq!(regions.smallest_containing(g.block("r1j")), Some(outer));
    assert_eq!(regions.smallest_containing(g.block("r11")), Some(inner));
    assert_eq!(regions.smallest_containing(g.block("rj")), None);
    assert_eq!(regions.roots(), [outer]);

    let g = graph(RETARM);
    let regions = g.regions();
    let e = regions.headed_by(g.block("e")).expect("e heads a region");
    assert!(regions[e].has_early_end);
    assert_eq!(g.names(regions.early_ends(e)), "r");
    assert!(regions[e].direct.is_empty());
    let t = regions[e].children[0];
    assert_eq!(regions[t].direct[..], [1]);
}

/// `depth` nested diamonds.
fn deep_nest(depth: usize) -> Vec<Node> {
    // Heads 0..depth, else sides depth..2·depth, joins 2·depth..3·depth, from
    // the outside in; then the innermost block and nothing else.
    let node = |succs: &[usize]| Node {
        succs: succs.to_vec(),
        ..Node::default()
    };
    let mut nodes = Vec::new();
    for d in 0..depth {
        let next = if d + 1 < depth { d + 1 } else { 3 * depth };
        nodes.push(node(&[next, depth + d]));
    }
    for d in 0..depth {
        nodes.push(node(&[2 * depth + d]));
    }
    for d in 0..depth {
        nodes.push(if d == 0 {
            node(&[])
        } else {
            node(&[2 * depth + d - 1])
        });
    }
    nodes.push(node(&[3 * depth - 1]));
    nodes
}

#[test]
fn ten_thousand_nested_regions() {
    let depth = 10_000;
    let func = build(&deep_nest(depth));
    let cfg = Cfg::new(&func);
    let joins = Joins::new(&func, &cfg, JoinRule::Default);
    let loops = Loops::new(&cfg);
    assert!(loops.is_empty());
    let regions = Regions::new(&func, &cfg, &joins, &loops);
    assert_eq!(regions.len(), depth);
    let mut total = 0;
    for (d, id) in regions.ids().enumerate() {
        assert_eq!(regions[id].shape, RegionShape::Diamond);
        assert_eq!(regions[id].join, func.layout[2 * depth + d]);
        assert_eq!(regions.blocks(id).len(), 3 * (depth - 1 - d) + 2);
        total += regions.own_blocks(id).count();
    }
    assert_eq!(total, func.layout.len() - 2);
}

#[test]
fn ten_thousand_early_outs_to_one_trap() {
    let depth = 10_000;
    let mut nodes: Vec<Node> = (0..depth)
        .map(|d| Node {
            succs: vec![depth + 1, d + 1],
            ..Node::default()
        })
        .collect();
    nodes.push(Node::default());
    nodes.push(Node {
        trap: true,
        ..Node::default()
    });
    let func = build(&nodes);
    let cfg = Cfg::new(&func);
    let joins = Joins::new(&func, &cfg, JoinRule::Default);
    let regions = Regions::new(&func, &cfg, &joins, &Loops::new(&cfg));
    assert!(regions.is_empty());
    for d in 0..depth {
        let b = func.layout[d];
        assert_eq!(joins.of(b), Some(func.layout[d + 1]));
        assert!(joins.deferred(b));
        let from = func.layout[if d == 0 { 1 } else { 0 }];
        let block = func.layout[depth + 1];
        assert_eq!(
            regions.headed_by(b),
            Err(&NoRegion::LeavesElsewhere { block, from })
        );
    }
}

#[test]
fn ten_thousand_nested_loops() {
    let depth = 10_000;
    // Headers 0..depth, latches depth..2·depth from the outside in, a return.
    let mut nodes: Vec<Node> = (0..depth)
        .map(|d| Node {
            succs: vec![if d + 1 < depth { d + 1 } else { 2 * depth - 1 }],
            ..Node::default()
        })
        .collect();
    for d in 0..depth {
        let out = if d == 0 { 2 * depth } else { depth + d - 1 };
        nodes.push(Node {
            succs: vec![d, out],
            ..Node::default()
        });
    }
    nodes.push(Node::default());
    let func = build(&nodes);
    let cfg = Cfg::new(&func);
    let loops = Loops::new(&cfg);
    assert_eq!(loops.len(), depth);
    for (d, l) in loops.ids().enumerate() {
        assert_eq!(loops.header(l), func.layout[d]);
        assert_eq!(loops.depth(l) as usize, d + 1);
        assert_eq!(loops.blocks(l).len(), 2 * (depth - d));
    }
    let joins = Joins::new(&func, &cfg, JoinRule::Default);
    assert_eq!(
        joins.of(func.layout[2 * depth - 1]),
        Some(func.layout[2 * depth - 2])
    );
}
