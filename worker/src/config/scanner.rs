//! What does `[scanner]` say about what may leave?

use super::section::{ROW, SCANNER};
use super::sources::Sources;
use super::worker::path;
use super::{ClamdAddress, Config, Scanner};
use crate::screen::GateOptions;
use crate::screen::scanner::Grouping;
use crate::screen::table::{Fate, Row, STREAM, may_be_released};
use artifact_scanner::{MEDIA_TYPES, Preset, Rules, Verdict};
use kiln_protocol::limits::LimitUnit;
use kiln_warden::profile::keys::{Keys, unknown};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Files of rules at most, and bytes of all of them.
const FILES_MAX: usize = 1_000;
const BYTES_MAX: u64 = 32 << 20;
/// A row applies to sizes above this at most: a terabyte.
const ABOVE: (u64, u64) = (0, 1 << 40);

/// The words of `verdict` in a row.
pub(super) const VERDICTS: [&str; 5] =
    ["clean", "active", "suspicious", "malicious", "unscannable"];
/// The words of `action` in a row.
pub(super) const ACTIONS: [&str; 3] = ["release", "withhold", "drop"];
/// The words of `policy`.
pub(super) const POLICIES: [&str; 3] = ["strict", "standard", "data-science"];

impl std::fmt::Display for ClamdAddress {
    /// As `scanner.clamd` says it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp(address) => write!(f, "tcp:{address}"),
        }
    }
}

impl Config {
    /// A gate for what jobs make.
    pub fn gate(&self) -> GateOptions {
        GateOptions {
            preset: self.scanner.preset,
            rows: self.scanner.rows.clone(),
            rules: self.scanner.rules.clone(),
            clamd: self.scanner.clamd.clone(),
            // Another user than root makes no control groups.
            grouping: self.grouping(self.worker.user.is_none()),
            ..GateOptions::default()
        }
    }

    /// A gate for files that somebody names, who may be one that makes no control groups.
    pub fn gate_by_hand(&self) -> GateOptions {
        GateOptions {
            grouping: self.grouping(false),
            ..self.gate()
        }
    }

    fn grouping(&self, needed: bool) -> Grouping {
        let otherwise = Grouping::default();
        let parent = self.worker.cgroup_parent.clone();
        Grouping {
            parent: parent.unwrap_or(otherwise.parent.clone()),
            needed,
            ..otherwise
        }
    }
}

struct Raw {
    policy: Option<Preset>,
    rules: Option<PathBuf>,
    clamd: Option<ClamdAddress>,
    rows: Vec<Row>,
}

pub(super) fn scanner(sources: &Sources) -> Scanner {
    let raw = sources.section(&SCANNER, read);
    let rules = raw.rules.as_deref().map(sources_of);
    let rules = rules.unwrap_or(Ok(Vec::new())).unwrap_or_else(|problem| {
        sources.wrong(sources.label(&SCANNER, "rules"), problem);
        Vec::new()
    });
    Scanner {
        preset: raw.policy.unwrap_or_default(),
        rules_folder: raw.rules,
        rules,
        clamd: raw.clamd,
        rows: raw.rows,
    }
}

fn read(keys: &Keys) -> Raw {
    let presets = Preset::ALL.map(|preset| (preset.as_str(), preset));
    Raw {
        policy: keys.word("policy", &presets),
        rules: path(keys, "rules"),
        clamd: clamd(keys),
        rows: rows(keys),
    }
}

/// `unix:/path` or `tcp:host:port`.
fn clamd(keys: &Keys) -> Option<ClamdAddress> {
    let text = keys.text("clamd")?;
    let found = match text.split_once(':') {
        Some(("unix", path)) if path.starts_with('/') => Some(ClamdAddress::Unix(path.into())),
        Some(("tcp", address)) => address
            .rsplit_once(':')
            .filter(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok_and(|p| p > 0))
            .map(|_| ClamdAddress::Tcp(address.to_owned())),
        _ => None,
    };
    if found.is_none() {
        keys.wrong(
            "clamd",
            "it must be `unix:/run/clamav/clamd.ctl` or `tcp:127.0.0.1:3310`, with a path or port \
             of yours",
        );
    }
    found
}

fn rows(keys: &Keys) -> Vec<Row> {
    let rows = keys.tables("table").unwrap_or_default();
    rows.iter().filter_map(row).collect()
}

