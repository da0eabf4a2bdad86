//! A store in a bucket that speaks S3.

use super::StoreError;
use super::backend::{BackendError, Entry, Put, Rule, Sink, blocking};
use crate::config::S3;
use futures_util::TryStreamExt as _;
use object_store::aws::{AmazonS3, AmazonS3Builder, S3ConditionalPut};
use object_store::path::Path;
use object_store::{
    Attribute, Attributes, BackoffConfig, ClientOptions, Error, GetResult, MultipartUpload,
    ObjectStore, ObjectStoreExt as _, PutMode, PutMultipartOptions, PutOptions, PutPayload,
    RetryConfig,
};
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;
use std::time::Duration;

/// Files up to this size go in one request; larger ones in parts of it.
const PART_BYTES: u64 = 8 * 1024 * 1024;
/// One request, with all that it sends and receives.
const REQUEST_MAX: Duration = Duration::from_mins(5);
/// Silence of the store: its answer comes by then, and each piece of it.
const SILENCE_MAX: Duration = Duration::from_secs(15);
const CONNECT_MAX: Duration = Duration::from_secs(5);
/// What the client repeats by itself; beyond it whoever asked decides.
const RETRIES_MAX: usize = 2;
const RETRY_MAX: Duration = Duration::from_secs(10);

const NO_CREDENTIALS: &str = "there is no access key: give `store.access_key_id_file` and \
     `store.secret_access_key_file`, or the variables `AWS_ACCESS_KEY_ID` and \
     `AWS_SECRET_ACCESS_KEY`";
/// Variables each of which says where credentials come from.
const CREDENTIALS: [&str; 6] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_METADATA_ENDPOINT",
    "AWS_SKIP_SIGNATURE",
];

/// A bucket, or what is below a prefix of it.
#[derive(Clone, Debug)]
pub(super) struct Objects {
    client: Arc<AmazonS3>,
    prefix: String,
}

impl Objects {
    /// A client; nothing is asked of the store yet.
    pub(super) fn open(section: &S3) -> Result<Self, StoreError> {
        let wrong = |error: &dyn std::fmt::Display| StoreError::Configuration(error.to_string());
        crate::tls::install();
        let mut builder = match (&section.access_key_id, &section.secret_access_key) {
            (Some(id), Some(secret)) => AmazonS3Builder::new()
                .with_access_key_id(id.reveal())
                .with_secret_access_key(secret.reveal()),
            (None, None) if has_credentials(std::env::var_os) => AmazonS3Builder::from_env(),
            // The client would ask the metadata service of a machine that may have none, for ever.
            (None, None) => return Err(wrong(&NO_CREDENTIALS)),
            _ => {
                return Err(wrong(
                    &"give both `store.access_key_id_file` and `store.secret_access_key_file`",
                ));
            }
        };
        builder = builder
            .with_bucket_name(&section.bucket)
            .with_region(&section.region)
            .with_conditional_put(S3ConditionalPut::ETagMatch)
            .with_retry(RetryConfig {
                backoff: BackoffConfig {
                    init_backoff: Duration::from_millis(100),
                    max_backoff: Duration::from_secs(1),
                    base: 2.0,
                },
                max_retries: RETRIES_MAX,
                retry_timeout: RETRY_MAX,
            });
        let http = section
            .endpoint
            .as_ref()
            .is_some_and(|url| url.starts_with("http://"));
        builder = builder.with_client_options(
            ClientOptions::new()
                .with_timeout(REQUEST_MAX)
                .with_read_timeout(SILENCE_MAX)
                .with_connect_timeout(CONNECT_MAX)
                .with_allow_http(http),
        );
        builder = match &section.endpoint {
            // Other servers seldom have a name for each bucket.
            Some(url) => builder
                .with_endpoint(url.trim_end_matches('/'))
                .with_virtual_hosted_style_request(false),
            // A certificate for `*.s3...` covers no dot.
            None => builder.with_virtual_hosted_style_request(!section.bucket.contains('.')),
        };
        let prefix = section.prefix.trim_matches('/').to_owned();
        Path::parse(&prefix).map_err(|error| wrong(&error))?;
        Ok(Self {
            client: Arc::new(builder.build().map_err(|error| wrong(&error))?),
            prefix,
        })
    }

    pub(super) async fn put(
        &self,
        key: &str,
        document: &[u8],
        rule: Rule,
    ) -> Result<Put, BackendError> {
        let options = PutOptions {
            mode: match rule {
                Rule::Create => PutMode::Create,
                Rule::Replace => PutMode::Overwrite,
            },
            attributes: attributes("application/json"),
            ..PutOptions::default()
        };
        let payload = PutPayload::from(document.to_vec());
        match self
            .client
            .put_opts(&self.path(key)?, payload, options)
            .await
        {
            Ok(_) => Ok(Put::Made),
            Err(Error::AlreadyExists { .. }) if rule == Rule::Create => Ok(Put::Exists),
            Err(error) => Err(told(error)),
        }
    }

    pub(super) async fn get(
        &self,
        key: &str,
        bytes_max: u64,
    ) -> Result<Option<Vec<u8>>, BackendError> {
        let Some(found) = self.open_object(key, bytes_max).await? else {
            return Ok(None);
        };
        let mut stream = found.into_stream();
        let mut document = Vec::new();
        while let Some(bytes) = stream.try_next().await.map_err(told)? {
            document.extend_from_slice(&bytes);
            if document.len() as u64 > bytes_max {
                return Err(BackendError::TooLarge { bytes_max });
            }
        }
        Ok(Some(document))
    }

