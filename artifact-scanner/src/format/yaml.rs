//! Whether the aliases of a YAML file grow without bound.

use crate::bytes::count;
use crate::{Budget, Notes, Severity, Unscannable};
use std::collections::HashMap;

/// More nodes than any data file has.
const NODES_MAX: u64 = 10_000_000;

/// Sums up what each anchor stands for. An anchor's extent is taken to reach to the next one,
/// which is exact for the usual bombs.
pub(crate) fn check(text: &str, notes: &mut Notes, budget: &mut Budget) -> Result<(), Unscannable> {
    let mut weights: HashMap<&str, u64> = HashMap::new();
    let (mut name, mut weight, mut total) = ("", 0u64, 0u64);
    for line in text.lines() {
        budget.charge(count(line.len()) + 1)?;
        if line.trim_start().starts_with('#') {
            continue;
        }
        for token in line.split([' ', '\t', ',', '[', ']', '{', '}']) {
            if let Some(anchor) = token.strip_prefix('&').filter(|anchor| !anchor.is_empty()) {
                weights.insert(name, weight);
                (name, weight) = (anchor, 0);
            } else {
                let alias = token.strip_prefix('*').and_then(|alias| weights.get(alias));
                let cost = alias
                    .copied()
                    .unwrap_or_else(|| u64::from(!token.is_empty()));
                weight = weight.saturating_add(cost);
                total = total.saturating_add(cost);
            }
        }
    }
    if total > NODES_MAX && total > 1000 * count(text.len()) {
        notes.find(
            "bomb.aliases",
            Severity::Suspicious,
            "",
            "aliases of aliases grow without bound when they are read",
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;
    use std::fmt::Write as _;

    #[track_caller]
    fn check(text: &str, expected: Option<Severity>) {
        let (mut notes, mut budget) = (Notes::default(), Budget::new(Limits::default()));
        super::check(text, &mut notes, &mut budget).expect("within budget");
        assert_eq!(notes.worst(), expected);
    }

    #[test]
    fn aliases_of_aliases_are_a_bomb() {
        let (mut flow, mut block) = (
            String::from("a0: &a0 [x,x]\n"),
            String::from("a0: &a0\n  - x\n"),
        );
        for level in 1..10 {
            let before = level - 1;
            let items = vec![format!("*a{before}"); 9];
            writeln!(flow, "a{level}: &a{level} [{}]", items.join(",")).expect("to memory");
            writeln!(block, "a{level}: &a{level}\n  - {}", items.join("\n  - "))
                .expect("to memory");
        }
        check(&flow, Some(Severity::Suspicious));
        check(&block, Some(Severity::Suspicious));
        check("base: &b {lr: 0.1}\nrun:\n  <<: *b\nother: *b\n", None);
    }
}
