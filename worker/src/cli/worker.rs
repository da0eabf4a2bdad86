//! `kiln worker`: jobs from the queue, until somebody wants it to end.

mod surface;

use super::config;
use super::exit::Exit;
use super::run::{engine_stop, shut_down};
use super::signals::Asked;
use super::stop::Stop;
use super::unkept::store_stop_at;
use crate::backoff::Backoff;
use crate::config::{Amqp, Config, Store, worker_name};
use crate::engine::{Engine, EngineOptions, Prepared, Sizing};
use crate::fault::chain;
use crate::intake::Source;
use crate::intake::amqp::{Broker, BrokerError, BrokerOptions};
use crate::journal::{Journal, JournalError};
use crate::pool::watch::{Watch, Watchers};
use crate::registry::{Identity, Registry};
use crate::screen::clamd::Clamd;
use crate::service::{self, Drained, Parts, RecoveryError, Signals, Terms};
use crate::store::ledger::Ledger;
use crate::telemetry::engines;
use crate::telemetry::event::Reaped;
use crate::telemetry::holdings::{Holdings, Watching};
use crate::telemetry::metric::{Disk, Metrics, Orphan};
use crate::telemetry::readiness::{Condition, Readiness};
use crate::telemetry::trace::{Exporter, Traces};
use crate::telemetry::{http, status};
use kiln_protocol::job::Class;
use kiln_protocol::topology::jobs_queue;
use kiln_warden::profile::Reuse;
use kiln_warden::{CGROUP_PARENT, RUNTIME};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long is waited at most before what was left is told again to a store that does not answer.
const AGAIN_MAX: Duration = Duration::from_secs(5);

/// Take jobs from the queue and run them.
///
/// Ends on SIGTERM: takes nothing new, gives back what has not started, finishes what runs within
/// the grace (exit 0), then kills the rest and gives it back (exit 1). A second SIGTERM goes there
/// at once. 69 if the platform failed, 78 for a wrong configuration.
#[derive(Debug, clap::Args)]
pub(super) struct WorkerArgs {
    /// The configuration
    #[arg(long, value_name = "KILN.TOML")]
    config: Option<PathBuf>,
    /// Jobs that run at once [default: `worker.slots`, else the CPUs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1_024))]
    slots: Option<u16>,
    /// The name in outcomes [default: `worker.name`, else the host's]
    #[arg(long, value_name = "NAME", value_parser = worker_name)]
    name: Option<String>,
}

/// Serves until a signal.
pub(super) fn run(args: WorkerArgs) -> Result<Exit, Stop> {
    let mut config = config::load_worker(args.config.as_deref())?;
    if let Some(slots) = args.slots {
        config.worker.slots = slots.into();
    }
    if let Some(name) = args.name {
        config.worker.name = name;
    }
    let amqp = config
        .check_for_worker()
        .map_err(|errors| config::wrong(&errors))?
        .clone();
    super::doctor::preflight()?;
    let prepared = Engine::prepare(&engine(&config)).map_err(|error| engine_stop(&error))?;
    surface::give_up(&config)?;
    super::on_threads(&super::worker_runtime()?, serve(config, amqp, prepared))
}

/// How the engine is set up, as far as the configuration says it.
fn engine(config: &Config) -> EngineOptions {
    EngineOptions {
        sizing: Sizing::Worker,
        reuse: Reuse::Tenant,
        ..config.engine(config.worker.slots, Vec::new())
    }
}

