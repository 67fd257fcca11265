//! A blend of Watson's and Barten's functions, given as tables for a few viewing conditions.

use super::{Direction, Viewing};

/// Weights by direction (straight, diagonal) and scale.
type Weights = [[f32; 4]; 2];

struct Condition {
    display_height: i32,
    distance: f64,
    /// The weights that the version 1.0.16 models were trained with.
    first: Weights,
    /// The weights with the corrected optimisation for least absolute error.
    mae: Weights,
}

/// The weight of a band; `None` for a viewing condition that has no table.
pub fn blend(viewing: &Viewing, scale: u32, direction: Direction) -> Option<f32> {
    condition(viewing).map(|found| found.first[direction as usize][scale as usize])
}

/// The same with the tables fitted for least absolute error.
pub fn blend_mae(viewing: &Viewing, scale: u32, direction: Direction) -> Option<f32> {
    condition(viewing).map(|found| found.mae[direction as usize][scale as usize])
}

fn condition(viewing: &Viewing) -> Option<&'static Condition> {
    // 2160 lines at one and a half heights look like 1080 lines at three.
    let (height, distance) = match (viewing.display_height, viewing.distance) {
        (2160, 1.5) => (1080, 3.0),
        other => other,
    };
    CONDITIONS.iter().find(|known| known.display_height == height && known.distance == distance)
}

static CONDITIONS: [Condition; 8] = [
    Condition {
        display_height: 1080,
        distance: 3.0,
        first: [[0.01183, 0.025026, 0.04295, 0.058621], [0.004302, 0.011778, 0.023918, 0.035901]],
        mae: [[0.011249, 0.022606, 0.035930, 0.045673], [0.004097, 0.010921, 0.021430, 0.031313]],
    },
    Condition {
        display_height: 1080,
        distance: 5.0,
        first: [[0.004212, 0.014809, 0.029642, 0.047464], [0.000984, 0.005852, 0.0146, 0.027574]],
        mae: [[0.004052, 0.013939, 0.026298, 0.038833], [0.000927, 0.005544, 0.013415, 0.024515]],
    },
    Condition {
        display_height: 2160,
        distance: 3.0,
        first: [[0.00226, 0.01183, 0.025026, 0.04295], [0.000479, 0.004302, 0.011778, 0.023918]],
        mae: [[0.002166, 0.011249, 0.022606, 0.035930], [0.000447, 0.004097, 0.010921, 0.021430]],
    },
    Condition {
        display_height: 2160,
        distance: 5.0,
        first: [[0.000092, 0.004212, 0.014809, 0.029642], [0.000050, 0.000984, 0.005852, 0.0146]],
        mae: [[0.000077, 0.004052, 0.013939, 0.026298], [0.000045, 0.000927, 0.005544, 0.013415]],
    },
    Condition {
        display_height: 720,
        distance: 3.0,
        first: [[0.018715, 0.035637, 0.052798, 0.061509], [0.007999, 0.018396, 0.031851, 0.037718]],
        mae: [[0.017329, 0.030870, 0.042134, 0.047410], [0.007509, 0.016707, 0.028072, 0.032722]],
    },
    Condition {
        display_height: 720,
        distance: 5.0,
        first: [[0.010144, 0.022561, 0.040309, 0.05672], [0.003463, 0.010282, 0.021839, 0.034641]],
        mae: [[0.009689, 0.020577, 0.034162, 0.044523], [0.003302, 0.009579, 0.019661, 0.030318]],
    },
    Condition {
        display_height: 480,
        distance: 3.0,
        first: [[0.027961, 0.045875, 0.060275, 0.056234], [0.013572, 0.026277, 0.036959, 0.034511]],
        mae: [[0.024969, 0.037825, 0.046676, 0.043974], [0.012511, 0.023424, 0.032139, 0.030166]],
    },
    Condition {
        display_height: 480,
        distance: 5.0,
        first: [[0.016781, 0.032822, 0.05032, 0.061594], [0.00691, 0.016545, 0.029917, 0.037777]],
        mae: [[0.015665, 0.028766, 0.040612, 0.047483], [0.006514, 0.015107, 0.026476, 0.032776]],
    },
];
