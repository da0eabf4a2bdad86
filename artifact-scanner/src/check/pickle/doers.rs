//! Which names that data needs do more than data does, given the wrong arguments?

use super::globals::is_kept;
use super::values::Value;

/// What makes iterators of what it is given, and is written with iterators.
const ITERATORS: [&str; 15] = [
    "builtins.enumerate",
    "builtins.iter",
    "builtins.range",
    "builtins.reversed",
    "builtins.xrange",
    "builtins.zip",
    "__builtin__.iter",
    "__builtin__.range",
    "__builtin__.reversed",
    "__builtin__.xrange",
    "__builtin__.enumerate",
    "itertools.chain",
    "itertools.count",
    "itertools.cycle",
    "itertools.repeat",
];

/// What is kept by its name, to be called by whoever loaded it; no data is made by them.
const KEPT: [&str; 9] = [
    "abs", "all", "any", "len", "max", "min", "round", "sorted", "sum",
];

/// No text or array is made by its length alone; less than this is no harm, many times over.
pub(super) const LENGTH_MAX: u64 = 1024;

fn builtin(path: &str) -> Option<&str> {
    path.strip_prefix("builtins.")
        .or_else(|| path.strip_prefix("__builtin__."))
}

pub(super) fn is_iterator(path: &str) -> bool {
    ITERATORS.contains(&path)
}

/// What a call of a harmless name does with these arguments that no data needs. `path_of` has the
/// name by which a value was made.
pub(super) fn does<'a>(
    path: &str,
    arguments: Option<&[Value]>,
    path_of: impl Fn(Value) -> Option<&'a str>,
) -> Option<&'static str> {
    const OPENS: &str = "opens the file that it names while it is loaded";
    const COMPUTES: &str = "computes while it is loaded";
    const SWELLS: &str = "fills the memory while it is loaded";
    let name = builtin(path).unwrap_or(path);
    if KEPT.contains(&name) || is_kept(name) {
        return Some(COMPUTES);
    }
    if name == "dateutil.tz.tz.tzfile" {
        // What was read from a file is written without it.
        let reads = arguments.is_none_or(|all| !matches!(all, [] | [Value::None, ..]));
        return reads.then_some(OPENS);
    }
    let arguments = arguments.unwrap_or(&[]);
    match (name, arguments) {
        // A function and the value that ends its calls.
        ("iter", [_, _, ..]) => Some(COMPUTES),
        ("bytes" | "bytearray", [Value::Int(length), ..]) if *length > LENGTH_MAX => Some(SWELLS),
        _ if is_iterator(path) => None,
        _ => {
            let runs = |value: &Value| path_of(*value).is_some_and(is_iterator);
            arguments.iter().any(runs).then_some(SWELLS)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use crate::{Budget, Limits, Notes, Severity};

    #[track_caller]
    fn judge(bytes: &[u8], expected: Option<Severity>) {
        let (mut notes, mut budget) = (Notes::default(), Budget::new(Limits::default()));
        check(bytes, &mut notes, &mut budget).expect("whole");
        assert_eq!(notes.worst(), expected, "{}", bytes.escape_ascii());
    }

    #[test]
    fn data_does_nothing_and_what_opens_or_swells_is_told() {
        for bytes in [
            &b"cdateutil.tz.tz\ntzfile\n(S'\\\\\\\\e\\\\s\\\\x'\ntR."[..],
            b"cdateutil.tz.tz\ntzfile\n(S'/etc/x'\ntR.",
            b"\x80\x04cdateutil.tz.tz\ntzfile\n)}\x8c\x07fileobj\x8c\x01xs\x92.",
            b"cbuiltins\nlist\n(cbuiltins\nrange\n(L100000000000L\ntRtR.",
            b"cbuiltins\nlist\n(citertools\ncount\n(tRtR.",
            b"ccollections\ndeque\n(citertools\ncycle\n((lI1\natRtR.",
            b"cbuiltins\nbytearray\n(L1000000000000L\ntR.",
            b"\x80\x02cbuiltins\nbytearray\n\x8a\x06\x00\x10\xa5\xd4\xe8\x00\x85R.",
            b"coperator\nmul\n((lI1\naI9999999\ntR.",
            b"cbuiltins\niter\n(cbuiltins\nlist\nI0\ntR.",
        ] {
            judge(bytes, Some(Severity::Suspicious));
        }
        for bytes in [
            &b"cdateutil.tz.tz\ntzfile\n(NS'Europe/Oslo'\ntR."[..],
            b"cbuiltins\nrange\n(I0\nL100000000000L\nI1\ntR.",
            b"cbuiltins\nbytearray\n(S'abc'\nS'latin-1'\ntR.",
            b"cbuiltins\nset\n((lI1\natR.",
            b"cbuiltins\nenumerate\n(cbuiltins\niter\n((lI1\natRI0\ntR.",
            b"coperator\nadd\n.",
            b"cbuiltins\nbytearray\n(I100\ntR.",
        ] {
            judge(bytes, None);
        }
    }
}
