#!/usr/bin/env python3
"""Does the scanner list every member that other unpackers list, of archives that were changed at random?

usage: python3 artifact-scanner/corpus/archives.py [COUNT]

COUNT (2,000 unless told) zips and tars, changed at random. Python's zipfile and tarfile, and of 7z, unzip and bsdtar
those that are installed, list each. A file that one of them lists and the scanner does not, while its word on the
archive is clean, fails; so do fewer than Python's own readers and one other.
"""
import collections
import concurrent.futures
import io
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

from judge import is_held, judged


def zipped(dice):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", dice.choice([0, 8, 12])) as archive:
        for number in range(dice.randrange(1, 6)):
            archive.writestr(f"d{number}/f{number}.txt", b"1,2\n" * dice.randrange(40))
        archive.comment = dice.choice([b"", b"a comment"])
    return "a.zip", out.getvalue()


def tarred(dice):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=dice.choice([0, 1, 2])) as archive:
        for number in range(dice.randrange(1, 6)):
            info = tarfile.TarInfo(dice.choice(["", "long/" * 30]) + f"d{number}/f{number}.txt")
            content = b"1,2\n" * dice.randrange(300)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return "a.tar", out.getvalue()


def changed(content, dice):
    content = bytearray(content)
    heads = [at for mark in (b"PK\1\2", b"PK\3\4", b"PK\5\6", b"ustar") for at in places(content, mark)]
    for _ in range(dice.randrange(1, 4)):
        way = dice.randrange(8)
        at = dice.choice(heads) + dice.randrange(48) if heads and dice.randrange(3) else dice.randrange(len(content))
        at = min(at, len(content) - 1)
        if way < 3:
            content[at] = dice.choice([0, 1, 0xFF, 0x2F, 0x30, 0x31, dice.randrange(256)])
        elif way == 3:
            content[at : at + 4] = dice.randbytes(4)
        elif way == 4:
            end = dice.choice(heads) if heads else len(content)
            content[at:at] = content[min(at, end) : max(at, end)][:600]
        elif way == 5:
            del content[at : at + dice.randrange(1, 60)]
        elif way == 6:
            content = content[: max(at, 30)]
        else:
            content += dice.choice([b"", bytes(512), bytes(content[: dice.randrange(1, 900)])])
        if not content:
            content = bytearray(b"x")
    return bytes(content)


def places(content, mark):
    at = content.find(mark)
    while at >= 0:
        yield at
        at = content.find(mark, at + 1)


def python_lists(content):
    names = set()
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names |= {info.filename for info in archive.infolist() if not info.is_dir()}
    except Exception:  # a reader that fails lists nothing
        pass
    try:
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            for info in archive:
                if info.isreg():
                    names.add(info.name)
    except Exception:
        pass
    return names


def seven(path):
    """`7z l -slt`: a block for each member, folders told by their attributes."""
    out = run("7z", "l", "-slt", "-p-", path)
    names = set()
    for block in out.partition("----------\n")[2].split("\n\n"):
        fields = dict(line.split(" = ", 1) for line in block.splitlines() if " = " in line)
        if fields.get("Path") and fields.get("Folder") != "+" and not fields.get("Attributes", "").startswith("D"):
            names.add(fields["Path"])
    return names


def unzipped(path):
    return {line for line in run("unzip", "-Z1", path).splitlines() if line and not line.endswith("/")}


def bsd(path):
    rows = [line.split(None, 8) for line in run("bsdtar", "-tvf", path).splitlines()]
    return {row[8] for row in rows if len(row) == 9 and row[0].startswith("-")}


def run(*words):
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=20)
    except subprocess.TimeoutExpired:
        return ""
    return done.stdout.decode(errors="replace")


READERS = {"7z": seven, "unzip": unzipped, "bsdtar": bsd}


def plain(name):
    """Readers differ in how they show odd bytes and where they put dots; letters are compared."""
    name = re.sub(r"\\[0-7]{3}", "?", name).replace("\\", "/")
    return "".join(c if c.isascii() and c.isprintable() else "?" for c in name).lstrip("./").rstrip("/")


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    readers = {name: reader for name, reader in READERS.items() if shutil.which(name)}
    if count >= 2000 and not readers:
        sys.exit("archives.py: none of 7z, unzip, bsdtar is installed")
    dice = random.Random(7)
    files = []
    for number in range(count):
        name, content = (zipped if number % 2 else tarred)(dice)
        files.append((f"{number}-{name}", changed(content, dice)))
    answers = judged(files)
    listed = collections.Counter()
    missed = []
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        paths = []
        for name, content in files:
            paths.append(pathlib.Path(folder) / name)
            paths[-1].write_bytes(content)
        lists = {"python": [python_lists(content) for _, content in files]}
        for reader, read in readers.items():
            lists[reader] = list(pool.map(read, paths))
    for at, answer in enumerate(answers):
        ours = {plain(name) for name in answer["members"]}
        for reader, names in lists.items():
            listed[reader] += bool(names[at])
            more = {plain(name) for name in names[at]} - ours - {""}
            if more and not is_held(answer):
                missed.append((answer["name"], reader, more, ours))
    clean = sum(not is_held(answer) for answer in answers)
    print(f"{count} changed archives; not clean {count - clean}, clean {clean}")
    print("archives of which a reader lists something: " + ", ".join(f"{k} {v}" for k, v in listed.items()))
    for row in missed[:20]:
        print("MISSED", *row)
    print(f"clean, with a member that only another reader lists: {len(missed)}")
    sys.exit(1 if missed else 0)


main()
