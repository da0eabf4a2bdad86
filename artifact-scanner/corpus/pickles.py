#!/usr/bin/env python3
"""Are 10,000 generated hostile pickles all held, and real ones of libraries all let through?

usage: python3 artifact-scanner/corpus/pickles.py [COUNT] [--real PYTHON]

PYTHON is an interpreter with numpy, pandas, scipy, sklearn and joblib (`--real` leaves them out where it is not
given); `src/check/pickle/harmless.py` writes their pickles. Exit 1 where one side fails.
"""
import bz2
import collections
import gzip
import io
import lzma
import pickle
import random
import struct
import subprocess
import sys
import zipfile
import zlib

from judge import ROOT, is_held, judged

CALLS = [
    tuple(line.rsplit(".", 1))
    for line in """os.system os.popen posix.system nt.system subprocess.Popen subprocess.run subprocess.call subprocess.check_output
    builtins.exec builtins.eval builtins.compile builtins.__import__ __builtin__.eval __builtin__.execfile importlib.import_module
    runpy.run_path runpy._run_code pty.spawn code.interact timeit.timeit cProfile.run pdb.run shutil.rmtree socket.socket ctypes.CDLL
    marshal.loads types.FunctionType types.CodeType webbrowser.open commands.getoutput bdb.Bdb ensurepip._run_pip
    imaplib.IMAP4_stream smtplib.SMTP ftplib.FTP telnetlib.Telnet http.HTTPConnection doctest.debug_script trace.Trace
    sys.setprofile sys.settrace os.execv os.spawnlp os.remove os.putenv pathlib.Path.write_text site.main idlelib.run
    multiprocessing.Process threading.Thread asyncio.create_subprocess_shell venv.create zipimport.zipimporter pkgutil.resolve_name""".split()
]


