# What every probe of group E uses: raw calls, trials in a child, and the verdict. It is put beside the probe.
import ctypes, errno, os, signal, sys

ARG = dict(x.split("=", 1) for x in sys.argv[1:] if "=" in x)
PHASE = next((x for x in sys.argv[1:] if x in ("plant", "look", "hold")), "look")
LIBC = ctypes.CDLL(None, use_errno=True)
WALLS = (errno.EPERM, errno.EACCES, errno.ENOSYS)
NR = {"mmap": 9, "ioctl": 16, "ptrace": 101, "syslog": 103, "personality": 135, "clone": 56, "unshare": 272, "setns": 308}


def end(line, code):
    os.write(1, (line + "\n").encode("utf-8", "replace"))
    os._exit(code)


def ok():
    end("CONTAINED", 0)


def bad(why):
    end("BREACH: " + " ".join(str(why).split())[:300], 1)


def planted(token="-"):
    end("PLANTED " + str(token), 0)


def raw(number, *args):
    """The call's result and errno. Bytes and ctypes objects are passed as they are."""
    def convert(a):
        if isinstance(a, bytes):
            return ctypes.c_char_p(a)
        if isinstance(a, (ctypes._SimpleCData, ctypes.Array, ctypes.Structure)) or hasattr(a, "_obj"):
            return a
        return ctypes.c_void_p(None) if a is None else ctypes.c_long(a)
    ctypes.set_errno(0)
    result = LIBC.syscall(ctypes.c_long(number), *map(convert, args))
    return result, ctypes.get_errno()


def trial(action):
    """What an action comes to in a child: (result, errno), or ("killed", signal)."""
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            got = action()
            value, error = got if isinstance(got, tuple) else (0, 0)
        except OSError as e:
            value, error = -1, e.errno or 0
        os.write(w, b"%d %d" % (value, error))
        os._exit(0)
    os.close(w)
    told = os.read(r, 64)
    os.close(r)
    status = os.waitpid(pid, 0)[1]
    if os.WIFSIGNALED(status):
        return "killed", os.WTERMSIG(status)
    if not told:
        bad("inconclusive: a trial gave no answer")
    value, error = map(int, told.split())
    return value, error


def refused(what, action, also=()):
    """The action must end in a wall, not in success and not in some other error."""
    value, error = trial(action)
    if value == "killed":
        if error != signal.SIGSYS:
            bad("inconclusive: %s died of signal %d" % (what, error))
    elif value != -1 or error not in WALLS + tuple(also):
        bad("%s was not refused (result %s, errno %s)" % (what, value, errno.errorcode.get(error, error)))


def closed(*paths, mode=os.O_RDONLY):
    """None of the paths opens; where one does it must be empty, unless it was to be written."""
    for path in paths:
        try:
            fd = os.open(path, mode)
        except OSError:
            continue
        if mode != os.O_RDONLY or os.read(fd, 1):
            bad("%s opens" % path)
