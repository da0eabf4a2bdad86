//! Does whoever watches a pool hear of every move, and what does a lease pay for it?
//!
//! Needs root, as every sandbox does, and a `redis-server` for what the registry costs.

use kiln::config::{Redis, Secret};
use kiln::execute::{self, Task, memfd};
use kiln::pool::phase::Phase;
use kiln::pool::watch::{Moved, Watch, Watchers};
use kiln::pool::{Order, Pool, Sizes};
use kiln::registry::{Identity, Registry};
use kiln::sandbox::host::{Greeting, Host};
use kiln::sandbox::{Leased, Sandbox, Spent};
use kiln::telemetry::metric::Metrics;
use kiln_keeper::spec::Program;
use kiln_protocol::limits::{LimitRequest, Limits};
use kiln_warden::client::{self, Options};
use kiln_warden::profile::{Profiles, Reuse};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Remembers what it hears.
#[derive(Debug, Default)]
struct Ear(Mutex<Vec<Moved>>);

impl Watch for Ear {
    fn moved(&self, moved: &Moved) {
        self.0.lock().expect("nothing panics").push(moved.clone());
    }
}

impl Ear {
    /// Every move so far: phase, generation, uses, reason.
    fn heard(&self) -> Vec<(Phase, u64, u32, Option<&'static str>)> {
        let all = self.0.lock().expect("nothing panics");
        all.iter()
            .map(|m| (m.phase, m.generation, m.uses, m.reason))
            .collect()
    }

