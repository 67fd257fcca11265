//! One OpenTelemetry trace for a plan, its shards and their tasks, in builds with the cargo feature `otel`.
//!
//! The head of a plan has the identity of the plan's span in the form of the W3C's `traceparent`. Workers make their spans children of
//! it, so that all machines write one trace. Spans are sent where the environment names a collector, as for the server
//! (`OTEL_EXPORTER_OTLP_ENDPOINT` or `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`). Without the feature all of this is nothing.

use std::time::{SystemTime, UNIX_EPOCH};

use sha2::{Digest, Sha256};

#[cfg(feature = "otel")]
pub use with_collector::{Span, Traces};
#[cfg(not(feature = "otel"))]
pub use without::{Span, Traces};

/// A new identity: a hash of the moment, the process and what is planned.
pub fn new_parent(of: &str) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let digest = Sha256::digest(format!("{now} {} {of}", std::process::id()));
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    format!("00-{}-{}-01", hex(&digest[..16]), hex(&digest[16..24]))
}

#[cfg(feature = "otel")]
mod with_collector {
    use std::sync::Mutex;

    use anyhow::{Result, anyhow};
    use opentelemetry::trace::{
        SpanBuilder, SpanContext, SpanId, SpanKind, Status, TraceContextExt, TraceFlags, TraceId, TraceState,
        Tracer, TracerProvider,
    };
    use opentelemetry::{Context, KeyValue};
    use opentelemetry_otlp::SpanExporter;
    use opentelemetry_sdk::Resource;
    use opentelemetry_sdk::trace::{IdGenerator, RandomIdGenerator, SdkTracer, SdkTracerProvider};

    const SWITCHES: [&str; 2] = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];

    /// The way to the collector, if there is one. What is left of it is sent when this goes.
    #[derive(Debug)]
    pub struct Traces(Option<SdkTracerProvider>);

    impl Drop for Traces {
        fn drop(&mut self) {
            if let Some(provider) = self.0.take() {
                // A collector that is gone is no reason to fail.
                let _ = provider.shutdown();
            }
        }
    }

    /// Gives the first span the identity that is in the plan, and others a random one.
    #[derive(Debug)]
    struct PlannedIds {
        trace: Mutex<Option<TraceId>>,
        span: Mutex<Option<SpanId>>,
        random: RandomIdGenerator,
    }

    /// What is planned, the first time.
    fn once<T>(planned: &Mutex<Option<T>>) -> Option<T> {
        planned.lock().ok().and_then(|mut planned| planned.take())
    }

    impl IdGenerator for PlannedIds {
        fn new_trace_id(&self) -> TraceId {
            once(&self.trace).unwrap_or_else(|| self.random.new_trace_id())
        }

        fn new_span_id(&self) -> SpanId {
            once(&self.span).unwrap_or_else(|| self.random.new_span_id())
        }
    }

    fn parse(parent: &str) -> Option<(TraceId, SpanId)> {
        let mut words = parent.split('-').skip(1);
        let trace = TraceId::from_hex(words.next()?).ok()?;
        Some((trace, SpanId::from_hex(words.next()?).ok()?))
    }

    impl Traces {
        /// Opens the way to the collector, if the environment names one. The first span is the plan's own if it says so.
        fn start(first: Option<(TraceId, SpanId)>) -> Result<Self> {
            if !SWITCHES.iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty())) {
                return Ok(Self(None));
            }
            let unusable = |error| anyhow!("the collector of traces cannot be used: {error}");
            let exporter = SpanExporter::builder().with_http().build().map_err(unusable)?;
            let mut resource = Resource::builder();
            if std::env::var_os("OTEL_SERVICE_NAME").is_none() {
                resource = resource.with_service_name("visus");
            }
            let (trace, span) = first.unzip();
            let ids = PlannedIds {
                trace: Mutex::new(trace),
                span: Mutex::new(span),
                random: RandomIdGenerator::default(),
            };
            let provider = SdkTracerProvider::builder()
                .with_batch_exporter(exporter)
                .with_id_generator(ids)
                .with_resource(resource.build());
            Ok(Self(Some(provider.build())))
        }

        /// The span of planning, whose identity the plan carries.
        pub fn of_plan(parent: &str) -> Result<(Self, Span)> {
            let traces = Self::start(parse(parent))?;
            let span = traces.span("plan", &Context::new());
            Ok((traces, span))
        }

        /// A worker's span, which belongs to its plan's.
        pub fn of_worker(name: &'static str, parent: Option<&str>) -> Result<(Self, Span)> {
            let traces = Self::start(None)?;
            let context = parent.and_then(parse).map_or_else(Context::new, |(trace, span)| {
                let context = SpanContext::new(trace, span, TraceFlags::SAMPLED, true, TraceState::default());
                Context::new().with_remote_span_context(context)
            });
            let span = traces.span(name, &context);
            Ok((traces, span))
        }

        fn span(&self, name: &'static str, context: &Context) -> Span {
            let Some(provider) = &self.0 else { return Span(None) };
            Span::start(provider.tracer("visus"), name, context)
        }
    }

    /// A piece of work; it ends when this goes.
    #[derive(Debug)]
    pub struct Span(Option<(SdkTracer, Context)>);

    impl Span {
        fn start(tracer: SdkTracer, name: &'static str, context: &Context) -> Self {
            let builder = SpanBuilder::from_name(name).with_kind(SpanKind::Internal);
            let span = tracer.build_with_context(builder, context);
            Self(Some((tracer, context.with_span(span))))
        }

        pub fn child(&self, name: &'static str) -> Self {
            let Some((tracer, context)) = &self.0 else { return Self(None) };
            Self::start(tracer.clone(), name, context)
        }

        pub fn set<T: Into<opentelemetry::Value>>(&self, key: &'static str, value: impl FnOnce() -> T) {
            if let Some((_, context)) = &self.0 {
                context.span().set_attribute(KeyValue::new(key, value()));
            }
        }

        pub fn fail(&self, why: &str) {
            if let Some((_, context)) = &self.0 {
                context.span().set_status(Status::error(why.to_owned()));
            }
        }
    }

    impl Drop for Span {
        fn drop(&mut self) {
            if let Some((_, context)) = &self.0 {
                context.span().end();
            }
        }
    }
}

#[cfg(not(feature = "otel"))]
mod without {
    use anyhow::Result;

    #[derive(Debug)]
    pub struct Traces;

    impl Traces {
        pub fn of_plan(_parent: &str) -> Result<(Self, Span)> {
            Ok((Self, Span))
        }

        pub fn of_worker(_name: &'static str, _parent: Option<&str>) -> Result<(Self, Span)> {
            Ok((Self, Span))
        }
    }

    #[derive(Debug)]
    pub struct Span;

    impl Span {
        pub fn child(&self, _name: &'static str) -> Self {
            Self
        }

        pub fn set<T>(&self, _key: &'static str, _value: impl FnOnce() -> T) {}

        pub fn fail(&self, _why: &str) {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_have_the_form_of_a_traceparent() {
        let (one, two) = (new_parent("a"), new_parent("b"));
        assert_ne!(one, two);
        let lengths: Vec<usize> = one.split('-').map(str::len).collect();
        assert_eq!(lengths, [2, 32, 16, 2], "{one}");
    }
}
