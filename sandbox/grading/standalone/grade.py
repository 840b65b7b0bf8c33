"""Grades one Python file in a container without Lyceum, and writes the reward. Root runs it.

The file runs in a process of another user, which can neither read the tests nor write the reward. Results are compared
here, or by a judge in a process of a third user. Next to this program are the package `grader` (the modules of
sandbox/python), `suite.json` (the test suite and its settings) and the order of the tests, which is random.
"""

import json
import math
import os
import random
import resource
import shutil
import signal
import socket
import stat
import sys
import tempfile
import time

TESTS = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, TESTS)

from grader import candidate, codec, judge, objects  # noqa: E402

# Limits of processes count those of a user in all containers of a machine, so that each run has users of its own.
CANDIDATE = 20_000 + 2 * random.SystemRandom().randrange(20_000)
JUDGE = CANDIDATE + 1
VERDICT = "/logs/verifier/reward.json"
MAX_SOURCE = 1_000_000
SYNTAX_ERRORS = ("SyntaxError", "IndentationError", "TabError")


class Gone(Exception):
    """The other process has ended, or does not answer in time."""


class Lines:
    """Exchanges texts of one line each with another process, until a deadline."""

    def __init__(self, connection, longest, deadline=None):
        self.connection = connection
        self.longest = longest
        self.deadline = deadline
        self.rest = b""

    def write(self, text):
        try:
            self.connection.settimeout(self._left())
            self.connection.sendall(text.encode("ascii") + b"\n")
        except OSError:
            raise Gone from None

    def read(self):
        parts = [self.rest]
        size = 0
        while b"\n" not in parts[-1]:
            size += len(parts[-1])
            if size > self.longest:
                raise Gone
            try:
                self.connection.settimeout(self._left())
                part = self.connection.recv(1 << 16)
            except OSError:
                raise Gone from None
            if not part:
                raise Gone
            parts.append(part)
        last, _, self.rest = parts.pop().partition(b"\n")
        return b"".join([*parts, last]).decode("ascii", "replace")

    def _left(self):
        if self.deadline is None:
            return None
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise Gone
        return left


def fork(run, uid, keep):
    """Runs a function in a child process of another user that keeps only one connection. Returns the child's id."""
    child = os.fork()
    if child != 0:
        return child
    try:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        connections = [os.dup(connection.fileno()) for connection in keep]
        for descriptor in map(int, os.listdir("/proc/self/fd")):
            if descriptor > 2 and descriptor not in connections:
                try:
                    os.close(descriptor)
                except OSError:
                    pass
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        os.environ.clear()
        os.environ.update(PATH="/usr/local/bin:/usr/bin:/bin", HOME=os.getcwd(), TMPDIR=os.getcwd(), LANG="C.UTF-8")
        sys.path.remove(TESTS)
        run(*[socket.socket(fileno=descriptor) for descriptor in connections])
    except BaseException:
        pass
    finally:
        os._exit(0)


def kill_all(uid):
    """Kills all processes of a user."""
    child = os.fork()
    if child == 0:
        try:
            os.setresuid(uid, uid, uid)
            os.kill(-1, signal.SIGKILL)
        finally:
            os._exit(0)
    os.waitpid(child, 0)


# In the candidate's process.


def serve(connection):
    """Loads the file, then answers calls, or the questions of a judge."""
    lines = Lines(connection, 1 << 26)
    order = json.loads(lines.read())
    limits = order["limits"]
    path = os.path.join(os.getcwd(), "solution.py")
    confine(limits)
    random.seed(0)
    try:
        # The definitions before the function in its prompt: imports and helpers.
        module = candidate.load(path, "solution", order["before"])
        exec(compile(order["source"], path, "exec", 0, True), module.__dict__)
        if order["kind"] == "calls":
            function = candidate.find(module, order["function"])
        else:
            for name in order["exports"]:
                getattr(module, name)
    except BaseException as error:
        lines.write('{"error":' + candidate.error_text(error, path) + "}")
        return
    lines.write("{}")

    def ask(text):
        lines.write(text)
        return lines.read()

    answers = objects.Objects(module, limits, path, ask)
    while True:
        text = lines.read()
        lines.write(candidate.call(function, text, limits, path) if order["kind"] == "calls" else answers.answer(text))


