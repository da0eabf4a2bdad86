//! Which reader reads which type.

mod around;

use crate::archive::{self, Sink};
use crate::bytes::count;
use crate::check;
use crate::format::{self, json, xml, yaml};
use crate::kind::{claim, detect, sealed};
use crate::policy::UnknownTypes;
use crate::{Kind, Notes, Part, Policy, Severity, Unscannable};
use around::around;

/// One view, as readers see it.
pub(crate) struct Subject<'a> {
    pub(crate) name: &'a str,
    pub(crate) ending: &'a str,
    pub(crate) bytes: &'a [u8],
    pub(crate) text: Option<&'a str>,
    /// Whether it lies within another file.
    pub(crate) is_within: bool,
    /// Whether what it lies in said what it is.
    pub(crate) is_claimed: bool,
}

/// Reads the view to its end as what it is.
pub(crate) fn read(
    kind: Kind,
    subject: &Subject<'_>,
    policy: &Policy,
    sink: &mut dyn Sink,
) -> Result<(), Unscannable> {
    let bytes = subject.bytes;
    sink.budget().charge(count(bytes.len()) + 1)?;
    if subject.text.is_none() && kind != Kind::Pickle {
        let mut notes = std::mem::take(sink.notes());
        check::pickle::lurks(bytes, &mut notes, sink.budget());
        *sink.notes() = notes;
    }
    match kind {
        Kind::Gzip | Kind::Bzip2 | Kind::Xz | Kind::Zstd | Kind::Zlib | Kind::Lz4 | Kind::Lzma => {
            return archive::stream::read(kind, bytes, subject.name, sink);
        }
        Kind::Tar => return archive::tar::read(bytes, sink),
        Kind::SevenZip => return archive::sevenz::read(bytes, sink),
        Kind::Zip | Kind::Ooxml => return zip(kind, subject, policy, sink),
        Kind::Sealed if sealed::is_locked(bytes) => return Err(Unscannable::Encrypted),
        Kind::Rar | Kind::Sealed => return Err(Unscannable::Unsupported),
        _ => {}
    }
    let mut notes = std::mem::take(sink.notes());
    let end = match subject.text {
        Some(text) => as_text(kind, text, subject, policy, &mut notes, sink),
        None => as_bytes(kind, subject, policy, &mut notes, sink),
    };
    *sink.notes() = notes;
    end
}

/// What is within is scanned; documents are looked at as a whole, too.
fn zip(
    kind: Kind,
    subject: &Subject<'_>,
    policy: &Policy,
    sink: &mut dyn Sink,
) -> Result<(), Unscannable> {
    let is_telling = |part: &Part| is_class(part) || check::office::is_open_part(name(part));
    let mut tee = Tee {
        sink,
        kept: Vec::new(),
        wanted: if kind == Kind::Ooxml {
            |_| true
        } else {
            is_telling
        },
    };
    let end = archive::zip::read(subject.bytes, &mut tee);
    let kept = std::mem::take(&mut tee.kept);
    if kind == Kind::Ooxml {
        let members = members(&kept);
        let mut notes = std::mem::take(sink.notes());
        let office = check::office::check_ooxml(subject.name, &members, &mut notes, sink.budget());
        *sink.notes() = notes;
        office?;
    } else if kept.iter().any(is_class) {
        program(policy, subject, "a Java archive", sink.notes());
    } else {
        let members = members(&kept);
        let mut notes = std::mem::take(sink.notes());
        let office = check::office::check_open(&members, &mut notes, sink.budget());
        *sink.notes() = notes;
        office?;
    }
    end
}

fn is_class(part: &Part) -> bool {
    part.bytes.starts_with(b"\xca\xfe\xba\xbe")
}

fn name(part: &Part) -> &str {
    part.name.as_deref().unwrap_or_default()
}

fn members(parts: &[Part]) -> Vec<check::office::Member<'_>> {
    let member = |part| check::office::Member {
        name: name(part),
        bytes: &part.bytes,
    };
    parts.iter().map(member).collect()
}

/// Hands members on and keeps those that documents and programs are told by.
struct Tee<'a> {
    sink: &'a mut dyn Sink,
    kept: Vec<Part>,
    wanted: fn(&Part) -> bool,
}

impl Sink for Tee<'_> {
    fn notes(&mut self) -> &mut Notes {
        self.sink.notes()
    }

    fn budget(&mut self) -> &mut crate::Budget {
        self.sink.budget()
    }

    fn member(&mut self, part: Part) {
        if (self.wanted)(&part) {
            self.kept.push(Part {
                place: part.place.clone(),
                name: part.name.clone(),
                kind: part.kind,
                bytes: part.bytes.clone(),
            });
        }
        self.sink.member(part);
    }
}

