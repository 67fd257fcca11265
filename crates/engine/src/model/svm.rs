//! Support vector regression: libsvm's text format and its decision function.

/// How alike two points are.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kernel {
    Linear,
    Polynomial { degree: u32, gamma: f64, offset: f64 },
    Rbf { gamma: f64 },
}

/// A trained regression. Points are stored coordinate by coordinate, so that distances to all of them are computed
/// in long, regular loops; each point's sum still runs over the coordinates in their order.
#[derive(Clone, Debug)]
pub struct Svm {
    kernel: Kernel,
    rho: f64,
    weights: Vec<f64>,
    coordinates: Vec<Vec<f64>>,
}

/// Bounds that no sane model comes near; they keep a hostile file from exhausting memory.
const MAX_POINTS: usize = 1_000_000;
const MAX_COORDINATES: usize = 1024;
const MAX_NUMBERS: usize = 1 << 24;

impl Svm {
    /// Reads libsvm's model text: a header of `key value…` lines, then one line per support vector.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (header, points) = text.split_once("SV\n").ok_or("the regression's text has no 'SV' section")?;
        let header = Header::parse(header)?;
        let (weights, coordinates) = parse_points(points, header.points)?;
        Ok(Self {
            kernel: header.kernel()?,
            rho: header.rho.ok_or("'rho' is missing")?,
            weights,
            coordinates,
        })
    }

    /// The value for a point. Coordinates that only one side has count as zero on the other.
    pub fn predict(&self, point: &[f64]) -> f64 {
        let mut sums = vec![0.0; self.weights.len()];
        for index in 0..self.coordinates.len().max(point.len()) {
            let value = point.get(index).copied().unwrap_or(0.0);
            match (self.coordinates.get(index), self.kernel) {
                (Some(theirs), Kernel::Rbf { .. }) => add_squares(&mut sums, theirs, value),
                (Some(theirs), _) => add_products(&mut sums, theirs, value),
                (None, Kernel::Rbf { .. }) => sums.iter_mut().for_each(|sum| *sum += value * value),
                (None, _) => {}
            }
        }
        let mut total = 0.0;
        for (weight, sum) in self.weights.iter().zip(sums) {
            total += weight * self.kernel.of(sum);
        }
        total - self.rho
    }
}

impl Kernel {
    /// From the squared distance (RBF) or the scalar product (the others).
    fn of(self, sum: f64) -> f64 {
        match self {
            Self::Linear => sum,
            Self::Polynomial { degree, gamma, offset } => integer_power(gamma * sum + offset, degree),
            Self::Rbf { gamma } => visus_metrics::math::exp(-gamma * sum),
        }
    }
}

fn add_squares(sums: &mut [f64], theirs: &[f64], ours: f64) {
    for (sum, theirs) in sums.iter_mut().zip(theirs) {
        let difference = ours - theirs;
        *sum += difference * difference;
    }
}

fn add_products(sums: &mut [f64], theirs: &[f64], ours: f64) {
    for (sum, theirs) in sums.iter_mut().zip(theirs) {
        *sum += ours * theirs;
    }
}

/// By repeated squaring, as libsvm rounds it.
fn integer_power(base: f64, times: u32) -> f64 {
    let (mut power, mut result, mut left) = (base, 1.0, times);
    while left > 0 {
        if left % 2 == 1 {
            result *= power;
        }
        power *= power;
        left /= 2;
    }
    result
}

#[derive(Debug, Default)]
struct Header {
    kernel_type: Option<String>,
    degree: Option<u32>,
    gamma: Option<f64>,
    offset: Option<f64>,
    rho: Option<f64>,
    points: usize,
}

impl Header {
    fn parse(text: &str) -> Result<Self, String> {
        let mut header = Self::default();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let (key, value) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
            match key {
                "svm_type" if matches!(value, "nu_svr" | "epsilon_svr") => {}
                "svm_type" => {
                    return Err(format!("svm_type '{value}' is not a regression (nu_svr, epsilon_svr)"));
                }
                "kernel_type" => header.kernel_type = Some(value.to_owned()),
                "degree" => header.degree = Some(number(key, value)?),
                "gamma" => header.gamma = Some(number(key, value)?),
                "coef0" => header.offset = Some(number(key, value)?),
                "rho" => header.rho = Some(finite(key, value)?),
                "total_sv" => header.points = number(key, value)?,
                "nr_class" | "label" | "probA" | "probB" | "nr_sv" => {}
                other => return Err(format!("'{other}' is not a known key of a regression's header")),
            }
        }
        if !(1..=MAX_POINTS).contains(&header.points) {
            return Err(format!("total_sv is {}, it must be 1 to {MAX_POINTS}", header.points));
        }
        Ok(header)
    }

    fn kernel(&self) -> Result<Kernel, String> {
        let gamma = || self.gamma.ok_or("'gamma' is missing");
        match self.kernel_type.as_deref() {
            Some("linear") => Ok(Kernel::Linear),
            Some("rbf") => Ok(Kernel::Rbf { gamma: gamma()? }),
            Some("polynomial") => Ok(Kernel::Polynomial {
                degree: self.degree.ok_or("'degree' is missing")?,
                gamma: gamma()?,
                offset: self.offset.unwrap_or(0.0),
            }),
            other => Err(format!("kernel_type {other:?} is not supported (linear, polynomial, rbf)")),
        }
    }
}

