#!/usr/bin/env python3
"""Is the scanner as fast and as small as it says? Prints a table with a column that says pass or FALLS SHORT.

usage: python3 artifact-scanner/corpus/bench.py

Needs clamd (Debian's clamav-daemon). Throughput is of CPU seconds, on the same data with the same rules, in turn, the
middle of three, so that what else the machine does counts as little as may be. clamd remembers what it found clean and
does not scan it again, which the mixed data has twice: the goal is against that, and a row says what it is without.
Exit 1 where a figure falls short.
"""
import csv
import gzip
import io
import json
import pathlib
import random
import statistics
import struct
import subprocess
import sys
import tempfile
import zipfile
import zlib

from judge import ROOT, build, judged, samples
from measure import Clamd, Run

CORPUS = ROOT / "artifact-scanner/corpus"


def drawn(dice, rows):
    """A table."""
    text = io.StringIO()
    lines = csv.writer(text)
    for number in range(rows):
        lines.writerow([number, f"name {number % 997}", round(dice.gauss(0, 1), 6), round(dice.uniform(-90, 90), 5), "2024-01-%02d" % (number % 28 + 1)])
    return text.getvalue().encode()


def array(dice):
    numbers = struct.pack("<2000000d", *(dice.random() for _ in range(2_000_000)))
    head = b"{'descr': '<f8', 'fortran_order': False, 'shape': (2000000,), }".ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + numbers


def mixed(folder):
    """Some 140 MB of what data jobs make, nothing of it twice: a scanner that remembers files has nothing to remember."""
    dice = random.Random(3)
    items = json.dumps([{"id": n, "score": dice.random(), "tags": ["a", "b"], "text": f"row {n % 1009}"} for n in range(90_000)]).encode()
    page = b"<!doctype html><html><body><table>" + b"".join(b"<tr><td>%d</td><td>row %d</td></tr>\n" % (n, n % 97) for n in range(160_000)) + b"</table></body></html>"
    chunk = lambda kind, body: struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    pixels = zlib.compress(b"".join(b"\0" + dice.randbytes(3000) for _ in range(3000)), 1)
    picture = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1000, 3000, 8, 2, 0, 0, 0)) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.csv", drawn(dice, 250_000))
        archive.writestr("b.npy", array(dice))
    files = {
        "a.csv": drawn(dice, 250_000), "b.csv": drawn(dice, 125_000), "a.json": items, "a.html": page, "a.npy": array(dice), "b.npy": array(dice),
        "a.png": picture, "a.zip": packed.getvalue(), "a.csv.gz": gzip.compress(drawn(dice, 250_000), 5), "log.txt": drawn(dice, 250_000)[::-1] + b"\n",
        "c.tsv": drawn(dice, 250_000).replace(b",", b"\t"), "random.bin": dice.randbytes(16 << 20),
    }
    paths = []
    for name, content in files.items():
        paths.append(folder / name)
        paths[-1].write_bytes(content)
    return paths


class Throughput:
    """Seconds of CPU for each file and for all: ours, clamd's, and those of a clamd that remembers nothing."""

    ROUNDS = 3

    def __init__(self, files, folder, paths):
        self.paths = paths
        self.size = sum(path.stat().st_size for path in paths)
        rounds = [(self.ours(files), self.clamd(folder / f"{number}"), self.clamd(folder / f"{number}n", ["DisableCache yes"])) for number in range(self.ROUNDS)]
        self.files, self.clamd_files, self.all_files = ([statistics.median(times) for times in zip(*each)] for each in zip(*rounds))
        self.sum, self.clamd_sum, self.all_sum = self.files[-1], self.clamd_files[-1], self.all_files[-1]

    def ours(self, files):
        start = Run(files).cpu
        return [Run(files, path).cpu - start for path in self.paths] + [Run(files, *self.paths).cpu]

    def clamd(self, folder, lines=()):
        clamd = Clamd(folder, lines)
        try:
            marks = [clamd.cpu()]
            for path in self.paths:
                clamd.scan(path.read_bytes())
                marks.append(clamd.cpu())
        finally:
            clamd.end()
        return [behind - before for before, behind in zip(marks, marks[1:])] + [marks[-1] - marks[0]]

    def print(self):
        print(f"{'MB per CPU second':<58} {'ours':>14} {'clamd':>14}")
        for path, ours, theirs in zip(self.paths, self.files, self.all_files):
            size = path.stat().st_size / 1e6
            print(f"{path.name:<58} {size / max(ours, 1e-3):>14.0f} {size / max(theirs, 1e-2):>14.0f}")
        mega = self.size / 1e6
        print(f"({mega:.0f} MB in one run: ours {mega / self.sum:.0f}, clamd {mega / self.clamd_sum:.1f}, without its memory {mega / self.all_sum:.1f})")


