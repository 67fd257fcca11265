//! A work queue of NATS JetStream.
//!
//! A stream with the retention of a work queue holds the jobs; one durable consumer hands them out. A job that was taken is
//! leased: while its [`Delivery`] lives, the server is informed that work goes on, and when the worker is gone, the lease ends and
//! another gets the job. A job published twice under the same identity is there once. Jobs that nobody can do go to a second
//! stream, the dead letters.

use std::sync::Arc;
use std::time::Duration;

use async_nats::ConnectOptions;
use async_nats::jetstream::consumer::{AckPolicy, PullConsumer, pull};
use async_nats::jetstream::message::{Acker, PublishMessage};
use async_nats::jetstream::stream::{Config, RetentionPolicy, Stream};
use async_nats::jetstream::{self, AckKind, Context};
use futures_util::StreamExt;
use tokio::task::JoinHandle;

use crate::runtime::{runtime, wait};
use crate::{RemoteError, tls};

/// The consumer that all workers share.
const CONSUMER: &str = "workers";
/// The name of a queue whose address has none.
const NAME: &str = "visus";
/// For so long a job that is published again is known as the same.
const REMEMBERED: Duration = Duration::from_secs(3600);
/// Jobs that are on their way to the server at once.
const WINDOW: usize = 256;
/// The server must answer within this time.
const ANSWER: Duration = Duration::from_secs(20);

/// How much later than asked for an answer may come.
const LATE: Duration = Duration::from_secs(2);

/// How a queue is made.
#[derive(Clone, Copy, Debug)]
pub struct QueueSettings {
    /// After this time without a sign of its worker a job is given to another.
    pub lease: Duration,
    /// The most jobs that are leased at the same time.
    pub most_leased: u32,
}

/// Something to be done.
#[derive(Clone, Debug)]
pub struct Job {
    /// What makes it the same as another.
    pub id: String,
    pub body: Vec<u8>,
}

/// A queue, opened.
#[derive(Debug)]
pub struct Queue {
    context: Context,
    stream: Stream,
    consumer: PullConsumer,
    name: String,
}

/// A server and the name of a queue on it.
#[derive(Debug, PartialEq, Eq)]
struct QueueAddress {
    server: String,
    name: String,
}

fn parse(text: &str) -> Result<QueueAddress, RemoteError> {
    let refuse = |why: &str| RemoteError::Address(format!("{text}: {why}"));
    let (scheme, rest) =
        text.split_once("://").ok_or_else(|| refuse("nats://HOST[:PORT][/QUEUE] is needed"))?;
    if !["nats", "tls"].contains(&scheme) {
        return Err(refuse("nats:// and tls:// are known"));
    }
    let (host, name) = rest.split_once('/').unwrap_or((rest, ""));
    let name = if name.is_empty() { NAME } else { name };
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    if host.is_empty() || !name.chars().all(is_plain) {
        return Err(refuse(
            "nats://HOST[:PORT][/QUEUE] is needed; a queue's name has letters, digits, - and _",
        ));
    }
    Ok(QueueAddress { server: format!("{scheme}://{host}"), name: name.to_owned() })
}

async fn connect(address: &QueueAddress) -> Result<Context, RemoteError> {
    // Others may have chosen theirs already, which does as well.
    let _ = tls::provider()?.install_default();
    let cannot = |error: &dyn std::fmt::Display| {
        RemoteError::failed(format!("cannot reach {}", hidden(&address.server)), error)
    };
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let mut options =
        ConnectOptions::new().name("visus").connection_timeout(ANSWER).request_timeout(Some(ANSWER));
    if let Some(file) = variable("NATS_CREDS") {
        options = options.credentials_file(file).await.map_err(|error| cannot(&error))?;
    }
    if let (Some(user), Some(password)) = (variable("NATS_USER"), variable("NATS_PASSWORD")) {
        options = options.user_and_password(user, password);
    }
    if let Some(file) = variable("NATS_CA") {
        options = options.add_root_certificates(file.into());
    }
    let client = options.connect(&address.server).await.map_err(|error| cannot(&error))?;
    Ok(jetstream::context::ContextBuilder::new().timeout(ANSWER).ack_timeout(ANSWER).build(client))
}

