//! The control-flow graph with what was counted on it, as data and as a scene.
//!
//! A block shows its passes, the lanes of a pass on average, and how often its
//! branch split; its fill is the share of 32 lanes that a pass has. An edge of a
//! branch shows in how many executions any lane took it. A dashed arrow leads
//! from each branch that can split to where its lanes join.

use warpfold_analysis::{Cfg, Joins, Loops};
use warpfold_ir::{Block, Terminator};

use super::layered::{EdgeIn, Input, Layout, layout};
use super::palette::{self, DIM, FAINT, INK, JOIN};
use super::scene::{Anchor, Bounds, Color, Label, Scene, Shape, Step, Stroke, mono_width};
use super::{Subject, Version};

/// The most blocks of a graph that is drawn.
pub const MAX_BLOCKS: usize = 400;

const WIDTH: f64 = 1200.0;
const MARGIN: f64 = 24.0;
const SIZE: f64 = 10.0;
const LINE: f64 = 13.0;

/// A graph with more blocks than can be drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLarge {
    /// Its blocks.
    pub blocks: usize,
}

impl std::fmt::Display for TooLarge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "a graph of {} blocks is too large to draw; at most {MAX_BLOCKS} are possible",
            self.blocks
        )
    }
}

impl std::error::Error for TooLarge {}

/// A block of the graph.
#[derive(Clone, Debug)]
struct NodeData {
    name: String,
    /// Lines below the name.
    lines: Vec<String>,
    /// Share of lanes that a pass has; `None` where there was none.
    share: Option<f64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    /// The only one of its block.
    Jump,
    /// One of several.
    Branch,
    /// No edge: where lanes join.
    Join,
}

#[derive(Clone, Debug)]
struct EdgeData {
    role: Role,
    label: Option<String>,
    /// Share of the passes of the busiest block.
    share: f64,
}

/// One version's graph, laid out.
#[derive(Clone, Debug)]
struct Panel {
    heading: String,
    nodes: Vec<NodeData>,
    edges: Vec<EdgeData>,
    layout: Layout,
}

/// The control-flow graphs of a subject, with counts.
#[derive(Clone, Debug)]
pub struct Graph {
    title: String,
    panels: Vec<Panel>,
}

impl Graph {
    /// The graphs of the kernel's versions. Blocks that cannot be reached are
    /// left out.
    ///
    /// # Errors
    /// If one has more than [`MAX_BLOCKS`] blocks.
    pub fn new(subject: &Subject<'_>) -> Result<Self, TooLarge> {
        let versions = subject.versions.iter();
        Ok(Self {
            title: subject.title.clone(),
            panels: versions
                .map(|v| panel(v, subject.joins))
                .collect::<Result<_, _>>()?,
        })
    }

    /// As a scene to be written.
    pub fn scene(&self) -> Scene {
        let widths = self.panels.iter().map(|p| p.width());
        let beside = widths.clone().sum::<f64>() + MARGIN * (self.panels.len() as f64 + 1.0);
        let widest = widths.fold(0.0, f64::max) + 2.0 * MARGIN;
        let rows = beside > WIDTH;
        let width = if rows { widest.max(WIDTH) } else { WIDTH };
        let mut scene = Scene::new(width, format!("Control-flow graph of {}", self.title));
        scene.label(Label::sans(16.0, 24.0, 15.0, &self.title).bold());
        let (mut x, mut y) = (MARGIN, 42.0);
        let mut bottom = y;
        let spare = (width - beside).max(0.0) / self.panels.len().max(1) as f64;
        for panel in &self.panels {
            let left = match rows {
                true => (width - panel.width()) / 2.0,
                false => x + spare / 2.0,
            };
            panel.draw(&mut scene, left, y);
            let end = y + panel.height() + 16.0;
            bottom = bottom.max(end);
            match rows {
                true => y = end,
                false => x += panel.width() + MARGIN + spare,
            }
        }
        legend(&mut scene, bottom);
        scene
    }
}

/// The name of an edge of a branch.
fn edge_name(term: &Terminator, index: usize) -> String {
    match term {
        Terminator::Br { .. } => ["true", "false"][index.min(1)].to_owned(),
        Terminator::Switch { table, .. } if index < table.len() => index.to_string(),
        _ => "default".to_owned(),
    }
}

