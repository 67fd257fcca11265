//! What all front ends share, and how a tool is called through any of them.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value};
use visus_video::budget::Budget;

use crate::ToolError;
use crate::config::{Config, EngineKind};
use crate::engines::external::{self, External};
use crate::engines::probe::Probes;
use crate::engines::{ScoreTask, native};
use crate::jobs::{Context, JobHandle, Jobs, Owner};
use crate::previews::PreviewStore;
use crate::report::{Detail, Output, ScoreReport};
use crate::roots::Roots;
use crate::text::clean_answer;
use crate::tools::field::Values;
use crate::tools::fit::fit;
use crate::tools::pictures::{Folder, Pictures};
use crate::tools::{self, Answer, Run, Tool};

/// The server behind the front ends; clones are handles to the same one.
#[derive(Clone, Debug)]
pub struct Server(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    config: Config,
    roots: Roots,
    jobs: Jobs,
    probes: Probes,
    pictures: Pictures,
    /// Where small pictures of scored videos are kept, if anybody may want to look at them.
    previews: OnceLock<Arc<PreviewStore>>,
}

/// A call that was accepted.
#[derive(Debug)]
pub enum Started {
    /// The answer is there.
    Answer(Answer),
    /// A job that the caller waits for.
    Job(JobHandle),
    /// A job that the caller does not wait for.
    Background(JobHandle),
}

impl Server {
    pub fn new(config: Config) -> Self {
        let roots = Roots::new(&config.roots).with_writable(&config.writable);
        let jobs = Jobs::new(config.limits);
        let probes = Probes::new(config.launcher.clone());
        Self(Arc::new(Inner {
            config,
            roots,
            jobs,
            probes,
            pictures: Pictures::default(),
            previews: OnceLock::new(),
        }))
    }

    pub fn config(&self) -> &Config {
        &self.0.config
    }

    pub fn roots(&self) -> &Roots {
        &self.0.roots
    }

    pub fn jobs(&self) -> &Jobs {
        &self.0.jobs
    }

    pub fn probes(&self) -> &Probes {
        &self.0.probes
    }

    /// From now on small pictures of videos are kept while they are scored.
    pub(crate) fn keep_previews(&self) {
        self.0.previews.get_or_init(|| PreviewStore::new(self.config().limits.picture_bytes() / 2));
    }

    pub(crate) fn previews(&self) -> Option<&Arc<PreviewStore>> {
        self.0.previews.get()
    }

    /// A folder for the pictures of one result.
    pub(crate) fn pictures(&self) -> std::io::Result<Folder> {
        self.0.pictures.folder(self.0.config.launcher.as_deref())
    }

    /// The executable of the external engine.
    pub fn binary(&self) -> PathBuf {
        external::locate(self.0.config.binary.as_deref())
    }

    /// Why the server cannot work now, if it cannot. Cheap.
    pub fn not_ready(&self) -> Option<String> {
        match self.0.config.engine {
            EngineKind::Native => None,
            EngineKind::External => {
                let found = visus_child::is_program(&self.binary());
                (!found).then(|| "the vmaf binary is missing".to_owned())
            }
        }
    }

    /// Calls an offered tool by name. Returns as soon as the call is answered, refused, or waits in the queue.
    pub async fn start(
        &self,
        name: &str,
        given: Map<String, Value>,
        owner: &Owner,
    ) -> Result<Started, ToolError> {
        match tools::by_name(name).filter(|tool| self.config().offer.has(tool)) {
            Some(tool) => self.start_tool(tool, given, owner).await,
            None => Err(ToolError::UnknownTool(name.to_owned())),
        }
    }

    /// Calls a tool, offered or not. The arguments are checked against its table first.
    pub async fn start_tool(
        &self,
        tool: &'static Tool,
        given: Map<String, Value>,
        owner: &Owner,
    ) -> Result<Started, ToolError> {
        let values = Values::read(tool.name, tool.fields(), given)?;
        let server = self.clone();
        match tool.run {
            Run::Now(run) => Ok(Started::Answer(clean_answer(run(self, owner, &values)?))),
            Run::Look(run) => {
                let answer = blocking(move || run(&server, &values)).await??;
                Ok(Started::Answer(clean_answer(answer)))
            }
            Run::Work(prepare) => {
                let background = values.flag(tools::BACKGROUND.name);
                let work = blocking(move || prepare(&server, values)).await??;
                let handle = self.jobs().submit(owner, tool.name, work)?;
                Ok(if background { Started::Background(handle.detached()) } else { Started::Job(handle) })
            }
        }
    }

    /// The answer of a finished job at a level of detail; without one, at the level that its call asked for.
    pub fn finished(&self, output: &Output, id: &str, detail: Option<Detail>, auto: Detail) -> Answer {
        let detail = detail.unwrap_or_else(|| output.detail()).or(auto);
        clean_answer(output.answer(id, detail))
    }

    /// The same for an agent: at most so many bytes, unless more was asked for.
    /// Whole reports are made while there is room for them in the memory budget.
    pub fn fitted(
        &self,
        output: &Output,
        id: &str,
        detail: Option<Detail>,
        bytes: usize,
    ) -> Result<Answer, ToolError> {
        let auto = self.config().auto_detail;
        let shown = detail.unwrap_or_else(|| output.detail()).or(auto);
        let is_whole = matches!(shown, Detail::Full | Detail::Frames);
        let estimate = if is_whole { (output.bytes() as u64).saturating_mul(WHILE_MADE) } else { 0 };
        let _room = Budget::process().reserve(estimate, "the report")?;
        let answer = self.finished(output, id, detail, auto);
        Ok(match shown {
            Detail::Full | Detail::Frames => answer,
            _ if output.is_document() => answer,
            _ => {
                let rest =
                    format!("read visus://jobs/{id}, or call get_job with this job_id and detail 'full'");
                fit(answer, bytes, &rest)
            }
        })
    }

    /// Scores on the engine that was chosen. Blocks.
    pub fn score(&self, mut task: ScoreTask, context: &Context) -> Result<ScoreReport, ToolError> {
        let config = self.config();
        if let Some(tiny) = &mut task.tiny {
            tiny.runner.launcher = config.launcher.clone();
            tiny.runner.limits.time = config.limits.subprocess;
        }
        if let Some(store) = self.previews() {
            let videos = &mut task.request.videos;
            videos.pairing.decoders.previews = Some(store.sink([&videos.reference, &videos.distorted]));
        }
        match config.engine {
            EngineKind::Native => native::score(task, context),
            EngineKind::External => {
                let binary = self.binary();
                let external = External {
                    binary: &binary,
                    probes: self.probes(),
                    launcher: config.launcher.as_deref(),
                    limit: config.limits.subprocess,
                };
                external.score(task, context)
            }
        }
    }
}

/// What a report takes while it is written, for each byte that it takes in memory: numbers become a tree of values, and then
/// digits.
pub(crate) const WHILE_MADE: u64 = 24;

/// Runs blocking work off the async threads.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, ToolError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| ToolError::Failed(format!("internal error: {error}")))
}
