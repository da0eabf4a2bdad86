//! A fresh store for one test, and what the plays need beside it.

use crate::collect::RawFile;
use crate::config::{S3, Secret, Store};
use crate::execute::memfd;
use crate::store::backend::{Durable, Rule};
use crate::store::ledger::Ledger;
use crate::telemetry::metric::Metrics;
use kiln_protocol::admission::{Admission, IdRule, TenantRule};
use kiln_protocol::id::{JobId, Tenant};
use kiln_protocol::job::Job;
use kiln_warden::profile::Profiles;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};

/// A fresh store; its folder goes with it.
pub(super) struct Ground {
    pub(super) store: Store,
    folder: Option<PathBuf>,
}

impl Ground {
    pub(super) fn files() -> Self {
        let token = uuid::Uuid::now_v7().simple().to_string();
        let path = std::env::temp_dir().join(format!("kiln-ledger-{token}"));
        Self {
            store: Store::Files(path.clone()),
            folder: Some(path),
        }
    }

    /// A bucket of its own at the server of `KILN_TEST_S3`.
    pub(super) fn s3() -> Self {
        let url = server();
        let bucket = format!("kiln-{}", uuid::Uuid::now_v7().simple());
        let host = url.strip_prefix("http://").expect("an http URL");
        let host = host.trim_end_matches('/');
        let mut stream = TcpStream::connect(host).expect("the server of KILN_TEST_S3 answers");
        write!(
            stream,
            "PUT /{bucket} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        )
        .expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(answer.contains(" 200 "), "make a bucket: {answer}");
        Self {
            store: Store::S3(section(&bucket, &url)),
            folder: None,
        }
    }

    pub(super) async fn ledger(&self) -> Ledger {
        let ledger = Ledger::open(&self.store, Metrics::new()).await;
        let ledger = ledger.expect("the store can be opened");
        assert!(ledger.reachable(), "the store can be reached");
        ledger
    }

    /// The folder of a local store.
    pub(super) fn path(&self) -> &Path {
        self.folder.as_deref().expect("a local store")
    }

    pub(super) async fn write(&self, ledger: &Ledger, key: &str, bytes: &[u8]) {
        let bytes = bytes.into();
        let put = ledger.put(key, &bytes, Rule::Replace, Durable::Now);
        put.await.expect("it can be written");
    }

    pub(super) async fn read(&self, ledger: &Ledger, key: &str) -> Vec<u8> {
        let got = ledger.get(key).await.expect("it can be read");
        got.expect("it is there")
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        if let Some(folder) = &self.folder {
            drop(std::fs::remove_dir_all(folder));
        }
    }
}

pub(super) fn server() -> String {
    let url = std::env::var("KILN_TEST_S3");
    url.expect("KILN_TEST_S3 is the URL of an S3 server for tests, such as http://127.0.0.1:21201")
}

pub(super) fn section(bucket: &str, endpoint: &str) -> S3 {
    S3 {
        bucket: bucket.to_owned(),
        prefix: "some/prefix".to_owned(),
        endpoint: Some(endpoint.to_owned()),
        region: "us-east-1".to_owned(),
        access_key_id: Some(Secret::new("key")),
        secret_access_key: Some(Secret::new("secret")),
    }
}

pub(super) fn id(text: &str) -> JobId {
    text.parse().expect("an id")
}

pub(super) fn tenant(text: &str) -> Tenant {
    text.parse().expect("a tenant")
}

pub(super) fn sha256(bytes: &[u8]) -> String {
    kiln_protocol::digest::sha256_hex(bytes)
}

pub(super) fn file(path: &str, bytes: &[u8]) -> RawFile {
    RawFile {
        path: path.to_owned(),
        file: memfd::sealed("test", bytes).expect("memory").into(),
        bytes: bytes.len() as u64,
        sha256: sha256(bytes),
    }
}

pub(super) fn job(name: &str) -> Job {
    let admission = Admission {
        profiles: &Profiles::built_in(),
        id: IdRule::Given(id(name)),
        tenant: TenantRule::Default(Tenant::default()),
        class: None,
    };
    let message = br#"{"schema":"kiln.job.v1","command":["true"]}"#;
    kiln_protocol::decode(message, &admission)
        .expect("a job")
        .job
}
