//! Which tools a server offers: sets for common purposes, or a list of names.

use std::str::FromStr;

use super::{TOOLS, Tool, by_name, field};
use crate::text;

/// What a tool is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Toolset {
    /// Scores, worst frames, models and metrics.
    Core,
    /// Encoders, ladders and shots.
    Tuning,
    /// Quality models against opinion scores.
    Models,
    /// About this machine; in no set but `all`.
    Machine,
    /// Jobs: with every set.
    Jobs,
}

/// A set that can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetName {
    Core,
    Tuning,
    Models,
    All,
}

impl SetName {
    pub const NAMES: [&'static str; 4] = ["core", "tuning", "models", "all"];

    fn has(self, tool: &Tool) -> bool {
        match self {
            Self::All => true,
            _ if tool.set == Toolset::Jobs => true,
            Self::Core => tool.set == Toolset::Core,
            Self::Tuning => tool.set == Toolset::Tuning,
            Self::Models => tool.set == Toolset::Models,
        }
    }
}

impl FromStr for SetName {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name.trim() {
            "core" => Ok(Self::Core),
            "tuning" => Ok(Self::Tuning),
            "models" => Ok(Self::Models),
            "all" => Ok(Self::All),
            other => {
                let other = text::cleaned(other);
                Err(format!("there is no toolset '{other}': must be one of {}", Self::NAMES.join("|")))
            }
        }
    }
}

/// The tools that are listed and can be called; any other is an unknown tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer(Vec<&'static str>);

/// What an agent needs: scores and settings.
impl Default for Offer {
    fn default() -> Self {
        Self::sets(&[SetName::Core, SetName::Tuning])
    }
}

impl Offer {
    /// Every tool.
    pub fn all() -> Self {
        Self::sets(&[SetName::All])
    }

    fn sets(sets: &[SetName]) -> Self {
        let offered = TOOLS.iter().filter(|tool| sets.iter().any(|set| set.has(tool)));
        Self(offered.map(|tool| tool.name).collect())
    }

    /// The tools of `--toolset` and those that `--tools` names; where neither is given, `usual`.
    pub fn from_flags(sets: &[SetName], names: &[String], usual: Self) -> Result<Self, String> {
        let names = names.iter().flat_map(|names| names.split(',')).map(str::trim);
        let names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
        if sets.is_empty() && names.is_empty() {
            return Ok(usual);
        }
        let mut offer = Self::sets(sets);
        for name in names {
            offer.0.push(by_name(name).ok_or_else(|| unknown(name))?.name);
        }
        Ok(offer)
    }

    pub fn has(&self, tool: &Tool) -> bool {
        self.0.contains(&tool.name)
    }

    /// The offered tools, in the order of the table.
    pub fn tools(&self) -> impl Iterator<Item = &'static Tool> + '_ {
        TOOLS.iter().filter(|tool| self.has(tool))
    }
}

fn unknown(name: &str) -> String {
    let near = field::nearest(name, TOOLS.iter().map(|tool| tool.name));
    let near = near.map_or(String::new(), |near| format!("; did you mean '{near}'?"));
    format!("there is no tool '{}'{near}", text::cleaned(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(offer: &Offer) -> Vec<&'static str> {
        offer.tools().map(|tool| tool.name).collect()
    }

    fn from_flags(sets: &[&str], tools: &str) -> Result<Offer, String> {
        let sets: Result<Vec<SetName>, String> = sets.iter().map(|set| set.parse()).collect();
        Offer::from_flags(&sets?, &[tools.to_owned()], Offer::default())
    }

    #[test]
    fn sets_bring_the_tools_for_jobs_along() {
        let tuning = from_flags(&["tuning"], "").unwrap();
        let expected = [
            "run_search",
            "run_compare",
            "run_ladder",
            "run_tune_per_shot",
            "vmaf_per_shot",
            "get_job",
            "list_jobs",
            "cancel_job",
        ];
        assert_eq!(names(&tuning), expected);
        assert_eq!(names(&from_flags(&["all"], "").unwrap()).len(), TOOLS.len());
        let usual = Offer::from_flags(&[], &[], Offer::default()).unwrap();
        assert_eq!(usual, from_flags(&["core", "tuning"], "").unwrap());
        assert!(names(&usual).contains(&"vmaf_score") && !names(&usual).contains(&"compare_models"));
    }

    #[test]
    fn a_list_of_names_is_the_whole_offer() {
        assert_eq!(names(&from_flags(&[], "vmaf_bench, vmaf_score").unwrap()), ["vmaf_score", "vmaf_bench"]);
        assert!(names(&from_flags(&["models"], "vmaf_score").unwrap()).contains(&"compare_models"));
    }

    #[test]
    fn what_is_not_there_is_refused() {
        assert_eq!(
            from_flags(&[], "vmaf_scor").unwrap_err(),
            "there is no tool 'vmaf_scor'; did you mean 'vmaf_score'?"
        );
        assert!(from_flags(&["cores"], "").unwrap_err().ends_with("must be one of core|tuning|models|all"));
    }
}
