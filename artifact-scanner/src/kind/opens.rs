//! Which texts does a desktop act on when they are opened, by their ending or their first words?

use super::Kind;

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

/// Text that a double click or a host of scripts runs.
pub(super) fn runs(head: &str, ending: &str) -> Option<Kind> {
    let desktop = head.contains("[desktop entry]") && head.contains("exec=");
    if desktop
        || head.starts_with("[internetshortcut]")
        || is_shell_command(head)
        || matches!(ending, "scf" | "url" | "lnk" | "desktop")
        || is_opened_by_system(head, ending)
    {
        return Some(Kind::Shortcut);
    }
    if matches!(
        ending,
        "hta"
            | "vbs"
            | "vbe"
            | "jse"
            | "wsf"
            | "wsh"
            | "bat"
            | "cmd"
            | "ps1"
            | "psm1"
            | "reg"
            | "sct"
    ) || head.starts_with("windows registry editor version")
        || head
            .lines()
            .next()
            .is_some_and(|line| line.trim_end() == "regedit4")
        || is_setup(head, ending)
    {
        return Some(Kind::Executable);
    }
    head.starts_with("#!").then_some(Kind::Script)
}

/// A command of the desktop: Windows fetches its picture when it shows the folder.
fn is_shell_command(head: &str) -> bool {
    head.starts_with("[shell]") && head.contains("iconfile=")
}

/// What is set up, or carried out, by a click on the file or by a medium that is put in.
fn is_setup(head: &str, ending: &str) -> bool {
    const ACTS: [&str; 8] = [
        "[defaultinstall",
        "[defaultuninstall",
        "runpresetupcommands",
        "runpostsetupcommands",
        "registerocxs",
        "[autorun",
        "addreg=",
        "addreg =",
    ];
    let signed = head.contains("signature")
        && ["$chicago$", "$windows"]
            .iter()
            .any(|name| head.contains(name));
    head.starts_with("[version]") && signed
        || ending == "inf" && ACTS.iter().any(|word| head.contains(word))
}

/// `head` is the first of the text in small letters.
fn is_opened_by_system(head: &str, ending: &str) -> bool {
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

    #[test]
    fn settings_that_are_carried_out_are_told_from_settings() {
        for (head, ending, expected) in [
            (
                "regedit4\n[hkey_current_user\\a]",
                "txt",
                Some(Kind::Executable),
            ),
            (
                "[version]\nsignature=\"$windows nt$\"",
                "txt",
                Some(Kind::Executable),
            ),
            (
                "[a]\nb=c\n[defaultinstall]\nrunpresetupcommands=x",
                "inf",
                Some(Kind::Executable),
            ),
            ("[autorun]\nopen=a.exe", "inf", Some(Kind::Executable)),
            (
                "[shell]\ncommand=2\niconfile=\\\\a\\b",
                "txt",
                Some(Kind::Shortcut),
            ),
            ("[shell]\ncommand=bash", "ini", None),
            ("regedit4 is a format", "txt", None),
            ("windows registry editor is a program", "txt", None),
            ("[version]\nsignature=1\nname=$course", "ini", None),
            ("[version]\nnumber=1", "ini", None),
            ("[a]\nb=c", "inf", None),
            ("[defaultinstall] is a section", "txt", None),
        ] {
            assert_eq!(runs(head, ending), expected, "{head}");
        }
    }
}
