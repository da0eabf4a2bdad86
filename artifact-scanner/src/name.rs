//! What a file's name tries to do: to people, to shells, to headers, to other programs.

mod endings;
mod git;
mod obeyed;

use crate::{Notes, Severity};
use endings::{DRAWS, MAY_RUN, RUNS, TRUSTED};

/// Judges the last component of a path, and what leads to it; the content tells what settings do.
pub(crate) fn check(path: &str, content: &[u8], notes: &mut Notes) {
    let name = path.rsplit('/').next().unwrap_or(path);
    let mut odd = |rule, severity, message: &str| notes.find(rule, severity, "", message);
    if name.len() > 200 {
        odd(
            "name.long",
            Severity::Suspicious,
            "the name is longer than 200 bytes",
        );
    }
    characters(name, &mut odd);
    let folders = path.strip_suffix(name).unwrap_or_default();
    for folder in folders.split('/').filter(|folder| !folder.is_empty()) {
        deceives(folder, &mut odd);
    }
    let lower = name.trim().to_lowercase();
    let whole = format!("{}{lower}", folders.to_lowercase());
    if obeyed::is_obeyed(&whole, content) || is_device(&lower) {
        odd(
            "name.obeyed",
            Severity::Suspicious,
            "the name alone makes programs act on the file",
        );
    }
    // Systems of the other kind make folders of these names, such as `aux`, and some do not open them.
    if whole.split('/').rev().skip(1).any(is_device) {
        odd(
            "name.device",
            Severity::Active,
            "a folder has the name of a device, and Windows does not make it",
        );
    }
    if name.starts_with('-') || path.starts_with('-') {
        odd(
            "name.option",
            Severity::Suspicious,
            "the name begins with a dash and reads as an option",
        );
    }
    if name.starts_with(' ') || name.ends_with([' ', '.']) {
        odd(
            "name.edge",
            Severity::Suspicious,
            "the name begins or ends with a space or a dot",
        );
    }
    if path.split('/').any(|step| matches!(step, ".." | "~")) {
        odd(
            "name.path",
            Severity::Suspicious,
            "the path leads out of its folder",
        );
    }
    endings(&lower, &mut odd);
}

type Odd<'a> = dyn FnMut(&'static str, Severity, &str) + 'a;

/// What is odd in a folder as it is in a name: the rest of these, libraries write into folders.
fn deceives(name: &str, odd: &mut Odd<'_>) {
    if name.chars().any(|c| matches!(c, '\u{202d}' | '\u{202e}')) {
        odd("name.bidi", Severity::Malicious, "the name is turned round by an override: its true ending is not the one that shows");
    } else if name.chars().any(|c| matches!(c, '\u{202a}'..='\u{202c}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{061c}')) {
        odd("name.bidi", Severity::Suspicious, "the name holds marks that change the direction of writing");
    }
    if name.chars().any(char::is_control) {
        odd(
            "name.control",
            Severity::Suspicious,
            "the name holds control characters",
        );
    }
    if invisible(name) {
        odd(
            "name.invisible",
            Severity::Suspicious,
            "the name holds characters that do not show",
        );
    }
    let full_width = |c| matches!(c, '\u{ff21}'..='\u{ff3a}' | '\u{ff41}'..='\u{ff5a}');
    if mixed_scripts(name) || name.chars().any(full_width) {
        odd(
            "name.scripts",
            Severity::Suspicious,
            "one word of the name mixes letters of scripts that look alike",
        );
    }
}

fn characters(name: &str, odd: &mut Odd<'_>) {
    deceives(name, odd);
    if name.contains([
        '"', '<', '>', '\\', '`', '|', '\u{ff0e}', '\u{ff0f}', '\u{2024}', '\u{2044}', '\u{2215}',
        '\u{29f8}', ';',
    ]) || name.starts_with('=')
        || has_stream(name)
        || sets_handler(name)
        || name.contains("$(")
        || name.contains("${")
        || name.contains("{{")
        || name.contains("%0")
        || name.contains("%2")
    {
        odd(
            "name.markup",
            Severity::Suspicious,
            "the name holds characters that headers, pages or shells act on",
        );
    }
}

