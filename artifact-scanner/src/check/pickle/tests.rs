//! Is every call of a pickle seen, and no harmless one taken for another?

#![expect(clippy::format_collect, reason = "short texts, built once")]

use super::{check, lurks, sniff};
use crate::{Budget, Kind, Limits, Notes, Severity, Unscannable};

/// The worst of a pickle and of the parts that are pickles again, and how it ended.
fn outcome(bytes: &[u8]) -> (Option<Severity>, Result<(), Unscannable>) {
    let mut budget = Budget::new(Limits::default());
    let mut worst = None;
    let mut end = Ok(());
    let mut todo = vec![bytes.to_vec()];
    while let Some(bytes) = todo.pop() {
        let mut notes = Notes::default();
        end = end.and(check(&bytes, &mut notes, &mut budget));
        worst = worst.max(notes.worst());
        let inner = notes
            .parts()
            .iter()
            .filter(|part| part.kind == Some(Kind::Pickle));
        todo.extend(inner.map(|part| part.bytes.clone()));
    }
    (worst, end)
}

const EVILS: [(&str, &str); 12] = [
    ("os", "system"),
    ("posix", "system"),
    ("subprocess", "Popen"),
    ("builtins", "eval"),
    ("builtins", "exec"),
    ("runpy", "_run_code"),
    ("importlib", "import_module"),
    ("timeit", "timeit"),
    ("pip", "main"),
    ("asyncio.unix_events", "_UnixSubprocessTransport._start"),
    ("numpy.f2py.crackfortran", "getlincoef"),
    ("webbrowser", "open"),
];

/// Ways to push the name on the stack.
fn names(module: &str, name: &str) -> Vec<Vec<u8>> {
    let short = |text: &str| {
        [
            &[0x8c, u8::try_from(text.len()).expect("short")][..],
            text.as_bytes(),
        ]
        .concat()
    };
    let long = |text: &str| {
        [
            &b"X"[..],
            &u32::try_from(text.len()).expect("short").to_le_bytes(),
            text.as_bytes(),
        ]
        .concat()
    };
    let huge = |text: &str| {
        [
            &[0x8d][..],
            &(text.len() as u64).to_le_bytes(),
            text.as_bytes(),
        ]
        .concat()
    };
    let escaped = |text: &str| {
        format!(
            "V{}\n",
            text.chars()
                .map(|c| format!("\\u{:04x}", u32::from(c)))
                .collect::<String>()
        )
    };
    let quoted = |text: &str| {
        format!(
            "S'{}'\n",
            text.chars()
                .map(|c| format!("\\x{:02x}", u32::from(c)))
                .collect::<String>()
        )
    };
    vec![
        format!("c{module}\n{name}\n").into_bytes(),
        format!("c{module}\r\n{name}\r\n").into_bytes(),
        [short(module), short(name), b"\x93".to_vec()].concat(),
        [long(module), huge(name), b"\x93".to_vec()].concat(),
        [
            escaped(module).into_bytes(),
            quoted(name).into_bytes(),
            b"\x93".to_vec(),
        ]
        .concat(),
        [
            short(module),
            b"\x94".to_vec(),
            short(name),
            b"\x9400h\x00h\x01\x93".to_vec(),
        ]
        .concat(),
        [
            short(name),
            b"r\x00\x01\x00\x00p7\n0".to_vec(),
            short(module),
            b"j\x00\x01\x00\x00\x93".to_vec(),
        ]
        .concat(),
        [
            short(module),
            b"2q\x05(".to_vec(),
            short(name),
            b"q\x06100h\x05h\x06\x93".to_vec(),
        ]
        .concat(),
    ]
}

