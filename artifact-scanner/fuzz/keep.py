#!/usr/bin/env python3
"""Which inputs of the fuzzer are kept? The least that reaches what all of them reach, the shortest first, as far as room is; and what broke something.

usage: keep.py PROGRAM TARGET SEEDS      writes artifact-scanner/corpus/kept/TARGET.x
       keep.py found TARGET FILE         adds an input that broke the target to artifact-scanner/corpus/found/TARGET.x
"""
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

CORPUS = pathlib.Path(__file__).resolve().parent.parent / "corpus"
MASK = bytes(byte ^ 0xA5 for byte in range(256))
# Of one input, and of all of a target.
BYTES_MAX, ALL_BYTES_MAX = 2048, 16 << 10


def record(content):
    return struct.pack("<H", len(content)) + content


def least(program, target, seeds):
    with tempfile.TemporaryDirectory() as folder:
        words = [program, "-merge=1", "-timeout=20", f"-artifact_prefix={seeds}-", f"-max_len={BYTES_MAX}", folder, seeds]
        environment = {name: value for name, value in os.environ.items() if name != "KILN_FUZZ_SEEDS"}
        subprocess.run(words, env=environment | {"KILN_FUZZ_TARGET": target}, check=True, stderr=subprocess.DEVNULL)
        return sorted((path.read_bytes() for path in pathlib.Path(folder).iterdir()), key=lambda content: (len(content), content))


def main():
    program, target, path = sys.argv[1:]
    stored = CORPUS / ("found" if program == "found" else "kept") / f"{target}.x"
    kept = b""
    if program == "found":
        kept = stored.read_bytes().translate(MASK) if stored.exists() else b""
        kept += record(pathlib.Path(path).read_bytes())
    else:
        for content in least(program, target, path):
            if len(kept) + len(record(content)) <= ALL_BYTES_MAX:
                kept += record(content)
    stored.parent.mkdir(exist_ok=True)
    stored.write_bytes(kept.translate(MASK))


main()
