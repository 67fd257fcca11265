//! Dot products of words with AVX-VNNI: `vpdpwssd` in the encoding that needs no AVX-512.
//!
//! The assembler takes that encoding only where it is told to (`{vex}`), and needs no feature for it. None is enabled here, so that the
//! functions are inlined into code that is compiled for AVX2: they are called through [`AvxVnni`](super::AvxVnni) alone, which stands
//! for a machine that has the instruction.
#![expect(unsafe_code, reason = "kernels: see the SAFETY notes")]

use std::arch::asm;
use std::arch::x86_64::__m256i;

use crate::simd::Splats;

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn dot(mut sum: __m256i, a: __m256i, b: __m256i) -> __m256i {
    // SAFETY: the machine has the instruction, which reads and writes these registers only.
    unsafe {
        asm!(
            "{{vex}} vpdpwssd {sum}, {a}, {b}",
            sum = inout(ymm_reg) sum,
            a = in(ymm_reg) a,
            b = in(ymm_reg) b,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    sum
}

/// The second factor is read by the instruction: it needs no register.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn dot_splat<const INDEX: usize, const COUNT: usize>(
    mut sum: __m256i,
    a: __m256i,
    table: &Splats<COUNT>,
) -> __m256i {
    const { assert!(INDEX < COUNT && size_of::<Splats<1>>() == 32) };
    // SAFETY: as above, and it reads 32 bytes of the table, which has that many entries.
    unsafe {
        asm!(
            "{{vex}} vpdpwssd {sum}, {a}, ymmword ptr [{table} + {offset}]",
            sum = inout(ymm_reg) sum,
            a = in(ymm_reg) a,
            table = in(reg) table,
            offset = const 32 * INDEX,
            options(pure, readonly, nostack, preserves_flags),
        );
    }
    sum
}

/// The number `INDEX` of both tables times the words of four planes: each plane's words and each table's number are read once.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn dot_planes<const INDEX: usize, const COUNT: usize>(
    sums: &mut [[__m256i; 2]; 4],
    planes: [&[i16]; 4],
    taps: [&Splats<COUNT>; 2],
) {
    const { assert!(INDEX < COUNT && size_of::<Splats<1>>() == 32) };
    let [a, b, c, d] = planes;
    assert!(a.len().min(b.len()).min(c.len()).min(d.len()) >= 2 * INDEX + 16);
    let [[a_even, a_odd], [b_even, b_odd], [c_even, c_odd], [d_even, d_odd]] = sums;
    // SAFETY: the machine has the instructions. They read 16 words of each plane, which are there, and 32
    // bytes of each table, which has that many entries; they write registers only.
    unsafe {
        asm!(
            "vmovdqa {even}, ymmword ptr [{evens} + {offset}]",
            "vmovdqa {odd}, ymmword ptr [{odds} + {offset}]",
            "vmovdqu {words}, ymmword ptr [{a} + {at}]",
            "{{vex}} vpdpwssd {a_even}, {words}, {even}",
            "{{vex}} vpdpwssd {a_odd}, {words}, {odd}",
            "vmovdqu {words}, ymmword ptr [{b} + {at}]",
            "{{vex}} vpdpwssd {b_even}, {words}, {even}",
            "{{vex}} vpdpwssd {b_odd}, {words}, {odd}",
            "vmovdqu {words}, ymmword ptr [{c} + {at}]",
            "{{vex}} vpdpwssd {c_even}, {words}, {even}",
            "{{vex}} vpdpwssd {c_odd}, {words}, {odd}",
            "vmovdqu {words}, ymmword ptr [{d} + {at}]",
            "{{vex}} vpdpwssd {d_even}, {words}, {even}",
            "{{vex}} vpdpwssd {d_odd}, {words}, {odd}",
            a = in(reg) a.as_ptr(),
            b = in(reg) b.as_ptr(),
            c = in(reg) c.as_ptr(),
            d = in(reg) d.as_ptr(),
            evens = in(reg) taps[0],
            odds = in(reg) taps[1],
            at = const 4 * INDEX,
            offset = const 32 * INDEX,
            a_even = inout(ymm_reg) *a_even,
            a_odd = inout(ymm_reg) *a_odd,
            b_even = inout(ymm_reg) *b_even,
            b_odd = inout(ymm_reg) *b_odd,
            c_even = inout(ymm_reg) *c_even,
            c_odd = inout(ymm_reg) *c_odd,
            d_even = inout(ymm_reg) *d_even,
            d_odd = inout(ymm_reg) *d_odd,
            even = out(ymm_reg) _,
            odd = out(ymm_reg) _,
            words = out(ymm_reg) _,
            options(pure, readonly, nostack, preserves_flags),
        );
    }
}
