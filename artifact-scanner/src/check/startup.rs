//! What does a program start because a text of its settings says so, in a form of its own?
//!
//! Python carries out the lines of a `.pth` that begin with `import` whenever it starts; notebooks start
//! the kernel that a `kernel.json` describes.

use super::decode;
use crate::{Notes, Severity};
use serde_json::Value;
use std::fmt::Write as _;

/// Lines that installers write, with names in quotes left out.
const INSTALLED: [&str; 5] = [
    "import _virtualenv",
    "import pywin32_bootstrap",
    "import os; var = ''; enabled = os.environ.get(var, '') == ''; enabled and __import__('').add_shim();",
    "import sys, types, os;has_mfs = sys.version_info > (3, 5);p = os.path.join(sys._getframe(1).f_locals[''], *(''));importlib = has_mfs and __import__('');has_mfs and __import__('');m = has_mfs and sys.modules.setdefault('', importlib.util.module_from_spec(importlib.machinery.PathFinder.find_spec('', [os.path.dirname(p)])));m = m or sys.modules.setdefault('', types.ModuleType(''));mp = (m or []) and m.__dict__.setdefault('',[]);(p not in mp) and mp.append(p)",
    "import sys, types, os;p = os.path.join(sys._getframe(1).f_locals[''], *(''));ie = os.path.exists(os.path.join(p,''));m = not ie and sys.modules.setdefault('', types.ModuleType(''));mp = (m or []) and m.__dict__.setdefault('',[]);(p not in mp) and mp.append(p)",
];
/// Lines that measure which lines of a program ran, in the programs that it starts, too.
const MEASURING: [&str; 2] = [
    r#"import sys; exec('import os\n\nif os.getenv("COVERAGE_PROCESS_START") or os.getenv("COVERAGE_PROCESS_CONFIG"):\n try:\n  import coverage\n except:\n  pass\n else:\n  coverage.process_startup(slug="pth")')"#,
    r#"import os, sys;exec('if \'COV_CORE_SOURCE\' in os.environ:\n try:\n  from pytest_cov.embed import init\n  init()\n except Exception as exc:\n  sys.stderr.write(\n   "pytest-cov: Failed to setup subprocess coverage. "\n   "Environ: {0!r} "\n   "Exception: {1!r}\\n".format(\n    dict((k, v) for k, v in os.environ.items() if k.startswith(\'COV_CORE\')),\n    exc\n   )\n  )\n')"#,
];

/// What a package within a package adds to that.
const INNER: &str = ";m and setattr(sys.modules[''], '', m)";
/// Modules that these lines fetch by their names.
const MODULES: [&str; 3] = ["_distutils_hack", "importlib.util", "importlib.machinery"];

/// How interpreters take source as an argument; those of shells are told apart below.
const SOURCE: [&str; 6] = ["-c", "-e", "--eval", "-pe", "-r", "--exec"];
const INTERPRETERS: [&str; 12] = [
    "python",
    "pypy",
    "perl",
    "ruby",
    "node",
    "deno",
    "lua",
    "php",
    "r",
    "rscript",
    "julia",
    "osascript",
];
const SHELLS: [&str; 10] = [
    "sh",
    "bash",
    "dash",
    "zsh",
    "ksh",
    "fish",
    "busybox",
    "cmd",
    "powershell",
    "pwsh",
];
/// Programs that fetch, or that start what they are given.
const FETCHERS: [&str; 8] = [
    "curl", "wget", "nc", "ncat", "socat", "mshta", "wscript", "cscript",
];
/// What kernels of other languages are started with.
const KERNELS: [&str; 2] = ["IRkernel::main()", "import IJulia; IJulia.run_kernel()"];
/// Variables that have a program load something else first.
const LOADED: [&str; 10] = [
    "LD_PRELOAD",
    "LD_AUDIT",
    "DYLD_INSERT_LIBRARIES",
    "PYTHONSTARTUP",
    "BASH_ENV",
    "PERL5OPT",
    "RUBYOPT",
    "NODE_OPTIONS",
    "R_PROFILE",
    "R_PROFILE_USER",
];

/// Looks at settings that say what is to be run; any other text is none.
pub(crate) fn check(path: &str, text: &str, notes: &mut Notes) {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    if name == "kernel.json" {
        kernel(text, notes);
    } else if name
        .rsplit_once('.')
        .is_some_and(|(_, ending)| ending == "pth")
    {
        paths(text, notes);
    }
}

fn paths(text: &str, notes: &mut Notes) {
    // The ends of lines that Python knows.
    let mut lines = text.split([
        '\n', '\r', '\x0b', '\x0c', '\x1c', '\x1d', '\x1e', '\u{85}', '\u{2028}', '\u{2029}',
    ]);
    let acts = |line: &&str| {
        line.strip_prefix("import")
            .is_some_and(|rest| rest.starts_with([' ', '\t']))
    };
    if lines.any(|line| acts(&line) && !is_installed(line)) {
        notes.find(
            "startup.path",
            Severity::Suspicious,
            "",
            "paths for Python with a line of code, which runs whenever Python starts",
        );
    }
}

