//! What the tags of one page say together.

use super::super::markdown::starts_program;
use super::super::markup::Tag;
use super::super::{decode, script};
use super::opens::{data_address, handler, place, refresh, script_address};
use super::{Scheme, carries_data, has_tags_that_act, is_player, is_script, on_share, style};
use crate::{Budget, Kind, Notes, Severity, Unscannable};

/// What was seen of a page that only together says something.
#[derive(Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one thing that was seen"
)]
pub(super) struct Page {
    /// Within `svg` or `math`.
    pub(super) foreign: bool,
    /// Within what is read only where scripts do not run.
    pub(super) unscripted: bool,
    password: bool,
    /// A script or a handler of the page itself.
    scripted: bool,
    form: bool,
    form_outside: bool,
    form_posts: bool,
    base_outside: bool,
}

/// Attributes that are addresses.
const ADDRESSES: [&str; 16] = [
    "href",
    "src",
    "action",
    "formaction",
    "data",
    "poster",
    "background",
    "cite",
    "longdesc",
    "classid",
    "codebase",
    "usemap",
    "xlink:href",
    "to",
    "from",
    "values",
];
/// Ends of elements whose text some readers take for tags, and some do not.
const RAW_ENDS: [&str; 7] = [
    "</noscript",
    "</style",
    "</title",
    "</textarea",
    "</xmp",
    "</noembed",
    "</noframes",
];
/// Elements that load what their address names by themselves.
const PICTURES: [&str; 8] = [
    "img", "image", "video", "audio", "source", "input", "track", "picture",
];
impl Page {
    pub(super) fn open(
        &mut self,
        tag: &Tag<'_>,
        notes: &mut Notes,
        budget: &mut Budget,
    ) -> Result<(), Unscannable> {
        if matches!(&*tag.name, "svg" | "math") && !tag.closed {
            self.foreign = true;
        }
        if tag.within_raw
            && (tag.name == "script" || tag.attributes.iter().any(|(key, _)| key.starts_with("on")))
        {
            Self::mutation(notes);
        }
        for (key, value) in &tag.attributes {
            budget.charge(16)?;
            if key.len() > 3
                && key.starts_with("on")
                && key[2..].bytes().all(|b| b.is_ascii_alphabetic())
            {
                self.scripted = true;
                handler(tag, key, value, notes);
            } else if ADDRESSES.contains(&&**key) || key.ends_with(":href") {
                Self::address(tag, key, value, notes, budget)?;
            } else if key == "style" && value.contains(['(', '\\', '&']) {
                style(&decode::references(value), notes);
            } else if RAW_ENDS.iter().any(|end| value.contains(end)) {
                Self::suspicious_raw(value, notes);
            } else if key == "srcdoc" {
                let inner = decode::references(value).into_owned().into_bytes();
                budget.unpack(inner.len().max(1) as u64)?;
                notes.part("srcdoc", None, Some(Kind::Html), inner);
            } else if key == "attributename"
                && decode::references(value)
                    .trim()
                    .to_ascii_lowercase()
                    .starts_with("on")
            {
                notes.find(
                    "html.animated_handler",
                    Severity::Malicious,
                    place(tag),
                    "an animation sets a handler",
                );
            } else if key == "srcset"
                && value
                    .split(',')
                    .any(|one| script::external(one) && carries_data(one))
            {
                notes.find(
                    "html.exfiltration",
                    Severity::Suspicious,
                    place(tag),
                    "a picture's address carries data to another host",
                );
            }
        }
        self.element(tag, notes);
        Ok(())
    }

    pub(super) fn close(&mut self, name: &str) {
        if matches!(name, "svg" | "math") {
            self.foreign = false;
        }
    }

    fn element(&mut self, tag: &Tag<'_>, notes: &mut Notes) {
        let outside = |name: &str| tag.attribute(name).is_some_and(script::external);
        let word = |name: &str| {
            tag.attribute(name)
                .map(|value| decode::references(value).trim().to_ascii_lowercase())
                .unwrap_or_default()
        };
        self.scripted |= tag.name == "script";
        match &*tag.name {
            "form" => {
                self.form = true;
                self.form_outside |= outside("action");
                self.form_posts |= word("method") == "post" && outside("action");
            }
            "button" | "input" if outside("formaction") => {
                (self.form_outside, self.form_posts) = (true, true);
                self.password |= word("type") == "password";
            }
            "input" => {
                self.password |=
                    word("type") == "password" || word("autocomplete").contains("password");
            }
            "base" => self.base_outside |= outside("href"),
            "script" => Self::script(tag, notes),
            "meta" if word("http-equiv") == "refresh" => refresh(tag, &word("content"), notes),
            "iframe" | "frame" | "object" | "embed" | "applet" | "portal" | "fencedframe" => {
                let address = ["src", "data", "code", "codebase"]
                    .iter()
                    .find_map(|name| tag.attribute(name))
                    .unwrap_or("");
                let known = script::known_host(address) || is_player(address);
                if script::external(address) && !known {
                    notes.find(
                        "html.frame_elsewhere",
                        Severity::Suspicious,
                        place(tag),
                        "a frame shows a page of another host",
                    );
                } else {
                    notes.find(
                        "html.frame",
                        Severity::Active,
                        place(tag),
                        "a frame shows another page",
                    );
                }
            }
            "link" if word("rel").contains("import") => notes.find(
                "html.import",
                Severity::Suspicious,
                place(tag),
                "another page is imported",
            ),
            "link" if outside("href") => {
                let address = tag.attribute("href").unwrap_or("");
                let rel = word("rel");
                // A module is fetched so that it runs at once; a script by its name, too.
                let script = rel.contains("modulepreload")
                    || rel.contains("preload") && matches!(&*word("as"), "script" | "worker");
                if script && !script::known_host(address) {
                    notes.find(
                        "html.script_elsewhere",
                        Severity::Suspicious,
                        place(tag),
                        "a script is loaded from another host",
                    );
                }
                let loads = [
                    "stylesheet",
                    "preload",
                    "prefetch",
                    "prerender",
                    "dns-prefetch",
                    "preconnect",
                    "icon",
                    "modulepreload",
                ]
                .iter()
                .any(|word| rel.contains(word));
                if loads && carries_data(address) {
                    notes.find(
                        "html.exfiltration",
                        Severity::Suspicious,
                        place(tag),
                        "an address that is loaded carries data to another host",
                    );
                } else if loads {
                    notes.find(
                        "html.external",
                        Severity::Active,
                        place(tag),
                        "something is loaded from another host",
                    );
                }
            }
            _ => {}
        }
    }

