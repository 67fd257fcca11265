//! Reciprocals as the reference computes them: an estimate by the processor, refined by one Newton step.
//!
//! On x86 libvmaf divides by multiplying with `rcpss` and one Newton step, whose result differs from a true quotient in
//! the last bits. The estimate is not standardised: Intel's and AMD's processors have different ones, and so libvmaf's
//! scores differ between them (and again on ARM, where it divides). The reference figures come from AMD's Zen 4. Its
//! estimate is given here as a table, so that scores are those figures on every machine.
//!
//! Zen 4's estimate depends on the upper twelve bits of the mantissa, and is the difference of two table entries of
//! eight index bits each: a bipartite table (D. Das Sarma, D. W. Matula, "Faithful Bipartite ROM Reciprocal Tables",
//! 1995). All 2^32 arguments were compared with the processor.

const MANTISSA_BITS: u32 = 23;
/// Bits of the mantissa that the estimate knows of, in argument and result.
const KNOWN_BITS: u32 = 12;
const EXPONENT: u32 = 0x7f80_0000;
const SIGN: u32 = 0x8000_0000;

/// By the mantissa's bits 0 to 7 (from the top): the estimate, in units of 2^-13, at the begin of an interval.
#[rustfmt::skip]
const BEGIN: [u16; 256] = [
    8190, 8158, 8127, 8095, 8065, 8034, 8003, 7973, 7943, 7913, 7883, 7854, 7825, 7796, 7767, 7738, 7708,
    7680, 7652, 7625, 7597, 7570, 7543, 7516, 7489, 7462, 7436, 7410, 7384, 7358, 7332, 7307, 7280, 7255,
    7230, 7205, 7181, 7156, 7132, 7108, 7084, 7060, 7037, 7013, 6990, 6967, 6944, 6921, 6897, 6875, 6852,
    6830, 6808, 6786, 6764, 6742, 6721, 6699, 6678, 6657, 6636, 6615, 6594, 6574, 6552, 6532, 6512, 6492,
    6472, 6452, 6432, 6413, 6393, 6374, 6354, 6335, 6316, 6297, 6278, 6260, 6241, 6223, 6204, 6186, 6168,
    6150, 6132, 6114, 6096, 6079, 6061, 6044, 6026, 6009, 5992, 5975, 5957, 5940, 5924, 5907, 5890, 5874,
    5858, 5841, 5825, 5809, 5793, 5777, 5761, 5746, 5730, 5714, 5698, 5683, 5667, 5652, 5637, 5622, 5607,
    5592, 5577, 5562, 5548, 5533, 5519, 5504, 5490, 5475, 5461, 5447, 5432, 5418, 5405, 5391, 5377, 5363,
    5350, 5336, 5322, 5309, 5296, 5282, 5269, 5256, 5242, 5229, 5216, 5203, 5191, 5178, 5165, 5152, 5140,
    5127, 5115, 5102, 5090, 5078, 5065, 5053, 5041, 5029, 5017, 5005, 4993, 4981, 4969, 4958, 4946, 4934,
    4923, 4911, 4900, 4888, 4877, 4866, 4854, 4843, 4832, 4821, 4810, 4799, 4788, 4777, 4766, 4755, 4744,
    4734, 4723, 4713, 4702, 4691, 4680, 4670, 4660, 4649, 4639, 4629, 4619, 4609, 4598, 4588, 4578, 4568,
    4559, 4549, 4539, 4529, 4519, 4510, 4500, 4490, 4481, 4471, 4462, 4452, 4443, 4433, 4424, 4415, 4406,
    4396, 4387, 4378, 4368, 4359, 4350, 4341, 4332, 4323, 4315, 4306, 4297, 4288, 4279, 4271, 4262, 4253,
    4245, 4236, 4228, 4219, 4211, 4202, 4194, 4186, 4177, 4169, 4161, 4153, 4144, 4136, 4128, 4120, 4112,
    4104,
];

/// By the mantissa's bits 0 to 3 and 8 to 11: how far the estimate has fallen within the interval.
#[rustfmt::skip]
const FALL: [[u8; 16]; 16] = [
    [0, 2, 3, 5, 7, 9, 11, 13, 15, 17, 18, 20, 22, 24, 26, 28],
    [0, 1, 3, 5, 6, 8, 10, 11, 13, 15, 16, 18, 20, 21, 23, 25],
    [0, 1, 3, 4, 5, 7, 8, 10, 11, 13, 14, 16, 17, 19, 20, 22],
    [0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 16, 17, 18, 20],
    [0, 1, 2, 3, 4, 6, 7, 8, 9, 11, 12, 13, 14, 15, 17, 18],
    [0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 15, 16, 17],
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    [0, 1, 2, 3, 4, 5, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14],
    [0, 1, 2, 2, 3, 4, 5, 6, 7, 8, 8, 9, 10, 11, 12, 13],
    [0, 1, 1, 2, 3, 4, 5, 5, 6, 7, 8, 9, 9, 10, 11, 12],
    [0, 1, 2, 2, 3, 4, 4, 5, 6, 7, 7, 8, 9, 10, 10, 11],
    [0, 1, 1, 2, 3, 3, 4, 5, 5, 6, 7, 7, 8, 9, 9, 10],
    [0, 0, 1, 2, 2, 3, 3, 4, 5, 5, 6, 7, 7, 8, 8, 9],
    [0, 0, 1, 2, 2, 3, 3, 4, 5, 5, 6, 6, 7, 8, 8, 9],
    [0, 0, 1, 1, 2, 2, 3, 3, 4, 5, 5, 6, 6, 7, 7, 8],
    [0, 0, 1, 1, 2, 2, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8],
];

