#!/usr/bin/env python3
"""What do other scanners find of the corpus and of its variants, with how much CPU and memory? Prints a table.

usage: python3 artifact-scanner/corpus/compare.py [VENV]

VENV has picklescan, fickling, modelscan, oletools and detect-secrets; those that are missing are left out, as is clamd
(Debian's clamav-daemon, with our own rules alone: no database comes with it) and `file`. Files are given under their own
names where a disk allows it, one process a tool, one after the other.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

from judge import ROOT, build, samples
from measure import Clamd, Run

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


def laid(base, folder):
    """Writes the files of a set; (path's name, whether hostile)."""
    folder.mkdir()
    rows = []
    for number, (name, label, _, content) in enumerate(samples(base)):
        plain = name.replace("\0", "_").replace("/", "_").encode()[:200].decode(errors="ignore")
        path = folder / f"{number:04}" / plain
        path.parent.mkdir()
        path.write_bytes(content)
        rows.append((path, label not in ("clean", "active")))
    return rows


def ours(paths):
    run = Run(build("files"), *paths)
    # One line a file, in their order; a name may hold the end of a line.
    words = [word for word in re.findall(r"^\d+\t(\w+)\t", run.out, re.M)]
    return {str(path) for path, word in zip(paths, words) if word not in ("Clean", "Active")}, run.cpu, run.kib


def clamd(paths):
    with tempfile.TemporaryDirectory() as folder:
        daemon = Clamd(f"{folder}/clamd")
        try:
            before = daemon.cpu()
            found = {str(path) for path in paths if daemon.scan(path.read_bytes()) != "stream: OK"}
            return found, daemon.cpu() - before, daemon.peak_kib()
        finally:
            daemon.end()


def magic(paths):
    run = Run("file", "--brief", "--mime-type", *paths)
    found = set()
    for path, media in zip(paths, run.out.splitlines()):
        wanted = MEDIA.get(path.suffix[1:].lower())
        if media in RUNS or (wanted and media not in (wanted, "inode/x-empty")):
            found.add(str(path))
    return found, run.cpu, run.kib


def python_tool(venv, tool):
    def scan(paths):
        base = paths[0].parent.parent
        run = Run(venv / "bin/python", HERE / "tools.py", tool, base)
        if run.code:
            raise OSError(f"{tool}: exit {run.code}")
        found = {str(path) for path in paths if path.parent.name in run.out.split()}
        return found, run.cpu, run.kib

    return scan


def main():
    tools = {"artifact-scanner": ours, "clamd, our rules, all alerts": clamd, "file(1) + endings": magic}
    venv = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else None
    for tool in ("picklescan", "fickling", "modelscan", "oletools", "detect_secrets") if venv else ():
        there = subprocess.run([venv / "bin/python", "-c", f"import {tool}"], capture_output=True).returncode == 0
        if there:
            tools[tool.replace("_", "-")] = python_tool(venv, tool)
    with tempfile.TemporaryDirectory() as name:
        sets = [laid(CORPUS, pathlib.Path(name) / "corpus"), laid(CORPUS / "variants", pathlib.Path(name) / "variants")]
        counts = [(sum(bad for _, bad in rows), sum(not bad for _, bad in rows)) for rows in sets]
        print(f"| scanner | corpus: found of {counts[0][0]} | false of {counts[0][1]} | variants: found of {counts[1][0]} | false of {counts[1][1]} | MB per CPU second | most memory |")
        print("|---|---|---|---|---|---|---|")
        for tool, scan in tools.items():
            cells, seconds, most, size = [], 0.0, 0, 0
            try:
                for rows in sets:
                    found, cpu, kib = scan([path for path, _ in rows])
                    cells.append(sum(bad and str(path) in found for path, bad in rows))
                    cells.append(sum(not bad and str(path) in found for path, bad in rows))
                    seconds, most = seconds + cpu, max(most, kib)
                    size += sum(path.stat().st_size for path, _ in rows)
            except (OSError, RuntimeError) as error:
                print(f"| {tool} | not measured: {error} |")
                continue
            print(f"| {tool} | {' | '.join(map(str, cells))} | {size / 1e6 / max(seconds, 0.01):.2f} | {most / 1024:.0f} MiB |", flush=True)


main()
