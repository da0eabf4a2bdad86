//! How do the findings look to a person?

use super::{Finding, State};
use std::fmt::Write as _;

/// A table, and below it what each thing that is not as it should be costs and how it is mended.
pub(super) fn render(findings: &[Finding]) -> String {
    let mark = |state| match state {
        State::Ok => "ok",
        State::Degraded => "less",
        State::Missing => "MISSING",
    };
    let head = ("what", "state", "found", "needed");
    let rows: Vec<_> = std::iter::once(head)
        .chain(
            findings
                .iter()
                .map(|f| (f.what, mark(f.state), f.found.as_str(), f.needed)),
        )
        .collect();
    let width = |of: fn(&(&str, &str, &str, &str)) -> usize| rows.iter().map(of).max().unwrap_or(0);
    let (what, state) = (width(|r| r.0.len()), width(|r| r.1.len()));
    let needed = width(|r| r.3.len());
    let mut text = String::new();
    for row in &rows {
        // What was found comes last: its length is the machine's.
        let line = format!(
            "{:what$}  {:state$}  {:needed$}  {}",
            row.0, row.1, row.3, row.2
        );
        put(&mut text, line.trim_end());
    }
    for finding in findings.iter().filter(|f| f.state != State::Ok) {
        let line = format!(
            "\n{}: {}\n  mend it: {}",
            finding.what, finding.costs, finding.remedy
        );
        put(&mut text, &line);
    }
    let verdict = if findings.iter().any(|f| f.state == State::Missing) {
        "\n`kiln run` does not work here yet"
    } else {
        "\n`kiln run` works here"
    };
    put(&mut text, verdict);
    text
}

fn put(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("writing to a string does not fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_ends_with_what_to_do() {
        let findings = [
            Finding::ok("kernel", "6.18", "5.14 or newer"),
            Finding::missing("user", "uid 1000", "root", "use sudo"),
        ];
        let wanted = "\
what    state    needed         found
kernel  ok       5.14 or newer  6.18
user    MISSING  root           uid 1000

user: `kiln run` does not work
  mend it: use sudo

`kiln run` does not work here yet
";
        assert_eq!(render(&findings), wanted);
    }
}
