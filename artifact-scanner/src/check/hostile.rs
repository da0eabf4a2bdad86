//! Texts made to keep a check busy, and texts broken at random: every check comes to an end, soon,
//! and without a panic.

use super::{csv, html, loaders, markdown, notebook, office, pdf, pickle, secrets, svg, xml};
use crate::{Budget, Limits, Notes};
use std::time::Duration;

/// The CPU time of this thread: what else the machine does counts for nothing.
fn cpu_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells it");
    let nanoseconds = text.split(' ').next().and_then(|text| text.parse().ok());
    Duration::from_nanos(nanoseconds.expect("the first is the time on a CPU"))
}

/// Passes the text to every check; the longest that one took.
fn all(text: &str) -> (Duration, &'static str) {
    type Check = fn(&str, &mut Notes, &mut Budget) -> Result<(), crate::Unscannable>;
    let checks: [(&'static str, Check); 13] = [
        ("csv", csv::check),
        ("html", html::check),
        ("markdown", markdown::check),
        ("notebook", notebook::check),
        ("svg", svg::check),
        ("xml", xml::check),
        ("loaders", loaders::check),
        ("yaml", loaders::check_yaml),
        ("pdf", |text, notes, budget| {
            pdf::check(text.as_bytes(), notes, budget)
        }),
        ("pickle", |text, notes, budget| {
            pickle::check(text.as_bytes(), notes, budget)
        }),
        ("sniff", |text, _, _| {
            pickle::sniff(text.as_bytes());
            Ok(())
        }),
        ("secrets", |text, notes, budget| {
            secrets::check(text.as_bytes(), notes, budget)
        }),
        ("office", |text, notes, budget| {
            let names = [
                "word/document.xml",
                "word/_rels/a.rels",
                "[Content_Types].xml",
            ];
            let members = names.map(|name| office::Member {
                name,
                bytes: text.as_bytes(),
            });
            office::check_ooxml("a.docx", &members, notes, budget)
        }),
    ];
    let times = checks.map(|(name, check)| {
        let start = cpu_time();
        let _ended = check(
            text,
            &mut Notes::default(),
            &mut Budget::new(Limits::default()),
        );
        (cpu_time().saturating_sub(start), name)
    });
    times.into_iter().max().unwrap_or_default()
}

#[test]
fn repetition_does_not_keep_a_check_busy() {
    for unit in [
        "](",
        "![",
        "[",
        "<",
        "</",
        "<!--",
        "<!ENTITY ",
        "<!ENTITY a \"&b;",
        "<![CDATA[",
        "<a b=",
        "<a href='",
        "<a href=data:,",
        "\t",
        "\",",
        ",=",
        "=A1|",
        "`",
        "``a",
        "&",
        "&#",
        "url(",
        "@import",
        "eyJ-",
        ".eyJ",
        "://a:b@",
        "token=",
        "password: \"",
        "PRIVATE KEY BEGIN ",
        "a\0",
        "%41",
        "AAAA",
        "Zm9v",
        "414243",
        "AAAA\n",
        "AKIA",
        "<<",
        "[<<",
        "/A#41",
        "(",
        "(\\",
        "stream\n",
        "1 0 R ",
        "<</A ",
        "(l",
        "}s",
        "\u{80}\u{2}",
        "]",
        "c",
        "cos\n",
        "2",
        "t(",
        "<svg>",
        "<g id=a><use href=#a>",
        "<style>",
        "<script>",
        "<script>document.cookie",
        "<svg><style><img>",
        "{\"a\":",
        "<w:instrText>DD",
        "<f>=A|",
        "e\u{301}",
        "javascript:",
        "<meta http-equiv=refresh content=url",
        "<form><input type=password>",
        "```\n",
        "~~~",
        "[a]: javascript:",
        "\n\n`",
    ] {
        for before in [
            "",
            "<svg>",
            "<!DOCTYPE a [",
            "%PDF-1.7\n",
            "<script>",
            "<style>",
        ] {
            let text = before.to_owned() + &unit.repeat(20_000 / unit.len());
            let (took, check) = all(&text);
            assert!(
                took < Duration::from_secs(5),
                "{check} took {took:?} for {before:?} {unit:?}"
            );
        }
    }
}

#[test]
fn broken_texts_do_not_panic() {
    let seeds = [
        "a,b\n1,\"=cmd|' /C calc'!A0\"\n",
        "<!doctype html><a href='java&#9;script:é'><img srcset='//a ,b' onerror=\"x\"><form action=//a><input type=password>",
        "<!DOCTYPE s [<!ENTITY a 'é&b;'>]><svg id='é'><use xlink:href='#é'/><style>url(//é)</style><script><![CDATA[x]]></script>",
        "# é\n![a][r] [b](javascript:é) `é` ```\n[r]: data:text/html,é\n<é>",
        "{\"cells\":[{\"cell_type\":\"code\",\"outputs\":[{\"data\":{\"text/html\":[\"<é\"],\"image/png\":\"éAAA\"}}]}]}",
        "%PDF-1.7\n1 0 obj <</OpenAction<</S/J#61vaScript/JS(\\50é)>>>> endobj stream\né endstream trailer<</Encrypt 1 0 R>>",
        "cos\nsystem\n(S'\\u00e9\\x'\ntR.",
        "password = 'é' ://a:bé1@c eyJhbGciOiJ9.e30.é AKIAé %C3%A9 Zm9vYmFyZm9vYmFyZm9vYmFyé",
    ];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below as u64).unwrap_or(0)
    };
    for _ in 0..1000 {
        let mut bytes = seeds[next(seeds.len())].as_bytes().to_vec();
        for _ in 0..=next(8) {
            let at = next(bytes.len());
            match next(4) {
                0 => bytes[at] = u8::try_from(next(256)).unwrap_or(0),
                1 => bytes.truncate(at.max(1)),
                2 => bytes.insert(at, b"<>&'\"/\\(=[]#%:;\n\0-"[next(18)]),
                _ => {
                    let other = seeds[next(seeds.len())].as_bytes();
                    let cut = next(other.len());
                    bytes.splice(at..at, other[cut..].iter().copied());
                }
            }
        }
        all(&String::from_utf8_lossy(&bytes));
    }
}
