//! Slurm on this machine with two slots: a plan as an array of jobs, its workers killed.
//!
//! The daemons are Debian's, under a folder of their own with a key, ports and state of their own. They need neither cgroups nor
//! a database, but root.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::Options;
use super::outcome::{Cost, Killer, Trial, seconds};
use crate::steps::{bring, is_required, root};

const PROGRAMS: [(&str, &str); 4] =
    [("munged", "munge"), ("slurmctld", "slurmctld"), ("slurmd", "slurmd"), ("sbatch", "slurm-client")];
/// How often Slurm is asked whether the job is done.
const ASK: Duration = Duration::from_millis(300);
/// A cluster that does nothing for so long does not work.
const HANGS: Duration = Duration::from_secs(600);

/// Scores a plan on Slurm and compares with one batch. Where Slurm cannot run, it says so; `VISUS_REQUIRE=slurm` makes that an
/// error.
pub fn check(options: &Options) -> Result<()> {
    PROGRAMS.iter().for_each(|(program, package)| bring(program, package));
    let folder = tempfile::Builder::new().prefix("visus-slurm-").tempdir()?;
    let cluster = match Cluster::start(folder.path()) {
        Ok(cluster) => cluster,
        Err(error) if is_required("slurm") => return Err(error),
        Err(error) => {
            eprintln!("!!! Slurm does not run here ({error:#}): THIS CHECK IS LEFT OUT");
            return Ok(());
        }
    };
    let trial = Trial::new(&options.visus, folder.path(), options)?;
    let shards = options.shards.to_string();
    trial.rounds(options.rounds, &["--shards", &shards], || {
        let started = Instant::now();
        let job = cluster.submit(&options.visus, &trial.plan, options.shards)?;
        let kills = cluster.kill_until_done(&job, &trial.plan, options.kill_every)?;
        let wall = started.elapsed().as_secs_f64();
        let times = |shard| seconds(&folder.path().join(format!("work.{shard}.times")));
        let processor = (0..options.shards).map(times).sum::<Result<f64>>()?;
        Ok((Cost { wall, processor }, kills))
    })
}

/// The daemons; they end with this.
struct Cluster {
    folder: PathBuf,
    daemons: Vec<Child>,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = self.command("scancel").args(["--signal=KILL", "--full", "--user=root"]).status();
        for daemon in self.daemons.iter_mut().rev() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

impl Cluster {
    fn start(folder: &Path) -> Result<Self> {
        let host = String::from_utf8(Command::new("hostname").arg("-s").output()?.stdout)?;
        std::fs::write(folder.join("slurm.conf"), configuration(folder, host.trim())?)?;
        for state in ["controller", "node"] {
            std::fs::create_dir(folder.join(state))?;
        }
        let mut cluster = Self { folder: folder.to_path_buf(), daemons: Vec::new() };
        cluster.start_munge()?;
        let configuration = folder.join("slurm.conf");
        for program in ["slurmctld", "slurmd"] {
            let mut command = Command::new(program);
            command.arg("-D").arg("-f").arg(&configuration);
            cluster.spawn(command, program)?;
        }
        cluster.wait_for_node()?;
        Ok(cluster)
    }

    /// What a daemon says goes to a file of its name.
    fn spawn(&mut self, mut command: Command, name: &str) -> Result<()> {
        let said = std::fs::File::create(self.folder.join(format!("{name}.out")))?;
        command.stdin(Stdio::null()).stdout(said.try_clone()?).stderr(said);
        self.daemons.push(command.spawn().with_context(|| format!("{name} does not start"))?);
        Ok(())
    }

