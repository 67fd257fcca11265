//! Errors of the driver as [`DeviceError`]s. `wgpu` reports them beside its calls, and panics where nobody listens.

use std::sync::{Arc, Mutex, PoisonError};

use wgpu::{DeviceLostReason, Error, ErrorFilter};

use super::ready;
use crate::error::DeviceError;

/// What has been heard of a device.
#[derive(Debug)]
pub struct Faults {
    /// Why the device is gone.
    lost: Arc<Mutex<Option<String>>>,
    /// The first error outside a step that watches for its own.
    stray: Arc<Mutex<Option<String>>>,
}

impl Faults {
    pub fn watch(device: &wgpu::Device) -> Self {
        let faults = Self { lost: Arc::default(), stray: Arc::default() };
        let lost = faults.lost.clone();
        device.set_device_lost_callback(move |reason, message| {
            let destroyed = reason == DeviceLostReason::Destroyed && message.is_empty();
            note(&lost, if destroyed { "it was destroyed".to_owned() } else { message });
        });
        let stray = faults.stray.clone();
        device.on_uncaptured_error(Arc::new(move |error: Error| note(&stray, error.to_string())));
        faults
    }

    /// Whether the device is still there.
    pub fn check(&self, step: &'static str) -> Result<(), DeviceError> {
        if let Some(reason) = read(&self.lost) {
            return Err(DeviceError::Lost { step, reason });
        }
        read(&self.stray).map_or(Ok(()), |reason| Err(DeviceError::Driver { step, reason }))
    }

    /// Runs a step and hears the errors that it causes on this thread. `bytes` is what the step asks for.
    pub fn guard<T>(
        &self,
        device: &wgpu::Device,
        step: &'static str,
        bytes: usize,
        action: impl FnOnce() -> T,
    ) -> Result<T, DeviceError> {
        let filters = [ErrorFilter::Internal, ErrorFilter::Validation, ErrorFilter::OutOfMemory];
        let scopes = filters.map(|filter| device.push_error_scope(filter));
        let value = action();
        // Scopes are popped in reverse order, all of them.
        let errors: Vec<Error> = scopes.into_iter().rev().filter_map(|scope| ready(scope.pop())).collect();
        self.check(step)?;
        match errors.into_iter().next() {
            None => Ok(value),
            Some(Error::OutOfMemory { .. }) => Err(DeviceError::OutOfMemory { step, needed: bytes }),
            Some(error) => Err(DeviceError::Driver { step, reason: error.to_string() }),
        }
    }
}

/// The first message stays.
fn note(place: &Mutex<Option<String>>, message: String) {
    place.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(message);
}

fn read(place: &Mutex<Option<String>>) -> Option<String> {
    place.lock().unwrap_or_else(PoisonError::into_inner).clone()
}
