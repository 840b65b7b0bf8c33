"""Runs a job in a forked child. It gives up all privileges, reads the job and runs the job's code in this process."""

import os
import resource
import sys
import time
import types

from . import candidate, codec, fork_server, judge, objects, system_calls

_RESULTS = 3
_JOB = 4
_CHANNEL = 5
_ANY_LENGTH = 1 << 60

_read = os.read
_pread = os.pread
_fstat = os.fstat
_close = os.close
_write = os.write
_exit = os._exit
_clock = time.process_time
_print_exception = sys.__excepthook__
_parse = codec.parse


def run(order, descriptors):
    """Runs one job in this process, then ends the process."""
    try:
        _confine(order, descriptors)
        job = codec.parse(_read_from(_JOB, 0))
        if order["role"] != "calls":
            os.close(_JOB)
        _seed(job["seed"])
        _roles[order["role"]](job)
    except MemoryError:
        _exit(71)
    except BaseException:
        _print_exception(*sys.exc_info())
        sys.stderr.flush()
    finally:
        _exit(70)


def _seed(seed):
    # A module that is not imported is not used: see imports.py.
    if "random" in sys.modules:
        sys.modules["random"].seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed % 2**32)


def _confine(order, descriptors):
    """Keeps only descriptors 0 to 5, and irrevocably enters a new session, sets limits and changes the user."""
    for place, descriptor in enumerate(descriptors):
        os.dup2(descriptor, place)
    os.closerange(len(descriptors), 1024)
    # A new session, so that the process cannot join the group of another process.
    os.setsid()
    limits = order["limits"]
    megabyte = 1 << 20
    seconds = limits["cpuMs"] // 1000 + 2
    for name, amount in [
        (resource.RLIMIT_AS, order["baseBytes"] + limits["memoryMb"] * megabyte),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, limits["temporaryMb"] * megabyte),
        (resource.RLIMIT_NOFILE, limits["openFiles"]),
        (resource.RLIMIT_NPROC, limits["processes"]),
        (resource.RLIMIT_CORE, 0),
    ]:
        resource.setrlimit(name, (amount, amount))
    fork_server.become(order["uid"])
    system_calls.keep_from_killing(os.getpid())


def _read_from(descriptor, offset):
    """Returns the text of a file from an offset to its end."""
    parts = []
    part = _pread(descriptor, 1 << 20, offset)
    while part:
        parts.append(part)
        offset += len(part)
        part = _pread(descriptor, 1 << 20, offset)
    return b"".join(parts).decode()


def _cases_of(job):
    """Reports that the code is loaded and returns the cases, which the supervisor then appends to the job's file."""
    end = _fstat(_JOB).st_size
    _report(job["nonce"], "loaded", "{}")
    _read(_CHANNEL, 1)
    text = _read_from(_JOB, end)
    for descriptor in (_JOB, _CHANNEL):
        _close(descriptor)
    return _parse(text)


def _report(nonce, name, text, cpu=0.0):
    line = ("%s %s %.3f %s\n" % (nonce, name, cpu * 1000, text)).encode("ascii")
    while line:
        line = line[_write(_RESULTS, line) :]


class _Lines:
    """Exchanges texts of one line each over the channel between a judge and its candidate."""

    def __init__(self, longest):
        self.longest = longest
        self.input = b""

    def write(self, text):
        data = text.encode("ascii") + b"\n"
        try:
            while data:
                data = data[_write(_CHANNEL, data) :]
        except OSError:
            pass

    def read(self):
        """Returns the next line. None if the other side has closed."""
        parts = []
        size = 0
        part = self.input
        while b"\n" not in part:
            parts.append(part)
            size += len(part)
            if size > self.longest:
                raise judge.BrokenProtocol
            try:
                part = _read(_CHANNEL, 65536)
            except OSError:
                return None
            if not part:
                return None
        last, _, self.input = part.partition(b"\n")
        return b"".join(parts + [last]).decode("ascii", "replace")


def _is_out_of_memory(text):
    return text.startswith('{"outcome":"raised","error":{"type":"MemoryError"')


def _place_files(job):
    files = job["files"]
    sys.path.insert(0, fork_server.TEMPORARY)
    if len(files) > 1:
        for name, text in files.items():
            if "/" in name:
                os.makedirs(os.path.dirname(name), exist_ok=True)
            with open(name, "w", encoding="utf-8", errors="surrogatepass") as file:
                file.write(text)