fn panel(version: &Version<'_>, rule: warpfold_analysis::JoinRule) -> Result<Panel, TooLarge> {
    let func = version.functions[version.kernel];
    let run = version.run;
    let cfg = Cfg::new(func);
    let loops = Loops::new(&cfg);
    let joins = Joins::new(func, &cfg, rule);
    let order = cfg.topological();
    if order.len() > MAX_BLOCKS {
        return Err(TooLarge {
            blocks: order.len(),
        });
    }
    let number = |b: Block| order.iter().position(|&o| o == b);
    let members = |header: Block, from: usize, to: usize| {
        let inside = loops.headed_by(header).map(|l| loops.blocks(l));
        let numbers = inside.into_iter().flatten().filter_map(|&b| number(b));
        let mut numbers: Vec<usize> = numbers.chain([from, to]).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    };
    let passes = |b: Block| run.block(b).map_or((0, 0), |c| (c.passes, c.lanes));
    let most = order.iter().map(|&b| passes(b).0).max().unwrap_or(0).max(1);
    let mut input = Input::default();
    let (mut nodes, mut edges) = (Vec::new(), Vec::new());
    for (n, &b) in order.iter().enumerate() {
        let (count, lanes) = passes(b);
        let node = node(b, count, lanes, run.branch(b));
        let text = node.lines.iter().chain([&node.name]);
        let w = text.map(|t| mono_width(t, SIZE)).fold(0.0, f64::max) + 14.0;
        input
            .nodes
            .push((w, LINE * (node.lines.len() + 1) as f64 + 7.0));
        nodes.push(node);
        let term = func.term(b);
        let targets = term.targets();
        // Edges to one block are one arrow.
        let mut arrows: Vec<(Block, Vec<usize>)> = Vec::new();
        for (index, target) in targets.iter().enumerate() {
            match arrows.iter_mut().find(|a| a.0 == target.block) {
                Some(arrow) => arrow.1.push(index),
                None => arrows.push((target.block, vec![index])),
            }
        }
        let several = term.is_conditional();
        let join = joins.of(b).filter(|_| arrows.len() > 1);
        for (target, indices) in arrows {
            let Some(to) = number(target) else { continue };
            let taken = |i: &usize| run.branch(b).and_then(|c| c.taken.get(*i)).copied();
            let taken = match several {
                true => indices.iter().filter_map(taken).max().unwrap_or(0),
                false => count,
            };
            let names: Vec<String> = indices.iter().map(|&i| edge_name(term, i)).collect();
            let name = match names.as_slice() {
                [first, .., last] if names.len() > 3 => format!("{first}…{last}"),
                _ => names.join(","),
            };
            let label = several.then(|| format!("{name}: {taken}"));
            input.edges.push(EdgeIn {
                from: n,
                to,
                back: (to <= n).then(|| members(target, n, to)),
                label: label.as_ref().map(|t| (mono_width(t, SIZE) + 6.0, LINE)),
                pull: 1.0,
            });
            edges.push(EdgeData {
                role: if several { Role::Branch } else { Role::Jump },
                label,
                share: taken as f64 / most as f64,
            });
        }
        if let Some((join, to)) = join.and_then(|j| Some((j, number(j)?))) {
            input.edges.push(EdgeIn {
                from: n,
                to,
                back: (to <= n).then(|| members(join, n, to)),
                label: None,
                pull: 0.1,
            });
            edges.push(EdgeData {
                role: Role::Join,
                label: None,
                share: 0.0,
            });
        }
    }
    // What leaves a loop stands below all of it.
    for l in loops.ids() {
        let latches: Vec<usize> = loops
            .back_edges(l)
            .iter()
            .filter_map(|e| number(e.from))
            .collect();
        for exit in loops
            .exits(&cfg, l)
            .filter(|&e| !loops.is_back_edge(&cfg, e))
        {
            if let Some(to) = number(cfg.target(exit)) {
                input.above.extend(latches.iter().map(|&from| (from, to)));
            }
        }
    }
    let c = &run.counters;
    let share = c.warp_nonpred_execution_efficiency().unwrap_or(0.0);
    Ok(Panel {
        heading: format!(
            "{}: {} issues, lanes on {share:.1}%",
            version.name, c.inst_executed
        ),
        nodes,
        edges,
        layout: layout(&input),
    })
}

fn node(
    b: Block,
    passes: u64,
    lanes: u64,
    branch: Option<&warpfold_exec::BranchCounters>,
) -> NodeData {
    let plural = |n: u64| if n == 1 { "" } else { "es" };
    let mut lines = match passes {
        0 => vec!["no pass".to_owned()],
        n => vec![
            format!("{n} pass{}", plural(n)),
            format!("{:.1} lanes", lanes as f64 / n as f64),
        ],
    };
    if let Some(c) = branch.filter(|c| c.executions > 0) {
        lines.push(format!("split {} of {}", c.divergent, c.executions));
    }
    NodeData {
        name: b.to_string(),
        lines,
        share: (passes > 0).then(|| lanes as f64 / (32 * passes) as f64),
    }
}

impl Panel {
    fn width(&self) -> f64 {
        let heading = self.heading.chars().count() as f64 * 12.0 * 0.62;
        self.layout.width.max(heading)
    }

    fn height(&self) -> f64 {
        self.layout.height + 24.0
    }

