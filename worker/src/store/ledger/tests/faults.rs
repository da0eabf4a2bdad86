//! What a store suffers: no room, no writes, no answer, late answers, lost answers.

mod proxy;

use super::ground::{Ground, file, id, section, server};
use super::outputs;
use crate::config::Store;
use crate::store::backend::Backend;
use crate::store::files::Files;
use crate::store::health::Health;
use crate::store::ledger::{Committed, Ledger, Run};
use crate::store::{InputProblem, StoreError};
use crate::telemetry::metric::Metrics;
use proxy::{Manner, Proxy};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::time::timeout;

const LONG: Duration = Duration::from_secs(20);

fn document(text: &str) -> Arc<[u8]> {
    text.as_bytes().into()
}

/// Waits until the ledger says so.
async fn becomes(ledger: &Ledger, reachable: bool) {
    let mut now = ledger.reachability();
    let waited = timeout(LONG, now.wait_for(|now| *now == reachable)).await;
    waited.expect("in time").expect("the ledger lives");
}

#[tokio::test]
async fn nobody_else_can_read_a_local_store() {
    let ground = Ground::files();
    let ledger = ground.ledger().await;
    ledger
        .commit(&id("j"), document("{}"))
        .await
        .expect("asked");
    for (path, mode) in [("", 0o700), ("results", 0o700), ("results/j.json", 0o600)] {
        let meta = std::fs::metadata(ground.path().join(path)).expect("there");
        assert_eq!(meta.permissions().mode() & 0o777, mode, "{path}");
    }
}

#[tokio::test]
async fn partial_writes_are_swept_when_they_are_old() {
    let ground = Ground::files();
    drop(ground.ledger().await);
    let tmp = ground.path().join("tmp");
    assert_eq!(std::fs::read_dir(&tmp).expect("there").count(), 0);
    for (name, age) in [("old", 7_200), ("young", 60)] {
        let file = std::fs::File::create(tmp.join(name)).expect("scratch");
        let then = SystemTime::now() - Duration::from_secs(age);
        file.set_modified(then).expect("ours");
    }
    drop(ground.ledger().await);
    assert!(!tmp.join("old").exists() && tmp.join("young").exists());
}

#[tokio::test]
async fn a_link_in_a_local_store_is_not_followed() {
    let ground = Ground::files();
    let ledger = ground.ledger().await;
    std::os::unix::fs::symlink("/etc", ground.path().join("inputs")).expect("a link");
    std::os::unix::fs::symlink("/tmp", ground.path().join("artifacts")).expect("a link");
    let read = ledger.get("inputs/hostname").await;
    assert!(read.is_err(), "{read:?}");
    let run = Run::new(&id("kiln-linked"));
    let outputs = outputs(vec![file("a", b"a")]);
    let kept = timeout(Duration::from_millis(300), ledger.keep(&run, outputs)).await;
    assert!(kept.is_err(), "it waits for somebody to mend it");
    assert!(!Path::new("/tmp/kiln-linked").exists());
}

#[tokio::test]
async fn what_a_tenant_put_in_a_files_place_is_the_jobs_mistake() {
    let ground = Ground::files();
    let ledger = ground.ledger().await;
    let inputs = ground.path().join("inputs/acme");
    std::fs::create_dir_all(inputs.join("folder")).expect("scratch");
    std::os::unix::fs::symlink("/etc/hostname", inputs.join("link")).expect("a link");
    std::os::unix::fs::symlink("/etc", inputs.join("way")).expect("a link");
    let fifo = Command::new("mkfifo").arg(inputs.join("fifo")).status();
    assert!(fifo.expect("`mkfifo` is there").success());
    let acme = super::ground::tenant("acme");
    for name in ["folder", "link", "way/hostname", "fifo"] {
        let key = format!("inputs/acme/{name}");
        let input = timeout(LONG, ledger.wait_for_input(&acme, &key, "00", 1 << 20)).await;
        let error = input
            .expect("nobody waits for that")
            .expect_err("it is no file");
        assert_eq!(error.input_problem(), Some(&InputProblem::NoFile), "{name}");
    }
    assert!(ledger.reachable());
}

/// A small file system of its own; needs root.
struct Tmpfs(Ground);

