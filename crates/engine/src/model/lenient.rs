//! What libvmaf tolerates: options that a metric does not have, and overloads of metrics that a model does not use.
//!
//! A stand-in for libvmaf must accept both, since callers pass the same overloads with every model. Values of options that
//! exist are checked as always. Our own command line and server are strict instead: there, such an option is a mistake.

use visus_metrics::registry;

use super::{LoadError, ModelSpec, NamedModel, Overload};

impl NamedModel {
    /// Like [`load`](Self::load), but overloads that have no effect are ignored.
    pub fn load_lenient(spec: &ModelSpec) -> Result<Self, LoadError> {
        let plain = ModelSpec { overloads: Vec::new(), ..spec.clone() };
        let mut model = Self::load(&plain)?;
        spec.overloads.iter().for_each(|overload| model.overload_lenient(overload));
        Ok(model)
    }

    /// Changes an option of the metric behind some of the features, if there are such features and such an option.
    pub fn overload_lenient(&mut self, overload: &Overload) {
        if has_option(&overload.metric, &overload.option) {
            self.model.overload(overload);
            self.siblings.iter_mut().for_each(|sibling| {
                sibling.overload(overload);
            });
        }
    }
}

/// The options that the metric has; all of them where there is no such metric, which is an error of its own.
pub fn known_options(metric: &str, options: &[(String, String)]) -> Vec<(String, String)> {
    let known =
        |(name, _): &&(String, String)| registry::by_name(metric).is_none() || has_option(metric, name);
    options.iter().filter(known).cloned().collect()
}

fn has_option(metric: &str, option: &str) -> bool {
    registry::by_name(metric).is_some_and(|info| info.options.iter().any(|spec| spec.name == option))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str) -> NamedModel {
        NamedModel::load_lenient(&text.parse().unwrap()).unwrap()
    }

    #[test]
    fn overloads_without_effect_are_ignored() {
        let plain = load("version=vmaf_v0.6.1");
        for overload in ["cambi.enc_width=1920", "bogus.x=1", "vif.bogus=1", "bogus.x=text"] {
            let spec = format!("version=vmaf_v0.6.1:{overload}");
            let model = load(&spec);
            for (feature, original) in model.model.features.iter().zip(&plain.model.features) {
                assert_eq!(feature.options, original.options, "{overload}");
            }
        }
        let strict = NamedModel::load(&"version=vmaf_v0.6.1:cambi.enc_width=1920".parse().unwrap());
        assert!(matches!(strict, Err(LoadError::Overload { .. })));
    }

    #[test]
    fn overloads_with_effect_reach_every_member() {
        let model = load("version=vmaf_b_v0.6.3:vif.vif_enhn_gain_limit=1.5:cambi.enc_width=1920");
        let wanted = ("vif_enhn_gain_limit".to_owned(), "1.5".to_owned());
        for member in std::iter::once(&model.model).chain(&model.siblings) {
            let changed = member.features.iter().filter(|feature| feature.options.contains(&wanted)).count();
            assert_eq!(changed, 4);
        }
    }

    #[test]
    fn options_of_a_metric() {
        let given = [("debug", "true"), ("bogus", "1")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        assert_eq!(known_options("vif", &given), given[..1]);
        assert_eq!(known_options("bogus", &given), given);
    }
}
