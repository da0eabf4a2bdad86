"""How much CPU and memory does a program take, and what does a clamd of our own say?"""
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import tempfile
import time

from judge import ROOT


def watched(pid):
    """The most that a process holds until it ends, looked at every few milliseconds."""
    most = 0
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        try:
            rows = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
        except OSError:
            break
        most = next((int(row.split()[1]) for row in rows if row.startswith("VmHWM")), most)
        time.sleep(0.005)
    return most


class Run:
    """One program, run to its end: output, seconds of CPU and of wall, most memory in KiB."""

    def __init__(self, *words, **more):
        began = time.monotonic()
        with tempfile.TemporaryFile() as out:
            child = subprocess.Popen([str(word) for word in words], stdout=out, stderr=subprocess.DEVNULL, **more)
            self.kib = watched(child.pid)
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            self.out = out.read().decode(errors="replace")
        self.code = child.returncode
        self.wall = time.monotonic() - began
        self.cpu = usage.ru_utime + usage.ru_stime
        # Ours says so itself; the kernel's own figure begins with what this interpreter holds.
        said = self.out.rstrip().rpartition("\n")[2].split("\t")
        if said[1:2] == ["memory"]:
            self.kib = int(said[0])
            self.out = self.out.rstrip().rpartition("\n")[0]


def own_rules(folder):
    """Our own rules, as a database of ClamAV's."""
    for rules in sorted((ROOT / "artifact-scanner/rules").glob("*.yar")):
        shutil.copy(rules, folder)


class Clamd:
    """A clamd with our own rules alone, on a socket of its own; `lines` are of its configuration."""

    def __init__(self, folder, lines=()):
        self.folder = pathlib.Path(folder)
        base = self.folder / "base"
        base.mkdir(parents=True)
        own_rules(base)
        config = self.folder / "clamd.conf"
        self.socket = self.folder / "socket"
        config.write_text(
            f"Foreground yes\nLocalSocket {self.socket}\nDatabaseDirectory {base}\nStreamMaxLength 200M\nMaxFileSize 200M\n"
            "MaxScanSize 400M\nAlertExceedsMax yes\nAlertEncrypted yes\nMaxThreads 1\nUser root\n" + "".join(f"{line}\n" for line in lines)
        )
        self.log = self.folder / "log"
        self.child = subprocess.Popen(["clamd", "-c", config], stdout=self.log.open("w"), stderr=subprocess.STDOUT)
        for _ in range(600):
            if self.socket.exists() and self.ask(b"zPING\0") == b"PONG\0":
                return
            if self.child.poll() is not None:
                break
            time.sleep(0.1)
        raise RuntimeError(f"clamd does not start: {self.log.read_text()}")

    def rules(self):
        """How many of our rules it runs, and how many there are: by its log, with `Debug yes` alone."""
        told = re.findall(r"loaded (\d+) of \d+ yara signatures", self.log.read_text(errors="replace"))
        own = [path.read_text() for path in (self.folder / "base").iterdir()]
        return sum(map(int, told)), sum(len(re.findall(r"^rule ", text, re.MULTILINE)) for text in own)

    def ask(self, words):
        with socket.socket(socket.AF_UNIX) as line:
            try:
                line.connect(str(self.socket))
                line.sendall(words)
                return b"".join(iter(lambda: line.recv(4096), b""))
            except OSError:
                return b""

    def scan(self, content):
        body = b"".join(struct.pack(">I", len(content[at : at + 65536])) + content[at : at + 65536] for at in range(0, len(content), 65536))
        return self.ask(b"zINSTREAM\0" + body + bytes(4)).decode(errors="replace").strip("\0\n")

    def cpu(self):
        fields = pathlib.Path(f"/proc/{self.child.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def peak_kib(self):
        rows = pathlib.Path(f"/proc/{self.child.pid}/status").read_text().splitlines()
        return next(int(row.split()[1]) for row in rows if row.startswith("VmHWM"))

    def end(self):
        self.child.terminate()
        self.child.wait(20)
