//! How long is it from a fault of a dependency to the panel that shows it and to its alert, at life's own pace?
//!
//! `target/debug/minute`, after `cargo build -p kiln -p acceptance --bins`; ten minutes. Prometheus asks each 15 s, as in
//! `dashboards/provisioning`, by the rules that are checked in. Fails where an alert takes more than a minute.

use acceptance::dashboards::queries;
use acceptance::drill::Drill;
use acceptance::faults::Proxy;
use acceptance::leftovers::wait_for;
use acceptance::stack::broker::Broker;
use acceptance::stack::clamd::Clamd;
use acceptance::stack::letter::Letter;
use acceptance::stack::objects::Objects;
use acceptance::stack::redis::Redis;
use acceptance::stack::world::{World, bash};
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

const A_MINUTE: Duration = Duration::from_mins(1);
/// After that it is given up.
const LATE: Duration = Duration::from_mins(3);
/// As many seconds as a panel's `$__rate_interval` has where Prometheus asks each 15 s.
const RATE_INTERVAL: u32 = 60;

/// One fault of one dependency, and where it is to be seen.
struct Fault {
    name: &'static str,
    panel: &'static str,
    alert: &'static str,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Broker,
    Redis,
    Store,
    Clamd,
    Image,
}

const FAULTS: [Fault; 5] = [
    Fault {
        name: "RabbitMQ is killed",
        panel: "kiln-queue: Connections",
        alert: "KilnBrokerAway",
        kind: Kind::Broker,
    },
    Fault {
        name: "Redis is killed",
        panel: "kiln-queue: Redis",
        alert: "KilnRedisAway",
        kind: Kind::Redis,
    },
    Fault {
        name: "the store is away",
        panel: "kiln-queue: Store",
        alert: "KilnStoreAway",
        kind: Kind::Store,
    },
    Fault {
        name: "clamd is killed",
        panel: "kiln-gate: clamd answers",
        alert: "KilnClamdAway",
        kind: Kind::Clamd,
    },
    // The last: what it did is in the windows of its alert for five minutes.
    Fault {
        name: "an image is gone",
        panel: "kiln-pool: Could not be made",
        alert: "KilnSandboxesFail",
        kind: Kind::Image,
    },
];

/// What the worker leans on.
struct Servers {
    broker: Arc<Broker>,
    redis: Redis,
    clamd: Clamd,
    store: Proxy,
    image: PathBuf,
}

impl Servers {
    fn breaks(&mut self, kind: Kind) {
        match kind {
            Kind::Broker => self.broker.kill9(),
            Kind::Redis => self.redis.kill9(),
            Kind::Store => {
                self.store.refuse(true);
                self.store.reset();
            }
            Kind::Clamd => self.clamd.kill9(),
            Kind::Image => std::fs::remove_dir_all(&self.image).expect("ours"),
        }
    }

    fn heals(&mut self, kind: Kind) {
        match kind {
            Kind::Broker => {
                self.broker.revive();
                self.broker.wait_ready();
            }
            Kind::Redis => self.redis.revive(),
            Kind::Store => {
                self.store.refuse(false);
                self.store.heal();
            }
            Kind::Clamd => self.clamd.revive(),
            Kind::Image => std::fs::create_dir_all(self.image.join("usr")).expect("ours"),
        }
    }
}

impl Fault {
    /// Whether a value of its panel says that something is wrong.
    fn is_wrong(&self, value: f64) -> bool {
        match self.kind {
            Kind::Image => value > 0.0,
            _ => value < 0.5,
        }
    }

    /// What is sent meanwhile.
    fn load(&self, drill: &Drill) {
        match self.kind {
            Kind::Broker => {}
            Kind::Image => {
                let job = of_a_profile("broken");
                drill.world.client.send(&[Letter::job("batch", &job)]);
            }
            _ => drill.load(),
        }
    }
}

/// A job of a profile whose image may be gone.
fn of_a_profile(name: &str) -> Value {
    let mut job = bash("x");
    job["profile"] = name.into();
    job["command"] = json!(["true"]);
    job.as_object_mut().expect("an object").remove("code");
    job
}

/// From now until the panel, and then the alert.
fn seen(drill: &Drill, fault: &Fault) -> [Option<Duration>; 2] {
    let began = Instant::now();
    let exprs: Vec<_> = queries()
        .into_iter()
        .filter(|query| query.panel == fault.panel)
        .collect();
    assert!(!exprs.is_empty(), "there is no panel `{}`", fault.panel);
    let shows = || {
        let series = exprs
            .iter()
            .filter_map(|query| drill.prometheus.query(&query.plain(RATE_INTERVAL)).ok());
        let value = |one: Value| {
            one["value"][1]
                .as_str()
                .and_then(|it| it.parse::<f64>().ok())
        };
        series
            .flatten()
            .filter_map(value)
            .any(|value| fault.is_wrong(value))
    };
    let fires = || {
        drill
            .prometheus
            .firing()
            .iter()
            .any(|it| it.alert == fault.alert)
    };
    let mut when = [None, None];
    let mut loaded = Instant::now();
    wait_for(LATE, || {
        if loaded.elapsed() > Duration::from_secs(1) {
            fault.load(drill);
            loaded = Instant::now();
        }
        let passed = || Some(began.elapsed());
        when[0] = when[0].or_else(|| shows().then(passed).flatten());
        when[1] = when[1].or_else(|| fires().then(passed).flatten());
        when.iter().all(Option::is_some)
    });
    when
}

fn told(when: Option<Duration>) -> String {
    when.map_or_else(
        || "never".to_owned(),
        |when| format!("{:.0} s", when.as_secs_f64()),
    )
}

fn main() -> ExitCode {
    let objects = Objects::start();
    objects.bucket("kiln");
    let broker = Arc::new(Broker::start(""));
    let mut world = World::on(Arc::clone(&broker));
    let mut servers = Servers {
        broker,
        redis: Redis::start(),
        clamd: Clamd::start(),
        store: Proxy::before(objects.port()),
        image: world.folder().path().join("image"),
    };
    servers.heals(Kind::Image);
    world
        .add("a", |setup| {
            let (store, clamd) = (servers.store.port(), servers.clamd.address());
            setup.redis = Some(servers.redis.url());
            setup.store = format!("url = \"s3://kiln\"\nendpoint = \"http://127.0.0.1:{store}\"");
            setup.env.extend(Objects::credentials());
            let image = servers.image.display();
            let of_image = format!("[profiles.broken]\nimage = \"dir:{image}\"\n");
            setup.more = format!("[scanner]\nclamd = \"{clamd}\"\n\n{of_image}");
        })
        .up();
    world.client.wait_bound();
    let drill = Drill::at(world, 1);
    let mut late = Vec::new();
    for fault in FAULTS {
        servers.breaks(fault.kind);
        let when = seen(&drill, &fault);
        let line = format!(
            "{:<20} {:<30} {:>6}  {:<18} {:>6}",
            fault.name,
            fault.panel,
            told(when[0]),
            fault.alert,
            told(when[1])
        );
        writeln!(std::io::stdout(), "{line}").ok();
        if when.iter().any(|it| it.is_none_or(|it| it > A_MINUTE)) {
            late.push(fault.name);
        }
        servers.heals(fault.kind);
        if fault.kind != Kind::Image {
            drill.quiet(fault.alert, &|| drill.load());
        }
    }
    if late.is_empty() {
        return ExitCode::SUCCESS;
    }
    writeln!(std::io::stderr(), "over a minute: {}", late.join(", ")).ok();
    ExitCode::FAILURE
}
