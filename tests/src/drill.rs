//! When something fails, does the alert of that fire, and no other that wakes somebody?

use crate::dashboards;
use crate::leftovers::wait_for;
use crate::stack::letter::Letter;
use crate::stack::prometheus::{Firing, Prometheus};
use crate::stack::world::{World, bash};
use std::collections::BTreeSet;
use std::io::Write as _;
use std::time::{Duration, Instant};

/// How many times as fast as in life the rules go: a minute is a second and a half.
pub const PACE: u32 = 40;

/// How long an alert may take to fire; in life that is this many times the pace.
const FIRES: Duration = Duration::from_secs(45);
/// How long after a fault is healed somebody may still be woken.
const CALMS: Duration = Duration::from_mins(1);

/// A world that is watched.
#[derive(Debug)]
pub struct Drill {
    /// What is watched.
    pub world: World,
    /// Who watches.
    pub prometheus: Prometheus,
}

impl Drill {
    /// Watches all workers of a world, and waits until nothing wakes anybody.
    ///
    /// # Panics
    ///
    /// Where no worker is seen.
    pub fn begin(world: World) -> Self {
        Self::at(world, PACE)
    }

    /// The same at another pace; 1 is life's own.
    ///
    /// # Panics
    ///
    /// Where no worker is seen.
    pub fn at(world: World, pace: u32) -> Self {
        let workers = world.workers.iter();
        let workers: Vec<_> = workers
            .map(|it| (it.name().to_owned(), it.telemetry()))
            .collect();
        let prometheus = Prometheus::start(&workers, pace);
        let this = Self { world, prometheus };
        let seen = wait_for(FIRES, || this.prometheus.sum("kiln_ready") > 0.0);
        assert!(seen, "no worker is seen\n{}", this.world.last_words());
        this.calm(&mut || this.load());
        this
    }

    /// Some jobs that take next to nothing.
    pub fn load(&self) {
        let jobs = [bash("true"), bash("true")];
        let letters: Vec<_> = jobs.iter().map(|job| Letter::job("batch", job)).collect();
        self.world.client.send(&letters);
    }

    /// Waits for an alert under a load; nothing else may wake anybody, and the figures of its cause must be there.
    ///
    /// # Panics
    /// When it does not fire in time, or another that wakes somebody does.
    pub fn expect(&self, fault: &str, alert: &str, load: &mut dyn FnMut()) {
        self.expect_all(fault, &[alert], load);
    }

    /// The same for a fault that has more than one alert.
    ///
    /// # Panics
    /// When one of them does not fire in time, or another that wakes somebody does.
    pub fn expect_all(&self, fault: &str, alerts: &[&str], load: &mut dyn FnMut()) {
        let began = Instant::now();
        let mut seen = BTreeSet::new();
        let fired = wait_for(FIRES, || {
            load();
            pause();
            seen = self.prometheus.firing();
            let names: BTreeSet<_> = seen.iter().map(|firing| firing.alert.as_str()).collect();
            alerts.iter().all(|alert| names.contains(alert))
        });
        let about = || format!("{fault}: {seen:?}\n{}", self.world.last_words());
        let alert = alerts.join(", ");
        assert!(fired, "{alert} do not fire: {}", about());
        let others: Vec<_> = seen
            .iter()
            .filter(|it| it.page && !alerts.contains(&it.alert.as_str()))
            .collect();
        assert!(others.is_empty(), "{others:?} fire too: {}", about());
        for alert in alerts {
            self.cause_is_seen(alert);
        }
        let told = format!(
            "{fault:<28} {alert:<22} after {:4.1} s",
            began.elapsed().as_secs_f64()
        );
        writeln!(std::io::stderr(), "{told}").ok();
    }

    fn cause_is_seen(&self, alert: &str) {
        let index = dashboards::index();
        let causes = index["alerts"][alert]["cause"].as_array().cloned();
        let causes = causes.expect("the alert is one of the rules");
        let seen = |name: &str| {
            let expr = format!("{{__name__=~\"{name}(_count)?\"}}");
            self.prometheus
                .query(&expr)
                .is_ok_and(|series| !series.is_empty())
        };
        let first = causes[0].as_str().expect("a name");
        assert!(seen(first), "{alert}: there is no `{first}`");
    }

    /// Waits until nothing wakes anybody.
    ///
    /// # Panics
    /// When something goes on doing so.
    pub fn calm(&self, load: &mut dyn FnMut()) {
        let mut pages: Vec<Firing> = Vec::new();
        let calm = wait_for(CALMS, || {
            load();
            pause();
            pages = self
                .prometheus
                .firing()
                .into_iter()
                .filter(|it| it.page)
                .collect();
            pages.is_empty()
        });
        assert!(calm, "{pages:?} go on\n{}", self.world.last_words());
    }

    /// Waits until an alert fires no more.
    ///
    /// # Panics
    /// When it goes on.
    pub fn quiet(&self, alert: &str, load: &dyn Fn()) {
        let over = wait_for(CALMS, || {
            load();
            pause();
            !self.prometheus.firing().iter().any(|it| it.alert == alert)
        });
        assert!(over, "{alert} goes on\n{}", self.world.last_words());
    }

    /// Waits until nothing wakes anybody, under the usual load.
    pub fn calm_down(&self) {
        self.calm(&mut || self.load());
    }
}

/// Jobs come eight a second, and Prometheus looks once.
fn pause() {
    wait_for(Duration::from_millis(250), || false);
}