/// `a.csv:b`, which Windows takes for a hidden stream of `a.csv`, and `a:b.exe`; a time of day is
/// none.
fn has_stream(name: &str) -> bool {
    name.match_indices(':').any(|(at, _)| {
        if RUNS.contains(&ending(&name[at + 1..]).as_str()) {
            return true;
        }
        let ending = name[..at].rsplit_once('.').map_or("", |(_, ending)| ending);
        (1..=5).contains(&ending.len()) && ending.starts_with(|c: char| c.is_ascii_alphabetic())
    })
}

/// `a' onload=...`, which breaks out of an attribute.
fn sets_handler(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let quoted = lower.split_once('\'').map_or("", |(_, rest)| rest);
    quoted.trim_start().starts_with("on") && quoted.contains('=')
}

fn invisible(name: &str) -> bool {
    let chars: Vec<char> = name.chars().collect();
    chars.iter().enumerate().any(|(at, c)| match c {
        // A joiner between letters that are joined in writing, or within an emoji, is right.
        '\u{200c}' | '\u{200d}' => {
            let before = at.checked_sub(1).and_then(|at| chars.get(at));
            [before, chars.get(at + 1)]
                .into_iter()
                .any(|c| c.is_none_or(char::is_ascii))
        }
        '\u{200b}'
        | '\u{2060}'..='\u{2064}'
        | '\u{feff}'
        | '\u{ad}'
        | '\u{180e}'
        | '\u{3164}'
        | '\u{2800}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{e0000}'..='\u{e007f}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{2028}'
        | '\u{2029}' => true,
        _ => false,
    })
}

#[derive(PartialEq)]
enum Script {
    Latin,
    Greek,
    Cyrillic,
    Other,
}

fn script(c: char) -> Script {
    match c {
        'a'..='z' | 'A'..='Z' | '\u{c0}'..='\u{24f}' => Script::Latin,
        '\u{370}'..='\u{3ff}' if !matches!(c, '\u{3bc}' | '\u{3c0}' | '\u{3c3}') => Script::Greek,
        '\u{400}'..='\u{52f}' => Script::Cyrillic,
        _ => Script::Other,
    }
}

/// A word of Latin letters and of Cyrillic or Greek ones. Words of science (`Δt`, `α1`) are not:
/// more than one letter of each script is asked for, or one amid Latin letters.
fn mixed_scripts(name: &str) -> bool {
    name.split(|c: char| !c.is_alphabetic()).any(|word| {
        let scripts: Vec<_> = word.chars().map(script).collect();
        let latin = scripts.iter().filter(|s| **s == Script::Latin).count();
        let cyrillic = scripts.iter().filter(|s| **s == Script::Cyrillic).count();
        let greek = scripts.iter().filter(|s| **s == Script::Greek).count();
        (latin > 0 && cyrillic > 0) || (latin > 2 && greek > 0 && scripts[0] == Script::Latin)
    })
}

fn is_device(lower: &str) -> bool {
    let stem = lower.split(['.', ':']).next().unwrap_or(lower);
    let stem = stem.trim_end_matches(' ');
    let port = stem
        .strip_prefix("com")
        .or_else(|| stem.strip_prefix("lpt"));
    matches!(stem, "con" | "prn" | "aux" | "nul" | "conin$" | "conout$")
        || port.is_some_and(|number| {
            let mut digits = number.chars();
            let digit = |c: char| c.is_ascii_digit() || matches!(c, '\u{b9}' | '\u{b2}' | '\u{b3}');
            digits.next().is_some_and(digit) && digits.next().is_none()
        })
}

