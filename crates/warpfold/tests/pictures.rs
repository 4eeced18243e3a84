//! Pictures of every kernel: nothing overlaps, everything is inside, lanes are
//! what the counters say, and the text of a few is what it was (`BLESS=1`
//! rewrites it).

use std::path::{Path, PathBuf};

use warpfold::launch::Overrides;
use warpfold::picture::{Bounds, Graph, Label, Scene, Shape, Subject, Timeline};
use warpfold::{Options, Outcome, RunOptions, Settings, Source, Syntax};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The kernel of a text, run before and after.
fn measured(text: &str, name: &str, syntax: Syntax) -> Outcome {
    let kernel = Source::parse(text, name, syntax)
        .and_then(|s| s.kernel(&Overrides::default(), &Options::default()))
        .unwrap();
    let launch = kernel.launch(&root().join("tests/kernels")).unwrap();
    let run = RunOptions {
        timeline: true,
        ..RunOptions::default()
    };
    let machine = warpfold::machine::Machine::builtin("ampere").unwrap();
    kernel
        .lowered
        .clean()
        .and_then(|k| k.canonicalise())
        .and_then(|k| k.profile(&launch, &run))
        .and_then(|k| k.convert(&Settings::new(machine)))
        .and_then(|k| k.measure(&launch, &run))
        .unwrap()
}

/// The kernels of the repository, by name.
fn kernels() -> Vec<(String, Outcome)> {
    let folder = root().join("tests/kernels");
    let files = std::fs::read_dir(folder).unwrap();
    let mut paths: Vec<PathBuf> = files.map(|f| f.unwrap().path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "clif"));
    paths.sort();
    assert!(paths.len() > 20);
    let run = |path: PathBuf| {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = std::fs::read_to_string(path).unwrap();
        let outcome = measured(&text, &name, Syntax::Clif);
        (name, outcome)
    };
    paths.into_iter().map(run).collect()
}

/// No label touches another one or the edge of the picture; none lies on the
/// edge of a node.
fn check(name: &str, scene: &Scene) {
    let page = Bounds {
        x: 0.0,
        y: 0.0,
        w: scene.width,
        h: scene.height,
    };
    let labels: Vec<(&Label, Bounds)> = scene.labels().map(|l| (l, l.bounds())).collect();
    assert!(!labels.is_empty());
    for (i, (label, b)) in labels.iter().enumerate() {
        assert!(
            b.within(&page),
            "{name}: `{}` is outside: {b:?}",
            label.text
        );
        for (other, c) in &labels[..i] {
            assert!(
                !b.overlaps(c),
                "{name}: `{}` and `{}`: {b:?} {c:?}",
                label.text,
                other.text
            );
        }
    }
    let nodes: Vec<&Bounds> = scene
        .shapes
        .iter()
        .filter_map(|s| match s {
            Shape::Rect { bounds, radius, .. } if *radius > 0.0 => Some(bounds),
            _ => None,
        })
        .collect();
    for (i, node) in nodes.iter().enumerate() {
        assert!(node.within(&page), "{name}: a node is outside");
        for (label, b) in &labels {
            assert!(
                !b.overlaps(node) || b.within(node),
                "{name}: `{}` lies on the edge of a node",
                label.text
            );
        }
        for other in &nodes[..i] {
            assert!(!node.overlaps(other), "{name}: nodes overlap");
        }
    }
    let svg = scene.to_svg();
    assert_eq!(svg, scene.to_svg());
    for label in scene.labels() {
        let text = label.text.replace('&', "&amp;").replace('<', "&lt;");
        assert!(svg.contains(text.trim()), "{name}: {text}");
    }
}

#[test]
fn nothing_overlaps_and_all_fits_in_1200_pixels() {
    for (name, outcome) in kernels() {
        let subject = Subject::of_run(&outcome);
        for scene in [
            Timeline::new(&subject).unwrap().scene(),
            Graph::new(&subject).unwrap().scene(),
        ] {
            check(&name, &scene);
            assert_eq!(scene.width, 1200.0, "{name}");
        }
    }
}

/// A file of the claims. Without its `test` line it is plain IR with its launch.
fn claim(name: &str) -> String {
    let file = format!("crates/testkit/claims/{name}.wf");
    let text = std::fs::read_to_string(root().join(file)).unwrap();
    text.lines().skip(1).map(|l| format!("{l}\n")).collect()
}

/// Branches inside each other on each side: with depth 5, 95 blocks and 32
/// passes of one lane.
#[test]
fn deep_nesting_is_laid_out() {
    for depth in 0..=5 {
        let text = claim(&format!("c27-d-{depth}"));
        let outcome = measured(&text, "nest.wf", Syntax::Wf);
        let subject = Subject::of_run(&outcome);
        check("nest", &Timeline::new(&subject).unwrap().scene());
        let scene = Graph::new(&subject).unwrap().scene();
        check("nest", &scene);
        let splits = scene.labels().filter(|l| l.text == "split 1 of 1").count();
        // Before; after conversion there may be fewer.
        assert!(splits >= (1 << depth) - 1, "{depth}: {splits}");
    }
}

#[test]
fn graphs_that_are_too_large_are_refused() {
    let mut text = String::from(";! block = 32\nfunction %big(i32 varying) {\nblock0(v0: i32):\n");
    for i in 1..=400 {
        text += &format!("    jump block{i}\nblock{i}:\n");
    }
    text += "    ret\n}\n";
    let text = text.replace(
        ";! block = 32\n",
        ";! block = 32\n;! [[arg]]\n;! varying = \"lane\"\n",
    );
    let kernel = Source::parse(&text, "big.wf", Syntax::Wf)
        .and_then(|s| s.kernel(&Overrides::default(), &Options::default()))
        .unwrap();
    let launch = kernel.launch(Path::new(".")).unwrap();
    let func = kernel.lowered.func();
    let run = kernel
        .lowered
        .execute(func, &launch, &RunOptions::default())
        .unwrap();
    let shape = (launch.grid, launch.block);
    let subject = Subject::of_execution(&kernel.lowered, func, &run, shape);
    let error = Graph::new(&subject).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a graph of 401 blocks is too large to draw; at most 400 are possible"
    );
    assert!(Timeline::new(&subject).is_none(), "nothing was recorded");
}

#[test]
fn timelines_as_text_are_what_they_were() {
    for (name, syntax) in [
        ("sign_magnitude", Syntax::Clif),
        ("guard_clause", Syntax::Clif),
        ("count_matches", Syntax::Clif),
        // A loop in which 31 lanes go round once and one a thousand times.
        ("c32-outlier", Syntax::Wf),
    ] {
        let text = match syntax {
            Syntax::Clif => {
                let file = root().join(format!("tests/kernels/{name}.clif"));
                std::fs::read_to_string(file).unwrap()
            }
            Syntax::Wf => claim(name),
        };
        let outcome = measured(&text, name, syntax);
        let raster = Timeline::new(&Subject::of_run(&outcome)).unwrap().to_text();
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/pictures/{name}.txt"));
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, &raster).unwrap();
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            raster == expected,
            "{} differs; run with BLESS=1 to rewrite it\n{raster}",
            path.display()
        );
    }
}
