//! Do settings of git name more than branches, people and addresses?
//!
//! Git runs what many of its settings say, and new ones come with its versions: what is plain is
//! listed here, and the rest is not.

/// Sections, and their keys of which no value makes git run or read anything.
const PLAIN: &[(&str, &[&str])] = &[
    (
        "core",
        &[
            "abbrev",
            "autocrlf",
            "bare",
            "bigfilethreshold",
            "checkstat",
            "compression",
            "eol",
            "filemode",
            "hidedotfiles",
            "ignorecase",
            "logallrefupdates",
            "longpaths",
            "precomposeunicode",
            "preloadindex",
            "quotepath",
            "repositoryformatversion",
            "safecrlf",
            "sharedrepository",
            "sparsecheckout",
            "sparsecheckoutcone",
            "symlinks",
            "trustctime",
            "untrackedcache",
            "whitespace",
        ],
    ),
    ("user", &["email", "name"]),
    (
        "remote",
        &[
            "fetch",
            "mirror",
            "partialclonefilter",
            "promisor",
            "prune",
            "push",
            "pushurl",
            "tagopt",
            "url",
        ],
    ),
    (
        "branch",
        &[
            "description",
            "merge",
            "pushremote",
            "rebase",
            "remote",
            "vscode-merge-base",
        ],
    ),
    ("submodule", &["active", "branch", "path", "shallow", "url"]),
    (
        "extensions",
        &["objectformat", "partialclone", "worktreeconfig"],
    ),
    ("init", &["defaultbranch"]),
    ("pull", &["ff", "rebase"]),
    ("push", &["autosetupremote", "default", "followtags"]),
    ("fetch", &["prune"]),
    ("gc", &["auto"]),
    ("rebase", &["autosquash", "autostash"]),
    ("color", &["branch", "diff", "interactive", "status", "ui"]),
    ("lfs", &["repositoryformatversion"]),
];

/// Whether a file of settings is one that every repository has.
pub(super) fn is_plain(content: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(content) else {
        return false;
    };
    let mut keys: &[&str] = &[];
    text.lines().map(str::trim).all(|line| {
        if line.is_empty() || line.starts_with(['#', ';']) {
            return true;
        }
        if let Some(inner) = line.strip_prefix('[') {
            // Settings may stand behind the bracket: such a line is none of those that git writes.
            let section = inner.strip_suffix(']').and_then(section);
            let found = section.and_then(|name| PLAIN.iter().find(|plain| plain.0 == name));
            keys = found.map_or(&[], |found| found.1);
            return found.is_some();
        }
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        let key = key.trim().to_ascii_lowercase();
        keys.contains(&key.as_str()) && is_plain_value(&key, value.trim())
    })
}

/// `core`, or the first word of `remote "origin"`.
fn section(inner: &str) -> Option<String> {
    let (name, rest) = inner.split_once(' ').unwrap_or((inner, ""));
    let word = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric());
    let quoted = rest.len() >= 2 && rest.starts_with('"') && rest.ends_with('"');
    let inner = rest.trim_matches('"');
    let is_sound = rest.is_empty() || quoted && !inner.contains(['"', '\\', '[', ']']);
    (word(name) && is_sound).then(|| name.to_ascii_lowercase())
}

/// A value goes on in the next line behind a backslash; an address may name a program (`ext::`), be
/// taken for an option, or for a path that leads out.
fn is_plain_value(key: &str, value: &str) -> bool {
    const SCHEMES: [&str; 6] = ["https://", "http://", "ssh://", "git://", "../", "./"];
    let is_address = |value: &str| {
        let at_host = value.split_once('@').is_some_and(|(user, rest)| {
            user.bytes().all(|b| b.is_ascii_alphanumeric())
                && !user.is_empty()
                && rest.contains(':')
        });
        SCHEMES.iter().any(|scheme| value.starts_with(scheme)) || at_host
    };
    let bare = !value.contains(['\\', '"', '`', '\n']) && !value.starts_with(['-', '!']);
    let fits = match key {
        "url" | "pushurl" => is_address(value) && !value.contains("::"),
        "remote" | "pushremote" => {
            !value.contains([':', '/']) || is_address(value) && !value.contains("::")
        }
        "path" => {
            !value.starts_with('/') && value.split('/').all(|step| step != ".." && step != ".git")
        }
        _ => true,
    };
    bare && fits
}

