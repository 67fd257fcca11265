//! What is to be computed, and what that means for a clip.

use visus_engine::model::{BUILTIN, automatic};
use visus_engine::{FeatureSpec, ModelSpec, NamedModel, Plan};
use visus_report::part::Asked;
use visus_video::{Format, Source};

use crate::names::{OneModel, RequestedModel, default_score_name};
use crate::{RequestError, ScoreError};

/// Models and metrics, as they were asked for.
#[derive(Debug)]
pub struct Selection {
    pub models: Vec<RequestedModel>,
    pub metrics: Vec<FeatureSpec>,
    pub columns: Columns,
    /// Without it, the models' features are computed, but no scores.
    pub predict: bool,
}

/// Which columns a report has, and what scores are called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Columns {
    /// Scores are called after their model; columns that nobody reads are left out where that saves work.
    #[default]
    ByModel,
    /// libvmaf's: scores are called `vmaf` unless the request says otherwise, and every feature has its column.
    Libvmaf,
}

/// A selection, resolved for a clip.
#[derive(Debug)]
pub struct Resolved {
    pub plan: Plan,
    /// What the plan was made from: the parts of a film carry it, so that they can be joined.
    pub asked: Asked,
    /// Why `auto` picked its model, and what `all` left out.
    pub notes: Vec<String>,
}

/// What a selection depends on.
#[derive(Clone, Copy, Debug)]
struct Clip<'a> {
    format: &'a Format,
    frame_rate: Option<(u32, u32)>,
}

/// The model that can score almost any size.
const FALLBACK: &str = "vmaf_v0.6.1";

impl Selection {
    /// Models and metrics by name.
    pub fn parse<'a>(
        models: impl IntoIterator<Item = &'a str>,
        metrics: impl IntoIterator<Item = &'a str>,
        columns: Columns,
    ) -> Result<Self, RequestError> {
        let models: Result<Vec<_>, _> = models.into_iter().map(crate::names::model).collect();
        let metrics: Result<Vec<_>, _> = metrics.into_iter().map(crate::names::metric).collect();
        Ok(Self { models: models?, metrics: metrics?, columns, predict: true })
    }

    /// What it means for the videos that `reference` stands for.
    pub fn resolve(&self, reference: &dyn Source) -> Result<Resolved, ScoreError> {
        self.resolve_clip(reference.format(), reference.frame_rate())
    }

    /// The same for a clip that is known by format and frame rate alone.
    pub fn resolve_clip(
        &self,
        format: &Format,
        frame_rate: Option<(u32, u32)>,
    ) -> Result<Resolved, ScoreError> {
        let clip = Clip { format, frame_rate };
        let mut found = Found::default();
        for model in &self.models {
            self.add(model, clip, &mut found)?;
        }
        if found.specs.is_empty() && self.metrics.is_empty() {
            return Err(RequestError::Nothing.into());
        }
        let plan = Plan::with_models(found.loaded, &self.metrics, self.predict)?;
        let plan = if self.columns == Columns::ByModel { plan.lean() } else { plan };
        let asked = Asked { models: found.specs, features: self.metrics.clone() };
        Ok(Resolved { plan, asked, notes: found.notes })
    }

    fn add(&self, model: &RequestedModel, clip: Clip<'_>, found: &mut Found) -> Result<(), ScoreError> {
        match model {
            RequestedModel::None => Ok(()),
            RequestedModel::Auto => self.add_automatic(clip, found),
            RequestedModel::All => {
                BUILTIN.iter().try_for_each(|model| self.add_if_it_fits(model.version, clip, found))
            }
            RequestedModel::One(model) => {
                let spec = self.named(model.spec.clone(), model.named);
                found.push(load(model, &spec)?, spec);
                Ok(())
            }
        }
    }

    /// The model for the picture's size and frame rate, or the one that scores almost any size.
    fn add_automatic(&self, clip: Clip<'_>, found: &mut Found) -> Result<(), ScoreError> {
        let (version, reason) = automatic(clip.format, clip.frame_rate);
        let Err(error) = self.try_version(version, clip)? else {
            found.notes.push(reason);
            return self.push_version(version, found);
        };
        let size = format!("{}x{}", clip.format.width(), clip.format.height());
        found.notes.push(format!("using {FALLBACK} because {version} cannot score {size} ({error})"));
        self.push_version(FALLBACK, found)
    }

    fn add_if_it_fits(&self, version: &str, clip: Clip<'_>, found: &mut Found) -> Result<(), ScoreError> {
        match self.try_version(version, clip)? {
            Ok(()) => self.push_version(version, found),
            Err(reason) => {
                found.notes.push(format!("{version} is left out: {reason}"));
                Ok(())
            }
        }
    }

    /// Why a built-in model cannot score the clip, if it cannot.
    fn try_version(&self, version: &str, clip: Clip<'_>) -> Result<Result<(), String>, ScoreError> {
        let plan = Plan::new(&[ModelSpec::version(version)], &[], true)?;
        Ok(plan.check_format(clip.format).map_err(|error| error.to_string()))
    }

    fn push_version(&self, version: &str, found: &mut Found) -> Result<(), ScoreError> {
        // Several models need names of their own; `auto` alone keeps libvmaf's.
        let spec = self.named(ModelSpec::version(version), false);
        let spec =
            if found.specs.iter().any(|other| other.name == spec.name) { spec.named(version) } else { spec };
        let loaded = NamedModel::load(&spec).map_err(visus_engine::PlanError::Load)?;
        found.push(loaded, spec);
        Ok(())
    }

    fn named(&self, spec: ModelSpec, given: bool) -> ModelSpec {
        if given || self.columns == Columns::Libvmaf {
            return spec;
        }
        let name = default_score_name(&spec);
        spec.named(&name)
    }
}

