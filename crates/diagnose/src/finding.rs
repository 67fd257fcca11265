//! What detectors report: a kind of fault, the frames and the region that show it, how certain it is, and a sentence.

use serde::{Deserialize, Serialize};

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The picture is one even colour where the reference is not.
    Blank,
    /// Frames are shown in another order, or too early or late.
    FrameOrder,
    /// The picture stands still while the reference moves.
    Frozen,
    /// Rows of two frames are woven together.
    Combing,
    /// Two frames are mixed.
    Blended,
    /// The picture is moved.
    Shifted,
    /// The picture is larger or smaller.
    Scaled,
    /// All levels are raised or lowered.
    Brightness,
    /// Levels are stretched or compressed.
    Contrast,
    /// Mid-tones are raised or lowered against dark and bright ones.
    Gamma,
    /// There is no colour where the reference has some.
    MissingChroma,
    /// Cb and Cr are exchanged.
    SwappedChroma,
    /// Colours are turned.
    Hue,
    /// Colours are stronger or weaker.
    Saturation,
    /// A colour is added everywhere.
    ColourCast,
    /// Colours were converted with the matrix of another standard.
    ColourMatrix,
    /// A logo, caption or box lies over the picture.
    Overlay,
    /// A part of the picture is destroyed.
    Damage,
    /// Edges are exaggerated.
    Oversharpened,
    /// Fine detail is gone, where the frames around have it.
    Blurred,
    /// Noise was added.
    Noise,
    /// Gentle slopes have become steps.
    Banding,
    /// Borders of blocks stand out.
    Blocking,
}

impl Kind {
    pub const ALL: [Self; 23] = [
        Self::Blank,
        Self::FrameOrder,
        Self::Frozen,
        Self::Combing,
        Self::Blended,
        Self::Shifted,
        Self::Scaled,
        Self::Brightness,
        Self::Contrast,
        Self::Gamma,
        Self::MissingChroma,
        Self::SwappedChroma,
        Self::Hue,
        Self::Saturation,
        Self::ColourCast,
        Self::ColourMatrix,
        Self::Overlay,
        Self::Damage,
        Self::Oversharpened,
        Self::Blurred,
        Self::Noise,
        Self::Banding,
        Self::Blocking,
    ];

    /// The name that reports use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Blank => "blank",
            Self::FrameOrder => "frame_order",
            Self::Frozen => "frozen",
            Self::Combing => "combing",
            Self::Blended => "blended",
            Self::Shifted => "shifted",
            Self::Scaled => "scaled",
            Self::Brightness => "brightness",
            Self::Contrast => "contrast",
            Self::Gamma => "gamma",
            Self::MissingChroma => "missing_chroma",
            Self::SwappedChroma => "swapped_chroma",
            Self::Hue => "hue",
            Self::Saturation => "saturation",
            Self::ColourCast => "colour_cast",
            Self::ColourMatrix => "colour_matrix",
            Self::Overlay => "overlay",
            Self::Damage => "damage",
            Self::Oversharpened => "oversharpened",
            Self::Blurred => "blurred",
            Self::Noise => "noise",
            Self::Banding => "banding",
            Self::Blocking => "blocking",
        }
    }

    /// What VMAF makes of such a fault.
    pub fn seen_by_vmaf(self) -> Visibility {
        match self {
            Self::MissingChroma
            | Self::SwappedChroma
            | Self::Hue
            | Self::Saturation
            | Self::ColourCast
            | Self::ColourMatrix => Visibility::NotAtAll,
            Self::Brightness | Self::Contrast | Self::Gamma | Self::Oversharpened | Self::Overlay => {
                Visibility::Hardly
            }
            _ => Visibility::Seen,
        }
    }
}

/// How much of a fault a score of VMAF shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// VMAF does not look at colour.
    NotAtAll,
    /// The score falls by far less than what viewers see.
    Hardly,
    /// The score falls.
    Seen,
}

/// A rectangle in luma samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Area {
    pub x: usize,
    pub y: usize,
    pub width: usize,
    pub height: usize,
}

impl Area {
    /// Where it lies in a picture: `upper right`, `centre`, …
    pub fn place(&self, width: usize, height: usize) -> &'static str {
        let third = |at: usize, whole: usize| (3 * at / whole.max(1)).min(2);
        let column = third(self.x + self.width / 2, width);
        let row = third(self.y + self.height / 2, height);
        let wide = 10 * self.width >= 8 * width;
        let high = 10 * self.height >= 8 * height;
        match (row, column) {
            _ if wide && high => "the whole picture",
            (0, _) if wide => "top",
            (2, _) if wide => "bottom",
            (_, 0) if high => "left side",
            (_, 2) if high => "right side",
            (0, 0) => "upper left",
            (0, 1) => "upper centre",
            (0, _) => "upper right",
            (1, 0) => "left",
            (1, 1) => "centre",
            (1, _) => "right",
            (_, 0) => "lower left",
            (_, 1) => "lower centre",
            (_, _) => "lower right",
        }
    }
}

/// A fault that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    pub kind: Kind,
    /// First and last pair that show it.
    pub from: u64,
    pub to: u64,
    /// The pair that shows it most clearly.
    pub peak: u64,
    /// The part of the picture; `None` for the whole.
    pub area: Option<Area>,
    /// From 0.5 (just beyond the limit) to 1.
    pub confidence: f32,
    /// What is wrong, without frames and region.
    pub what: String,
    /// The whole sentence.
    pub text: String,
}

impl Finding {
    pub fn covers(&self, index: u64) -> bool {
        (self.from..=self.to).contains(&index)
    }
}
