//! What does a person see who opens a page, and what did the page do to show it?
//!
//! Debian's Chromium without a window, driven by its own protocol over two pipes: no driver, no port, no package of
//! another language. Its logs, its requests and its violations of policy are kept for the test to judge.

use crate::leftovers::wait_for;
use crate::stack::folder::Folder;
use crate::stack::process::{Plan, Process};
use base64::Engine as _;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How long one answer of the browser may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// Kept by every page from its first moment on, outside of its own policy.
const WATCH: &str = "window.violations = []; document.addEventListener('securitypolicyviolation', \
    (event) => window.violations.push(event.violatedDirective + ' ' + event.blockedURI));";

/// A browser with one page.
#[derive(Debug)]
pub struct Browser {
    process: Process,
    orders: File,
    answers: Receiver<Value>,
    session: String,
    last: u64,
    events: Vec<Value>,
    _folder: Folder,
}

/// How the page is looked at.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    /// Of the window, in pixels.
    pub width: u32,
    /// Whether the person likes it dark.
    pub dark: bool,
}

impl Browser {
    /// Starts one with an empty page, for which no host has a name.
    ///
    /// # Panics
    /// When there is no Chromium (`apt-get install chromium`), or it does not start.
    pub fn start() -> Self {
        Self::start_among("MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
    }

    /// Starts one with an empty page, for which hosts are where these rules say.
    ///
    /// # Panics
    /// As [`Self::start`].
    pub fn start_among(hosts: &str) -> Self {
        let program = "/usr/bin/chromium";
        assert!(
            Path::new(program).is_file(),
            "no `{program}`: `tests/run` installs it"
        );
        let folder = Folder::new();
        let pipe = |name: &str| {
            let path = folder.path().join(name);
            let made = Command::new("mkfifo").arg(&path).status();
            assert!(made.is_ok_and(|made| made.success()), "make a pipe");
            // Both ways, so that opening it waits for nobody.
            let file = File::options().read(true).write(true).open(&path);
            (path, file.expect("the pipe is ours"))
        };
        let ((orders_path, orders), (answers_path, answers)) = (pipe("orders"), pipe("answers"));
        let profile = folder.path().join("profile");
        let words = format!(
            "exec {program} --headless=new --no-sandbox --disable-gpu --hide-scrollbars --disable-dev-shm-usage --no-first-run \
             --disable-background-networking --disable-component-update --disable-sync --disable-extensions \
             --host-resolver-rules='{hosts}' --remote-debugging-pipe \
             --user-data-dir={} 3<{} 4>{}",
            profile.display(),
            orders_path.display(),
            answers_path.display()
        );
        let env = [
            ("PATH", "/usr/bin:/bin"),
            ("HOME", "/root"),
            ("LANG", "C.UTF-8"),
            ("TZ", "UTC"),
        ];
        let plan = Plan {
            name: "chromium",
            words: ["sh", "-c", &words].map(str::to_owned).to_vec(),
            env: env
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .to_vec(),
            folder: folder.path(),
        };
        let mut browser = Self {
            process: plan.start(),
            orders,
            answers: read(answers),
            session: String::new(),
            last: 0,
            events: Vec::new(),
            _folder: folder,
        };
        let target = browser.ask("Target.createTarget", &json!({"url": "about:blank"}));
        let target = json!({"targetId": target["targetId"], "flatten": true});
        let session = browser.ask("Target.attachToTarget", &target);
        session["sessionId"]
            .as_str()
            .expect("a session")
            .clone_into(&mut browser.session);
        for domain in ["Page", "Runtime", "Log", "Network", "Accessibility"] {
            browser.ask(&format!("{domain}.enable"), &json!({}));
        }
        browser.ask(
            "Page.addScriptToEvaluateOnNewDocument",
            &json!({"source": WATCH}),
        );
        browser
    }

    /// One word to the browser, and its answer.
    ///
    /// # Panics
    /// When there is none, or it is an error.
    pub fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.last += 1;
        let id = self.last;
        let mut order = json!({"id": id, "method": method, "params": params});
        if !self.session.is_empty() {
            order["sessionId"] = self.session.clone().into();
        }
        let mut bytes = order.to_string().into_bytes();
        bytes.push(0);
        self.orders.write_all(&bytes).expect("the pipe takes it");
        let late = Instant::now() + PATIENCE;
        loop {
            let left = late.saturating_duration_since(Instant::now());
            let heard = self.answers.recv_timeout(left);
            let heard = heard
                .unwrap_or_else(|_| panic!("no answer to {method}\n{}", self.process.last_words()));
            if heard["id"] == id {
                assert!(heard.get("error").is_none(), "{method}: {heard}");
                return heard["result"].clone();
            }
            self.events.push(heard);
        }
    }

    /// Opens a page; what the last one did is forgotten.
    pub fn open(&mut self, url: &str) {
        self.events.clear();
        self.ask("Page.navigate", &json!({"url": url}));
    }

