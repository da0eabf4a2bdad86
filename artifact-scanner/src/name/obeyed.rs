//! Which files does a program obey only because of what they are called, or where they lie?

use super::git;

/// By the name alone, in small letters.
const NAMES: &[&str] = &[
    // Shells and sessions.
    ".bash_aliases",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".cshrc",
    ".envrc",
    ".inputrc",
    ".kshrc",
    ".login",
    ".pam_environment",
    ".profile",
    ".tcshrc",
    ".xinitrc",
    ".xprofile",
    ".xsession",
    ".zlogin",
    ".zlogout",
    ".zprofile",
    ".zshenv",
    ".zshrc",
    "authorized_keys",
    "ld.so.preload",
    // Interpreters and debuggers.
    ".gdbinit",
    ".latexmkrc",
    ".lldbinit",
    ".octaverc",
    ".pdbrc",
    ".rprofile",
    ".renviron",
    "__pycache__",
    "latexmkrc",
    "ipython_config.py",
    "ipython_kernel_config.py",
    "jupyter_config.py",
    "jupyter_lab_config.py",
    "jupyter_notebook_config.json",
    "jupyter_notebook_config.py",
    "jupyter_server_config.json",
    "jupyter_server_config.py",
    "php.ini",
    "rprofile.site",
    "sitecustomize.py",
    "usercustomize.py",
    // Tools that fetch and build.
    ".bazelrc",
    ".condarc",
    ".curlrc",
    ".hgrc",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".pydistutils.cfg",
    ".wgetrc",
    ".yarnrc",
    ".yarnrc.yml",
    "pip.conf",
    "pip.ini",
    // Editors and readers.
    ".dir-locals.el",
    ".emacs",
    ".exrc",
    ".forward",
    ".mailcap",
    ".mailrc",
    ".nvimrc",
    ".procmailrc",
    ".psqlrc",
    ".screenrc",
    ".sqliterc",
    ".tmux.conf",
    ".vimrc",
    // Servers and desktops.
    ".ds_store",
    ".htaccess",
    ".htpasswd",
    ".rhosts",
    ".user.ini",
    "autorun.inf",
    "crossdomain.xml",
    "desktop.ini",
    "folder.htt",
    "thumbs.db:encryptable",
    "web.config",
];

/// By the folders above, too, of which a star stands for any one.
const PLACES: &[&str] = &[
    ".aws/config",
    ".cargo/config",
    ".cargo/config.toml",
    ".config/autostart/*",
    ".config/environment.d/*",
    ".config/fish/config.fish",
    ".config/fish/conf.d/*",
    ".config/kitty/kitty.conf",
    ".config/systemd/user/*",
    ".emacs.d/init.el",
    ".git/hooks/*",
    ".git/modules/*/hooks/*",
    ".gnupg/gpg.conf",
    ".docker/config.json",
    ".hg/hgrc",
    ".ipython/*/startup/*",
    ".julia/config/startup.jl",
    ".jupyter/custom/*",
    ".kube/config",
    ".local/bin/*",
    ".local/share/applications/*",
    ".local/share/jupyter/kernels/*/kernel.json",
    ".mvn/jvm.config",
    ".mvn/extensions.xml",
    ".ssh/config",
    ".ssh/environment",
    ".ssh/rc",
    ".vscode/tasks.json",
    "etc/cron.d/*",
    "etc/profile.d/*",
    "library/launchagents/*",
    "library/launchdaemons/*",
];

/// Settings of editors and their helpers, and the words with which they start a program.
const STARTS: &[(&str, &[&str])] = &[
    (".mcp.json", &["command"]),
    (".cursor/mcp.json", &["command"]),
    (".cursor/hooks.json", &["command"]),
    (".gemini/settings.json", &["command"]),
    (".kiro/settings/mcp.json", &["command"]),
    (".roo/mcp.json", &["command"]),
    (".codex/config.toml", &["command", "notify"]),
    (".vscode/mcp.json", &["command"]),
    (".claude/settings.json", HOOKS),
    (".claude/settings.local.json", HOOKS),
    (".devcontainer.json", &["initializeCommand"]),
    (".devcontainer/devcontainer.json", &["initializeCommand"]),
    (".devcontainer/*/devcontainer.json", &["initializeCommand"]),
];
const HOOKS: &[&str] = &[
    "hooks",
    "apiKeyHelper",
    "statusLine",
    "awsAuthRefresh",
    "awsCredentialExport",
    "otelHeadersHelper",
    "NODE_OPTIONS",
    "LD_PRELOAD",
];

