//! How one file is looked at: itself, then everything within it, in turn.

use crate::archive::Sink;
use crate::kind::{claim, detect};
use crate::proof::{Content, Names, Proof, Proofs, Rules, Secrets, Within};
use crate::report::{Facts, Report};
use crate::shown::Shown;
use crate::{Budget, Kind, Limit, Notes, Part, Policy, Unscannable};
use crate::{bytes::count, check, content, name, text};
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use std::panic::AssertUnwindSafe;

/// One file that an untrusted program made.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Its path, as it would be shown and stored.
    pub name: &'a str,
    pub bytes: &'a [u8],
}

/// Looks at one file, and at everything within it.
pub fn scan(subject: Subject<'_>, policy: &Policy, budget: &mut Budget) -> Report {
    look(subject, None, policy, budget)
}

/// Looks at a file that is read as `kind`, too, whatever its content says.
pub fn scan_as(kind: Kind, subject: Subject<'_>, policy: &Policy, budget: &mut Budget) -> Report {
    look(subject, Some(kind), policy, budget)
}

fn look(
    subject: Subject<'_>,
    claimed: Option<Kind>,
    policy: &Policy,
    budget: &mut Budget,
) -> Report {
    let size = count(subject.bytes.len());
    if size > budget.limits().size_bytes {
        return too_large(subject.name, size);
    }
    budget.packed(size);
    let ending = name::ending(subject.name);
    let mut walk = Walk {
        policy,
        budget,
        notes: Notes::default(),
        depth: 0,
    };
    let view = View {
        place: "",
        name: Some(subject.name),
        claimed,
        bytes: subject.bytes,
    };
    let (kind, end) =
        guard(|| walk.view(&view)).unwrap_or((Kind::Unknown, Err(Unscannable::EngineError)));
    // A charge that some check ignored is still a charge that was not paid.
    let end = match walk.budget.spent() {
        Some(spent) => end.and(Err(spent)),
        None => end,
    };
    Report::conclude(
        end,
        Facts {
            kind,
            ending,
            bytes: size,
            sha256: Some(hex(&Sha256::digest(subject.bytes))),
            findings: walk.notes.into_findings(),
        },
    )
}

/// The report on a file that is larger than [`crate::Limits::size_bytes`], without reading it.
#[must_use]
pub fn too_large(name: &str, bytes: u64) -> Report {
    unscannable(name, bytes, Unscannable::Limit(Limit::Size))
}

/// The report on a file that could not be scanned at all.
#[must_use]
pub fn unscannable(name: &str, bytes: u64, reason: Unscannable) -> Report {
    Report::conclude(
        Err(reason),
        Facts {
            kind: Kind::Unknown,
            ending: name::ending(name),
            bytes,
            sha256: None,
            findings: Vec::new(),
        },
    )
}

/// Runs what may panic: a bug in a reader is a check that did not finish, not the end of the rest.
fn guard<T>(work: impl FnOnce() -> T) -> Option<T> {
    std::panic::catch_unwind(AssertUnwindSafe(work)).ok()
}

/// Bytes that are looked at as a file: the file itself, or something within.
struct View<'a> {
    place: &'a str,
    name: Option<&'a str>,
    claimed: Option<Kind>,
    bytes: &'a [u8],
}

struct Walk<'a> {
    policy: &'a Policy,
    budget: &'a mut Budget,
    notes: Notes,
    depth: u32,
}

