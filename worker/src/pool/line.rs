//! Whose turn is it, when jobs of one profile wait for a sandbox? They are served in the order in
//! which they came, but that one passes those before it whom the sandbox that is there does not
//! suit.
//!
//! Who is first may need room: every place is taken, and by sandboxes that do not suit it. One of
//! them then ends for it before anybody else gets one.

use super::Order;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::Notify;

/// Jobs that wait, the first to come first.
#[derive(Debug, Default)]
pub(super) struct Line {
    last: u64,
    waiting: VecDeque<Turn>,
}

/// One job's place in the line.
#[derive(Debug)]
struct Turn {
    number: u64,
    order: Order,
    wake: Arc<Notify>,
    /// A sandbox ends for it.
    has_room: bool,
}

impl Line {
    /// Puts a job at the end; what wakes it when it is to look again.
    pub(super) fn join(&mut self, order: &Order) -> (u64, Arc<Notify>) {
        self.last += 1;
        let wake = Arc::new(Notify::new());
        self.waiting.push_back(Turn {
            number: self.last,
            order: order.clone(),
            wake: Arc::clone(&wake),
            has_room: false,
        });
        (self.last, wake)
    }

    pub(super) fn leave(&mut self, number: u64) {
        self.waiting.retain(|turn| turn.number != number);
    }

    /// Whether nobody is before a job; one without a number has not joined.
    pub(super) fn is_first(&self, number: Option<u64>) -> bool {
        self.waiting
            .front()
            .is_none_or(|first| Some(first.number) == number)
    }

    /// Whether a sandbox is for this job rather than for one before it. Where one is `coming`, the
    /// first needs no place of another's.
    pub(super) fn may_take(
        &self,
        number: Option<u64>,
        coming: bool,
        suits: impl Fn(&Order) -> bool,
    ) -> bool {
        let mut before = self
            .waiting
            .iter()
            .take_while(|turn| Some(turn.number) != number)
            .enumerate();
        before.all(|(at, turn)| !suits(&turn.order) && (at > 0 || turn.has_room || coming))
    }

    /// Whether the first, which is this job, is to have a sandbox ended for it: once.
    pub(super) fn take_room(&mut self, number: u64) -> bool {
        match self.waiting.front_mut() {
            Some(first) if first.number == number => !std::mem::replace(&mut first.has_room, true),
            _ => false,
        }
    }

    /// Wakes the job that a sandbox on the shelf is for, and the first, which may need its place.
    pub(super) fn wake_for(&self, suits: impl Fn(&Order) -> bool) {
        self.wake_first();
        if let Some(turn) = self.waiting.iter().find(|turn| suits(&turn.order)) {
            turn.wake.notify_one();
        }
    }

    /// Wakes the first: a place is free.
    pub(super) fn wake_first(&self) {
        if let Some(first) = self.waiting.front() {
            first.wake.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(tenant: &str) -> Order {
        Order {
            profile: "command".into(),
            tenant: tenant.into(),
            unused: false,
        }
    }

    /// Whether it was told to look again.
    fn woken(wake: &Notify) -> bool {
        let mut notified = std::pin::pin!(wake.notified());
        notified.as_mut().enable()
    }

    #[test]
    fn who_comes_later_passes_nobody() {
        let mut line = Line::default();
        assert!(line.is_first(None) && line.may_take(None, false, |_| true));
        let (first, wake) = line.join(&order("a"));
        let (second, later) = line.join(&order("a"));
        assert!(line.is_first(Some(first)) && !line.is_first(Some(second)));
        assert!(line.may_take(Some(first), false, |_| true));
        assert!(!line.may_take(Some(second), false, |_| true));
        assert!(
            !line.may_take(None, false, |_| true),
            "it has not even joined"
        );
        line.wake_for(|_| true);
        assert!(woken(&wake) && !woken(&later));
        line.leave(first);
        assert!(line.may_take(Some(second), false, |_| true));
        line.wake_first();
        assert!(woken(&later));
    }

    #[test]
    fn what_does_not_suit_the_first_is_for_another_once_the_first_has_room() {
        let mut line = Line::default();
        let (first, wake) = line.join(&order("a"));
        let (second, later) = line.join(&order("b"));
        let of_b = |order: &Order| &*order.tenant == "b";
        assert!(
            !line.may_take(Some(second), false, of_b),
            "the first needs its place"
        );
        line.wake_for(of_b);
        assert!(woken(&wake) && woken(&later));
        assert!(!line.take_room(second), "it is not its turn");
        assert!(line.take_room(first));
        assert!(!line.take_room(first), "one sandbox ends for it, not all");
        assert!(line.may_take(Some(second), false, of_b));
        assert!(line.may_take(Some(first), false, |_| true));
    }
}