/// An address without the password in it.
fn hidden(server: &str) -> String {
    match (server.split_once("://"), server.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://…@{host}"),
        _ => server.to_owned(),
    }
}

impl Queue {
    /// Makes a queue, or opens it with these settings if it is there.
    pub fn create(address: &str, settings: QueueSettings) -> Result<Self, RemoteError> {
        let address = parse(address)?;
        wait(async {
            let context = connect(&address).await?;
            let cannot = |error: &dyn std::fmt::Display| {
                RemoteError::failed(format!("cannot make the queue {}", address.name), error)
            };
            let work = Config {
                name: address.name.clone(),
                subjects: vec![subject(&address.name, "jobs")],
                retention: RetentionPolicy::WorkQueue,
                duplicate_window: REMEMBERED,
                ..Config::default()
            };
            let dead = Config {
                name: format!("{}-dead", address.name),
                subjects: vec![subject(&address.name, "dead")],
                duplicate_window: REMEMBERED,
                ..Config::default()
            };
            context.create_or_update_stream(work).await.map_err(|error| cannot(&error))?;
            context.create_or_update_stream(dead).await.map_err(|error| cannot(&error))?;
            let consumer = pull::Config {
                durable_name: Some(CONSUMER.to_owned()),
                ack_policy: AckPolicy::Explicit,
                ack_wait: settings.lease,
                max_ack_pending: i64::from(settings.most_leased),
                ..pull::Config::default()
            };
            context
                .create_consumer_on_stream(consumer, &address.name)
                .await
                .map_err(|error| cannot(&error))?;
            Self::existing(context, address.name.clone()).await
        })
    }

    /// Opens a queue that was made before.
    pub fn open(address: &str) -> Result<Self, RemoteError> {
        let address = parse(address)?;
        wait(async { Self::existing(connect(&address).await?, address.name.clone()).await })
    }

    async fn existing(context: Context, name: String) -> Result<Self, RemoteError> {
        let cannot = |error: &dyn std::fmt::Display| {
            RemoteError::failed(format!("there is no queue {name}; `visus plan --queue` makes one"), error)
        };
        let stream = context.get_stream(&name).await.map_err(|error| cannot(&error))?;
        let consumer = stream.get_consumer(CONSUMER).await.map_err(|error| cannot(&error))?;
        Ok(Self { context, stream, consumer, name })
    }

    /// Publishes jobs, each confirmed by the server; how many of them were not there yet.
    pub fn publish(&self, jobs: Vec<Job>) -> Result<usize, RemoteError> {
        let subject = subject(&self.name, "jobs");
        let cannot = |error: &dyn std::fmt::Display| {
            RemoteError::failed(format!("cannot fill the queue {}", self.name), error)
        };
        wait(async {
            let mut new = 0;
            for group in jobs.chunks(WINDOW) {
                let mut sent = Vec::with_capacity(group.len());
                for job in group {
                    let message =
                        PublishMessage::build().payload(job.body.clone().into()).message_id(&job.id);
                    let published = self.context.send_publish(subject.clone(), message).await;
                    sent.push(published.map_err(|error| cannot(&error))?);
                }
                for published in sent {
                    let confirmed = published.await.map_err(|error| cannot(&error))?;
                    new += usize::from(!confirmed.duplicate);
                }
            }
            Ok(new)
        })
    }

    /// Takes a job; waits for one for at most this long.
    pub fn take(&self, patience: Duration) -> Result<Option<Delivery>, RemoteError> {
        let cannot = |error: &dyn std::fmt::Display| {
            RemoteError::failed(format!("cannot take from the queue {}", self.name), error)
        };
        let lease = self.consumer.cached_info().config.ack_wait;
        wait(async {
            let asked = self.consumer.batch().max_messages(1).expires(patience).messages();
            let mut messages = asked.await.map_err(|error| cannot(&error))?;
            // The server says when the time is over. Should that be lost, a job that comes later is given to another when its
            // lease ends.
            match tokio::time::timeout(patience + LATE, messages.next()).await {
                Ok(Some(message)) => Delivery::new(message.map_err(|error| cannot(&error))?, lease).map(Some),
                Ok(None) | Err(_) => Ok(None),
            }
        })
    }

