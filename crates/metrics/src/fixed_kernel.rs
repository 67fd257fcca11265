//! A kernel for comparison: speed is told as a multiple of its time (`visus bench --gate`), so that figures mean something on
//! a busy machine. It is a small filter over a picture, part arithmetic, part memory, and must never change: figures that
//! were kept would lose their meaning.

const WIDTH: usize = 1920;
const HEIGHT: usize = 1088;
const TAPS: [u32; 9] = [3, 11, 25, 44, 53, 44, 25, 11, 3];

/// A picture, and room for what the filter makes of it.
#[derive(Clone, Debug)]
pub struct FixedKernel {
    picture: Vec<u16>,
    out: Vec<u16>,
}

impl Default for FixedKernel {
    fn default() -> Self {
        Self::new()
    }
}

impl FixedKernel {
    pub fn new() -> Self {
        let sample = |at: usize| ((at as u32).wrapping_mul(2_654_435_761) >> 22) as u16;
        Self { picture: (0..WIDTH * HEIGHT).map(sample).collect(), out: vec![0; WIDTH * HEIGHT] }
    }

    /// Nine taps down every column.
    pub fn pass(&mut self) {
        for y in 4..HEIGHT - 4 {
            let mut sums = [0u32; WIDTH];
            for (row, tap) in (y - 4..).zip(TAPS) {
                let samples = &self.picture[row * WIDTH..][..WIDTH];
                sums.iter_mut().zip(samples).for_each(|(sum, sample)| *sum += tap * u32::from(*sample));
            }
            let out = &mut self.out[y * WIDTH..][..WIDTH];
            out.iter_mut().zip(sums).for_each(|(out, sum)| *out = (sum >> 8) as u16);
        }
        std::hint::black_box(&self.out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_does_not_change() {
        let mut kernel = FixedKernel::new();
        kernel.pass();
        assert_eq!(kernel.out.iter().map(|sample| u64::from(*sample)).sum::<u64>(), 906_317_700);
    }
}