fn as_text(
    kind: Kind,
    text: &str,
    subject: &Subject<'_>,
    policy: &Policy,
    notes: &mut Notes,
    sink: &mut dyn Sink,
) -> Result<(), Unscannable> {
    let budget = sink.budget();
    check::loaders::check_php(text, notes);
    check::startup::check(subject.name, text, notes);
    check::terminal::check(text, notes);
    match kind {
        Kind::Csv => check::csv::check(text, notes, budget)?,
        Kind::Json => {
            check::loaders::check(text, notes, budget)?;
            as_promised(subject, json::check(text, false, budget))?;
        }
        Kind::JsonLines => {
            check::loaders::check(text, notes, budget)?;
            json::check(text, true, budget)?;
        }
        Kind::Notebook => {
            json::check(text, false, budget)?;
            check::notebook::check(text, notes, budget)?;
        }
        Kind::Markdown => check::markdown::check(text, notes, budget)?,
        Kind::Html => {
            if matches!(subject.ending, "mht" | "mhtml") {
                check::mail::check(text, notes, budget)?;
            }
            check::html::check(text, notes, budget)?;
            let declared = subject.is_within && text.contains("http://www.w3.org/1999/xhtml");
            if declared || matches!(subject.ending, "xhtml" | "xhtm" | "xht") {
                check::html::check_xml(text, notes, budget)?;
            }
        }
        Kind::Svg => {
            xml::declarations(text, notes);
            check::svg::check(text, notes, budget)?;
            if subject.ending == "svg" && !subject.is_within {
                xml::well_formed(text, budget)?;
            }
        }
        Kind::Xml => {
            // What it declares is told though it grows past what is looked at below.
            let acts = acts_in_xml(text, notes, budget);
            if subject.is_within {
                xml::declarations(text, notes);
                check::xml::check(text, notes, budget)?;
            } else {
                as_promised(subject, xml::check(text, notes, budget))?;
            }
            acts?;
        }
        Kind::Yaml => {
            check::loaders::check_yaml(text, notes, budget)?;
            yaml::check(text, notes, budget)?;
        }
        Kind::Pickle => check::pickle::check(subject.bytes, notes, budget)?,
        Kind::Pdf => check::pdf::check(subject.bytes, notes, budget)?,
        Kind::Rtf => check::rtf::check(text, notes, budget)?,
        Kind::Executable | Kind::Shortcut | Kind::Script => runs(kind, policy, subject, notes),
        Kind::Text => check::mail::check(text, notes, budget)?,
        Kind::Empty => {}
        // Its first bytes are those of a type that is not text, and all of it is text.
        _ => return as_bytes(kind, subject, policy, notes, sink),
    }
    around(kind, subject, notes);
    Ok(())
}

fn as_bytes(
    kind: Kind,
    subject: &Subject<'_>,
    policy: &Policy,
    notes: &mut Notes,
    sink: &mut dyn Sink,
) -> Result<(), Unscannable> {
    let (bytes, budget) = (subject.bytes, sink.budget());
    if !matches!(kind, Kind::Unknown | Kind::Html | Kind::Ole) {
        around(kind, subject, notes);
    }
    match kind {
        Kind::Png => format::png::check(bytes, notes, budget),
        Kind::Gif => format::gif::check(bytes, notes, budget),
        Kind::Jpeg => format::jpeg::check(bytes, notes, budget),
        Kind::Webp | Kind::Wav => format::riff::check(bytes, notes, budget),
        Kind::Mp4 => format::mp4::check(bytes, notes, budget),
        Kind::Bmp => format::riff::check_bitmap(bytes, notes, budget),
        Kind::Pdf => check::pdf::check(bytes, notes, budget),
        Kind::Ole => check::office::check_ole(subject.name, bytes, notes, budget),
        Kind::Parquet => {
            check::pickle::check_arrow(bytes, notes, budget)?;
            format::parquet::check(bytes, notes, budget)
        }
        Kind::Arrow => {
            check::pickle::check_arrow(bytes, notes, budget)?;
            format::columnar::check_arrow(bytes, budget)
        }
        Kind::Orc => format::columnar::check_orc(bytes, budget),
        Kind::Npy => format::npy::check(bytes, notes, budget),
        Kind::Sqlite => format::sqlite::check(bytes, notes, budget),
        Kind::Hdf5 => format::hdf5::check(bytes, notes, budget),
        Kind::Safetensors => format::safetensors::check(bytes, notes, budget),
        Kind::Pickle => check::pickle::check(bytes, notes, budget),
        Kind::Frame => format::frames::check(bytes, notes, budget),
        Kind::Executable | Kind::Shortcut | Kind::Script => {
            runs(kind, policy, subject, notes);
            Ok(())
        }
        Kind::Unknown => {
            around(kind, subject, notes);
            if matches!(
                subject.ending,
                "pkl" | "pickle" | "p" | "joblib" | "pt" | "pth"
            ) {
                return check::pickle::check(bytes, notes, budget);
            }
            let is_data = subject.is_within && !sealed::is_called(subject.ending);
            if is_data || policy.unknown_types == UnknownTypes::Accept {
                return Ok(());
            }
            Err(Unscannable::Unsupported)
        }
        // Text by its type, and not a text.
        Kind::Text
        | Kind::Csv
        | Kind::Json
        | Kind::JsonLines
        | Kind::Notebook
        | Kind::Markdown
        | Kind::Html
        | Kind::Svg
        | Kind::Xml
        | Kind::Yaml
        | Kind::Rtf => {
            let text = String::from_utf8_lossy(bytes);
            sink.budget().unpack(count(text.len()))?;
            if kind != Kind::Html {
                return Err(Unscannable::Corrupt);
            }
            notes.find(
                "polyglot.page",
                Severity::Suspicious,
                "",
                "a page of HTML with other bytes in it",
            );
            around(kind, subject, notes);
            check::html::check(&text, notes, sink.budget())
        }
        _ => Ok(()),
    }
}