impl Tmpfs {
    fn mount(size: &str) -> Self {
        let ground = Ground::files();
        std::fs::create_dir(ground.path()).expect("a fresh folder");
        mount(&["-t", "tmpfs", "-o", size, "tmpfs"], ground.path());
        Self(ground)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let done = Command::new("umount").arg("-l").arg(self.path()).status();
        drop(done);
    }
}

fn mount(words: &[&str], at: &Path) {
    let done = Command::new("mount").args(words).arg(at).status();
    let done = done.expect("`mount` is there");
    assert!(done.success(), "mount (as root): {done}");
}

#[tokio::test]
async fn a_full_disk_is_waited_for_and_nothing_is_lost() {
    let disk = Tmpfs::mount("size=4m");
    let files = Files::open(disk.path()).expect("a fresh disk");
    let health = Health::with_floor(Backend::Files(Arc::new(files)), Metrics::new(), 1 << 20);
    let ledger = Ledger::with(health, disk.path().to_owned()).await;
    let ledger = ledger.expect("opened");
    assert!(ledger.reachable());
    let ballast = disk.path().join("ballast");
    std::fs::write(&ballast, vec![1; 2 << 20]).expect("it fits");
    let run = Run::new(&id("waits"));
    let large = vec![7; 3 << 20];
    let keeping = ledger.keep(&run, outputs(vec![file("large", &large)]));
    tokio::pin!(keeping);
    let early = timeout(Duration::from_millis(500), &mut keeping).await;
    assert!(early.is_err(), "there is no room");
    assert!(!ledger.reachable());
    let plain = ledger.commit(&id("other"), vec![1; 3 << 20].into()).await;
    let why = crate::fault::chain(&plain.expect_err("there is no room"));
    assert!(why.contains("make room"), "{why}");
    std::fs::remove_file(&ballast).expect("ours");
    let (kept, failed) = timeout(LONG, keeping).await.expect("there is room again");
    assert!(failed.is_none(), "{failed:?}");
    assert_eq!(
        ledger
            .get(kept.files[0].object.as_deref().expect("kept"))
            .await
            .expect("asked"),
        Some(large)
    );
    let left = std::fs::read_dir(disk.path().join("tmp")).expect("there");
    assert_eq!(left.count(), 0, "partial writes are gone");
}

#[tokio::test]
async fn too_little_room_takes_no_new_job_until_there_is_more() {
    let disk = Tmpfs::mount("size=8m");
    let files = Files::open(disk.path()).expect("a fresh disk");
    let health = Health::with_floor(Backend::Files(Arc::new(files)), Metrics::new(), 6 << 20);
    let ledger = Ledger::with(health, disk.path().to_owned()).await;
    let ledger = ledger.expect("opened");
    assert!(ledger.reachable());
    let document = vec![1; 3 << 20].into();
    assert_eq!(
        ledger.commit(&id("j"), document).await.expect("it fits"),
        Committed::Ours
    );
    assert!(!ledger.reachable(), "it was taken, but the room ends");
    mount(&["-o", "remount,size=16m"], disk.path());
    becomes(&ledger, true).await;
}

#[tokio::test]
async fn a_disk_that_cannot_be_written_to_is_told_and_waited_for() {
    let disk = Tmpfs::mount("size=8m");
    let files = Files::open(disk.path()).expect("a fresh disk");
    let health = Health::with_floor(Backend::Files(Arc::new(files)), Metrics::new(), 0);
    let ledger = Ledger::with(health, disk.path().to_owned()).await;
    let ledger = ledger.expect("opened");
    ledger
        .commit(&id("before"), document("{}"))
        .await
        .expect("asked");
    mount(&["-o", "remount,ro"], disk.path());
    let error = ledger
        .commit(&id("j"), document("{}"))
        .await
        .expect_err("read only");
    let why = crate::fault::chain(&error);
    assert!(
        why.contains("mount it so that it can be written to"),
        "{why}"
    );
    assert!(!ledger.reachable());
    assert!(ledger.result(&id("before")).await.expect("asked").is_some());
    let run = Run::new(&id("j"));
    let commit = ledger.commit_run(&run, document("{}"));
    tokio::pin!(commit);
    assert!(
        timeout(Duration::from_millis(300), &mut commit)
            .await
            .is_err()
    );
    mount(&["-o", "remount,rw"], disk.path());
    let committed = timeout(LONG, commit).await.expect("it is back");
    assert_eq!(committed.expect("asked"), Committed::Ours);
    becomes(&ledger, true).await;
}

