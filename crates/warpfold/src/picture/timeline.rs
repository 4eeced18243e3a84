//! A timeline as a scene: for each kind of warp the strips of all versions one
//! below the other, on one axis of issues.
//!
//! From top to bottom a strip has brackets over stretches that stand for
//! several, names of blocks where they fit, 32 rows of lanes, and the depth of
//! the stack, or of convergence barriers.

use super::palette::{self, DIM, FAINT, INK, WHITE};
use super::scene::{Anchor, Bounds, Label, Scene, Step, mono_width};
use super::strips::{Depth, Kind, LANES, Lane, Slab, Strip, Timeline};

const WIDTH: f64 = 1200.0;
const LEFT: f64 = 118.0;
const RIGHT: f64 = 24.0;
/// Height of a lane.
const LANE: f64 = 4.0;
/// Height of a row of names or brackets.
const ROW: f64 = 14.0;
/// Height of the graph of depth.
const STACK: f64 = 22.0;
/// Widest column.
const WIDEST: f64 = 48.0;
const SMALL: f64 = 10.0;

/// The grey of lanes that are lost.
fn grey(lane: Lane) -> super::scene::Color {
    use super::scene::Color;
    match lane {
        Lane::On => WHITE,
        Lane::Predicated => Color(0x80, 0x80, 0x80),
        Lane::Diverged => Color(0xB4, 0xB4, 0xB4),
        Lane::Exited => Color(0xD6, 0xD6, 0xD6),
        Lane::Partial => Color(0xEE, 0xEE, 0xEE),
    }
}

impl Timeline {
    /// As a scene to be written.
    pub fn scene(&self) -> Scene {
        let columns = self.columns().max(1);
        let column = ((WIDTH - LEFT - RIGHT) / columns as f64).min(WIDEST);
        let mut drawing = Drawing {
            scene: Scene::new(WIDTH, format!("Lanes over issues of {}", self.title)),
            column,
            columns,
            y: 30.0,
            names: &self.blocks,
            depth: self.depth,
        };
        let title = Label::sans(16.0, 24.0, 15.0, &self.title).bold();
        drawing.scene.label(title);
        drawing.y = 40.0;
        for kind in &self.kinds {
            drawing.kind(kind);
        }
        if let Some(text) = self.not_shown() {
            let y = drawing.y + 12.0;
            drawing
                .scene
                .label(Label::sans(16.0, y, 11.0, text).colored(DIM));
            drawing.y += 24.0;
        }
        let strips = self.kinds.iter().flat_map(|k| &k.strips);
        drawing.legend(strips.clone().any(|s| !s.repeats.is_empty()));
        drawing.scene.height = drawing.y;
        drawing.scene
    }
}

struct Drawing<'a> {
    scene: Scene,
    /// Width of a column.
    column: f64,
    columns: u64,
    /// Where the next thing goes.
    y: f64,
    names: &'a [String],
    depth: Depth,
}

