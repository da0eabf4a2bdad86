//! Are lines and kernels that start something told from those that do not?

use super::*;

#[track_caller]
fn judge(path: &str, text: &str, expected: Option<Severity>) {
    let mut notes = Notes::default();
    check(path, text, &mut notes);
    assert_eq!(notes.worst(), expected, "{path} {text}");
}

const NAMESPACE: &str = "import sys, types, os;has_mfs = sys.version_info > (3, 5);p = os.path.join(sys._getframe(1).f_locals['sitedir'], *('mpl_toolkits',));importlib = has_mfs and __import__('importlib.util');has_mfs and __import__('importlib.machinery');m = has_mfs and sys.modules.setdefault('mpl_toolkits', importlib.util.module_from_spec(importlib.machinery.PathFinder.find_spec('mpl_toolkits', [os.path.dirname(p)])));m = m or sys.modules.setdefault('mpl_toolkits', types.ModuleType('mpl_toolkits'));mp = (m or []) and m.__dict__.setdefault('__path__',[]);(p not in mp) and mp.append(p)";

#[test]
fn paths_are_told_from_code() {
    let inner = NAMESPACE.replace("*('mpl_toolkits',)", "*('a','b')")
        + ";m and setattr(sys.modules['a'], 'b', m)\n";
    for text in [
        "/usr/lib/python3\n../src\nimportlib_x\n# import os\n",
        "import _virtualenv",
        "import os; var = 'SETUPTOOLS_USE_DISTUTILS'; enabled = os.environ.get(var, 'local') == 'local'; enabled and __import__('_distutils_hack').add_shim(); \n",
        "import __editable___a_0_1_finder; __editable___a_0_1_finder.install()\n",
        "import _a_editable_loader\n",
        "import _a_editable\n",
        "import _editable_impl_a\n",
        MEASURING[0],
        MEASURING[1],
        NAMESPACE,
        &inner,
    ] {
        judge("lib/a.pth", text, None);
    }
    for text in [
        "import os; os.system('id')",
        "/usr/lib\r\nimport\tevil\r\n",
        "a\x0cimport evil",
        "import _virtualenv, evil",
        "import _a_editable, evil",
        "import _editable_impl_a; evil()",
        "import _editable",
        &(MEASURING[0].to_owned() + "; import evil"),
        "import __editable___a_finder; __editable___b_finder.install()",
        "import os; var = 'A'; enabled = os.environ.get(var, 'a') == 'a'; enabled and __import__('evil').add_shim(); ",
        &(NAMESPACE.to_owned() + ";import evil"),
        &NAMESPACE.replace("'importlib.util'", "'evil.util'"),
    ] {
        judge("lib/A.PTH", text, Some(Severity::Suspicious));
    }
    judge("a.txt", "import os; os.system('id')", None);
}

#[test]
fn kernels_are_told_from_commands() {
    let kernel = |arguments: &[&str]| serde_json::json!({"argv": arguments}).to_string();
    for arguments in [
        &[
            "/usr/bin/python3",
            "-m",
            "ipykernel_launcher",
            "-f",
            "{connection_file}",
        ][..],
        &[
            "python3.11",
            "-Xfrozen_modules=off",
            "-m",
            "bash_kernel",
            "-c",
            "x",
        ],
        &[
            "R",
            "--slave",
            "-e",
            "IRkernel::main()",
            "--args",
            "{connection_file}",
        ],
        &[
            "julia",
            "-i",
            "--color=yes",
            "-e",
            "import IJulia; IJulia.run_kernel()",
            "{connection_file}",
        ],
        &["julia", "-i", "kernel.jl", "{connection_file}"],
        &["bash", "kernel.sh", "{connection_file}"],
        &[
            "conda",
            "run",
            "-n",
            "a",
            "python",
            "-m",
            "ipykernel",
            "-f",
            "{connection_file}",
        ],
        &["xcpp", "-f", "{connection_file}", "-std=c++17"],
        &["node", "kernel.js", "{connection_file}"],
        &["ilua", "-i", "lua", "-c", "{connection_file}"],
    ] {
        judge("a/kernel.json", &kernel(arguments), None);
    }
    for arguments in [
        &["bash", "-c", "id"][..],
        &["/bin/sh", "-ec", "id"],
        &["env", "A=b", "bash", "-lc", "id"],
        &["CMD.EXE", "/c", "calc"],
        &["powershell", "-EncodedCommand", "aQBkAA=="],
        &["python3", "-c", "import os"],
        &["python", "-cimport os", "{connection_file}"],
        &["R", "-e", "system('id')"],
        &["perl", "-e", "exec 'id'"],
        &["perl", "-we", "exec 'id'"],
        &["python3", "-Bc", "import os"],
        &["curl", "https://a.invalid"],
    ] {
        judge(
            "a/kernel.json",
            &kernel(arguments),
            Some(Severity::Suspicious),
        );
    }
    let preloads = r#"{"argv": ["python", "-m", "ipykernel"], "env": {"LD_PRELOAD": "./a.so"}}"#;
    judge("kernel.json", preloads, Some(Severity::Suspicious));
    let plain = r#"{"argv": ["python", "-m", "ipykernel"], "env": {"OMP_NUM_THREADS": "1"}}"#;
    judge("kernel.json", plain, None);
    let spark = r#"{"argv": ["python", "-m", "ipykernel"], "env": {"PYTHONSTARTUP": "/opt/spark/python/pyspark/shell.py"}}"#;
    judge("kernel.json", spark, None);
    let startup = spark.replace("/pyspark/shell.py", "/a.py");
    judge("kernel.json", &startup, Some(Severity::Suspicious));
    let lenient = r#"{"argv": ["sh", "-c", "id"], "a": "\ud800"}"#;
    judge("kernel.json", lenient, Some(Severity::Suspicious));
    judge("other.json", &kernel(&["bash", "-c", "id"]), None);
}