/// Models that were found so far.
#[derive(Default)]
struct Found {
    loaded: Vec<NamedModel>,
    specs: Vec<ModelSpec>,
    notes: Vec<String>,
}

impl Found {
    fn push(&mut self, model: NamedModel, spec: ModelSpec) {
        self.loaded.push(model);
        self.specs.push(spec);
    }
}

fn load(model: &OneModel, spec: &ModelSpec) -> Result<NamedModel, ScoreError> {
    match &model.file {
        Some(file) => file.load(spec),
        None => Ok(NamedModel::load(spec).map_err(visus_engine::PlanError::Load)?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use visus_video::Chroma;

    fn resolved(models: &[&str], columns: Columns, size: (usize, usize)) -> Result<Resolved, ScoreError> {
        let format = Format::new(size.0, size.1, Chroma::C420, 8).unwrap();
        Selection::parse(models.iter().copied(), [], columns)?.resolve_clip(&format, Some((25, 1)))
    }

    fn names(resolved: &Resolved) -> Vec<(String, String)> {
        resolved.plan.models().map(|model| (model.label.clone(), model.name.clone())).collect()
    }

    #[test]
    fn scores_are_named_as_the_front_end_wants() {
        let by_model = resolved(&["v0.6.1"], Columns::ByModel, (64, 48)).unwrap();
        assert_eq!(names(&by_model), [("vmaf_v0.6.1".to_owned(), "vmaf_v0.6.1".to_owned())]);
        let libvmaf = resolved(&["v0.6.1"], Columns::Libvmaf, (64, 48)).unwrap();
        assert_eq!(names(&libvmaf), [("vmaf_v0.6.1".to_owned(), "vmaf".to_owned())]);
        let own = resolved(&["v0.6.1:name=x"], Columns::ByModel, (64, 48)).unwrap();
        assert_eq!(names(&own)[0].1, "x");
    }

    #[test]
    fn auto_falls_back_where_its_model_cannot_score() {
        for columns in [Columns::ByModel, Columns::Libvmaf] {
            let small = resolved(&["auto"], columns, (64, 48)).unwrap();
            assert_eq!(names(&small)[0].0, FALLBACK);
            assert!(
                small.notes[0]
                    .starts_with("using vmaf_v0.6.1 because vmaf_v1.0.16_3d0h cannot score 64x48 (")
            );
            assert_eq!(names(&resolved(&["auto"], columns, (640, 360)).unwrap())[0].0, "vmaf_v1.0.16_3d0h");
        }
    }

    #[test]
    fn all_takes_what_fits() {
        for columns in [Columns::ByModel, Columns::Libvmaf] {
            let all = resolved(&["all"], columns, (64, 48)).unwrap();
            assert_eq!(all.plan.models().count() + all.notes.len(), BUILTIN.len());
            assert!(all.notes.iter().all(|note| note.contains(" is left out: ")));
        }
    }

    #[test]
    fn an_empty_request_is_refused() {
        assert!(matches!(
            resolved(&["none"], Columns::ByModel, (64, 48)),
            Err(ScoreError::Request(RequestError::Nothing))
        ));
    }
}
