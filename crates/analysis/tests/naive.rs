//! The graph analyses against their definitions, on random graphs.
//!
//! Every definition here is the shortest one, by reachability with a node
//! taken out, whatever it costs.

mod common;

use std::collections::BTreeSet;

use common::{Node, build};
use proptest::prelude::*;
use warpfold_analysis::{
    Cfg, DomTree, JoinRule, Joins, LoopId, Loops, NoRegion, RegionId, RegionShape, Regions,
};
use warpfold_ir::{Block, Function};

/// A plain directed graph on numbered nodes.
struct Plain(Vec<Vec<usize>>);

impl Plain {
    /// Nodes reachable from `from` by at least one edge, through none of
    /// `without`.
    fn reach(&self, from: usize, without: &[usize]) -> BTreeSet<usize> {
        let mut seen = BTreeSet::new();
        let mut work = vec![from];
        while let Some(x) = work.pop() {
            for &y in &self.0[x] {
                if !without.contains(&y) && seen.insert(y) {
                    work.push(y);
                }
            }
        }
        seen
    }

    /// Whether a path of any length leads there.
    fn leads(&self, from: usize, to: usize, without: &[usize]) -> bool {
        !without.contains(&from) && (from == to || self.reach(from, without).contains(&to))
    }

    /// Whether `a` is on every path from `root` to `b`.
    fn dominates(&self, root: usize, a: usize, b: usize) -> bool {
        !self.leads(root, b, &[a])
    }
}

/// A random graph as everything under test sees it, and as plain numbers.
struct Case {
    func: Function,
    cfg: Cfg,
    plain: Plain,
    /// Reachable block numbers.
    live: Vec<usize>,
}

impl Case {
    fn new(nodes: &[Node]) -> Self {
        let func = build(nodes);
        let plain = Plain(nodes.iter().map(|n| n.succs.clone()).collect());
        let mut live: BTreeSet<usize> = plain.reach(0, &[]);
        live.insert(0);
        Self {
            cfg: Cfg::new(&func),
            func,
            plain,
            live: live.into_iter().collect(),
        }
    }

    fn b(&self, i: usize) -> Block {
        self.func.layout[i]
    }

    fn joins(&self, rule: JoinRule) -> Joins {
        Joins::new(&self.func, &self.cfg, rule)
    }

    /// The ends by rank, as (block, blocks of the endless loop).
    fn ends(&self, nodes: &[Node]) -> Vec<(usize, BTreeSet<usize>)> {
        let mut ranked = Vec::new();
        for &x in &self.live {
            if nodes[x].succs.is_empty() {
                let after_barrier = self
                    .live
                    .iter()
                    .any(|&y| nodes[y].barrier && self.plain.leads(y, x, &[]));
                let kind = if nodes[x].trap {
                    2
                } else {
                    i32::from(!after_barrier)
                };
                ranked.push((kind, std::cmp::Reverse(x), x, BTreeSet::new()));
            }
            let set = self.plain.reach(x, &[]);
            let closed = !set.is_empty() && set.iter().all(|&y| self.plain.reach(y, &[]) == set);
            let first = |&y: &usize| self.cfg.rpo_index(self.b(y));
            if closed && set.contains(&x) && set.iter().min_by_key(|y| first(y)) == Some(&x) {
                ranked.push((3, std::cmp::Reverse(x), x, set));
            }
        }
        ranked.sort();
        ranked.into_iter().map(|(.., x, set)| (x, set)).collect()
    }

    /// The join of every block by definition.
    fn naive_joins(&self, nodes: &[Node], rule: JoinRule) -> Vec<Option<usize>> {
        let n = nodes.len();
        let ends = self.ends(nodes);
        let home = |x: usize| {
            let mut ranks = 0..ends.len();
            ranks.find(|&e| self.plain.leads(x, ends[e].0, &[]))
        };
        // Blocks, a virtual node per end, the exit.
        let exit = n + ends.len();
        let mut rest = vec![Vec::new(); exit + 1];
        for &x in &self.live {
            for &y in &nodes[x].succs {
                if rule == JoinRule::Default && home(x) != home(y) {
                    continue;
                }
                let back = ends.iter().position(|(h, set)| *h == y && set.contains(&x));
                rest[x].push(back.map_or(y, |e| n + e));
            }
            if nodes[x].succs.is_empty() {
                rest[x].push(exit);
            }
        }
        for node in &mut rest[n..exit] {
            node.push(exit);
        }
        let rest = Plain(rest);
        let mut joins = vec![None; n];
        for &x in &self.live {
            let after: Vec<usize> = (0..exit)
                .filter(|&y| y != x && !rest.leads(x, exit, &[y]))
                .collect();
            let nearest = after
                .iter()
                .find(|&&y| after.iter().all(|&z| z == y || !rest.leads(y, exit, &[z])));
            joins[x] = nearest.map(|&y| if y < n { y } else { ends[y - n].0 });
        }
        joins
    }

