//! An S3 of its own: moto's server, from the virtual environment of the tests.

use crate::leftovers::wait_for;
use crate::places;
use crate::stack::folder::Folder;
use crate::stack::http::{ask, get};
use crate::stack::ports::Ports;
use crate::stack::process::{Plan, Process};
use std::time::Duration;

/// Signatures are not looked at, but there must be one: objects are private.
const ANYBODY: &str = "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0";

/// A server that keeps everything in memory.
#[derive(Debug)]
pub struct Objects {
    server: Process,
    ports: Ports,
    _folder: Folder,
}

impl Objects {
    /// Starts one and waits until it answers.
    ///
    /// # Panics
    /// When it does not within a minute.
    pub fn start() -> Self {
        let (folder, ports) = (Folder::new(), Ports::take());
        let port = ports.at(0).to_string();
        let program = places::venv().join("bin/moto_server").display().to_string();
        let plan = Plan {
            name: "moto",
            words: [&program, "-H", "127.0.0.1", "-p", &port]
                .map(str::to_owned)
                .to_vec(),
            env: vec![("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())],
            folder: folder.path(),
        };
        let objects = Self {
            server: plan.start(),
            ports,
            _folder: folder,
        };
        let up =
            || get(objects.port(), "/moto-api/data.json").is_some_and(|said| said.status == 200);
        assert!(
            wait_for(Duration::from_mins(1), up),
            "moto is not up: {}",
            objects.server.last_words()
        );
        objects
    }

    /// For the environment of a worker.
    pub fn credentials() -> Vec<(String, String)> {
        let names = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"];
        names
            .map(|name| (name.to_owned(), "test".to_owned()))
            .to_vec()
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.ports.at(0)
    }

    /// For a configuration.
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port())
    }

    /// Makes a bucket.
    ///
    /// # Panics
    /// When it is refused.
    pub fn bucket(&self, name: &str) {
        let said = ask(self.port(), "PUT", &format!("/{name}"), &[]);
        let status = said.as_ref().map(|said| said.status);
        assert_eq!(status, Some(200), "{said:?}");
    }

    /// An object's text, where it is there.
    pub fn object(&self, bucket: &str, key: &str) -> Option<String> {
        let who = [("Authorization", ANYBODY)];
        let said = ask(self.port(), "GET", &format!("/{bucket}/{key}"), &who)?;
        (said.status == 200).then_some(said.body)
    }
}

#[cfg(test)]
mod tests {
    use super::Objects;
    use crate::stack::http::ask;

    #[test]
    fn s3_keeps_what_it_is_given() {
        let objects = Objects::start();
        objects.bucket("kiln");
        assert_eq!(objects.object("kiln", "results/a.json"), None);
        let who = [("Authorization", super::ANYBODY)];
        let put = ask(objects.port(), "PUT", "/kiln/results/a.json", &who).expect("it answers");
        assert_eq!(put.status, 200, "{put:?}");
        assert_eq!(
            objects.object("kiln", "results/a.json").as_deref(),
            Some("")
        );
    }
}