/// Whether attributes name no driver of the reader's own settings but that for large files.
pub(super) fn is_plain_attributes(content: &[u8]) -> bool {
    const DRIVEN: [&str; 3] = ["filter=", "merge=", "diff="];
    // Drivers that git has itself, and the one that each of its installations brings along.
    const OWN: [&str; 26] = [
        "ada",
        "astextplain",
        "bash",
        "bibtex",
        "binary",
        "cpp",
        "csharp",
        "css",
        "dts",
        "elixir",
        "fortran",
        "golang",
        "html",
        "java",
        "kotlin",
        "lfs",
        "lockb",
        "markdown",
        "ours",
        "perl",
        "php",
        "python",
        "ruby",
        "rust",
        "tex",
        "union",
    ];
    let Ok(text) = std::str::from_utf8(content) else {
        return false;
    };
    let words = text
        .lines()
        .flat_map(|line| line.split_whitespace().skip(1));
    words
        .filter_map(|word| DRIVEN.iter().find_map(|driven| word.strip_prefix(driven)))
        .all(|driver| OWN.contains(&driver))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_a_clone_writes_are_plain() {
        for text in [
            "",
            "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n",
            "[remote \"origin\"]\n\turl = https://example.invalid/a.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
            "[remote \"a/b\"]\n\turl = git@example.invalid:a/b.git\n",
            "[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n",
            "[submodule \"a\"]\n\tpath = vendor/a\n\turl = ../a.git\n",
            "# mine\n[user]\n\tname = J. Doe\n\temail = j@example.invalid\n",
        ] {
            assert!(is_plain(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn settings_that_run_or_lead_elsewhere_are_not() {
        for text in [
            "[core]\n\tfsmonitor = ./x\n",
            "[core]\n\tsshCommand = sh x\n",
            "[core]\n\tprotectNTFS = false\n",
            "[core]\n\thooksPath = h\n",
            "[core] pager = sh\n",
            "[CORE]\n\tPager = sh\n",
            "[core]\n\tbare = false\n\teditor = x\n",
            "[alias]\n\tst = !sh\n",
            "[filter \"a\"]\n\tsmudge = sh\n",
            "[include]\n\tpath = ../x\n",
            "[remote \"o\"]\n\turl = ext::sh -c x\n",
            "[remote \"o\"]\n\turl = -u./x\n",
            "[remote \"o\"]\n\tuploadpack = sh\n",
            "[remote \"a\\\"]\n\turl = https://example.invalid\n",
            "[user]\n\tname = a\\\n[alias]\n",
            "[branch \"a\"]\n\tremote = ext::sh\n",
            "[submodule \"a\"]\n\tupdate = !sh\n",
            "[submodule \"a\"]\n\tpath = .git/hooks\n",
            "[http]\n\tproxy = http://example.invalid\n",
            "[core.x]\n\tpager = sh\n",
            "pager = sh\n",
        ] {
            assert!(!is_plain(text.as_bytes()), "{text}");
        }
        assert!(!is_plain(b"[user]\n\tname = \xff\n"));
    }

    #[test]
    fn attributes_are_plain_unless_they_name_a_driver() {
        for text in [
            "* text=auto\n",
            "*.bin filter=lfs diff=lfs merge=lfs -text\n",
            "*.csv -diff\n",
        ] {
            assert!(is_plain_attributes(text.as_bytes()), "{text}");
        }
        assert!(!is_plain_attributes(b"* filter=evil\n"));
    }
}
