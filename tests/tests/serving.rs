//! What can an artifact do in the browser of whoever opens it, as the example server serves it?
//!
//! The worst place that there is: the application proxies artifacts on its own origin, and every
//! sample is said to be harmless. A listener counts whatever leaves, for any host and any port.

#[path = "serving/application.rs"]
mod application;
#[path = "serving/hostile.rs"]
mod hostile;

use acceptance::kiln::{Program, Run, run};
use acceptance::leftovers::wait_for;
use acceptance::places;
use acceptance::stack::browser::Browser;
use acceptance::stack::http;
use application::{Application, Heads, Listener, MARKER, Server};
use hostile::{ID, Sample, as_released, shelf};
use serde_json::Value;
use std::time::Duration;

/// How long a page may take to do what it does.
const SOON: Duration = Duration::from_secs(10);

/// The hosts that samples call are one listener; those that a browser calls by itself are nowhere.
fn browser(listener: &Listener) -> Browser {
    let port = listener.port;
    Browser::start_among(&format!(
        "MAP *.invalid 127.0.0.1:{port}, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
    ))
}

/// Opens the application, so that it has a marker to steal.
fn signed_in(browser: &mut Browser, application: &Application) {
    browser.open(&application.url("app"));
    browser.wait_text("signed in", SOON);
}

/// What the application's own page finds of what scripts do that run on its origin.
fn traces(browser: &mut Browser, application: &Application) -> Value {
    signed_in(browser, application);
    browser.eval("[document.cookie, JSON.stringify(localStorage)].join(' ')")
}

/// Opens a sample and gives it the time to act.
fn opened(browser: &mut Browser, url: &str) {
    browser.open(url);
    // One that is saved is never there.
    wait_for(Duration::from_millis(1_500), || browser.loaded());
    // What comes by itself comes at once; more time is for what is put off.
    wait_for(Duration::from_millis(300), || false);
}

#[test]
fn nothing_that_is_opened_acts_or_sends_and_without_the_heads_it_does() {
    let listener = Listener::start();
    let samples = hostile::by_hand(&listener);
    let folder = shelf(&samples);
    let server = Server::start(folder.path());
    let guarded = Application::start(server.port, Heads::All);
    let mut browser = browser(&listener);
    signed_in(&mut browser, &guarded);
    listener.heard();
    for sample in &samples {
        opened(&mut browser, &guarded.url(&sample.url()));
        let heard = listener.heard();
        assert!(heard.is_empty(), "`{}` sent {heard:#?}", sample.path);
    }
    let left = traces(&mut browser, &guarded);
    let left = left.as_str().expect("text");
    assert!(left.contains(MARKER) && !left.contains("taken"), "{left}");

    // A browser that knows no list of connections sends nothing that could say anything, all the same: it
    // may connect ahead of a request that is then refused, and ask a server of WebRTC for its address.
    let older = Application::start(server.port, Heads::OfOlderBrowsers);
    for sample in samples.iter().filter(|sample| sample.bites) {
        opened(&mut browser, &older.url(&sample.url()));
        let mut heard = listener.heard();
        heard.retain(|line| line != "tcp: " && line != "udp: 20 bytes");
        assert!(heard.is_empty(), "`{}` sent {heard:#?}", sample.path);
    }

    // The same files without what the server says beside them: each that has a script takes the marker.
    let bare = Application::start(server.port, Heads::None);
    for sample in samples.iter().filter(|sample| sample.bites) {
        signed_in(&mut browser, &bare);
        listener.heard();
        // It goes where it likes, so that nothing is asked of it.
        browser.open(&bare.url(&sample.raw_url()));
        let mut heard = Vec::new();
        let stolen = wait_for(SOON, || {
            heard.extend(listener.heard());
            heard.iter().any(|line| line.contains(MARKER))
        });
        assert!(stolen, "`{}` does not bite: {heard:#?}", sample.path);
    }
    browser.open("about:blank");
    let left = traces(&mut browser, &bare);
    assert!(left.as_str().expect("text").contains("taken"), "{left}");
}

#[test]
fn no_sample_of_the_corpus_sends_anything() {
    let listener = Listener::start();
    let samples = hostile::corpus();
    assert!(samples.len() > 40, "only {} samples", samples.len());
    let folder = shelf(&samples);
    let server = Server::start(folder.path());
    let guarded = Application::start(server.port, Heads::All);
    let frames = |samples: &[Sample]| {
        let urls = samples.iter().map(Sample::url);
        guarded.page(&urls.collect::<Vec<_>>())
    };
    let mut browser = browser(&listener);
    signed_in(&mut browser, &guarded);
    listener.heard();
    for some in samples.chunks(12) {
        opened(&mut browser, &frames(some));
    }
    let heard = listener.heard();
    assert!(heard.is_empty(), "{heard:#?}");
    let left = traces(&mut browser, &guarded);
    assert!(!left.as_str().expect("text").contains("taken"), "{left}");
}

