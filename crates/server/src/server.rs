//! What all doors share, and how a tool is called through any of them.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::config::{Config, EngineKind};
use crate::engines::external::{self, External};
use crate::engines::probe::Probes;
use crate::engines::{ScoreTask, native};
use crate::jobs::{Context, JobHandle, Jobs, Owner, Work};
use crate::report::{Detail, Output, ScoreReport};
use crate::roots::Roots;
use crate::tools::bench::Bench;
use crate::tools::field::Values;
use crate::tools::pictures::{Folder, Pictures};
use crate::tools::score_args::{Names, ScoreArgs};
use crate::tools::{self, backends, eval, extractors, job, models, worst};
use crate::{ToolError, error};

/// The server behind the doors; clones are handles to the same one.
#[derive(Clone, Debug)]
pub struct Server(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    config: Config,
    roots: Roots,
    jobs: Jobs,
    probes: Probes,
    pictures: Pictures,
}

/// A call that was taken.
#[derive(Debug)]
pub enum Started {
    /// It is answered already.
    Answer(Map<String, Value>),
    /// It works; wait for it.
    Job(JobHandle),
    /// It works, and the caller does not want to wait.
    Background(JobHandle),
}

impl Server {
    pub fn new(config: Config) -> Self {
        let roots = Roots::new(&config.roots);
        let jobs = Jobs::new(config.limits);
        let probes = Probes::new(config.launcher.clone());
        Self(Arc::new(Inner { config, roots, jobs, probes, pictures: Pictures::default() }))
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

    /// Calls a tool. Returns as soon as the call is answered, refused, or waits in the queue.
    pub async fn start(
        &self,
        name: &str,
        given: Map<String, Value>,
        owner: &Owner,
    ) -> Result<Started, ToolError> {
        let Some(tool) = tools::by_name(name) else { return Err(unknown_tool(name)) };
        let names = match tool.name {
            "vmaf_score" => Some(Names::Mcp),
            "vmaf_score_encoded" => Some(Names::Encoded),
            _ => None,
        };
        if let Some(names) = names {
            return self.start_score(ScoreArgs::read(tool.name, names, given)?, owner).await;
        }
        if tool.name == worst::NAME {
            return self.start_worst(worst::Request::read(given)?, owner).await;
        }
        let values = Values::read(tool.name, tool.fields(), given)?;
        if tools::tuning::NAMES.contains(&tool.name) {
            return self.start_tuning(tool.name, values, owner).await;
        }
        let id = || values.text("job_id").unwrap_or_default();
        let answer = match tool.name {
            "get_job" => {
                let detail = values.text("detail").and_then(Detail::parse);
                job::get(self.jobs(), owner, id(), detail)?
            }
            "list_jobs" => backends::object(job::list(self.jobs(), owner)),
            "cancel_job" => job::facts(&self.jobs().cancel(owner, id())?),
            "list_extractors" => backends::object(extractors::list()),
            "run_benchmark" | "vmaf_bench" | "probe_backend" | "eval_model_on_split" | "compare_models" => {
                return self.start_work(tool.name, values, owner);
            }
            _ => self.look(tool.name, values).await?,
        };
        Ok(Started::Answer(answer))
    }

    /// Scores with checked arguments, from any door.
    pub async fn start_score(&self, args: ScoreArgs, owner: &Owner) -> Result<Started, ToolError> {
        let (background, tool) = (args.background(), args.tool());
        let server = self.clone();
        let task = blocking(move || args.prepare(server.roots(), server.config())).await??;
        let server = self.clone();
        let work: Work = Box::new(move |context| Ok(Output::Score(Box::new(server.score(task, context)?))));
        let handle = self.jobs().submit(owner, tool, work)?;
        Ok(if background { Started::Background(handle.detached()) } else { Started::Job(handle) })
    }

    /// Scores on the engine that was chosen. Blocks.
    pub fn score(&self, mut task: ScoreTask, context: &Context) -> Result<ScoreReport, ToolError> {
        let config = self.config();
        if let Some(tiny) = &mut task.tiny {
            tiny.runner.launcher = config.launcher.clone();
            tiny.runner.limits.time = config.limits.subprocess;
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

    fn start_work(&self, tool: &'static str, values: Values, owner: &Owner) -> Result<Started, ToolError> {
        let background = values.flag("background");
        let server = self.clone();
        let work: Work = Box::new(move |context| match tool {
            "run_benchmark" => Bench::fixed().run(&server, context),
            "vmaf_bench" => Bench::with_knobs(&values).run(&server, context),
            "eval_model_on_split" => eval::evaluate(&server, &values, context),
            "compare_models" => eval::compare(&server, &values, context),
            _ => {
                let backend = values.text("backend").unwrap_or("cpu").to_owned();
                backends::probe(&server, &backend, context).map(Output::Value)
            }
        });
        let handle = self.jobs().submit(owner, tool, work)?;
        Ok(if background { Started::Background(handle.detached()) } else { Started::Job(handle) })
    }

    /// Scores and shows the worst frames.
    async fn start_worst(&self, request: worst::Request, owner: &Owner) -> Result<Started, ToolError> {
        let (background, count, server) = (request.args.background(), request.count(), self.clone());
        let task = blocking(move || request.args.prepare(server.roots(), server.config())).await??;
        let server = self.clone();
        let work: Work = Box::new(move |context| worst::run(&server, task, count, context));
        let handle = self.jobs().submit(owner, worst::NAME, work)?;
        Ok(if background { Started::Background(handle.detached()) } else { Started::Job(handle) })
    }

    /// Encodes and measures, from any door.
    async fn start_tuning(
        &self,
        tool: &'static str,
        values: Values,
        owner: &Owner,
    ) -> Result<Started, ToolError> {
        let (background, server) = (values.flag("background"), self.clone());
        let request = blocking(move || tools::tuning::Request::prepare(tool, values, &server)).await??;
        let server = self.clone();
        let work: Work = Box::new(move |context| request.run(&server, context));
        let handle = self.jobs().submit(owner, tool, work)?;
        Ok(if background { Started::Background(handle.detached()) } else { Started::Job(handle) })
    }

    /// Tools that look at files or ask a binary: on a blocking thread, outside the queue.
    async fn look(&self, tool: &'static str, values: Values) -> Result<Map<String, Value>, ToolError> {
        let server = self.clone();
        let answer = blocking(move || {
            let folders = &server.config().model_dirs;
            match tool {
                "list_models" => Ok(models::list(folders, server.roots())),
                "describe_model" => {
                    models::describe(values.text("name").unwrap_or_default(), folders, server.roots())
                }
                "list_backends" => Ok(backends::list(&server, values.flag("refresh"))),
                "vmaf_version" => Ok(backends::version(&server)),
                other => Err(ToolError::UnknownTool(other.to_owned())),
            }
        });
        Ok(backends::object(answer.await??))
    }
}

/// Runs blocking work off the async threads.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, ToolError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| ToolError::Failed(format!("internal error: {error}")))
}

fn unknown_tool(name: &str) -> ToolError {
    ToolError::UnknownTool(error::cleaned(name))
}

/// The answer of a finished job, for a tool's caller. Benchmarks get their job's id, like scores.
pub fn finished(output: &Output, id: &str, tool: &str) -> Map<String, Value> {
    let mut answer = output.answer(id);
    if matches!(tool, "run_benchmark" | "vmaf_bench") {
        answer.insert("job_id".to_owned(), json!(id));
    }
    answer
}
