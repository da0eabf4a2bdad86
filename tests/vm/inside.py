"""Does Kiln keep its promises on cgroup v2 alone? Runs as root inside the test machine; one line a check, then VM-DONE."""
import glob, json, os, re, signal, subprocess, sys, time

TESTS = os.path.dirname(os.path.abspath(__file__))
KILN = "/usr/bin/kiln"
END = time.monotonic() + float(os.environ.get("VM_INSIDE_SECONDS", "600"))
SLOW = 6  # this machine is emulated: what takes a second elsewhere takes up to so many here
MIB = 1 << 20
done = {"PASS": 0, "FAIL": 0}


def late(*_):
    raise TimeoutError("no answer within 180 s")


signal.signal(signal.SIGALRM, late)


def check(name, fn, *args):
    """Runs one check; a false answer, a text or an exception fails it."""
    began = time.monotonic()
    signal.alarm(180)
    try:
        why = "out of time" if began > END else fn(*args)
        bad = why is not None and why is not True
    except Exception as error:  # noqa: BLE001: a check that breaks has failed
        bad, why = True, f"{type(error).__name__}: {error}"
    finally:
        signal.alarm(0)
    word = "FAIL" if bad else "PASS"
    done[word] += 1
    note = ": " + " ".join(str(why).split())[:600] if bad else ""
    print(f"VM-{word} {name} ({time.monotonic() - began:.1f} s){note}", flush=True)


def expect(holds, *told):
    """Fails the check with what is told."""
    if not holds:
        raise AssertionError(" ".join(str(one) for one in told))


class Batch:
    """A `kiln batch -` whose jobs are sent and awaited one by one."""

    def __init__(self, slots=1):
        self.out = f"/tmp/batch-{time.monotonic_ns()}"
        self.log = open(self.out + ".log", "w+")
        words = [KILN, "batch", "-", "--slots", str(slots), "--out", self.out]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.count = 0

    def send(self, **job):
        self.count += 1
        job = {"schema": "kiln.job.v1", "id": f"job-{self.count}", **job}
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        return job["id"]

    def next(self):
        line = self.process.stdout.readline()
        expect(line, "kiln batch ended:", open(self.log.name).read()[-800:])
        return json.loads(line)

    def run(self, **job):
        self.send(**job)
        return self.next()

    def python(self, code, args=(), tenant="default", **limits):
        return self.run(profile="python", code=code, args=list(args), tenant=tenant, limits={"wall_ms": 60_000, **limits})

    def end(self):
        self.process.stdin.close()
        rest = [json.loads(line) for line in self.process.stdout]
        self.process.wait(60)
        return rest


def out(outcome):
    return outcome["stdout"]["text"]


def ended(outcome, status, reason=None):
    expect((outcome["status"], outcome["reason"]) == (status, reason), "ended", json.dumps(outcome)[:500])


shared = None


def batch():
    """The batch that most checks share; a new one where it has ended."""
    global shared
    if shared is None or shared.process.poll() is not None:
        shared = Batch()
    return shared


# --- the machine and the plain things ---------------------------------------------------------------------------------
def is_v2():
    mounts = open("/proc/mounts").read()
    expect(" cgroup2 " in mounts and " cgroup " not in mounts, mounts)
    expect(re.search(r"cgroup2 .*nsdelegate", mounts), mounts)


def doctor():
    run = subprocess.run([KILN, "doctor"], capture_output=True, text=True, timeout=60)
    expect(run.returncode == 0 and "v2" in run.stdout, run.returncode, run.stdout, run.stderr)


def plain_run():
    open("/tmp/hello.py", "w").write("import os\nprint('hello', os.getuid(), os.getcwd())\nopen('made.txt', 'w').write('x')\n")
    run = subprocess.run([KILN, "run", "--out", "/tmp/hello-out", "/tmp/hello.py"], capture_output=True, text=True, timeout=120)
    expect(run.returncode == 0 and run.stdout == "hello 1000 /job\n", run.returncode, run.stdout, run.stderr[-500:])
    expect(open("/tmp/hello-out/artifacts/made.txt").read() == "x", "no artifact")
    outcome = json.load(open("/tmp/hello-out/outcome.json"))
    expect(outcome["usage"]["memory_peak_bytes"] and outcome["usage"]["pids_peak"] in (1, 2, None), outcome["usage"])


