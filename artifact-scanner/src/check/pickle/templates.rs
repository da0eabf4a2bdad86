//! Does the state of an object hold a text that the object runs?
//!
//! Distributions of `scipy.stats` keep the source of three of their methods, and run it when they are
//! loaded. It is made from one template, of which only the names of parameters differ. An array of old
//! joblib keeps the name of the file beside it that is loaded with it.

use super::machine::{Machine, note};
use super::opcode::{self, Operand};
use super::values::Value;
use crate::{Notes, Severity};

const KEY: &str = "_parse_arg_template";
const FILE_KEY: &str = "filename";

/// What was seen that only together says something.
#[derive(Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one thing that was seen"
)]
pub(super) struct State {
    /// A key was computed.
    computed_key: bool,
    /// An object is named that runs what is in its state.
    runs: bool,
    /// An array is named that lies in another file.
    wraps: bool,
    /// A file is named that lies elsewhere.
    leads: bool,
}

/// Whether the text is made from the template: definitions and what they return, without any call
/// but one.
fn is_known(text: &str) -> bool {
    let plain = |line: &str| {
        line.bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"_ ,='.:()".contains(&b))
    };
    text.lines().all(|line| {
        let line = line.trim_end();
        let rest = line
            .strip_prefix("def _parse_args(self")
            .or_else(|| line.strip_prefix("def _parse_args_rvs(self"))
            .or_else(|| line.strip_prefix("def _parse_args_stats(self"))
            .or_else(|| line.strip_prefix("    return self._argcheck_rvs("))
            .or_else(|| line.strip_prefix("    return ("))
            .unwrap_or(line);
        let is_body = line.is_empty() || rest.len() < line.len();
        is_body && plain(rest) && !rest.contains(['(', '.'])
    })
}

impl Machine<'_> {
    /// Looks at what is put into a dict: keys and values in turn.
    pub(super) fn see_entries(&mut self, items: &[Value], at: usize, notes: &mut Notes) {
        for pair in items.chunks(2) {
            if self.is_text(pair[0], FILE_KEY) {
                let name = pair.get(1).and_then(|value| self.read_text(*value));
                let is_beside = |name: String| !name.contains(['/', '\\', ':']) && name != "..";
                self.state.leads |= !name.is_some_and(is_beside);
            } else if self.is_text(pair[0], KEY) {
                let text = pair.get(1).and_then(|value| self.read_text(*value));
                if !text.is_some_and(|text| is_known(&text)) {
                    tell(at, notes);
                }
            }
            let is_computed = matches!(pair[0], Value::Made(_) | Value::Computed);
            self.state.computed_key |= is_computed;
        }
        self.tell_together(at, notes);
    }

    /// Looks at what is put into anything else, from which a dict may be made.
    pub(super) fn see_items(&self, items: &[Value], at: usize, notes: &mut Notes) {
        if items.iter().any(|item| self.is_text(*item, KEY)) {
            tell(at, notes);
        }
    }

    /// Notes that an object runs its state, when one is named.
    pub(super) fn see_name(&mut self, module: &str, name: &str, at: usize, notes: &mut Notes) {
        self.state.runs |= module.starts_with("scipy.") && name.ends_with("_gen");
        self.state.wraps |= module.starts_with("joblib.") && name.ends_with("NDArrayWrapper");
        self.tell_together(at, notes);
    }

    fn tell_together(&mut self, at: usize, notes: &mut Notes) {
        if self.state.wraps && self.state.leads {
            self.state.leads = false;
            note(
                notes,
                "pickle.other_file",
                Severity::Malicious,
                at,
                "has another file loaded, from elsewhere",
            );
        }
        if self.state.computed_key && self.state.runs && notes.worst() < Some(Severity::Suspicious)
        {
            note(
                notes,
                "pickle.computed_state",
                Severity::Suspicious,
                at,
                "computes the names in the state of an object that runs one of them",
            );
        }
    }

    fn is_text(&self, value: Value, text: &str) -> bool {
        let Value::Text(at) = value else { return false };
        // Most texts are none by their length alone.
        let fits = match opcode::read(self.bytes, at).map(|step| step.operand) {
            Some(Operand::Payload(range)) => range.len() == text.len(),
            // Each letter may be written as a code.
            Some(Operand::Line(range)) => (text.len()..=10 * text.len() + 2).contains(&range.len()),
            _ => false,
        };
        fits && self.read_text(value).as_deref() == Some(text)
    }
}

fn tell(at: usize, notes: &mut Notes) {
    note(
        notes,
        "pickle.runs_state",
        Severity::Malicious,
        at,
        "holds source in the state of an object, which runs it while it is loaded",
    );
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::*;
    use crate::{Budget, Limits};

    const KNOWN: &str = "\ndef _parse_args(self, a, b, loc=0, scale=1):\n    return (a, b), loc, scale\n\ndef _parse_args_rvs(self, a, b, loc=0, scale=1, size=None):\n    return self._argcheck_rvs(a, b, loc, scale, size=size)\n\ndef _parse_args_stats(self, a, b, loc=0, scale=1, moments='mv'):\n    return (a, b), loc, scale, moments\n";

    fn text(text: &str) -> Vec<u8> {
        let length = u32::try_from(text.len()).expect("short").to_le_bytes();
        [b"X", &length[..], text.as_bytes()].concat()
    }

    fn worst(pieces: &[&[u8]]) -> Option<Severity> {
        let mut notes = Notes::default();
        check(
            &pieces.concat(),
            &mut notes,
            &mut Budget::new(Limits::default()),
        )
        .expect("whole");
        notes.worst()
    }

    #[test]
    fn only_the_known_source_is_a_state() {
        let class: &[u8] = b"\x80\x02cscipy.stats._continuous_distns\nnorm_gen\n)\x81";
        let (key, known) = (text(KEY), text(KNOWN));
        let evil = text("print(1)");
        assert!(is_known(KNOWN) && !is_known("def _parse_args(self, a=b()): c"));
        assert!(!is_known("import os") && !is_known("    return (a.b), c"));
        assert_eq!(worst(&[class, b"}", &key, &known, b"sb."]), None);
        let malicious = Some(Severity::Malicious);
        assert_eq!(worst(&[class, b"}(", &key, &evil, b"ub."]), malicious);
        assert_eq!(worst(&[class, b"(", &key, &evil, b"db."]), malicious);
        assert_eq!(
            worst(&[class, b"cbuiltins\ndict\n](", &key, &evil, b"le\x85Rb."]),
            malicious
        );
        assert_eq!(
            worst(&[b"}V\\u005fparse_arg_template\n", &evil, b"s."]),
            malicious
        );
        let made: &[u8] = b"}cbuiltins\nstr\nC\x01_\x85R";
        assert_eq!(
            worst(&[class, made, &evil, b"sb."]),
            Some(Severity::Suspicious)
        );
    }
}
