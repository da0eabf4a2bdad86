#!/usr/bin/env python3
"""What do other scanners find of the corpus and of its variants, with how much CPU and memory? Prints a table.

usage: python3 artifact-scanner/corpus/compare.py [VENV]

VENV is a virtual environment, made where there is none (`target/compare` if it is not named); the scanners of Python's are
installed into it from PyPI, in the versions below. clamd and clamscan (Debian's clamav-daemon) run with our own rules and
every alert they have: no database comes with them. `file` is Debian's. What is missing has a row that says so. Files are
given under their own names where a disk allows it, one process a tool, one after the other. `own scope` is what is found
of the hostile files of the families that a tool is made for, of both sets; `fails on`, for how many files a tool of
Python's ended with an error or took more than 20 s, which counts as nothing found.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import venv

from judge import ROOT, build, samples
from measure import Clamd, Run, own_rules

CORPUS = ROOT / "artifact-scanner/corpus"
HERE = pathlib.Path(__file__).resolve().parent
# What the content of an ending may be to file(1), as far as that is one thing.
MEDIA = {
    "png": "image/png", "jpg": "image/jpeg", "gif": "image/gif", "webp": "image/webp", "pdf": "application/pdf", "zip": "application/zip",
    "gz": "application/gzip", "xz": "application/x-xz", "bz2": "application/x-bzip2", "zst": "application/zstd", "7z": "application/x-7z-compressed",
    "tar": "application/x-tar", "wav": "audio/x-wav", "mp4": "video/mp4", "sqlite": "application/vnd.sqlite3", "json": "application/json",
    "svg": "image/svg+xml", "html": "text/html", "xml": "text/xml", "bmp": "image/bmp", "h5": "application/x-hdf5", "txt": "text/plain",
}
RUNS = ("application/x-dosexec", "application/x-executable", "application/x-pie-executable", "application/x-sharedlib", "application/x-mach-binary", "application/java-archive", "text/x-msdos-batch")
ALERTS = ("BrokenExecutables", "BrokenMedia", "OLE2Macros", "PartitionIntersection", "PhishingSSLMismatch", "PhishingCloak")
PACKAGES = ("picklescan==1.0.5", "fickling==0.1.12", "typing_extensions", "modelscan==0.8.8", "oletools==0.60.2", "detect-secrets==1.5.0", "pdfid==1.1.3")


def laid(base, folder):
    """Writes the files of a set; (path, whether hostile, family)."""
    folder.mkdir()
    rows = []
    for number, (name, label, family, content) in enumerate(samples(base)):
        plain = name.replace("\0", "_").replace("/", "_").encode()[:200].decode(errors="ignore")
        path = folder / f"{number:04}" / plain
        path.parent.mkdir()
        path.write_bytes(content)
        rows.append((path, label not in ("clean", "active"), family))
    return rows


def ours(paths):
    run = Run(build("files"), *paths)
    # One line a file, in their order; a name may hold the end of a line.
    words = [word for word in re.findall(r"^\d+\t(\w+)\t", run.out, re.M)]
    return {path for path, word in zip(paths, words) if word not in ("Clean", "Active")}, run.cpu, run.kib


def clamd(paths):
    with tempfile.TemporaryDirectory() as folder:
        daemon = Clamd(f"{folder}/clamd", [f"Alert{alert} yes" for alert in ALERTS])
        try:
            before = daemon.cpu()
            found = {path for path in paths if daemon.scan(path.read_bytes()) != "stream: OK"}
            return found, daemon.cpu() - before, daemon.peak_kib()
        finally:
            daemon.end()


def clamscan(paths):
    with tempfile.TemporaryDirectory() as folder:
        own_rules(pathlib.Path(folder))
        alerts = ("broken", "broken-media", "encrypted", "macros", "exceeds-max", "phishing-ssl", "phishing-cloak", "partition-intersection")
        words = [f"--alert-{alert}=yes" for alert in alerts]
        limits = ("--max-filesize=200M", "--max-scansize=400M")
        run = Run("clamscan", "-d", folder, "--recursive", "--no-summary", "--infected", *limits, *words, paths[0].parent.parent)
        # 1 is that something was found.
        if run.code not in (0, 1):
            raise OSError(f"clamscan: exit {run.code}")
        numbers = set(re.findall(rf"^{re.escape(str(paths[0].parent.parent))}/(\d+)/", run.out, re.M))
        return {path for path in paths if path.parent.name in numbers}, run.cpu, run.kib


def magic(paths):
    run = Run("file", "--brief", "--mime-type", *paths)
    found = set()
    for path, media in zip(paths, run.out.splitlines()):
        wanted = MEDIA.get(path.suffix[1:].lower())
        if media in RUNS or (wanted and media not in (wanted, "inode/x-empty")):
            found.add(path)
    return found, run.cpu, run.kib


def python_tool(python, tool):
    def scan(paths):
        run = Run(python, HERE / "tools.py", tool, paths[0].parent.parent)
        if run.code:
            raise OSError(f"{tool}: exit {run.code}")
        *names, _, failed = run.out.split()
        return {path for path in paths if path.parent.name in names}, run.cpu, run.kib, int(failed)

    return scan


def installed(folder):
    """The interpreter of an environment that has the packages, or why there is none."""
    python = folder / "bin/python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    done = subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES], capture_output=True, text=True)
    return python, (done.stderr.strip().splitlines() or ["no reason given"])[-1] if done.returncode else None


def scanners(folder):
    """(name, what it scans with, the families it is made for; all where there are none)."""
    python, failed = installed(folder)

    def missing(reason):
        def scan(_):
            raise OSError(reason)

        return scan

    def program(name, package, scan):
        return scan if shutil.which(name) else missing(f"missing: apt-get install {package}")

    def of_python(tool):
        return missing(f"missing: pip: {failed}") if failed else python_tool(python, tool)

    virus = ("eicar", "encrypted", "bomb")
    return [
        ("artifact-scanner", ours, ()),
        ("clamd, our rules, all alerts", program("clamd", "clamav-daemon", clamd), virus),
        ("clamscan, the same", program("clamscan", "clamav", clamscan), virus),
        ("file(1) + endings", program("file", "file", magic), ("mismatch", "executable")),
        ("picklescan", of_python("picklescan"), ("pickle",)),
        ("fickling", of_python("fickling"), ("pickle",)),
        ("modelscan", of_python("modelscan"), ("pickle",)),
        ("oletools: olevba", of_python("olevba"), ("office",)),
        ("oletools: mraptor", of_python("mraptor"), ("office",)),
        ("oletools: olevba, msodde, rtfobj", of_python("oletools"), ("office",)),
        ("pdfid", of_python("pdfid"), ("pdf",)),
        ("detect-secrets", of_python("detect_secrets"), ("secret",)),
    ]


def row(tool, scan, families, sets):
    cells, seconds, most, size, own, failed = [], 0.0, 0, 0, [0, 0], 0
    for rows in sets:
        found, cpu, kib, *failures = scan([path for path, _, _ in rows])
        failed += sum(failures)
        cells.append(sum(bad and path in found for path, bad, _ in rows))
        cells.append(sum(not bad and path in found for path, bad, _ in rows))
        scope = [path in found for path, bad, family in rows if bad and (not families or family in families)]
        own = [own[0] + sum(scope), own[1] + len(scope)]
        seconds, most = seconds + cpu, max(most, kib)
        size += sum(path.stat().st_size for path, _, _ in rows)
    of = f" ({', '.join(families)})" if families else " (all)"
    return f"| {tool} | {' | '.join(map(str, cells))} | {own[0]} of {own[1]}{of} | {failed} | {size / 1e6 / max(seconds, 0.01):.2f} | {most / 1024:.0f} MiB |"


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "target/compare"
    failed = False
    with tempfile.TemporaryDirectory() as name:
        sets = [laid(CORPUS, pathlib.Path(name) / "corpus"), laid(CORPUS / "variants", pathlib.Path(name) / "variants")]
        counts = [(sum(bad for _, bad, _ in rows), sum(not bad for _, bad, _ in rows)) for rows in sets]
        print(f"| scanner | corpus: found of {counts[0][0]} | false of {counts[0][1]} | variants: found of {counts[1][0]} | false of {counts[1][1]} | own scope | fails on | MB per CPU second | most memory |")
        print("|---|---|---|---|---|---|---|---|---|")
        for tool, scan, families in scanners(folder):
            try:
                print(row(tool, scan, families, sets), flush=True)
            except (OSError, RuntimeError) as error:
                failed = True
                print(f"| {tool} | not measured: {error} |", flush=True)
    return failed


sys.exit(main())
