//! How a sandbox of a profile comes to be.

use super::{ServeError, Warden};
use crate::container::{ContainerError, Groups};
use crate::image::{self, Image, ImageError};
use crate::profile::ImageSource;
use crate::sandbox::{Emit, Sandbox};
use crate::socket;
use crate::uids::{JobIds, UidsError};
use crate::wire::{Event, SandboxId};
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;

/// Why a sandbox could not be created.
#[derive(Debug, thiserror::Error)]
enum CreateError {
    #[error("know the profile `{0}`")]
    Profile(String),
    #[error("prepare the image")]
    Image(#[source] ImageError),
    #[error("find a range of uids")]
    Uids(#[source] UidsError),
    #[error("make the container")]
    Container(#[source] ContainerError),
    #[error("make the worker's socket to the keeper")]
    Socket(#[source] io::Error),
}

impl Warden<'_> {
    pub(super) fn create(&mut self, seq: u64, profile: &str) -> Result<(), ServeError> {
        match self.make(profile) {
            Ok((mut sandbox, ours, theirs, image)) => {
                let id = self.last;
                let told = sandbox.init(&self.shared, &theirs);
                self.watch(id, &sandbox)?;
                self.emit(&Emit {
                    event: Event::Created {
                        seq,
                        sandbox: SandboxId(id),
                        image,
                    },
                    descriptors: vec![ours],
                })?;
                let begun = told
                    .and_then(|()| sandbox.meanwhile(&self.shared))
                    .map(|()| None);
                self.sandboxes.insert(id, sandbox);
                self.settle(id, begun)
            }
            Err(e) => self.tell(Event::CreateFailed {
                seq,
                platform: !matches!(e, CreateError::Profile(_)),
                message: format!("failed to {}", crate::chain(&e)),
            }),
        }
    }

    /// A sandbox whose keeper runs, both ends of the worker's socket to it, and its image's id.
    fn make(&mut self, profile: &str) -> Result<(Sandbox, OwnedFd, OwnedFd, String), CreateError> {
        let profile = self
            .profiles
            .get(profile)
            .ok_or_else(|| CreateError::Profile(profile.to_owned()))?;
        let table = Rc::new(profile.limits.clone());
        let source = profile.image.clone();
        let image = self.image(&source)?;
        let (ours, theirs) = socket::pair().map_err(CreateError::Socket)?;
        let ids = JobIds::draw().map_err(CreateError::Uids)?;
        let range = self.uids.take().map_err(CreateError::Uids)?;
        self.last += 1;
        let id = SandboxId(self.last);
        let groups = match self.spare.take() {
            Some(spare) => spare,
            None => Groups::make(&self.groups, &id.to_string()),
        };
        let made =
            groups.and_then(|groups| self.place.create(&id.to_string(), &image, groups, range));
        match made {
            Ok(container) => {
                let sandbox = Sandbox::new(id, table, container, range, ids);
                Ok((sandbox, ours, theirs, image.id().to_owned()))
            }
            // The range is not given back: what of it still lives is not known.
            Err(e) => Err(CreateError::Container(e)),
        }
    }

    /// Makes the groups of the next sandbox, unless they are there: to be called when the warden
    /// would only wait. A failure is the next create's.
    pub(super) fn prepare_spare(&mut self) {
        if self.spare.is_none() {
            let next = SandboxId(self.last + 1);
            self.spare = Some(Groups::make(&self.groups, &next.to_string()));
        }
    }

    /// The image of a source, prepared once.
    fn image(&mut self, source: &ImageSource) -> Result<Rc<Image>, CreateError> {
        if let Some(image) = self.images.get(source) {
            return Ok(Rc::clone(image));
        }
        let work = self.image_work.join(self.images.len().to_string());
        std::fs::create_dir_all(&work)
            .map_err(|e| CreateError::Image(ImageError::Write(work.clone(), e)))?;
        let image = Rc::new(image::prepare(source, &work).map_err(CreateError::Image)?);
        self.images.insert(source.clone(), Rc::clone(&image));
        Ok(image)
    }
}
