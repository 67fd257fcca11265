//! The highest bits of bytes, as one number.
#![cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "kernels: see the SAFETY notes"))]

/// The highest bit of each byte, that of the first byte lowest.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn highest_bits(bytes: &[u8; 64]) -> u64 {
    use std::arch::x86_64::_mm_movemask_epi8;
    let mut bits = 0;
    for part in (0..64).step_by(16) {
        // SAFETY: SSE2 belongs to every x86-64 processor.
        let sixteen = unsafe { _mm_movemask_epi8(super::x86::load128(bytes, part)) };
        bits |= u64::from(sixteen as u16) << part;
    }
    bits
}

/// The highest bit of each byte, that of the first byte lowest.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub fn highest_bits(bytes: &[u8; 64]) -> u64 {
    if *bytes == [0; 64] {
        return 0;
    }
    let mut bits = 0;
    for (index, eight) in bytes.as_chunks::<8>().0.iter().enumerate() {
        let flags = u64::from_le_bytes(*eight) >> 7 & 0x0101_0101_0101_0101;
        // Flag i is bit 8i; bit 7 - i of the factor takes it to bit 56 + i, and nothing else reaches the highest byte.
        bits |= flags.wrapping_mul(0x0102_0408_1020_4080) >> 56 << (8 * index);
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_those_of_the_bytes() {
        for seed in 0..64u8 {
            let bytes: [u8; 64] =
                std::array::from_fn(|at| (at as u8).wrapping_mul(seed).wrapping_add(seed << 2));
            let truth = bytes.iter().enumerate().map(|(at, byte)| u64::from(byte >> 7) << at).sum();
            assert_eq!(highest_bits(&bytes), truth);
        }
    }
}
