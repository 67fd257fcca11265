//! The seventh power as [`powf`](crate::math::powf) has it, which is not the nearest float in a third of all cases.

use super::lanes::*;
use crate::math::powf_tables::{EXP2_POLY, EXP2_POWERS, LOG2_CENTRES, POWF_LOG2_POLY};

vector_functions! {
    /// Of numbers between 2^-16 and 2^16, or zero; others are in doubt.
    pub fn power_7(x: Narrow, nearest: &mut Nearest) -> Narrow {
        let ordinary = both(
            singles_below(all_single(1.0 / 65_536.0), x),
            singles_below(x, all_single(65_536.0)),
        );
        let zero = singles_equal(x, all_single(0.0));
        *nearest = keep_whole(either(ordinary, zero), *nearest);
        let logarithm = binary_logarithm(wide(x));
        keep_singles(ordinary, power_of_two(mul(all(7.0), logarithm)))
    }

    /// The steps of `powf`, on the wider number: its leading bits are those of the float.
    fn binary_logarithm(x: Wide) -> Wide {
        /// The low end of the table as a double, 0.699...
        const LOW: i64 = (f32::from_bits(0x3f33_0000) as f64).to_bits() as i64;
        let above = sub_whole(bits(x), all_whole(LOW));
        let interval = sixteenths(above);
        let exponent = exponent(above);
        let mantissa = number(sub_whole(bits(x), exponent_field(exponent)));
        let r = fmsub(mantissa, look_up(&INVERSES, interval), all(1.0));
        let base = add(look_up(&LOGARITHMS, interval), from_whole(exponent));
        let [c0, c1, c2, c3, c4] = POWF_LOG2_POLY.map(|coefficient| all(coefficient));
        let r2 = mul(r, r);
        let top = fmadd(c0, r, c1);
        let middle = fmadd(c2, r, c3);
        let linear = fmadd(c4, r, base);
        fmadd(top, mul(r2, r2), fmadd(middle, r2, linear))
    }

    fn power_of_two(x: Wide) -> Narrow {
        const TO_STEPS: f64 = 211_106_232_532_992.0;
        let shifted = add(x, all(TO_STEPS));
        let steps = bits(shifted);
        let r = sub(x, sub(shifted, all(TO_STEPS)));
        let upper = any_bit(steps, all_whole(16));
        let power = choose(upper, look_up(&POWERS[0], steps), look_up(&POWERS[1], steps));
        let power = add_whole(bits(power), thirty_seconds(steps));
        let [c0, c1, c2] = EXP2_POLY.map(|coefficient| all(coefficient));
        let r2 = mul(r, r);
        let top = fmadd(c0, r, c1);
        let value = fmadd(top, r2, fmadd(c2, r, all(1.0)));
        narrow(mul(value, number(power)))
    }
}

const INVERSES: [f64; 16] = column(0);
const LOGARITHMS: [f64; 16] = column(1);

const fn column(number: usize) -> [f64; 16] {
    let mut out = [0.0; 16];
    let mut at = 0;
    while at < 16 {
        out[at] = f64::from_bits(LOG2_CENTRES[at][number]);
        at += 1;
    }
    out
}

/// The table in two halves.
const POWERS: [[f64; 16]; 2] = [powers(0), powers(16)];

const fn powers(from: usize) -> [f64; 16] {
    let mut out = [0.0; 16];
    let mut at = 0;
    while at < 16 {
        out[at] = f64::from_bits(EXP2_POWERS[from + at]);
        at += 1;
    }
    out
}
