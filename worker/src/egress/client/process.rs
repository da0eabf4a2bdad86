//! How is a proxy started, told, and heard?

use super::{EgressError, Options};
use crate::egress::resolve::{self, PORT};
use crate::egress::wire::{FromProxy, MESSAGE_MAX, Settings, ToProxy};
use crate::sandbox::channel::Channel;
use std::io::Read as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tokio::process::{Child, Command};
use tokio::time::timeout;
use zeroize::Zeroizing;

/// A proxy has this long to be ready, and to end.
const WITHIN: Duration = Duration::from_secs(10);
/// Where the machine says who is asked for names.
const RESOLV_CONF: &str = "/etc/resolv.conf";
/// Bytes of it that are read.
const RESOLV_CONF_MAX: u64 = 64 * 1024;

/// A proxy that is ready. Dropping it ends it.
#[derive(Debug)]
pub(super) struct Proxy {
    channel: Channel,
    child: Child,
}

impl Proxy {
    /// Starts one and waits until it is confined.
    pub(super) async fn start(options: &Options) -> Result<Self, EgressError> {
        let (channel, theirs) = Channel::pair().map_err(EgressError::Spawn)?;
        let program = options.program.as_deref();
        let child = Command::new(program.unwrap_or(Path::new("/proc/self/exe")))
            .arg0("kiln")
            .arg(crate::cli::PROXY)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .spawn()
            .map_err(EgressError::Spawn)?;
        let proxy = Self { channel, child };
        let began = async {
            proxy.say(&ToProxy::Begin(settings(options)), None).await?;
            proxy.hear().await
        };
        match timeout(WITHIN, began).await {
            Ok(Ok(Some(FromProxy::Ready))) => Ok(proxy),
            Ok(Ok(Some(FromProxy::Failed { message }))) => Err(EgressError::NotReady(message)),
            Ok(Ok(None)) => Err(EgressError::NotReady("it ended".to_owned())),
            Ok(Ok(Some(_))) => Err(EgressError::NotReady("it says nonsense".to_owned())),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(EgressError::NotReady("it says nothing".to_owned())),
        }
    }

    pub(super) async fn say(
        &self,
        message: &ToProxy,
        listener: Option<&OwnedFd>,
    ) -> Result<(), EgressError> {
        let bytes = serde_json::to_vec(message).map_err(|e| EgressError::Speak(e.into()))?;
        // It may hold credentials.
        let bytes = Zeroizing::new(bytes);
        if bytes.len() > MESSAGE_MAX {
            return Err(EgressError::Speak(std::io::ErrorKind::InvalidInput.into()));
        }
        let listener: Vec<_> = listener.iter().map(|fd| fd.as_fd()).collect();
        let said = timeout(WITHIN, self.channel.send(&bytes, &listener)).await;
        said.map_err(|_| EgressError::Speak(std::io::ErrorKind::TimedOut.into()))?
            .map_err(EgressError::Speak)
    }

    /// Its next word; `None` where it is gone.
    pub(super) async fn hear(&self) -> Result<Option<FromProxy>, EgressError> {
        let message = self.channel.recv(MESSAGE_MAX).await;
        let Some(message) = message.map_err(EgressError::Speak)? else {
            return Ok(None);
        };
        let word = serde_json::from_slice(&message.bytes);
        word.map(Some).map_err(|e| EgressError::Speak(e.into()))
    }

    /// Ends it and waits for its end.
    pub(super) async fn end(self) {
        let Self { channel, mut child } = self;
        drop(channel);
        if timeout(WITHIN, child.wait()).await.is_err()
            && let Err(error) = child.kill().await
        {
            tracing::error!(%error, "the egress proxy does not end");
        }
    }
}

fn settings(options: &Options) -> Settings {
    let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    Settings {
        resolvers: match options.resolvers.as_slice() {
            [] => machines(),
            own => own.to_vec(),
        },
        allow_private: options.allow_private.clone(),
        plain_tunnels: options
            .plain_tunnels
            .iter()
            .map(ToString::to_string)
            .collect(),
        tls: options.tls,
        ca_file: options.ca_file.clone(),
        connect_ms: ms(options.connect),
        idle_ms: ms(options.idle),
        uid: options.uid,
    }
}

/// The machine's own name servers; as resolvers do, this machine where none is named.
fn machines() -> Vec<SocketAddr> {
    let mut text = String::new();
    let read = std::fs::File::open(RESOLV_CONF)
        .and_then(|file| file.take(RESOLV_CONF_MAX).read_to_string(&mut text));
    if let Err(error) = read {
        tracing::warn!(%error, "`{RESOLV_CONF}` cannot be read: set `egress.resolvers`");
    }
    let found = resolve::servers(&text);
    if found.is_empty() {
        vec![(Ipv4Addr::LOCALHOST, PORT).into()]
    } else {
        found
    }
}