impl Walk<'_> {
    /// Runs every engine over one view, whatever the others say.
    fn view(&mut self, view: &View<'_>) -> (Kind, Result<Proofs, Unscannable>) {
        let mut notes = Notes::default();
        let ending = view.name.map(name::ending).unwrap_or_default();
        let decoded = text::decode(view.bytes, self.budget);
        let decoded_text = decoded.as_ref().ok().and_then(Option::as_deref);
        let kind = detect::detect(view.bytes, decoded_text, &ending);
        let names = Proof::<Names>::of(|| {
            view.name
                .into_iter()
                .for_each(|name| name::check(name, view.bytes, &mut notes));
            claim::check(&ending, kind, !view.place.is_empty(), &mut notes)
        });
        let shown = Shown {
            kind,
            ending: &ending,
            text: decoded_text.unwrap_or_default(),
        };
        let rules = Proof::<Rules>::of(|| self.rules(view.bytes, &shown, &mut notes));
        let secrets = Proof::<Secrets>::of(|| self.secrets(kind, view, decoded_text, &mut notes));
        let mut level = Level {
            notes,
            within: Ok(()),
            place: view.place,
            walk: self,
        };
        let subject = content::Subject {
            name: view.name.unwrap_or_default(),
            ending: &ending,
            bytes: view.bytes,
            text: decoded_text,
            is_within: !view.place.is_empty(),
            is_claimed: view.claimed.is_some(),
        };
        let content = Proof::<Content>::of(|| {
            decoded.as_ref().map_err(|spent| *spent)?;
            let policy = level.walk.policy;
            let mut end = content::read(kind, &subject, policy, &mut level);
            if let Some(claimed) = view.claimed.filter(|claimed| *claimed != kind) {
                end = end.and(content::read(claimed, &subject, policy, &mut level));
            }
            end
        });
        let within = level.finish();
        let proofs = Proofs::all(names, rules, secrets, content, within);
        (kind, proofs)
    }

    fn rules(
        &mut self,
        bytes: &[u8],
        shown: &Shown<'_>,
        notes: &mut Notes,
    ) -> Result<(), Unscannable> {
        let (rules, text) = (&self.policy.rules, shown.text.as_bytes());
        rules.run(bytes, shown, notes, self.budget)?;
        // A text that was not decoded is the bytes themselves.
        if text.is_empty() || std::ptr::eq(text, bytes) {
            return Ok(());
        }
        rules.run(text, shown, notes, self.budget)
    }

    /// Packed bytes hold no text of their own; what they unpack to is a view by itself.
    fn secrets(
        &mut self,
        kind: Kind,
        View { name, bytes, .. }: &View<'_>,
        text: Option<&str>,
        notes: &mut Notes,
    ) -> Result<(), Unscannable> {
        let view = text.map_or(*bytes, str::as_bytes);
        if let Some(own) = &self.policy.own_secrets {
            own.check(view, notes, self.budget)?;
        }
        // Whoever may not read the file still sees its name.
        if let Some(name) = name {
            let mut of_name = Notes::default();
            if let Some(own) = &self.policy.own_secrets {
                own.check(name.as_bytes(), &mut of_name, self.budget)?;
            }
            check::secrets::check(name.as_bytes(), &mut of_name, self.budget)?;
            notes.absorb("name", of_name);
        }
        match kind {
            Kind::Zip
            | Kind::Ooxml
            | Kind::Gzip
            | Kind::Bzip2
            | Kind::Xz
            | Kind::Zstd
            | Kind::SevenZip
            | Kind::Tar
            | Kind::Zlib
            | Kind::Lz4
            | Kind::Lzma
            | Kind::Jpeg
            | Kind::Webp
            | Kind::Mp4
            | Kind::Wav
            | Kind::Png => Ok(()),
            _ => check::secrets::check(view, notes, self.budget),
        }
    }
}

/// One view's notes, and where the views within it are scanned as they come.
struct Level<'a, 'w, 'p> {
    notes: Notes,
    within: Result<(), Unscannable>,
    place: &'a str,
    walk: &'w mut Walk<'p>,
}

impl Level<'_, '_, '_> {
    /// Scans what the checks handed on and hands the notes over.
    fn finish(mut self) -> Result<Proof<Within>, Unscannable> {
        for part in self.notes.take_parts() {
            self.scan(part);
        }
        let Self {
            notes,
            within,
            place,
            walk,
        } = self;
        walk.notes.absorb(place, notes);
        Proof::of(|| within)
    }

    fn scan(&mut self, part: Part) {
        let Part {
            place,
            name,
            kind,
            bytes,
        } = part;
        let end = if self.walk.depth >= self.walk.budget.limits().depth {
            Err(Unscannable::Limit(Limit::Depth))
        } else if let Some(spent) = self.walk.budget.spent() {
            Err(spent)
        } else {
            let place = match (self.place, place.as_str()) {
                (outer, "") => format!(
                    "{outer} > {}",
                    name.as_deref()
                        .filter(|name| !name.is_empty())
                        .unwrap_or("content")
                ),
                ("", inner) => inner.to_owned(),
                (outer, inner) => format!("{outer} > {inner}"),
            };
            let place = place.strip_prefix(" > ").unwrap_or(&place);
            self.walk.depth += 1;
            let (_, end) = self.walk.view(&View {
                place,
                name: name.as_deref().filter(|name| !name.is_empty()),
                claimed: kind,
                bytes: &bytes,
            });
            self.walk.depth -= 1;
            end.map(|_| ())
        };
        if self.within.is_ok() {
            self.within = end;
        }
    }
}

