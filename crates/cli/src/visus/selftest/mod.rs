//! `visus selftest`: are this machine's scores libvmaf's?
//!
//! Clips are made by the generator, so nothing has to be downloaded; what libvmaf 3.2.0 (its plain C path) says of them
//! is built in, exact to the last bit. Every figure is compared at every CPU level that the machine has.

mod cases;

use std::collections::BTreeMap;
use std::fmt::Write;

use anyhow::{Context, Result, bail};
use visus_engine::{Backend, Cancel, Plan, Settings, Silent, run as engine_run};
use visus_metrics::Level;
use visus_scoring::BackendRequest;

use super::args::SelftestArgs;
use super::score::print_all;
use cases::Case;

/// Per case, per column, a value per frame. Written by libvmaf with 17 digits, which give the number back exactly.
const EXPECTED: &str = include_str!("expected.json");

type Figures = BTreeMap<String, BTreeMap<String, Vec<f64>>>;

pub fn run(args: &SelftestArgs) -> Result<()> {
    if let Some(folder) = &args.write_clips {
        return cases::write_clips(folder);
    }
    let expected: Figures = serde_json::from_str(EXPECTED).context("the built-in figures")?;
    let mut compared = 0;
    for (name, backend) in backends(args.backend)? {
        for case in cases::all() {
            let figures = expected.get(case.name).with_context(|| format!("no figures for {}", case.name))?;
            let count = check(&case, figures, &name, &backend, args.verbose)?;
            compared += count;
            print_all(&format!("{name:7} {:24} {count} figures equal\n", case.name))?;
        }
    }
    print_all(&format!("All {compared} figures are equal to libvmaf's, to the last bit.\n"))
}

/// What is compared: the CPU at each of its levels, or a device beside its best one.
fn backends(request: BackendRequest) -> Result<Vec<(String, Backend)>> {
    if request == BackendRequest::Cpu {
        let level = |level: Level| (level.to_string(), level.into());
        return Ok(Level::available().into_iter().map(level).collect());
    }
    Ok(vec![(request.to_string(), request.open(Level::detect())?)])
}

/// Scores a case and compares every figure; the first difference is the error.
fn check(
    case: &Case,
    figures: &BTreeMap<String, Vec<f64>>,
    backend_name: &str,
    backend: &Backend,
    verbose: bool,
) -> Result<usize> {
    let plan = Plan::new(&case.models(), &case.features()?, true)?;
    let settings = Settings { backend: backend.clone(), ..Settings::default() };
    let (reference, distorted) = case.clips()?;
    let outcome =
        engine_run(&plan, Box::new(reference), Box::new(distorted), &settings, &Cancel::new(), &mut Silent)?;
    let mut count = 0;
    let mut listing = String::new();
    for (name, values) in figures {
        let column =
            outcome.scores.column(name).with_context(|| format!("{}: {name} is missing", case.name))?;
        for (index, want) in (0..).zip(values) {
            let got =
                column.get(index).with_context(|| format!("{}: {name} lacks frame {index}", case.name))?;
            if got.to_bits() != want.to_bits() {
                bail!(
                    "{} on {backend_name}: {name} of frame {index} is {got:?}, libvmaf says {want:?}",
                    case.name
                );
            }
            let _ = writeln!(listing, "  {name}[{index}]  expected {want:?}  got {got:?}");
            count += 1;
        }
    }
    if verbose {
        print_all(&listing)?;
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_figure_is_found() {
        let case = &cases::all()[0];
        let mut figures: Figures = serde_json::from_str(EXPECTED).unwrap();
        let figures = figures.get_mut(case.name).unwrap();
        assert!(check(case, figures, "scalar", &Level::Scalar.into(), false).unwrap() > 10);
        let value = &mut figures.values_mut().next().unwrap()[0];
        *value = f64::from_bits(value.to_bits() + 1);
        let error = check(case, figures, "scalar", &Level::Scalar.into(), false).unwrap_err().to_string();
        assert!(error.contains("libvmaf says"), "{error}");
    }
}
