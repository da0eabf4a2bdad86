//! What is the answer to a job that the engine could not bring to its end?

use crate::fault::Fault;
use crate::fault::chain;
use crate::report::answer::{Unrun, now_unix_ms};
use kiln_protocol::Rejection;
use kiln_protocol::id::JobId;
use kiln_protocol::outcome::{Outcome, Reason};
use kiln_protocol::refusal::Refusal;

/// The answer. Whoever runs a job by hand is the operator too, so the chain of causes is in it.
pub(crate) fn outcome(id: JobId, fault: &Fault, worker: &str) -> Outcome {
    let reason = match fault {
        // The job asked for what it cannot have; only the engine could tell.
        Fault::Admit(why) => {
            let main = Refusal::bad("", why, "a job", "a job that can be served here");
            return Rejection::from(main).outcome(id, worker.to_owned(), now_unix_ms());
        }
        Fault::Screen(_) => Reason::Scanner,
        Fault::Fetch(_) | Fault::Keep(_) | Fault::Commit(_) => Reason::Store,
        Fault::Journal(_)
        | Fault::Secrets(_)
        | Fault::Lease(_)
        | Fault::Start(_)
        | Fault::Wait(_)
        | Fault::Collect(_) => Reason::Sandbox,
    };
    Unrun::platform_error(id, reason, chain(fault), worker).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::LeaseError;
    use kiln_protocol::outcome::Status;

    #[test]
    fn only_what_the_job_asked_wrongly_is_the_jobs_fault() {
        let id = || "a".parse().expect("an id");
        let refused = outcome(id(), &Fault::Admit("no such glob".into()), "w");
        assert_eq!(refused.status, Status::Rejected);
        assert_eq!(refused.message.as_deref(), Some("no such glob"));
        let failed = outcome(id(), &Fault::Lease(LeaseError::Profile("x".into())), "w");
        assert_eq!(failed.status, Status::PlatformError);
        assert_eq!(failed.reason, Some(Reason::Sandbox));
        assert!(failed.retryable);
        for outcome in [refused, failed] {
            assert_eq!(outcome.contradictions(), Vec::<&str>::new());
        }
    }
}
