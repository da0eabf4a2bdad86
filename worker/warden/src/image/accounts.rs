//! Who exists inside a sandbox, and what its names lead to.
//!
//! A host image has these accounts alone; a folder's own user database stays, and the job's entry
//! is added where its number is free.

/// Root, the owner of everything that belongs to nobody inside, and the job.
pub(super) const PASSWD: &str = "\
root:x:0:0:root:/:/bin/sh
nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
job:x:1000:1000:job:/home/job:/bin/bash
";

pub(super) const GROUP: &str = "\
root:x:0:
nogroup:x:65534:
job:x:1000:
";

pub(super) const HOSTNAME: &str = "kiln\n";

pub(super) const HOSTS: &str = "\
127.0.0.1 localhost
127.0.1.1 kiln
::1 localhost ip6-localhost ip6-loopback
";

/// Files alone: no name service can be asked from inside.
pub(super) const NSSWITCH: &str = "\
passwd: files
group: files
shadow: files
hosts: files
networks: files
protocols: files
services: files
rpc: files
";

/// `database` (`passwd` or `group`) with the job's line added, or nothing where its number is taken.
pub(super) fn with_job(database: &str, ours: &str) -> Option<String> {
    let taken = database
        .lines()
        .any(|line| line.split(':').nth(2) == Some("1000"));
    if taken {
        return None;
    }
    let mut all = database.to_owned();
    if !all.is_empty() && !all.ends_with('\n') {
        all.push('\n');
    }
    all.extend(ours.lines().filter(|l| l.starts_with("job:")));
    all.push('\n');
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_job_is_added_where_its_number_is_free() {
        let there = "root:x:0:0::/root:/bin/sh";
        assert_eq!(
            with_job(there, PASSWD).as_deref(),
            Some("root:x:0:0::/root:/bin/sh\njob:x:1000:1000:job:/home/job:/bin/bash\n")
        );
        assert_eq!(with_job("", GROUP).as_deref(), Some("job:x:1000:\n"));
        assert_eq!(with_job("node:x:1000:\n", GROUP), None);
        assert!(with_job("a:x:10:1000::/:/bin/sh\n", PASSWD).is_some());
    }
}