/// The mantissas of the estimates, for arguments from 1 to 2: in place, but without the leading bit.
static MANTISSAS: [u32; 1 << KNOWN_BITS] = mantissas();

const fn mantissas() -> [u32; 1 << KNOWN_BITS] {
    let mut all = [0; 1 << KNOWN_BITS];
    let mut index = 0;
    while index < all.len() {
        let estimate = BEGIN[index >> 4] as u32 - FALL[index >> 8][index & 15] as u32;
        all[index] = (estimate - (1 << KNOWN_BITS)) << (MANTISSA_BITS - KNOWN_BITS);
        index += 1;
    }
    all
}

/// About `1 / x`, to some 23 bits.
#[inline]
pub fn reciprocal(x: f32) -> f32 {
    let estimate = estimate(x);
    estimate + estimate * (1.0 - x * estimate)
}

/// About `1 / x`, to some 12 bits.
#[inline]
fn estimate(x: f32) -> f32 {
    /// The sum of the exponent fields of an argument and its estimate.
    const EXPONENT_SUM: u32 = 253 << MANTISSA_BITS;
    let bits = x.to_bits();
    let exponent = bits & EXPONENT;
    if exponent == 0 || exponent >= EXPONENT_SUM {
        return extreme(x);
    }
    let known = (bits >> (MANTISSA_BITS - KNOWN_BITS)) as usize % MANTISSAS.len();
    f32::from_bits((bits & SIGN) | ((EXPONENT_SUM - exponent) + MANTISSAS[known]))
}

/// The estimate where the argument is zero or subnormal (which counts as zero), where the result would be subnormal
/// (then it is zero), and of what is not a number.
#[cold]
fn extreme(x: f32) -> f32 {
    let magnitude = match x.to_bits() & EXPONENT {
        _ if x.is_nan() => return x,
        0 => f32::INFINITY,
        _ => 0.0,
    };
    magnitude.copysign(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_are_those_of_the_processor() {
        let known = [
            (0x3f80_0000, 0x3f7f_f000),
            (0x3fff_ffff, 0x3f00_0000),
            (0x0080_0000, 0x7e7f_f000),
            (0x00ff_ffff, 0x7e00_0000),
            (0x8080_0000, 0xfe7f_f000),
            (0x7e00_0000, 0x00ff_f000),
            (0x7e7f_ffff, 0x0080_0000),
            (0x7e80_0000, 0x0000_0000),
            (0x7f7f_ffff, 0x0000_0000),
            (0x0000_0000, 0x7f80_0000),
            (0x8000_0000, 0xff80_0000),
            (0x007f_ffff, 0x7f80_0000),
            (0x7f80_0000, 0x0000_0000),
            (0xff80_0000, 0x8000_0000),
        ];
        for (argument, expected) in known {
            assert_eq!(estimate(f32::from_bits(argument)).to_bits(), expected, "{argument:#x}");
        }
        assert!(estimate(f32::NAN).is_nan());
    }

    /// Fowler-Noll-Vo hash of all estimates from 1 to 2, in units of 2^-13, taken from the processor.
    #[test]
    fn no_estimate_is_missing() {
        let hash = (0..1u32 << KNOWN_BITS).fold(0x811c_9dc5u32, |hash, index| {
            let argument = f32::from_bits(0x3f80_0000 | index << (MANTISSA_BITS - KNOWN_BITS) | 0x2a5);
            let units = (estimate(argument) * 8192.0) as u32;
            (hash ^ units).wrapping_mul(0x0100_0193)
        });
        assert_eq!(hash, 0x6063_dc6d);
    }

    #[test]
    fn one_newton_step_doubles_the_digits() {
        for x in [1.0f32, 1.1, -2.3, 3e-20, 7.7e15, 1e-30] {
            let error = f64::from(reciprocal(x)) * f64::from(x) - 1.0;
            assert!(error.abs() < 4e-7 && error != 0.0, "{x}: {error}");
        }
    }
}