fn is_installed(line: &str) -> bool {
    let line = line.trim_end();
    if MEASURING.contains(&line) || line.strip_prefix("import ").is_some_and(is_editable) {
        return true;
    }
    // `pip install -e` writes the name of the module twice.
    let editable = line.strip_prefix("import __editable__").and_then(|rest| {
        let (module, call) = rest.split_once("; ")?;
        let call = call.strip_prefix("__editable__")?;
        Some(is_name(module) && call.strip_prefix(module)? == ".install()")
    });
    if editable == Some(true) {
        return true;
    }
    let Some(mut bare) = without_names(line) else {
        return false;
    };
    if bare.ends_with(INNER) {
        bare.truncate(bare.len() - INNER.len());
    }
    INSTALLED.contains(&bare.as_str())
}

/// The one module that builders other than setuptools have a package loaded with from where it is
/// written.
fn is_editable(module: &str) -> bool {
    let named = module.strip_prefix("_editable_impl_").or_else(|| {
        let built = ["_editable", "_editable_loader"];
        built
            .iter()
            .find_map(|end| module.strip_prefix('_')?.strip_suffix(end))
    });
    named.is_some_and(|name| !name.is_empty() && is_name(name))
}

fn is_name(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// The line with nothing within its quotes; none where a quote holds more than names.
fn without_names(line: &str) -> Option<String> {
    const LINE_BYTES_MAX: usize = 2000;
    if line.len() > LINE_BYTES_MAX {
        return None;
    }
    let mut bare = String::new();
    for (number, piece) in line.split('\'').enumerate() {
        if number % 2 == 0 {
            // Names one after another are one.
            if number > 0 && piece == "," {
                continue;
            }
            write!(bare, "{piece}").ok()?;
            continue;
        }
        let is_name = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.');
        let fetched = bare.ends_with("__import__(");
        if !piece.bytes().all(is_name) || fetched && !MODULES.contains(&piece) {
            return None;
        }
        if !bare.ends_with("''") {
            bare.push_str("''");
        }
    }
    Some(bare.replace("'',)", "'')"))
}

fn kernel(text: &str, notes: &mut Notes) {
    // What only a more lenient reader than ours takes is not known to be harmless.
    let read = serde_json::from_str::<Value>(text.trim_start_matches('\u{feff}'));
    let is_read = read.is_ok();
    let kernel = read.unwrap_or_default();
    let arguments: Vec<&str> = kernel
        .get("argv")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let variables = kernel.get("env").and_then(Value::as_object);
    let loads = variables.is_some_and(|variables| {
        let is_loaded = |name: &String| LOADED.contains(&name.to_ascii_uppercase().as_str());
        variables
            .iter()
            .any(|(name, value)| is_loaded(name) && !is_spark(name, value))
    });
    if !is_read || loads || runs_source(&arguments) {
        notes.find(
            "startup.kernel",
            Severity::Suspicious,
            "",
            "the kernel of a notebook is started by way of a shell, with code of its own, or with something loaded first",
        );
    }
}

/// How Spark gives a notebook its session: by a script of its own, as kernels are scripts.
fn is_spark(name: &str, value: &Value) -> bool {
    let script = value.as_str().unwrap_or("");
    name == "PYTHONSTARTUP" && script.ends_with("/python/pyspark/shell.py")
}

fn runs_source(arguments: &[&str]) -> bool {
    let named = |argument: &str| {
        let name = argument.rsplit(['/', '\\']).next().unwrap_or(argument);
        name.to_ascii_lowercase()
            .trim_end_matches(".exe")
            .to_owned()
    };
    // What is started may start the next one: `env`, `nice`, `conda run`.
    arguments.iter().enumerate().any(|(at, argument)| {
        let name = named(argument);
        let base = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        let rest = &arguments[at + 1..];
        if SHELLS.contains(&name.as_str()) {
            return rest.iter().any(|argument| is_command(argument));
        }
        if !INTERPRETERS.contains(&base) {
            return at == 0 && FETCHERS.contains(&name.as_str());
        }
        let code = rest.windows(2).any(|pair| {
            let glued = pair[0].len() > 2 && base != "r" && base != "julia";
            let glued = glued && ["-c", "-e"].iter().any(|flag| pair[0].starts_with(flag));
            let settings = pair[1] == "{connection_file}";
            let glued = glued || is_bundle(base, pair[0]);
            glued || SOURCE.contains(&pair[0]) && !settings && !KERNELS.contains(&pair[1].trim())
        });
        // All behind a module is the module's.
        code && !rest
            .iter()
            .take_while(|one| !SOURCE.contains(*one))
            .any(|one| *one == "-m")
    })
}

/// Whether flags of one letter come together, the last of which takes source: `-Bc`, `-we`.
fn is_bundle(base: &str, argument: &str) -> bool {
    let (letters, last) = match base {
        "python" | "pypy" => ("bBdEhiIOPqRsStuvVx", 'c'),
        "perl" | "ruby" => ("aclnpsSTtUuvwW", 'e'),
        _ => return false,
    };
    let flags = argument
        .strip_prefix('-')
        .and_then(|rest| rest.strip_suffix(last));
    flags.is_some_and(|flags| !flags.is_empty() && flags.chars().all(|c| letters.contains(c)))
}

/// Whether a shell takes what follows for a command: `-c`, `-lc`, `/c`, `-Command`, `-enc`.
fn is_command(argument: &str) -> bool {
    let lower = decode::head(argument, 40).to_ascii_lowercase();
    let flags = lower.strip_prefix('-').unwrap_or("");
    let letters = flags.len() <= 4 && flags.bytes().all(|b| b.is_ascii_alphabetic());
    matches!(lower.as_str(), "/c" | "/k")
        || letters && flags.contains('c')
        || flags.starts_with("command")
        || flags.starts_with("enc")
}

#[cfg(test)]
mod tests;
