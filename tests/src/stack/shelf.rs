//! The store of a world's workers, as files or as objects: what lies in it, as a test sees it?

use crate::kiln::command;
use crate::places;
use crate::stack::folder::Folder;
use crate::stack::objects::Objects;
use crate::stack::worker::Setup;
use serde_json::Value;

const BUCKET: &str = "kiln";
const PREFIX: &str = "fleet";

/// A store of one kind.
#[derive(Debug)]
pub enum Shelf {
    /// A folder.
    Files(Folder),
    /// A bucket.
    Objects(Objects),
}

/// What a command over a store said.
#[derive(Debug)]
pub struct Said {
    /// The code that it ended with.
    pub exit: Option<i32>,
    /// The lines of JSON that it printed.
    pub lines: Vec<Value>,
    /// What it told people.
    pub words: String,
}

impl Shelf {
    /// A new folder.
    pub fn files() -> Self {
        Self::Files(Folder::new())
    }

    /// A new bucket of a server of its own.
    pub fn objects() -> Self {
        let objects = Objects::start();
        objects.bucket(BUCKET);
        Self::Objects(objects)
    }

    /// What a configuration says of it.
    pub fn section(&self) -> String {
        match self {
            Self::Files(folder) => format!("url = \"file://{}/store\"", folder.path().display()),
            Self::Objects(objects) => format!(
                "url = \"s3://{BUCKET}/{PREFIX}\"\nendpoint = \"{}\"",
                objects.endpoint()
            ),
        }
    }

    /// What whoever opens it must know.
    pub fn env(&self) -> Vec<(String, String)> {
        match self {
            Self::Files(_) => Vec::new(),
            Self::Objects(_) => Objects::credentials(),
        }
    }

    /// Has a worker use it.
    pub fn serve(&self, setup: &mut Setup) {
        setup.store = self.section();
        setup.env.extend(self.env());
    }

    /// An object's text, where it is there.
    pub fn text(&self, object: &str) -> Option<String> {
        match self {
            Self::Files(folder) => {
                let path = folder.path().join("store").join(object);
                std::fs::read_to_string(path).ok()
            }
            Self::Objects(objects) => objects.object(BUCKET, &format!("{PREFIX}/{object}")),
        }
    }

    /// Whether an object is there.
    pub fn has(&self, object: &str) -> bool {
        self.text(object).is_some()
    }

    /// Runs a command over it, with lines of JSON, with a rule against `needle` or without.
    ///
    /// # Panics
    /// When it does not run, or prints something else.
    pub fn command(&self, rule: bool, words: &[&str]) -> Said {
        let folder = places::scratch();
        let text = "rule needle { strings: $a = \"needle\" condition: $a }\n";
        std::fs::write(folder.path().join("own.yar"), text).expect("scratch");
        let rules = format!("[scanner]\nrules = '{}'\n", folder.path().display());
        let rules = if rule { &*rules } else { "" };
        let config = folder.path().join("kiln.toml");
        let text = format!("[store]\n{}\n{rules}", self.section());
        std::fs::write(&config, text).expect("scratch");
        let ran = command(folder.path())
            .envs(self.env())
            .args(words)
            .args(["--json", "--config"])
            .arg(&config)
            .output()
            .expect("it runs");
        let lines = String::from_utf8(ran.stdout).expect("text");
        let lines = lines.lines().map(|line| {
            let parsed = serde_json::from_str(line);
            parsed.unwrap_or_else(|error| panic!("{error}: {line}"))
        });
        Said {
            exit: ran.status.code(),
            lines: lines.collect(),
            words: String::from_utf8_lossy(&ran.stderr).into_owned(),
        }
    }
}
