//! The functions against figures of the C code.

use super::*;

/// Bits of libvmaf's figures: Watson straight and diagonal, Barten with gain 1 and 1.7, native straight and diagonal.
#[test]
fn weights_have_the_bits_of_libvmaf() {
    #[rustfmt::skip]
    let known: &[(f64, i32, u32, [u32; 6])] = &[
        (3.0, 1080, 0, [0x3c8e63ba, 0x3bc106aa, 0x3f9af18d, 0x4003b3b8, 0x3bb2731d, 0x3971c0da]),
        (3.0, 1080, 1, [0x3d030286, 0x3c6a46a3, 0x40a159e3, 0x41092601, 0x3e2ad6cf, 0x3d26e4ec]),
        (3.0, 1080, 2, [0x3d31a788, 0x3cc7dc06, 0x416a0875, 0x41c6ed97, 0x3f2af91a, 0x3ec747cb]),
        (3.0, 1080, 3, [0x3d3b140b, 0x3d0041c9, 0x41d7ce9b, 0x42376f9d, 0x3f7c7bd6, 0x3f609aa9]),
        (5.0, 1080, 0, [0x3be01b27, 0x3b056bff, 0x3eaacc84, 0x3f112dd7, 0x381fe507, 0x3426c8ee]),
        (5.0, 1080, 1, [0x3c6df82c, 0x3bbae33c, 0x3fe801f6, 0x404534de, 0x3c924359, 0x3ab1cb68]),
        (5.0, 1080, 2, [0x3cba3608, 0x3c380033, 0x40def4b5, 0x413d8333, 0x3e8dd6bb, 0x3db95f9b]),
        (5.0, 1080, 3, [0x3ce24e24, 0x3c884687, 0x418fe09a, 0x41f4976c, 0x3f4ae66f, 0x3f086d8d]),
        (1.5, 2160, 0, [0x3c8e63ba, 0x3bc106aa, 0x3f9af18d, 0x4003b3b8, 0x3bb2731d, 0x3971c0da]),
        (1.5, 2160, 1, [0x3d030286, 0x3c6a46a3, 0x40a159e3, 0x41092601, 0x3e2ad6cf, 0x3d26e4ec]),
        (1.5, 2160, 2, [0x3d31a788, 0x3cc7dc06, 0x416a0875, 0x41c6ed97, 0x3f2af91a, 0x3ec747cb]),
        (1.5, 2160, 3, [0x3d3b140b, 0x3d0041c9, 0x41d7ce9b, 0x42376f9d, 0x3f7c7bd6, 0x3f609aa9]),
        (3.0, 2160, 0, [0x3b9c9727, 0x3ab2046c, 0x3e47f262, 0x3ea9f46d, 0x36474551, 0x3180e8a0]),
        (3.0, 2160, 1, [0x3c2f0107, 0x3b833860, 0x3f9af18d, 0x4003b3b8, 0x3bb2731d, 0x3971c0da]),
        (3.0, 2160, 2, [0x3c9020ae, 0x3c07f943, 0x40a159e3, 0x41092601, 0x3e2ad6cf, 0x3d26e4ec]),
        (3.0, 2160, 3, [0x3cb85a7d, 0x3c53fb42, 0x416a0875, 0x41c6ed97, 0x3f2af91a, 0x3ec747cb]),
        (24.0, 4320, 0, [0x36830a3e, 0x35135b1d, 0x2a2af2f4, 0x2a914e83, 0x00000000, 0x00000000]),
        (24.0, 4320, 1, [0x379f6613, 0x366c7260, 0x34113cc6, 0x3476e751, 0x00000000, 0x00000000]),
        (24.0, 4320, 2, [0x388ee228, 0x3785569e, 0x39606453, 0x39bebbad, 0x13c94f41, 0x0030cd06]),
        (24.0, 4320, 3, [0x3946ec22, 0x386240fe, 0x3c69c17a, 0x3cc6b141, 0x2afb6c1f, 0x2113d35d]),
        (2.37, 1717, 0, [0x3c3e4e91, 0x3b737a63, 0x3f343281, 0x3f992aee, 0x3a5b25b4, 0x3771c645]),
        (2.37, 1717, 1, [0x3cbaa8a4, 0x3c1d82b3, 0x40503d5c, 0x40b100f5, 0x3d9552cb, 0x3c3a6ccd]),
        (2.37, 1717, 2, [0x3d06ea1c, 0x3c8f3e55, 0x412d5224, 0x4193529f, 0x3efb0a9b, 0x3e6a8296]),
        (2.37, 1717, 3, [0x3d17739e, 0x3cc3fce0, 0x41ba83f2, 0x421e89c1, 0x3f6e542d, 0x3f3eb1d0]),
        (3.0, 1, 0, [0x3e1a0f6e, 0x3e99d29f, 0x3eb65891, 0x3f1afe7b, 0x3ea6b2cc, 0x3eaa13f4]),
        (3.0, 1, 1, [0x3d1fca39, 0x3dd27538, 0x3e252856, 0x3e8c6249, 0x3ea2b9bc, 0x3ea46ea4]),
        (3.0, 1, 2, [0x3bf442d9, 0x3cca6490, 0x3d9565ed, 0x3dfdfa13, 0x3ea0ba13, 0x3ea1959d]),
        (3.0, 1, 3, [0x3a90fa93, 0x3b926a1c, 0x3d071601, 0x3d65a568, 0x3e9fb976, 0x3ea02780]),
    ];
    for (distance, display_height, scale, bits) in known {
        let viewing = Viewing { distance: *distance, display_height: *display_height };
        let weights = [
            watson(&viewing, *scale, Direction::Straight),
            watson(&viewing, *scale, Direction::Diagonal),
            barten(&viewing, *scale, 1.0),
            barten(&viewing, *scale, 1.7),
            native(&viewing, *scale, Direction::Straight),
            native(&viewing, *scale, Direction::Diagonal),
        ];
        assert_eq!(weights.map(f32::to_bits), *bits, "{viewing:?} scale {scale}");
    }
}

#[test]
fn blends_know_their_viewing_conditions_only() {
    let viewing = |distance, display_height| Viewing { distance, display_height };
    let first = |v: Viewing| blend(&v, 0, Direction::Straight);
    assert_eq!(first(viewing(3.0, 1080)), Some(f32::from_bits(0x3c41d29e)));
    assert_eq!(blend_mae(&viewing(5.0, 480), 3, Direction::Diagonal), Some(f32::from_bits(0x3d064021)));
    assert_eq!(first(viewing(1.5, 2160)), first(viewing(3.0, 1080)));
    assert_ne!(first(viewing(3.0, 2160)), first(viewing(3.0, 1080)));
    assert_eq!(first(viewing(4.0, 1080)), None);
    assert_eq!(blend_mae(&viewing(1.5, 1080), 0, Direction::Diagonal), None);
}