#[tokio::test]
async fn s3_a_bucket_that_is_not_there_is_a_wrong_configuration() {
    let store = Store::S3(section("kiln-no-such-bucket", &server()));
    let error = Ledger::open(&store, Metrics::new()).await;
    let error = error.expect_err("it is not there");
    assert!(error.is_configuration(), "{error:?}");
    let reader = Ledger::open_to_read(&store, Metrics::new()).expect("a client");
    let error = reader
        .result(&id("j"))
        .await
        .expect_err("no bucket is no answer");
    let why = crate::fault::chain(&error);
    assert!(why.contains("make the bucket"), "{why}");
}

/// A server that gives everybody the same answer.
fn answers(status: &'static str) -> String {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("bound"));
    std::thread::spawn(move || {
        for mut client in listener.incoming().map_while(Result::ok) {
            let mut request = [0; 4096];
            let heard = client.read(&mut request);
            let answer =
                format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            drop(heard.and_then(|_| client.write_all(answer.as_bytes())));
        }
    });
    url
}

#[tokio::test]
async fn a_refusal_says_what_to_do() {
    for (status, advice) in [
        ("403 Forbidden", "give the key the rights"),
        ("401 Unauthorized", "see that the access key"),
        ("400 Bad Request", "see that `store.region`"),
    ] {
        let store = Store::S3(section("bucket", &answers(status)));
        let ledger = Ledger::open(&store, Metrics::new()).await;
        let ledger = ledger.expect("it may be mended while we wait");
        assert!(!ledger.reachable(), "{status}");
        let error = ledger.result(&id("j")).await.expect_err("it is refused");
        let why = crate::fault::chain(&error);
        assert!(why.contains(advice), "{status}: {why}");
    }
}

/// A bucket behind a proxy, and its ledger.
async fn behind(proxy: &Proxy) -> Ledger {
    let ground = Ground::s3();
    let Store::S3(mut section) = ground.store.clone() else {
        panic!("it is S3");
    };
    section.endpoint = Some(proxy.url());
    let ledger = Ledger::open(&Store::S3(section), Metrics::new()).await;
    ledger.expect("an endpoint that is away is waited for")
}

#[tokio::test(flavor = "multi_thread")]
async fn s3_an_endpoint_that_is_away_is_waited_for() {
    let proxy = Proxy::start(&server(), Manner::Refuse);
    let ledger = behind(&proxy).await;
    assert!(!ledger.reachable());
    let run = Run::new(&id("waits"));
    let commit = ledger.commit_run(&run, document("{}"));
    tokio::pin!(commit);
    assert!(timeout(Duration::from_secs(2), &mut commit).await.is_err());
    proxy.manner(Manner::Pass);
    let committed = timeout(LONG, commit).await.expect("it is back");
    assert_eq!(committed.expect("asked"), Committed::Ours);
    becomes(&ledger, true).await;
    // And away again, in the middle of its work.
    proxy.manner(Manner::Refuse);
    let error = ledger.result(&id("waits")).await;
    assert!(
        matches!(error, Err(StoreError::Request { .. })),
        "{error:?}"
    );
    assert!(!ledger.reachable());
}

#[tokio::test(flavor = "multi_thread")]
async fn s3_a_commit_whose_answer_is_lost_is_ours() {
    let proxy = Proxy::start(&server(), Manner::Pass);
    let ledger = behind(&proxy).await;
    proxy.manner(Manner::LoseAnswers { left: 1 });
    let run = Run::new(&id("lost"));
    let committed = ledger.commit_run(&run, document("{\"a\":1}"));
    let committed = timeout(LONG, committed).await.expect("in time");
    assert_eq!(committed.expect("asked"), Committed::Ours);
    assert_eq!(proxy.lost(), 1, "an answer was lost indeed");
    let other = ledger.commit(&id("lost"), document("{\"b\":2}")).await;
    assert_eq!(
        other.expect("asked"),
        Committed::Theirs(document("{\"a\":1}"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn s3_a_slow_endpoint_is_slow_and_nothing_else() {
    let proxy = Proxy::start(&server(), Manner::Pass);
    let ledger = behind(&proxy).await;
    proxy.manner(Manner::Delay(Duration::from_millis(700)));
    let committed = ledger.commit(&id("slow"), document("{}")).await;
    assert_eq!(committed.expect("asked"), Committed::Ours);
    assert!(ledger.reachable());
}