def small_programs():
    blocks = [b for f in sorted(glob.glob(TESTS + "/programs/*.txt")) for b in open(f).read().split("\n#: ")[1:]]
    for block in blocks[::13]:
        name, code = block.split("\n", 1)
        ended(batch().python(code), "succeeded")


# --- limits -----------------------------------------------------------------------------------------------------------
def wall():
    outcome = batch().python("import time; print('up', flush=True); time.sleep(600)", wall_ms=3000)
    ended(outcome, "timed_out", "wall_time")
    expect(outcome["usage"]["wall_us"] < 3_000_000 + SLOW * 500_000, outcome["usage"])


def cpu():
    outcome = batch().python("while True: pass", cpu_ms=2000)
    expect(outcome["reason"] == "cpu_time", outcome["status"], outcome["reason"])
    used = outcome["usage"]["cpu_user_us"] + outcome["usage"]["cpu_system_us"]
    expect(1_900_000 < used < 3_500_000, used)


def cpus():
    outcome = batch().python("import os, time\nwhile time.process_time() < 1.5: pass\nprint(len(os.sched_getaffinity(0)))", cpus=0.5)
    ended(outcome, "succeeded")
    expect(out(outcome) == "1\n" and outcome["usage"]["wall_us"] > 2_400_000, outcome["usage"], out(outcome))


TAKE = "import sys\nx = bytearray(int(sys.argv[1]) << 20)\nfor i in range(0, len(x), 4096): x[i] = 1\nprint('took')"


def memory_below():
    outcome = batch().python(TAKE, ["90"], memory_bytes=128 * MIB)
    ended(outcome, "succeeded")
    expect(90 * MIB < outcome["usage"]["memory_peak_bytes"] <= 128 * MIB, outcome["usage"])


def memory_above():
    outcome = batch().python(TAKE, ["300"], memory_bytes=128 * MIB)
    ended(outcome, "limit_exceeded", "memory")
    expect(outcome["evidence"]["oom_kill"] >= 1 and "128 MiB" in outcome["message"], outcome["evidence"], outcome["message"])


def memory_of_a_child():
    code = "import subprocess, sys, time\nsubprocess.run([sys.executable, '-c', 'x = b\"x\" * (400 << 20)'])\nprint('on', flush=True); time.sleep(300)"
    ended(batch().python(code, memory_bytes=96 * MIB), "limit_exceeded", "memory")


def memory_is_not_swapped_or_sticky():
    ended(batch().python(TAKE, ["90"], memory_bytes=128 * MIB), "succeeded")


FORK = "import os, time\nn = 0\ntry:\n    for i in range(20):\n        if os.fork() == 0: time.sleep(60); os._exit(0)\n        n += 1\nexcept OSError as e: print(e.errno)\nprint(n)"


def pids():
    outcome = batch().python(FORK, pids=8)
    ended(outcome, "succeeded")
    expect(out(outcome) == "11\n7\n" and "pids" in json.dumps(outcome["warnings"]), out(outcome), outcome["warnings"])


def disk():
    code = "n = 0\ntry:\n    f = open('/tmp/f', 'wb')\n    for i in range(300): f.write(b'z' * 65536); f.flush(); n += 1\nexcept OSError as e: print(e.errno, n)"
    outcome = batch().python(code, disk_bytes=8 * MIB)
    expect(re.match(r"28 1[12]\d\n", out(outcome)) and "disk" in json.dumps(outcome["warnings"]), out(outcome), outcome["warnings"])


def inodes():
    code = "n = 0\ntry:\n    for i in range(400): open(f'/tmp/{i}', 'w').close(); n += 1\nexcept OSError as e: print(e.errno, n)"
    outcome = batch().python(code, inodes=128)
    expect(re.match(r"28 1[0-2]\d\n", out(outcome)), out(outcome))


def output():
    outcome = batch().python("import os\nos.write(1, b'x' * 65536)\nos.write(1, b'y')", stdout_bytes=65536)
    expect(outcome["stdout"]["truncated"] and outcome["stdout"]["total_bytes"] == 65537, outcome["stdout"]["total_bytes"])


def rest():
    """Ends the shared batch, so that a look at the machine sees one instance alone."""
    global shared
    if shared is not None:
        expect(shared.end() == [], "results that nobody asked for")
    shared = None
    nothing_left(SLOW)


