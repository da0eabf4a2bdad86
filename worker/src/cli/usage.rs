//! How is a wrong call said in one line?

use super::exit::Exit;
use super::stop::Stop;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::OsString;
use std::io::{self, Write as _};

/// Prints help and version on stdout; anything else is a wrong call, in one line on stderr.
pub(super) fn answer(error: &clap::Error, args: &[OsString]) -> Exit {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let printed = io::stdout()
                .lock()
                .write_all(error.render().to_string().as_bytes());
            match printed {
                Ok(()) => Exit::Succeeded,
                Err(error) => Stop::output(&error).report(),
            }
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            Stop::new(
                Exit::Usage,
                vec!["no command given; `kiln --help` lists them".into()],
            )
            .report()
        }
        ErrorKind::InvalidUtf8 => Stop::new(Exit::Usage, vec![not_utf8(args)]).report(),
        kind => {
            let rendered = error.render().to_string();
            let mut line = one_line(&rendered);
            if kind == ErrorKind::MissingRequiredArgument {
                line.push_str(&usage(&rendered));
            }
            if let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) {
                if let Some(at) = line
                    .find("; tip:")
                    .filter(|_| !configured(given).is_empty())
                {
                    line.truncate(at);
                }
                line.push_str(configured(given));
            }
            Stop::new(Exit::Usage, vec![line]).report()
        }
    }
}

/// Which arguments may be meant: clap does not say it. The first is the program's name.
fn not_utf8(args: &[OsString]) -> String {
    let named: Vec<_> = args
        .iter()
        .enumerate()
        .skip(1)
        .filter(|(_, arg)| arg.to_str().is_none())
        .map(|(n, arg)| format!("argument {n}, `{}`", arg.as_encoded_bytes().escape_ascii()))
        .collect();
    format!("not UTF-8: {}", named.join("; "))
}

/// Where what was given as an option is said instead.
fn configured(option: &str) -> &'static str {
    match option {
        "--policy" | "--rules" | "--clamd" | "--table" => {
            "; policy, rules, clamd and table are keys of `[scanner]` in the file of `--config \
             KILN.TOML`"
        }
        _ => "",
    }
}

/// How the call would be, where the error says it.
fn usage(rendered: &str) -> String {
    let usage = rendered
        .lines()
        .find_map(|line| line.strip_prefix("Usage: "));
    usage.map_or_else(String::new, |usage| format!("; usage: {}", usage.trim()))
}

/// The error and its first tip, without the usage that follows.
fn one_line(rendered: &str) -> String {
    let parts: Vec<_> = rendered
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"))
        .filter(|line| !line.is_empty())
        .collect();
    let tips = parts.iter().position(|part| part.starts_with("tip:"));
    let text = parts[..tips.map_or(parts.len(), |first| first + 1)]
        .join("; ")
        .replace(":; ", ": ");
    text.strip_prefix("error: ").unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::Parser as _;
    use std::os::unix::ffi::OsStringExt as _;

    fn said(args: &[&str]) -> String {
        let error = Cli::try_parse_from(args).expect_err("a wrong call");
        one_line(&error.render().to_string())
    }

    #[test]
    fn a_wrong_call_is_one_line() {
        for (args, wanted) in [
            (
                &["kiln", "run", "--artifact", "x", "a.py"][..],
                "unexpected argument '--artifact' found; tip: a similar argument exists: '--artifacts'",
            ),
            (
                &["kiln", "run", "a.py", "b.py"],
                "unexpected argument 'b.py' found",
            ),
            (
                &["kiln", "run", "a.py", "--out"],
                "a value is required for '--out <DIR>' but none was supplied",
            ),
            (
                &["kiln", "batch"],
                "the following required arguments were not provided: <JOBS.jsonl>",
            ),
            (
                &["kiln", "docter"],
                "unrecognized subcommand 'docter'; tip: a similar subcommand exists: 'doctor'",
            ),
        ] {
            assert_eq!(said(args), wanted);
        }
    }

    #[test]
    fn an_argument_that_is_not_utf8_is_named() {
        let args = [&b"kiln"[..], b"run", b"a.py", b"--", b"caf\xe9"]
            .map(|arg| OsString::from_vec(arg.to_vec()));
        let error = Cli::try_parse_from(&args).expect_err("a wrong call");
        assert_eq!(error.kind(), ErrorKind::InvalidUtf8);
        assert_eq!(not_utf8(&args), "not UTF-8: argument 4, `caf\\xe9`");
    }

    #[test]
    fn what_the_configuration_says_is_pointed_to() {
        let wrong = ["kiln", "scan", "--policy", "strict", "a.csv"];
        let error = Cli::try_parse_from(wrong).expect_err("a wrong call");
        let given = error.get(ContextKind::InvalidArg);
        let Some(ContextValue::String(given)) = given else {
            panic!("{given:?}");
        };
        assert!(
            configured(given).contains("`--config KILN.TOML`"),
            "{given}"
        );
        assert_eq!(configured("--outt"), "");
    }

    #[test]
    fn a_missing_argument_shows_the_usage() {
        let error = Cli::try_parse_from(["kiln", "batch"]).expect_err("a wrong call");
        assert_eq!(error.kind(), ErrorKind::MissingRequiredArgument);
        assert_eq!(
            usage(&error.render().to_string()),
            "; usage: kiln batch <JOBS.jsonl>"
        );
    }
}