def confine(limits):
    megabyte = 1 << 20
    with open("/proc/self/statm") as file:
        base = int(file.read().split()[0]) * resource.getpagesize()
    seconds = math.ceil(limits["cpuMs"] / 1000)
    for name, amount in (
        (resource.RLIMIT_AS, base + limits["memoryMb"] * megabyte),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, limits["temporaryMb"] * megabyte),
        (resource.RLIMIT_NOFILE, limits["openFiles"]),
        (resource.RLIMIT_NPROC, limits["processes"]),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(name, (amount, amount))


# In the judge's process.


def run_judge(suite, size):
    """Returns a function that runs the suite's tests on the candidate and reports one outcome for each."""

    def run(to_candidate, to_grader):
        asked = Lines(to_candidate, 1 << 26)
        reports = Lines(to_grader, 0)

        def ask(text):
            try:
                asked.write(text)
                return asked.read()
            except Gone:
                raise judge.CandidateIsGone from None

        tests = judge.Judge(ask, size)
        try:
            tests.bind(suite["exports"])
            tests.set_up(suite.get("setup"))
            for test in suite["tests"]:
                reports.write(tests.run(test["code"]))
        except (judge.CandidateIsGone, judge.BrokenProtocol, AttributeError):
            pass

    return run


# In the grader's process.


def is_expected(got, test):
    """Compares a plain value with the expected one, as sandbox/grading/comparator.ts does for Python."""
    comparator = test.get("comparator") or {"kind": "exact"}
    kind = comparator["kind"]
    value = codec.decode(got)
    if kind in ("truthy", "falsy"):
        return bool(value) is (kind == "truthy")
    expected = codec.decode(test["expected"])
    if kind == "strict":
        return same_types(value, expected)
    if kind == "close":
        return is_close(value, expected, comparator.get("absolute", 0), comparator.get("relative", 0))
    return value == expected


def same_types(value, expected):
    if type(value) is not type(expected):
        return False
    if isinstance(value, float):
        return repr(value) == repr(expected)
    if isinstance(value, (list, tuple)):
        return len(value) == len(expected) and all(map(same_types, value, expected))
    if isinstance(value, dict):
        keys = {(type(key), key): item for key, item in value.items()}
        others = {(type(key), key): item for key, item in expected.items()}
        return keys.keys() == others.keys() and all(same_types(keys[key], others[key]) for key in keys)
    if isinstance(value, (set, frozenset)):
        return {(type(item), item) for item in value} == {(type(item), item) for item in expected}
    return value == expected


def is_close(value, expected, absolute, relative):
    numbers = (bool, int, float)
    if isinstance(value, numbers) and isinstance(expected, numbers):
        if value == expected:
            return True
        a, b = float(value), float(expected)
        if not math.isfinite(a) or not math.isfinite(b):
            return False
        return abs(a - b) <= absolute or abs(a - b) <= relative * max(abs(a), abs(b))
    if type(value) is not type(expected):
        return value == expected
    if isinstance(value, (list, tuple)):
        return len(value) == len(expected) and all(is_close(a, b, absolute, relative) for a, b in zip(value, expected))
    if isinstance(value, dict):
        return value.keys() == expected.keys() and all(
            is_close(value[key], expected[key], absolute, relative) for key in value
        )
    return value == expected


