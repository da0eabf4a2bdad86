//! What may a job ask to reach, and what was it given?
//!
//! A job names hosts and ports exactly. The ceiling, which the operator writes for a profile, may
//! have `*.` before a host: any one label in its place, and never none or two. There is no
//! wildcard of ports, and none of a whole name.

use super::target::{Host, Target, TargetError, is_label};
use kiln_protocol::admission::ProfileSource;
use kiln_protocol::job::Job;
use kiln_protocol::refusal::Refusal;
use std::collections::BTreeSet;
use std::fmt;

/// Hosts that one job may ask for.
pub(crate) const ENTRIES_MAX: usize = 64;
/// Entries of a ceiling that a refusal lists.
const SHOWN_MAX: usize = 8;

/// One entry of a ceiling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    Exactly(Target),
    /// Any one label before this host.
    Below(Target),
}

impl Pattern {
    pub(crate) fn parse(text: &str) -> Result<Self, TargetError> {
        let Some(rest) = text.strip_prefix("*.") else {
            return Target::parse(text, None).map(Self::Exactly);
        };
        let target = Target::parse(rest, None)?;
        match &target.host {
            // `*.com` would be everybody's.
            Host::Name(name) if name.contains('.') => Ok(Self::Below(target)),
            Host::Name(_) | Host::Address(_) => Err(TargetError::Host),
        }
    }

    pub(crate) fn covers(&self, target: &Target) -> bool {
        match (self, &target.host) {
            (Self::Exactly(own), _) => own == target,
            (Self::Below(own), Host::Name(name)) => {
                let Host::Name(parent) = &own.host else {
                    return false;
                };
                let label = name
                    .strip_suffix(parent.as_str())
                    .and_then(|rest| rest.strip_suffix('.'));
                own.port == target.port && label.is_some_and(is_label)
            }
            (Self::Below(_), Host::Address(_)) => false,
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exactly(target) => target.fmt(f),
            Self::Below(target) => write!(f, "*.{target}"),
        }
    }
}

impl<'a> Ceiling<'a> {
    /// That of the job's profile; of one that is not known, nothing.
    pub(crate) fn of(profiles: &'a dyn ProfileSource, job: &Job) -> Self {
        let profile = profiles.profile(&job.profile);
        Self::Profile(profile.map_or(&[], |profile| profile.network))
    }

    /// That of the command line's own job: where its profile has none, its own word.
    pub(crate) fn of_own(profiles: &'a dyn ProfileSource, job: &Job) -> Self {
        match Self::of(profiles, job) {
            Self::Profile([]) => Self::Own,
            ceiling => ceiling,
        }
    }
}

/// How far a job's wishes may go.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ceiling<'a> {
    /// As far as its profile says.
    Profile(&'a [String]),
    /// As far as the command line says, which is the operator's own word.
    Own,
}

/// Where a job may connect to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Grant(BTreeSet<Target>);

impl Grant {
    /// What a job is given of what it asks for: all of it, or a refusal.
    pub(crate) fn of(asked: &[String], ceiling: Ceiling<'_>) -> Result<Self, Refusal> {
        if asked.len() > ENTRIES_MAX {
            return Err(Refusal::bad(
                "/network/allow",
                format!(
                    "there are {} entries; at most {ENTRIES_MAX} are taken",
                    asked.len()
                ),
                format!("{} entries", asked.len()),
                format!("at most {ENTRIES_MAX} entries"),
            ));
        }
        let mut grant = Self::default();
        for (n, entry) in asked.iter().enumerate() {
            let pointer = format!("/network/allow/{n}");
            let target = Target::parse(entry, None).map_err(|error| {
                Refusal::bad(
                    pointer.clone(),
                    format!("`{entry}` names no host and port: {error}"),
                    entry.clone(),
                    "`host:port`, such as `api.example.com:443`",
                )
            })?;
            if let Some(refusal) = beyond(&pointer, &target, ceiling) {
                return Err(refusal);
            }
            grant.0.insert(target);
        }
        Ok(grant)
    }

    /// From what was granted already, on the other side of a socket.
    pub(crate) fn granted(targets: &[String]) -> Result<Self, TargetError> {
        let parsed = targets.iter().map(|text| Target::parse(text, None));
        parsed.collect::<Result<_, _>>().map(Self)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn allows(&self, target: &Target) -> bool {
        self.0.contains(target)
    }

    /// As texts, for the other side of a socket.
    pub(crate) fn to_texts(&self) -> Vec<String> {
        self.0.iter().map(ToString::to_string).collect()
    }
}

impl fmt::Display for Grant {
    /// For whoever was refused.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&list(self.0.iter()))
    }
}