    async fn hears(&self, moves: usize) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while self.heard().len() < moves {
            assert!(Instant::now() < deadline, "{:?}", self.heard());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

struct Ground {
    host: Arc<Host>,
    pool: Arc<Pool>,
    limits: Limits,
    warden: Child,
    folder: PathBuf,
    /// The control group of this test, below the root of each hierarchy.
    group: String,
}

impl Ground {
    async fn open(sizes: Sizes, watchers: Watchers) -> Self {
        let name = format!("kiln-registry-moves-{}", uuid::Uuid::now_v7());
        let folder = std::env::temp_dir().join(&name);
        std::fs::create_dir(&folder).expect("the folder for temporary files is writable");
        let mut profiles = Profiles::built_in();
        profiles.set_default_reuse(Reuse::Any);
        let command = profiles.get("command").expect("it is built in");
        let limits = command.limits.resolve(&LimitRequest::default());
        let spawned = client::spawn(&Options {
            program: Some(env!("CARGO_BIN_EXE_kiln").into()),
            runtime: Some(folder.join("run")),
            cgroup_parent: Some(format!("/{name}")),
            ..Options::default()
        })
        .expect("a program");
        let greeting = Host::greet(spawned.socket).await.expect("a greeting");
        let host = match greeting {
            Greeting::Ready(host) => Arc::new(host),
            Greeting::Refused { message, remedy } => panic!("needs root: {message}; {remedy}"),
        };
        let pool = Pool::open(Arc::clone(&host), Arc::new(profiles), sizes, watchers);
        Self {
            host,
            pool,
            limits: limits.expect("defaults are in bounds"),
            warden: spawned.child,
            folder,
            group: name,
        }
    }

    async fn lease(&self) -> Sandbox<Leased> {
        let order = Order {
            profile: "command".into(),
            tenant: "acme".into(),
            unused: false,
        };
        self.pool.lease(&order).await.expect("a sandbox").0
    }

    async fn job(&self, leased: Sandbox<Leased>) -> Sandbox<Spent> {
        let task = Task {
            network: None,
            secrets: kiln::secrets::Values::default(),
            on_start: Box::new(|| ()),
            limits: self.limits,
            deadline: None,
            affinity: 0,
            program: Program {
                argv: [b"/sbin/ldconfig".to_vec(), b"--version".to_vec()].to_vec(),
                env: vec![b"PATH=/usr/bin:/bin".to_vec()],
            },
            inputs: Vec::new(),
            stdin: memfd::sealed("stdin", b"").expect("memory"),
            live: None,
        };
        let started = execute::start(leased, task).await.expect("it starts");
        let never = Box::pin(std::future::pending());
        started.wait(never).await.expect("it ends").0
    }

    async fn close(mut self) {
        self.pool.close();
        self.host.shut_down().await.expect("it is there");
        self.warden.wait().expect("it is ours");
        drop(std::fs::remove_dir_all(&self.folder));
        let root = Path::new("/sys/fs/cgroup");
        let hierarchies = std::fs::read_dir(root).expect("there are groups");
        let below = hierarchies.map(|entry| entry.expect("it is read").path());
        for hierarchy in below.chain([root.to_owned()]) {
            // Not every hierarchy is used, and a link leads to one that was done.
            drop(std::fs::remove_dir(hierarchy.join(&self.group)));
        }
    }
}

#[tokio::test]
async fn root_every_move_is_heard_of_and_every_end_says_why() {
    let ear = Arc::new(Ear::default());
    let watchers = Watchers::new(vec![Arc::clone(&ear) as Arc<dyn Watch>]);
    let ground = Ground::open(Sizes::Same(1), watchers).await;
    let spent = ground.job(ground.lease().await).await;
    ground.pool.hand_back(spent, None);
    ear.hears(5).await;
    let spent = ground.job(ground.lease().await).await;
    ground.pool.hand_back(spent, Some("strict"));
    // A lease that nobody uses.
    drop(ground.lease().await);
    ear.hears(11).await;
    let (first, one) = (ear.heard(), |phase, generation, uses| {
        (phase, generation, uses, None)
    });
    let start = first[0].1;
    let next = first[4].1;
    assert!(next > start);
    let wanted = [
        one(Phase::Warm, start, 0),
        one(Phase::Leased, start, 0),
        one(Phase::Running, start, 1),
        one(Phase::Resetting, start, 1),
        one(Phase::Warm, next, 1),
        one(Phase::Leased, next, 1),
        one(Phase::Running, next, 2),
        (Phase::Retired, next, 2, Some("strict")),
        one(Phase::Warm, first[8].1, 0),
        one(Phase::Leased, first[8].1, 0),
        one(Phase::Retired, first[8].1, 0),
    ];
    assert_eq!(first, wanted);
    ground.close().await;
}

#[tokio::test]
async fn root_jobs_get_the_sandbox_in_the_order_in_which_they_came() {
    let ground = Ground::open(Sizes::Same(1), Watchers::default()).await;
    let mut held = ground.lease().await;
    let lease = async |number: u32| (ground.lease().await, number);
    let mut waiting: Vec<_> = (0..8).map(|number| Box::pin(lease(number))).collect();
    for lease in &mut waiting {
        assert!(futures_util::poll!(lease).is_pending(), "one place is held");
    }
    // Jobs that are cancelled while they wait: first, in the middle, last.
    for gone in [7, 3, 0] {
        drop(waiting.remove(gone));
    }
    // Whoever came last is asked first from here on: only the pool knows the order.
    waiting.reverse();
    let mut served = Vec::new();
    while !waiting.is_empty() {
        let spent = ground.job(held).await;
        ground.pool.hand_back(spent, None);
        let next = tokio::time::timeout(
            Duration::from_secs(10),
            futures_util::future::select_all(waiting),
        );
        let ((leased, number), _, rest) = next.await.expect("somebody is served");
        (held, waiting) = (leased, rest);
        served.push(number);
    }
    assert_eq!(served, [1, 2, 4, 5, 6]);
    drop((held, waiting));
    ground.close().await;
}

#[tokio::test]
async fn root_a_worker_has_its_sandboxes_before_a_job_asks() {
    let ear = Arc::new(Ear::default());
    let watchers = Watchers::new(vec![Arc::clone(&ear) as Arc<dyn Watch>]);
    let ground = Ground::open(Sizes::ForSlots(2), watchers).await;
    ear.hears(2).await;
    let made = ear.0.lock().expect("nothing panics").clone();
    assert!(
        made.iter()
            .all(|m| &*m.profile == "python" && m.phase == Phase::Warm)
    );
    ground.close().await;
}

#[tokio::test]
#[expect(clippy::print_stdout, reason = "the figure is the point of it")]
async fn redis_root_a_lease_pays_nothing_for_a_record_that_stands_still() {
    let folder = std::env::temp_dir().join(format!("kiln-redis-{}", uuid::Uuid::now_v7()));
    std::fs::create_dir(&folder).expect("the folder for temporary files is writable");
    let socket = folder.join("socket");
    let mut server = Command::new("redis-server")
        .args(["--port", "0", "--save", "", "--unixsocket"])
        .arg(&socket)
        .stdout(Stdio::null())
        .spawn()
        .expect("`redis-server` must be installed for this test");
    let url = format!("redis+unix://{}", socket.display());
    let redis = Redis {
        url: Secret::new(url),
    };
    let identity = Identity {
        worker: "a".to_owned(),
        host: "host-a".to_owned(),
        slots: 1,
    };
    let registry = Registry::start(Some(&redis), identity, Metrics::new());
    let deadline = Instant::now() + Duration::from_secs(10);
    while !registry.is_up() {
        assert!(Instant::now() < deadline, "it is up in time");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let pid = rustix::process::Pid::from_child(&server);
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).expect("it is ours");
    let watched = Watchers::new(vec![Arc::new(registry.clone()) as Arc<dyn Watch>]);
    let mut medians = Vec::new();
    for watchers in [Watchers::default(), watched] {
        let ground = Ground::open(Sizes::Same(1), watchers).await;
        let mut samples = Vec::new();
        for _ in 0..60 {
            let began = Instant::now();
            let leased = ground.lease().await;
            let took = began.elapsed();
            let spent = ground.job(leased).await;
            ground.pool.hand_back(spent, None);
            tokio::time::sleep(Duration::from_millis(40)).await;
            samples.push(took);
        }
        ground.close().await;
        samples.sort();
        medians.push(samples[samples.len() / 2]);
    }
    println!(
        "a lease: {:?} without, {:?} with the record",
        medians[0], medians[1]
    );
    drop(server.kill());
    drop(server.wait());
    drop(std::fs::remove_dir_all(&folder));
    assert!(
        medians[1] < medians[0] + Duration::from_micros(200),
        "{medians:?}"
    );
}
