//! What the charts of results show: rate and quality, the hull, a bar per shot. `report` draws them.

use visus_report::plot::{Bar, Bars, RateCurve, RateQuality};

use crate::compare::Comparison;
use crate::ladder::Ladder;
use crate::shots::{ShotPlan, ShotRow};

fn chart(title: &str, curves: Vec<RateCurve>, targets: Vec<f64>) -> RateQuality {
    RateQuality { title: title.to_owned(), quality: "VMAF".to_owned(), curves, targets }
}

/// The curves of all encoders.
pub fn comparison(report: &Comparison) -> RateQuality {
    let mut curves: Vec<RateCurve> = Vec::new();
    for row in &report.rows {
        let mut points: Vec<(f64, f64)> = row
            .bisect_samples
            .iter()
            .filter(|sample| sample.bitrate_kbps > 0.0 && sample.vmaf_score.is_finite())
            .map(|sample| (sample.bitrate_kbps, sample.vmaf_score))
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        match curves.iter_mut().find(|curve| curve.name == row.codec) {
            Some(curve) if curve.points.len() < points.len() => curve.points = points,
            Some(_) => {}
            None if points.is_empty() => {}
            None => curves.push(RateCurve { name: row.codec.clone(), points, dashed: false }),
        }
    }
    let targets = report.target_vmafs.iter().flatten().copied().chain(report.target_vmaf).collect();
    chart("Rate and quality", curves, targets)
}

/// All points by size, and the hull over them.
pub fn ladder(ladder: &Ladder) -> RateQuality {
    let mut curves: Vec<RateCurve> = Vec::new();
    for point in &ladder.samples {
        let name = format!("{}x{}", point.width, point.height);
        let place = (point.bitrate_kbps, point.vmaf);
        match curves.iter_mut().find(|curve| curve.name == name) {
            Some(curve) => curve.points.push(place),
            None => curves.push(RateCurve { name, points: vec![place], dashed: false }),
        }
    }
    for curve in &mut curves {
        curve.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    let hull = ladder.hull.iter().map(|point| (point.bitrate_kbps, point.vmaf)).collect();
    curves.push(RateCurve { name: "hull".to_owned(), points: hull, dashed: true });
    chart("Renditions at the size of the display", curves, Vec::new())
}

/// A bar per shot: as wide as it is long, as high as its setting; its score above it.
pub fn shots(plan: &ShotPlan) -> Bars {
    let frames = plan.shots.last().map_or(0, |row| row.end_frame);
    Bars {
        title: format!("{} per shot, target VMAF {}", plan.encoder, plan.target_vmaf),
        caption: format!("frames 0 to {frames} (score above, setting inside each bar)"),
        bars: plan.shots.iter().enumerate().map(|(index, row)| bar(index, row)).collect(),
    }
}

fn bar(index: usize, row: &ShotRow) -> Bar {
    let score = row.predicted_vmaf.map_or("none".to_owned(), |score| format!("{score:.1}"));
    let (first, last) = (row.start_frame, row.end_frame.saturating_sub(1));
    Bar {
        from: row.start_frame as f64,
        to: row.end_frame as f64,
        height: f64::from(row.crf.max(0)),
        hint: format!("shot {}: frames {first}-{last}, quality {}, VMAF {score}", index + 1, row.crf),
        label: score,
        inner: row.crf.to_string(),
        ok: row.ok,
    }
}