    fn start_munge(&mut self) -> Result<()> {
        use std::io::Read;
        use std::os::unix::fs::PermissionsExt;
        let folder = self.folder.join("munge");
        std::fs::create_dir(&folder)?;
        std::fs::set_permissions(&self.folder, PermissionsExt::from_mode(0o755))?;
        std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o755))?;
        let mut key = vec![0; 1024];
        std::fs::File::open("/dev/urandom")?.read_exact(&mut key)?;
        let path = folder.join("key");
        std::fs::write(&path, key)?;
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o400))?;
        let mut command = Command::new("munged");
        command.args(["--foreground", "--force"]);
        for (option, name) in [
            ("key-file", "key"),
            ("socket", "socket"),
            ("pid-file", "pid"),
            ("log-file", "log"),
            ("seed-file", "seed"),
        ] {
            command.arg(format!("--{option}={}", folder.join(name).display()));
        }
        self.spawn(command, "munged")?;
        self.until("munged listens", || Ok(folder.join("socket").exists()))
    }

    /// A command of Slurm, for this cluster.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", self.folder.join("slurm.conf"));
        command
    }

    fn asked(&self, program: &str, args: &[&str]) -> Result<String> {
        let output = self.command(program).args(args).output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{program} {args:?}: {said}");
        Ok(String::from_utf8(output.stdout)?)
    }

    fn until(&self, what: &str, is_so: impl Fn() -> Result<bool>) -> Result<()> {
        let started = Instant::now();
        while !is_so()? {
            if started.elapsed() > Duration::from_secs(90) {
                bail!("waited too long until {what}");
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        Ok(())
    }

    fn wait_for_node(&self) -> Result<()> {
        let idle = || Ok(self.asked("sinfo", &["-h", "-o", "%t"]).is_ok_and(|state| state.trim() == "idle"));
        self.until("the node is ready", idle)
    }

    /// Submits the plan with the script that ships; the number of the job.
    fn submit(&self, visus: &Path, plan: &Path, shards: usize) -> Result<String> {
        // The script that ships, within one that notes what it cost.
        let script = self.folder.join("job.sh");
        let shipped = root().join("packaging/scale/slurm.sbatch");
        let text = format!(
            "#!/bin/bash\nVISUS_RETRY_SECONDS=0.1 VISUS='{}' sh '{}' '{}' -q -t 1\ncode=$?\ntimes > '{}'/work.$SLURM_ARRAY_TASK_ID.times\nexit $code\n",
            visus.display(),
            shipped.display(),
            plan.display(),
            self.folder.display()
        );
        std::fs::write(&script, text)?;
        let array = format!("--array=0-{}", shards - 1);
        let output = self.folder.join("job-%a.out");
        let said = self.asked(
            "sbatch",
            &["--parsable", &array, "--ntasks=1", "-o", &output.to_string_lossy(), &script.to_string_lossy()],
        )?;
        Ok(said.trim().to_owned())
    }

    /// Kills all workers again and again until the job is done; how many.
    fn kill_until_done(&self, job: &str, plan: &Path, every: Duration) -> Result<usize> {
        let (started, mut asked, mut killer) = (Instant::now(), Instant::now(), Killer::new(plan, every)?);
        let limit = HANGS + every * 200;
        loop {
            if asked.elapsed() >= ASK {
                asked = Instant::now();
                let left = self.asked("squeue", &["-h", "-r", "-o", "%i %t", "--jobs", job]);
                if left.is_ok_and(|left| left.trim().is_empty()) {
                    return Ok(killer.kills);
                }
            }
            killer.turn()?;
            ensure!(started.elapsed() < limit, "the job does not end: {}", self.asked("squeue", &[])?);
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn configuration(folder: &Path, host: &str) -> Result<String> {
    let shown = folder.display();
    let (controller, node) = (free_port()?, free_port()?);
    Ok(format!(
        "ClusterName=visus
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
SlurmctldPort={controller}
SlurmdPort={node}
AuthType=auth/munge
AuthInfo=socket={shown}/munge/socket
StateSaveLocation={shown}/controller
SlurmdSpoolDir={shown}/node
SlurmctldPidFile={shown}/controller.pid
SlurmdPidFile={shown}/node.pid
SlurmctldLogFile={shown}/slurmctld.log
SlurmdLogFile={shown}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MailProg=/bin/true
ReturnToService=2
SchedulerParameters=sched_min_interval=100000,batch_sched_delay=0
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=visus Nodes={host} Default=YES MaxTime=INFINITE OverSubscribe=NO State=UP
"
    ))
}