def _load(job):
    """Returns the loaded module of the job and its path. Reports an error of loading and ends the process."""
    entry = job["entry"]
    name = os.path.basename(entry).rpartition(".")[0] or entry
    path = os.path.join(fork_server.TEMPORARY, entry)
    try:
        return candidate.load(path, name, job["files"][entry]), path
    except BaseException as error:
        _fail_to_load(job, error, path)


def _fail_to_load(job, error, path):
    text = candidate.error_text(error, path)
    _report(job["nonce"], "load", '{"error":' + text + "}")
    _finish(0)


def _finish(code):
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:
            pass
    _exit(code)


def _run_calls(job):
    _place_files(job)
    module, path = _load(job)
    try:
        function = candidate.find(module, job["function"])
    except BaseException as error:
        _fail_to_load(job, error, path)
    limits = {"depth": job["depth"], "size": job["resultBytes"]}
    nonce = job["nonce"]
    for index, case in _cases_of(job):
        start = _clock()
        text = candidate.call(function, case, limits, path)
        _report(nonce, index, text, _clock() - start)
        if _is_out_of_memory(text):
            _finish(0)
    _report(nonce, "end", "{}")
    _finish(0)


def _run_program(job):
    _place_files(job)
    entry = job["entry"]
    path = os.path.join(fork_server.TEMPORARY, entry)
    sys.argv = [path]
    main = types.ModuleType("__main__")
    main.__file__ = path
    main.__builtins__ = sys.modules["builtins"]
    sys.modules["__main__"] = main
    text = '{"outcome":"returned"}'
    code = 0
    start = _clock()
    try:
        exec(compile(job["files"][entry], path, "exec", 0, True), main.__dict__)
        if "threading" in sys.modules:
            sys.modules["threading"]._shutdown()
    except SystemExit as error:
        code = error.code
        if code is not None and type(code) is not int:
            print(code, file=sys.stderr)
            code = 1
    except BaseException as error:
        code = 1
        text = '{"outcome":"raised","error":' + candidate.error_text(error, path) + "}"
        error.__traceback__ = error.__traceback__.tb_next
        _print_exception(type(error), error, error.__traceback__)
    code = (code or 0) & 255
    if code != 0 and text == '{"outcome":"returned"}':
        text = '{"outcome":"raised","error":{"type":"SystemExit","message":"exit code %d"}}' % code
    _report(job["nonce"], job["index"], text, _clock() - start)
    _report(job["nonce"], "end", "{}")
    _finish(code)


def _share_databases():
    """Lets the other side write to databases that this side created. SQLite gives them a stricter mode."""
    if "sqlite3" not in sys.modules:
        return
    for name in os.listdir():
        if name.endswith((".db", ".sqlite", ".sqlite3")):
            try:
                os.chmod(name, 0o666)
            except OSError:
                pass


def _run_candidate(job):
    _place_files(job)
    module, path = _load(job)
    lines = _Lines(_ANY_LENGTH)

    def ask(text):
        _share_databases()
        lines.write(text)
        return lines.read()

    served = objects.Objects(module, {"depth": job["depth"], "size": job["resultBytes"]}, path, ask)
    while True:
        request = lines.read()
        if request is None:
            _finish(0)
        answer = served.answer(request)
        _share_databases()
        lines.write(answer)


def _run_judge(job):
    nonce = job["nonce"]
    lines = _Lines(2 * job["resultBytes"] + 65536)

    def ask(request):
        _share_databases()
        lines.write(request)
        answer = lines.read()
        if answer is None:
            raise judge.CandidateIsGone
        return answer

    tests = judge.Judge(ask, job["resultBytes"])
    try:
        try:
            tests.bind(job["exports"])
        except Exception as error:
            _fail_to_load(job, error, judge.PATH)
        # From here on, the candidate sees what tests pass to it, and can no longer report a load error.
        _report(nonce, "loaded", "{}")
        tests.set_up(job["setup"])
        for index, test in enumerate(job["tests"]):
            start = _clock()
            text = tests.run(test)
            _report(nonce, index, text, _clock() - start)
        _report(nonce, "end", "{}")
    except judge.CandidateIsGone:
        pass
    except judge.BrokenProtocol:
        _report(nonce, "violation", "{}")
    _finish(0)


_roles = {"calls": _run_calls, "program": _run_program, "candidate": _run_candidate, "judge": _run_judge}
