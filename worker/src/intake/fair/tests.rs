//! Do queues get their shares, whatever waits where?

use super::*;

fn started<T>(next: Next<T>) -> (Charge, T) {
    match next {
        Next::Start(charge, job) => (charge, job),
        Next::Keep(_) | Next::Nothing => panic!("a job is next"),
    }
}

/// Serves floods of jobs of the given CPU times in `slots` slots, with as many handed out of each
/// queue at once, and counts the starts. The next job comes when one has been answered.
fn floods(shares: &[u32], cpu_us: &[u64], slots: usize, n: usize) -> Vec<usize> {
    let mut fair = Fair::new(shares);
    let mut at = Instant::now();
    for queue in 0..shares.len() {
        (0..slots).for_each(|_| fair.push(queue, queue));
    }
    let mut counts = vec![0; shares.len()];
    let mut running = VecDeque::new();
    let mut arriving = Vec::new();
    while counts.iter().sum::<usize>() < n {
        while running.len() < slots {
            match fair.next(at) {
                Next::Start(charge, queue) => {
                    counts[queue] += 1;
                    running.push_back((charge, queue));
                }
                Next::Keep(until) => {
                    assert!(until > at);
                    at += Duration::from_millis(1);
                    arriving.drain(..).for_each(|queue| fair.push(queue, queue));
                }
                Next::Nothing => break,
            }
        }
        arriving.drain(..).for_each(|queue| fair.push(queue, queue));
        let (charge, queue) = running.pop_front().expect("floods leave no slot free");
        at += Duration::from_micros(cpu_us[queue]);
        fair.settle(charge, Some(cpu_us[queue]), at);
        arriving.push(queue);
    }
    counts
}

fn ratio(counts: &[usize]) -> f64 {
    let of = |n: usize| f64::from(u32::try_from(n).expect("few"));
    of(counts[0]) / of(counts[1])
}

#[test]
fn equal_queues_share_equally() {
    for slots in [1, 2, 8] {
        let counts = floods(&[1, 1], &[50_000, 50_000], slots, 1_000);
        assert!(
            (0.98..1.02).contains(&ratio(&counts)),
            "{slots}: {counts:?}"
        );
    }
}

#[test]
fn the_share_is_of_cpu_time_and_not_of_jobs() {
    for slots in [1, 2, 8] {
        let counts = floods(&[1, 1], &[20_000, 200_000], slots, 1_100);
        assert!((9.0..11.0).contains(&ratio(&counts)), "{slots}: {counts:?}");
    }
}

#[test]
fn a_greater_share_gets_more_and_starves_nobody() {
    for slots in [1, 2, 8] {
        let counts = floods(&[4, 1], &[30_000, 30_000], slots, 1_000);
        assert!((3.8..4.2).contains(&ratio(&counts)), "{slots}: {counts:?}");
    }
}

#[test]
fn a_single_job_is_next_whatever_waits_in_another_queue() {
    for cpu_us in [1, 10_000, 5_000_000] {
        let mut fair = Fair::new(&[8, 1]);
        let at = Instant::now();
        (0..10_000).for_each(|_| fair.push(0, 'a'));
        for _ in 0..100 {
            let (charge, _) = started(fair.next(at));
            fair.settle(charge, Some(cpu_us), at);
        }
        fair.push(1, 'b');
        let firsts: Vec<char> = (0..2).map(|_| started(fair.next(at)).1).collect();
        assert!(firsts.contains(&'b'), "{cpu_us}: {firsts:?}");
    }
}

#[test]
fn a_queue_that_was_idle_has_saved_nothing_up() {
    let mut fair = Fair::new(&[1, 1]);
    let at = Instant::now();
    for _ in 0..100 {
        fair.push(0, 0);
        let (charge, _) = started(fair.next(at));
        fair.settle(charge, Some(1_000_000), at);
    }
    (0..100).for_each(|_| fair.push(0, 0));
    (0..100).for_each(|_| fair.push(1, 1));
    let mut counts = [0, 0];
    for _ in 0..20 {
        let (charge, queue) = started(fair.next(at));
        fair.settle(charge, Some(1_000_000), at);
        counts[queue] += 1;
    }
    assert_eq!(counts, [10, 10]);
}

#[test]
fn a_slot_is_kept_for_a_job_on_its_way_and_not_for_long() {
    let mut fair = Fair::new(&[4, 1]);
    let at = Instant::now();
    fair.push(0, 'a');
    let (charge, _) = started(fair.next(at));
    fair.push(1, 'b');
    let (other, _) = started(fair.next(at));
    fair.settle(other, Some(50_000), at);
    fair.push(1, 'b');
    fair.settle(charge, Some(10_000), at);
    assert_eq!(fair.next(at), Next::Keep(at + ON_ITS_WAY));
    fair.push(0, 'a');
    assert_eq!(started(fair.next(at)).1, 'a');
    assert_eq!(started(fair.next(at + ON_ITS_WAY)).1, 'b');
}

#[test]
fn a_job_that_did_not_run_costs_nothing() {
    let mut fair = Fair::new(&[1]);
    fair.push(0, ());
    fair.push(0, ());
    let before = fair.queues[0].clock;
    let (charge, ()) = started(fair.next(Instant::now()));
    fair.settle(charge, None, Instant::now());
    assert_eq!(fair.queues[0].clock, before);
}

#[test]
fn what_waits_can_be_taken_out_at_once() {
    let mut fair = Fair::new(&[1, 2]);
    fair.push(0, 'a');
    fair.push(1, 'b');
    assert_eq!((fair.waiting(), fair.drain()), (2, vec!['a', 'b']));
    assert_eq!(fair.waiting(), 0);
    assert_eq!(fair.next(Instant::now()), Next::Nothing);
}
