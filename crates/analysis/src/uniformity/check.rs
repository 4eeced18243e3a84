//! A shape's claims against concrete numbers, and in words.

use std::fmt;

use super::bits::{KnownBits, low_mask};
use super::domain::Shape;

impl Shape {
    /// Tests the claims against what lanes got from one executed instruction:
    /// pairs of lane index and bits (zero above the width). Lanes that did
    /// not take part or hold poison are left out.
    ///
    /// # Errors
    /// The first claim that does not hold, in words.
    pub fn check(&self, lanes: &[(u32, u128)]) -> Result<(), String> {
        let Some(&(first, value)) = lanes.first() else {
            return Ok(());
        };
        if let Some(&(lane, other)) = lanes.iter().find(|&&(_, v)| v != value)
            && self.is_uniform()
        {
            return Err(format!(
                "claimed uniform, but lane {first} holds {value:#x} and lane {lane} {other:#x}"
            ));
        }
        if self.width() > 64 {
            return Ok(());
        }
        let mask = self.mask();
        let base_of = |lane: u32, value: u128| {
            let offset = self.stride().unwrap_or(0).wrapping_mul(u64::from(lane));
            (value as u64).wrapping_sub(offset) & mask
        };
        let against = |known: KnownBits, bits: u64| bits & known.zero | !bits & known.one;
        let base = base_of(first, value);
        for &(lane, v) in lanes {
            let bits = v as u64;
            let wrong = against(self.bits(), bits);
            if wrong != 0 || v >> self.width() != 0 {
                return Err(format!(
                    "lane {lane} holds {v:#x}, against the known bits {wrong:#x}"
                ));
            }
            let differing = (bits ^ value as u64) & self.uniform_bits();
            if differing != 0 {
                return Err(format!(
                    "lane {first} holds {value:#x} and lane {lane} {v:#x}, \
                     which differ in the uniform bits {differing:#x}"
                ));
            }
            if let Some(stride) = self.stride()
                && base_of(lane, v) != base
            {
                return Err(format!(
                    "lane {first} holds {value:#x} and lane {lane} {v:#x}, \
                     which is not stride {stride:#x}"
                ));
            }
        }
        if self.stride().is_some() && against(self.base(), base) != 0 {
            return Err(format!(
                "the base {base:#x} is against its known bits {:#x}",
                against(self.base(), base)
            ));
        }
        Ok(())
    }
}

impl fmt::Display for Shape {
    /// For annotations: `const 5`, `uniform(warp)`, `stride 4, base warp = 0x0
    /// mod 0x20`, `lane`, each with the bits that are known beyond it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(value) = self.as_constant() {
            return if value < 10 {
                write!(f, "const {value}")
            } else {
                write!(f, "const {value:#x}")
            };
        }
        match self.stride() {
            Some(0) => write!(f, "uniform({})", self.base_scope())?,
            Some(_) => {
                let stride = self.signed_stride().unwrap_or_default();
                write!(f, "stride {stride}, base {}", self.base_scope())?;
                if let Some(base) = (self.base().known() == self.mask()).then_some(self.base().one)
                {
                    write!(f, " {base:#x}")?;
                } else if self.base().trailing() > 0 {
                    let low = low_mask(self.base().trailing());
                    write!(
                        f,
                        " = {:#x} mod {:#x}",
                        self.base().one & low,
                        u128::from(low) + 1
                    )?;
                }
            }
            None => {
                f.write_str("lane")?;
                let uniform = self.uniform_bits() & !self.bits().known();
                if uniform != 0 {
                    write!(f, ", uniform bits {uniform:#x}")?;
                }
            }
        }
        if self.width() > 1 && self.bits().zero != 0 {
            write!(f, ", zero bits {:#x}", self.bits().zero)?;
        }
        if self.width() > 1 && self.bits().one != 0 {
            write!(f, ", one bits {:#x}", self.bits().one)?;
        }
        Ok(())
    }
}
