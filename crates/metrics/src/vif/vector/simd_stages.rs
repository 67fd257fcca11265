//! Compiles the stages for a CPU level. The unsafe blocks of the macro stand in the files that use it, `avx512` and
//! `avx2`, each with the fact that makes it sound.

/// Implements [`Stages`](super::Stages) for a level by compiling each stage with its features.
macro_rules! stages {
    ($level:ty, $features:literal) => {
        impl $crate::vif::vector::Stages for $level {
            fn expand<K: Kind>(
                self,
                kind: K,
                pair: &RowPair<'_, K::Sample>,
                number: isize,
                ring: &mut Ring,
            ) -> bool {
                #[target_feature(enable = $features)]
                fn run<K: Kind>(
                    s: $level,
                    kind: K,
                    pair: &RowPair<'_, K::Sample>,
                    number: isize,
                    ring: &mut Ring,
                ) -> bool {
                    vector::expand(s, kind, pair, number, ring)
                }
                // SAFETY: the features were detected before `self` was made.
                unsafe { run(self, kind, pair, number, ring) }
            }

            fn vertical<K: Kind, const SCALE: usize, const NEXT: usize, const MOMENTS: bool>(
                self,
                kind: K,
                step: &Step<'_, K::Sample>,
                ring: &mut Ring,
                rows: &mut Rows,
                thin: &mut Rows,
            ) -> bool {
                #[target_feature(enable = $features)]
                fn run<K: Kind, const SCALE: usize, const NEXT: usize, const MOMENTS: bool>(
                    s: $level,
                    kind: K,
                    step: &Step<'_, K::Sample>,
                    ring: &mut Ring,
                    rows: &mut Rows,
                    thin: &mut Rows,
                ) -> bool {
                    vector::vertical::<_, K, SCALE, NEXT, MOMENTS>(s, kind, step, ring, rows, thin)
                }
                // SAFETY: the features were detected before `self` was made.
                unsafe { run::<K, SCALE, NEXT, MOMENTS>(self, kind, step, ring, rows, thin) }
            }

            fn thin<const NEXT: usize>(self, rows: &Rows, row: usize, blocks: usize, out: &mut [u16]) {
                #[target_feature(enable = $features)]
                fn run<const NEXT: usize>(
                    s: $level,
                    rows: &Rows,
                    row: usize,
                    blocks: usize,
                    out: &mut [u16],
                ) {
                    vector::thin::<_, NEXT>(s, rows, row, blocks, out);
                }
                // SAFETY: the features were detected before `self` was made.
                unsafe { run::<NEXT>(self, rows, row, blocks, out) }
            }

            fn horizontal<const SCALE: usize>(
                self,
                rows: &Rows,
                row: usize,
                width: usize,
                gain_limit: f64,
                pixels: &mut Pixels,
            ) {
                #[target_feature(enable = $features)]
                fn run<const SCALE: usize>(
                    s: $level,
                    rows: &Rows,
                    row: usize,
                    width: usize,
                    gain_limit: f64,
                    pixels: &mut Pixels,
                ) {
                    vector::horizontal::<_, SCALE>(s, rows, row, width, gain_limit, pixels);
                }
                // SAFETY: the features were detected before `self` was made.
                unsafe { run::<SCALE>(self, rows, row, width, gain_limit, pixels) }
            }

            fn share_row(self, pixels: &mut Pixels, width: usize, gain_limit: f64) {
                #[target_feature(enable = $features)]
                fn run(s: $level, pixels: &mut Pixels, width: usize, gain_limit: f64) {
                    vector::share_row(s, pixels, width, gain_limit);
                }
                // SAFETY: the features were detected before `self` was made.
                unsafe { run(self, pixels, width, gain_limit) }
            }

            fn add_row(self, pixels: &Pixels, width: usize, sums: &mut VifSums) {
                #[target_feature(enable = $features)]
                fn run(s: $level, pixels: &Pixels, width: usize, sums: &mut VifSums) {
                    vector::add_row(s, pixels, width, sums);
                }
                // SAFETY: the features were detected before `self` was made.
                unsafe { run(self, pixels, width, sums) }
            }
        }
    };
}
pub(in crate::vif) use stages;
