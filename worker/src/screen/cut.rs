//! What is still shown of a stream that is withheld?

use super::word::Word;
use std::ops::Range;

/// What stands where lines were.
const CUT: &[u8] = b"[kiln: withheld: this line holds a secret]";

/// The bytes without some lines, which are in order and apart; each is told of where it was.
pub(super) fn without(bytes: &[u8], lines: &[Range<usize>]) -> Vec<u8> {
    let mut left = Vec::with_capacity(bytes.len());
    let mut at = 0;
    for line in lines {
        left.extend_from_slice(bytes.get(at..line.start).unwrap_or_default());
        left.extend_from_slice(CUT);
        at = line.end;
    }
    left.extend_from_slice(bytes.get(at..).unwrap_or_default());
    left
}

/// All that is shown where cutting lines would not do.
pub(super) fn notice(word: &Word) -> Vec<u8> {
    let why = word.why();
    let why = if why.is_empty() { "by policy" } else { &why };
    format!("[kiln: withheld: {why}]\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_told_of_where_they_were() {
        let left = without(b"a\nkey\nb\nkey", &[2..5, 8..11]);
        let cut = String::from_utf8_lossy(CUT);
        let wanted = format!("a\n{cut}\nb\n{cut}");
        assert_eq!(String::from_utf8_lossy(&left), wanted);
        assert_eq!(without(b"abc", &[]), b"abc");
    }

    #[test]
    fn a_notice_says_why() {
        let word = Word::unscannable(artifact_scanner::Unscannable::Timeout);
        let notice = notice(&word);
        assert_eq!(
            notice,
            b"[kiln: withheld: it could not be scanned: timeout, the time was up]\n"
        );
    }
}
