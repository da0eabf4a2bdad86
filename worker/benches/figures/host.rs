//! What making a sandbox and replacing a cell cost, off any job's path.

use crate::stats::{line, ms};
use crate::{Failure, STATIC_PROGRAM, rounds};
use kiln::execute::{self, Task, memfd};
use kiln::pool::watch::Watchers;
use kiln::pool::{Order, Pool, Sizes};
use kiln::sandbox::host::{Greeting, Host};
use kiln::sandbox::{Leased, Sandbox};
use kiln_keeper::spec::Program;
use kiln_protocol::limits::{LimitRequest, Limits};
use kiln_warden::client::{self, Options, Spawned};
use kiln_warden::profile::{Profiles, Reuse};
use std::process::{Child, Command};
use std::sync::Arc;
use std::time::Instant;

/// A warden with a pool.
pub(crate) struct Bench {
    pub(crate) host: Arc<Host>,
    pub(crate) pool: Arc<Pool>,
    pub(crate) limits: Limits,
    warden: Child,
}

impl Bench {
    pub(crate) async fn open(places: usize) -> Result<Self, Failure> {
        let mut profiles = Profiles::built_in();
        profiles.set_default_reuse(Reuse::Any);
        let limits = profiles
            .get("command")
            .ok_or("the built-in profile `command`")?
            .limits
            .resolve(&LimitRequest::default())
            .map_err(|refusals| format!("{refusals:?}"))?;
        let Spawned { socket, child } = client::spawn(&Options::default())?;
        let host = match Host::greet(socket).await? {
            Greeting::Ready(host) => Arc::new(host),
            Greeting::Refused { message, remedy } => {
                return Err(format!("{message}; {remedy}").into());
            }
        };
        let pool = Pool::open(
            Arc::clone(&host),
            Arc::new(profiles),
            Sizes::Same(places),
            Watchers::default(),
        );
        Ok(Self {
            host,
            pool,
            limits,
            warden: child,
        })
    }

    /// `unused`: one that no job has used.
    pub(crate) async fn lease(&self, unused: bool) -> Result<Sandbox<Leased>, Failure> {
        let order = Order {
            profile: "command".into(),
            tenant: "bench".into(),
            unused,
        };
        Ok(self.pool.lease(&order).await?.0)
    }

    pub(crate) fn task(&self) -> Result<Task, Failure> {
        let program = Program {
            argv: STATIC_PROGRAM.map(|a| a.as_bytes().to_vec()).to_vec(),
            env: vec![b"PATH=/usr/bin:/bin".to_vec()],
        };
        let stdin = memfd::sealed("stdin", b"")?;
        Ok(Task {
            limits: self.limits,
            deadline: None,
            affinity: 0,
            program,
            inputs: Vec::new(),
            stdin,
            live: None,
            network: None,
            secrets: kiln::secrets::Values::default(),
            on_start: Box::new(|| ()),
        })
    }

    /// One job, from its start to the figures of its end; the sandbox goes back, or retires where
    /// there is a reason.
    pub(crate) async fn job(
        &self,
        leased: Sandbox<Leased>,
        condemned: Option<&'static str>,
    ) -> Result<f64, Failure> {
        let task = self.task()?;
        let began = Instant::now();
        let started = execute::start(leased, task).await?;
        let (spent, run) = started.wait(Box::pin(std::future::pending())).await?;
        let took = ms(began.elapsed());
        if run.ended.status != Some(0) || run.stdout.total_bytes == 0 {
            return Err(format!("the program failed: {run:?}").into());
        }
        self.pool.hand_back(spent, condemned);
        Ok(took)
    }

    pub(crate) async fn close(mut self) -> Result<(), Failure> {
        self.pool.close();
        self.host.shut_down().await?;
        self.warden.wait()?;
        Ok(())
    }
}

/// Wall time of making sandboxes, one after another, each with its first cell.
pub(crate) async fn create() -> Result<(), Failure> {
    let bench = Bench::open(1).await?;
    let mut samples = Vec::new();
    for _ in 0..rounds(60) {
        let began = Instant::now();
        let made = bench.host.create("command").await?;
        samples.push(ms(began.elapsed()));
        bench.host.retire(made.line.id).await?;
    }
    line("create a sandbox with its first cell", samples);
    bench.close().await
}

/// CPU time of one job with everything around it, against the same program without a sandbox.
pub(crate) async fn cycle() -> Result<(), Failure> {
    let n = rounds(300);
    let floor_began = children_cpu_ms()?;
    for _ in 0..n {
        Command::new(STATIC_PROGRAM[0])
            .args(&STATIC_PROGRAM[1..])
            .output()?;
    }
    let floor = (children_cpu_ms()? - floor_began) / count(n);
    let mut per_job = Vec::new();
    // The warden's own start and end are the difference between few jobs and many.
    for jobs in [10, 10 + n] {
        let began = children_cpu_ms()?;
        let bench = Bench::open(1).await?;
        for _ in 0..jobs {
            let leased = bench.lease(false).await?;
            bench.job(leased, None).await?;
        }
        bench.close().await?;
        per_job.push(children_cpu_ms()? - began);
    }
    let whole = (per_job[1] - per_job[0]) / count(n);
    println!(
        "CPU of a job with its cell replaced and proved {whole:.2} ms; the program alone {floor:.2} ms; \
         the replacement {:.2} ms",
        whole - floor
    );
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "a few hundred")]
fn count(n: usize) -> f64 {
    n as f64
}

/// CPU time of every child that was waited for, in milliseconds (in steps of 10).
fn children_cpu_ms() -> Result<f64, Failure> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = stat
        .rsplit_once(')')
        .ok_or("a stat line")?
        .1
        .split_whitespace()
        .collect();
    // Counted after the name: 13 is cutime, 14 cstime, in ticks of 10 ms.
    let ticks = fields[13].parse::<f64>()? + fields[14].parse::<f64>()?;
    Ok(ticks * 10.0)
}
