//! Does the page of a worker tell a person how it is with it, to every eye, and do nothing else?

use acceptance::faults::Proxy;
use acceptance::leftovers::wait_for;
use acceptance::places;
use acceptance::stack::browser::{Browser, Look};
use acceptance::stack::http;
use acceptance::stack::world::{SOON, World, bash, id, ids, sleeper};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::PathBuf;
use std::time::Duration;

/// Every text on the page whose colour is too near to what is behind it (WCAG 2.2 AA).
const FAINT: &str = r"(() => {
  const light = (text) => { const [r, g, b] = text.match(/[\d.]+/g).map(Number).map((c) => c / 255)
    .map((c) => c <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
  const behind = (at) => { for (; at; at = at.parentElement) { const colour = getComputedStyle(at).backgroundColor;
    if (colour !== 'rgba(0, 0, 0, 0)') return colour; } return 'rgb(255, 255, 255)'; };
  return [...document.querySelectorAll('body *')].filter((it) => it.checkVisibility()
      && [...it.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim())).map((it) => {
    const [a, b] = [light(getComputedStyle(it).color), light(behind(it))];
    return [(Math.max(a, b) + .05) / (Math.min(a, b) + .05), it.textContent.trim()];
  }).filter(([contrast]) => contrast < 4.5).map(([contrast, text]) => contrast.toFixed(2) + ' ' + text).join('; ');
})()";

fn picture(browser: &mut Browser, name: &str) {
    let folder = places::target().join("page");
    std::fs::create_dir_all(&folder).expect("the build folder is writable");
    let path: PathBuf = folder.join(format!("{name}.png"));
    browser.picture(&path);
}

fn url(world: &World) -> String {
    format!("http://127.0.0.1:{}/", world.workers[0].telemetry())
}

/// Nothing left the listener, and neither browser nor policy has a complaint.
fn assert_quiet(browser: &mut Browser, url: &str) {
    let stray: Vec<_> = browser
        .requests()
        .into_iter()
        .filter(|to| !to.starts_with(url) && to != "data:,")
        .collect();
    assert!(stray.is_empty(), "requests to others: {stray:?}");
    let complaints = browser.complaints();
    assert!(complaints.is_empty(), "{complaints:#?}");
}

/// A job whose every part has a word in it that nobody may see.
fn marked() -> Value {
    json!({
        "schema": "kiln.job.v1", "id": acceptance::stack::world::fresh("marker-id"), "profile": "bash",
        "code": "echo marker-output; echo made > marker-file.txt; exit 3 # marker-code",
        "args": ["marker-arg"], "stdin": "marker-stdin", "env": {"M": "marker-env"},
        "files": [{"path": "marker-input.txt", "text": "marker-content"}], "labels": {"l": "marker-label"},
    })
}

