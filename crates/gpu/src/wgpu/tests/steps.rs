//! The kernels' double-precision steps, done with integers there, against the host's own floats.

use bytemuck::Zeroable;

use super::{Chance, log2_truth, run, shared};
use crate::arguments::{Mask, Statistic};
use crate::schedule::{Arguments, Kernel};
use crate::wgpu::Shared;
use crate::wgpu::kernels::source;

/// Three places of `memory` for each item go in, others come out.
fn probe(
    shared: &Shared,
    kernel: Kernel,
    body: &str,
    arguments: &Arguments,
    items: &[[u32; 8]],
) -> Vec<[u32; 8]> {
    let text = source(kernel)
        + "\n@compute @workgroup_size(64)\nfn probe(@builtin(global_invocation_id) id: vec3<u32>) {\n"
        + "let at = 8u * id.x;\nif at >= arrayLength(&memory) {\nreturn;\n}\n"
        + body
        + "}\n";
    let groups = [items.len().div_ceil(64) as u32, 1, 1];
    let left = run(shared, (&text, "probe"), arguments, items.as_flattened(), &[0], groups);
    left.memory.as_chunks().0.to_vec()
}

/// VIF's double-precision steps and logarithms, against the host's own doubles.
#[test]
fn vif_steps_in_double_precision() {
    let Some(shared) = shared() else { return };
    let mut chance = Chance(4);
    let mut items: Vec<[u32; 8]> = Vec::new();
    for n in 0..40_000u32 {
        let reference = (131_072 + chance.bits(31) as u32).min(i32::MAX as u32);
        let covariance = 1 + (chance.bits(31) as u32).min(i32::MAX as u32 - 1);
        // Often hardly anything is left of the distorted picture's variance.
        let explained = f64::from(covariance) * f64::from(covariance) / (f64::from(reference) + 6.5536e-6);
        let distorted = match n % 3 {
            0 => explained as u32,
            1 => explained.ceil() as u32,
            _ => chance.bits(31) as u32,
        };
        items.push([covariance, reference, distorted.clamp(1, i32::MAX as u32), 0, 0, 0, 0, 0]);
    }
    items.push([1, i32::MAX as u32, 1, 0, 0, 0, 0, 0]);
    items.push([i32::MAX as u32, 131_072, i32::MAX as u32, 0, 0, 0, 0, 0]);
    items.push([i32::MAX as u32, i32::MAX as u32, i32::MAX as u32, 0, 0, 0, 0, 0]);
    let body = "
        let gain = gain_of(memory[at], memory[at + 1u]);
        let noise = noise_of(gain, memory[at], memory[at + 2u]) + 131072u;
        let signal = signal_of(gain, float_of(a.gains[0]), memory[at + 1u]);
        memory[at + 3u] = noise;
        memory[at + 4u] = low_word(signal);
        memory[at + 5u] = high_word(signal);
        memory[at + 6u] = bitcast<u32>(log2_of(signal + u64(noise)));
        ";
    let log2 = |number: u64| log2_truth(number) as u32;
    for limit in [1.0, 1.2, 100.0] {
        let mut arguments = Statistic::zeroed();
        arguments.gains[0] = limit;
        let got = probe(shared, Kernel::Statistic3, body, &Arguments::Statistic(arguments), &items);
        for item in &got {
            let [covariance, reference, distorted] = [item[0], item[1], item[2]].map(f64::from);
            let gain = covariance / (reference + 65536.0 * 1.0e-10);
            let noise = ((distorted - gain * covariance) as i32).max(0) as u32 + 131_072;
            let limited = gain.min(limit);
            let signal = (limited * limited * reference) as u64;
            let truth = [noise, signal as u32, (signal >> 32) as u32, log2(signal + u64::from(noise))];
            assert_eq!(item[3..7], truth, "{item:?}, limit {limit}");
        }
    }
}

/// ADM's test of directions and its gain limit, against the host's own floats.
#[test]
fn adm_steps_in_double_precision() {
    let Some(shared) = shared() else { return };
    let mut chance = Chance(5);
    let bound = f64::from((f64::cos(std::f64::consts::PI / 180.0).powi(2)) as f32);
    let mut vectors: Vec<[i64; 4]> = Vec::new();
    for n in 0..20_000 {
        let mut number = || (chance.bits(24) as i64) * if chance.next().is_multiple_of(2) { 1 } else { -1 };
        let [x, y, u, v] = [number(), number(), number(), number()];
        // About one degree apart.
        let turned = |degrees: f64| {
            let (sine, cosine) = (degrees * std::f64::consts::PI / 180.0).sin_cos();
            let (x, y) = (x as f64, y as f64);
            [(x * cosine - y * sine) as i64, (x * sine + y * cosine) as i64]
        };
        let [u, v] = if n % 2 == 0 { [u, v] } else { turned(1.0 + (n % 7 - 3) as f64 * 1e-9) };
        vectors.push([x, y, u, v]);
    }
    vectors.extend([[0; 4], [1, 0, 0, 0], [0, 0, 1, 1], [5, 5, -5, -5], [1, 0, 1, 0], [1, 0, 0, 1]]);
    let products = |[x, y, u, v]: [i64; 4]| [x * u + y * v, x * x + y * y, u * u + v * v];
    let words = |number: i64| [number as u32, (number >> 32) as u32];
    let items: Vec<[u32; 8]> = vectors
        .iter()
        .map(|vector| {
            let [[a, b], [c, d], [e, f]] = products(*vector).map(words);
            [a, b, c, d, e, f, vector[0].unsigned_abs() as u32, vector[2] as u32]
        })
        .collect();
    let body = "
        let both = i64(u64(memory[at]) | (u64(memory[at + 1u]) << 32u));
        let alone = i64(u64(memory[at + 2u]) | (u64(memory[at + 3u]) << 32u));
        let other = i64(u64(memory[at + 4u]) | (u64(memory[at + 5u]) << 32u));
        memory[at] = select(0u, 1u, same_direction(both, alone, other));
        memory[at + 1u] = bitcast<u32>(enhanced(bitcast<i32>(memory[at + 6u]), bitcast<i32>(memory[at + 7u])));
        ";
    let mut same = 0;
    for (kind, gain_limit) in [(0, 1.0), (1, 100.0), (2, 1.37), (2, 1.0 + f64::EPSILON)] {
        let mut arguments = Mask::zeroed();
        (arguments.bound, arguments.gain_kind, arguments.gain_limit) = (bound, kind, gain_limit);
        let got = probe(shared, Kernel::MaskLong, body, &Arguments::Mask(arguments), &items);
        for (vector, item) in vectors.iter().zip(&got) {
            let [both, alone, other] = products(*vector).map(|product| f64::from(product as f32));
            let truth = both >= 0.0 && both * both >= bound * alone * other;
            assert_eq!(item[0] == 1, truth, "{vector:?}");
            same += usize::from(truth);
            let grown =
                (vector[0].unsigned_abs() as f64 * gain_limit).min(vector[2].unsigned_abs() as f64) as i32;
            let truth = if vector[2] < 0 { -grown } else { grown };
            assert_eq!(item[1] as i32, truth, "{vector:?}, limit {gain_limit}");
        }
    }
    assert!((1000..50_000).contains(&same), "{same} of four times {}", vectors.len());
}
