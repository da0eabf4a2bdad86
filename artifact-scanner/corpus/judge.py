"""How do the scripts of the corpus ask the scanner? By `--example judge`, one record a file."""
import json
import os
import pathlib
import struct
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MASK = bytes(byte ^ 0xA5 for byte in range(256))


def build(example):
    """The program, built in release, or in debug where `KILN_SCAN_PROFILE` is `dev`; its path."""
    profile = os.environ.get("KILN_SCAN_PROFILE", "release")
    words = ["--quiet", "--locked", "--profile", profile, "-p", "artifact-scanner", "--example", example]
    subprocess.run(["cargo", "build", *words], cwd=ROOT, check=True)
    found = json.loads(subprocess.check_output(["cargo", "metadata", "--no-deps", "--format-version", "1"], cwd=ROOT))
    folder = "debug" if profile == "dev" else profile
    return pathlib.Path(found["target_directory"]) / folder / "examples" / example


def judged(files):
    """What is said of (name, bytes), in their order."""
    program = build("judge")
    with tempfile.TemporaryFile() as records:
        for name, content in files:
            name = name.encode(errors="surrogateescape")
            records.write(struct.pack("<I", len(name)) + name + struct.pack("<I", len(content)) + content)
        records.seek(0)
        out = subprocess.run([program], stdin=records, stdout=subprocess.PIPE, check=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def is_held(answer):
    return answer["verdict"] not in ("clean", "active")


def samples(folder):
    """(name, label, family, bytes) of a labelled folder of this repository."""
    for number, row in enumerate((folder / "labels.tsv").read_text().splitlines()[1:]):
        name, label, family, *_ = row.split("\t")
        content = (folder / f"samples/{number:04}.x").read_bytes().translate(MASK)
        yield name.encode("ascii").decode("unicode_escape"), label, family, content