    /// The interior of `head` with `join` if they span a region.
    fn naive_region(&self, head: usize, join: usize) -> Result<BTreeSet<usize>, BTreeSet<usize>> {
        let inside = self.plain.reach(head, &[join]);
        let entered_well = inside.iter().all(|&x| {
            let mut preds = self.live.iter().filter(|&&p| self.plain.0[p].contains(&x));
            preds.all(|p| *p == head || inside.contains(p))
        });
        let without_join = |x: &usize| !self.plain.reach(*x, &[join]).contains(x);
        let acyclic = inside.iter().all(without_join);
        if head != join && !inside.contains(&head) && entered_well && acyclic {
            Ok(inside)
        } else {
            Err(inside)
        }
    }
}

fn check_joins(nodes: &[Node]) -> Result<(), TestCaseError> {
    let case = Case::new(nodes);
    for rule in [JoinRule::Default, JoinRule::Cfg] {
        let joins = case.joins(rule);
        let naive = case.naive_joins(nodes, rule);
        for (x, &join) in naive.iter().enumerate() {
            let expected = join.map(|j| case.b(j));
            prop_assert_eq!(joins.of(case.b(x)), expected, "join of {} by {:?}", x, rule);
        }
    }
    let joins = case.joins(JoinRule::Default);
    for &x in &case.live {
        if !nodes[x].succs.is_empty() {
            prop_assert!(
                joins.of(case.b(x)).is_some(),
                "{} never joins by default",
                x
            );
        }
    }
    Ok(())
}

fn check_dominators(nodes: &[Node]) -> Result<(), TestCaseError> {
    let case = Case::new(nodes);
    let tree = DomTree::dominators(&case.cfg);
    for &x in &case.live {
        for &y in &case.live {
            let naive = case.plain.dominates(0, x, y);
            prop_assert_eq!(tree.dominates(case.b(x), case.b(y)), naive, "{} {}", x, y);
        }
        let above = |y: &usize| *y != x && case.plain.dominates(0, *y, x);
        let above: Vec<usize> = case.live.iter().copied().filter(above).collect();
        let nearest = above
            .iter()
            .find(|&&y| above.iter().all(|&z| case.plain.dominates(0, z, y)));
        prop_assert_eq!(tree.idom(case.b(x)), nearest.map(|&y| case.b(y)));
    }
    let order = case.cfg.topological();
    let place = |b: Block| order.iter().position(|&x| x == b);
    prop_assert_eq!(order.len(), case.live.len());
    for &b in case.cfg.rpo() {
        for &to in case.cfg.succs(b) {
            let forward = case.cfg.rpo_index(b) < case.cfg.rpo_index(to);
            prop_assert_eq!(forward, place(b) < place(to));
        }
    }
    Ok(())
}

/// Header, blocks, parent's header, entries of a loop.
type NaiveLoop = (usize, BTreeSet<usize>, Option<usize>, BTreeSet<usize>);

/// Nested strongly connected sets: those of `nodes` without the edges to
/// `parent`, its header, then what is inside each.
fn naive_loops(
    case: &Case,
    nodes: &BTreeSet<usize>,
    parent: Option<usize>,
    found: &mut Vec<NaiveLoop>,
) {
    let mut without: Vec<usize> = (0..case.plain.0.len())
        .filter(|x| !nodes.contains(x))
        .collect();
    without.extend(parent);
    let reach: Vec<BTreeSet<usize>> = (0..case.plain.0.len())
        .map(|x| case.plain.reach(x, &without))
        .collect();
    let mut done: BTreeSet<usize> = BTreeSet::new();
    for &b in case.cfg.rpo() {
        let x = b.as_u32() as usize;
        if !nodes.contains(&x) || done.contains(&x) || !reach[x].contains(&x) {
            continue;
        }
        let set: BTreeSet<usize> = reach[x]
            .iter()
            .copied()
            .filter(|&y| reach[y].contains(&x))
            .collect();
        done.extend(&set);
        let entries = set
            .iter()
            .copied()
            .filter(|&y| {
                y == 0
                    || case
                        .live
                        .iter()
                        .any(|p| !set.contains(p) && case.plain.0[*p].contains(&y))
            })
            .collect();
        found.push((x, set.clone(), parent, entries));
        naive_loops(case, &set, Some(x), found);
    }
}

