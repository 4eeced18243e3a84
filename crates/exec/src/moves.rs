//! Block arguments: many registers copied at once, as copies one after another.
//!
//! All arguments of an edge are read before any parameter is written; a
//! parameter may be the argument of another (a swap). The copies are put in an
//! order in which no register is overwritten before it is read; what is left
//! then are cycles, each broken with one copy to a spare register.

use crate::registers::{Kind, Place, Reg};

/// A copy between two registers of one file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Move {
    pub kind: Kind,
    pub dst: Reg,
    pub src: Reg,
}

/// Puts parallel copies `(dst, src)` in order. The destinations are distinct,
/// and source and destination of a copy are of one file. `spare` gives the
/// spare register of a file, which no copy mentions.
pub(crate) fn in_order(
    copies: &[(Place, Place)],
    mut spare: impl FnMut(Kind) -> Reg,
    out: &mut Vec<Move>,
) {
    let mut left: Vec<(Place, Place)> = copies
        .iter()
        .copied()
        .filter(|(dst, src)| dst != src)
        .collect();
    left.sort_unstable();
    // Readers of a register, as positions of the copies that read it.
    let position =
        |left: &[(Place, Place)], dst: Place| left.binary_search_by_key(&dst, |&(d, _)| d).ok();
    let mut readers = vec![0u32; left.len()];
    for &(_, src) in &left {
        if let Some(at) = position(&left, src) {
            readers[at] += 1;
        }
    }
    let mut emit = |(dst, src): (Place, Place)| {
        out.push(Move {
            kind: dst.kind,
            dst: dst.reg,
            src: src.reg,
        });
    };
    let mut done = vec![false; left.len()];
    let mut ready: Vec<usize> = (0..left.len()).filter(|&i| readers[i] == 0).collect();
    ready.reverse();
    let mut next = 0;
    loop {
        while let Some(i) = ready.pop() {
            emit(left[i]);
            done[i] = true;
            if let Some(at) = position(&left, left[i].1) {
                readers[at] -= 1;
                if readers[at] == 0 && !done[at] {
                    ready.push(at);
                }
            }
        }
        while next < left.len() && done[next] {
            next += 1;
        }
        let Some(&(dst, _)) = left.get(next) else {
            return;
        };
        // Only cycles are left, and in a cycle everything has one reader: save
        // what the first copy would overwrite, and let its reader read that.
        let saved = Place {
            kind: dst.kind,
            reg: spare(dst.kind),
        };
        emit((saved, dst));
        for copy in &mut left {
            if copy.1 == dst {
                copy.1 = saved;
            }
        }
        readers[next] = 0;
        ready.push(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPARE: Reg = 99;

    fn place(reg: Reg) -> Place {
        Place {
            kind: Kind::W32,
            reg,
        }
    }

    fn run(copies: &[(Reg, Reg)]) -> (Vec<Reg>, usize) {
        let places: Vec<_> = copies.iter().map(|&(d, s)| (place(d), place(s))).collect();
        let mut moves = Vec::new();
        in_order(&places, |_| SPARE, &mut moves);
        let mut regs: Vec<Reg> = (0..100).collect();
        for m in &moves {
            regs[usize::from(m.dst)] = regs[usize::from(m.src)];
        }
        for &(d, s) in copies {
            assert_eq!(regs[usize::from(d)], s, "{copies:?} as {moves:?}");
        }
        (regs, moves.len())
    }

    #[test]
    fn chains_need_no_spare() {
        assert_eq!(run(&[(1, 0), (2, 1), (3, 2)]).1, 3);
        assert_eq!(run(&[(3, 2), (2, 1), (1, 0), (4, 2)]).1, 4);
        assert_eq!(run(&[(5, 5)]).1, 0);
    }

    #[test]
    fn each_cycle_needs_one_copy_more() {
        assert_eq!(run(&[(0, 1), (1, 0)]).1, 3);
        assert_eq!(run(&[(0, 1), (1, 2), (2, 0), (7, 8), (8, 7)]).1, 7);
        assert_eq!(run(&[(0, 1), (1, 0), (2, 0), (3, 2)]).1, 5);
    }

    #[test]
    fn all_small_copies_are_right() {
        // Every map of five registers to five registers.
        for code in 0..5u32.pow(5) {
            let copies: Vec<(Reg, Reg)> = (0..5)
                .map(|d| (d as Reg, (code / 5u32.pow(d) % 5) as Reg))
                .collect();
            run(&copies);
        }
    }
}