def groups_hold_the_limits():
    """The kernel's own files of a running job say what was asked."""
    before, one = things(), Batch()
    try:
        one.send(profile="python", code="import time; time.sleep(60)", limits={"memory_bytes": 77 * MIB, "pids": 9, "cpus": 0.5, "wall_ms": 60_000})
        leaf, end = None, time.monotonic() + 60
        while leaf is None and time.monotonic() < end:
            for path in glob.glob("/sys/fs/cgroup/kiln/*/*/job-*"):
                try:
                    if open(path + "/memory.max").read().strip() == str(77 * MIB):
                        leaf = path
                except OSError:
                    pass  # the leaf of a job before, going
        expect(leaf, "no group of the job below /sys/fs/cgroup/kiln")
        def holds(held):
            quota, period = map(int, held["cpu.max"])
            rest = {"memory.swap.max": ["0"], "memory.oom.group": ["1"], "pids.max": ["9"]}
            return abs(quota / period - 0.5) < 0.01 and all(held[name] == value for name, value in rest.items())

        held = None
        while (held is None or not holds(held)) and time.monotonic() < end:  # written one after another, before the job begins
            held = {name: open(f"{leaf}/{name}").read().split() for name in ("memory.swap.max", "memory.oom.group", "pids.max", "cpu.max")}
        expect(held and holds(held), held)
        expect(os.stat(leaf + "/memory.max").st_uid == 0, "the limit files are not root's")
    finally:
        one.process.send_signal(signal.SIGKILL)
        one.process.wait()
    nothing_left(SLOW, before)


# --- reset and the end ------------------------------------------------------------------------------------------------
def reset():
    plant = ("import os, subprocess\nfor d in ('/tmp', '/dev/shm', '/home/job', '/job'): open(d + '/mark', 'w').write('x')\n"
             "subprocess.Popen(['sleep', '300'], start_new_session=True)\nprint('left')")
    look = ("import os\nprint([d for d in ('/tmp', '/dev/shm', '/home/job', '/job') if os.path.exists(d + '/mark')],"
            " [p for p in os.listdir('/proc') if p.isdigit() and int(p) not in (1, os.getpid())])")
    first, second = batch().python(plant, tenant="one"), batch().python(look, tenant="two")
    expect(out(first) == "left\n" and out(second) == "[] []\n", out(first), out(second))
    a, b = first["sandbox"], second["sandbox"]
    expect(a["id"] == b["id"] and b["uses"] == a["uses"] + 1 and b["generation"] > a["generation"], a, b)


def things():
    """Groups below /kiln, instance folders, and processes of sandboxes."""
    found = [path for path in glob.glob("/sys/fs/cgroup/kiln/*") if os.path.isdir(path)]
    found += [path for path in glob.glob("/run/kiln/*") if os.path.isdir(path) and os.path.basename(path) != "uids"]
    for path in glob.glob("/proc/[0-9]*/status"):
        try:
            uid = int(re.search(r"^Uid:\t(\d+)", open(path).read(), re.M)[1])
        except (OSError, TypeError):
            continue
        if uid >= 1879048192:
            found.append(path)
    return set(found)


def nothing_left(seconds, before=frozenset()):
    end = time.monotonic() + seconds
    while things() - before and time.monotonic() < end:
        time.sleep(0.02)
    expect(not things() - before, "left:", things() - before)


def killed():
    before, one = things(), Batch(4)
    for _ in range(4):
        one.send(profile="bash", code="trap '' TERM\nsetsid sleep 300 >/dev/null 2>&1 &\nsleep 300\n")
    end = time.monotonic() + 90
    comms = lambda: [open(path).read() for path in glob.glob("/proc/[0-9]*/comm")].count("sleep\n")
    while time.monotonic() < end:
        try:
            if comms() >= 8:
                break
        except OSError:
            pass
    else:
        expect(False, "the jobs do not start:", open(one.log.name).read()[-500:])
    one.process.send_signal(signal.SIGKILL)
    one.process.wait()
    nothing_left(SLOW, before)


# --- probes -----------------------------------------------------------------------------------------------------------
ARGS = ["WALL_S=60", "MEM_MB=256", "PIDS=64", "CPUS=1", "TMP_MB=64", "INODES=4096", "FDS=256", "OUT_MB=1"]
LIMITS = {"wall_ms": 60_000, "memory_bytes": 256 * MIB, "pids": 64, "cpus": 1, "disk_bytes": 64 * MIB, "inodes": 4096, "open_files": 256}


