//! The life of one job. Start here.
//!
//! ```text
//!  Job ─► Leased ─► Running ─► Spent
//!                                │ collect
//!  Outcome ◄─ Kept ◄─ Cleared ◄─ Raw
//!                                └─► hand_back: reset, and back to the pool
//! ```
//!
//! A job has no status field: its state is the type of the variable that holds it, and each step
//! consumes the last. What can go wrong with the *program* is in the values; what can go wrong
//! with *us* leaves by `?`, and whatever was held by then is dropped, which retires it.

use crate::fault::Fault;
use kiln_protocol::outcome::Outcome;

/// The steps, so that their order can be read here and tested without a kernel.
#[expect(
    async_fn_in_trait,
    reason = "used inside this crate alone, on one task per job"
)]
pub trait Steps {
    /// A sandbox promised to this job; dropping it retires it, like the two below.
    type Leased;
    /// The job's code is running in it.
    type Running;
    /// Every process of the job is dead; its files are still there.
    type Spent;
    /// What the kernel and our clock saw of the run.
    type Run;
    /// Copies of what the job made, which nobody has looked at.
    type Raw;
    /// What the gate has passed or withheld.
    type Cleared;
    /// What is in the store.
    type Kept;
    /// The one visible result.
    type Visible;

    async fn lease(&mut self) -> Result<Self::Leased, Fault>;
    async fn start(&mut self, leased: Self::Leased) -> Result<Self::Running, Fault>;
    async fn wait(&mut self, running: Self::Running) -> Result<(Self::Spent, Self::Run), Fault>;
    async fn collect(
        &mut self,
        spent: &mut Self::Spent,
        run: &mut Self::Run,
    ) -> Result<Self::Raw, Fault>;
    /// Gives the sandbox back for its reset, which no job waits for.
    fn hand_back(&mut self, spent: Self::Spent);
    async fn screen(&mut self, raw: Self::Raw) -> Result<Self::Cleared, Fault>;
    async fn keep(&mut self, cleared: Self::Cleared) -> Result<Self::Kept, Fault>;
    /// Decides what became of the job, in one place, from one record.
    fn report(&mut self, run: Self::Run, kept: Self::Kept) -> Outcome;
    /// Makes the outcome the job's one visible result, and gives what is visible.
    async fn commit(&mut self, outcome: Outcome) -> Result<Self::Visible, Fault>;
}

/// Serves one job from its lease to its committed outcome.
///
/// # Errors
///
/// The step of ours that failed. The job itself has no part in it and may be run again.
pub async fn serve<S: Steps>(steps: &mut S) -> Result<S::Visible, Fault> {
    let leased = steps.lease().await?;
    let running = steps.start(leased).await?;
    let (mut spent, mut run) = steps.wait(running).await?;
    let raw = steps.collect(&mut spent, &mut run).await?;
    steps.hand_back(spent);
    let cleared = steps.screen(raw).await?;
    let kept = steps.keep(cleared).await?;
    let outcome = steps.report(run, kept);
    steps.commit(outcome).await
}

#[cfg(test)]
mod tests {
    //! Every step is made to fault in turn: whatever the step, the sandbox is either handed back
    //! or dropped, and never both, and nothing is committed after a fault.

    use super::*;
    use crate::report::answer::Unrun;
    use kiln_protocol::id::JobId;
    use kiln_protocol::outcome::Reason;
    use std::cell::RefCell;
    use std::rc::Rc;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Step {
        Lease,
        Start,
        Wait,
        Collect,
        Screen,
        Keep,
        Commit,
    }

    /// A sandbox of the script: says what became of it when it is dropped.
    struct Held {
        seen: Rc<RefCell<Vec<&'static str>>>,
        end: &'static str,
    }

    impl Drop for Held {
        fn drop(&mut self) {
            self.seen.borrow_mut().push(self.end);
        }
    }

    struct Script {
        fault_at: Option<Step>,
        seen: Rc<RefCell<Vec<&'static str>>>,
    }

    impl Script {
        fn step(&self, step: Step, name: &'static str) -> Result<(), Fault> {
            if self.fault_at == Some(step) {
                return Err(Fault::Admit("scripted".to_owned()));
            }
            self.seen.borrow_mut().push(name);
            Ok(())
        }
    }

    impl Steps for Script {
        type Leased = Held;
        type Running = Held;
        type Spent = Held;
        type Run = ();
        type Raw = ();
        type Cleared = ();
        type Kept = ();
        type Visible = Outcome;

        async fn lease(&mut self) -> Result<Held, Fault> {
            self.step(Step::Lease, "lease")?;
            let seen = Rc::clone(&self.seen);
            Ok(Held {
                seen,
                end: "retired",
            })
        }
        async fn start(&mut self, leased: Held) -> Result<Held, Fault> {
            self.step(Step::Start, "start").map(|()| leased)
        }
        async fn wait(&mut self, running: Held) -> Result<(Held, ()), Fault> {
            self.step(Step::Wait, "wait").map(|()| (running, ()))
        }
        async fn collect(&mut self, _: &mut Held, (): &mut ()) -> Result<(), Fault> {
            self.step(Step::Collect, "collect")
        }
        fn hand_back(&mut self, mut spent: Held) {
            spent.end = "back";
        }
        async fn screen(&mut self, (): ()) -> Result<(), Fault> {
            self.step(Step::Screen, "screen")
        }
        async fn keep(&mut self, (): ()) -> Result<(), Fault> {
            self.step(Step::Keep, "keep")
        }
        fn report(&mut self, (): (), (): ()) -> Outcome {
            let id = JobId::for_line(1, b"any");
            Unrun::platform_error(id, Reason::Sandbox, "scripted".to_owned(), "test").into()
        }
        async fn commit(&mut self, outcome: Outcome) -> Result<Outcome, Fault> {
            self.step(Step::Commit, "commit").map(|()| outcome)
        }
    }

    fn run(fault_at: Option<Step>) -> (bool, String) {
        let seen = Rc::default();
        let mut script = Script {
            fault_at,
            seen: Rc::clone(&seen),
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .expect("a runtime");
        let served = runtime.block_on(serve(&mut script)).is_ok();
        let seen = seen.borrow().join(" ");
        (served, seen)
    }

    #[test]
    fn a_job_is_served() {
        let steps = "lease start wait collect back screen keep commit";
        assert_eq!(run(None), (true, steps.to_owned()));
    }

    #[test]
    fn a_fault_at_any_step_leaks_no_sandbox() {
        for (step, seen) in [
            (Step::Lease, ""),
            (Step::Start, "lease retired"),
            (Step::Wait, "lease start retired"),
            (Step::Collect, "lease start wait retired"),
            (Step::Screen, "lease start wait collect back"),
            (Step::Keep, "lease start wait collect back screen"),
            (Step::Commit, "lease start wait collect back screen keep"),
        ] {
            assert_eq!(
                run(Some(step)),
                (false, seen.to_owned()),
                "fault at {step:?}"
            );
        }
    }
}
