//! Is code in data of R told from data?

use crate::{Budget, Limits, Notes, Severity, Unscannable};

/// Items of the binary form.
fn numbers(numbers: &[i32]) -> Vec<u8> {
    numbers
        .iter()
        .flat_map(|number| number.to_be_bytes())
        .collect()
}

fn letters(text: &str) -> Vec<u8> {
    let length = i32::try_from(text.len()).expect("short");
    [&numbers(&[0x0004_0009, length]), text.as_bytes()].concat()
}

fn symbol(name: &str) -> Vec<u8> {
    [numbers(&[1]), letters(name)].concat()
}

/// `system("id")`.
fn call() -> Vec<u8> {
    let text = [numbers(&[16, 1]), letters("id")].concat();
    [
        numbers(&[6]),
        symbol("system"),
        numbers(&[2]),
        text,
        numbers(&[254]),
    ]
    .concat()
}

fn file(item: &[u8]) -> Vec<u8> {
    let head = numbers(&[3, 0x0004_0300, 0x0003_0500, 5]);
    [b"X\n", &head[..], b"UTF-8", item].concat()
}

#[track_caller]
fn judge(bytes: &[u8], expected: Result<Option<Severity>, Unscannable>) {
    let (mut notes, mut budget) = (Notes::default(), Budget::new(Limits::default()));
    let end = super::super::frames::check(bytes, &mut notes, &mut budget);
    assert_eq!(
        end.map(|()| notes.worst()),
        expected,
        "{}",
        bytes.escape_ascii()
    );
}

#[test]
fn a_promise_that_is_not_kept_runs_when_it_is_read() {
    let promise = [numbers(&[5, 252]), call()].concat();
    let malicious = Ok(Some(Severity::Malicious));
    judge(&file(&promise), malicious);
    // As an element, as an attribute, behind a vector of the long form.
    judge(
        &file(&[numbers(&[19, 1]), promise.clone()].concat()),
        malicious,
    );
    let attribute = [
        numbers(&[0x20d, 1, 7, 0x402]),
        symbol("a"),
        promise.clone(),
        numbers(&[254]),
    ];
    judge(&file(&attribute.concat()), malicious);
    let long = [numbers(&[19, 2, 13, -1, 0, 1, 7]), promise.clone()].concat();
    judge(&file(&long), malicious);
    // As a call of compiled code.
    let cell = numbers(&[21, 1, 13, 1, 7, 1, 244, 0, 5, 254, 252, 254]);
    let (mut notes, mut budget) = (Notes::default(), Budget::new(Limits::default()));
    let end = super::super::frames::check(&file(&cell), &mut notes, &mut budget);
    assert_eq!(
        (end, notes.worst()),
        (Err(Unscannable::Corrupt), Some(Severity::Malicious))
    );
    let saved = [numbers(&[0x402]), symbol("a"), promise, numbers(&[254])].concat();
    judge(&[b"RDX3\n", &file(&saved)[..]].concat(), malicious);
    // The other forms.
    let words = b"A\n3\n262912\n197888\n5\nUTF-8\n5\n252\n6\n1\n262153\n6\nsystem\n254\n";
    judge(words, malicious);
    judge(&[b"\n", &words[..]].concat(), malicious);
    judge(b"A. 3 262912\t197888 5 UTF-8 5 252 254 254", malicious);
    let other = [b"XY", &file(&[numbers(&[5, 252]), call()].concat())[2..]].concat();
    judge(&other, malicious);
    let little: Vec<u8> = [3, 0x0004_0300, 0x0003_0500, 0, 5, 252, 254]
        .into_iter()
        .flat_map(i32::to_le_bytes)
        .collect();
    judge(&[b"B\n", &little[..]].concat(), malicious);
}