/// Ways to use it, and ways to wrap the whole.
fn pickles(module: &str, name: &str) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    let mut uses: Vec<Vec<u8>> = Vec::new();
    for push in names(module, name) {
        for (before, after) in [
            (&b""[..], &b"(S'x'\ntR"[..]),
            (b"", b"\x8c\x01x\x85R"),
            (b"(", b"S'x'\no"),
            (b"", b"(S'x'\nt\x81"),
            (b"", b")}\x92"),
            (b"", b""),
            (b"}S'k'\n", b"s"),
            (b"]", b"a"),
            (b"(", b"l"),
            (b"(", b"\x91"),
        ] {
            uses.push([before, &push, after].concat());
        }
    }
    uses.push(format!("(S'x'\ni{module}\n{name}\n").into_bytes());
    for run in uses {
        let whole = [&b"\x80\x04"[..], &run, b"."].concat();
        let bytes = [
            &[b'B'][..],
            &u32::try_from(whole.len()).expect("short").to_le_bytes(),
            &whole,
            b".",
        ]
        .concat();
        all.push([&run[..], b"."].concat());
        all.push([&run[..], b"\xff\xffbroken"].concat());
        all.push(
            [
                &b"\x80\x05\x95\xff\x00\x00\x00\x00\x00\x00\x00"[..],
                &run,
                b".",
            ]
            .concat(),
        );
        all.push([&b"\x80\x04}."[..], &whole].concat());
        all.push([&b"\x80\x04]\x94."[..], b"\x00\x01raw data\x00", &whole].concat());
        all.push([&b"\x80\x03"[..], &bytes].concat());
        all.push(whole);
    }
    all
}

#[test]
fn no_variant_of_a_gadget_passes() {
    let mut count = 0;
    for (module, name) in EVILS {
        for bytes in pickles(module, name) {
            count += 1;
            let (worst, end) = outcome(&bytes);
            let bad = worst >= Some(Severity::Suspicious) || end.is_err();
            assert!(bad, "{module}.{name}: {}", bytes.escape_ascii());
        }
    }
    assert!(count > 5000, "{count}");
}

#[test]
fn a_plain_call_of_each_gadget_is_malicious() {
    for (module, name) in EVILS {
        let bytes = format!("c{module}\n{name}\n(S'x'\ntR.");
        assert_eq!(
            outcome(bytes.as_bytes()),
            (Some(Severity::Malicious), Ok(())),
            "{module}.{name}"
        );
    }
}

#[test]
fn unknown_names_and_detours_are_suspicious() {
    for bytes in [
        &b"cmy.module\nThing\n)R."[..],
        b"cnumpy\ncore.multiarray\n.",
        b"cbuiltins\ngetattr\n(cnumpy\nndarray\nS'tofile'\ntR(S'x'\ntR.",
        b"cbuiltins\ntype\n(S'X'\n)}tR.",
        b"\x82\x01.",
        b"\x83\x01\x02.",
        b"\x84\x01\x02\x03\x04.",
        b"Pid\n.",
        b"S'id'\nQ.",
        b"cnumpy\nndarray\n}b.",
        b"cnumpy\nndarray\nS'x'\ns".as_slice(),
        b"(cbuiltins\ngetattr\ntS'x'\n0.",
        b"cfunctools\npartial\n(cbuiltins\nset\ntR)R.",
        b"\x80\x04K\x01K\x02\x93.",
    ] {
        let (worst, end) = outcome(bytes);
        assert!(
            worst == Some(Severity::Suspicious) || end.is_err(),
            "{}",
            bytes.escape_ascii()
        );
    }
}

#[test]
fn plain_data_is_clean() {
    for bytes in [
        &b"\x80\x04}\x94(\x8c\x03auc\x94G?\xed\x1e\xb8Q\xeb\x85\x1f\x8c\x05folds\x94]\x94(K\x01K\x02eu."[..],
        b"(lp0\nI1\naI2\na.",
        b"\x80\x02]q\x00(X\x02\x00\x00\x00osq\x01X\x06\x00\x00\x00systemq\x02e.",
        b"ccollections\nOrderedDict\n)R.",
        b"\x80\x02(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x04tQ.",
        b"\x80\x04\x95\x0c\x00\x00\x00\x00\x00\x00\x00\x8c\x01x\x94\x8c\x01y\x94\x86\x94.",
    ] {
        assert_eq!(outcome(bytes), (None, Ok(())), "{}", bytes.escape_ascii());
    }
}

#[test]
fn broken_and_endless_streams_are_not_clean() {
    assert_eq!(outcome(b"\x80\x04}").1, Err(Unscannable::Corrupt));
    assert_eq!(outcome(b"\x80\x04R.").1, Err(Unscannable::Corrupt));
    assert!(outcome(&b"N".repeat(3_000_000)).1.is_err());
    assert!(outcome(&b"(".repeat(3_000_000)).1.is_err());
    let mut names = Vec::new();
    for n in 0..10_000 {
        names.extend_from_slice(format!("cm{n}\nx\n0").as_bytes());
    }
    assert!(outcome(&names).1.is_err());
}