async fn serve(config: Config, amqp: Amqp, prepared: Prepared) -> Result<Exit, Stop> {
    let mut asked = Asked::listen().map_err(|error| Stop::unavailable(&error))?;
    super::logs::listen().map_err(|error| Stop::unavailable(&error))?;
    let journal = Journal::open(&config.worker.state).map_err(|error| match error {
        JournalError::Taken { .. } | JournalError::Make { .. } => config_stop(&error),
        other => Stop::unavailable(&other),
    })?;
    let metrics = Metrics::of(&config.profiles);
    metrics.consumer_timeout(amqp.consumer_timeout);
    let readiness = Readiness::new();
    let server = match config.telemetry.listen {
        None => None,
        Some(listen) => Some(
            http::serve(listen, watched(&config, &metrics, &readiness))
                .await
                .map_err(|error| config_stop(&error))?,
        ),
    };
    let (traces, exporter) = traces(&config, &metrics)?;
    let ledger = Ledger::open(&config.store, Arc::clone(&metrics))
        .await
        .map_err(|error| store_stop_at(&config.store, &error))?
        .with_spool(&config.worker.state)
        .with_log()
        .await;
    let registry = Registry::start(
        config.redis.as_ref(),
        identity(&config),
        Arc::clone(&metrics),
    );
    let watchers: [Arc<dyn Watch>; 2] = [Arc::clone(&metrics) as _, Arc::new(registry.clone())];
    let options = EngineOptions {
        watchers: Watchers::new(watchers.into()),
        listeners: vec![Arc::clone(&metrics) as _],
        ..engine(&config)
    };
    let engine = tokio::select! {
        engine = Engine::begin(options, prepared) => engine.map_err(|error| Some(engine_stop(&error))),
        () = asked.next() => Err(None),
    };
    let engine = match engine {
        Ok(engine) => engine,
        Err(why) => return unserved(registry, None, why).await,
    };
    readiness.set(Condition::Pool, true, "");
    // It may wait for long.
    let starting = readiness.starting();
    let started = tokio::select! {
        started = connect(&config, amqp, &journal, &ledger, &readiness, &metrics) => started.map_err(Some),
        () = asked.next() => Err(None),
    };
    let (broker, incoming, sources) = match started {
        Ok(started) => started,
        Err(why) => return unserved(registry, Some(engine), why).await,
    };
    tracing::info!(
        worker = config.worker.name,
        slots = config.worker.slots,
        "consumes from its queues"
    );
    let _watching = watch(&config, &engine, &metrics);
    let clamd = config.scanner.clamd.clone().map(Clamd::new);
    let _asking = clamd.map(|clamd| engines::ask(clamd, Arc::clone(&metrics)));
    let drain_asked = registry.clone();
    let parts = Parts {
        engine,
        broker,
        ledger,
        registry,
        journal,
        metrics,
        readiness,
        traces,
        sources,
        shares: config
            .tenants
            .iter()
            .map(|(t, s)| (t.clone(), s.share))
            .collect(),
        terms: terms(config),
    };
    // From here on its loop says that it lives.
    drop(starting);
    let (drained, closed) = service::run(parts, incoming, wishes(asked, drain_asked)).await;
    if let Some(exporter) = exporter {
        exporter.close().await;
    }
    if let Some(server) = server {
        server.close().await;
    }
    if let Err(error) = closed {
        tracing::error!(error = chain(&error), "the engine left something behind");
    }
    Ok(match drained {
        Drained::Whole => Exit::Succeeded,
        Drained::Cut { jobs } => {
            tracing::warn!(jobs, "killed at the end and given back");
            Exit::Failed
        }
        Drained::WardenGone => Exit::Unavailable,
    })
}

/// Ends what there is of a worker that has not begun to serve: it was asked to, where nothing else
/// is the reason.
async fn unserved(
    registry: Registry,
    engine: Option<Engine>,
    why: Option<Stop>,
) -> Result<Exit, Stop> {
    registry.close().await;
    if let Some(engine) = engine {
        shut_down(engine).await;
    }
    why.map_or(Ok(Exit::Succeeded), Err)
}

/// Where traces go, and who brings them there.
fn traces(config: &Config, metrics: &Arc<Metrics>) -> Result<(Traces, Option<Exporter>), Stop> {
    let Some(otlp) = &config.telemetry.otlp else {
        return Ok((Traces::off(), None));
    };
    let to = Traces::to(otlp, &config.worker.name, Arc::clone(metrics));
    let (traces, exporter) = to.map_err(|error| config_stop(&error))?;
    Ok((traces, Some(exporter)))
}

/// What the listener shows.
fn watched(config: &Config, metrics: &Arc<Metrics>, readiness: &Readiness) -> http::Watched {
    http::Watched {
        identity: status::Identity {
            worker: config.worker.name.clone(),
            grace: config.worker.grace,
        },
        metrics: Arc::clone(metrics),
        readiness: readiness.clone(),
    }
}

fn terms(config: Config) -> Terms {
    let (trust_tenant, reply_prefixes) = config
        .amqp
        .map(|amqp| (amqp.trust_tenant, amqp.reply_prefixes))
        .unwrap_or_default();
    Terms {
        canary: config.worker.canary,
        state: config.worker.state,
        worker: config.worker.name,
        slots: config.worker.slots,
        grace: config.worker.grace,
        trust_tenant,
        reply_prefixes,
    }
}