#[test]
fn data_calls_and_functions_are_data() {
    for item in [
        numbers(&[13, 3, 1, 2, 3]),
        call(),
        // A promise that was kept, of an environment that is left.
        [numbers(&[5, 13, 1, 7]), symbol("x")].concat(),
        // A function of one argument.
        [
            numbers(&[0x403, 253, 0x402]),
            symbol("x"),
            numbers(&[251, 254]),
            symbol("x"),
        ]
        .concat(),
        // A sequence, and another that refers to the class of the first.
        [
            numbers(&[19, 2, 238, 2]),
            symbol("compact_intseq"),
            numbers(&[2]),
            symbol("base"),
            numbers(&[2, 13, 1, 13, 254, 14, 3, 0, 0, 0, 0, 0, 0, 254]),
            numbers(&[238, 2, 0x1ff, 2, 0x2ff, 2, 13, 1, 13, 254, 14, 0, 254]),
        ]
        .concat(),
        // A table: a list with the names of its columns, one of them not known.
        [
            numbers(&[0x313, 1, 10, 1, 1, 0x402]),
            symbol("names"),
            numbers(&[16, 2]),
            letters("a"),
            numbers(&[9, -1, 254]),
        ]
        .concat(),
    ] {
        judge(&file(&item), Ok(None));
    }
    judge(
        b"A\n3\n262912\n197888\n5\nUTF-8\n16\n1\n262153\n3\na\\040b\n",
        Ok(None),
    );
}

#[test]
fn variables_that_were_not_used_yet_are_what_functions_leave_behind() {
    let promise = [numbers(&[5, 252]), call()].concat();
    let variable = [
        &numbers(&[0x402])[..],
        &symbol("a"),
        &promise,
        &numbers(&[254]),
    ]
    .concat();
    let lists = [numbers(&[19, 2, 254]), variable.clone()].concat();
    let environment = |frame: &[u8], lists: &[u8]| {
        file(&[&numbers(&[4, 0, 242])[..], frame, lists, &numbers(&[254])].concat())
    };
    let none = numbers(&[254]);
    let active = Ok(Some(Severity::Active));
    judge(&environment(&variable, &none), active);
    judge(&environment(&none, &lists), active);
    let function = [
        numbers(&[0x402 | 1 << 27]),
        symbol("a"),
        numbers(&[254, 254]),
    ];
    judge(&environment(&function.concat(), &none), active);
    // What a variable holds is no variable.
    let malicious = Ok(Some(Severity::Malicious));
    let element = [
        &numbers(&[0x402])[..],
        &symbol("a"),
        &numbers(&[19, 1]),
        &promise,
        &none,
    ]
    .concat();
    judge(&environment(&element, &none), malicious);
    judge(&environment(&promise, &none), malicious);
    let list = [numbers(&[19, 1]), promise].concat();
    judge(&environment(&none, &list), malicious);
    judge(&environment(&list, &none), malicious);
}

#[test]
fn compiled_code_active_values_and_files_as_vectors_are_told() {
    let suspicious = Ok(Some(Severity::Suspicious));
    let compiled = [
        numbers(&[21, 1, 13, 1, 7, 2, 6, 254]),
        symbol("f"),
        numbers(&[254, 254, 254]),
    ];
    judge(
        &file(&[compiled.concat(), numbers(&[13, 0])].concat()),
        Ok(Some(Severity::Active)),
    );
    let active = [
        numbers(&[0x402 | 1 << 27]),
        symbol("a"),
        numbers(&[254, 254]),
    ]
    .concat();
    judge(&file(&active), suspicious);
    let mapped = [
        numbers(&[238, 2]),
        symbol("mmap_real"),
        numbers(&[2]),
        symbol("base"),
    ];
    let mapped = [mapped.concat(), numbers(&[2, 13, 1, 14, 254, 254, 254])].concat();
    judge(&file(&mapped), suspicious);
}

#[test]
fn what_is_cut_or_goes_on_is_not_read() {
    let whole = file(&numbers(&[13, 3, 1, 2, 3]));
    judge(&whole[..whole.len() - 1], Err(Unscannable::Corrupt));
    judge(
        &[&whole[..], b"PK\x03\x04"].concat(),
        Ok(Some(Severity::Suspicious)),
    );
    judge(&file(&numbers(&[99])), Err(Unscannable::Corrupt));
    // The form of R before 1.4.
    judge(b"RDX1\nX\n\0\0\0\x01", Err(Unscannable::Corrupt));
    for text in [
        "A\n3\n4\n5\n",
        "A 3 262912 apples",
        "X\n3",
        "RDX is\n",
        "BX",
    ] {
        assert!(!super::is_rdata(text.as_bytes()), "{text}");
    }
    let deep = numbers(&[19, 1]).repeat(10);
    judge(&file(&deep), Err(Unscannable::Corrupt));
}
