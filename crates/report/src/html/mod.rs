//! One self-contained page: curve, figures, histograms, worst frames, shots, verdict, provenance.
//!
//! Nothing is loaded from anywhere. Style and script are the same in every page, and a policy in the page allows just
//! these two by their hashes, so that a hostile file name could not run even if it got past the escaping. The scores are
//! data: differences to two decimals in a few letters each, so ten thousand frames take some twenty thousand bytes.

mod data;
mod sections;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use sha2::{Digest, Sha256};

use crate::escape::escape;
use crate::record::Record;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// A bad frame to be shown.
#[derive(Clone, Debug, Default)]
pub struct WorstFrame {
    pub frame: u64,
    /// A picture of it, as a PNG file.
    pub png: Option<Vec<u8>>,
    /// What is wrong with it.
    pub description: String,
}

/// The policy that the page carries; a server may send the same one.
pub fn content_security_policy() -> String {
    let hash = |text: &str| BASE64.encode(Sha256::digest(text));
    format!(
        "default-src 'none'; img-src data:; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        hash(STYLE),
        hash(SCRIPT)
    )
}

/// The page. Without pictures of worst frames, the lowest scores are listed.
pub fn page(record: &Record, worst: &[WorstFrame]) -> String {
    let (title, subtitle) = sections::titles(record);
    let shown = data::shown(record);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <header><h1>{title}</h1><p class=\"sub\">{subtitle}</p></header>\n<main>\n\
         {verdict}{tiles}{chart}{figures}{histograms}{worst}{shots}{provenance}</main>\n\
         <footer><p>Made by Visus. This page is complete in itself and loads nothing.</p></footer>\n\
         <script type=\"application/json\" id=\"data\">{data}</script>\n<script>{SCRIPT}</script>\n</body>\n</html>\n",
        policy = escape(&content_security_policy()),
        title = escape(&title),
        subtitle = escape(&subtitle),
        verdict = sections::verdict(record),
        tiles = sections::tiles(record, &shown),
        chart = sections::chart(record, &shown),
        figures = sections::figures(record, &shown),
        histograms = sections::histograms(&shown),
        worst = sections::worst(record, &shown, worst),
        shots = sections::shots(record, &shown),
        provenance = sections::provenance(record),
        data = data::json(record, &shown),
    )
}

/// A picture inside the page.
fn data_uri(png: &[u8]) -> String {
    format!("data:image/png;base64,{}", BASE64.encode(png))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Comparable, Curve, InputFact, ModelFact};
    use crate::shots::Shot;

    fn record(frames: u64, models: usize) -> Record {
        let score = |frame: u64, model: usize| {
            95.0 - 4.0 * ((frame as f64) / (11.0 + model as f64)).sin().abs()
                - if frame % 97 == 13 { 20.0 } else { 0.0 }
        };
        let name = |model: usize| format!("model {model}");
        Record {
            version: "visus-test".into(),
            frames: (0..frames).collect(),
            curves: (0..models)
                .map(|model| Curve {
                    name: name(model),
                    values: (0..frames).map(|frame| Some(score(frame, model))).collect(),
                })
                .collect(),
            models: (0..models)
                .map(|model| ModelFact {
                    name: name(model),
                    model: name(model),
                    sha256: Some("ab".repeat(32)),
                })
                .collect(),
            reference: InputFact {
                file: "ref.y4m".into(),
                frame_rate: Some((25, 1)),
                ..InputFact::default()
            },
            shots: vec![Shot { start: 0, end: frames / 2 }, Shot { start: frames / 2, end: frames }],
            ..Record::default()
        }
    }

    #[test]
    fn a_long_clip_stays_small() {
        let page = page(&record(10_000, 3), &[]);
        assert!(page.len() < 300_000, "{}", page.len());
        let film = super::page(&record(400_000, 2), &[]);
        assert!(film.len() < 1_500_000, "{}", film.len());
    }

    #[test]
    fn hostile_names_stay_words() {
        let hostile = "</script><script>alert(1)</script>\"'&<img src=x onerror=alert(2)>";
        let mut record = record(10, 1);
        record.reference.file = hostile.into();
        record.distorted.file = hostile.into();
        record.version = hostile.into();
        record.models[0] =
            ModelFact { name: hostile.into(), model: hostile.into(), sha256: Some(hostile.into()) };
        record.curves[0].name = hostile.into();
        record.notes = vec![hostile.into()];
        record.pairing = vec![(hostile.into(), hostile.into())];
        record.comparable = Some(Comparable { verdict: hostile.into(), reasons: vec![hostile.into()] });
        let worst = WorstFrame { frame: 3, png: Some(vec![1, 2]), description: hostile.into() };
        let page = page(&record, &[worst]);
        assert_eq!(page.matches("<script").count(), 2, "data and the one script");
        assert_eq!(page.matches("<img ").count(), 1, "the worst frame");
        assert!(!page.contains("<script>alert"));
        assert!(page.contains("src=\"data:image/png;base64,AQI=\""));
    }

    #[test]
    fn no_frames_no_models_no_panic() {
        for record in [Record::default(), record(1, 1), record(2, 0)] {
            assert!(page(&record, &[]).ends_with("</html>\n"));
        }
    }
}
