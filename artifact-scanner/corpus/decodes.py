"""Which of these files does a decoder of their type refuse as well?

`PYTHON decodes.py < PATHS` prints the paths, one a line, of the files that are damaged: what Python's own modules, PIL
or scipy do not read to the end. What they read, and what is of none of their types, is whole.
"""
import bz2
import gzip
import io
import json
import lzma
import sys
import tarfile
import warnings
import xml.parsers.expat
import zipfile
import zlib


def with_zip(data):
    bad = zipfile.ZipFile(io.BytesIO(data)).testzip()
    if bad:
        raise ValueError(bad)


def with_tar(data):
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
        for member in archive:
            if member.isreg():
                archive.extractfile(member).read()


def with_zlib(data):
    reader = zlib.decompressobj()
    reader.decompress(data)
    if not reader.eof:
        raise ValueError("cut")


def with_pil(data):
    from PIL import Image

    Image.open(io.BytesIO(data)).load()


def with_wave(data):
    from scipy.io import wavfile

    wavfile.read(io.BytesIO(data))


def with_matlab(data):
    from scipy.io import loadmat

    loadmat(io.BytesIO(data))


STARTS = [
    (b"PK", with_zip),
    (b"\x1f\x8b", gzip.decompress),
    (b"BZh", bz2.decompress),
    (b"\xfd7zXZ", lzma.decompress),
    (b"\x78", with_zlib),
    (b"\x89PNG", with_pil),
    (b"\xff\xd8\xff", with_pil),
    (b"GIF8", with_pil),
    (b"BM", with_pil),
    (b"MATLAB", with_matlab),
    (b"<?xml", lambda data: xml.parsers.expat.ParserCreate().Parse(data, True)),
]
ENDINGS = {".mat": with_matlab, ".json": json.loads, ".ipynb": json.loads, ".tar": with_tar}


def decoder(path, data):
    if data[:4] in (b"RIFF", b"RIFX", b"RF64"):
        return {b"WAVE": with_wave, b"WEBP": with_pil}.get(data[8:12])
    found = next((read for start, read in STARTS if data.startswith(start)), None)
    return found or next((read for ending, read in ENDINGS.items() if path.lower().endswith(ending)), None)


def is_damaged(path):
    with open(path, "rb") as file:
        data = file.read()
    read = decoder(path, data)
    if read is None:
        return False
    try:
        read(data)
    # A decoder that is not installed refuses nothing.
    except ImportError:
        return False
    except Exception:
        return True
    return False


warnings.filterwarnings("error", message="Reached EOF")
for line in sys.stdin.readlines():
    if is_damaged(line.rstrip("\n")):
        print(line, end="")