    /// What an expression is in the page.
    ///
    /// # Panics
    /// When it throws.
    pub fn eval(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true});
        let answer = self.ask("Runtime.evaluate", &params);
        assert!(
            answer.get("exceptionDetails").is_none(),
            "{expression}: {answer}"
        );
        answer["result"]["value"].clone()
    }

    /// What an expression is in the one page that this page holds in a frame without an origin; nothing
    /// where there is none yet.
    pub fn eval_in_frame(&mut self, expression: &str) -> Value {
        let targets = self.ask("Target.getTargets", &json!({}));
        let targets = targets["targetInfos"].as_array().cloned();
        let frame = |it: &Value| it["type"] == "iframe";
        let Some(target) = targets.into_iter().flatten().find(frame) else {
            return Value::Null;
        };
        let target = json!({"targetId": target["targetId"], "flatten": true});
        let attached = self.ask("Target.attachToTarget", &target);
        let session = attached["sessionId"].as_str().unwrap_or_default();
        let page = std::mem::replace(&mut self.session, session.to_owned());
        let value = self.eval(expression);
        self.session = page;
        self.ask("Target.detachFromTarget", &json!({"sessionId": session}));
        value
    }

    /// Whether the page that was opened is there, with all that it fetches.
    pub fn loaded(&mut self) -> bool {
        self.eval("0");
        let done = |event: &Value| event["method"] == "Page.frameStoppedLoading";
        self.events.iter().any(done)
    }

    /// All text that a person can read.
    pub fn text(&mut self) -> String {
        let text = self.eval("document.body ? document.body.innerText : ''");
        text.as_str().unwrap_or_default().to_owned()
    }

    /// Waits until the page says something.
    ///
    /// # Panics
    /// With what it says, when it does not in time.
    pub fn wait_text(&mut self, wanted: &str, patience: Duration) {
        let mut text = String::new();
        let said = wait_for(patience, || {
            text = self.text();
            text.contains(wanted)
        });
        assert!(said, "the page does not say `{wanted}`:\n{text}");
    }

    /// Looks at it so from now on.
    pub fn look(&mut self, look: Look) {
        let size = json!({"width": look.width, "height": 900, "deviceScaleFactor": 1, "mobile": look.width < 500});
        self.ask("Emulation.setDeviceMetricsOverride", &size);
        let scheme = if look.dark { "dark" } else { "light" };
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.ask("Emulation.setEmulatedMedia", &features);
    }

    /// Keeps a picture of the whole page.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn picture(&mut self, path: &PathBuf) {
        let params = json!({"format": "png", "captureBeyondViewport": true});
        let shot = self.ask("Page.captureScreenshot", &params);
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(shot["data"].as_str().expect("a picture"));
        std::fs::write(path, bytes.expect("base64")).expect("the build folder is writable");
    }

    /// Presses and lets go of a key.
    pub fn press(&mut self, key: &str) {
        let code = match key {
            "Tab" => 9,
            "Enter" => 13,
            _ => 0,
        };
        let text = if key == "Enter" { "\r" } else { "" };
        for kind in ["keyDown", "keyUp"] {
            let params = json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text});
            self.ask("Input.dispatchKeyEvent", &params);
        }
    }

    /// Every address that was asked for since the page was opened.
    pub fn requests(&mut self) -> Vec<String> {
        self.eval("0"); // What was on its way is here now.
        let of = |event: &Value| {
            (event["method"] == "Network.requestWillBeSent").then(|| {
                event["params"]["request"]["url"]
                    .as_str()
                    .map(str::to_owned)
            })?
        };
        self.events.iter().filter_map(of).collect()
    }

    /// Everything the page or the browser complained of since it was opened, and each breach of its policy.
    pub fn complaints(&mut self) -> Vec<String> {
        let violations = self.eval("window.violations.join('; ')");
        let wrong = ["error", "warning", "assert"];
        let of = |event: &Value| match event["method"].as_str()? {
            "Runtime.exceptionThrown" => Some(event["params"].to_string()),
            "Log.entryAdded"
                if wrong
                    .iter()
                    .any(|it| event["params"]["entry"]["level"] == *it) =>
            {
                Some(event["params"]["entry"].to_string())
            }
            "Runtime.consoleAPICalled" if wrong.iter().any(|it| event["params"]["type"] == *it) => {
                Some(event["params"].to_string())
            }
            _ => None,
        };
        let told = violations
            .as_str()
            .filter(|text| !text.is_empty())
            .map(str::to_owned);
        self.events.iter().filter_map(of).chain(told).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Asked to, it takes its own processes along.
        self.orders
            .write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0")
            .ok();
        self.process.wait(Duration::from_secs(5));
    }
}

/// What comes by a pipe, one message after the other, each with a nought behind it.
fn read(pipe: File) -> Receiver<Value> {
    let (send, answers) = channel();
    std::thread::spawn(move || {
        for message in BufReader::new(pipe).split(0) {
            let Ok(message) = message else { break };
            let value = serde_json::from_slice(&message).expect("the browser speaks JSON");
            if send.send(value).is_err() {
                break;
            }
        }
    });
    answers
}