/// Text that only looks like a type, and did not say that it is of it, is text.
fn as_promised(subject: &Subject<'_>, end: Result<(), Unscannable>) -> Result<(), Unscannable> {
    let promised = subject.is_claimed || claim::of(subject.ending) != claim::Claim::Nothing;
    let prose = matches!(subject.ending, "txt" | "log" | "rst" | "tex");
    match end {
        Err(Unscannable::Corrupt) if !promised || prose || is_commented(subject) => Ok(()),
        end => end,
    }
}

/// Settings that are read as JSON with comments, which the tools themselves write.
fn is_commented(subject: &Subject<'_>) -> bool {
    let path = subject.name.to_ascii_lowercase();
    let mut parts = path.rsplit('/');
    let (name, folder) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
    let known = ["tsconfig", "jsconfig", "devcontainer.", ".devcontainer."];
    subject.ending == "json"
        && (folder == ".vscode" || known.iter().any(|start| name.starts_with(start)))
}

/// Elements of pages and drawings act under whatever root; documents may be written as one text.
fn acts_in_xml(
    text: &str,
    notes: &mut Notes,
    budget: &mut crate::Budget,
) -> Result<(), Unscannable> {
    const PAGE: &str = "http://www.w3.org/1999/xhtml";
    const SPACES: [&str; 2] = [PAGE, "http://www.w3.org/2000/svg"];
    const ACTS: [&str; 4] = [
        "svg.script",
        "svg.handler",
        "svg.script_address",
        "svg.data_page",
    ];
    if check::xml::names_space(text, &SPACES, budget)? {
        let mut own = Notes::default();
        check::svg::check(text, &mut own, budget)?;
        notes.copy(&own, |finding| ACTS.contains(&finding.rule));
    }
    if check::xml::names_space(text, &[PAGE], budget)? {
        // Forms, frames and turns to another page do what they do on a page.
        let mut own = Notes::default();
        check::html::check_xml(text, &mut own, budget)?;
        notes.copy(&own, |finding| finding.severity >= Severity::Suspicious);
        for part in own.take_parts() {
            notes.part(part.place, part.name, part.kind, part.bytes);
        }
    }
    check::loaders::check_xml(text, notes, budget)?;
    check::csv::sheet::attributes(text, notes, budget)?;
    check::office::check_flat(text, notes, budget)
}

/// What a double click or a shell starts.
fn runs(kind: Kind, policy: &Policy, subject: &Subject<'_>, notes: &mut Notes) {
    match (kind, subject.ending) {
        (Kind::Shortcut, _) => notes.find(
            "type.shortcut",
            Severity::Malicious,
            "",
            "a shortcut that runs what it says when it is opened",
        ),
        (_, "hta" | "vbe" | "jse" | "sct") => notes.find(
            "type.script_host",
            Severity::Malicious,
            "",
            "a script that runs with all rights when it is opened",
        ),
        (Kind::Script, _) => notes.find(
            "type.script",
            policy.scripts,
            "",
            "source that an interpreter runs",
        ),
        _ => program(policy, subject, "a program", notes),
    }
}

fn program(policy: &Policy, subject: &Subject<'_>, what: &str, notes: &mut Notes) {
    let disguised = detect::is_disguise(subject.ending);
    let severity = if disguised {
        Severity::Malicious
    } else {
        policy.programs
    };
    notes.find(
        "type.program",
        severity,
        "",
        format!("{what}, which runs when it is opened"),
    );
}
