"""Receives jobs from the host, lets the fork servers run them and enforces their limits.

Only this process reads whole jobs. It never forks after the first job has arrived, so no child inherits memory that
contains a job.
"""

import json
import os
import select
import signal
import socket
import struct
import time

from . import fork_server, imports

_KEPT_PER_READ = 65536
# A flood is not read to its end, because reading costs the supervisor as much as the candidate.
_FLOOD = 64
_SMALLEST_FLOOD = 1 << 22
_TICK_MS = 50


class HostIsGone(Exception):
    """The host has closed the connection."""


class _Output:
    """The output of one pipe. Bytes up to a limit are kept, all are counted."""

    def __init__(self, descriptor, limit):
        self.descriptor = descriptor
        self.limit = limit
        self.kept = []
        self.kept_bytes = 0
        self.bytes = 0
        os.set_blocking(descriptor, False)

    def read(self):
        """Reads a part. Returns False at the end of the output."""
        try:
            part = os.read(self.descriptor, _KEPT_PER_READ)
        except BlockingIOError:
            return True
        if not part:
            return False
        self.bytes += len(part)
        room = self.limit - self.kept_bytes
        if room > 0:
            self.kept.append(part[:room])
            self.kept_bytes += min(room, len(part))
        return True

    def first_line(self):
        """Returns the first line. None if it is not complete yet."""
        line, end, _ = b"".join(self.kept[:2]).partition(b"\n")
        return line if end else None

    def drain(self):
        """Reads the rest after all writers have closed, and closes the pipe."""
        before = -1
        while before != self.bytes:
            before = self.bytes
            self.read()
        os.close(self.descriptor)

    def text(self):
        return b"".join(self.kept).decode("utf-8", "replace")