impl Drawing<'_> {
    fn x(&self, column: u64) -> f64 {
        LEFT + column as f64 * self.column
    }

    fn kind(&mut self, kind: &Kind) {
        let (block, warp) = kind.first;
        let mut text = format!("block {block}, warp {warp}");
        if kind.warps > 1 {
            text += &format!(" (and {} more that did the same)", kind.warps - 1);
        }
        self.y += 14.0;
        let y = self.y;
        self.scene.label(Label::sans(16.0, y, 12.0, text).bold());
        self.y += 6.0;
        let deepest = kind.strips.iter().map(|s| s.depth).max().unwrap_or(1);
        for strip in &kind.strips {
            self.strip(strip, deepest);
        }
        self.axis();
    }

    fn strip(&mut self, strip: &Strip, deepest: u32) {
        self.brackets(strip);
        self.block_names(strip);
        let top = self.y;
        let height = LANES as f64 * LANE;
        self.lanes(strip, top);
        for lane in [0, 8, 16, 24] {
            let y = top + lane as f64 * LANE;
            self.scene.line((LEFT - 4.0, y), (LEFT, y), DIM, 0.8);
            let label = Label::mono(LEFT - 7.0, y + 7.0, 9.0, lane.to_string());
            self.scene.label(label.anchored(Anchor::End).colored(DIM));
        }
        let s = if strip.issues == 1 { "" } else { "s" };
        let share = 100.0 * strip.on as f64 / (32 * strip.issues.max(1)) as f64;
        let lines = [
            strip.version.to_owned(),
            format!("{} issue{s}", strip.issues),
            format!("lanes {share:.1}%"),
        ];
        for (i, line) in lines.into_iter().enumerate() {
            let y = top + 42.0 + 14.0 * i as f64;
            let label = Label::mono(LEFT - 26.0, y, SMALL, line).anchored(Anchor::End);
            self.scene.label(if i == 0 {
                label.bold()
            } else {
                label.colored(DIM)
            });
        }
        if strip.cut {
            let text = "… the rest is not drawn";
            let x = self.x(strip.columns);
            let label = Label::sans(x, top + height + STACK + 16.0, SMALL, text);
            self.scene.label(label.anchored(Anchor::End).colored(DIM));
        }
        self.y = top + height + 4.0;
        self.stack(strip, deepest);
        self.y += STACK + if strip.cut { 22.0 } else { 12.0 };
    }

    /// Lanes: one area for each colour.
    fn lanes(&mut self, strip: &Strip, top: f64) {
        let mut areas: Vec<(super::scene::Color, u32, Vec<Step>)> = Vec::new();
        let mut add = |color, thousandths: u32, steps: [Step; 5]| match areas
            .iter_mut()
            .find(|a| (a.0, a.1) == (color, thousandths))
        {
            Some(area) => area.2.extend(steps),
            None => areas.push((color, thousandths, steps.to_vec())),
        };
        let mut at = 0;
        for slab in &strip.slabs {
            let (x0, x1) = (self.x(at), self.x(at + slab.issues));
            at += slab.issues;
            let mut lane = 0;
            while lane < LANES {
                let same = (lane..LANES).take_while(|&l| slab.lanes[l] == slab.lanes[lane]);
                let end = lane + same.count();
                let (y0, y1) = (top + lane as f64 * LANE, top + end as f64 * LANE);
                let steps = [
                    Step::Move(x0, y0),
                    Step::Line(x1, y0),
                    Step::Line(x1, y1),
                    Step::Line(x0, y1),
                    Step::Close,
                ];
                if let Some(lost) = slab.lost(lane) {
                    add(grey(lost), 1000, steps);
                }
                let share = (1000.0 * slab.share_on(lane)).round() as u32;
                if share > 0 {
                    add(palette::block(slab.block), share, steps);
                }
                lane = end;
            }
        }
        // Greys lie below what stands on them.
        for (color, share, steps) in areas {
            self.scene.area(steps, color, f64::from(share) / 1000.0);
        }
        // Where a pass begins, and every eighth lane.
        let height = LANES as f64 * LANE;
        if self.column >= 2.5 {
            let mut at = 0;
            let mut steps = Vec::new();
            for slab in &strip.slabs {
                if slab.begins && at > 0 {
                    let x = self.x(at);
                    steps.extend([Step::Move(x, top), Step::Line(x, top + height)]);
                }
                at += slab.issues;
            }
            self.scene.stroke(steps, WHITE, 0.8, None);
        }
        let mut steps = Vec::new();
        for lane in [8, 16, 24] {
            let y = top + f64::from(lane) * LANE;
            steps.extend([Step::Move(LEFT, y), Step::Line(self.x(strip.columns), y)]);
        }
        self.scene.stroke(steps, WHITE, 0.4, None);
    }

    /// The names of blocks over their passes, where they fit.
    fn block_names(&mut self, strip: &Strip) {
        let y = self.y + SMALL;
        let mut at = 0;
        let mut slabs = strip.slabs.iter().peekable();
        while let Some(slab) = slabs.next() {
            let from = at;
            at += slab.issues;
            while let Some(more) = slabs.next_if(|s| !s.begins) {
                at += more.issues;
            }
            let room = (at - from) as f64 * self.column - 2.0;
            let name = &self.names[slab.block];
            let number = name.trim_start_matches("block");
            let fits = |text: &&str| mono_width(text, 9.0) <= room;
            if let Some(text) = [name.as_str(), number].into_iter().find(fits) {
                let x = (self.x(from) + self.x(at)) / 2.0;
                let label = Label::mono(x, y, 9.0, text).anchored(Anchor::Middle);
                self.scene.label(label);
            }
        }
        self.y += ROW;
    }

    /// Brackets over stretches that stand for several. A count that does not fit
    /// between its neighbours goes up a row.
    fn brackets(&mut self, strip: &Strip) {
        let Some(high) = strip.repeats.iter().map(|r| r.height).max() else {
            return;
        };
        let mut repeats: Vec<_> = strip.repeats.iter().collect();
        repeats.sort_by_key(|r| (r.height, r.from));
        // The labels of each row, from the lowest up.
        let mut rows: Vec<Vec<(f64, f64)>> = vec![Vec::new(); high as usize + 1];
        let mut placed = Vec::new();
        for r in repeats {
            let (from, to) = (self.x(r.from) + 1.0, self.x(r.to) - 1.0);
            let text = r.text();
            let half = mono_width(&text, SMALL) / 2.0 + 2.0;
            let middle = ((from + to) / 2.0).clamp(LEFT + half, WIDTH - half);
            let (a, b) = (from.min(middle - half), to.max(middle + half));
            let free = |row: &Vec<(f64, f64)>| row.iter().all(|&(c, d)| b <= c || d <= a);
            let first = r.height as usize;
            let row = match (first..rows.len()).find(|&i| free(&rows[i])) {
                Some(row) => row,
                None => {
                    rows.push(Vec::new());
                    rows.len() - 1
                }
            };
            rows[row].push((a, b));
            placed.push((row, from, to, middle, text));
        }
        let bottom = self.y + rows.len() as f64 * ROW;
        for (row, from, to, middle, text) in placed {
            let y = bottom - row as f64 * ROW - 2.0;
            let steps = vec![
                Step::Move(from, y),
                Step::Line(from, y - 3.0),
                Step::Line(to, y - 3.0),
                Step::Line(to, y),
            ];
            self.scene.stroke(steps, INK, 1.0, None);
            let label = Label::mono(middle, y - 4.5, SMALL, text).anchored(Anchor::Middle);
            self.scene.label(label);
        }
        self.y = bottom;
    }

    /// The depth of the stack or of barriers, as steps.
    fn stack(&mut self, strip: &Strip, deepest: u32) {
        let (top, bottom) = (self.y, self.y + STACK);
        let most = f64::from(deepest.max(1));
        let mut steps = vec![Step::Move(LEFT, bottom)];
        let mut at = 0;
        for Slab { issues, depth, .. } in &strip.slabs {
            let y = bottom - f64::from(*depth) / most * STACK;
            steps.push(Step::Line(self.x(at), y));
            at += issues;
            steps.push(Step::Line(self.x(at), y));
        }
        steps.extend([Step::Line(self.x(at), bottom), Step::Close]);
        self.scene.area(steps, FAINT, 1.0);
        self.scene
            .line((LEFT, bottom), (self.x(at), bottom), DIM, 0.8);
        let text = match self.depth {
            Depth::Stack => format!("stack depth {}", strip.depth),
            Depth::Barriers => format!("barriers {}", strip.depth),
        };
        let label = Label::mono(LEFT - 7.0, top + 13.0, 9.0, text).anchored(Anchor::End);
        self.scene.label(label.colored(DIM));
    }

    /// The axis that the strips of a kind share.
    fn axis(&mut self) {
        let y = self.y;
        let end = self.x(self.columns);
        self.scene.line((LEFT, y), (end, y), INK, 1.0);
        let step = tick(self.columns, 20.0);
        for column in (0..=self.columns).step_by(step as usize) {
            let x = self.x(column);
            self.scene.line((x, y), (x, y + 4.0), INK, 1.0);
            let label = Label::mono(x, y + 14.0, 9.0, column.to_string());
            self.scene.label(label.anchored(Anchor::Middle));
        }
        let label = Label::sans(LEFT - 26.0, y + 14.0, SMALL, "issues drawn");
        self.scene.label(label.anchored(Anchor::End).colored(DIM));
        self.y += 30.0;
    }

    fn legend(&mut self, brackets: bool) {
        let y = self.y + 6.0;
        self.scene.line((16.0, y), (WIDTH - 16.0, y), FAINT, 1.0);
        self.y = y + 22.0;
        // By their numbers, not in the order in which they were met.
        let mut blocks: Vec<_> = self.names.iter().enumerate().collect();
        blocks.sort_by_key(|(n, name)| (by_number(name), *n));
        let blocks: Vec<_> = (blocks.into_iter())
            .map(|(n, name)| (palette::block(n), name.clone()))
            .collect();
        self.swatches("lane on, in", &blocks);
        let lost = [
            (Lane::Predicated, "predicated off"),
            (Lane::Diverged, "diverged: waits for others of its warp"),
            (Lane::Exited, "exited"),
            (Lane::Partial, "partial warp: no thread"),
        ];
        let lost: Vec<_> = lost
            .map(|(lane, text)| (grey(lane), text.to_owned()))
            .to_vec();
        self.swatches("lane lost", &lost);
        let mut text = "Lane 0 is the top row.".to_owned();
        if brackets {
            text += " A bracket ×n is a stretch that runs n times and is drawn once; where lanes differ between its runs, colour is as deep as a lane is on often.";
        }
        let y = self.y;
        self.scene
            .label(Label::sans(16.0, y, SMALL, text).colored(DIM));
        self.y += 16.0;
    }

    fn swatches(&mut self, head: &str, list: &[(super::scene::Color, String)]) {
        let first = 100.0;
        let y = self.y;
        self.scene.label(Label::sans(16.0, y, 11.0, head));
        let mut x = first;
        for (color, text) in list {
            let width = 22.0 + mono_width(text, SMALL) + 14.0;
            if x + width > WIDTH - 16.0 {
                x = first;
                self.y += 18.0;
            }
            let bounds = Bounds {
                x,
                y: self.y - 10.0,
                w: 16.0,
                h: 12.0,
            };
            self.scene.rect(bounds, *color);
            let label = Label::mono(x + 21.0, self.y, SMALL, text.as_str());
            self.scene.label(label);
            x += width;
        }
        self.y += 22.0;
    }
}

