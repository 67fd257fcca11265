//! Slurm on this machine with two slots: a plan as an array of jobs, its workers killed.
//!
//! The daemons are Debian's, under a folder of their own with a key, ports and state of their own. They need neither cgroups nor
//! a database, but root.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::{Options, clips};
use crate::steps::{bring, is_required, root, succeeds};

const PROGRAMS: [(&str, &str); 4] =
    [("munged", "munge"), ("slurmctld", "slurmctld"), ("slurmd", "slurmd"), ("sbatch", "slurm-client")];
const SHARDS: usize = 40;
/// How often Slurm is asked whether the job is done.
const ASK: Duration = Duration::from_secs(1);
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
    let list = clips::write(folder.path(), options.pairs)?;
    let plan = folder.path().join("plan");
    let mut planned = Command::new(&options.visus);
    planned.arg("plan").arg(&list).args(["--shards", &SHARDS.to_string(), "--quiet", "-o"]).arg(&plan);
    succeeds(planned.args(["--", "-m", "v0.6.1"]))?;
    let job = cluster.submit(&options.visus, &plan)?;
    let kills = cluster.kill_until_done(&job, &plan, options.kill_every)?;
    ensure!(kills > 0, "no worker was killed: the run shows nothing");
    compare(options, folder.path(), &list, &plan)?;
    let batch = seconds(&folder.path().join("batch.times"))?;
    let mut workers = 0.0;
    for shard in 0..SHARDS {
        workers += seconds(&folder.path().join(format!("work.{shard}.times")))?;
    }
    println!(
        "ok: {} pairs in {SHARDS} shards, {kills} workers killed, 0 lost, 0 double; {workers:.1} s of processor time, one batch {batch:.1} s",
        options.pairs
    );
    Ok(())
}

/// Gathers, scores the same list with one batch, and compares line by line, speed aside.
pub fn compare(options: &Options, folder: &Path, list: &Path, plan: &Path) -> Result<()> {
    let (gathered, batch) = (folder.join("gathered.ndjson"), folder.join("batch.ndjson"));
    succeeds(Command::new(&options.visus).arg("gather").arg(plan).arg("-q").arg("-o").arg(&gathered))?;
    let mut shell = Command::new("bash");
    shell
        .arg("-c")
        .arg("\"$0\" batch \"$1\" -m v0.6.1 -t 2 -q -o \"$2\"; code=$?; times > \"$3\"; exit $code");
    succeeds(shell.arg(&options.visus).arg(list).arg(&batch).arg(folder.join("batch.times")))?;
    let (gathered, batch) = (lines(&gathered)?, lines(&batch)?);
    ensure!(gathered.len() == options.pairs, "{} of {} lines were gathered", gathered.len(), options.pairs);
    ensure!(batch.len() == options.pairs, "a batch wrote {} of {} lines", batch.len(), options.pairs);
    for (row, (got, expected)) in gathered.iter().zip(&batch).enumerate() {
        ensure!(got == expected, "row {}:\n{got}\nis not\n{expected}", row + 1);
    }
    Ok(())
}

/// Lines in the order of rows, without the speed.
fn lines(path: &Path) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let mut lines: Vec<Value> = text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    lines.sort_by_key(|line| line["row"].as_u64());
    for line in &mut lines {
        line.as_object_mut().context("a line is no object")?.shift_remove("fps");
    }
    Ok(lines.iter().map(Value::to_string).collect())
}

/// Processor time of all children, from what the shell's `times` wrote: `0m1.5s 0m0.2s` in its second line.
pub fn seconds(path: &Path) -> Result<f64> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let children = text.lines().nth(1).context("times has two lines")?;
    let second = |word: &str| -> Result<f64> {
        let (minutes, seconds) = word.trim_end_matches('s').split_once('m').context("0m0.0s")?;
        Ok(minutes.parse::<f64>()? * 60.0 + seconds.parse::<f64>()?)
    };
    children.split_whitespace().map(second).sum()
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
    fn submit(&self, visus: &Path, plan: &Path) -> Result<String> {
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
        let array = format!("--array=0-{}", SHARDS - 1);
        let output = self.folder.join("job-%a.out");
        let said = self.asked(
            "sbatch",
            &["--parsable", &array, "--ntasks=1", "-o", &output.to_string_lossy(), &script.to_string_lossy()],
        )?;
        Ok(said.trim().to_owned())
    }

    /// Kills all workers again and again until the job is done; how many.
    fn kill_until_done(&self, job: &str, plan: &Path, every: Duration) -> Result<usize> {
        let (started, mut killed, mut asked, mut kills) = (Instant::now(), Instant::now(), Instant::now(), 0);
        let limit = HANGS + every * 200;
        loop {
            if asked.elapsed() >= ASK {
                asked = Instant::now();
                let left = self.asked("squeue", &["-h", "-r", "-o", "%i %t", "--jobs", job]);
                if left.is_ok_and(|left| left.trim().is_empty()) {
                    return Ok(kills);
                }
            }
            if killed.elapsed() >= every {
                for worker in workers_of(plan)? {
                    killed = Instant::now();
                    let output = Command::new("kill").args(["-KILL", &worker.to_string()]).output()?;
                    kills += usize::from(output.status.success());
                }
            }
            ensure!(started.elapsed() < limit, "the job does not end: {}", self.asked("squeue", &[])?);
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Processes that work on this plan.
pub fn workers_of(plan: &Path) -> Result<Vec<u32>> {
    let plan = plan.to_string_lossy();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc")? {
        let Some(id) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let command = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        let mut words = command.split(|byte| *byte == 0);
        if words.nth(1) == Some(b"work") && words.next() == Some(plan.as_bytes()) {
            found.push(id);
        }
    }
    Ok(found)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_a_shell_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        std::fs::write(&path, "0m0.001s 0m0.002s\n1m2.500s 0m0.250s\n").unwrap();
        assert!((seconds(&path).unwrap() - 62.75).abs() < 1e-9);
    }
}