/// The refusal of a target that the ceiling does not have.
fn beyond(pointer: &str, target: &Target, ceiling: Ceiling<'_>) -> Option<Refusal> {
    let Ceiling::Profile(entries) = ceiling else {
        return None;
    };
    // What is no pattern was refused with the configuration, and covers nothing.
    let patterns: Vec<_> = entries
        .iter()
        .filter_map(|entry| Pattern::parse(entry).ok())
        .collect();
    if patterns.iter().any(|pattern| pattern.covers(target)) {
        return None;
    }
    let allowed = list(patterns.iter());
    Some(Refusal::bad(
        pointer,
        format!("`{target}` is beyond what the profile allows; hosts it allows: {allowed}"),
        target.to_string(),
        allowed,
    ))
}

/// Some of many, and how many more there are.
fn list<T: fmt::Display>(all: impl ExactSizeIterator<Item = T>) -> String {
    let more = all.len().saturating_sub(SHOWN_MAX);
    let mut shown: Vec<_> = all.take(SHOWN_MAX).map(|one| one.to_string()).collect();
    if shown.is_empty() {
        return "none".to_owned();
    }
    if more > 0 {
        shown.push(format!("and {more} more"));
    }
    shown.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(all: &[&str]) -> Vec<String> {
        all.iter().map(ToString::to_string).collect()
    }

    fn refused(asked: &[&str], ceiling: &[&str]) -> Option<(String, String)> {
        let ceiling = texts(ceiling);
        Grant::of(&texts(asked), Ceiling::Profile(&ceiling))
            .err()
            .map(|refusal| (refusal.pointer, refusal.message))
    }

    #[test]
    fn a_grant_is_what_the_ceiling_has() {
        let ceiling = ["api.example.com:443", "*.cdn.example:443", "1.1.1.1:53"];
        for good in [
            "api.example.com:443",
            "API.example.com:443",
            "a.cdn.example:443",
            "1.1.1.1:53",
        ] {
            assert_eq!(refused(&[good], &ceiling), None, "{good}");
        }
        for bad in [
            "api.example.com:80",
            "example.com:443",
            "x.api.example.com:443",
            "cdn.example:443",
            "a.b.cdn.example:443",
            "acdn.example:443",
            "a.cdn.example:80",
            "1.1.1.1:443",
            "1.1.1.2:53",
        ] {
            let (pointer, message) = refused(&["api.example.com:443", bad], &ceiling).expect(bad);
            assert_eq!(pointer, "/network/allow/1");
            assert!(
                message.contains(bad) && message.contains("*.cdn.example:443"),
                "{message}"
            );
        }
        let (_, message) = refused(&["a.example:443"], &[]).expect("nothing is allowed");
        assert!(message.ends_with("hosts it allows: none"), "{message}");
        assert_eq!(refused(&[], &[]), None);
    }

    #[test]
    fn the_command_line_is_its_own_ceiling_but_not_its_own_grammar() {
        let own = |text: &str| Grant::of(&texts(&[text]), Ceiling::Own);
        let grant = own("a.example:1").expect("its own");
        let target = |text| Target::parse(text, None).expect("a target");
        assert!(grant.allows(&target("a.example:1")));
        assert!(!grant.allows(&target("a.example:2")) && !grant.allows(&target("b.a.example:1")));
        assert_eq!(Grant::granted(&grant.to_texts()), Ok(grant));
        assert!(
            own("*.a.example:1").is_err() && own("127.1:80").is_err() && own("a.example").is_err()
        );
        let many = vec!["a.example:1".to_owned(); ENTRIES_MAX + 1];
        assert!(Grant::of(&many, Ceiling::Own).is_err());
    }

    #[test]
    fn a_wildcard_is_one_label_below_two() {
        for bad in [
            "*:443",
            "*.com:443",
            "*.*.a.example:1",
            "a.*.example:1",
            "*a.example:1",
            "*.1.1.1.1:1",
            "*.a.example:*",
            "*.a.example",
        ] {
            assert!(Pattern::parse(bad).is_err(), "{bad}");
        }
        assert_eq!(
            Pattern::parse("*.a.Example:1").expect("one").to_string(),
            "*.a.example:1"
        );
    }

    #[test]
    fn a_long_list_is_cut() {
        let many: Vec<_> = (0..12).map(|n| format!("h{n}.example:1")).collect();
        let grant = Grant::of(&many, Ceiling::Own).expect("few enough");
        assert!(grant.to_string().ends_with(", and 4 more"), "{grant}");
        assert_eq!(Grant::default().to_string(), "none");
    }
}