#[test]
fn a_worker_under_load_is_shown_to_every_eye() {
    let world = World::up(2);
    let mut jobs: Vec<Value> = (0..20).map(|_| bash("echo hello")).collect();
    jobs.extend((0..3).map(|_| marked()));
    let mut hungry = bash("x=$(head -c 200000000 /dev/zero | tr '\\0' x)");
    hungry["limits"] = json!({"memory_bytes": 16 << 20});
    jobs.push(hungry);
    world.submit(&jobs);
    world.wait_all(&ids(&jobs), SOON);
    let running = sleeper(40_000);
    world.submit(std::slice::from_ref(&running));
    world.wait_started(&id(&running));

    let (mut browser, url) = (Browser::start(), url(&world));
    let wide = Look {
        width: 1280,
        dark: false,
    };
    browser.look(wide);
    browser.open(&url);
    browser.wait_text("1 of 2", SOON);
    let text = browser.text();
    for wanted in [
        "Takes jobs",
        "20 succeeded",
        "4 failed by job, limit or policy",
        "0 failed by the platform",
        "exit code",
        "limit exceeded",
        "memory",
        "Kiln’s part",
    ] {
        assert!(
            text.contains(wanted),
            "`{wanted}` is not on the page:\n{text}"
        );
    }
    assert_eq!(browser.eval("document.title"), "✓ Takes jobs – a");
    assert_eq!(
        browser.eval("document.querySelectorAll('#pool .running').length"),
        1
    );

    // Nothing of a job, and no id, is in what was sent or in what was made of it.
    let told = http::get(world.workers[0].telemetry(), "/status.json").expect("it answers");
    assert!(told.body.len() < 16_384, "{} bytes", told.body.len());
    let html = browser.eval("document.documentElement.outerHTML");
    for all in [told.body.as_str(), html.as_str().expect("text")] {
        for secret in ["marker", "sbx-", "hello", &id(&running), &id(&jobs[0])] {
            assert!(!all.contains(secret), "`{secret}` is told:\n{all}");
        }
    }

    for (name, look) in [
        ("light", wide),
        (
            "dark",
            Look {
                width: 1280,
                dark: true,
            },
        ),
        (
            "phone",
            Look {
                width: 360,
                dark: false,
            },
        ),
        (
            "phone-dark",
            Look {
                width: 320,
                dark: true,
            },
        ),
    ] {
        browser.look(look);
        assert_eq!(browser.eval(FAINT), "", "faint in {name}");
        // Neither the page nor anything in a card is wider than what holds it.
        let overflow = browser.eval(
            "[document.documentElement, ...document.querySelectorAll('section')] \
             .filter((it) => it.scrollWidth > it.clientWidth).map((it) => it.textContent.slice(0, 80)).join()",
        );
        assert_eq!(overflow, "", "too wide in {name}");
        picture(&mut browser, name);
    }
    by_keyboard_and_by_ear(&mut browser);
    assert_quiet(&mut browser, &url);
}

/// What somebody without a mouse can do, and somebody who does not see is told.
fn by_keyboard_and_by_ear(browser: &mut Browser) {
    let mut reached = Vec::new();
    for _ in 0..5 {
        browser.press("Tab");
        let at = browser.eval("document.activeElement.textContent + ' ' + getComputedStyle(document.activeElement).outlineStyle");
        reached.push(at.as_str().unwrap_or_default().to_owned());
    }
    assert_eq!(
        reached,
        [
            "Pause solid",
            "metrics solid",
            "readyz solid",
            "livez solid",
            "status.json solid"
        ]
    );
    browser.eval("document.getElementById('pause').focus()");
    browser.press("Enter");
    assert_eq!(
        browser.eval("document.getElementById('pause').getAttribute('aria-pressed')"),
        "true"
    );
    let asked = browser.requests().len();
    wait_for(Duration::from_millis(2_500), || false);
    assert_eq!(
        browser.requests().len(),
        asked,
        "it goes on while it is paused"
    );

    let tree = browser.ask("Accessibility.getFullAXTree", &json!({}));
    let nodes = tree["nodes"].as_array().expect("a tree");
    let named = |role: &str| -> Vec<String> {
        let of = nodes
            .iter()
            .filter(|node| node["role"]["value"] == role && node["ignored"] == false);
        of.filter_map(|node| node["name"]["value"].as_str().map(str::to_owned))
            .collect()
    };
    assert_eq!(named("status").len(), 1, "one place speaks by itself");
    assert_eq!(
        named("table"),
        [
            "Sandboxes of each profile by phase",
            "What did not go well, the newest first",
            "How long each stage took"
        ]
    );
    assert_eq!(
        named("region"),
        [
            "Jobs",
            "Pool",
            "Dependencies",
            "Last failures",
            "Stages of a job, last 5 min"
        ]
    );
    let chart = named("image");
    assert!(
        chart
            .iter()
            .any(|name| name.contains("20 succeeded, 4 failed by job")),
        "{chart:?}"
    );
    assert!(named("rowheader").contains(&"bash".to_owned()));
}

