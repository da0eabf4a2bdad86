//! What is the answer to a job that the engine could not bring to its end?

use crate::fault::Fault;
use crate::fault::chain;
use crate::report::answer::{Unrun, now_unix_ms};
use kiln_protocol::Rejection;
use kiln_protocol::id::JobId;
use kiln_protocol::outcome::{Outcome, Reason};
use kiln_protocol::refusal::Refusal;

/// The answer. Whoever runs a job by hand is the operator too, so the chain of causes is in it.
pub(super) fn outcome(id: JobId, fault: &Fault, worker: &str) -> Outcome {
    let reason = match fault {
        // The job asked for what it cannot have; only the engine could tell.
        Fault::Admit(why) => {
            let main = Refusal::bad("", why, "a job", "a job that can be served here");
            let rejection = Rejection {
                job_id: None,
                tenant: None,
                main,
                others: Vec::new(),
            };
            return rejection.outcome(id, worker.to_owned(), now_unix_ms());
        }
        Fault::Keep(_) | Fault::Commit(_) => Reason::Store,
        Fault::Lease(_) | Fault::Start(_) | Fault::Wait(_) | Fault::Collect(_) => Reason::Sandbox,
    };
    Unrun::platform_error(id, reason, chain(fault), worker).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::batch::results::exit_of;
    use crate::cli::exit::Exit;
    use crate::pool::LeaseError;

    #[test]
    fn only_what_the_job_asked_wrongly_is_the_jobs_fault() {
        let id = || "a".parse().expect("an id");
        let refused = outcome(id(), &Fault::Admit("no such glob".into()), "w");
        assert_eq!(exit_of(refused.status), Exit::Usage);
        assert_eq!(refused.message.as_deref(), Some("no such glob"));
        let failed = outcome(id(), &Fault::Lease(LeaseError::Profile("x".into())), "w");
        assert_eq!(exit_of(failed.status), Exit::Unavailable);
        assert_eq!(failed.reason, Some(Reason::Sandbox));
        assert!(failed.retryable);
        for outcome in [refused, failed] {
            assert_eq!(outcome.contradictions(), Vec::<&str>::new());
        }
    }
}
