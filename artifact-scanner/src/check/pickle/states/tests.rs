//! Is every state that acts told from those that data has?

use super::super::check;
use crate::{Budget, Limits, Notes, Severity};

#[track_caller]
fn judge(bytes: &[u8], expected: Option<Severity>) {
    let (mut notes, mut budget) = (Notes::default(), Budget::new(Limits::default()));
    let end = check(bytes, &mut notes, &mut budget);
    assert_eq!(notes.worst(), expected, "{} {end:?}", bytes.escape_ascii());
}

const NORM: &str = "cscipy.stats._continuous_distns\nnorm_gen\n";

#[test]
fn a_distribution_runs_only_its_own_text() {
    let own = super::template("a, b, ", "loc=0, scale=1", "loc, scale");
    let state = |text: &str| {
        let mut bytes = vec![0x80, 2];
        bytes.extend(format!("{NORM})").bytes());
        bytes.push(0x81);
        bytes.extend(b"}X\x13\0\0\0_parse_arg_templateX");
        bytes.extend(u32::try_from(text.len()).expect("short").to_le_bytes());
        bytes.extend(text.bytes());
        bytes.extend(b"sb.");
        bytes
    };
    judge(&state(&own), None);
    judge(&state("print(1)"), Some(Severity::Malicious));
    judge(
        &state(&own.replace("(a, b, )", "(print(a), b, )")),
        Some(Severity::Malicious),
    );
    for bytes in [
        // The state is made by a call, or its key is.
        format!("{NORM})\u{81}cbuiltins\ndict\n(((S'_parse_arg_template'\nS'print(1)'\ntltRb."),
        format!("{NORM})\u{81}}}cbuiltins\nstr\n(S'x'\ntRS'print(1)'\nsb."),
    ] {
        let bytes = bytes.replace('\u{81}', "\u{1}").into_bytes();
        let bytes: Vec<u8> = bytes
            .iter()
            .map(|byte| if *byte == 1 { 0x81 } else { *byte })
            .collect();
        judge(&bytes, Some(Severity::Suspicious));
    }
}

