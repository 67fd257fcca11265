//! What a device needs to compute a metric in place of its extractor.
//!
//! A device computes sums per frame and nothing else; the functions called `finish` turn these into the row of raw numbers
//! that the extractor would have given. The extractors use the same functions, so equal sums are equal bits. Sums are
//! integers, except for SpEED's, which are floats added up in the extractor's order.
//!
//! | metric | sums of a frame | finished by |
//! |---|---|---|
//! | `vif` | four [`VifSums`], one per scale and limit of the gain | [`VifSettings::finish`] |
//! | `adm` | four [`AdmSums`], one per scale | [`AdmFinish::finish`] |
//! | `cambi` | five [`CambiSums`], one per scale | [`CambiTask::finish`] |
//! | `speed_chroma` | four [`SpeedPlane`]s | [`SpeedTask::finish`] |
//! | `motion` | one sum of absolute differences, if there is an earlier frame | [`MotionSettings::finish`] |
//!
//! [`Metric::device_task`](crate::Metric::device_task) says which of them a metric is. Tables that take part in a result
//! are handed out here as well, so that a device works with the same ones.

pub use crate::adm::{AdmFinish, AdmScale, AdmShifts, AdmSums, AdmTask};
pub use crate::cambi::{CambiSums, CambiTask, cambi_reciprocals};
pub use crate::motion::MotionSettings;
pub use crate::speed::{SpeedPlane, SpeedTask};
pub use crate::vif::{VifSettings, VifSums};

/// A metric as work for a device.
#[derive(Clone, Debug)]
pub enum DeviceTask {
    Vif(VifSettings),
    Adm(Box<AdmTask>),
    Motion(MotionSettings),
    Cambi(Box<CambiTask>),
    Speed(Box<SpeedTask>),
}

/// The windows of VIF's four scales, of 17, 9, 5 and 3 taps; each sums to 2^16.
pub fn vif_taps() -> [&'static [u32]; 4] {
    crate::vif::TAPS
}

/// `round(2048 · log2(n))` for n from 2^15 to 2^16 - 1, as VIF's sums are defined by it.
pub fn vif_log2() -> &'static [u16] {
    crate::vif::log2_table()
}

/// ADM's wavelet: low-pass and high-pass taps.
pub fn adm_wavelet() -> [[i32; 4]; 2] {
    crate::adm::WAVELET
}

/// 2^30 / n, rounded down, for n from 0 (which has 0) to 2^15: ADM divides by these.
pub fn adm_reciprocals() -> &'static [u32; 32769] {
    crate::adm::reciprocals()
}

/// The taps of motion's blur; they sum to 2^16.
pub fn motion_taps() -> [i32; 5] {
    crate::motion::TAPS
}