fn check_loops(nodes: &[Node]) -> Result<(), TestCaseError> {
    let case = Case::new(nodes);
    let loops = Loops::new(&case.cfg);
    let mut naive = Vec::new();
    naive_loops(
        &case,
        &case.live.iter().copied().collect(),
        None,
        &mut naive,
    );
    naive.sort();
    let index = |b: Block| b.as_u32() as usize;
    let set = |blocks: &[Block]| blocks.iter().copied().map(index).collect::<BTreeSet<_>>();
    let mut found: Vec<NaiveLoop> = loops
        .ids()
        .map(|l: LoopId| {
            (
                index(loops.header(l)),
                set(loops.blocks(l)),
                loops.parent(l).map(|p| index(loops.header(p))),
                set(loops.entries(l)),
            )
        })
        .collect();
    found.sort();
    prop_assert_eq!(&found, &naive);
    for &x in &case.live {
        let depth = naive.iter().filter(|l| l.1.contains(&x)).count();
        prop_assert_eq!(loops.block_depth(case.b(x)) as usize, depth);
        prop_assert_eq!(
            loops.is_entry(case.b(x)),
            naive.iter().any(|l| l.3.contains(&x))
        );
        for e in case.cfg.edges_from(case.b(x)) {
            let to = index(case.cfg.target(e));
            let back = naive.iter().any(|l| l.0 == to && l.1.contains(&x));
            prop_assert_eq!(loops.is_back_edge(&case.cfg, e), back);
        }
        for l in loops.ids() {
            let inside = loops.blocks(l).contains(&case.b(x));
            prop_assert_eq!(loops.contains(l, case.b(x)), inside);
        }
    }
    for l in loops.ids() {
        prop_assert_eq!(loops.blocks(l)[0], loops.header(l));
        for e in loops.exits(&case.cfg, l) {
            prop_assert!(loops.contains(l, e.from));
            prop_assert!(!loops.contains(l, case.cfg.target(e)));
        }
    }
    Ok(())
}

fn check_regions(nodes: &[Node]) -> Result<(), TestCaseError> {
    let case = Case::new(nodes);
    let index = |b: Block| b.as_u32() as usize;
    for rule in [JoinRule::Default, JoinRule::Cfg] {
        let joins = case.joins(rule);
        let loops = Loops::new(&case.cfg);
        let regions = Regions::new(&case.func, &case.cfg, &joins, &loops);
        let heads: Vec<usize> = case
            .live
            .iter()
            .copied()
            .filter(|&x| nodes[x].succs.len() > 1)
            .collect();
        let naive: Vec<(usize, Option<Result<BTreeSet<usize>, _>>)> = heads
            .iter()
            .map(|&h| {
                let join = joins.of(case.b(h)).map(index);
                (h, join.map(|j| case.naive_region(h, j)))
            })
            .collect();
        // The smallest region around each block, by definition.
        let around = |x: usize| {
            let holding = naive.iter().filter_map(|(h, r)| match r {
                Some(Ok(inside)) if inside.contains(&x) => Some((inside.len(), *h)),
                _ => None,
            });
            holding.min().map(|(_, h)| h)
        };
        let head_of = |r: RegionId| index(regions[r].head);
        for (h, result) in &naive {
            let (h, b) = (*h, case.b(*h));
            match (regions.headed_by(b), result) {
                (Ok(r), Some(Ok(inside))) => {
                    check_region(&case, nodes, &regions, r, inside, &around)?;
                }
                (Err(NoRegion::NoJoin), None) => {}
                (Err(NoRegion::InsideOther { region, shared }), Some(Err(inside))) => {
                    prop_assert_eq!(around(h), Some(index(*region)));
                    prop_assert!(inside.contains(&index(*shared)));
                }
                (Err(NoRegion::Cycle { block }), Some(Err(inside))) => {
                    let join = joins.of(b).map(index);
                    let at = index(*block);
                    prop_assert!(at == h || inside.contains(&at));
                    let without: Vec<usize> = join.into_iter().filter(|&j| j != h).collect();
                    prop_assert!(
                        case.plain.reach(at, &without).contains(&at),
                        "no cycle through {} under {}",
                        at,
                        h
                    );
                }
                (
                    Err(
                        why @ (NoRegion::SideEntry { block, from }
                        | NoRegion::LeavesElsewhere { block, from }),
                    ),
                    Some(Err(inside)),
                ) => {
                    prop_assert_eq!(around(h), None);
                    prop_assert!(inside.contains(&index(*block)));
                    prop_assert!(case.plain.0[index(*from)].contains(&index(*block)));
                    prop_assert!(
                        case.plain.leads(0, index(*from), &[h])
                            || !(index(*from) == h || inside.contains(&index(*from)))
                    );
                    let same_home = joins.ends().home(*block) == joins.ends().home(b);
                    prop_assert_eq!(matches!(why, NoRegion::SideEntry { .. }), same_home);
                }
                (found, expected) => {
                    prop_assert!(false, "{} by {:?}: {:?}, {:?}", h, rule, found, expected);
                }
            }
        }
        for &x in &case.live {
            let found = regions.smallest_containing(case.b(x)).map(head_of);
            prop_assert_eq!(found, around(x));
        }
        let roots: Vec<usize> = regions.roots().iter().copied().map(head_of).collect();
        let no_parent = naive
            .iter()
            .filter(|(h, r)| matches!(r, Some(Ok(_))) && around(*h).is_none());
        prop_assert_eq!(roots, no_parent.map(|(h, _)| *h).collect::<Vec<_>>());
    }
    Ok(())
}