    /// A script that lies elsewhere; within a drawing `href` is its address.
    fn script(tag: &Tag<'_>, notes: &mut Notes) {
        let source = ["src", "href", "xlink:href"]
            .iter()
            .find_map(|name| tag.attribute(name));
        let Some(source) = source else { return };
        if script::external(source) && !script::known_host(source) {
            notes.find(
                "html.script_elsewhere",
                Severity::Suspicious,
                place(tag),
                "a script is loaded from another host",
            );
        } else {
            notes.find(
                "html.script",
                Severity::Active,
                place(tag),
                "a script is loaded",
            );
        }
    }

    fn address(
        tag: &Tag<'_>,
        key: &str,
        value: &str,
        notes: &mut Notes,
        budget: &mut Budget,
    ) -> Result<(), Unscannable> {
        let animates = matches!(key, "values" | "to" | "from");
        let (scheme, head) = is_script(if animates {
            value.split(';').next_back().unwrap_or(value)
        } else {
            value
        });
        match scheme {
            Scheme::Script { hidden } => script_address(tag, hidden, animates, &head, notes),
            Scheme::Data => data_address(tag, key, &head, notes, budget)?,
            Scheme::Other if starts_program(&head) => notes.find(
                "html.program",
                Severity::Suspicious,
                place(tag),
                "an address starts a program of the machine",
            ),
            Scheme::Other if on_share(&head) && !matches!(&*tag.name, "a" | "area") => notes.find(
                "html.share",
                Severity::Suspicious,
                place(tag),
                "a file is loaded from another computer, which a login is sent to",
            ),
            Scheme::Other if PICTURES.contains(&&*tag.name) && script::external(&head) => {
                if carries_data(&head) {
                    notes.find(
                        "html.exfiltration",
                        Severity::Suspicious,
                        place(tag),
                        "a picture's address carries data to another host",
                    );
                } else {
                    notes.find(
                        "html.external",
                        Severity::Active,
                        place(tag),
                        "a picture is loaded from another host",
                    );
                }
            }
            Scheme::Other => {}
        }
        Ok(())
    }

    /// Tags within a style sheet within a drawing.
    pub(super) fn suspicious_raw(inner: &str, notes: &mut Notes) {
        if has_tags_that_act(inner) {
            Self::mutation(notes);
        }
    }

    fn mutation(notes: &mut Notes) {
        notes.find(
            "html.mutation",
            Severity::Malicious,
            "",
            "a script hides where readers differ on what is text",
        );
    }

    /// Tags where it is in doubt whether they are any.
    pub(super) fn doubt(inner: &str, notes: &mut Notes) {
        Self::suspicious_raw(inner, notes);
        notes.find(
            "html.doubt",
            Severity::Suspicious,
            "",
            "readers differ on where a text without tags ends",
        );
    }

    /// What the page is, all in all.
    pub(super) fn judge(&self, notes: &mut Notes) {
        if self.password && self.form_outside {
            notes.find(
                "html.phishing",
                Severity::Malicious,
                "",
                "a password is asked for and sent to another host",
            );
        } else if self.password {
            // What is typed goes nowhere by itself.
            let severity = if self.scripted {
                Severity::Suspicious
            } else {
                Severity::Active
            };
            notes.find("html.password", severity, "", "a password is asked for");
        } else if self.form_posts {
            notes.find(
                "html.form_elsewhere",
                Severity::Suspicious,
                "",
                "a form sends what is typed to another host",
            );
        } else if self.form_outside {
            notes.find(
                "html.form_elsewhere",
                Severity::Active,
                "",
                "a form asks another host",
            );
        }
        if self.base_outside {
            let severity = if self.form || self.scripted {
                Severity::Suspicious
            } else {
                Severity::Active
            };
            notes.find(
                "html.base",
                severity,
                "",
                "all addresses of the page are turned to another host",
            );
        }
    }
}
