//! Who may touch a sandbox, and every move it may make.
//!
//! ```text
//!          Booted         Claimed          Started
//!   Cold ────────► Warm ──────────► Leased ────────► Running
//!                   ▲                  │ Released       │ Released
//!                   │ Cleansed         ▼                │
//!                   └───────────── Resetting ◄──────────┘
//!
//!   From every phase but Retired: Condemned ──► Retired, and none leads out.
//! ```
//!
//! The phase is what the pool counts and a registry remembers. What may be *done* to a sandbox is
//! said by the types in [`crate::sandbox`]; a test there holds the two together.

/// Who may touch a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Asked for, not yet built.
    Cold,
    /// Built, proved, and owned by the pool.
    Warm,
    /// Promised to one job; no code of the job has run.
    Leased,
    /// The job's code has run in it, and may be running still.
    Running,
    /// Nobody's: its cell is being replaced and proved.
    Resetting,
    /// Gone. The id is never used again.
    Retired,
}

/// What happened to a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Booted,
    Claimed,
    Started,
    Released,
    Cleansed,
    Condemned,
}

/// An event reached a sandbox in a phase that has no place for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IllegalTransition {
    pub phase: Phase,
    pub event: Event,
}

impl Phase {
    pub const ALL: [Self; 6] = [
        Self::Cold,
        Self::Warm,
        Self::Leased,
        Self::Running,
        Self::Resetting,
        Self::Retired,
    ];

    /// The phase that follows `event`.
    ///
    /// # Errors
    ///
    /// The event has no place in this phase. The caller retires the sandbox: one whose history is
    /// not understood is never reused.
    pub const fn after(self, event: Event) -> Result<Self, IllegalTransition> {
        use Event::{Booted, Claimed, Cleansed, Condemned, Released, Started};
        use Phase::{Cold, Leased, Resetting, Retired, Running, Warm};
        match (self, event) {
            (Cold, Booted) | (Resetting, Cleansed) => Ok(Warm),
            (Warm, Claimed) => Ok(Leased),
            (Leased, Started) => Ok(Running),
            (Leased | Running, Released) => Ok(Resetting),
            (Cold | Warm | Leased | Running | Resetting, Condemned) => Ok(Retired),
            (phase, event) => Err(IllegalTransition { phase, event }),
        }
    }
}

impl Event {
    pub const ALL: [Self; 6] = [
        Self::Booted,
        Self::Claimed,
        Self::Started,
        Self::Released,
        Self::Cleansed,
        Self::Condemned,
    ];
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The whole rule, drawn: a change of rule is a change of picture. What is not drawn is illegal.
    #[test]
    fn every_legal_move() {
        let mut drawn = Vec::new();
        for phase in Phase::ALL {
            for event in Event::ALL {
                if let Ok(next) = phase.after(event) {
                    drawn.push(format!("{phase:?} -- {event:?} --> {next:?}"));
                }
            }
        }
        assert_eq!(
            drawn,
            [
                "Cold -- Booted --> Warm",
                "Cold -- Condemned --> Retired",
                "Warm -- Claimed --> Leased",
                "Warm -- Condemned --> Retired",
                "Leased -- Started --> Running",
                "Leased -- Released --> Resetting",
                "Leased -- Condemned --> Retired",
                "Running -- Released --> Resetting",
                "Running -- Condemned --> Retired",
                "Resetting -- Cleansed --> Warm",
                "Resetting -- Condemned --> Retired",
            ]
        );
    }

    /// Walks every history of twelve events: between two jobs of one sandbox there is a cleansing.
    #[test]
    fn two_jobs_never_meet() {
        fn walk(phase: Phase, used: bool, events_left: u8) {
            if events_left == 0 {
                return;
            }
            for event in Event::ALL {
                let Ok(next) = phase.after(event) else {
                    continue;
                };
                assert!(
                    !(event == Event::Started && used),
                    "a second job in a used cell"
                );
                let used = match event {
                    Event::Started => true,
                    Event::Cleansed => false,
                    _ => used,
                };
                walk(next, used, events_left - 1);
            }
        }
        walk(Phase::Cold, false, 12);
    }
}