fn row(keys: &Keys) -> Option<Row> {
    keys.only(&ROW.names());
    let verdicts = [
        Verdict::Clean,
        Verdict::Active,
        Verdict::Suspicious,
        Verdict::Malicious,
        Verdict::Unscannable,
    ];
    let words: Vec<_> = VERDICTS.into_iter().zip(verdicts).collect();
    let verdict = keys.word("verdict", &words);
    let fates = Fate::ALL.map(|fate| (fate.as_str(), fate));
    let fate = keys.word("action", &fates);
    if !keys.has("action") {
        keys.wrong("action", "it is missing: `release`, `withhold` or `drop`");
    }
    let media = keys.text("type").unwrap_or("*");
    if !is_type(media) {
        keys.wrong(
            "type",
            format!("it must be a media type such as `text/html`, `text/*`, `{STREAM}` or `*`"),
        );
    } else if let Some(problem) = met_by_nothing(media) {
        keys.wrong("type", problem);
    }
    let above_bytes = if keys.has("above") {
        keys.figure("above", LimitUnit::Size, ABOVE.0, ABOVE.1)?
    } else {
        0
    };
    if fate == Some(Fate::Release) && verdict.is_some_and(|verdict| !may_be_released(verdict)) {
        keys.wrong(
            "action",
            "what is malicious or unscannable is never released: `withhold` or `drop`",
        );
        return None;
    }
    Some(Row {
        media: media.to_owned(),
        verdict,
        above_bytes,
        fate: fate?,
    })
}

fn is_type(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'+' | b'_');
    match text.split_once('/') {
        None => matches!(text, "*" | STREAM),
        Some((first, second)) => {
            !first.is_empty()
                && first.bytes().all(plain)
                && (second == "*" || !second.is_empty() && second.bytes().all(plain))
        }
    }
}

/// What is wrong with a type that no file and no stream has.
fn met_by_nothing(text: &str) -> Option<String> {
    let mut known = vec!["*".to_owned(), STREAM.to_owned()];
    if text.ends_with("/*") {
        let firsts = MEDIA_TYPES.iter().filter_map(|one| one.split_once('/'));
        known.extend(firsts.map(|(first, _)| format!("{first}/*")));
        known.dedup();
    } else {
        known.extend(MEDIA_TYPES.iter().map(|one| (*one).to_owned()));
    }
    let known: Vec<_> = known.iter().map(String::as_str).collect();
    (!known.contains(&text)).then(|| unknown(text, &known))
}

/// Every rule file of a folder, compiled once to see that it is right.
fn sources_of(folder: &Path) -> Result<Vec<(String, String)>, String> {
    let told =
        |path: &Path, error: &dyn std::fmt::Display| format!("`{}`: {error}", path.display());
    let entries = std::fs::read_dir(folder).map_err(|error| told(folder, &error))?;
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| told(folder, &error))?.path();
        let ending = path.extension().and_then(|ending| ending.to_str());
        if matches!(ending, Some("yar" | "yara")) {
            paths.push(path);
        }
    }
    paths.sort();
    if paths.is_empty() {
        return Err(told(
            folder,
            &"it has no file that ends in `.yar` or `.yara`",
        ));
    }
    if paths.len() > FILES_MAX {
        return Err(told(folder, &format!("it has more than {FILES_MAX} files")));
    }
    let mut left = BYTES_MAX;
    let mut sources = Vec::with_capacity(paths.len());
    for path in paths {
        let text = source(&path, left).map_err(|error| told(&path, &error))?;
        left = left.saturating_sub(text.len() as u64);
        sources.push((path.display().to_string(), text));
    }
    let all = sources.iter().map(|(name, text)| (&**name, &**text));
    Rules::with(all).map_err(|error| error.to_string())?;
    Ok(sources)
}