fn endings(lower: &str, odd: &mut Odd<'_>) {
    let mut parts = lower
        .rsplit('.')
        .map(str::trim)
        .filter(|part| !part.is_empty());
    let (Some(last), Some(before)) = (parts.next(), parts.next()) else {
        return;
    };
    let runs = RUNS.contains(&last);
    if runs && lower.contains("     ") {
        odd(
            "name.padding",
            Severity::Malicious,
            "spaces push the true ending out of sight",
        );
    }
    if !TRUSTED.contains(&before) || parts.next().is_none() {
        return;
    }
    if runs {
        odd(
            "name.double",
            Severity::Malicious,
            "the name shows the ending of a document and has the ending of a program",
        );
        return;
    }
    if matches!(before, "txt" | "csv" | "json" | "tsv" | "zip") {
        return;
    }
    if DRAWS.contains(&last) {
        odd(
            "name.double",
            Severity::Suspicious,
            "the name shows the ending of a document and has the ending of a page",
        );
    } else if MAY_RUN.contains(&last) {
        odd(
            "name.double",
            Severity::Suspicious,
            "the name shows the ending of a document and has the ending of a script",
        );
    }
}

/// The ending, in lower case, without the dot; empty where there is none.
pub(crate) fn ending(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() => ending.trim().to_lowercase(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Severity::{Malicious, Suspicious};

    #[track_caller]
    fn check(name: &str, expected: Option<Severity>) {
        let mut notes = Notes::default();
        super::check(name, b"a,b\n", &mut notes);
        assert_eq!(notes.worst(), expected, "{name:?}: {:?}", notes.findings());
    }

    #[test]
    fn names_of_people_are_fine() {
        for name in [
            "résumé.csv",
            "отчёт.csv",
            "売上データ.csv",
            "تقرير.csv",
            "می‌خواهم.csv",
            "out/plot 1.png",
            "a.tar.gz",
            "2024-01-01T10:00.csv",
            "Δt.csv",
            "μg.csv",
            "👩‍🔬.csv",
            "model.v1.2.pt",
            ".gitignore",
            "chart.png.so",
            "data.csv.gz",
            "readme.txt.html",
            "index.js",
            "a.csv.py",
            "comb.csv",
            "12:30.csv",
            "day=2024-01-01%2000%3A00/a.b; c/part.csv",
            "J. Doe et al./a.csv",
        ] {
            check(name, None);
        }
    }

    #[test]
    fn names_that_deceive() {
        for name in [
            "report.pdf.exe",
            "plot.png        .scr",
            "a\u{202e}gnp.exe",
            "x.docx.lnk",
            "a.jpg.hta",
            "a.docx.msix",
            "plot.png.vbscript",
            "dir\u{202e}gpj.x/a.csv",
        ] {
            check(name, Some(Malicious));
        }
        for name in [
            "report.pdf.html",
            "-rf",
            "pay\u{200b}load.csv",
            "a\nb",
            "<b>.csv",
            "a\";b",
            "nul.csv",
            ".htaccess",
            "sub/autorun.inf",
            "p\u{430}ypal.csv",
            "a.csv ",
            "a\u{2066}b.csv",
            "$(id).csv",
            "COM1.txt",
            "-rf/x.csv",
            "dir\u{200b}x/a.csv",
            "a\nb/a.csv",
            ".git/config",
            ".GIT/hooks/post-checkout",
            ".Rprofile",
            "data:evil.exe",
            "con .csv",
            "lpt\u{b3}.csv",
            "CONOUT$.txt",
            "plot.pdf.sh",
            "x/python39._pth",
            "Library/LaunchAgents/x.plist",
        ] {
            check(name, Some(Suspicious));
        }
        check(&"x".repeat(201), Some(Suspicious));
        for name in ["aux/a.csv", "a/CON/x.csv"] {
            check(name, Some(Severity::Active));
        }
    }
}
