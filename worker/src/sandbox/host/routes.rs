//! Which answer of the warden's goes to whom.

use super::HostError;
use crate::sandbox::channel::{Channel, Message};
use kiln_warden::wire::{Event, MESSAGE_MAX, SandboxId};
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{mpsc, oneshot};

pub(super) type Answers = mpsc::UnboundedReceiver<(Event, Vec<OwnedFd>)>;

#[derive(Debug, Default)]
pub(super) struct Routes {
    pub(super) next_seq: u64,
    pub(super) created: HashMap<u64, oneshot::Sender<Result<Created, HostError>>>,
    pub(super) sandboxes: HashMap<SandboxId, mpsc::UnboundedSender<(Event, Vec<OwnedFd>)>>,
    pub(super) retired: HashMap<SandboxId, oneshot::Sender<Option<String>>>,
    /// What is left of sandboxes that ended before anybody asked.
    pub(super) left: HashMap<SandboxId, String>,
    pub(super) closed: bool,
}

#[derive(Debug)]
pub(super) struct Created {
    pub(super) id: SandboxId,
    pub(super) image: Arc<str>,
    pub(super) control: OwnedFd,
    pub(super) answers: Answers,
}

pub(super) fn decode(message: &Message) -> Result<Event, HostError> {
    serde_json::from_slice(&message.bytes).map_err(|e| HostError::Nonsense(e.to_string()))
}

pub(super) fn lock(routes: &Mutex<Routes>) -> std::sync::MutexGuard<'_, Routes> {
    // Routes are only maps: a panic elsewhere leaves them whole.
    routes.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads the warden's messages until it is gone, then lets every waiter go. Says of each that
/// something was heard.
pub(super) async fn read(
    channel: Arc<Channel>,
    routes: Arc<Mutex<Routes>>,
    heard: impl Fn() + Send,
) {
    loop {
        let message = match channel.recv(MESSAGE_MAX).await {
            Ok(Some(message)) => message,
            Ok(None) => break,
            Err(error) => {
                tracing::error!(%error, "the warden's socket failed");
                break;
            }
        };
        heard();
        match decode(&message) {
            Ok(event) => route(&routes, event, message.descriptors),
            Err(error) => {
                tracing::error!(%error, "the warden spoke nonsense");
                break;
            }
        }
    }
    let mut routes = lock(&routes);
    *routes = Routes {
        closed: true,
        ..Routes::default()
    };
}

fn route(routes: &Mutex<Routes>, event: Event, mut descriptors: Vec<OwnedFd>) {
    let mut routes = lock(routes);
    match event {
        Event::Created {
            seq,
            sandbox,
            image,
        } => {
            let Some(waiter) = routes.created.remove(&seq) else {
                return;
            };
            let Some(control) = descriptors.pop() else {
                return;
            };
            let (sender, answers) = mpsc::unbounded_channel();
            routes.sandboxes.insert(sandbox, sender);
            let created = Created {
                id: sandbox,
                image: image.into(),
                control,
                answers,
            };
            if waiter.send(Ok(created)).is_err() {
                tracing::debug!(%sandbox, "nobody waits for a sandbox any more");
            }
        }
        Event::CreateFailed { seq, message, .. } => {
            if let Some(waiter) = routes.created.remove(&seq)
                && waiter.send(Err(HostError::Create(message))).is_err()
            {
                tracing::debug!("nobody waits for a failed sandbox any more");
            }
        }
        Event::Retired { sandbox, failed } => {
            routes.sandboxes.remove(&sandbox);
            if let Some(waiter) = routes.retired.remove(&sandbox) {
                if waiter.send(failed).is_err() {
                    tracing::debug!(%sandbox, "nobody waits for a retirement any more");
                }
            } else if let Some(left) = failed {
                routes.left.insert(sandbox, left);
            }
        }
        Event::Ready { sandbox, .. }
        | Event::Limited { sandbox, .. }
        | Event::LimitFailed { sandbox, .. }
        | Event::Dirty { sandbox, .. }
        | Event::Broken { sandbox, .. } => {
            if let Some(inbox) = routes.sandboxes.get(&sandbox)
                && inbox.send((event, descriptors)).is_err()
            {
                tracing::debug!(%sandbox, "nobody listens for a sandbox any more");
            }
        }
        Event::Welcome { .. } | Event::Refused { .. } => {
            tracing::error!("the warden greets twice");
        }
    }
}
