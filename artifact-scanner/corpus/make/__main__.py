"""Makes the variants of the families anew: `python3 artifact-scanner/corpus/make [FOLDER]`.

FOLDER (`artifact-scanner/corpus/variants` unless told) gets `labels.tsv` and `samples/NNNN.x`, masked as the samples
are. With `--plain` the files are written under their numbers as they are, for other scanners to look at.
"""
import base64
import io
import pathlib
import random
import shutil
import sys
import time
import zipfile

MASK = bytes(byte ^ 0xA5 for byte in range(256))
HERE = pathlib.Path(__file__).resolve().parent.parent

# The same bytes each time: archives say when they were made, and one directory draws lots.
time.time = lambda: 1.0
random.seed(1)

import containers  # noqa: E402
import data  # noqa: E402
import documents  # noqa: E402
import evasions  # noqa: E402
import forms  # noqa: E402
import pages  # noqa: E402


def unmasked(name):
    """The bytes of a sample of the corpus."""
    rows = (HERE / "labels.tsv").read_text().splitlines()[1:]
    number = next(n for n, row in enumerate(rows) if row.startswith(name + "\t"))
    return (HERE / f"samples/{number:04}.x").read_bytes().translate(MASK)


LOCKED_7Z = "N3q8ryccAAQswZ7KEAAAAAAAAABiAAAAAAAAAKep5kMblbv1S8aQnZlTnW6cq/jeAQQGAAEJEAAHCwEAAiQG8QcBElMPi3AtDJW6r/BrO8tCH6E9vyEhAQABAAwIBAAICgEzQiFVAAAFARkBABENAGEALgBjAHMAdgAAABQKAQDubvsknoDdARUGAQAggKSBAAA="
LOCKED_HEADER = "N3q8ryccAAT3AzhOgAAAAAAAAAAuAAAAAAAAANFPu+NqFNKjcMys948r+VIAGVEmS6dk/dmv9Bxv6E2aZiz3uVMl+gW84KFqONNVLNltt8YgUUle6nXmwzGlD2a7M3Ut7W1SgfRsA7bhiJXtE+NRItxgAwL1KzLw1HEZ8Dab2vkwnWrNacDKBrfwaJ4BFpFUhgIhxNdbrHlYS81wffIfThcGEAEJcAAHCwEAASQG8QcBElMPrZlSGHyfjZXp9S4iUlQ4XwxiCgERoSq0AAA="
RAR = b"Rar!\x1a\x07\x00\xcf\x90\x73\x00\x00\x0d\x00" + bytes(7) + b"\x00" * 40


def families():
    seven = base64.b64decode(LOCKED_7Z)
    yield "archive", containers.archives()
    yield "bomb", containers.bombs()
    yield "csv-formula", containers.tables()
    yield "eicar", containers.eicars()
    yield "encrypted", containers.locked(seven, base64.b64decode(LOCKED_HEADER), RAR)
    yield "executable", containers.programs()
    yield "html", pages.html()
    yield "malformed", documents.broken(*map(unmasked, ("sales.feather", "sales.parquet", "arrays.h5", "sales.orc")))
    yield "markdown", pages.markdown()
    yield "mismatch", documents.mismatches()
    yield "name", documents.names()
    yield "notebook", pages.notebooks()
    yield "office", documents.office()
    yield "pdf", documents.portable()
    yield "pickle", data.pickles()
    yield "polyglot", documents.polyglots()
    yield "secret", data.secrets()
    yield "svg", pages.drawings()
    yield "xml", pages.xmls()
    yield "benign", data.harmless()
    # Behind the rest, so that no sample that is stored changes its number.
    yield from forms.all_families()
    yield from evasions.families()


def escaped(name):
    plain = lambda c: " " <= c <= "~" and c != "\\"
    return "".join(c if plain(c) else f"\\u{ord(c):04x}" for c in name)


def main():
    words = [word for word in sys.argv[1:] if word != "--plain"]
    folder = pathlib.Path(words[0] if words else HERE / "variants")
    is_plain = "--plain" in sys.argv
    shutil.rmtree(folder / "samples", ignore_errors=True)
    (folder / "samples").mkdir(parents=True)
    rows = ["file\texpected\tcategory\tnote"]
    for family, files in families():
        for name, label, content in files:
            number = len(rows) - 1
            rows.append(f"{escaped(name)}\t{label}\t{family}\t")
            stored = content if is_plain else content.translate(MASK)
            (folder / f"samples/{number:04}.x").write_bytes(stored)
    (folder / "labels.tsv").write_text("\n".join(rows) + "\n")
    print(f"{len(rows) - 1} variants in {folder}")


main()
