//! Where may a pickle begin, and how long is it looked for?

use super::{check, sniff};
use crate::{Budget, Limits, Notes};

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
}

/// Each place was once followed to the end of the file.
#[test]
fn raw_data_full_of_beginnings_is_read_in_time() {
    for piece in [&b"\x80\x02"[..], b"\x80\x04N", b"\x80\x02cnumpy\nexp\n"] {
        let bytes = [b"N.N.", &piece.repeat(200_000)[..]].concat();
        let start = std::time::Instant::now();
        let (mut notes, mut budget) = (Notes::default(), Budget::new(Limits::default()));
        let _ended = check(&bytes, &mut notes, &mut budget);
        assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
    }
}