fn check_region(
    case: &Case,
    nodes: &[Node],
    regions: &Regions,
    r: RegionId,
    inside: &BTreeSet<usize>,
    around: &impl Fn(usize) -> Option<usize>,
) -> Result<(), TestCaseError> {
    let index = |b: Block| b.as_u32() as usize;
    let region = &regions[r];
    let head = index(region.head);
    let blocks: Vec<usize> = regions.blocks(r).iter().copied().map(index).collect();
    prop_assert_eq!(&blocks.iter().copied().collect::<BTreeSet<_>>(), inside);
    prop_assert_eq!(blocks.len(), inside.len());
    for (i, &x) in blocks.iter().enumerate() {
        for y in &nodes[x].succs {
            prop_assert!(!blocks[..=i].contains(y), "{} before {}", y, x);
        }
    }
    let own: Vec<usize> = regions.own_blocks(r).map(index).collect();
    let expected = blocks.iter().copied().filter(|&x| around(x) == Some(head));
    prop_assert_eq!(own, expected.collect::<Vec<_>>());
    let ends = blocks
        .iter()
        .copied()
        .filter(|&x| nodes[x].succs.is_empty());
    let ends: Vec<usize> = ends.collect();
    prop_assert_eq!(region.has_early_end, !ends.is_empty());
    prop_assert_eq!(regions.early_ends(r).map(index).collect::<Vec<_>>(), ends);
    prop_assert_eq!(region.parent.map(|p| index(regions[p].head)), around(head));
    if let Some(p) = region.parent {
        prop_assert!(regions[p].children.contains(&r));
    }
    for &x in &case.live {
        prop_assert_eq!(regions.contains(r, case.b(x)), inside.contains(&x));
    }
    let direct = (0..nodes[head].succs.len() as u32)
        .filter(|&i| nodes[head].succs[i as usize] == index(region.join));
    prop_assert_eq!(&region.direct[..], direct.collect::<Vec<_>>());
    prop_assert_eq!(region.shape == RegionShape::Degenerate, inside.is_empty());
    Ok(())
}

/// Swapping the targets of every two-way branch changes no join and no
/// region, as long as every loop has one entry.
fn check_swapped(nodes: &[Node]) -> Result<(), TestCaseError> {
    let case = Case::new(nodes);
    let loops = Loops::new(&case.cfg);
    if loops.ids().any(|l| loops.is_irreducible(l)) {
        return Ok(());
    }
    let mut swapped = nodes.to_vec();
    for node in &mut swapped {
        if node.succs.len() == 2 && !node.switch {
            node.succs.swap(0, 1);
        }
    }
    let other = Case::new(&swapped);
    let joins = case.joins(JoinRule::Default);
    let other_joins = other.joins(JoinRule::Default);
    let regions = Regions::new(&case.func, &case.cfg, &joins, &loops);
    let other_loops = Loops::new(&other.cfg);
    let other_regions = Regions::new(&other.func, &other.cfg, &other_joins, &other_loops);
    for &x in &case.live {
        let b = case.b(x);
        prop_assert_eq!(joins.of(b), other_joins.of(b));
        prop_assert_eq!(joins.deferred(b), other_joins.deferred(b));
        match (regions.headed_by(b), other_regions.headed_by(b)) {
            (Ok(r), Ok(o)) => {
                prop_assert_eq!(regions.blocks(r), other_regions.blocks(o));
                prop_assert_eq!(regions[r].shape, other_regions[o].shape);
            }
            (r, o) => prop_assert_eq!(r, o),
        }
    }
    Ok(())
}