#[test]
fn prose_is_no_pickle() {
    for text in [
        "city,n\nOslo,3\n",
        "(see below) .\n",
        "Name\nIt is.\n",
        "I came.\n",
        "# x\n",
        "{}",
        "[]",
        "]\n",
        "N",
        "K",
        "Sir, yes.\n",
        "Valid\n.",
        "c a b\nd e\n.",
    ] {
        assert!(!sniff(text.as_bytes()), "{text}");
    }
    for bytes in [
        &b"\x80\x04}."[..],
        b"cos\nsystem\n(S'x'\ntR.",
        b"(S'x'\nios\nsystem\n.",
        b"(lp0\nI1\na.",
        b"cos\nsystem\n(S'x'\ntR\xff",
        b"N.cos\nsystem\n(S'x'\ntR.",
    ] {
        assert!(sniff(bytes), "{}", bytes.escape_ascii());
    }
}

/// The first instruction may be any; so may the type that the bytes belong to besides.
#[test]
fn a_pickle_is_told_by_what_it_does() {
    let act = b"0cos\nsystem\n(S'x'\ntR.";
    for first in [
        &b"\x8a\x010"[..],
        b"\x8b\x01\0\0\0\0",
        b"\x8e\x01\0\0\0\0\0\0\0x",
        b"\x96\x01\0\0\0\0\0\0\0x",
        b"\x8d\x01\0\0\0\0\0\0\0x",
        b"\x88",
        b"\x89",
        b"\x8f",
    ] {
        let bytes = [first, act].concat();
        assert!(sniff(&bytes), "{}", bytes.escape_ascii());
        let mut notes = Notes::default();
        lurks(&bytes, &mut notes, &mut Budget::new(Limits::default()));
        assert_eq!(notes.worst(), Some(Severity::Malicious));
    }
    let safetensors = b"V\x01\0\0\0\0\0\0{\"a\": 1}\n0cos\nsystem\n(S'x'\ntR.";
    let mut notes = Notes::default();
    lurks(safetensors, &mut notes, &mut Budget::new(Limits::default()));
    assert_eq!(notes.worst(), Some(Severity::Malicious));
    let mut notes = Notes::default();
    lurks(
        b"cell\nvalue\n1\n",
        &mut notes,
        &mut Budget::new(Limits::default()),
    );
    assert_eq!(notes.worst(), None);
}

/// A small generator of numbers, so that a failure can be had again.
fn numbers(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed | 1;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below as u64).expect("below")
    }
}

#[test]
fn mutated_streams_neither_panic_nor_run_away() {
    let mut next = numbers(7);
    let seeds: Vec<Vec<u8>> = EVILS
        .iter()
        .take(3)
        .flat_map(|(module, name)| pickles(module, name))
        .step_by(17)
        .collect();
    for _ in 0..4_000 {
        let mut bytes = seeds[next(seeds.len())].clone();
        for _ in 0..=next(6) {
            let at = next(bytes.len());
            match next(3) {
                0 => bytes[at] = u8::try_from(next(256)).expect("byte"),
                1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, b"(t.R0N}]a\x93\x94\x81b"[next(13)]),
            }
            if bytes.is_empty() {
                bytes.push(b'.');
            }
        }
        let _ended = outcome(&bytes);
        sniff(&bytes);
    }
}

/// Real pickles of numeric libraries. Wants `python3` with numpy, pandas, scipy, scikit-learn and joblib.
#[test]
fn real_data_is_clean() {
    let python = ["/usr/bin/python3", "python3"].iter().find_map(|python| {
        let output = std::process::Command::new(python)
            .args(["-c", include_str!("harmless.py")])
            .output()
            .ok()?;
        output.status.success().then_some(output.stdout)
    });
    let output = python.expect("python3 has the libraries");
    let mut wrong = Vec::new();
    let mut rest = &output[..];
    let mut count = 0;
    while let [a, b, c, d, tail @ ..] = rest {
        let length = u32::from_le_bytes([*a, *b, *c, *d]) as usize;
        let (name, tail) = tail.split_at(24);
        let (bytes, tail) = tail.split_at(length);
        rest = tail;
        count += 1;
        let name = String::from_utf8_lossy(name);
        let mut notes = Notes::default();
        let end = check(bytes, &mut notes, &mut Budget::new(Limits::default()));
        if end.is_err() || notes.worst().is_some() {
            wrong.push(format!("{name} {end:?} {:?}", notes.findings()));
        }
        // A lone number of the oldest protocol reads like prose.
        assert!(name.contains(":0") || sniff(bytes), "{name}");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(count >= 60, "{count}");
}
