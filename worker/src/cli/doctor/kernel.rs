//! Does the kernel, and this user's place in it, allow sandboxes?

use super::Finding;

/// The oldest kernel that Kiln is made for.
const RELEASE_MIN: (u64, u64) = (5, 14);

/// The namespaces that a sandbox and its cells are made of.
pub(super) const NAMESPACES: [&str; 7] = ["user", "pid", "mnt", "net", "ipc", "uts", "cgroup"];

pub(super) fn user(effective_uid: u32) -> Finding {
    let (what, needed) = ("user", "root (uid 0)");
    if effective_uid == 0 {
        Finding::ok(what, "root", needed)
    } else {
        Finding::missing(
            what,
            format!("uid {effective_uid}"),
            needed,
            "run it by `sudo kiln ...`, or in a container with `--privileged`",
        )
    }
}

/// Whom a queue worker becomes; `None` where it stays root.
pub(super) fn worker_user(uid: Option<u32>) -> Finding {
    let (what, needed) = ("worker's user", "one of its own");
    match uid {
        Some(uid) => Finding::ok(what, format!("uid {uid}"), needed),
        None => Finding::degraded(
            what,
            "root, with eight capabilities",
            needed,
            "whoever takes the queue worker over has the machine",
            "`useradd --system kiln`, and `user = \"kiln\"` in `[worker]`",
        ),
    }
}

pub(super) fn release(osrelease: Option<&str>) -> Finding {
    let (what, needed) = ("kernel", "5.14 or newer");
    let Some(release) = osrelease else {
        return Finding::degraded(
            what,
            "unknown",
            needed,
            "nothing is promised",
            "mount /proc",
        );
    };
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    let mut next = || numbers.next().and_then(|n| n.parse::<u64>().ok());
    match (next(), next()) {
        (Some(major), Some(minor)) if (major, minor) >= RELEASE_MIN => {
            Finding::ok(what, release, needed)
        }
        _ => Finding::degraded(
            what,
            release,
            needed,
            "older kernels are not tried",
            "upgrade the kernel",
        ),
    }
}

/// `there` are the namespaces of this kernel.
pub(super) fn namespaces(there: &[&'static str]) -> Finding {
    let what = "namespaces";
    let needed = "user, pid, mnt, net, ipc, uts, cgroup";
    let absent: Vec<_> = NAMESPACES
        .into_iter()
        .filter(|name| !there.contains(name))
        .collect();
    if absent.is_empty() {
        Finding::ok(what, "all", needed)
    } else {
        Finding::missing(
            what,
            format!("without {}", absent.join(", ")),
            needed,
            "use a kernel built with these namespaces, and mount /proc",
        )
    }
}

/// A cell's user namespace is made from inside the sandbox's, so what is said of unprivileged
/// users is said of it.
pub(super) fn user_namespaces(
    max: Option<u64>,
    unprivileged_clone: Option<u64>,
    apparmor_restricts: Option<u64>,
) -> Finding {
    let (what, needed) = ("user namespaces", "allowed, two for each slot");
    if max == Some(0) {
        return Finding::missing(
            what,
            "max_user_namespaces = 0",
            needed,
            "`sysctl -w user.max_user_namespaces=15000`",
        );
    }
    if unprivileged_clone == Some(0) {
        return Finding::missing(
            what,
            "unprivileged_userns_clone = 0",
            needed,
            "`sysctl -w kernel.unprivileged_userns_clone=1`",
        );
    }
    if apparmor_restricts == Some(1) {
        return Finding::missing(
            what,
            "restricted by AppArmor",
            needed,
            "`sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`",
        );
    }
    match max {
        Some(max) => Finding::ok(what, format!("up to {max}"), needed),
        None => Finding::missing(
            what,
            "not built in",
            needed,
            "use a kernel with CONFIG_USER_NS",
        ),
    }
}

pub(super) fn seccomp(actions: Option<&str>) -> Finding {
    let (what, needed) = ("seccomp", "filters with user notification");
    let has = |action| actions.is_some_and(|all| all.split_whitespace().any(|a| a == action));
    if has("user_notif") && has("errno") {
        Finding::ok(what, "user notification", needed)
    } else {
        Finding::missing(
            what,
            actions.map_or("not built in", |_| "without user notification"),
            needed,
            "use kernel 5.0 or newer with CONFIG_SECCOMP_FILTER",
        )
    }
}

pub(super) fn overlay(filesystems: Option<&str>) -> Finding {
    let (what, needed) = ("overlayfs", "in the kernel");
    let there = filesystems.is_some_and(|all| all.split_whitespace().any(|f| f == "overlay"));
    if there {
        Finding::ok(what, "yes", needed)
    } else {
        Finding::missing(
            what,
            "no",
            needed,
            "`modprobe overlay`, or use a kernel with CONFIG_OVERLAY_FS",
        )
    }
}

pub(super) fn cores(pattern: Option<&str>) -> Finding {
    let (what, needed) = ("core dumps", "none of a job leaves its cell");
    match pattern {
        Some(pattern) if pattern.starts_with('|') => Finding::ok(
            what,
            "piped to a handler; jobs have RLIMIT_CORE 1, which keeps it from being called",
            needed,
        ),
        Some(_) => Finding::ok(what, "files; jobs write none", needed),
        None => Finding::ok(what, "not built in", needed),
    }
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    #[test]
    fn each_thing_missing_is_seen() {
        for (finding, wanted) in [
            (user(0), State::Ok),
            (user(1000), State::Missing),
            (worker_user(Some(998)), State::Ok),
            (worker_user(None), State::Degraded),
            (release(Some("6.18.44-x")), State::Ok),
            (release(Some("5.14.0")), State::Ok),
            (release(Some("5.13.9")), State::Degraded),
            (release(Some("4.19")), State::Degraded),
            (release(Some("odd")), State::Degraded),
            (release(None), State::Degraded),
            (namespaces(&NAMESPACES), State::Ok),
            (namespaces(&NAMESPACES[1..]), State::Missing),
            (user_namespaces(Some(9), None, None), State::Ok),
            (user_namespaces(Some(9), Some(1), Some(0)), State::Ok),
            (user_namespaces(Some(0), None, None), State::Missing),
            (user_namespaces(Some(9), Some(0), None), State::Missing),
            (user_namespaces(Some(9), None, Some(1)), State::Missing),
            (user_namespaces(None, None, None), State::Missing),
            (
                seccomp(Some("kill_process trap errno user_notif allow")),
                State::Ok,
            ),
            (
                seccomp(Some("kill_process trap errno allow")),
                State::Missing,
            ),
            (seccomp(None), State::Missing),
            (overlay(Some("nodev\tproc\nnodev\toverlay\n")), State::Ok),
            (overlay(Some("nodev\toverlayx\n")), State::Missing),
            (overlay(None), State::Missing),
            (cores(Some("|/usr/lib/systemd/systemd-coredump")), State::Ok),
        ] {
            assert_eq!(finding.state, wanted, "{finding:?}");
        }
    }

    #[test]
    fn an_unprivileged_user_is_told_what_to_do() {
        assert_eq!(
            user(1000).remedy,
            "run it by `sudo kiln ...`, or in a container with `--privileged`"
        );
    }
}