fn real() -> Run {
    run(
        &Program::file(places::home().join("gate/everything.py")),
        &[],
    )
}

#[test]
fn a_chart_of_a_job_is_drawn_and_answers_the_mouse_in_its_sandbox() {
    let made = real();
    let listener = Listener::start();
    let server = Server::start(&made.out);
    let mut browser = browser(&listener);
    let id = made.text("/job_id");
    let url = format!("http://127.0.0.1:{}/{id}/report.html", server.port);
    browser.open(&url);
    wait_for(SOON, || browser.loaded());
    let drawn = "(() => { const it = document.getElementById('chart'); if (!it) return 'absent'; \
        it.dispatchEvent(new MouseEvent('mousemove', {clientX: it.getBoundingClientRect().x + 70})); \
        const seen = it.getContext('2d').getImageData(0, 0, 300, 120).data.some((byte) => byte); \
        return [seen, it.title, self.origin].join(' '); })()";
    let mut said = Value::Null;
    let shown = wait_for(SOON, || {
        said = browser.eval_in_frame(drawn);
        said == "true 7 null"
    });
    assert!(shown, "{said}");
    let complaints = browser.complaints();
    assert!(complaints.is_empty(), "{complaints:#?}");
    let heard = listener.heard();
    assert!(heard.is_empty(), "{heard:#?}");
}

#[test]
fn what_may_not_be_had_is_not_had() {
    let made = real();
    let server = Server::start(&made.out);
    let id = made.text("/job_id");
    let get =
        |path: &str| http::get(server.port, path).unwrap_or_else(|| panic!("no answer to {path}"));
    let csv = get(&format!("/{id}/summary.csv"));
    assert_eq!(
        (csv.status, &*csv.body),
        (200, "region,units\nnorth,3\nsouth,7\n")
    );
    for head in [
        "content-type: text/csv",
        "content-disposition: attachment; filename=\"artifact\"; filename*=UTF-8''summary.csv",
        "content-security-policy: sandbox; default-src 'none'",
        "x-content-type-options: nosniff",
        "cross-origin-resource-policy: same-site",
        "referrer-policy: no-referrer",
        "cache-control: private, no-store",
    ] {
        assert!(csv.head.contains(head), "no `{head}` in {}", csv.head);
    }
    // Withheld, unknown, of another job, of the store's own, and out of the folder.
    for path in [
        format!("/{id}/backup.zip"),
        format!("/{id}/none.csv"),
        format!("/{id}/..%2Foutcome.json"),
        format!("/{id}/%2E%2E/quarantine/backup.zip"),
        "/other/summary.csv".to_owned(),
        "/outcome.json".to_owned(),
        "/../../etc/passwd".to_owned(),
        "/%ff/x".to_owned(),
    ] {
        assert_eq!(get(&path).status, 404, "{path}");
    }
    let post = http::ask(server.port, "POST", &format!("/{id}/summary.csv"), &[]);
    assert_eq!(post.map(|it| it.status), Some(405));
    // Other bytes than those that were scanned, a link, and at last nothing.
    let file = made.out.join("artifacts/summary.csv");
    let path = format!("/{id}/summary.csv");
    std::fs::write(&file, "region,units\nnorth,3\nsouth,8\n").expect("ours");
    assert_eq!(get(&path).status, 500);
    std::fs::remove_file(&file).expect("ours");
    assert_eq!(get(&path).status, 410);
    std::os::unix::fs::symlink(made.out.join("stdout"), &file).expect("ours");
    assert_eq!(get(&path).status, 500);
}

#[test]
fn a_name_stays_a_name() {
    let names = [
        "a\"; filename=\"b.html",
        "a\r\nX-Evil: 1",
        "ü 1.csv",
        "\u{202e}lmth.x",
    ];
    let samples: Vec<_> = names
        .iter()
        .map(|name| as_released(name, "text/csv", "attachment", b"1,2\n".to_vec()))
        .collect();
    let folder = shelf(&samples);
    let server = Server::start(folder.path());
    for (sample, wanted) in samples.iter().zip([
        "UTF-8''a%22%3B%20filename%3D%22b.html\r\n",
        "UTF-8''aX-Evil%3A%201\r\n",
        "UTF-8''%C3%BC%201.csv\r\n",
        "UTF-8''lmth.x\r\n",
    ]) {
        let answer = http::get(server.port, &format!("/{}", sample.url())).expect("an answer");
        assert_eq!(answer.status, 200, "{}", sample.path);
        assert!(
            format!("{}\r\n", answer.head).contains(wanted),
            "{}",
            answer.head
        );
        assert!(
            !answer.head.to_lowercase().contains("\r\nx-evil"),
            "{}",
            answer.head
        );
    }
    assert_eq!(
        http::get(server.port, &format!("/{ID}/")).map(|it| it.status),
        Some(404)
    );
}
