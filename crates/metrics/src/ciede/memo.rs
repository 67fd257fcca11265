//! A small table of results, found by what they were made from.
//!
//! Only pure functions are remembered, so a table changes what they cost and nothing else.

use super::lab::Yuv;

/// What a [`Memo`] finds results by.
pub trait MemoKey: Copy + PartialEq {
    /// A number whose high bits are well mixed.
    fn mixed(&self) -> u64;
}

/// 2^64 over the golden ratio.
const MIXER: u64 = 0x9e37_79b9_7f4a_7c15;

impl MemoKey for Yuv {
    fn mixed(&self) -> u64 {
        (u64::from(self.y) | u64::from(self.u) << 16 | u64::from(self.v) << 32).wrapping_mul(MIXER)
    }
}

impl MemoKey for (Yuv, Yuv) {
    fn mixed(&self) -> u64 {
        (self.0.mixed().rotate_left(29) ^ self.1.mixed()).wrapping_mul(MIXER)
    }
}

/// The latest result for each of 2^15 slots: less than a megabyte, so that it stays near the processor.
#[derive(Debug)]
pub struct Memo<K, V> {
    slots: Vec<Option<(K, V)>>,
}

impl<K: MemoKey, V: Copy> Memo<K, V> {
    const BITS: u32 = 15;

    pub fn new() -> Self {
        Self { slots: vec![None; 1 << Self::BITS] }
    }

    fn slot(key: &K) -> usize {
        (key.mixed() >> (64 - Self::BITS)) as usize
    }

    pub fn find(&self, key: &K) -> Option<V> {
        self.slots[Self::slot(key)].filter(|(known, _)| known == key).map(|(_, value)| value)
    }

    pub fn keep(&mut self, key: K, value: V) {
        self.slots[Self::slot(&key)] = Some((key, value));
    }

    pub fn find_or_make(&mut self, key: K, make: impl FnOnce() -> V) -> V {
        self.find(&key).unwrap_or_else(|| {
            let value = make();
            self.keep(key, value);
            value
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Noise;

    #[test]
    fn never_gives_a_result_of_another_key() {
        let mut noise = Noise::new(5);
        let mut memo = Memo::new();
        let mut found = 0;
        for _ in 0..400_000 {
            let key = Yuv { y: noise.below(64) as u16, u: noise.below(64) as u16, v: noise.below(64) as u16 };
            let expected = u32::from(key.y) << 12 | u32::from(key.u) << 6 | u32::from(key.v);
            found += u32::from(memo.find(&key).is_some());
            assert_eq!(memo.find_or_make(key, || expected), expected);
        }
        // 2^18 keys compete for 2^15 slots.
        assert!((30_000..80_000).contains(&found), "{found}");
    }
}
