//! What holds between several files of the claims.

use super::sheet::{Sheet, round};

type Done = Result<(), String>;

pub(super) fn c04(s: &mut Sheet<'_>) -> Done {
    let (mixed, grouped) = (s.num("c03-mixed", "alu")?, s.num("c02-grouped", "alu")?);
    s.equal("alu of mixed", mixed, 200);
    s.equal("alu, mixed ÷ grouped", mixed as f64 / grouped as f64, 2.0);
    Ok(())
}

pub(super) fn c11(s: &mut Sheet<'_>) -> Done {
    for (name, divergent) in [("c03-mixed", 2), ("c02-grouped", 0)] {
        let got = (s.num(name, "divergent")?, s.num(name, "branches")?);
        s.equal(
            &format!("{name}: divergent of branches"),
            got,
            (divergent, 2),
        );
    }
    Ok(())
}

pub(super) fn c12(s: &mut Sheet<'_>) -> Done {
    let avg = s.text("c03-mixed", "avg")?;
    s.equal("lanes an issue", avg.as_str(), "16.308");
    let (mixed, grouped) = (s.num("c03-mixed", "alu")?, s.num("c02-grouped", "alu")?);
    s.equal("alu, mixed ÷ grouped", mixed as f64 / grouped as f64, 2.0);
    Ok(())
}

pub(super) fn c15(s: &mut Sheet<'_>) -> Done {
    let got = s.num("c15-block-0", "divergent")?;
    s.equal("divergent", got, 0);
    Ok(())
}

pub(super) fn c16(s: &mut Sheet<'_>) -> Done {
    let warps = [s.text("c03-mixed", "warp0")?, s.text("c03-mixed", "warp1")?];
    s.equal(
        "issues/lanes of the warps",
        warps,
        ["104/1696", "104/1696"].map(str::to_owned),
    );
    let wee = s.text("c03-mixed", "wee")?;
    s.equal("percent of the lanes", wee.as_str(), "50.96");
    Ok(())
}

pub(super) fn c19(s: &mut Sheet<'_>) -> Done {
    for name in ["c01-all-true", "c01-all-false"] {
        let got = (s.num(name, "pushes")?, s.num(name, "depth")?);
        s.equal(&format!("{name}: pushes, depth"), got, (0, 1));
    }
    Ok(())
}

pub(super) fn c23(s: &mut Sheet<'_>) -> Done {
    let sum = s.num("c21-4-ways", "alu")?;
    s.equal("longest path ÷ sum", 40.0 / sum as f64, 0.4);
    let wee = s.text("c21-4-ways", "wee")?;
    s.equal("percent of the lanes", wee.as_str(), "26.42");
    Ok(())
}

pub(super) fn c29(s: &mut Sheet<'_>) -> Done {
    let (all, one) = (s.num("c29-32-ways", "alu")?, s.num("c29-unanimous", "alu")?);
    s.equal("alu, 32 ways ÷ one", all as f64 / one as f64, 32.0);
    Ok(())
}

pub(super) fn c30(s: &mut Sheet<'_>) -> Done {
    let got = (
        s.num("c13-half", "divergent")?,
        s.num("c13-half", "extra_targets")?,
    );
    s.equal("divergent, extra targets", got, (1, 1));
    Ok(())
}

pub(super) fn c38(s: &mut Sheet<'_>) -> Done {
    for (name, want) in [("c31-1-32", 31), ("c32-outlier", 1)] {
        let got = s.num(name, "divergent")?;
        s.equal(&format!("{name}: divergent tests"), got, want);
    }
    Ok(())
}

pub(super) fn c41(s: &mut Sheet<'_>) -> Done {
    let text = s.text("c31-1-32", "lanes.block1")?;
    let lanes: Vec<u32> = text.split(',').filter_map(|n| n.parse().ok()).collect();
    let rises = lanes.windows(2).filter(|w| w[0] < w[1]).count();
    s.equal(
        "tests, and rises of their lanes",
        (lanes.len(), rises),
        (33, 0),
    );
    let join = s.text("c31-1-32", "lanes.block3")?;
    s.equal("lanes at the join", join.as_str(), "32");
    Ok(())
}

pub(super) fn c44(s: &mut Sheet<'_>) -> Done {
    let got = s.text("c43-guard", "passes.block1")?;
    s.equal("lanes:passes of the return", got.as_str(), "24:1,32:1");
    Ok(())
}

pub(super) fn c50(s: &mut Sheet<'_>) -> Done {
    for (a, b) in [
        (1, 1),
        (1, 10),
        (10, 1),
        (10, 10),
        (40, 60),
        (100, 0),
        (0, 100),
    ] {
        let cost = s.num(&format!("c50-{a}-plus-{b}"), "alu")?;
        s.equal(&format!("alu of {a} + {b}"), cost, a + b);
        s.equal(
            &format!("at most twice {}", a.max(b)),
            cost <= 2 * a.max(b),
            true,
        );
    }
    Ok(())
}

pub(super) fn c52(s: &mut Sheet<'_>) -> Done {
    let got = s.text("c03-mixed", "warp0")?;
    s.equal(
        "issues/lanes of a warp",
        got,
        format!("{}/1696", 40 + 60 + 4),
    );
    Ok(())
}

pub(super) fn c57(s: &mut Sheet<'_>) -> Done {
    for (name, key, want) in [
        ("c48-guarded", "branches", "0"),
        ("c48-guarded", "avg", "32.000"),
        ("c48-guarded", "avg_pred_on", "16.158"),
        ("c32-outlier", "branch_efficiency", "99.90"),
        ("c32-outlier", "wee", "3.27"),
    ] {
        let got = s.text(name, key)?;
        s.equal(&format!("{name}: {key}"), got.as_str(), want);
    }
    Ok(())
}

pub(super) fn c77(s: &mut Sheet<'_>) -> Done {
    for (joins, want) in [("default", 16), ("cfg", 22)] {
        let got = s.num(&format!("c77-return-in-an-arm-{joins}"), "issued")?;
        s.equal(
            &format!("return in an arm, joins={joins}: issued"),
            got,
            want,
        );
    }
    let got = s.text("c77-shared-block", "block2")?;
    s.equal("shared block: passes@lanes", got.as_str(), "2@24");
    Ok(())
}

pub(super) fn c81(s: &mut Sheet<'_>) -> Done {
    let mut issues = Vec::new();
    let mut busy = Vec::new();
    for case in ["mixed", "all-positive", "all-negative"] {
        let name = format!("c81-{case}");
        let (issued, ti) = (s.num(&name, "issued")?, s.num(&name, "ti")?);
        issues.push(issued);
        // Of the eight lanes there are.
        busy.push(round(100.0 * ti as f64 / (8 * issued) as f64, 2));
    }
    let twice = issues[0] == 2 * issues[1];
    s.equal(
        "issues: mixed, positive, negative",
        issues,
        vec![26, 13, 17],
    );
    s.equal("mixed is twice positive", twice, true);
    s.equal("percent of eight lanes", busy, vec![48.08, 100.0, 70.59]);
    Ok(())
}

pub(super) fn c84(s: &mut Sheet<'_>) -> Done {
    let got = s.num("c02-grouped", "divergent")?;
    s.equal("divergent", got, 0);
    let wee = s.text("c02-grouped", "wee")?;
    s.equal("percent of the lanes", wee.as_str(), "100.00");
    Ok(())
}
