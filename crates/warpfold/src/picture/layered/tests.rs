use super::*;

fn edge(from: usize, to: usize) -> EdgeIn {
    EdgeIn {
        from,
        to,
        back: None,
        label: None,
        pull: 1.0,
    }
}

fn node() -> (f64, f64) {
    (60.0, 30.0)
}

#[test]
fn a_diamond_is_symmetric() {
    let input = Input {
        nodes: vec![node(); 4],
        edges: vec![edge(0, 1), edge(0, 2), edge(1, 3), edge(2, 3)],
        above: Vec::new(),
    };
    let l = layout(&input);
    let middle = |n: usize| l.nodes[n].x + 30.0;
    assert!((middle(0) - middle(3)).abs() < 0.1, "{:?}", l.nodes);
    assert!((middle(1) + middle(2) - 2.0 * middle(0)).abs() < 0.1);
    assert_eq!(l.nodes[1].y, l.nodes[2].y);
    assert!((middle(2) - middle(1) - 76.0).abs() < 0.1);
}

#[test]
fn labels_and_nodes_keep_apart() {
    let labelled = |from, to| EdgeIn {
        label: Some((50.0, 12.0)),
        ..edge(from, to)
    };
    let input = Input {
        nodes: vec![node(); 6],
        edges: vec![
            labelled(0, 1),
            labelled(0, 4),
            edge(1, 2),
            labelled(2, 3),
            EdgeIn {
                back: Some(vec![1, 2, 3]),
                ..labelled(3, 1)
            },
            labelled(2, 5),
            edge(4, 5),
            edge(3, 5),
        ],
        above: vec![(3, 5)],
    };
    let l = layout(&input);
    let boxes: Vec<Bounds> = l
        .nodes
        .iter()
        .chain(l.labels.iter().flatten())
        .copied()
        .collect();
    assert_eq!(boxes.len(), 11);
    for (i, a) in boxes.iter().enumerate() {
        for b in &boxes[..i] {
            assert!(!a.overlaps(b), "{a:?} {b:?}");
        }
    }
    assert!(l.nodes[5].y > l.nodes[3].y, "below the loop");
    // The edge back stands to the right of its loop.
    let label = l.labels[4].unwrap();
    assert!(label.x > l.nodes[3].x + l.nodes[3].w);
}

#[test]
fn crossings_are_avoided() {
    // 1 and 2 lead to 4 and 3.
    let input = Input {
        nodes: vec![node(); 6],
        edges: vec![
            edge(0, 1),
            edge(0, 2),
            edge(1, 4),
            edge(2, 3),
            edge(3, 5),
            edge(4, 5),
        ],
        above: Vec::new(),
    };
    let mut l = Layered::new(&input);
    assert_eq!(l.crossings(), 1);
    l.order();
    assert_eq!(l.crossings(), 0);
}

/// Graphs of up to 30 nodes, any edges forward and back, labels of any size.
#[test]
fn no_boxes_overlap_in_any_graph() {
    let mut state = 1u64;
    let mut draw = |n: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % n
    };
    for round in 0..200 {
        let n = 1 + draw(30) as usize;
        let mut input = Input::default();
        for _ in 0..n {
            input
                .nodes
                .push((30.0 + draw(90) as f64, 20.0 + draw(50) as f64));
        }
        for _ in 0..draw(2 * n as u64 + 1) {
            let (from, to) = (draw(n as u64) as usize, draw(n as u64) as usize);
            let members = || (to..=from).collect();
            let size = (10.0 + draw(80) as f64, 12.0);
            input.edges.push(EdgeIn {
                back: (to <= from).then(members),
                label: (draw(2) == 0).then_some(size),
                ..edge(from, to)
            });
        }
        // Also such as cannot be.
        input
            .above
            .push((draw(n as u64) as usize, draw(n as u64) as usize));
        let l = layout(&input);
        let labels = l.labels.iter().flatten();
        let boxes: Vec<Bounds> = l.nodes.iter().chain(labels).copied().collect();
        let page = Bounds {
            x: -0.01,
            y: 0.0,
            w: l.width + 0.02,
            h: l.height,
        };
        for (i, a) in boxes.iter().enumerate() {
            assert!(a.within(&page), "{round}: {a:?} {page:?}");
            // Distances are kept but for rounding.
            let inner = Bounds {
                x: a.x + 0.01,
                w: a.w - 0.02,
                ..*a
            };
            for b in &boxes[..i] {
                assert!(!inner.overlaps(b), "{round}: {a:?} {b:?}");
            }
        }
        for (edge, route) in input.edges.iter().zip(&l.routes) {
            let (from, to) = (&l.nodes[edge.from], &l.nodes[edge.to]);
            let Step::Move(x, y) = route[0] else {
                panic!("{route:?}")
            };
            assert!(x >= from.x && x <= from.x + from.w && y == from.y + from.h);
            let Some(Step::Line(x, y) | Step::Curve([.., x, y])) = route.last() else {
                panic!("{route:?}")
            };
            assert!(*x >= to.x && *x <= to.x + to.w && *y == to.y);
        }
    }
}
