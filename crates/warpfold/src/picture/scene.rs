//! Shapes and labels in a plane, before they are written as anything.
//!
//! A label knows the box that its text takes. Fonts differ from viewer to
//! viewer, so boxes are generous: monospaced fonts have advances of at most
//! 0.61 of their size, and no text in use in a sans-serif font is wider than 0.6
//! a character.

/// Red, green, blue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Color(pub u8, pub u8, pub u8);

impl Color {
    /// Between this one and another: `share` 0 is this one, 1 the other.
    #[must_use]
    pub fn mix(self, other: Self, share: f64) -> Self {
        let one = |a: u8, b: u8| {
            let x = f64::from(a) + (f64::from(b) - f64::from(a)) * share;
            x.round().clamp(0.0, 255.0) as u8
        };
        Self(
            one(self.0, other.0),
            one(self.1, other.1),
            one(self.2, other.2),
        )
    }
}

impl std::fmt::Display for Color {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }
}

/// A box, in pixels from the top left.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bounds {
    /// Left.
    pub x: f64,
    /// Top.
    pub y: f64,
    /// Width.
    pub w: f64,
    /// Height.
    pub h: f64,
}

impl Bounds {
    /// Whether two boxes have a common area.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.x < other.x + other.w
            && other.x < self.x + self.w
            && self.y < other.y + other.h
            && other.y < self.y + self.h
    }

    /// Whether it lies within another, the edge included.
    pub fn within(&self, other: &Self) -> bool {
        self.x >= other.x
            && self.y >= other.y
            && self.x + self.w <= other.x + other.w
            && self.y + self.h <= other.y + other.h
    }
}

/// Where a label's x is in its text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Anchor {
    /// On the left.
    Start,
    /// In the middle.
    Middle,
    /// On the right.
    End,
}

/// A line of text.
#[derive(Clone, PartialEq, Debug)]
pub struct Label {
    /// Where it stands.
    pub x: f64,
    /// Its baseline.
    pub y: f64,
    /// Size of the font in pixels.
    pub size: f64,
    /// What `x` means.
    pub anchor: Anchor,
    /// Whether its font is monospaced.
    pub mono: bool,
    /// Whether it is bold.
    pub bold: bool,
    /// Its colour.
    pub color: Color,
    /// What it says.
    pub text: String,
}

/// Width of a monospaced text.
pub(super) fn mono_width(text: &str, size: f64) -> f64 {
    text.chars().count() as f64 * size * 0.61
}

impl Label {
    /// A monospaced one in ink.
    pub(super) fn mono(x: f64, y: f64, size: f64, text: impl Into<String>) -> Self {
        Self {
            x,
            y,
            size,
            anchor: Anchor::Start,
            mono: true,
            bold: false,
            color: super::palette::INK,
            text: text.into(),
        }
    }

    /// A sans-serif one in ink.
    pub(super) fn sans(x: f64, y: f64, size: f64, text: impl Into<String>) -> Self {
        Self {
            mono: false,
            ..Self::mono(x, y, size, text)
        }
    }

    pub(super) fn anchored(mut self, anchor: Anchor) -> Self {
        self.anchor = anchor;
        self
    }

    pub(super) fn bold(mut self) -> Self {
        self.bold = true;
        self
    }

    pub(super) fn colored(mut self, color: Color) -> Self {
        self.color = color;
        self
    }

    /// The box that its text takes at most.
    pub fn bounds(&self) -> Bounds {
        let w = match self.mono {
            true => mono_width(&self.text, self.size),
            false => self.text.chars().count() as f64 * self.size * 0.6,
        };
        let x = match self.anchor {
            Anchor::Start => self.x,
            Anchor::Middle => self.x - w / 2.0,
            Anchor::End => self.x - w,
        };
        Bounds {
            x,
            y: self.y - 0.8 * self.size,
            w,
            h: self.size,
        }
    }
}

/// A step of a path; absolute.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Step {
    /// To a point, without a line.
    Move(f64, f64),
    /// A straight line.
    Line(f64, f64),
    /// A cubic curve: two control points and the end.
    Curve([f64; 6]),
    /// Back to where it began.
    Close,
}

/// How a line is drawn.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Stroke {
    /// Its colour.
    pub color: Color,
    /// Its width.
    pub width: f64,
    /// Length of dashes and of the gaps between them.
    pub dash: Option<[f64; 2]>,
}

/// Something to draw.
#[derive(Clone, PartialEq, Debug)]
pub enum Shape {
    /// A box with round corners.
    Rect {
        /// Where.
        bounds: Bounds,
        /// Radius of its corners.
        radius: f64,
        /// Inside.
        fill: Option<Color>,
        /// Its edge.
        stroke: Option<Stroke>,
    },
    /// Lines and areas.
    Path {
        /// The way.
        steps: Vec<Step>,
        /// Inside.
        fill: Option<Color>,
        /// Opacity of the inside.
        opacity: f64,
        /// The line.
        stroke: Option<Stroke>,
    },
    /// Text.
    Label(Label),
}

/// A picture to be written.
#[derive(Clone, PartialEq, Debug)]
pub struct Scene {
    /// Width in pixels.
    pub width: f64,
    /// Height in pixels.
    pub height: f64,
    /// What it shows, for those who do not see it.
    pub description: String,
    /// From back to front.
    pub shapes: Vec<Shape>,
}

impl Scene {
    /// An empty one of some width.
    pub(super) fn new(width: f64, description: String) -> Self {
        Self {
            width,
            height: 0.0,
            description,
            shapes: Vec::new(),
        }
    }

    pub(super) fn label(&mut self, label: Label) {
        self.shapes.push(Shape::Label(label));
    }

    pub(super) fn rect(&mut self, bounds: Bounds, fill: Color) {
        self.shapes.push(Shape::Rect {
            bounds,
            radius: 0.0,
            fill: Some(fill),
            stroke: None,
        });
    }

    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), color: Color, width: f64) {
        let steps = vec![Step::Move(from.0, from.1), Step::Line(to.0, to.1)];
        self.stroke(steps, color, width, None);
    }

    pub(super) fn stroke(
        &mut self,
        steps: Vec<Step>,
        color: Color,
        width: f64,
        dash: Option<[f64; 2]>,
    ) {
        self.shapes.push(Shape::Path {
            steps,
            fill: None,
            opacity: 1.0,
            stroke: Some(Stroke { color, width, dash }),
        });
    }

    pub(super) fn area(&mut self, steps: Vec<Step>, fill: Color, opacity: f64) {
        self.shapes.push(Shape::Path {
            steps,
            fill: Some(fill),
            opacity,
            stroke: None,
        });
    }

    /// Its labels.
    pub fn labels(&self) -> impl Iterator<Item = &Label> {
        self.shapes.iter().filter_map(|s| match s {
            Shape::Label(label) => Some(label),
            _ => None,
        })
    }

    /// As an SVG document.
    pub fn to_svg(&self) -> String {
        super::svg::write(self)
    }
}
