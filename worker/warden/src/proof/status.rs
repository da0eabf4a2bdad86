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
        let line = |name: &'static str| {
            text.lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
                .ok_or(name)
        };
        let list = |name| {
            line(name)?
                .split_whitespace()
                .map(|word| word.parse().map_err(|_| name))
                .collect::<Result<Vec<u64>, _>>()
        };
        let number = |name| line(name)?.trim().parse::<u64>().map_err(|_| name);
        let mask = |name| u64::from_str_radix(line(name)?.trim(), 16).map_err(|_| name);
        Ok(Self {
            uids: list("Uid")?,
            gids: list("Gid")?,
            groups: list("Groups")?,
            pids: list("NSpid")?,
            threads: number("Threads")?,
            tracer: number("TracerPid")?,
            blocked: mask("SigBlk")?,
            ignored: mask("SigIgn")?,
            caught: mask("SigCgt")?,
            inheritable: mask("CapInh")?,
            permitted: mask("CapPrm")?,
            effective: mask("CapEff")?,
            bounding: mask("CapBnd")?,
            ambient: mask("CapAmb")?,
            no_new_privs: number("NoNewPrivs")?,
            seccomp: number("Seccomp")?,
            filters: number("Seccomp_filters")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_line_is_an_error() {
        assert_eq!(Status::parse("Uid:\t0\t0\t0\t0\n"), Err("Gid"));
    }
}