class _Run:
    """One forked child. It receives `cases` after its code is loaded, so that loading code cannot see them."""

    def __init__(self, server, order, payload, limits, stdin="", channel=None, cases=None):
        self.role = order["role"]
        self.server = server
        self.limits = limits
        self.result_bytes = limits["resultBytes"]
        self.reason = None
        self.end = None
        pipes = [os.pipe() for _ in range(3)]
        given = [_file_of(stdin), pipes[0][1], pipes[1][1], pipes[2][1], _file_of(payload)]
        self.cases = None
        if cases is not None:
            channel, signal_end = os.pipe()
            self.cases = _Cases(cases, os.dup(given[-1]), signal_end)
        socket.send_fds(server, [json.dumps(order).encode()], given + ([] if channel is None else [channel]))
        for descriptor in given + ([] if cases is None else [channel]):
            os.close(descriptor)
        # A program's output is its result.
        kept = self.result_bytes if self.role == "program" else limits["outputBytes"]
        self.stdout = _Output(pipes[0][0], kept)
        self.flood = max(_SMALLEST_FLOOD, _FLOOD * limits["outputBytes"])
        self.stderr = _Output(pipes[1][0], limits["outputBytes"])
        self.results = _Output(pipes[2][0], self.result_bytes)
        self.process = None

    def ended_at_once(self):
        """Waits a moment. Returns False if the child has not ended by then and must be watched."""
        self.wait_for_load()
        message, descriptors, _, _ = socket.recv_fds(self.server, 4096, 1)
        if not descriptors:
            self.finish(message)
            return True
        (self.process,) = descriptors
        self.clock = ((~int(message)) << 3) | 2
        return False

    def wait_for_load(self):
        """Passes the cases to the child as soon as its code is loaded, unless that takes more than a moment."""
        if self.cases is None:
            return
        poll = select.poll()
        poll.register(self.server, select.POLLIN)
        poll.register(self.results.descriptor, select.POLLIN)
        while self.cases is not None:
            if self.server.fileno() in dict(poll.poll()):
                return
            if not self.read(self.results):
                return

    def read(self, output):
        """Reads a part of one output. Returns False at its end."""
        more = output.read()
        if self.cases is not None and output is self.results and output.bytes > 0:
            if self.cases.hand_over_after(output.first_line()):
                self.cases = None
        return more

    def cpu_ms(self):
        try:
            return time.clock_gettime(self.clock) * 1000
        except OSError:
            return 0

    def check(self):
        """Kills the child if it has exceeded a limit. Returns the milliseconds until the next check is needed."""
        if self.said_too_much():
            self.kill("result_limit")
        elif max(self.stdout.bytes, self.stderr.bytes) > self.flood:
            self.kill("output_limit")
        else:
            left = self.limits["cpuMs"] - self.cpu_ms()
            if left > 0:
                return left
            self.kill("timeout_cpu")
        return _TICK_MS

    def said_too_much(self):
        return max(self.results.bytes, self.stdout.bytes if self.role == "program" else 0) > self.result_bytes

    def kill(self, reason):
        if self.reason is None:
            self.reason = reason
        try:
            signal.pidfd_send_signal(self.process, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def finish(self, message):
        """Records the end of the child. Called after its process and its leftovers are gone."""
        self.end = json.loads(message)
        if self.cases is not None:
            self.cases.close()
        for output in (self.stdout, self.stderr, self.results):
            output.drain()
        if self.reason is None and self.said_too_much():
            self.reason = "result_limit"

    def end_watch(self):
        os.close(self.process)
        self.finish(self.server.recv(4096))

    def observed(self):
        return {
            "role": self.role,
            "reason": self.reason,
            "results": self.results.text(),
            "stdout": {"text": self.stdout.text(), "bytes": self.stdout.bytes},
            "stderr": {"text": self.stderr.text(), "bytes": self.stderr.bytes},
            **self.end,
        }


class _Cases:
    """Cases that wait until their code is loaded. They are then appended to the job's file."""

    def __init__(self, text, file, signal_end):
        self.text = text
        self.file = file
        self.signal_end = signal_end

    def hand_over_after(self, line):
        """Passes on the cases if the child's first line reports that the code is loaded. False without a line."""
        if line is None:
            return False
        if b" loaded " in line:
            _append(self.file, self.text)
            try:
                os.write(self.signal_end, b"\n")
            except OSError:
                pass
        self.close()
        return True

    def close(self):
        os.close(self.file)
        os.close(self.signal_end)


def _append(file, text):
    data = text.encode("utf-8", "surrogatepass")
    place = os.lseek(file, 0, os.SEEK_END)
    while data:
        size = os.pwrite(file, data, place)
        data = data[size:]
        place += size


def _file_of(text):
    """Returns the descriptor of a memory file that contains a text, positioned at its start."""
    if text == "":
        return os.open("/dev/null", os.O_RDONLY)
    descriptor = os.memfd_create("job")
    data = text.encode("utf-8", "surrogatepass")
    while data:
        data = data[os.write(descriptor, data) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


class Supervisor:
    """Runs the host's jobs one at a time, by fork servers for candidates and judges with few and with more imports."""

    def __init__(self, servers, packages):
        self.servers = {"few": servers[:2], "more": servers[2:]}
        self.packages = packages
        self.input = b""
        self.memory = _MemoryLimit()
        self.machine_oom_kills = _machine_oom_kills()

    def serve(self):
        while True:
            job = json.loads(self.next_frame())
            if "abort" not in job:
                send(json.dumps(self.run(job)).encode("utf-8", "surrogatepass"))

    def next_frame(self):
        while True:
            frame = self.take_frame()
            if frame is not None:
                return frame
            self.receive()

    def take_frame(self):
        if len(self.input) < 4:
            return None
        (size,) = struct.unpack(">I", self.input[:4])
        if len(self.input) < 4 + size:
            return None
        frame = self.input[4 : 4 + size]
        self.input = self.input[4 + size :]
        return frame

    def receive(self):
        part = os.read(0, 1 << 20)
        if not part:
            raise HostIsGone()
        self.input += part

    def run(self, job):
        start = time.monotonic()
        deadline = start + job["limits"]["wallMs"] / 1000
        observed = []
        for part in job["parts"]:
            runs = self.start(job["limits"], part)
            self.watch(runs, deadline)
            observed.append([run.observed() for run in runs])
            if any(run.reason is not None for run in runs):
                break
        was_killed = any(run["signal"] == signal.SIGKILL and run["reason"] is None for runs in observed for run in runs)
        return {
            "id": job["id"],
            "wallMs": (time.monotonic() - start) * 1000,
            "oomKills": self.memory.kills(),
            "machineOomKills": self.new_machine_oom_kills() if was_killed else 0,
            "parts": observed,
            "clean": os.listdir(fork_server.TEMPORARY) == [],
        }

    def new_machine_oom_kills(self):
        """Returns how many processes the kernel killed since the last call because any memory was used up."""
        before, self.machine_oom_kills = self.machine_oom_kills, _machine_oom_kills()
        return self.machine_oom_kills - before

    def start(self, limits, part):
        payload = part["payload"]
        if "judge" not in part:
            order = {"limits": limits, "role": part["role"]}
            given = {"stdin": part.get("stdin", ""), "cases": part.get("cases")}
            return [_Run(self.server_for(payload), order, payload, limits, **given)]
        ours, theirs = socket.socketpair()
        with ours, theirs:
            order = {"limits": limits, "role": "candidate"}
            candidate = _Run(self.server_for(payload), order, payload, limits, channel=theirs.fileno())
            order = {"limits": limits, "role": "judge"}
            payload = part["judge"]
            judge = _Run(self.server_for(payload, 1), order, payload, limits, channel=ours.fileno())
        return [candidate, judge]

    def server_for(self, payload, place=0):
        return self.servers["few" if imports.are_few(payload, self.packages) else "more"][place]

    def watch(self, runs, deadline):
        # The judge first: its candidate ends after it.
        slow = [run for run in reversed(runs) if not run.ended_at_once()]
        if slow:
            _Watch(slow, deadline, self).run()
        return runs


class _Watch:
    """Enforces the limits of runs that take longer than a moment, until all have ended."""

    def __init__(self, runs, deadline, host):
        self.active = runs
        self.deadline = deadline
        self.host = host
        self.poll = select.poll()
        self.poll.register(0, select.POLLIN)
        self.sources = {}
        for run in runs:
            self.sources[run.process] = (run, None)
            for output in (run.stdout, run.stderr, run.results):
                self.sources[output.descriptor] = (run, output)
        for descriptor in self.sources:
            self.poll.register(descriptor, select.POLLIN)

    def run(self):
        while self.active:
            left = (self.deadline - time.monotonic()) * 1000
            wait = min(_TICK_MS, left, *[run.check() for run in self.active])
            if left <= 0:
                self.kill_all("timeout_wall")
                wait = _TICK_MS
            for descriptor, _ in self.poll.poll(max(1, wait)):
                if descriptor == 0:
                    self.host.receive()
                    if self.host.take_frame() is not None:
                        self.kill_all("aborted")
                    continue
                run, output = self.sources[descriptor]
                if output is None:
                    self.end(run)
                elif run in self.active and not run.read(output):
                    self.poll.unregister(descriptor)

    def end(self, run):
        self.active.remove(run)
        for descriptor in [each for each, (owner, _) in self.sources.items() if owner is run]:
            try:
                self.poll.unregister(descriptor)
            except KeyError:
                pass
        run.end_watch()
        # Without its judge, the candidate has no work. If a candidate is killed, the judge is killed too.
        if run.role == "judge":
            self.kill_all("judge-ended" if run.reason is None else run.reason)
        elif run.reason is not None:
            self.kill_all(run.reason)

    def kill_all(self, reason):
        for run in self.active:
            run.kill(reason)


class _MemoryLimit:
    """Counts the processes that the kernel killed because this container reached its own memory limit.

    The kernel's counter also contains processes that it killed because the whole machine had no memory left.
    """

    # Version 2 of control groups, then version 1.
    _FILES = ["/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"]
    # Version 1 does not count how often the limit was reached (failcnt stays 0 in newer kernels), but it reports the
    # highest memory use.
    _MOST = "/sys/fs/cgroup/memory/memory.max_usage_in_bytes"
    _LIMIT = "/sys/fs/cgroup/memory/memory.limit_in_bytes"
    # The last pages below the limit may stay unused.
    _ROUGHLY = 1 << 20

    def __init__(self):
        self.file = next((file for file in map(_open, self._FILES) if file is not None), None)
        self.most, self.limit = _open(self._MOST), _open(self._LIMIT)
        self.before = self.read()

    def kills(self):
        """Returns the number of killed processes since the last call."""
        (kills, limits), self.before = self.before, self.read()
        was_reached = None in (limits, self.before[1]) or self.before[1] > limits
        return self.before[0] - kills if was_reached else 0

    def read(self):
        """Returns the number of killed processes, and how often the limit was reached (None if unknown)."""
        try:
            lines = os.pread(self.file, 4096, 0).split(b"\n") if self.file is not None else []
        except OSError:
            lines = []
        counts = dict(line.split() for line in lines if line)
        return (int(counts.get(b"oom_kill", 0)), int(counts[b"oom"]) if b"oom" in counts else self.never_reached())

    def never_reached(self):
        """Returns 0 if the highest memory use ever is below the limit, else None."""
        try:
            most, limit = (int(os.pread(file, 64, 0)) for file in (self.most, self.limit))
        except (TypeError, OSError, ValueError):
            return None
        return 0 if most < limit - self._ROUGHLY else None


def _machine_oom_kills():
    """Returns the kernel's count for the whole machine. 0 if it has none."""
    try:
        with open("/proc/vmstat") as file:
            return next((int(line.split()[1]) for line in file if line.startswith("oom_kill ")), 0)
    except OSError:
        return 0


def _open(path):
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None


def send(data):
    """Sends a frame to the host."""
    data = struct.pack(">I", len(data)) + data
    while data:
        data = data[os.write(1, data) :]