#[test]
fn a_broker_that_is_away_and_a_drain_are_told_at_once() {
    let mut world = World::new();
    let proxy = Proxy::before(world.broker.port());
    let (direct, by_proxy) = (
        format!(":{}/", world.broker.port()),
        format!(":{}/", proxy.port()),
    );
    world
        .add("a", |setup| {
            setup.amqp = setup.amqp.replace(&direct, &by_proxy);
        })
        .up();
    world.client.wait_bound();
    let (mut browser, url) = (Browser::start(), url(&world));
    browser.look(Look {
        width: 1000,
        dark: false,
    });
    browser.open(&url);
    browser.wait_text("✓ Takes jobs", SOON);

    proxy.refuse(true);
    proxy.cut();
    browser.wait_text("✕ Takes no jobs", SOON);
    browser.wait_text("Broker: RabbitMQ does not answer", SOON);
    assert_eq!(
        browser.eval("document.querySelectorAll('#needs .down').length"),
        1
    );
    picture(&mut browser, "broker-away");
    proxy.heal();
    browser.wait_text("✓ Takes jobs", SOON);

    let job = sleeper(6_000);
    world.submit(std::slice::from_ref(&job));
    world.wait_started(&id(&job));
    world.worker().term();
    browser.wait_text("! Draining", Duration::from_secs(5));
    let text = browser.text();
    assert!(text.contains("1 job still runs"), "{text}");
    assert_eq!(
        browser.eval("document.querySelectorAll('#needs .down').length"),
        0,
        "who drains lacks nothing"
    );
    picture(&mut browser, "drain");
    assert_quiet(&mut browser, &url);
    assert_eq!(world.worker().exit(SOON), Some(0), "{}", world.last_words());
    browser.wait_text("✕ No answer", SOON);
    picture(&mut browser, "no-answer");
}

#[test]
fn markup_that_gets_into_the_page_does_nothing() {
    // The page as it is sent, and what an attacker would put into it, behind the same head.
    let world = World::up(1);
    let page = http::get(world.workers[0].telemetry(), "/").expect("it answers");
    let evil = "<style>body{display:none}</style><script>fetch('http://127.0.0.1:9/stolen')</script>\
                <img src=\"http://127.0.0.1:9/pixel\"><iframe src=\"http://127.0.0.1:9/frame\"></iframe>\
                <b id=\"evil\" onclick=\"fetch('http://127.0.0.1:9/click')\">x</b></main>";
    let broken = page.body.replacen("</main>", evil, 1);
    assert_ne!(broken, page.body);
    let length = format!("content-length: {}", page.body.len());
    let head = page.head.replace(&length, "x-length: another");
    assert_ne!(head, page.head);
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
    let port = listener.local_addr().expect("bound").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let asked = BufReader::new(&stream).lines();
            for line in asked.map_while(Result::ok) {
                if line.is_empty() {
                    break;
                }
            }
            write!(&stream, "{head}\r\n\r\n{broken}").ok();
        }
    });
    let mut browser = Browser::start();
    browser.open(&format!("http://127.0.0.1:{port}/"));
    browser.wait_text("No answer", SOON);
    browser.eval("document.getElementById('evil').click()");
    let stolen: Vec<_> = browser
        .requests()
        .into_iter()
        .filter(|to| to.contains(":9/"))
        .collect();
    let complaints = browser.complaints().join("\n");
    for refused in ["script-src", "style-src", "img-src", "frame-src"] {
        assert!(
            complaints.contains(refused),
            "`{refused}` was not refused:\n{complaints}"
        );
    }
    // Chromium tells of a request that its policy then stops; none of them got an answer or a connection.
    assert_eq!(
        browser.eval("getComputedStyle(document.body).display"),
        "block",
        "{stolen:?}"
    );
    let seen = browser.eval("performance.getEntriesByType('resource').filter((it) => it.responseStatus).map((it) => it.name).join()");
    assert!(!seen.as_str().unwrap_or_default().contains(":9/"), "{seen}");
}