/// Any graph: targets anywhere but at the entry.
fn any_graph() -> impl Strategy<Value = Vec<Node>> {
    (2usize..11).prop_flat_map(|n| prop::collection::vec(node(1..n), n))
}

/// Mostly forward edges over short distances, as source programs have: many
/// regions, some loops.
fn structured_graph() -> impl Strategy<Value = Vec<Node>> {
    prop::collection::vec((node(1..5), 0..24u32), 2..14).prop_map(|mut rows| {
        let n = rows.len();
        for (i, (node, back)) in rows.iter_mut().enumerate() {
            if i + 1 == n {
                node.succs.clear();
            }
            for (k, to) in node.succs.iter_mut().enumerate() {
                *to = if *back == 0 && k == 0 {
                    i.saturating_sub(*to).max(1)
                } else {
                    (i + *to).min(n - 1)
                };
            }
        }
        rows.into_iter().map(|(node, _)| node).collect()
    })
}

fn node(targets: std::ops::Range<usize>) -> impl Strategy<Value = Node> {
    let count = prop_oneof![1 => Just(0usize), 4 => Just(1), 6 => Just(2), 1 => Just(3)];
    let succs = count.prop_flat_map(move |k| prop::collection::vec(targets.clone(), k));
    let flag = |weight| prop::bool::weighted(weight);
    (succs, flag(0.3), flag(0.1), flag(0.1)).prop_map(|(succs, trap, barrier, switch)| Node {
        switch: switch || succs.len() > 2,
        succs,
        trap,
        barrier,
    })
}

fn graphs() -> impl Strategy<Value = Vec<Node>> {
    prop_oneof![any_graph(), structured_graph()]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn joins_are_immediate_post_dominators_of_the_rest(nodes in graphs()) {
        check_joins(&nodes)?;
    }

    #[test]
    fn dominators_are_on_every_path(nodes in graphs()) {
        check_dominators(&nodes)?;
    }

    #[test]
    fn loops_are_nested_strongly_connected_sets(nodes in graphs()) {
        check_loops(&nodes)?;
    }

    #[test]
    fn regions_are_entered_through_their_heads_only(nodes in graphs()) {
        check_regions(&nodes)?;
    }

    #[test]
    fn edge_order_does_not_matter(nodes in structured_graph()) {
        check_swapped(&nodes)?;
    }
}

/// The random graphs cover what there is to find.
#[test]
fn the_random_graphs_have_every_shape_and_reason() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for _ in 0..3000 {
        let nodes = graphs()
            .new_tree(&mut runner)
            .expect("no filter rejects")
            .current();
        let case = Case::new(&nodes);
        let joins = case.joins(JoinRule::Default);
        let loops = Loops::new(&case.cfg);
        let regions = Regions::new(&case.func, &case.cfg, &joins, &loops);
        for &b in case.cfg.rpo() {
            seen.insert(match regions.headed_by(b) {
                Ok(r) => regions[r].shape.name(),
                Err(NoRegion::Cycle { .. }) => "cycle",
                Err(NoRegion::SideEntry { .. }) => "side entry",
                Err(NoRegion::LeavesElsewhere { .. }) => "leaves elsewhere",
                Err(NoRegion::InsideOther { .. }) => "inside other",
                Err(_) => continue,
            });
            if joins.deferred(b) {
                seen.insert("deferred");
            }
        }
        for l in loops.ids() {
            seen.insert(if loops.is_irreducible(l) {
                "irreducible"
            } else {
                "reducible"
            });
        }
    }
    let shapes = RegionShape::ALL.map(RegionShape::name);
    let others = [
        "cycle",
        "side entry",
        "leaves elsewhere",
        "inside other",
        "deferred",
        "irreducible",
        "reducible",
    ];
    assert_eq!(seen, shapes.into_iter().chain(others).collect());
}