    /// Jobs that are not done: those that nobody has taken, and those that are leased.
    pub fn left(&self) -> Result<u64, RemoteError> {
        let cannot = |error: &dyn std::fmt::Display| {
            RemoteError::failed(format!("cannot ask the queue {}", self.name), error)
        };
        wait(async { Ok(self.stream.get_info().await.map_err(|error| cannot(&error))?.state.messages) })
    }

    /// Puts what nobody can do among the dead letters.
    pub fn bury(&self, letter: Job) -> Result<(), RemoteError> {
        let cannot = |error: &dyn std::fmt::Display| {
            RemoteError::failed(format!("cannot fill the dead letters of {}", self.name), error)
        };
        wait(async {
            let message = PublishMessage::build().payload(letter.body.into()).message_id(&letter.id);
            let published = self.context.send_publish(subject(&self.name, "dead"), message).await;
            published.map_err(|error| cannot(&error))?.await.map_err(|error| cannot(&error))?;
            Ok(())
        })
    }
}

fn subject(name: &str, what: &str) -> String {
    format!("visus.{name}.{what}")
}

/// A job that was taken. It stays leased while this lives; unless it is done, another gets it when the lease ends.
pub struct Delivery {
    pub body: Vec<u8>,
    /// How often it was taken, this time included.
    pub attempt: u64,
    acker: Arc<Acker>,
    renewal: JoinHandle<()>,
}

impl std::fmt::Debug for Delivery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Delivery").field("attempt", &self.attempt).finish_non_exhaustive()
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        self.renewal.abort();
    }
}

impl Delivery {
    fn new(message: jetstream::Message, lease: Duration) -> Result<Self, RemoteError> {
        let attempt = message.info().map(|info| info.delivered).unwrap_or(1).max(1) as u64;
        let (message, acker) = message.split();
        let acker = Arc::new(acker);
        let renewed = Arc::clone(&acker);
        let renewal = runtime()?.spawn(async move {
            loop {
                tokio::time::sleep(lease / 3).await;
                // A server that is gone for a while gets the next sign.
                let _ = renewed.ack_with(AckKind::Progress).await;
            }
        });
        Ok(Self { body: message.payload.to_vec(), attempt, acker, renewal })
    }

    fn answer(self, kind: AckKind) -> Result<(), RemoteError> {
        self.renewal.abort();
        let refused =
            |reason: &dyn std::fmt::Display| RemoteError::failed("the queue does not confirm", reason);
        wait(async {
            let answered = tokio::time::timeout(ANSWER, self.acker.double_ack_with(kind)).await;
            answered.map_err(|late| refused(&late))?.map_err(|error| refused(&error))
        })
    }

    /// It is done, or of no use any more.
    pub fn done(self) -> Result<(), RemoteError> {
        self.answer(AckKind::Ack)
    }

    /// Another worker, or this one, should try it later.
    pub fn again(self, delay: Duration) -> Result<(), RemoteError> {
        self.answer(AckKind::Nak(Some(delay)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_queues() {
        let address =
            |server: &str, name: &str| QueueAddress { server: server.to_owned(), name: name.to_owned() };
        assert_eq!(parse("nats://a").unwrap(), address("nats://a", "visus"));
        assert_eq!(parse("tls://u:p@a:4222/films").unwrap(), address("tls://u:p@a:4222", "films"));
        for wrong in ["a:4222", "http://a", "nats://", "nats:///films", "nats://a/b.c", "nats://a/b/c"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(hidden("nats://u:secret@a:1"), "nats://…@a:1");
        assert_eq!(hidden("nats://a:1"), "nats://a:1");
    }
}