def grade_calls(suite, lines):
    """Makes the calls in a random order. Returns whether each test passed."""
    passed = [False] * len(suite["tests"])
    order = list(range(len(passed)))
    random.SystemRandom().shuffle(order)
    for index in order:
        test = suite["tests"][index]
        case = {"args": test["args"], "kwargs": test.get("kwargs", {})}
        try:
            lines.write(json.dumps(case, separators=(",", ":")))
            observed = codec.parse(lines.read())
            passed[index] = observed["outcome"] == "returned" and is_expected(observed["value"], test) is True
        except Gone:
            break
        except Exception:
            # An answer that is no plain value.
            continue
    return passed


def grade_judge(suite, connection, deadline, size):
    """Runs the judge. Returns whether each test passed."""
    passed = [False] * len(suite["tests"])
    ours, theirs = socket.socketpair()
    fork(run_judge(suite, size), JUDGE, [connection, theirs])
    theirs.close()
    reports = Lines(ours, 1 << 20, deadline)
    try:
        for index in range(len(passed)):
            passed[index] = codec.parse(reports.read())["outcome"] == "returned"
    except Gone:
        pass
    return passed


def read_source(path):
    """Returns the text of a plain file, or None."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        content = file.read(MAX_SOURCE + 1)
    return content.decode("utf-8", "replace") if len(content) <= MAX_SOURCE else None


def grade(source, connection):
    """Returns the components of the reward."""
    with open(os.path.join(TESTS, "suite.json"), encoding="utf-8") as file:
        settings = json.load(file)
    suite, limits = settings["suite"], settings["limits"]
    deadline = time.monotonic() + limits["wallMs"] / 1000
    lines = Lines(connection, 2 * limits["size"] + 4096, deadline)
    order = {"kind": suite["kind"], "before": settings["before"], "source": source, "limits": limits}
    order.update(function=suite.get("function"), exports=suite.get("exports"))
    error = None
    try:
        lines.write(json.dumps(order))
        error = codec.parse(lines.read()).get("error")
        loaded = error is None
        unread = False
    except Gone:
        # The file ended its process or took too long. It may be correct otherwise, as in Lyceum's sandboxes.
        loaded = unread = True
    except Exception:
        loaded = False
    if not loaded or unread:
        passed = [False] * len(suite["tests"])
    elif suite["kind"] == "calls":
        passed = grade_calls(suite, lines)
    else:
        passed = grade_judge(suite, connection, deadline, limits["size"])
    hidden = [place for place, test in enumerate(suite["tests"]) if test.get("visible") is not True]
    counted = hidden or list(range(len(passed)))
    kind = error.get("type") if isinstance(error, dict) else None
    print("%d of %d tests passed." % (sum(passed), len(passed)))
    return {
        "syntax": 0.05 if loaded or kind not in SYNTAX_ERRORS else 0,
        "definition": 0.05 if loaded else 0,
        "tests": 0.9 * (sum(passed[place] for place in counted) / len(counted)),
    }


def main(answer, agent):
    if os.getuid() != 0:
        sys.exit("The tests must run as root: they run the answer as another user.")
    for folder in (TESTS, "/logs"):
        os.chmod(folder, 0o700)
    kill_all(agent)
    if os.path.lexists(VERDICT):
        os.remove(VERDICT)
    source = read_source(answer)
    if source is None:
        print("There is no readable file %s." % answer)
        components = {"syntax": 0, "definition": 0, "tests": 0}
    else:
        work = tempfile.mkdtemp()
        os.chmod(work, 0o777)
        os.chdir(work)
        ours, theirs = socket.socketpair()
        # The process is forked before the tests are read, so that they are not in its memory.
        fork(serve, CANDIDATE, [theirs])
        theirs.close()
        try:
            components = grade(source, ours)
        finally:
            for user in (CANDIDATE, JUDGE):
                kill_all(user)
            os.chdir("/")
            shutil.rmtree(work, ignore_errors=True)
    verdict = {"reward": sum(components.values()), **components}
    descriptor = os.open(VERDICT, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump(verdict, file)


main(sys.argv[1], int(sys.argv[2]))
