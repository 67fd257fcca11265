//! Reduction of an angle by multiples of pi/2.

/// `x = high + low + n pi/2` with `|high|` at most about pi/4 and `quadrant = n mod 4`.
pub(super) struct Reduced {
    pub high: f64,
    pub low: f64,
    pub quadrant: u32,
}

/// Up to here the quotient is small enough for products with [`PI_PARTS`] to stay exact.
const MEDIUM: f64 = f64::from_bits(0x4199_21fb_0000_0000);
/// pi/2 in four parts; the first three are short enough for exact products.
const PI_PARTS: [f64; 4] = [
    f64::from_bits(0x3ff9_21fb_5800_0000),
    f64::from_bits(0xbe4d_de97_3c00_0000),
    f64::from_bits(0xbc8c_b3b3_9800_0000),
    f64::from_bits(0xbacd_747f_23e3_2ed7),
];

/// Reduces a finite `x`.
pub(super) fn by_half_pi(x: f64) -> Reduced {
    if x.abs() < MEDIUM { by_parts(x) } else { by_digits(x) }
}

/// Subtracts the multiple of pi/2 part by part.
fn by_parts(x: f64) -> Reduced {
    const INV_HALF_PI: f64 = std::f64::consts::FRAC_2_PI;
    /// Adding this to a double leaves its nearest integer in the low bits of the sum.
    const TO_INTEGER: f64 = 6_755_399_441_055_744.0;
    let shifted = x.mul_add(INV_HALF_PI, TO_INTEGER);
    let n = shifted - TO_INTEGER;
    let exact = n.mul_add(-PI_PARTS[1], n.mul_add(-PI_PARTS[0], x));
    let (third, third_lost) = subtract_product(exact, n, PI_PARTS[2]);
    let (fourth, fourth_lost) = subtract_product(third, n, PI_PARTS[3]);
    Reduced { high: fourth, low: third_lost + fourth_lost, quadrant: (shifted.to_bits() & 3) as u32 }
}

/// `a - n part`, and what rounding it loses.
#[inline]
fn subtract_product(a: f64, n: f64, part: f64) -> (f64, f64) {
    let difference = n.mul_add(-part, a);
    (difference, n.mul_add(-part, a - difference))
}

/// A word of zeros, then the binary digits of 2/pi, as many as the largest double needs.
const TWO_OVER_PI: [u64; 21] = [
    0,
    0xa2f9_836e_4e44_1529,
    0xfc27_57d1_f534_ddc0,
    0xdb62_9599_3c43_9041,
    0xfe51_63ab_debb_c561,
    0xb724_6e3a_424d_d2e0,
    0x0649_2eea_09d1_921c,
    0xfe1d_eb1c_b129_a73e,
    0xe882_35f5_2ebb_4484,
    0xe99c_7026_b45f_7e41,
    0x3991_d639_8353_39f4,
    0x9c84_5f8b_bdf9_283b,
    0x1ff8_97ff_de05_980f,
    0xef2f_118b_5a0a_6d1f,
    0x6d36_7ecf_27cb_09b7,
    0x4f46_3f66_9e5f_ea2d,
    0x7527_bac7_ebe5_f17b,
    0x3d07_39f7_8a52_92ea,
    0x6bfb_5fb1_1f8d_5d08,
    0x5603_3046_fc7b_6bab,
    0xf0cf_bc20_9af4_361d,
];

/// Multiplies with the digits of 2/pi that matter, after Payne and Hanek.
///
/// With `|x| = m 2^e` for an integer `m`, digits of a weight that makes their product a multiple
/// of four are skipped. The next 192 digits give the quadrant in two bits and 190 bits of
/// fraction, of which at least 120 remain significant for any double.
fn by_digits(x: f64) -> Reduced {
    let bits = x.abs().to_bits();
    let integer = (bits & ((1 << 52) - 1)) | (1 << 52);
    let exponent = (bits >> 52) as usize; // e + 1075; at least 1049 here
    // Position of the first digit, counting the word of zeros: 64 + e - 2.
    let position = exponent + 62 - 1075;
    let word = |i: usize| digits(position + 64 * i);

    let low = u128::from(integer) * u128::from(word(2));
    let middle = u128::from(integer) * u128::from(word(1)) + (low >> 64);
    let high = integer.wrapping_mul(word(0)).wrapping_add((middle >> 64) as u64);

    // The fraction to 192 bits: 128 in `upper`, 64 in `lower`.
    let mut quadrant = (high >> 62) as u32;
    let joined = (u128::from(high) << 64) | u128::from(middle as u64);
    let mut upper = (joined << 2) | u128::from(low as u64 >> 62);
    let mut lower = (low as u64) << 2;
    let past_half = upper >> 127 == 1;
    if past_half {
        quadrant += 1;
        let borrow = u128::from(lower == 0);
        lower = lower.wrapping_neg();
        upper = (!upper).wrapping_add(borrow);
    }
    let (mut high, mut low) = times_half_pi(upper, lower);
    if past_half != x.is_sign_negative() {
        (high, low) = (-high, -low);
    }
    if x < 0.0 {
        quadrant = 4 - (quadrant & 3);
    }
    Reduced { high, low, quadrant }
}

/// 64 digits of 2/pi from a position on.
fn digits(position: usize) -> u64 {
    let (word, bit) = (position / 64, position % 64);
    let two = (u128::from(TWO_OVER_PI[word]) << 64) | u128::from(TWO_OVER_PI[word + 1]);
    ((two << bit) >> 64) as u64
}

/// `pi/2` times the fraction with the given binary digits, as a double and a rest.
fn times_half_pi(upper: u128, lower: u64) -> (f64, f64) {
    const HALF_PI: f64 = std::f64::consts::FRAC_PI_2;
    const HALF_PI_LOW: f64 = f64::from_bits(0x3c91_a626_3314_5c07);
    const KEPT: u64 = (1 << 53) - 1;
    let zeros = upper.leading_zeros().min(64);
    let carried = if zeros == 0 { 0 } else { u128::from(lower) >> (64 - zeros) };
    let normal = (upper << zeros) | carried;
    let power_of_two = |exponent: u64| f64::from_bits((1023 - exponent) << 52);
    let a = ((normal >> 75) as u64) as f64 * power_of_two(53 + u64::from(zeros));
    let b = ((normal >> 22) as u64 & KEPT) as f64 * power_of_two(106 + u64::from(zeros));

    let product = a * HALF_PI;
    let rest = a.mul_add(HALF_PI, -product) + (a * HALF_PI_LOW + b * HALF_PI);
    let high = product + rest;
    (high, (product - high) + rest)
}
