//! A run of the executor against what every thread must do.

use std::collections::BTreeMap;

use warpfold::exec::Outcome;

use super::{End, Expected};

/// Compares results, traps and memory.
///
/// # Errors
/// The first difference.
pub fn compare(expected: &Expected, run: &Outcome) -> Result<(), String> {
    let traps: BTreeMap<u64, _> = run.traps.iter().map(|t| (t.thread, t)).collect();
    for (thread, end) in expected.threads.iter().enumerate() {
        let trap = traps.get(&(thread as u64));
        let got = match trap {
            Some(t) => End::Trapped {
                code: t.code,
                function: t.function,
                site: t.site,
            },
            None => match run.returns.get(thread) {
                Some(values) => End::Returned(values.to_vec()),
                // Of a kernel without results nothing is kept.
                None if run.returns.width() == 0 && !matches!(end, End::Trapped { .. }) => {
                    continue;
                }
                None => End::Exited,
            },
        };
        if got != *end {
            return Err(format!("thread {thread}: {got:x?} instead of {end:x?}"));
        }
    }
    for (i, bytes) in expected.memory.iter().enumerate() {
        let got = run.memory.bytes(i);
        if let Some(at) = (0..bytes.len()).find(|&at| got.get(at) != Some(&bytes[at])) {
            return Err(format!(
                "buffer {i}, byte {at}: {:?} instead of {}",
                got.get(at),
                bytes[at]
            ));
        }
    }
    Ok(())
}
