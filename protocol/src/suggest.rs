//! Which of these words was probably meant?

/// The nearest word, where it is near enough to be a slip.
pub(crate) fn nearest<'a>(
    given: &str,
    words: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    if given.len() > 64 {
        return None;
    }
    let with_underscores = given.replace('-', "_");
    words
        .into_iter()
        .filter_map(|word| {
            let far = distance(given, word).min(distance(&with_underscores, word));
            // `memory` for `memory_bytes` is far in letters and near in mind, and `cpu` is sooner
            // `cpu_ms` than `cpus`.
            let rest = word.strip_prefix(given).filter(|_| given.len() >= 3);
            if rest.is_some_and(|rest| rest.starts_with('_')) {
                return Some((0, word));
            }
            (rest.is_some() || far <= 1 + word.len() / 4).then_some((far, word))
        })
        .min()
        .map(|(_, word)| word)
}

/// The number of letters to add, drop or change.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::LimitName;

    #[test]
    fn a_slip_is_known_and_another_word_is_not() {
        let words = ["python", "python-data", "bash", "memory_bytes"];
        assert_eq!(nearest("pyton", words), Some("python"));
        assert_eq!(nearest("memory", words), Some("memory_bytes"));
        assert_eq!(nearest("ruby", words), None);
        assert_eq!(nearest("", words), None);
        assert_eq!(distance("kitten", "sitting"), 3);
    }

    #[test]
    fn a_limit_by_its_name_on_the_command_line_is_known() {
        for limit in LimitName::ALL {
            let fields = LimitName::ALL.map(LimitName::wire_name);
            let meant = nearest(limit.cli_name(), fields);
            assert_eq!(meant, Some(limit.wire_name()), "{}", limit.cli_name());
        }
    }
}
