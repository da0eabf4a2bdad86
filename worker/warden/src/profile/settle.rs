//! What do the profiles mean: on which does each build, and do its figures agree with each other
//! and with the contract?

use super::raw::Raw;
use super::{
    ImageSource, Interpreter, Isolation, LimitName, LimitTable, PoolSize, Profile, ProfileError,
    Profiles, Reuse, keys,
};
use std::collections::BTreeMap;
use std::time::Duration;

/// The profiles that exist without a configuration.
pub(super) fn built_in() -> [Profile; 5] {
    let with = |name, program: &str, main: &str| Profile {
        interpreter: Some(Interpreter {
            argv: vec![program.to_owned()],
            main: main.to_owned(),
        }),
        ..plain(name)
    };
    let mut data = with("python-data", "/usr/bin/python3", "main.py");
    data.limits.set_default(LimitName::Memory, 1 << 30);
    [
        with("python", "/usr/bin/python3", "main.py"),
        data,
        with("bash", "/bin/bash", "main.sh"),
        with("node", "/usr/bin/node", "main.js"),
        plain("command"),
    ]
}

/// What a profile is of which nothing is said.
fn plain(name: &str) -> Profile {
    Profile {
        name: name.to_owned(),
        image: ImageSource::Host { extra: Vec::new() },
        interpreter: None,
        limits: contract(),
        isolation: Isolation::Standard,
        reuse: Reuse::Tenant,
        pool: PoolSize::default(),
        max_uses: 1_000,
        max_age: Duration::from_hours(1),
        network_allow: Vec::new(),
    }
}

/// The widest table there may be on this host.
fn contract() -> LimitTable {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    LimitTable::contract(u32::try_from(cpus).unwrap_or(u32::MAX))
}

/// The built-in profiles with what a configuration says about them and beside them.
pub(super) fn settle(
    built_in: Profiles,
    (raw, errors): (BTreeMap<String, Raw>, Vec<ProfileError>),
) -> Result<Profiles, Vec<ProfileError>> {
    let mut settler = Settler {
        profiles: built_in.clone(),
        built_in,
        raw: &raw,
        done: BTreeMap::new(),
        errors,
    };
    for name in raw.keys() {
        settler.profile(name, name, &mut Vec::new());
    }
    if settler.errors.is_empty() {
        Ok(settler.profiles)
    } else {
        Err(settler.errors)
    }
}

struct Settler<'a> {
    built_in: Profiles,
    raw: &'a BTreeMap<String, Raw>,
    /// Those of the configuration that are settled; `None` where that failed.
    done: BTreeMap<&'a str, Option<Profile>>,
    profiles: Profiles,
    errors: Vec<ProfileError>,
}

impl<'a> Settler<'a> {
    fn wrong(&mut self, name: &str, key: &str, problem: impl Into<String>) {
        self.errors.push(ProfileError::Key {
            key: format!("profiles.{name}.{key}"),
            problem: problem.into(),
        });
    }

    /// The profile `name`, which `asker` builds on. `trail` is who asked for whom.
    fn profile(&mut self, name: &str, asker: &str, trail: &mut Vec<&'a str>) -> Option<Profile> {
        if let Some(done) = self.done.get(name) {
            return done.clone();
        }
        let Some((name, raw)) = self.raw.get_key_value(name) else {
            if let Some(profile) = self.built_in.get(name) {
                return Some(profile.clone());
            }
            let known: Vec<&str> = self
                .built_in
                .names()
                .into_iter()
                .chain(self.raw.keys().map(String::as_str))
                .collect();
            let problem = keys::unknown(name, &known);
            self.wrong(asker, "base", problem);
            return None;
        };
        if trail.contains(&name.as_str()) {
            let circle = format!("{} -> {name}", trail.join(" -> "));
            self.wrong(
                asker,
                "base",
                format!("the profiles build on each other: {circle}"),
            );
            return None;
        }
        trail.push(name);
        let own = self.built_in.get(name).cloned();
        let base = match (&raw.base, own) {
            (None, own) => Some(own.unwrap_or_else(|| plain(name))),
            (Some(base), Some(own)) if base == name => Some(own),
            (Some(base), _) => self.profile(base, name, trail),
        };
        trail.pop();
        let settled = base.map(|base| self.apply(name, base, raw));
        if let Some(profile) = &settled {
            self.profiles.all.insert(name.clone(), profile.clone());
            self.reuse(name, raw);
        }
        self.done.insert(name, settled.clone());
        settled
    }

