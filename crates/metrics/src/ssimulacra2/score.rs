//! The norms of all maps, and the score that they add up to.

use crate::math;

/// Scales that are looked at, where the picture is large enough for them.
pub const MAX_SCALES: usize = 6;
/// Components: X, Y and B - Y.
pub const COMPONENTS: usize = 3;
/// A picture that is smaller than this in either direction has no further scale, and as a whole no score.
pub const SMALLEST_SIDE: usize = 8;
/// Norms per component and scale.
pub const NORMS: usize = 6;

/// The mean of the maps of structure, of new edges and of lost edges, then the 4-norm (the fourth root of the mean fourth
/// power) of each.
pub type Norms = [f64; NORMS];

/// Weights of SSIMULACRA 2.1, as published with it: a line per component and scale, in the order of [`Norms`].
///
/// They were tuned with all six scales. With fewer of them the published tool takes the weights as they come, without
/// leaving out those of the missing scales, and so do we.
#[rustfmt::skip]
const WEIGHTS: [f64; COMPONENTS * MAX_SCALES * NORMS] = [
    // X.
    0.0, 0.0007376606707406586, 0.0, 0.0, 0.0007793481682867309, 0.0,
    0.0, 0.0004371155730107379, 0.0, 1.1041726426657346, 0.00066284834129271, 0.00015231632783718752,
    0.0, 0.0016406437456599754, 0.0, 1.8422455520539298, 11.441172603757666, 0.0,
    0.0007989109436015163, 0.000176816438078653, 0.0, 1.8787594979546387, 10.94906990605142, 0.0,
    0.0007289346991508072, 0.9677937080626833, 0.0, 0.00014003424285435884, 0.9981766977854967, 0.00031949755934435053,
    0.0004550992113792063, 0.0, 0.0, 0.0013648766163243398, 0.0, 0.0,
    // Y.
    0.0, 0.0, 0.0, 7.466890328078848, 0.0, 17.445833984131262,
    0.0006235601634041466, 0.0, 0.0, 6.683678146179332, 0.00037724407979611296, 1.027889937768264,
    225.20515300849274, 0.0, 0.0, 19.213238186143016, 0.0011401524586618361, 0.001237755635509985,
    176.39317598450694, 0.0, 0.0, 24.43300999870476, 0.28520802612117757, 0.0004485436923833408,
    0.0, 0.0, 0.0, 34.77906344483772, 44.835625328877896, 0.0,
    0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
    // B - Y.
    0.0, 0.0008680556573291698, 0.0, 0.0, 0.0, 0.0,
    0.0, 0.0005313191874358747, 0.0, 0.00016533814161379112, 0.0, 0.0,
    0.0, 0.0, 0.0, 0.0004179171803251336, 0.0017290828234722833, 0.0,
    0.0020827005846636437, 0.0, 0.0, 8.826982764996862, 23.19243343998926, 0.0,
    95.1080498811086, 0.9863978034400682, 0.9834382792465353, 0.0012286405048278493, 171.2667255897307, 0.9807858872435379,
    0.0, 0.0, 0.0, 0.0005130064588990679, 0.0, 0.00010854057858411537,
];

/// How many scales a picture has: each needs that the one before it is large enough.
pub fn scale_count(width: usize, height: usize) -> usize {
    let mut side = width.min(height);
    let mut count = 0;
    while count < MAX_SCALES && side >= SMALLEST_SIDE {
        side = if count == 0 { side } else { side.div_ceil(2) };
        count += 1;
    }
    count
}

/// The weights of a component at a scale, in a picture of `scales` scales.
pub fn weights(component: usize, scale: usize, scales: usize) -> &'static [f64] {
    &WEIGHTS[(component * scales + scale) * NORMS..][..NORMS]
}

/// 100 for equal pictures, less for others; it may be negative. Norms are by scale and component.
pub fn score(scales: &[[Norms; COMPONENTS]]) -> f64 {
    let mut sum = 0.0;
    for component in 0..COMPONENTS {
        for (scale, norms) in scales.iter().enumerate() {
            let weights = weights(component, scale, scales.len());
            weights.iter().zip(&norms[component]).for_each(|(weight, norm)| sum += weight * norm);
        }
    }
    remapped(sum)
}

/// From a sum of errors to a scale of opinions.
fn remapped(sum: f64) -> f64 {
    let x = sum * 0.9562382616834844;
    let error = 2.326765642916932 * x - 0.020884521182843837 * x * x + 6.248496625763138e-05 * x * x * x;
    if error > 0.0 { 100.0 - 10.0 * math::pow(error, 0.6276336467831387) } else { 100.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_needs_eight_samples_in_the_one_before() {
        assert_eq!([7, 8, 14, 15, 16, 113, 112].map(|side| scale_count(side, 500)), [0, 2, 2, 3, 3, 6, 5]);
        assert_eq!(scale_count(500, 8), 2);
        assert_eq!(scale_count(4000, 4000), MAX_SCALES);
    }

    #[test]
    fn no_error_is_a_hundred() {
        assert_eq!(score(&[[[0.0; NORMS]; COMPONENTS]; 6]), 100.0);
        assert_eq!(score(&[[[0.0; NORMS]; COMPONENTS]; 2]), 100.0);
    }

    #[test]
    fn every_weight_has_its_place() {
        for scales in [2, 6] {
            for (component, scale) in (0..COMPONENTS).flat_map(|c| (0..scales).map(move |s| (c, s))) {
                let mut norms = vec![[[0.0; NORMS]; COMPONENTS]; scales];
                norms[scale][component][4] = 0.5;
                let weight = WEIGHTS[(component * scales + scale) * 6 + 4];
                assert_eq!(score(&norms), remapped(weight * 0.5), "{component} {scale} of {scales}");
            }
        }
    }

    #[test]
    fn errors_are_remapped_as_published() {
        // 2.326765642916932 * 0.9562382616834844 - ... at a sum of 1, then 100 - 10 * e^0.6276336467831387.
        let (x, exponent) = (0.9562382616834844f64, 0.6276336467831387f64);
        let error =
            2.326765642916932 * x - 0.020884521182843837 * x.powi(2) + 6.248496625763138e-05 * x.powi(3);
        assert!((remapped(1.0) - (100.0 - 10.0 * error.powf(exponent))).abs() < 1e-12);
        assert!(remapped(200.0) < 0.0);
    }
}