class Table:
    def __init__(self):
        self.short = False
        print(f"{'figure':<58} {'goal':>14} {'measured':>14}")

    def row(self, what, goal, measured, fits):
        self.short |= not fits
        print(f"{what:<58} {goal:>14} {measured:>14}  {'pass' if fits else 'FALLS SHORT'}", flush=True)


def main():
    files = build("files")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        paths = mixed(folder)
        talkative = Clamd(folder / "rules", ["Debug yes"])
        try:
            loaded, own = talkative.rules()
        finally:
            talkative.end()
        speed = Throughput(files, folder, paths)
        speed.print()
        table = Table()
        rules = f"the same {own} rules" if loaded == own else f"{loaded} of our {own} rules"
        ratio, bare = speed.clamd_sum / speed.sum, speed.all_sum / speed.sum
        table.row(f"throughput per CPU second, of clamd's with {rules}", ">= 10 x", f"{ratio:.1f} x", ratio >= 10)
        table.row("the same, of a clamd that does not remember files", "-", f"{bare:.1f} x", True)
        run = Run(files, *paths)
        table.row("most memory on mixed data", "-", f"{run.kib / 1024:.0f} MiB", True)

        all_samples = [row for base in (CORPUS, CORPUS / "variants") for row in samples(base)]
        small = [(name, content) for name, _, family, content in all_samples if len(content) <= 64 << 10 and "bomb" not in family]
        times = sorted(answer["micros"] for answer in judged(small * 5))
        middle, late = times[len(times) // 2] / 1000, times[len(times) * 99 // 100] / 1000
        table.row(f"small files ({len(small)} of up to 64 KiB, 5 times), p50", "<= 0.3 ms", f"{middle:.3f} ms", middle <= 0.3)
        table.row("the same, p99", "<= 5 ms", f"{late:.2f} ms", late <= 5)

        stored, bombs = [], []
        for number, (sample, _, family, content) in enumerate(all_samples):
            ending = pathlib.PurePosixPath(sample.replace("\0", "_").replace("/", "_")).suffix[:20]
            path = folder / f"{number}{ending if ending.isascii() and ending.isprintable() else ''}"
            path.write_bytes(content)
            stored.append(path)
            if family == "bomb":
                bombs.append((sample, path))
        run = Run(files, *[path for path, row in zip(stored, all_samples) if row[2] != "bomb"])
        table.row("most memory on the corpus and its variants, but bombs", "<= 48 MiB", f"{run.kib / 1024:.0f} MiB", run.kib <= 48 << 10)
        large = folder / "large.csv"
        with large.open("wb") as sparse:
            sparse.truncate(1 << 30)
        run = Run(files, large)
        word = run.out.split("\t")[1]
        fits = run.kib <= 96 << 10 and word == "Unscannable"
        table.row(f"a file of 1 GiB ({word.lower()}: over the limit, not read)", "<= 96 MiB", f"{run.kib / 1024:.0f} MiB", fits)

        slowest, largest = ("", 0), ("", 0)
        for sample, path in bombs:
            run = Run(files, path)
            word = run.out.split("\t")[1]
            if word in ("Clean", "Active"):
                table.row(f"bomb {sample}", "not clean", word, False)
            slowest = max(slowest, (sample, run.cpu * 1000), key=lambda row: row[1])
            largest = max(largest, (sample, run.kib / 1024), key=lambda row: row[1])
        table.row(f"{len(bombs)} bombs, each a process: slowest, CPU ({slowest[0]})", "<= 300 ms", f"{slowest[1]:.0f} ms", slowest[1] <= 300)
        table.row(f"the same: most memory ({largest[0]})", "<= 64 MiB", f"{largest[1]:.0f} MiB", largest[1] <= 64)
    tree = subprocess.check_output(["cargo", "tree", "-p", "artifact-scanner", "-e", "normal", "--prefix", "none", "--no-dedupe"], cwd=ROOT, text=True)
    crates = len({line.split(" (")[0] for line in tree.splitlines() if line})
    table.row("crates of the default build", "<= 150", str(crates), crates <= 150)
    sys.exit(1 if table.short else 0)


main()