def probe(file, words):
    """Runs a probe as a job of the shared batch."""
    path = f"{TESTS}/hostile/{file}"
    if file.endswith(".c"):
        import base64
        body = base64.b64encode(open(path[:-2], "rb").read()).decode()
        words = [word for word in words if "=" not in word]
        return batch().run(profile="python", command=["./probe", *words], files=[{"path": "probe", "base64": body, "executable": True}], limits=LIMITS)
    files = [{"path": "wall.py", "text": open(f"{TESTS}/hostile/E/wall.py").read()}] if file.startswith("E/") else []
    return batch().run(profile="python", code=open(path).read(), args=words, files=files, limits=LIMITS)


def verdict(outcome):
    lines = [line for line in out(outcome).splitlines() if re.match("CONTAINED|BREACH|PLANTED", line)]
    return lines[-1] if lines else ""


def contained(outcome):
    expect(verdict(outcome) == "CONTAINED", verdict(outcome) or json.dumps(outcome)[:400])


def waived():
    lines = open(TESTS + "/hostile-waivers.tsv").read().splitlines()
    return {line.split("\t")[0] for line in lines if line and not line.startswith("#")}


def rows():
    return [line.split("\t") for line in open(TESTS + "/hostile/INDEX.tsv").read().splitlines()[1:]]


def probes(group, steps=("single", "two-step")):
    return [row[1] for row in rows() if row[0] == group and row[1] not in waived() and row[4] in steps]


ENDED = {row[1] for row in rows() if row[3] == "KILLED syscall"}


def isolation():
    """The report that a security team asks for: every hard property holds here, too."""
    done = subprocess.run(["kiln", "doctor", "--isolation", "--json"], capture_output=True, text=True, timeout=240)
    report = json.loads(done.stdout)
    open_ = [one["property"] for one in report["properties"] if one["hardness"] == "hard" and not one["holds"]]
    expect(done.returncode == 0 and not open_, open_, done.stderr[-300:])


def surface(file, canary):
    outcome = probe(file, ARGS + canary)
    if file in ENDED:
        return ended(outcome, "policy_denied", "syscall")
    contained(outcome)


def after_a_kill(file, canary):
    ended(batch().python("while True: pass", wall_ms=1500), "timed_out", "wall_time")
    contained(probe(file, ARGS + canary))


def leaks(file):
    first = probe(file, ["plant"] + ARGS)
    token = verdict(first).partition(" ")[2]
    second = probe(file, ["look", "TOKEN=" + token] + ARGS)
    contained(second)
    expect("LATE" not in out(second), out(second))


def exhausts(file):
    outcome = probe(file, ARGS)
    silent = verdict(outcome) == "" and outcome["status"] in ("limit_exceeded", "timed_out")
    expect(silent or verdict(outcome) == "CONTAINED", verdict(outcome), outcome["status"], outcome["reason"])
    expect(out(batch().python("print('clean')")) == "clean\n", "the next job is not clean")


def main():
    check("the machine has cgroup v2 alone, with nsdelegate", is_v2)
    if sys.argv[1:] == ["trivial"]:
        return
    check("kiln doctor", doctor)
    check("kiln run", plain_run)
    limits = (small_programs, wall, cpu, cpus, memory_below, memory_above, memory_of_a_child, memory_is_not_swapped_or_sticky,
               pids, disk, inodes, output, reset, rest, groups_hold_the_limits, killed)
    for fn in limits if sys.argv[1:] != ["probes"] else ():
        check(fn.__name__.replace("_", " "), fn)
    words = [sys.executable, TESTS + "/hostile/canary_host.py", "/var/tmp/hostile_canary"]
    canary = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    told = ["CANARY=/var/tmp/hostile_canary", "HOST=vm"]
    for file in probes("A"):
        check(file, surface, file, told)
    for file in probes("A"):
        check(f"{file} after a kill", after_a_kill, file, told)
    for file in probes("E", ("single",)):
        check(file, surface, file, told)
    canary.terminate()
    for file in probes("C") + probes("E", ("two-step",)):
        check(file, leaks, file)
    for name in ("fork_bomb", "thread_bomb", "mem_anon", "tmpfs_fill", "setsid_escape", "zombies", "many_files"):
        check(f"B/{name}", exhausts, f"B/{name}.py")
    check("nothing is left at the end", rest)
    check("kiln doctor --isolation", isolation)


try:
    main()
finally:
    print(f"VM-DONE {done['PASS']} passed, {done['FAIL']} failed", flush=True)
