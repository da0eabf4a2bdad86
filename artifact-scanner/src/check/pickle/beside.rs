//! Which pickles lie within raw data, or are a file of another type as well?

use super::keep;
use super::machine::{Halt, Machine};
use crate::{Budget, Limit, Notes, Unscannable};

/// What all places in raw data where a pickle may begin are followed, in instructions; a place costs
/// as much as some of them.
const STEPS_MAX: u64 = 4_000_000;
const PLACE_STEPS: u64 = 8;

/// Looks for pickles within raw data behind the streams.
pub(super) fn hidden(
    bytes: &[u8],
    from: usize,
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<(), Unscannable> {
    let tail = &bytes[from..];
    budget.charge(tail.len().max(1) as u64)?;
    let mut left = STEPS_MAX;
    for found in memchr::memchr_iter(0x80, tail) {
        // One whose first instruction is another beginning is told by that.
        if !matches!(tail.get(found + 1), Some(2..=5))
            || matches!(tail.get(found + 2..), Some([0x80, 2..=5, ..]))
        {
            continue;
        }
        let mut own = Notes::default();
        match followed(bytes, from + found, &mut left, &mut own, budget) {
            Err(Halt::Spent(reason)) => return Err(reason),
            Err(Halt::Broken) => keep(&own, true, notes),
            Ok(_) => keep(&own, false, notes),
        }
    }
    in_text(bytes, from, &mut left, notes, budget)
}

/// Follows one of many places where a pickle may begin. All of them together have a limit: each may
/// go on to the end of the file.
fn followed(
    bytes: &[u8],
    at: usize,
    left: &mut u64,
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<usize, Halt> {
    let mut machine = Machine::new(bytes, 0);
    machine.steps_max = *left;
    let end = machine.run(at, notes, budget);
    *left = left.saturating_sub(machine.steps + PLACE_STEPS);
    if *left == 0 {
        return Err(Halt::Spent(Unscannable::Limit(Limit::Nesting)));
    }
    end
}

/// Looks for calls of the oldest form, which is text: `c`, a module, a name, each on a line.
fn in_text(
    bytes: &[u8],
    from: usize,
    left: &mut u64,
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<(), Unscannable> {
    let tail = &bytes[from..];
    let name = |text: &[u8]| {
        let letters = text.iter().take(200);
        let length = letters
            .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.'))
            .count();
        (length > 0 && text.get(length) == Some(&b'\n')).then_some(length)
    };
    for found in memchr::memchr2_iter(b'c', b'i', tail) {
        let module = &tail[found + 1..];
        let named = name(module).and_then(|length| name(&module[length + 1..]));
        if named.is_none() {
            continue;
        }
        let mut own = Notes::default();
        let end = followed(bytes, from + found, left, &mut own, budget);
        if let Err(Halt::Spent(reason)) = end {
            return Err(reason);
        }
        notes.copy(&own, |finding| finding.rule == "pickle.dangerous_global");
    }
    Ok(())
}

/// Looks for pickles in all of a file that keeps some where its readers load them by themselves.
pub(crate) fn check_within(
    bytes: &[u8],
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<(), Unscannable> {
    let mut own = Notes::default();
    let end = hidden(bytes, 0, &mut own, budget);
    notes.copy(&own, |finding| finding.rule == "pickle.dangerous_global");
    end
}

/// Looks at bytes of another type as a loader does that takes all it is given for a pickle: what it
/// would import counts.
pub(crate) fn check_beside(bytes: &[u8], notes: &mut Notes, budget: &mut Budget) {
    if matches!(bytes.first(), None | Some(b'P' | b'<' | b'{')) {
        return;
    }
    let mut own = Notes::default();
    let mut machine = Machine::new(bytes, 0);
    machine.steps_max = STEPS_MAX;
    // Where it breaks off, or when, says nothing of the other type; nor does an end, mostly.
    let end = machine.run(0, &mut own, budget);
    if end.is_ok() || machine.acts {
        keep(&own, true, notes);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{check, sniff};
    use super::*;
    use crate::{Limits, Severity};

    #[test]
    fn a_pickle_is_one_whatever_it_begins_with() {
        for start in [
            &b"\x8a\x010"[..],
            b"\x880",
            b"\x96\0\0\0\0\0\0\0\0",
            b"\x8f0",
            b"\x82\x010",
        ] {
            assert!(sniff(&[start, b"cos\nsystem\n(S'x'\ntR."].concat()));
        }
        let mut notes = Notes::default();
        let bytes = b"V\x01\0\0{\"a\":1}\n0cos\nsystem\n";
        check_beside(bytes, &mut notes, &mut Budget::new(Limits::default()));
        assert_eq!(notes.worst(), Some(Severity::Malicious));
    }

    /// Each place was once followed to the end of the file.
    #[test]
    fn raw_data_full_of_beginnings_is_read_in_time() {
        for piece in [&b"\x80\x02"[..], b"\x80\x04N", b"\x80\x02cnumpy\nexp\n"] {
            let bytes = [b"N.N.", &piece.repeat(200_000)[..]].concat();
            let start = std::time::Instant::now();
            let mut budget = Budget::new(Limits::default());
            let _ended = check(&bytes, &mut Notes::default(), &mut budget);
            assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
        }
    }
}