class Maker:
    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.memo = 0

    def text(self, text, protocol):
        """One of the spellings of a text."""
        raw = text.encode()
        ways = [b"S" + repr(text).encode() + b"\n", b"V" + "".join(f"\\u{ord(c):04x}" for c in text).encode() + b"\n", b"V" + raw + b"\n"]
        if protocol >= 1:
            ways.append(b"X" + struct.pack("<I", len(raw)) + raw)
            ways.append(b"U" + bytes([len(raw)]) + raw)
            ways.append(b"T" + struct.pack("<i", len(raw)) + raw)
        if protocol >= 4:
            ways += [b"\x8c" + bytes([len(raw)]) + raw, b"\x8d" + struct.pack("<Q", len(raw)) + raw]
        return self.dice.choice(ways)

    def kept(self, code, protocol):
        """Put into the memo and fetched again, or not."""
        self.memo += 1
        way = self.dice.randrange(5)
        number = self.memo % 200
        if way == 0:
            return code + b"p%d\n0g%d\n" % (number, number)
        if way == 1 and protocol >= 1:
            return code + b"q" + bytes([number]) + b"0h" + bytes([number])
        if way == 2 and protocol >= 1:
            return code + b"r" + struct.pack("<I", number) + b"0j" + struct.pack("<I", number)
        if way == 3:
            return code + b"20"
        return code

    def call(self, module, name, protocol):
        argument = self.kept(self.text(self.dice.choice(["id", "echo a", "/tmp/x"]), protocol), protocol)
        found = f"c{module}\n{name}\n".encode()
        if protocol >= 4 and self.dice.randrange(2):
            texts = [self.kept(self.text(one, protocol), protocol) for one in (module, name)]
            found = texts[0] + texts[1] + b"\x93"
        found = self.kept(found, protocol)
        ways = [found + b"(" + argument + b"tR", b"(" + found + argument + b"o", b"(" + argument + f"i{module}\n{name}\n".encode()]
        if protocol >= 2:
            ways += [found + argument + b"\x85R", found + argument + b"\x85\x81", found + b"(" + argument + b"t\x81"]
        if protocol >= 4:
            ways.append(found + argument + b"\x85}\x92")
        return self.dice.choice(ways)

    def placed(self, code, protocol):
        """Within lists, dictionaries, tuples, states, beside harmless things."""
        for _ in range(self.dice.randrange(4)):
            noise = self.dice.choice([b"N", b"I01\n", b"K\x05" if protocol else b"I5\n", b"(lp9\n", b"(dp9\n"])
            code = self.dice.choice(
                [b"(" + code + b"l", b"(" + noise + code + b"t", b"(" + self.text("k", protocol) + code + b"d", noise + b"0" + code,
                 b"(l" + code + b"a", code + noise + b"0", b"ccollections\nOrderedDict\n(tR}" + self.text("a", protocol) + code + b"sb"]
            )
        return code

    def stream(self):
        protocol = self.dice.randrange(6)
        module, name = self.dice.choice(CALLS)
        head = b"\x80" + bytes([protocol]) if protocol >= 2 else b""
        code = self.placed(self.call(module, name, protocol), protocol) + b"."
        if protocol >= 4 and self.dice.randrange(2):
            code = b"\x95" + struct.pack("<Q", len(code)) + code
        whole = head + code
        way = self.dice.randrange(12)
        if way == 0:
            return pickle.dumps(collections.OrderedDict(a=[1])) + whole
        if way == 1:
            return whole[:-1] + self.dice.randbytes(9)
        if way == 2:
            return whole + self.dice.randbytes(40)
        if way == 3:
            return pickle.dumps({"inner": whole}, 4)
        return whole

    def file(self, number):
        whole = self.stream()
        way = self.dice.randrange(12)
        packed = io.BytesIO()
        if way == 0:
            return f"{number}.pkl.gz", gzip.compress(whole)
        if way == 1:
            return f"{number}.joblib", zlib.compress(whole)
        if way == 2:
            return f"{number}.pkl.bz2", bz2.compress(whole)
        if way == 3:
            return f"{number}.pkl.xz", lzma.compress(whole)
        if way == 4:
            with zipfile.ZipFile(packed, "w") as archive:
                archive.writestr(f"{number}/data.pkl", whole)
            return f"{number}.pt", packed.getvalue()
        if way == 5:
            head = f"{{'descr': '|O', 'fortran_order': False, 'shape': ({self.dice.randrange(1, 9)},), }}\n".encode()
            return f"{number}.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + whole
        return f"{number}.{self.dice.choice(['pkl', 'pickle', 'p', 'joblib', 'bin', 'dat', 'model', 'pt'])}", whole


def real(python):
    """Pickles that libraries write; each stands behind its length and a name of 24 bytes."""
    script = ROOT / "artifact-scanner/src/check/pickle/harmless.py"
    out = subprocess.check_output([python, script])
    at = 0
    while at < len(out):
        (length,) = struct.unpack_from("<I", out, at)
        name = out[at + 4 : at + 28].decode().strip()
        yield name.replace("/", "_") + ".pkl", out[at + 28 : at + 28 + length]
        at += 28 + length


def main():
    words = sys.argv[1:]
    python = words[words.index("--real") + 1] if "--real" in words else None
    count = int(words[0]) if words and words[0].isdigit() else 10_000
    maker = Maker(1)
    hostile = [maker.file(number) for number in range(count)]
    passed = [answer for answer in judged(hostile) if not is_held(answer)]
    for answer in passed[:20]:
        print("PASSED", answer["name"], dict(hostile)[answer["name"]][:200])
    print(f"hostile pickles held: {count - len(passed)} of {count}")
    false = []
    if python:
        harmless = list(real(python))
        false = [answer for answer in judged(harmless) if is_held(answer)]
        for answer in false:
            print("HELD", answer["name"], answer["reason"], answer["rules"])
        print(f"real pickles held: {len(false)} of {len(harmless)}")
    sys.exit(1 if passed or false else 0)


main()
