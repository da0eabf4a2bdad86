//! Which texts does a desktop act on when they are opened, by their ending or their first words?

/// Endings of descriptions that a desktop carries out: searches, consoles, installers, queries.
const ENDINGS: &[&str] = &[
    "library-ms",
    "search-ms",
    "searchconnector-ms",
    "settingcontent-ms",
    "jnlp",
    "application",
    "appref-ms",
    "msc",
    "iqy",
    "oqy",
    "rqy",
    "dqy",
    "website",
    "theme",
    "rdp",
    "appinstaller",
    "webloc",
    "inetloc",
    "fileloc",
    "terminal",
    "command",
    "applescript",
    "scpt",
    "workflow",
    "kdelnk",
    "flatpakref",
    "flatpakrepo",
    "snapref",
    "ps1xml",
    "psc1",
    "wsc",
    "udl",
    "odc",
    "ica",
    "gadget",
    "contact",
    "diagcab",
    "xbap",
];

/// Roots of the same in XML, and what else must stand in it.
const ROOTS: &[(&str, &str)] = &[
    ("<librarydescription", ""),
    ("<persistedquery", ""),
    ("<searchconnectordescription", ""),
    ("<pcsettings", "<deeplink"),
    ("<jnlp", ""),
    ("<mmc_consolefile", ""),
    ("urn:schemas-microsoft-com:asm.v1", "<deployment"),
    ("<appinstaller", ""),
];

/// `head` is the first of the text in small letters.
pub(super) fn is_opened_by_system(head: &str, ending: &str) -> bool {
    let has = |word: &str| head.contains(word);
    let marked_up =
        head.starts_with('<') && ROOTS.iter().any(|(root, inner)| has(root) && has(inner));
    // A query of a sheet: its kind, a version, an address.
    let mut lines = head.lines();
    let query = lines.next() == Some("web")
        && lines.next() == Some("1")
        && lines.next().is_some_and(|line| line.starts_with("http"));
    // A sheet in symbols whose names start or whose cells call.
    let symbols = head.starts_with("id;p")
        && ["auto_open", "eexec(", "ecall(", "eregister("]
            .iter()
            .any(|word| has(word));
    ENDINGS.contains(&ending) || marked_up || query || symbols
}

/// The text behind the comments at its start.
pub(super) fn behind_comments(text: &str) -> &str {
    let mut rest = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    while let Some((_, behind)) = rest
        .strip_prefix("<!--")
        .and_then(|rest| rest.split_once("-->"))
    {
        rest = behind.trim_start();
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_not_opened_and_descriptions_are() {
        assert!(is_opened_by_system("web\n1\nhttp://a.invalid/", "txt"));
        assert!(is_opened_by_system("<?xml?><jnlp codebase='x'>", "xml"));
        assert!(is_opened_by_system("id;pwxl\nc;x1;eexec(\"a\")", "slk"));
        assert!(!is_opened_by_system("id;pwxl\nc;x1;y1;k1", "slk"));
        assert!(!is_opened_by_system("web\n1\n2", "txt"));
        assert!(!is_opened_by_system("<pcsettings><a/>", "xml"));
    }
}
