//! A scene as an SVG document. Text and attributes are escaped by the library
//! that writes them; attributes stand in alphabetical order, numbers have at
//! most two decimals.

use svg::node::element::{Description, Element, Path, Rectangle, Text};
use svg::{Document, Node};

use super::scene::{Anchor, Label, Scene, Shape, Step, Stroke};

const MONO: &str = "'DejaVu Sans Mono', Menlo, Consolas, 'Courier New', monospace";
const SANS: &str = "Helvetica, Arial, 'DejaVu Sans', sans-serif";

/// The document.
pub(super) fn write(scene: &Scene) -> String {
    let (w, h) = (number(scene.width), number(scene.height));
    let mut doc = Document::new()
        .set("width", w.as_str())
        .set("height", h.as_str())
        .set("viewBox", format!("0 0 {w} {h}"))
        .add(Description::new().add(svg::node::Text::new(printable(&scene.description))))
        .add(
            Rectangle::new()
                .set("width", "100%")
                .set("height", "100%")
                .set("fill", "#ffffff"),
        );
    for shape in &scene.shapes {
        doc = doc.add(element(shape));
    }
    let mut text = doc.to_string();
    text.push('\n');
    text
}

fn element(shape: &Shape) -> Element {
    match shape {
        Shape::Rect {
            bounds,
            radius,
            fill,
            stroke,
        } => {
            let mut rect = Rectangle::new()
                .set("x", number(bounds.x))
                .set("y", number(bounds.y))
                .set("width", number(bounds.w))
                .set("height", number(bounds.h))
                .set("fill", paint(*fill));
            if *radius > 0.0 {
                rect = rect.set("rx", number(*radius));
            }
            stroked(rect.into(), *stroke)
        }
        Shape::Path {
            steps,
            fill,
            opacity,
            stroke,
        } => {
            let mut path = Path::new().set("d", way(steps)).set("fill", paint(*fill));
            if *opacity < 1.0 {
                path = path.set("fill-opacity", number(*opacity));
            }
            stroked(path.into(), *stroke)
        }
        Shape::Label(label) => text(label).into(),
    }
}

fn paint(color: Option<super::scene::Color>) -> String {
    color.map_or_else(|| "none".to_owned(), |c| c.to_string())
}

fn stroked(mut element: Element, stroke: Option<Stroke>) -> Element {
    if let Some(s) = stroke {
        element.assign("stroke", s.color.to_string());
        element.assign("stroke-width", number(s.width));
        if let Some([on, off]) = s.dash {
            element.assign(
                "stroke-dasharray",
                format!("{} {}", number(on), number(off)),
            );
        }
    }
    element
}

fn text(label: &Label) -> Text {
    let mut text = Text::new(printable(&label.text))
        .set("x", number(label.x))
        .set("y", number(label.y))
        .set("font-family", if label.mono { MONO } else { SANS })
        .set("font-size", number(label.size))
        .set("fill", label.color.to_string());
    match label.anchor {
        Anchor::Start => {}
        Anchor::Middle => text = text.set("text-anchor", "middle"),
        Anchor::End => text = text.set("text-anchor", "end"),
    }
    if label.bold {
        text = text.set("font-weight", "bold");
    }
    text
}

fn way(steps: &[Step]) -> String {
    let mut d = String::new();
    for step in steps {
        let (letter, numbers): (char, &[f64]) = match step {
            Step::Move(x, y) => ('M', &[*x, *y]),
            Step::Line(x, y) => ('L', &[*x, *y]),
            Step::Curve(points) => ('C', points),
            Step::Close => ('Z', &[]),
        };
        d.push(letter);
        let numbers: Vec<String> = numbers.iter().map(|&n| number(n)).collect();
        d.push_str(&numbers.join(" "));
    }
    d
}

/// At most two decimals.
fn number(x: f64) -> String {
    let mut text = format!("{x:.2}");
    while text.ends_with('0') {
        text.pop();
    }
    if text.ends_with('.') {
        text.pop();
    }
    if text == "-0" {
        text = "0".to_owned();
    }
    text
}

/// XML has no way to write most control characters.
fn printable(text: &str) -> String {
    let keep = |c: char| match c {
        '\u{FFFE}' | '\u{FFFF}' => '\u{FFFD}',
        c if c.is_control() => '\u{FFFD}',
        c => c,
    };
    text.chars().map(keep).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (x, text) in [
            (1.0, "1"),
            (0.126, "0.13"),
            (-0.001, "0"),
            (10.5, "10.5"),
            (100.0, "100"),
        ] {
            assert_eq!(number(x), text);
        }
    }

    #[test]
    fn texts_are_escaped() {
        let mut scene = Scene::new(10.0, "a < b & \"c\"".to_owned());
        scene.label(Label::mono(1.0, 2.0, 9.0, "</text><script>\u{1}"));
        let svg = scene.to_svg();
        assert!(svg.contains("a &lt; b &amp; \"c\""), "{svg}");
        assert!(svg.contains("&lt;/text&gt;&lt;script&gt;\u{FFFD}"), "{svg}");
    }
}
