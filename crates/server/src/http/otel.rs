//! Traces for an OpenTelemetry collector, where one is named in the environment.
//!
//! `OTEL_EXPORTER_OTLP_ENDPOINT` or `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` switches it on (OTLP over HTTP); the other `OTEL_*`
//! variables mean what the standard says. Without the cargo feature `otel` all of this is nothing.

#[cfg(feature = "otel")]
pub use with_collector::{Traces, layer, start};

#[cfg(not(feature = "otel"))]
pub use without::{Traces, layer, start};

#[cfg(feature = "otel")]
mod with_collector {
    use opentelemetry::trace::TracerProvider;
    use opentelemetry_otlp::SpanExporter;
    use opentelemetry_sdk::Resource;
    use opentelemetry_sdk::trace::SdkTracerProvider;
    use tracing::Subscriber;
    use tracing_subscriber::Layer;
    use tracing_subscriber::registry::LookupSpan;

    use crate::http::settings::StartError;

    const SWITCHES: [&str; 2] = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];

    /// The way to the collector. What is left of it is sent when this goes.
    pub struct Traces(Option<SdkTracerProvider>);

    impl Drop for Traces {
        fn drop(&mut self) {
            if let Some(provider) = self.0.take() {
                // A collector that is gone is no reason to stay.
                let _ = provider.shutdown();
            }
        }
    }

    /// Opens the way to the collector, if the environment names one.
    pub fn start() -> Result<Traces, StartError> {
        if !SWITCHES.iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty())) {
            return Ok(Traces(None));
        }
        let unusable = |error| StartError::Other(format!("the collector of traces cannot be used: {error}"));
        let exporter = SpanExporter::builder().with_http().build().map_err(unusable)?;
        let provider = SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource());
        Ok(Traces(Some(provider.build())))
    }

    fn resource() -> Resource {
        let resource = Resource::builder();
        if std::env::var_os("OTEL_SERVICE_NAME").is_some() {
            return resource.build();
        }
        resource.with_service_name("visus").build()
    }

    /// Where spans become traces.
    pub fn layer<S>(traces: &Traces) -> Option<impl Layer<S> + Send + Sync>
    where
        S: Subscriber + for<'a> LookupSpan<'a> + Send + Sync,
    {
        let provider = traces.0.as_ref()?;
        Some(tracing_opentelemetry::layer().with_tracer(provider.tracer("visus")))
    }
}

#[cfg(not(feature = "otel"))]
mod without {
    use tracing_subscriber::layer::Identity;

    use crate::http::settings::StartError;

    pub struct Traces;

    pub fn start() -> Result<Traces, StartError> {
        Ok(Traces)
    }

    pub fn layer(_traces: &Traces) -> Option<Identity> {
        None
    }
}