    fn draw(&self, scene: &mut Scene, left: f64, top: f64) {
        let heading = Label::sans(left, top + 12.0, 12.0, &self.heading).bold();
        scene.label(heading);
        let dx = left + (self.width() - self.layout.width) / 2.0;
        let dy = top + 24.0;
        let at = |b: &Bounds| Bounds {
            x: b.x + dx,
            y: b.y + dy,
            ..*b
        };
        // Ways to joins lie below everything else.
        let edges = || self.edges.iter().zip(&self.layout.routes);
        for join in [true, false] {
            for (edge, route) in edges().filter(|(e, _)| (e.role == Role::Join) == join) {
                arrow(scene, edge, &moved(route, dx, dy));
            }
        }
        for (edge, bounds) in self.edges.iter().zip(&self.layout.labels) {
            if let (Some(text), Some(bounds)) = (&edge.label, bounds) {
                let b = at(bounds);
                scene.rect(b, palette::WHITE);
                let color = if edge.share > 0.0 { INK } else { DIM };
                let label = Label::mono(b.x + b.w / 2.0, b.y + 10.0, SIZE, text.as_str());
                scene.label(label.anchored(Anchor::Middle).colored(color));
            }
        }
        for (node, bounds) in self.nodes.iter().zip(&self.layout.nodes) {
            let b = at(bounds);
            let never = node.share.is_none();
            scene.shapes.push(Shape::Rect {
                bounds: b,
                radius: 4.0,
                fill: Some(node.share.map_or(palette::WHITE, palette::efficiency)),
                stroke: Some(Stroke {
                    color: if never { DIM } else { INK },
                    width: 1.0,
                    dash: never.then_some([3.0, 3.0]),
                }),
            });
            let color = if never { DIM } else { INK };
            let x = b.x + b.w / 2.0;
            let texts = std::iter::once(&node.name).chain(&node.lines);
            for (i, text) in texts.enumerate() {
                let y = b.y + 13.0 + LINE * i as f64;
                let label = Label::mono(x, y, SIZE, text.as_str());
                let label = label.anchored(Anchor::Middle).colored(color);
                scene.label(if i == 0 { label.bold() } else { label });
            }
        }
    }
}

fn moved(route: &[Step], dx: f64, dy: f64) -> Vec<Step> {
    let step = |s: &Step| match *s {
        Step::Move(x, y) => Step::Move(x + dx, y + dy),
        Step::Line(x, y) => Step::Line(x + dx, y + dy),
        Step::Curve([a, b, c, d, e, f]) => {
            Step::Curve([a + dx, b + dy, c + dx, d + dy, e + dx, f + dy])
        }
        Step::Close => Step::Close,
    };
    route.iter().map(step).collect()
}

/// The line of an edge and its head, which always points down.
fn arrow(scene: &mut Scene, edge: &EdgeData, route: &[Step]) {
    let never = edge.share == 0.0 && edge.role != Role::Join;
    let (color, width, dash) = match edge.role {
        Role::Join => (JOIN, 1.2, Some([5.0, 3.0])),
        _ if never => (Color(0xAA, 0xAA, 0xAA), 1.0, Some([2.0, 3.0])),
        _ => (INK, 0.8 + 1.8 * edge.share, None),
    };
    let (x, y) = match route.last() {
        Some(&(Step::Line(x, y) | Step::Curve([.., x, y]))) => (x, y),
        _ => return,
    };
    let mut line = route.to_vec();
    if let Some(Step::Line(_, y) | Step::Curve([.., y])) = line.last_mut() {
        *y -= 5.0;
    }
    scene.stroke(line, color, width, dash);
    let head = vec![
        Step::Move(x - 3.6, y - 7.0),
        Step::Line(x, y),
        Step::Line(x + 3.6, y - 7.0),
    ];
    match edge.role {
        Role::Join => scene.stroke(head, color, 1.2, None),
        _ => {
            let mut head = head;
            head.push(Step::Close);
            scene.area(head, color, 1.0);
        }
    }
}

fn legend(scene: &mut Scene, top: f64) {
    scene.line((16.0, top), (scene.width - 16.0, top), FAINT, 1.0);
    let y = top + 22.0;
    scene.label(Label::sans(16.0, y, 11.0, "lanes of a pass, on average"));
    let (x, w) = (200.0, 20.0);
    for i in 0..=8 {
        let share = f64::from(i) / 8.0;
        scene.shapes.push(Shape::Rect {
            bounds: Bounds {
                x: x + w * f64::from(i),
                y: y - 10.0,
                w,
                h: 12.0,
            },
            radius: 0.0,
            fill: Some(palette::efficiency(share)),
            stroke: Some(Stroke {
                color: DIM,
                width: 0.5,
                dash: None,
            }),
        });
    }
    let ticks = [(0.5, "0"), (4.5, "16"), (8.5, "32")];
    for (i, text) in ticks {
        let label = Label::mono(x + w * i, y + 14.0, 9.0, text);
        scene.label(label.anchored(Anchor::Middle).colored(DIM));
    }
    let samples = [
        (Role::Branch, 0.8, "any lane went this way: so many times"),
        (Role::Branch, 0.0, "never taken"),
        (Role::Join, 0.0, "from a branch to where its lanes join"),
    ];
    let mut x = 420.0;
    for (role, share, text) in samples {
        let edge = EdgeData {
            role,
            label: None,
            share,
        };
        let route = [Step::Move(x, y - 13.0), Step::Line(x, y + 5.0)];
        arrow(scene, &edge, &route);
        scene.label(Label::sans(x + 10.0, y, SIZE, text));
        x += 36.0 + text.chars().count() as f64 * SIZE * 0.6;
    }
    scene.height = y + 28.0;
}