/// Tells the fleet what a dead worker left here, and then begins to consume.
async fn connect(
    config: &Config,
    amqp: Amqp,
    journal: &Journal,
    ledger: &Ledger,
    readiness: &Readiness,
    metrics: &Arc<Metrics>,
) -> Result<(Broker, Incoming, Vec<Arc<Source>>), Stop> {
    let mut backoff = Backoff::new(AGAIN_MAX);
    while let Err(error) = service::recover(journal, ledger, &config.worker.name).await {
        tracing::warn!(
            error = chain(&error),
            "what the last worker left is not told yet"
        );
        let (at_fault, why) = match error {
            RecoveryError::Journal(_) => {
                (Condition::State, "what the last worker left is not read")
            }
            RecoveryError::Store(_) => (Condition::Store, "what the last worker left is not told"),
        };
        readiness.set(at_fault, false, why);
        backoff.wait().await;
    }
    readiness.set(Condition::State, true, "");
    metrics.store_up(ledger.reachable());
    readiness.set(
        Condition::Store,
        ledger.reachable(),
        "the store does not answer, or is full",
    );
    readiness.set(Condition::Broker, false, "RabbitMQ has not answered yet");
    let sources = sources(config, &amqp);
    let options = BrokerOptions {
        url: amqp.url,
        name: config.worker.name.clone(),
        topology: amqp.topology,
        tenants: config.tenants.keys().cloned().collect(),
        sources: sources.clone(),
        prefetch: u16::try_from(config.worker.slots).unwrap_or(u16::MAX),
    };
    let (broker, incoming) =
        Broker::start(options, Arc::clone(metrics))
            .await
            .map_err(|error| match error {
                BrokerError::Topology(mut lines) => {
                    if lines.iter().any(|line| line.ends_with(" is missing")) {
                        lines.push("`kiln topology apply` makes what is missing".to_owned());
                    }
                    Stop::new(Exit::Config, lines)
                }
                other => Stop::unavailable(&other),
            })?;
    Ok((broker, incoming, sources))
}

type Incoming = tokio::sync::mpsc::UnboundedReceiver<crate::intake::Incoming>;

/// The queue of each class that is served, and of each tenant with queues of its own.
fn sources(config: &Config, amqp: &Amqp) -> Vec<Arc<Source>> {
    let tenants = || std::iter::once(None).chain(config.tenants.keys().map(Some));
    let of = |class: &Class| {
        let class = *class;
        tenants().map(move |tenant| {
            Arc::new(Source {
                queue: jobs_queue(class, tenant),
                class,
                tenant: tenant.cloned(),
            })
        })
    };
    amqp.queues.iter().flat_map(of).collect()
}

/// Counts what the worker finds of the machine's, and what it has of it from now on.
fn watch(config: &Config, engine: &Engine, metrics: &Arc<Metrics>) -> Watching {
    Reaped {
        kind: Orphan::Instance,
        count: engine.swept().into(),
    }
    .emit(metrics);
    let (instance, monitor) = engine.instance();
    let parent = config.worker.cgroup_parent.as_deref();
    let runtime = config.worker.runtime.as_deref();
    let mut disks = vec![
        (Disk::State, config.worker.state.clone()),
        (
            Disk::Runtime,
            runtime.unwrap_or(Path::new(RUNTIME)).to_owned(),
        ),
    ];
    if let Store::Files(folder) = &config.store {
        disks.push((Disk::Store, folder.clone()));
    }
    let holdings = Holdings {
        monitor,
        group: Path::new(parent.unwrap_or(CGROUP_PARENT)).join(instance),
        disks,
    };
    holdings.watch(Arc::clone(metrics))
}

fn identity(config: &Config) -> Identity {
    Identity {
        worker: config.worker.name.clone(),
        host: Config::host_name(),
        slots: config.worker.slots,
    }
}

/// Signals, and the word of an operator by way of the registry.
fn wishes(mut asked: Asked, registry: Registry) -> Signals {
    let (send, wishes) = tokio::sync::mpsc::unbounded_channel();
    let by_signal = send.clone();
    tokio::spawn(async move {
        loop {
            asked.next().await;
            if by_signal.send(()).is_err() {
                break;
            }
        }
    });
    tokio::spawn(async move {
        registry.drain_asked().await;
        tracing::info!("an operator wants this worker to drain");
        if send.send(()).is_err() {
            tracing::debug!("it ends already");
        }
    });
    Signals::new(wishes)
}

fn config_stop(error: &dyn std::error::Error) -> Stop {
    Stop::new(Exit::Config, vec![chain(error)])
}