    pub(super) async fn download(
        &self,
        key: &str,
        mut sink: Sink,
    ) -> Result<Option<Sink>, BackendError> {
        let Some(found) = self.open_object(key, sink.bytes_max()).await? else {
            return Ok(None);
        };
        let mut stream = found.into_stream();
        while let Some(bytes) = stream.try_next().await.map_err(told)? {
            sink.write(&bytes)?;
        }
        Ok(Some(sink))
    }

    pub(super) async fn upload(
        &self,
        key: &str,
        from: Arc<File>,
        bytes: u64,
        media_type: &str,
    ) -> Result<(), BackendError> {
        let path = self.path(key)?;
        let attributes = attributes(media_type);
        if bytes <= PART_BYTES {
            let payload = part(&from, 0, bytes).await?;
            let options = PutOptions {
                attributes,
                ..PutOptions::default()
            };
            let put = self.client.put_opts(&path, payload, options).await;
            return put.map(drop).map_err(told);
        }
        let options = PutMultipartOptions {
            attributes,
            ..PutMultipartOptions::default()
        };
        let begun = self.client.put_multipart_opts(&path, options).await;
        let mut upload = begun.map_err(told)?;
        match parts(&mut *upload, &from, bytes).await {
            Ok(()) => Ok(()),
            Err(error) => {
                if let Err(left) = upload.abort().await {
                    tracing::debug!(%left, key, "an upload in parts was left");
                }
                Err(error)
            }
        }
    }

    pub(super) async fn list(&self, folder: &str) -> Result<Vec<Entry>, BackendError> {
        let path = self.path(folder)?;
        let metas: Vec<_> = self
            .client
            .list(Some(&path))
            .try_collect()
            .await
            .map_err(told)?;
        let below = if self.prefix.is_empty() {
            0
        } else {
            self.prefix.len() + 1
        };
        let entries = metas.into_iter().filter_map(|meta| {
            let key = meta.location.as_ref().get(below..)?.to_owned();
            let modified = meta.last_modified.into();
            Some(Entry { key, modified })
        });
        Ok(entries.collect())
    }

    pub(super) async fn delete(&self, key: &str) -> Result<(), BackendError> {
        match self.client.delete(&self.path(key)?).await.map_err(told) {
            Err(BackendError::Objects(Error::NotFound { .. })) => Ok(()),
            done => done,
        }
    }

    async fn open_object(
        &self,
        key: &str,
        bytes_max: u64,
    ) -> Result<Option<GetResult>, BackendError> {
        match self.client.get(&self.path(key)?).await.map_err(told) {
            Ok(found) if found.meta.size > bytes_max => Err(BackendError::TooLarge { bytes_max }),
            Ok(found) => Ok(Some(found)),
            Err(BackendError::Objects(Error::NotFound { .. })) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn path(&self, key: &str) -> Result<Path, BackendError> {
        let parsed = if self.prefix.is_empty() {
            Path::parse(key)
        } else {
            Path::parse(format!("{}/{key}", self.prefix))
        };
        parsed.map_err(|_| BackendError::NoFile)
    }
}

/// Whether the environment says where credentials come from.
fn has_credentials(variable: impl Fn(&'static str) -> Option<OsString>) -> bool {
    let set = |name| variable(name).is_some_and(|value| !value.is_empty());
    CREDENTIALS.into_iter().any(set)
}

/// What a job made is to be saved, never shown by whoever serves the bucket.
fn attributes(media_type: &str) -> Attributes {
    let mut attributes = Attributes::new();
    attributes.insert(Attribute::ContentType, media_type.to_owned().into());
    attributes.insert(Attribute::ContentDisposition, "attachment".into());
    attributes
}

/// A bucket that is not there is told from an object that is not there.
fn told(error: Error) -> BackendError {
    match error {
        Error::NotFound { .. } if error.to_string().contains("NoSuchBucket") => {
            BackendError::NoBucket
        }
        error => BackendError::Objects(error),
    }
}

async fn parts(
    upload: &mut dyn MultipartUpload,
    from: &Arc<File>,
    bytes: u64,
) -> Result<(), BackendError> {
    let mut at = 0;
    while at < bytes {
        let size = PART_BYTES.min(bytes - at);
        let payload = part(from, at, size).await?;
        upload.put_part(payload).await.map_err(told)?;
        at += size;
    }
    upload.complete().await.map(drop).map_err(told)
}

/// One part of a file, in memory.
async fn part(from: &Arc<File>, at: u64, size: u64) -> Result<PutPayload, BackendError> {
    let from = Arc::clone(from);
    blocking(move || {
        let mut bytes = vec![0; usize::try_from(size).unwrap_or(usize::MAX)];
        from.read_exact_at(&mut bytes, at)
            .map_err(BackendError::Local)?;
        Ok(PutPayload::from(bytes))
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_said_and_never_guessed() {
        let with = |set: &'static str, value: &'static str| {
            has_credentials(|name| (name == set).then(|| value.into()))
        };
        assert!(with("AWS_ACCESS_KEY_ID", "id"));
        assert!(with("AWS_WEB_IDENTITY_TOKEN_FILE", "/token"));
        assert!(!with("AWS_ACCESS_KEY_ID", ""));
        assert!(!with("AWS_REGION", "us-east-1"));
    }
}
