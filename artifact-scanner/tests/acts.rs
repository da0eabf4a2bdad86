//! Is what acts without being asked held as a whole file, under the compression and the name that it
//! comes in, and is what only looks like it let through?

use artifact_scanner::{Budget, Limits, Policy, Preset, Rules, Subject, Verdict, scan};
use std::io::Write as _;

#[track_caller]
fn judge(name: &str, bytes: &[u8], expected: Verdict) {
    // Types that nothing reads pass here, so that what is held is held for what it does.
    let policy = Policy::preset(Preset::DataScience, Rules::own());
    let report = scan(
        Subject { name, bytes },
        &policy,
        &mut Budget::new(Limits::default()),
    );
    assert_eq!(report.verdict(), expected, "{name}: {report:?}");
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(bytes).expect("to memory");
    packed.finish().expect("to memory")
}

#[test]
fn data_of_r() {
    let head = b"X\n\0\0\0\x03\0\x04\x03\0\0\x03\x05\0\0\0\0\x05UTF-8";
    let numbers = [&head[..], b"\0\0\0\x0d\0\0\0\x01\0\0\0\x07"].concat();
    let promise = [&head[..], b"\0\0\0\x05\0\0\0\xfc\0\0\0\xfe"].concat();
    judge("a.rds", &gzip(&numbers), Verdict::Clean);
    judge("a.rds", &numbers, Verdict::Clean);
    judge("a.rds", &gzip(&promise), Verdict::Malicious);
    judge("a.bin", &promise, Verdict::Malicious);
}

#[test]
fn models_of_tensorflow() {
    let model = |kind: &str| {
        let mut step = b"\x0a\x01n\x12".to_vec();
        step.push(u8::try_from(kind.len()).expect("short"));
        step.extend(kind.as_bytes());
        step.extend(b"\x1a\x01a\x01");
        [&b"\x08\x01\x12\x20\x0a\x06\x22\x04serv\x12"[..], &step].concat()
    };
    for kind in [
        "MatMul",
        "ReadVariableOp",
        "ReadFileX",
        "SaveV2",
        "PyFunction",
    ] {
        judge("saved_model.pb", &model(kind), Verdict::Clean);
    }
    for kind in [
        "ReadFile",
        "WriteFile",
        "PyFunc",
        "PyFuncStateless",
        "EagerPyFunc",
    ] {
        judge("saved_model.pb", &model(kind), Verdict::Suspicious);
        judge("m.pb.gz", &gzip(&model(kind)), Verdict::Suspicious);
    }
    judge(
        "ops.txt",
        b"op: \"ReadFile\" and WriteFile, PyFunc\n",
        Verdict::Clean,
    );
}

#[test]
fn texts() {
    for (name, text, expected) in [
        (
            "a.log",
            "done \x1b]52;c;aWQK\x1b\\ in 3 s\n",
            Verdict::Suspicious,
        ),
        ("a.log", "\x1b[32mdone\x1b[0m in 3 s\n", Verdict::Clean),
        (
            "a.csv",
            "a,b\n1,\x1b]8;;javascript:x\x1b\\b\n",
            Verdict::Suspicious,
        ),
        ("a.pth", "import os; os.system('id')\n", Verdict::Suspicious),
        ("a.pth", "/usr/lib/a\n", Verdict::Clean),
        (
            "k/kernel.json",
            r#"{"argv": ["sh", "-c", "id"]}"#,
            Verdict::Suspicious,
        ),
        (
            "k/kernel.json",
            r#"{"argv": ["python", "-m", "ipykernel"]}"#,
            Verdict::Clean,
        ),
        (
            ".devcontainer/devcontainer.json",
            "// of a container\n{\"image\": \"a\",}\n",
            Verdict::Clean,
        ),
        (
            "a.json",
            "// of a table\n{\"image\": \"a\"}\n",
            Verdict::Unscannable,
        ),
        (
            "a.log",
            "\x1b]0;a@b: ~\x07$ \x1b]9;4;1;50\x07\x1b]133;B\x07ls\n",
            Verdict::Clean,
        ),
        (
            "a.txt",
            "REGEDIT4\n\n[HKEY_CURRENT_USER\\a]\n",
            Verdict::Malicious,
        ),
    ] {
        judge(name, text.as_bytes(), expected);
        if name != "a.txt" {
            judge(&format!("{name}.gz"), &gzip(text.as_bytes()), expected);
        }
    }
}

#[test]
fn pictures() {
    let picture = b"II*\0\x08\0\0\0\x01\0\x0e\x01\x02\0\x0e\0\0\0\x1a\0\0\0\0\0\0\0";
    let described = [&picture[..], b"a description\0"].concat();
    judge("a.tif", &described, Verdict::Clean);
    judge(
        "a.tif",
        &[&described[..], &[b'x'; 99]].concat(),
        Verdict::Suspicious,
    );
    let page = [&picture[..], b"<script>x()</s"].concat();
    judge("a.tif", &page, Verdict::Suspicious);
    judge("a.tif", b"<html><script>x()</script>", Verdict::Malicious);
    judge("a.tif", &described[..30], Verdict::Unscannable);
}
