//! The arguments of the server's commands.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueHint};
use visus_server::config::EngineKind;
use visus_server::tools::offer::{Offer, SetName};

#[derive(Debug, ClapArgs)]
pub struct ServeArgs {
    /// Port to listen on; 0 lets the system choose [default: VMAFX_PORT, else 8080]
    #[arg(short, long)]
    pub port: Option<String>,

    /// Address to listen on; any but a loopback address needs VMAFX_MCP_HTTP_TOKEN [default: VMAFX_MCP_HTTP_BIND, else
    /// 127.0.0.1]
    #[arg(short, long, value_name = "ADDRESS")]
    pub bind: Option<String>,

    /// An additional folder or file that clients may read; repeatable
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::AnyPath)]
    pub allow: Vec<PathBuf>,

    /// An additional Host header to accept besides localhost; repeatable
    #[arg(long = "host", value_name = "NAME", value_hint = ValueHint::Hostname)]
    pub hosts: Vec<String>,

    /// Scoring engine: native, or external (a vmaf executable) [default: native, or external if VMAF_BIN is set]
    #[arg(long)]
    pub engine: Option<EngineKind>,

    #[command(flatten)]
    pub limits: LimitArgs,

    #[command(flatten)]
    pub offer: OfferArgs,
}

/// Which tools agents are offered.
#[derive(Debug, ClapArgs)]
pub struct OfferArgs {
    /// Offer these sets of tools over MCP: core, tuning, models, all [default: core,tuning]
    #[arg(long, value_name = "SETS", value_delimiter = ',')]
    pub toolset: Vec<SetName>,

    /// Offer only these tools over MCP, plus those of --toolset if given
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub tools: Vec<String>,
}

impl OfferArgs {
    /// The offer that the flags ask for.
    pub fn offer(&self) -> anyhow::Result<Offer> {
        Offer::from_flags(&self.toolset, &self.tools, Offer::default()).map_err(anyhow::Error::msg)
    }
}

/// What the server may take and touch.
#[derive(Clone, Debug, Default, ClapArgs)]
pub struct LimitArgs {
    /// Memory budget of all jobs together, such as 4G; jobs that exceed it wait or are refused [default: VISUS_MEMORY, else
    /// half of the machine's memory, or three quarters of the container's limit]
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<String>,

    /// A folder that clients may write to, in addition to VISUS_ALLOW_WRITE; repeatable [default: none]
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub allow_write: Vec<PathBuf>,

    /// Write no files for clients; overrides --allow-write
    #[arg(long)]
    pub read_only: bool,
}

#[derive(Debug, ClapArgs)]
pub struct McpArgs {
    /// Scoring engine: native, or external (a vmaf executable) [default: native, or external if VMAF_BIN is set]
    #[arg(long, value_name = "ENGINE")]
    pub engine: Option<EngineKind>,

    /// An additional folder that clients may read, besides those of VMAF_MCP_ALLOW; repeatable
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub allow: Vec<PathBuf>,

    #[command(flatten)]
    pub limits: LimitArgs,

    #[command(flatten)]
    pub offer: OfferArgs,
}

#[derive(Debug, ClapArgs)]
pub struct DoctorArgs {
    /// Print findings as JSON
    #[arg(long)]
    pub json: bool,
}
