//! Where a member's path, or a link's target, would lead.

use crate::{Notes, Severity};

/// Judges the path of a member.
pub(crate) fn check(path: &str, notes: &mut Notes) {
    if path.contains('\0') {
        notes.find(
            "archive.cut_name",
            Severity::Suspicious,
            path,
            "the member's path ends early for some unpackers, and goes on for others",
        );
    }
    let unified = path.replace('\\', "/");
    let (rule, message) = if unified.starts_with('/') || has_drive(&unified) {
        (
            "archive.absolute",
            "the member's path is absolute: it is written where the archive likes",
        )
    } else if climbs(&unified) {
        (
            "archive.escape",
            "the member's path leaves the folder it is unpacked in",
        )
    } else {
        return;
    };
    notes.find(rule, Severity::Malicious, path, message);
}

/// Judges where a link at `path` leads. Within the archive it may lead anywhere.
pub(crate) fn check_link(path: &str, target: &str, notes: &mut Notes) {
    let target = target.replace('\\', "/");
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    if target.starts_with('/') || has_drive(&target) || climbs(&format!("{folder}/{target}")) {
        notes.find(
            "archive.link",
            Severity::Malicious,
            path,
            format!("a link leads out of the folder it is unpacked in, to `{target}`"),
        );
    }
}

/// Judges where a hard link leads: its target is a path from the archive's root.
pub(crate) fn check_hard_link(path: &str, target: &str, notes: &mut Notes) {
    check_link("", target, notes);
    if target == path {
        notes.find(
            "archive.link",
            Severity::Suspicious,
            path,
            "a link leads to itself",
        );
    }
}

fn has_drive(path: &str) -> bool {
    matches!(path.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic())
}

fn climbs(path: &str) -> bool {
    let mut depth = 0i32;
    for component in path.split('/') {
        match component.trim_end_matches([' ', '.']) {
            "" if component.trim_end() == ".." => depth -= 1,
            "" => {}
            _ => depth += 1,
        }
        if depth < 0 {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_leave_their_folder() {
        for path in [
            "../x",
            "a/../../x",
            "/etc/x",
            "..\\x",
            "C:\\x",
            "a\\..\\..\\x",
            "./../x",
            "\\\\h\\s",
        ] {
            let mut notes = Notes::default();
            check(path, &mut notes);
            assert_eq!(notes.worst(), Some(Severity::Malicious), "{path}");
        }
        for path in ["x", "a/b", "a/../b", "./x", "..a/x", "a..b", "a/..."] {
            let mut notes = Notes::default();
            check(path, &mut notes);
            assert_eq!(notes.worst(), None, "{path}");
        }
    }

    #[test]
    fn links_are_followed_from_where_they_stand() {
        let mut notes = Notes::default();
        check_link("out/latest.csv", "sales.csv", &mut notes);
        check_link("out/a/l", "../../b", &mut notes);
        assert_eq!(notes.worst(), None);
        check_link("out/l", "../../b", &mut notes);
        assert_eq!(notes.worst(), Some(Severity::Malicious));
    }
}