impl Sink for Level<'_, '_, '_> {
    fn notes(&mut self) -> &mut Notes {
        &mut self.notes
    }

    fn budget(&mut self) -> &mut Budget {
        self.walk.budget
    }

    fn member(&mut self, part: Part) {
        self.scan(part);
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("to memory");
        hex
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, Rules, Verdict};
    use std::sync::Arc;

    fn run(name: &str, bytes: &[u8], limits: Limits) -> Report {
        let policy = Policy::standard(Rules::own());
        scan(Subject { name, bytes }, &policy, &mut Budget::new(limits))
    }

    #[test]
    fn a_table_is_clean_and_a_panic_is_no_answer() {
        let report = run("a.csv", b"1,2\n", Limits::default());
        assert_eq!(report.verdict(), Verdict::Clean);
        assert_eq!(report.media_type(), "text/csv");
        assert_eq!(report.sha256().map(str::len), Some(64));
        assert_eq!(guard(|| panic!("a bug in a reader")), None::<()>);
    }

    /// Every limit, just too small for a file that is otherwise clean.
    #[test]
    fn no_limit_ends_in_clean() {
        let inner = b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
        let mut tar = vec![0; 512];
        tar[..5].copy_from_slice(b"a.zip");
        tar[124..135].copy_from_slice(b"00000000026");
        tar[148..156].fill(b' ');
        let sum: u32 = tar.iter().map(|byte| u32::from(*byte)).sum();
        tar[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        tar.extend(inner);
        tar.resize(2048, 0);
        let full = Limits::default();
        let clean = run("a.tar", &tar, full);
        assert_eq!(clean.verdict(), Verdict::Clean, "{clean:?}");
        for limits in [
            Limits {
                size_bytes: 2047,
                ..full
            },
            Limits { members: 0, ..full },
            Limits { depth: 0, ..full },
            Limits {
                wall: std::time::Duration::ZERO,
                ..full
            },
        ] {
            let report = run("a.tar", &tar, limits);
            assert!(
                report.verdict() >= Verdict::Suspicious,
                "{limits:?}: {report:?}"
            );
        }
        let wide: Vec<u8> = "a,b\n".bytes().flat_map(|byte| [byte, 0]).collect();
        let wide = [b"\xff\xfe".to_vec(), wide].concat();
        assert_eq!(run("a.csv", &wide, full).verdict(), Verdict::Clean);
        let report = run(
            "a.csv",
            &wide,
            Limits {
                unpacked_bytes: 7,
                ..full
            },
        );
        assert_eq!(report.verdict(), Verdict::Unscannable);
    }

    #[test]
    fn the_jobs_own_secret_does_not_leave() {
        let mut policy = Policy::standard(Rules::own());
        let own = check::secrets::Own::new(&[b"correct horse"]).expect("one is not too many");
        policy.own_secrets = Some(Arc::new(own));
        let subject = Subject {
            name: "a.txt",
            bytes: b"the correct horse battery",
        };
        let report = scan(subject, &policy, &mut Budget::new(Limits::default()));
        assert_eq!(report.verdict(), Verdict::Suspicious);
        assert!(!format!("{report:?} {policy:?}").contains("correct horse"));
        let token = format!("{}{}", "ghp_", "op6FasrEF582wWhLUSQWhnSCynAd8U1lWSRy");
        for name in ["of/correct horse/a.txt", &format!("{token}.txt")] {
            let subject = Subject { name, bytes: b"a" };
            let report = scan(subject, &policy, &mut Budget::new(Limits::default()));
            assert_eq!(report.verdict(), Verdict::Suspicious, "{name}");
        }
    }
}
