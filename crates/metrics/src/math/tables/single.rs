//! Figures of the single precision functions, which compute in double precision.

/// For each of the 16 parts of `[0.699, 1.398)`, with `c` near its centre: `1/c`, `log2 c`.
#[rustfmt::skip]
pub static LOG2_CENTRES: [[u64; 2]; 16] = [
    [0x3ff661ec79f8f3be, 0xbfdefec65b963019],
    [0x3ff571ed4aaf883d, 0xbfdb0b6832d4fca4],
    [0x3ff49539f0f010b0, 0xbfd7418b0a1fb77b],
    [0x3ff3c995b0b80385, 0xbfd39de91a6dcf7b],
    [0x3ff30d190c8864a5, 0xbfd01d9bf3f2b631],
    [0x3ff25e227b0b8ea0, 0xbfc97c1d1b3b7af0],
    [0x3ff1bb4a4a1a343f, 0xbfc2f9e393af3c9f],
    [0x3ff12358f08ae5ba, 0xbfb960cbbf788d5c],
    [0x3ff0953f419900a7, 0xbfaa6f9db6475fce],
    [0x3ff0000000000000, 0x0000000000000000],
    [0x3fee608cfd9a47ac, 0x3fb338ca9f24f53d],
    [0x3feca4b31f026aa0, 0x3fc476a9543891ba],
    [0x3feb2036576afce6, 0x3fce840b4ac4e4d2],
    [0x3fe9c2d163a1aa2d, 0x3fd40645f0c6651c],
    [0x3fe886e6037841ed, 0x3fd88e9c2c1b9ff8],
    [0x3fe767dcf5534862, 0x3fdce0a44eb17bcc],
];

/// `log2f`: coefficients of `r^4, r^3, r^2, r` of `log2(1 + r)`.
#[rustfmt::skip]
pub const LOG2F_POLY: [f64; 4] = [
    f64::from_bits(0xbfd712b6f70a7e4d),
    f64::from_bits(0x3fdecabf496832e0),
    f64::from_bits(0xbfe715479ffae3de),
    f64::from_bits(0x3ff715475f35c8b8),
];

/// `powf`: coefficients of `r^5, r^4, .., r` of `log2(1 + r)`.
#[rustfmt::skip]
pub const POWF_LOG2_POLY: [f64; 5] = [
    f64::from_bits(0x3fd27616c9496e0b),
    f64::from_bits(0xbfd71969a075c67a),
    f64::from_bits(0x3fdec70a6ca7badd),
    f64::from_bits(0xbfe7154748bef6c8),
    f64::from_bits(0x3ff71547652ab82b),
];

/// `powf`: coefficients of `r^3, r^2, r` of `2^r` for `|r| <= 1/64`.
#[rustfmt::skip]
pub const EXP2_POLY: [f64; 3] = [
    f64::from_bits(0x3fac6af84b912394),
    f64::from_bits(0x3fcebfce50fac4f3),
    f64::from_bits(0x3fe62e42ff0c52d6),
];

/// `powf`: bits of `2^(i/32)` less `i << 47` (adding `k << 47` for `k = 32 e + i` also sets
/// the exponent `e`).
#[rustfmt::skip]
pub static EXP2_POWERS: [u64; 32] = [
    0x3ff0000000000000, 0x3fefd9b0d3158574, 0x3fefb5586cf9890f, 0x3fef9301d0125b51,
    0x3fef72b83c7d517b, 0x3fef54873168b9aa, 0x3fef387a6e756238, 0x3fef1e9df51fdee1,
    0x3fef06fe0a31b715, 0x3feef1a7373aa9cb, 0x3feedea64c123422, 0x3feece086061892d,
    0x3feebfdad5362a27, 0x3feeb42b569d4f82, 0x3feeab07dd485429, 0x3feea47eb03a5585,
    0x3feea09e667f3bcd, 0x3fee9f75e8ec5f74, 0x3feea11473eb0187, 0x3feea589994cce13,
    0x3feeace5422aa0db, 0x3feeb737b0cdc5e5, 0x3feec49182a3f090, 0x3feed503b23e255d,
    0x3feee89f995ad3ad, 0x3feeff76f2fb5e47, 0x3fef199bdd85529c, 0x3fef3720dcef9069,
    0x3fef5818dcfba487, 0x3fef7c97337b9b5f, 0x3fefa4afa2a490da, 0x3fefd0765b6e4540,
];