#[test]
fn only_functions_of_numbers_are_made_by_name() {
    judge(
        b"cnumpy.core\n_ufunc_reconstruct\n(S'numpy'\nS'log1p'\ntR.",
        None,
    );
    for (bytes, severity) in [
        (
            &b"cnumpy.core\n_ufunc_reconstruct\n(S'os'\nS'system'\ntR."[..],
            Severity::Malicious,
        ),
        (
            b"cnumpy._core\n_ufunc_reconstruct\n(S'antigravity'\nS'a'\ntR.",
            Severity::Malicious,
        ),
        (
            b"cnumpy.core\n_ufunc_reconstruct\n(S'numpy'\nS'load'\ntR.",
            Severity::Malicious,
        ),
        (
            b"cnumpy.core\n_ufunc_reconstruct\n(S'os'\nS'system'\nlR.",
            Severity::Suspicious,
        ),
        (
            b"cfunctools\npartial\n(cnumpy.core\n_ufunc_reconstruct\nS'os'\ntR.",
            Severity::Suspicious,
        ),
        (
            b"(cfunctools\npartial\ncnumpy.core\n_ufunc_reconstruct\nS'os'\no.",
            Severity::Suspicious,
        ),
        (
            b"cfractions\nFraction\n(S'1e9999999'\ntR.",
            Severity::Suspicious,
        ),
        (
            b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(L100000000000L\ntS'b'\ntR.",
            Severity::Suspicious,
        ),
        (
            b"cbuiltins\nbytearray\n(I99999999\ntR.",
            Severity::Suspicious,
        ),
        (
            b"cnumpy.random._pickle\n__generator_ctor\n(S'a'\ncbuiltins\nlist\ntR.",
            Severity::Suspicious,
        ),
    ] {
        judge(bytes, Some(severity));
    }
}

#[test]
fn an_array_is_not_loaded_from_anywhere() {
    let state = |path: &str| {
        format!(
            "ccopyreg\n_reconstructor\n(cjoblib.numpy_pickle\nNDArrayWrapper\ncbuiltins\nobject\nNtR(dS'filename'\nS'{path}'\nsb."
        )
    };
    judge(state("a_01.npy").as_bytes(), None);
    judge(state("a.csv").as_bytes(), Some(Severity::Suspicious));
    for path in [
        "/tmp/x.npy",
        "../x.npy",
        "\\\\\\\\e\\\\s\\\\x.npy",
        "c:x.npy",
    ] {
        judge(state(path).as_bytes(), Some(Severity::Malicious));
    }
}

/// Each would step over other bytes than the loader does.
#[test]
fn an_array_is_described_in_one_way() {
    let head = "cjoblib.numpy_pickle\nNumpyArrayWrapper\n)\u{1}";
    let kind = "cnumpy\ndtype\n(S'f8'\ntR";
    let shape = |count: u32| format!("S'shape'\n(I{count}\ntsS'dtype'\n{kind}s");
    let plain = format!("{head}(d{}babcdefgh.", shape(1));
    let bytes = |text: &str| {
        text.bytes()
            .map(|byte| if byte == 1 { 0x81 } else { byte })
            .collect::<Vec<u8>>()
    };
    judge(&bytes(&plain), None);
    for text in [
        // The dict that is used is not the last.
        format!("{head}(d{}p1\n0(d{}0g1\nbabcdefgh.", shape(1), shape(0)),
        // A type by a name that says no size.
        plain
            .replace("'f8'", "'V0'")
            .replace("tRs", "tR(I3\nS'|'\nNNNI8\nI1\ncbuiltins\nint\n(I0\ntRtbs"),
        // Made in a way that the walk does not take for one.
        format!(
            "ccopyreg\n_reconstructor\n(cjoblib.numpy_pickle\nNumpyArrayWrapper\ncbuiltins\nobject\nNtR(d{}b.",
            shape(1)
        ),
    ] {
        judge(&bytes(&text), Some(Severity::Suspicious));
    }
}

/// A class that opens what it is given does so by whatever calls it.
#[test]
fn a_call_is_judged_through_what_calls_it() {
    let file = "cdateutil.tz.tz\ntzfile\n";
    for text in [
        format!("ccopyreg\n_reconstructor\n({file}{file}S'/etc/x'\ntR."),
        format!("ccopyreg\n__newobj__\n({file}S'/etc/x'\ntR."),
        format!("ccopyreg\n__newobj_ex__\n({file}(S'/etc/x'\nt(dtR."),
        format!("ccopyreg\n_reconstructor\n({file}{file}S'/etc/x'\nlR."),
        format!("cfunctools\npartial\n({file}S'/etc/x'\ntR."),
        format!("csklearn.metrics._dist_metrics\nnewObj\n({NORM}tR."),
        format!("ccopyreg\n_reconstructor\n({NORM}csklearn.x\nRidge\nI1\ntR."),
        format!("ccopyreg\n_reconstructor\n({NORM}cbuiltins\nobject\nNtR(I1\ntb."),
        format!("ctorch._tensor\n_rebuild_from_type_v2\n({file}N(S'/etc/x'\ntNtR."),
    ] {
        judge(text.as_bytes(), Some(Severity::Suspicious));
    }
    judge(
        b"ccopyreg\n_reconstructor\n(csklearn.x\nRidge\ncbuiltins\nobject\nNtR(dS'a'\nI1\nsb.",
        None,
    );
}

/// The loader goes on within the frame, and takes the data from behind it.
#[test]
fn an_array_does_not_stand_in_the_midst_of_a_frame() {
    let wrapper = b"cjoblib.numpy_pickle\nNumpyArrayWrapper\n)\x81(dS'shape'\n(I1\ntsS'dtype'\ncnumpy\ndtype\n(S'f8'\ntRsb";
    let whole = |frame: usize| {
        let frame = u64::try_from(frame).expect("small").to_le_bytes();
        [&b"\x80\x04\x95"[..], &frame, wrapper, b"abcdefgh."].concat()
    };
    judge(&whole(wrapper.len()), None);
    judge(&whole(wrapper.len() + 9), Some(Severity::Suspicious));
}