/// A name without the number at its end, and that number.
fn by_number(name: &str) -> (&str, u32) {
    let text = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (text, name[text.len()..].parse().unwrap_or(0))
}

/// A round distance, so that at most `most` of it make up `all`.
fn tick(all: u64, most: f64) -> u64 {
    let least = (all as f64 / most).max(1.0);
    let mut unit = 1;
    loop {
        for factor in [1, 2, 5] {
            if (unit * factor) as f64 >= least {
                return unit * factor;
            }
        }
        unit *= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_narrow_stretches_stand_apart() {
        use super::super::strips::Repeat;
        let repeat = |from| Repeat {
            from,
            to: from + 2,
            height: 0,
            times: 1000..=1000,
        };
        let strip = Strip {
            version: "before",
            slabs: vec![Slab {
                block: 0,
                begins: true,
                issues: 400,
                lanes: [[1, 0, 0, 0, 0]; LANES],
                depth: 1,
            }],
            repeats: (0..20)
                .map(|i| repeat(2 * i))
                .chain([repeat(398)])
                .collect(),
            columns: 400,
            cut: false,
            issues: 20_000,
            on: 640_000,
            depth: 1,
        };
        let timeline = Timeline {
            title: "%k".to_owned(),
            kinds: vec![Kind {
                first: (0, 0),
                warps: 1,
                strips: vec![strip],
            }],
            hidden: 0,
            blocks: vec!["block0".to_owned()],
            depth: Depth::Stack,
        };
        let scene = timeline.scene();
        let boxes: Vec<Bounds> = scene.labels().map(Label::bounds).collect();
        let counts = scene.labels().filter(|l| l.text == "×1000").count();
        assert_eq!(counts, 21);
        for (i, a) in boxes.iter().enumerate() {
            assert!(boxes[..i].iter().all(|b| !a.overlaps(b)), "{a:?}");
            assert!(a.x >= 0.0 && a.x + a.w <= scene.width, "{a:?}");
        }
    }

    #[test]
    fn ticks_are_round() {
        for (all, most, step) in [
            (10, 18.0, 1),
            (30, 18.0, 2),
            (280, 18.0, 20),
            (1000, 18.0, 100),
        ] {
            assert_eq!(tick(all, most), step);
        }
    }
}
