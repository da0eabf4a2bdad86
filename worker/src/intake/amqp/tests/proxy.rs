//! A way to the broker that can be cut, and one whose first connection can fall silent.

use super::url;
use lapin::uri::AMQPUri;
use std::sync::Arc;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{broadcast, watch};

pub(super) struct Proxy {
    port: u16,
    cut: broadcast::Sender<()>,
    mute: Arc<watch::Sender<bool>>,
}

impl Proxy {
    pub(super) async fn start() -> Self {
        let uri: AMQPUri = url().parse().expect("a url");
        let target = (uri.authority.host, uri.authority.port);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("it is bound").port();
        let (cut, _) = broadcast::channel(1);
        let mute = Arc::new(watch::Sender::new(false));
        let proxy = Self {
            port,
            cut: cut.clone(),
            mute: Arc::clone(&mute),
        };
        tokio::spawn(async move {
            let mut count = 0;
            while let Ok((client, _)) = listener.accept().await {
                count += 1;
                let Ok(server) = TcpStream::connect(target.clone()).await else {
                    continue;
                };
                let mut cut = cut.subscribe();
                let mute = (count == 1).then(|| mute.subscribe());
                tokio::spawn(async move {
                    tokio::select! {
                        () = pass(client, server, mute) => {}
                        _ = cut.recv() => {}
                    }
                });
            }
        });
        proxy
    }

    /// The broker's url by this way.
    pub(super) fn url(&self, query: &str) -> String {
        let mut uri: AMQPUri = url().parse().expect("a url");
        "127.0.0.1".clone_into(&mut uri.authority.host);
        uri.authority.port = self.port;
        let user = &uri.authority.userinfo;
        format!(
            "amqp://{}:{}@127.0.0.1:{}/%2f?{query}",
            user.username, user.password, self.port
        )
    }

    /// Ends every connection.
    pub(super) fn cut(&self) {
        drop(self.cut.send(()));
    }

    /// From now on, nothing that the broker says on the first connection arrives.
    pub(super) fn mute(&self) {
        self.mute.send_replace(true);
    }
}

async fn pass(mut client: TcpStream, mut server: TcpStream, mute: Option<watch::Receiver<bool>>) {
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let up = async { tokio::io::copy(&mut from_client, &mut to_server).await };
    let down = async {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(n @ 1..) = from_server.read(&mut buffer).await {
            if mute.as_ref().is_some_and(|mute| *mute.borrow()) {
                continue;
            }
            if to_client.write_all(&buffer[..n]).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        _ = up => {}
        () = down => {}
    }
}
