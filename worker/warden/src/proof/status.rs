//! What is a process by its own `/proc/<pid>/status`?

/// What `/proc/<pid>/status` says, as far as it is posture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) uids: Vec<u64>,
    pub(crate) gids: Vec<u64>,
    pub(crate) groups: Vec<u64>,
    pub(crate) pids: Vec<u64>,
    pub(crate) threads: u64,
    pub(crate) tracer: u64,
    pub(crate) blocked: u64,
    pub(crate) ignored: u64,
    pub(crate) caught: u64,
    pub(crate) inheritable: u64,
    pub(crate) permitted: u64,
    pub(crate) effective: u64,
    pub(crate) bounding: u64,
    pub(crate) ambient: u64,
    pub(crate) no_new_privs: u64,
    pub(crate) seccomp: u64,
    pub(crate) filters: u64,
}

impl Status {
    /// Fails with the name of the line that is missing or strange.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        let mut lines = Lines::of(text);
        // In the kernel's order, so that one pass does.
        Ok(Self {
            tracer: lines.number("TracerPid")?,
            uids: lines.list("Uid")?,
            gids: lines.list("Gid")?,
            groups: lines.list("Groups")?,
            pids: lines.list("NSpid")?,
            threads: lines.number("Threads")?,
            blocked: lines.mask("SigBlk")?,
            ignored: lines.mask("SigIgn")?,
            caught: lines.mask("SigCgt")?,
            inheritable: lines.mask("CapInh")?,
            permitted: lines.mask("CapPrm")?,
            effective: lines.mask("CapEff")?,
            bounding: lines.mask("CapBnd")?,
            ambient: lines.mask("CapAmb")?,
            no_new_privs: lines.number("NoNewPrivs")?,
            seccomp: lines.number("Seccomp")?,
            filters: lines.number("Seccomp_filters")?,
        })
    }
}

/// Lines `name: value`, looked for from the last one that was found, then from the first.
struct Lines<'a> {
    text: &'a str,
    rest: std::str::Lines<'a>,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Self {
        let rest = text.lines();
        Self { text, rest }
    }

    fn value(&mut self, name: &'static str) -> Result<&'a str, &'static str> {
        let named = |line: &'a str| line.strip_prefix(name)?.strip_prefix(':');
        if let Some(value) = self.rest.find_map(named) {
            return Ok(value.trim());
        }
        self.rest = self.text.lines();
        self.rest.find_map(named).map(str::trim).ok_or(name)
    }

    fn number(&mut self, name: &'static str) -> Result<u64, &'static str> {
        self.value(name)?.parse().map_err(|_| name)
    }

    fn mask(&mut self, name: &'static str) -> Result<u64, &'static str> {
        u64::from_str_radix(self.value(name)?, 16).map_err(|_| name)
    }

    fn list(&mut self, name: &'static str) -> Result<Vec<u64>, &'static str> {
        let words = self.value(name)?.split_whitespace();
        words.map(|word| word.parse().map_err(|_| name)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_line_is_an_error() {
        assert_eq!(Status::parse("TracerPid:\t0\nUid:\t0\n"), Err("Gid"));
    }

    #[test]
    fn the_order_of_lines_does_not_count() {
        let text = std::fs::read_to_string("/proc/self/status").expect("read");
        let turned: Vec<_> = text.lines().rev().collect();
        let status = Status::parse(&text).expect("status");
        assert_eq!(Status::parse(&turned.join("\n")), Ok(status));
    }
}