/// Settings of git: what they say tells whether they do more than name branches and addresses.
const SETTINGS: &[&str] = &[
    ".config/git/config",
    ".git/config",
    ".git/config.worktree",
    ".git/modules/*/config",
    ".gitconfig",
    ".gitmodules",
];

/// The path is in small letters.
pub(super) fn is_obeyed(path: &str, content: &[u8]) -> bool {
    let steps: Vec<&str> = path
        .split('/')
        // Systems drop these, and the old short name is the same folder.
        .map(|step| step.trim_end_matches([' ', '.']))
        .map(|step| if step == "git~1" { ".git" } else { step })
        .filter(|step| !step.is_empty())
        .collect();
    let Some(name) = steps.last() else {
        return false;
    };
    let lies_at = |place: &&str| {
        let wanted = place.split('/').rev();
        let count = wanted.clone().count();
        steps.len() >= count
            && wanted
                .zip(steps.iter().rev())
                .all(|(wanted, step)| wanted == "*" || wanted == *step)
    };
    if name == &".gitattributes" {
        return !git::is_plain_attributes(content);
    }
    if SETTINGS.iter().any(lies_at) {
        return !git::is_plain(content);
    }
    let says = |word: &str| memchr::memmem::find(content, word.as_bytes()).is_some();
    let started = STARTS.iter().find(|(place, _)| lies_at(place));
    if let Some((_, words)) = started {
        // A word may be written in escapes.
        return says("\\u00") || words.iter().any(|word| says(word));
    }
    // What comes with every repository as a sample is not run.
    let is_kind = name.ends_with("._pth") || name.starts_with(".lldbinit-");
    is_kind || NAMES.contains(name) || !name.ends_with(".sample") && PLACES.iter().any(lies_at)
}

#[cfg(test)]
mod tests {
    use super::is_obeyed;

    #[test]
    fn helpers_of_editors_are_obeyed_where_they_start_something() {
        for (path, content) in [
            (".mcp.json", r#"{"mcpServers": {"a": {"command": "sh"}}}"#),
            ("x/.claude/settings.json", r#"{"hooks": {}}"#),
            (
                ".devcontainer/devcontainer.json",
                r#"{"initializeCommand": "id"}"#,
            ),
            (".mcp.json", r#"{"a": {"\u0063ommand": "sh"}}"#),
            (
                ".cursor/hooks.json",
                r#"{"hooks": {"stop": [{"command": "a"}]}}"#,
            ),
            (".codex/config.toml", "notify = ['sh']"),
            (
                ".claude/settings.json",
                r#"{"env": {"NODE_OPTIONS": "-r a"}}"#,
            ),
        ] {
            assert!(is_obeyed(path, content.as_bytes()), "{path}");
        }
        for (path, content) in [
            (
                ".mcp.json",
                r#"{"mcpServers": {"a": {"url": "https://a.invalid"}}}"#,
            ),
            (".claude/settings.json", r#"{"model": "a"}"#),
            (".codex/config.toml", "model = 'a'"),
            (
                ".devcontainer/devcontainer.json",
                r#"{"image": "a", "postCreateCommand": "b"}"#,
            ),
            ("settings.json", r#"{"hooks": {}}"#),
        ] {
            assert!(!is_obeyed(path, content.as_bytes()), "{path}");
        }
    }

    #[test]
    fn places_count_and_other_files_of_such_names_do_not() {
        for path in [
            ".git/config",
            "a/.git/hooks/post-checkout",
            "a/git~1/config",
            ".git./config",
            ".ipython/profile_default/startup/00.py",
            "home/a/.ssh/config",
            ".zshenv",
            "x/pip.conf",
            ".rprofile",
        ] {
            assert!(is_obeyed(path, b"[alias]\n\ta = !id\n"), "{path}");
        }
        for path in [
            "config",
            "git/config",
            ".git/hooks/pre-commit.sample",
            ".git/head",
            ".gitignore",
            "ssh/config",
            ".gitattributes",
            "startup/a.py",
            "a/hooks/x",
            "profile",
            "",
        ] {
            assert!(!is_obeyed(path, b"[alias]\n\ta = !id\n"), "{path}");
        }
    }
}