fn number<T: std::str::FromStr>(key: &str, value: &str) -> Result<T, String> {
    value.trim().parse().map_err(|_| format!("'{key} {value}' is not a number"))
}

fn finite(key: &str, value: &str) -> Result<f64, String> {
    let value: f64 = number(key, value)?;
    if value.is_finite() { Ok(value) } else { Err(format!("'{key}' is not finite")) }
}

/// Weights, and the points coordinate by coordinate.
type Points = (Vec<f64>, Vec<Vec<f64>>);

/// `weight index:value index:value …` per line, indices from 1 and rising; omitted ones are zero.
fn parse_points(text: &str, count: usize) -> Result<Points, String> {
    let mut lines = text.lines();
    let mut points = Vec::new();
    for point in 0..count {
        let line = lines
            .next()
            .ok_or_else(|| format!("there are {point} support vectors, total_sv says {count}"))?;
        points.push(parse_point(line).map_err(|reason| format!("support vector {point}: {reason}"))?);
    }
    spread(&points)
}

/// A weight and the coordinates that are not zero.
type SparsePoint = (f64, Vec<(usize, f64)>);

fn parse_point(line: &str) -> Result<SparsePoint, String> {
    let mut words = line.split_ascii_whitespace();
    let weight = finite("weight", words.next().unwrap_or(""))?;
    let mut coordinates: Vec<(usize, f64)> = Vec::new();
    for word in words {
        let (index, value) = word.split_once(':').ok_or_else(|| format!("'{word}' is not index:value"))?;
        let index: usize = number("index", index)?;
        let last = coordinates.last().map_or(0, |(last, _)| *last);
        if index <= last || index > MAX_COORDINATES {
            return Err(format!("index {index} after {last}"));
        }
        coordinates.push((index, finite("coordinate", value)?));
    }
    Ok((weight, coordinates))
}

/// Writes the zeros out. How much memory that takes is known, and bounded, before any is taken.
fn spread(points: &[SparsePoint]) -> Result<Points, String> {
    let dimensions =
        points.iter().filter_map(|(_, coordinates)| coordinates.last()).map(|(index, _)| *index).max();
    let dimensions = dimensions.unwrap_or(0);
    if points.len() * dimensions > MAX_NUMBERS {
        return Err(format!("{} support vectors with {dimensions} coordinates are too many", points.len()));
    }
    let mut dense = vec![vec![0.0; points.len()]; dimensions];
    for (point, (_, coordinates)) in points.iter().enumerate() {
        for (index, value) in coordinates {
            dense[index - 1][point] = *value;
        }
    }
    Ok((points.iter().map(|(weight, _)| *weight).collect(), dense))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "svm_type nu_svr\nkernel_type rbf\ngamma 0.5\nnr_class 2\ntotal_sv 2\nrho -0.25\nSV\n1.5 1:1 3:2 \n-1 2:0.5 \n";

    #[test]
    fn radial_kernel_counts_missing_coordinates_as_zero() {
        let svm = Svm::parse(TEXT).unwrap();
        let point = [1.0, 2.0];
        let near = |distance: f64| (-0.5 * distance).exp();
        let want = 1.5 * near(0.0 + 4.0 + 4.0) - near(1.0 + 2.25 + 0.0) + 0.25;
        assert!((svm.predict(&point) - want).abs() < 1e-15);
    }

    #[test]
    fn bad_texts_are_refused_with_the_reason() {
        for (broken, reason) in [
            (TEXT.replace("total_sv 2", "total_sv 3"), "total_sv says 3"),
            (TEXT.replace("nu_svr", "c_svc"), "not a regression"),
            (TEXT.replace("rbf", "sigmoid"), "not supported"),
            (TEXT.replace("2:0.5", "2-0.5"), "not index:value"),
            (TEXT.replace("3:2", "1:2"), "index 1 after 1"),
            (TEXT.replace("1.5 1:1", "nan 1:1"), "not finite"),
            (TEXT.replace("SV", ""), "no 'SV'"),
            (TEXT.replace("total_sv 2", "total_sv 99999999999"), "it must be"),
        ] {
            let message = Svm::parse(&broken).unwrap_err();
            assert!(message.contains(reason), "{message:?} should say {reason:?}");
        }
    }

    #[test]
    fn powers_are_taken_by_squaring() {
        assert_eq!(integer_power(3.0, 5), 243.0);
        assert_eq!(integer_power(3.0, 0), 1.0);
    }
}