/// One file, which nobody but root and the worker's user may have written.
fn source(path: &Path, bytes_max: u64) -> io::Result<String> {
    let file = File::open(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let own = rustix::process::geteuid().as_raw();
    if ![0, own].contains(&meta.uid()) || meta.mode() & 0o022 != 0 {
        return Err(io::Error::other(
            "it must be root's or the worker's own, and nobody else may write to it",
        ));
    }
    let mut text = String::new();
    file.take(bytes_max + 1).read_to_string(&mut text)?;
    if text.len() as u64 > bytes_max {
        return Err(io::Error::other(format!(
            "the rules are longer than {BYTES_MAX} bytes together"
        )));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::scratch::Folder;
    use crate::config::tests::{load, told};
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn the_section_is_read() {
        let none = load("", &[]).expect("nothing is wrong").scanner;
        assert_eq!(none.preset, Preset::Standard);
        assert!(none.rules.is_empty() && none.clamd.is_none() && none.rows.is_empty());
        let text = "[scanner]\npolicy = 'data-science'\nclamd = 'tcp:127.0.0.1:3310'\n\
                    [[scanner.table]]\ntype = 'text/*'\nverdict = 'suspicious'\nabove = '1MiB'\n\
                    action = 'drop'\n[[scanner.table]]\ntype = 'stream'\naction = 'release'\n";
        let some = load(text, &[]).expect("it is right").scanner;
        assert_eq!(some.preset, Preset::DataScience);
        assert_eq!(some.clamd, Some(ClamdAddress::Tcp("127.0.0.1:3310".into())));
        let rows = [
            Row {
                media: "text/*".into(),
                verdict: Some(Verdict::Suspicious),
                above_bytes: 1 << 20,
                fate: Fate::Drop,
            },
            Row {
                media: "stream".into(),
                verdict: None,
                above_bytes: 0,
                fate: Fate::Release,
            },
        ];
        assert_eq!(some.rows, rows);
    }

    #[test]
    fn what_is_wrong_is_named_by_its_key() {
        let said = told(
            "[scanner]\npolicy = 'lax'\nclamd = '/run/clamd'\nrules = '/absent'\n\
             [[scanner.table]]\ntyp = 'x'\ntype = 'html'\nverdict = 'bad'\n\
             [[scanner.table]]\nverdict = 'malicious'\naction = 'release'\n\
             [[scanner.table]]\ntype = 'text/cvs'\naction = 'drop'\n\
             [[scanner.table]]\ntype = 'txt/*'\naction = 'drop'\n\
             [[scanner.table]]\ntype = 'font/woff2'\naction = 'drop'\n",
            &[],
        );
        for wanted in [
            "take `scanner.policy`: `lax` is not known here",
            "take `scanner.clamd`: it must be `unix:/run/clamav/clamd.ctl`",
            "take `scanner.rules`: `/absent`: No such file",
            "take `scanner.table[0].typ`: `typ` is not known here; did you mean `type`?",
            "take `scanner.table[0].type`: it must be a media type",
            "take `scanner.table[0].verdict`: `bad` is not known here",
            "take `scanner.table[0].action`: it is missing",
            "take `scanner.table[1].action`: what is malicious or unscannable is never released",
            "take `scanner.table[2].type`: `text/cvs` is not known here; did you mean `text/csv`?",
            "take `scanner.table[3].type`: `txt/*` is not known here; did you mean `text/*`?",
            "take `scanner.table[4].type`: `font/woff2` is not known here; there are `*`, `stream`",
        ] {
            assert!(said.contains(wanted), "`{wanted}` is not in:\n{said}");
        }
    }

    #[test]
    fn a_broken_rule_is_told_by_file_and_line() {
        let dir = Folder::new();
        let rule = dir.path().join("own.yar");
        let text = format!("[scanner]\nrules = {:?}\n", dir.path());
        assert!(told(&text, &[]).contains("it has no file that ends in `.yar`"));
        std::fs::write(
            &rule,
            "rule a { condition: true }\nrule b { condition: nothing }\n",
        )
        .expect("scratch");
        let said = told(&text, &[]);
        assert!(said.contains("own.yar:2:"), "{said}");
        for (source, wanted) in [
            (
                "rule a { meta: severity = \"high\" condition: true }",
                "own.yar: rule `a`: `severity` must be one of `info`, `active`, `suspicious`, \
                 `malicious`; it is `high`",
            ),
            (
                "rule eicar_within { condition: filesize == 3 }",
                "own.yar: rule `eicar_within`: a rule of our own has this name",
            ),
        ] {
            std::fs::write(&rule, source).expect("scratch");
            let said = told(&text, &[]);
            assert!(said.contains(wanted), "{said}");
        }
        std::fs::write(&rule, "rule a { condition: filesize == 3 }\n").expect("scratch");
        assert_eq!(
            load(&text, &[]).expect("it is right").scanner.rules.len(),
            1
        );
        std::fs::set_permissions(&rule, std::fs::Permissions::from_mode(0o666)).expect("ours");
        assert!(told(&text, &[]).contains("nobody else may write to it"));
    }
}