    /// Remembers whether a profile or the one it builds on says its reuse.
    fn reuse(&mut self, name: &str, raw: &Raw) {
        let open = &mut self.profiles.reuse_open;
        let base = raw.base.as_deref().filter(|base| *base != name);
        if raw.reuse.is_none() && base.is_none_or(|base| open.contains(base)) {
            open.insert(name.to_owned());
        } else {
            open.remove(name);
        }
    }

    fn apply(&mut self, name: &str, mut profile: Profile, raw: &Raw) -> Profile {
        name.clone_into(&mut profile.name);
        self.image(&mut profile, raw);
        self.interpreter(&mut profile, raw);
        self.limits(&mut profile, raw);
        if let Some(isolation) = raw.isolation {
            profile.isolation = isolation;
        }
        if let Some(reuse) = raw.reuse {
            profile.reuse = reuse;
        }
        profile.pool.min = raw.pool_min.or(profile.pool.min);
        profile.pool.max = raw.pool_max.or(profile.pool.max);
        if let PoolSize {
            min: Some(min),
            max: Some(max),
        } = profile.pool
            && min > max
        {
            self.wrong(
                name,
                "pool.min",
                format!("{min} is above `pool.max`, which is {max}"),
            );
        }
        if let Some(uses) = raw.max_uses {
            profile.max_uses = uses;
        }
        if let Some(ms) = raw.max_age_ms {
            profile.max_age = Duration::from_millis(ms);
        }
        if let Some(allow) = &raw.network_allow {
            profile.network_allow.clone_from(allow);
        }
        profile
    }

    fn image(&mut self, profile: &mut Profile, raw: &Raw) {
        if let Some(image) = &raw.image {
            profile.image = image.clone();
        }
        if let Some(more) = &raw.host_extra {
            match &mut profile.image {
                ImageSource::Host { extra } => {
                    extra.clone_from(more);
                    extra.sort();
                    extra.dedup();
                }
                ImageSource::Dir(_) => {
                    self.wrong(&profile.name, "host_extra", "the image is not `host`");
                }
            }
        }
    }

    fn interpreter(&mut self, profile: &mut Profile, raw: &Raw) {
        let (argv, main) = match profile.interpreter.take() {
            Some(Interpreter { argv, main }) => (Some(argv), Some(main)),
            None => (None, None),
        };
        let argv = raw.interpreter.clone().or(argv);
        let main = raw.main.clone().or(main);
        profile.interpreter = match (argv, main) {
            (Some(argv), Some(main)) => Some(Interpreter { argv, main }),
            (Some(_), None) => {
                self.wrong(
                    &profile.name,
                    "main",
                    "an interpreter needs the name of its file",
                );
                None
            }
            (None, Some(_)) => {
                self.wrong(
                    &profile.name,
                    "interpreter",
                    "`main` is the file of an interpreter",
                );
                None
            }
            (None, None) => None,
        };
    }

    fn limits(&mut self, profile: &mut Profile, raw: &Raw) {
        let contract = contract();
        for (&limit, &ceiling) in &raw.ceilings {
            let (unit, widest) = (limit.unit(), contract.get(limit));
            if (widest.minimum..=widest.ceiling).contains(&ceiling) {
                profile.limits.set_ceiling(limit, ceiling);
            } else {
                let problem = format!(
                    "{} is not between {} and {}, the bounds of this limit",
                    unit.format(ceiling),
                    unit.format(widest.minimum),
                    unit.format(widest.ceiling)
                );
                self.wrong(&profile.name, &key("ceilings", limit), problem);
            }
        }
        for (&limit, &default) in &raw.limits {
            profile.limits.set_default(limit, default);
        }
        for limit in profile.limits.contradictions() {
            let (unit, range) = (limit.unit(), profile.limits.get(limit));
            let default = unit.format(range.default);
            let (table, problem) = if raw.limits.contains_key(&limit) {
                let (least, most) = (unit.format(range.minimum), unit.format(range.ceiling));
                (
                    "limits",
                    format!(
                        "{default} is not between the minimum of {least} and the ceiling of {most}"
                    ),
                )
            } else {
                let ceiling = unit.format(range.ceiling);
                (
                    "ceilings",
                    format!("{ceiling} is below the default of {default}; set `limits` too"),
                )
            };
            self.wrong(&profile.name, &key(table, limit), problem);
        }
    }
}

/// The key of a limit's figure below its profile.
fn key(table: &str, limit: LimitName) -> String {
    format!("{table}.{}", limit.cli_name().replace('-', "_"))
}
