//! What does a job run, and with which arguments?

use crate::fields::{Fields, Report, counted, text_kind};
use crate::job::Payload;
use crate::refusal::Refusal;

/// The longest code, in bytes.
pub const CODE_BYTES_MAX: usize = 1 << 20;
/// The longest argument: the kernel's own bound, without the byte that ends it.
pub const ARGUMENT_BYTES_MAX: usize = 128 * 1024 - 1;
/// The most bytes of all arguments, each with the byte that ends it and its pointer, so that the
/// kernel takes them beside the variables.
pub const ARGUMENTS_BYTES_MAX: usize = 1 << 20;

/// Exactly one of `code` and `command`; not whether the profile has an interpreter.
pub(super) fn payload(fields: &mut Fields, report: &mut Report) -> Option<Payload> {
    const ONE: &str = "exactly one of `code` and `command`";
    let (has_code, has_command) = (fields.has("code"), fields.has("command"));
    let code = fields.string("code", report);
    let command = fields.strings("command", report);
    if has_code == has_command {
        let (at, got) = if has_code {
            (fields.at("command"), "both")
        } else {
            (String::new(), "neither")
        };
        report.refuse(Refusal::bad(at, format!("a job has {ONE}"), got, ONE));
        return None;
    }
    match code {
        Some(code) if code.len() > CODE_BYTES_MAX => {
            report.refuse(
                Refusal::bad(
                    fields.at("code"),
                    format!(
                        "the code has {} bytes; at most {CODE_BYTES_MAX} (1 MiB) are taken",
                        code.len()
                    ),
                    text_kind(&code),
                    format!("at most {CODE_BYTES_MAX} bytes"),
                )
                .too_large(),
            );
            None
        }
        Some(code) => Some(Payload::Code(code)),
        None => self::command(fields, command?, report),
    }
}

fn command(fields: &Fields, argv: Vec<String>, report: &mut Report) -> Option<Payload> {
    let at = fields.at("command");
    if argv.first().is_none_or(String::is_empty) {
        let (at, got) = match argv.first() {
            Some(_) => (format!("{at}/0"), "a string of 0 bytes"),
            None => (at, "an array of 0 elements"),
        };
        let message = "a command needs the name of a program";
        report.refuse(Refusal::bad(
            at,
            message,
            got,
            "a program and its arguments",
        ));
        return None;
    }
    arguments(&argv, &at, report).then_some(Payload::Command(argv))
}

/// What follows the main file.
pub(super) fn args(
    fields: &mut Fields,
    payload: Option<&Payload>,
    report: &mut Report,
) -> Vec<String> {
    let at = fields.at("args");
    let args = fields.strings("args", report).unwrap_or_default();
    if !args.is_empty() && matches!(payload, Some(Payload::Command(_))) {
        report.refuse(Refusal::bad(
            &at,
            "`args` follow the main file of `code`; with `command` they belong into it",
            counted("an array", args.len(), "element"),
            "no `args` with `command`",
        ));
    }
    arguments(&args, &at, report);
    args
}

/// Whether the kernel will take them.
fn arguments(argv: &[String], at: &str, report: &mut Report) -> bool {
    let before = report.refusals.len();
    for (index, argument) in argv.iter().enumerate() {
        let at = format!("{at}/{index}");
        if argument.contains('\0') {
            report.refuse(Refusal::bad(
                &at,
                "an argument may not hold a NUL byte",
                text_kind(argument),
                "a string without NUL",
            ));
        }
        if argument.len() > ARGUMENT_BYTES_MAX {
            report.refuse(
                Refusal::bad(
                    &at,
                    format!(
                        "the argument has {} bytes; at most {ARGUMENT_BYTES_MAX} are taken",
                        argument.len()
                    ),
                    text_kind(argument),
                    format!("at most {ARGUMENT_BYTES_MAX} bytes"),
                )
                .too_large(),
            );
        }
    }
    let bytes: usize = argv
        .iter()
        .map(|argument| argument.len() + 1 + size_of::<u64>())
        .sum();
    if bytes > ARGUMENTS_BYTES_MAX {
        report.refuse(
            Refusal::bad(
                at,
                format!(
                    "the arguments take {bytes} bytes; at most {ARGUMENTS_BYTES_MAX} are taken"
                ),
                format!("{bytes} bytes"),
                format!("at most {ARGUMENTS_BYTES_MAX} bytes"),
            )
            .too_large(),
        );
    }
    report.refusals.len() == before
}
