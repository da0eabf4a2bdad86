//! What a text sends or runs once it is rendered.

use super::html::{self, Scheme, carries_data, is_script};
use super::{decode, script};
use crate::{Budget, Notes, Severity, Unscannable};
use std::collections::HashSet;

/// Looks at Markdown and the HTML within.
pub fn check(text: &str, notes: &mut Notes, budget: &mut Budget) -> Result<(), Unscannable> {
    budget.charge(text.len().max(1) as u64)?;
    let prose = without_code(text);
    links(&prose, notes, budget)?;
    diagrams(text, notes);
    html::check(&prose, notes, budget)
}

/// The text with fenced and inline code blanked out: that is shown, not run.
fn without_code(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut fence: Option<(char, usize)> = None;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim_start_matches(' ');
        let mark = trimmed.chars().next().filter(|c| matches!(c, '`' | '~'));
        let length = mark.map_or(0, |mark| trimmed.chars().take_while(|c| *c == mark).count());
        let indent = line.len() - trimmed.len();
        match (fence, mark) {
            (None, Some(mark))
                if length >= 3
                    && indent < 4
                    && !(mark == '`' && trimmed[length..].contains('`')) =>
            {
                fence = Some((mark, length));
            }
            (Some((open, least)), Some(mark))
                if mark == open
                    && length >= least
                    && indent < 4
                    && trimmed[length..].trim().is_empty() =>
            {
                fence = None;
            }
            (None, _) => {
                out.push_str(line);
                continue;
            }
            (Some(_), _) => {}
        }
        out.push('\n');
    }
    inline_code(&out)
}

fn inline_code(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for paragraph in text.split_inclusive("\n\n") {
        let mut rest = paragraph;
        let mut tries = 0;
        while let Some(at) = rest.find('`') {
            let ticks = rest[at..].bytes().take_while(|b| *b == b'`').count();
            let body = &rest[at + ticks..];
            out.push_str(&rest[..at]);
            tries += 1;
            let end = if tries > 2000 {
                None
            } else {
                closing(body, ticks)
            };
            rest = end.map_or(body, |end| &body[end + ticks..]);
            out.push(' ');
        }
        out.push_str(rest);
    }
    out
}

/// Where a run of just so many ticks stands.
fn closing(body: &str, ticks: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = body[at..].find('`') {
        let start = at + found;
        let run = body[start..].bytes().take_while(|b| *b == b'`').count();
        if run == ticks {
            return Some(start);
        }
        at = start + run;
    }
    None
}

/// A diagram is drawn from a block of code, links and all.
fn diagrams(text: &str, notes: &mut Notes) {
    let opens = ["```mermaid", "~~~mermaid"];
    let starts = opens.iter().flat_map(|open| text.match_indices(open));
    for (at, open) in starts.take(1000) {
        let body = &text[at..];
        let end = body[open.len()..].find(&open[..3]);
        let body = &body[..end.map_or(body.len(), |end| end + open.len())];
        if body.to_ascii_lowercase().contains("javascript:") {
            notes.find(
                "markdown.script_address",
                Severity::Suspicious,
                format!("offset {at}"),
                "a diagram's link runs a script",
            );
        }
    }
}

fn links(text: &str, notes: &mut Notes, budget: &mut Budget) -> Result<(), Unscannable> {
    for (at, _) in text.match_indices("](").take(100_000) {
        let mut from = at.saturating_sub(400);
        while !text.is_char_boundary(from) {
            from += 1;
        }
        let picture =
            opening(&text[from..at]).is_some_and(|open| text[..from + open].ends_with('!'));
        address(
            inline_address(decode::head(&text[at + 2..], 1024)),
            picture,
            at,
            notes,
            budget,
        )?;
    }
    let pictures = picture_labels(text);
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim_start();
        if trimmed.starts_with('[')
            && let Some((label, target)) = trimmed.split_once("]:")
        {
            let picture = pictures.contains(&label[1..].trim().to_lowercase());
            // The address may stand on the next line.
            let next = text[at + line.len()..].split('\n').next().unwrap_or("");
            let target = if target.trim().is_empty() {
                next
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

/// Where the bracket opens that is closed behind the text.
fn opening(text: &str) -> Option<usize> {
    let mut closed = 0_usize;
    text.bytes().enumerate().rev().find_map(|(at, byte)| {
        match byte {
            b']' => closed += 1,
            b'[' if closed == 0 => return Some(at),
            b'[' => closed -= 1,
            _ => {}
        }
        None
    })
}

/// The labels that pictures refer to.
fn picture_labels(text: &str) -> HashSet<String> {
    let labels = text
        .match_indices("![")
        .take(100_000)
        .filter_map(|(at, _)| {
            let (alt, rest) = decode::head(&text[at + 2..], 500).split_once(']')?;
            let label = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
            let label = label.map_or("", |(label, _)| label);
            let label = if label.is_empty() { alt } else { label };
            (label.len() < 1000).then(|| label.trim().to_lowercase())
        });
    labels.collect()
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
        ] {
            assert_eq!(worst(text), Severity::Suspicious, "{text}");
        }
    }
}
