//! Features of clips as rows of a table.
//!
//! Columns are called as models of the training tools call them: `adm2` where a report says `integer_adm2`. The float
//! versions get `float_` in front, so that the two are never mistaken for each other.

use visus_engine::{Column, FeatureSpec, ModelSpec, Outcome, Plan, PlanError, pool};

use crate::FEATURES;
use crate::table::Cell;

/// What is computed for a table, and what it is called there.
#[derive(Debug)]
pub struct Recipe {
    pub plan: Plan,
    /// Name in the table and name in reports.
    columns: Vec<(String, String)>,
}

/// One row for a clip, or one for each frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grain {
    /// The mean over all frames.
    Clip,
    Frame,
}

/// The name in a table of a score that reports call `reported`.
pub fn column_name(feature: &str, reported: &str) -> String {
    match reported.strip_prefix("integer_") {
        Some(bare) => bare.to_owned(),
        None if feature.starts_with("VMAF_feature_") && !reported.starts_with("float_") => {
            format!("float_{reported}")
        }
        None => reported.to_owned(),
    }
}

impl Recipe {
    /// The six features of section one's models, then all that further metrics and models ask for.
    pub fn new(models: &[ModelSpec], features: &[FeatureSpec]) -> Result<Self, PlanError> {
        let basic = ["adm", "vif", "motion"]
            .map(|metric| FeatureSpec { metric: metric.to_owned(), options: Vec::new() });
        let mut columns: Vec<(String, String)> =
            FEATURES.map(|name| (name.to_owned(), format!("integer_{name}"))).to_vec();
        let further = Plan::new(models, features, false)?;
        for key in further.metrics().flat_map(|metric| metric.keys()) {
            let column = (column_name(key.feature, &key.name), key.name.clone());
            if !columns.contains(&column) {
                columns.push(column);
            }
        }
        let plan = Plan::new(models, &[&basic, features].concat(), false)?;
        Ok(Self { plan, columns })
    }

    /// The names of a table's columns.
    pub fn column_names(&self, grain: Grain, with_opinions: bool) -> Vec<String> {
        let mut names = vec!["key".to_owned()];
        if grain == Grain::Frame {
            names.push("frame".to_owned());
        }
        names.extend(self.columns.iter().map(|(name, _)| name.clone()));
        if with_opinions {
            names.push("mos".to_owned());
        }
        names
    }

    /// A finished run as rows. With opinion scores, `opinion` is the last entry of each row.
    pub fn rows(&self, grain: Grain, key: &str, outcome: &Outcome, opinion: Option<Cell>) -> Vec<Vec<Cell>> {
        let columns: Vec<Option<&Column>> =
            self.columns.iter().map(|(_, reported)| outcome.scores.column(reported)).collect();
        let row = |frame: Option<u64>| {
            let mut row = vec![Cell::Text(key.to_owned())];
            row.extend(frame.map(|frame| Cell::Whole(frame as i64)));
            row.extend(columns.iter().map(|column| cell(*column, frame, outcome)));
            row.extend(opinion.clone());
            row
        };
        match grain {
            Grain::Clip => vec![row(None)],
            Grain::Frame => {
                let step = outcome.subsample.max(1) as usize;
                (0..outcome.frames).step_by(step).map(|frame| row(Some(frame))).collect()
            }
        }
    }
}

fn cell(column: Option<&Column>, frame: Option<u64>, outcome: &Outcome) -> Cell {
    let value = column.and_then(|column| match frame {
        Some(frame) => column.get(frame),
        None => pool(column, outcome.frames, outcome.subsample).map(|pooled| pooled.mean),
    });
    value.filter(|value| value.is_finite()).map_or(Cell::Missing, Cell::Number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use visus_engine::{Cancel, Settings, Silent, run};
    use visus_video::synthetic::{Clip, Distortion};
    use visus_video::{Chroma, Format};

    fn outcome(recipe: &Recipe) -> Outcome {
        let format = Format::new(96, 64, Chroma::C420, 8).unwrap();
        let reference = Clip::scene(format, 3, 5);
        let distorted = reference.clone().distorted(Distortion::Blur { radius: 1 });
        let (reference, distorted) = (Box::new(reference), Box::new(distorted));
        run(&recipe.plan, reference, distorted, &Settings::default(), &Cancel::new(), &mut Silent).unwrap()
    }

    #[test]
    fn rows_have_an_entry_for_each_column() {
        let further = ["psnr".parse().unwrap(), "float_adm".parse().unwrap()];
        let models = [ModelSpec::version("vmaf_v0.6.1neg")];
        let recipe = Recipe::new(&models, &further).unwrap();
        let names = recipe.column_names(Grain::Frame, true);
        assert_eq!(
            names[..8],
            ["key", "frame", "adm2", "vif_scale0", "vif_scale1", "vif_scale2", "vif_scale3", "motion2"]
        );
        for name in ["adm2_egl_1", "vif_scale3_egl_1", "psnr_y", "float_adm2"] {
            assert!(names.contains(&name.to_owned()), "{names:?} lacks {name}");
        }
        let outcome = outcome(&recipe);
        let rows = recipe.rows(Grain::Frame, "clip", &outcome, Some(Cell::Number(50.0)));
        assert_eq!(rows.len(), 3);
        assert!(rows.iter().all(|row| row.len() == names.len() && !row.contains(&Cell::Missing)), "{rows:?}");
        let pooled = recipe.rows(Grain::Clip, "clip", &outcome, None);
        assert_eq!(pooled[0].len(), recipe.column_names(Grain::Clip, false).len());
    }

    #[test]
    fn names() {
        assert_eq!(column_name("VMAF_integer_feature_adm2_score", "integer_adm2_egl_1"), "adm2_egl_1");
        assert_eq!(column_name("VMAF_feature_adm2_score", "adm2"), "float_adm2");
        assert_eq!(column_name("psnr_y", "psnr_y"), "psnr_y");
    }
}
