//! log2 of 16-bit numbers in steps of 1/2048.

use std::sync::OnceLock;

use crate::math;

/// Numbers from 2^15 on; what is smaller or larger is shifted into this range first.
const FIRST: u32 = 1 << 15;

/// `round(2048 · log2(n))` for 2^15 ≤ n < 2^16.
#[derive(Debug)]
pub struct Log2(Box<[u16; FIRST as usize]>);

impl Log2 {
    /// The table, made once per process.
    pub fn get() -> &'static Self {
        static TABLE: OnceLock<Log2> = OnceLock::new();
        TABLE.get_or_init(|| {
            // The logarithm is rounded to single precision before it is scaled: a table of correctly rounded values
            // would differ in 38 places.
            let entry = |n: u32| (math::log2f((FIRST + n) as f32) * 2048.0).round() as u16;
            Self(Box::new(std::array::from_fn(|n| entry(n as u32))))
        })
    }

    /// 2048 · log2 of a number, from its 16 leading bits. `number` is at least 2^15.
    #[inline]
    pub fn of(&self, number: u64) -> i64 {
        let shift = 48 - number.leading_zeros();
        let leading = (number >> shift) as usize & (FIRST as usize - 1);
        i64::from(self.0[leading]) + 2048 * i64::from(shift)
    }
}

/// The entries of [`Log2`], from 2^15 on.
pub fn log2_table() -> &'static [u16] {
    &Log2::get().0[..]
}
