//! Pictures whose coarsest bands have a single row or column.

use super::*;

#[test]
fn scores_are_those_of_libvmaf() {
    #[rustfmt::skip]
    let known: &[Figures] = &[
        (16, 16, 8, Texture, Coarse, "",
            [0x3ff590a3a7f687b3, 0x3f558d995838c2a4, 0x3ff2c5a020d03cc1, 0x3fecc014cabd8c77,
             0x3fed2f84f67b2031, 0x3feaadbda9ec439c, 0x40227609093f9ed9]),
        (16, 16, 10, Noise, Noise, "",
            [0x3fdd519a97a1ed88, 0x3fde855a982a6b83, 0x3fdf661fffbbc102, 0x3fd98fbc07fb79dc,
             0x3fd67186b7345b41, 0x3fccb10a6c428a7b, 0x3ffff16ec6fd6bcf]),
        (16, 16, 12, Texture, Coarse, "adm_enhn_gain_limit=1.2",
            [0x3ff4cf1173291b2a, 0x3f57288fc18e2920, 0x3ff264a3a79c5bd0, 0x3fec99045275ccc7,
             0x3fed5eba6cf4ae8c, 0x3feb57710b6baa2e, 0x4022ace0aef9380c]),
        (16, 16, 16, Coarse, Texture, "adm_csf_mode=1 adm_noise_weight=0.5",
            [0x3ffd90de8b8210df, 0x3f80dfe5a8307701, 0x3ff6b78f6018d7f8, 0x3fee4dd87390cc9d,
             0x3fee64f9cadcab1d, 0x3fee14a92e58bb9f, 0x4025b45bf21e1306]),
        (16, 16, 8, Noise, Texture, "adm_csf_mode=2 adm_p_norm=2.5",
            [0x3fe56d4113a40971, 0x3fe4f1aa86d28391, 0x3fe03dcb4668c2f0, 0x3fe3cb3f7e220be1,
             0x3fd0ebab01302c7e, 0x3fd085d37b775d0d, 0x3ff7722635fc4b29]),
        (16, 16, 8, Dark, Bright, "",
            [0x3feebe4c790cf606, 0x3fdf8f944a2ace35, 0x3fe77b4129fbc776, 0x3feed389a5193ad7,
             0x3fed5e82c2a78484, 0x3fee6b1a1c040aa7, 0x3ff14806d35cb551]),
        (15, 9, 8, Texture, Coarse, "",
            [0x3ff3bf5e0ab7eb6a, 0x3fe0ccfdeba3d29f, 0x3feb58df14e6021a, 0x3fecd24e8b75375d,
             0x3fecace1f03c97d0, 0x3feb780d099ba451, 0x401ab70c39b3140e]),
        (16, 48, 8, Noise, Noise, "",
            [0x3fd7fc9dfd5db4a5, 0x3ff0000000000000, 0x3fc7fc9dfd5db4a5, 0x3fddb818a3b7d779,
             0x3fd4b8c909d8f1b0, 0x3fca497d352f668e, 0x3fe22d8828f69151]),
        (48, 16, 10, Texture, Coarse, "",
            [0x3fef20e87667d144, 0x3f6391ac2a2ebbc6, 0x3fef86ab651ed144, 0x3fed0c0a8de040e4,
             0x3fecc06cd30b2b69, 0x3fec353020c7ba43, 0x3ffec16892227ed7]),
        (33, 12, 8, Noise, Noise, "",
            [0x3ff5818764efa7d2, 0x3ff0000000000000, 0x3fe5818764efa7d2, 0x3fdac45f49a52369,
             0x3fd65d38b1c66723, 0x3fd64cf55831f0df, 0x401ee4ecf19e99ad]),
        (15, 20, 8, Coarse, Texture, "",
            [0x3fedbb1c601a0343, 0x3f6e05da8c5712af, 0x3feece8b42c6d618, 0x3feecd92def2071b,
             0x3fee6802c90ea95c, 0x3fecbed6009321a1, 0x3fe93f2676a0b8c8]),
        (9, 9, 8, Texture, Coarse, "adm_bypass_cm=1 adm_skip_scale0=true",
            [0x3fedc657f895ef00, 0x3fa684f2104b1635, 0x3fee2f046bc89ece, 0x0000000000000000,
             0x3fecb06701f17658, 0x3fee5a59b7aeb627, 0x3ff0251c29c9c89d]),
        (200, 10, 8, Texture, Coarse, "adm_bypass_cm=1",
            [0x3fed2cf01d971fc7, 0x3fb0104ee5aa27ce, 0x3fed95732070ed66, 0x3feda7f075c0b2cb,
             0x3fed1a6176415457, 0x3fec8d6591319783, 0x3fedd989a43ee96c]),
    ];
    assert_figures(known);
}

/// Neighbours come from finer scales of the same frame alone.
#[test]
fn frames_may_come_in_any_order() {
    for (width, height) in [(16, 16), (15, 9), (48, 16), (16, 48)] {
        let format = luma(width, height, 8);
        let metric = metric("debug=true");
        let fresh = || metric.extractor(&format.into(), Level::Scalar).unwrap();
        let frames = [Noise.frame(format, 1), Texture.frame(format, 2), Bright.frame(format, 3)];
        let mut used = fresh();
        for (first, second) in [(0, 1), (2, 0), (1, 2), (0, 1)] {
            let (first, second) = (&frames[first], &frames[second]);
            let alone = extract(&mut *fresh(), first, second, metric.raw_len());
            assert_eq!(extract(&mut *used, first, second, metric.raw_len()), alone, "{width}x{height}");
        }
    }
}

fn refusal(width: usize, height: usize, options: &str) -> Option<String> {
    metric(options)
        .extractor(&luma(width, height, 8).into(), Level::Scalar)
        .err()
        .map(|error| error.to_string())
}

#[test]
fn sizes_that_libvmaf_leaves_undefined_are_refused() {
    let plain = "each side must be at least 17, or the width from 15 to 48 and the height from 9 to 48";
    for (width, height) in [(14, 16), (16, 8), (14, 400), (16, 49), (49, 16), (400, 9), (1, 1)] {
        let refused = refusal(width, height, "").unwrap();
        assert!(refused.ends_with(plain), "{refused}");
    }
    for (width, height) in [(16, 17), (17, 16), (16, 400)] {
        let refused = refusal(width, height, "adm_skip_scale0=true").unwrap();
        assert!(refused.ends_with("each side must be at least 17"), "{refused}");
    }
    for (width, height) in [(8, 400), (400, 8)] {
        let refused = refusal(width, height, "adm_bypass_cm=1").unwrap();
        assert!(refused.ends_with("each side must be at least 9"), "{refused}");
    }
}

#[test]
fn defined_sizes_are_accepted() {
    for (width, height) in [(15, 9), (15, 48), (48, 9), (16, 17), (17, 16), (17, 17), (17, 400), (400, 17)] {
        assert_eq!(refusal(width, height, ""), None);
    }
    assert_eq!(refusal(17, 17, "adm_skip_scale0=true"), None);
    for (width, height) in [(9, 9), (9, 400), (400, 9)] {
        assert_eq!(refusal(width, height, "adm_bypass_cm=1 adm_skip_scale0=true"), None);
    }
}
