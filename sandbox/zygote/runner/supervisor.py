"""Takes jobs from the host, has the fork servers run them, and holds them to their limits.

It alone reads a whole job, and nothing is ever forked from it once the first job is there: what a child could find in
memory that it inherited is nothing.
"""

import json
import os
import select
import signal
import socket
import struct
import sys
import time

from . import fork_server

_KEPT_PER_READ = 65536
# A flood is not read to its end: it costs the supervisor as much as the candidate.
_FLOOD = 64
_SMALLEST_FLOOD = 1 << 22
_TICK_MS = 50


class HostIsGone(Exception):
    """The host closed its end: there is nobody left to work for."""


class _Output:
    """Bytes of one pipe, kept up to a limit."""

    def __init__(self, descriptor, limit):
        self.descriptor = descriptor
        self.limit = limit
        self.kept = []
        self.kept_bytes = 0
        self.bytes = 0
        os.set_blocking(descriptor, False)

    def read(self):
        """False at the end."""
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

    def drain(self):
        """What is left, once every writer is gone."""
        before = -1
        while before != self.bytes:
            before = self.bytes
            self.read()
        os.close(self.descriptor)

    def text(self):
        return b"".join(self.kept).decode("utf-8", "replace")


class _Run:
    """One forked child."""

    def __init__(self, server, order, payload, limits, stdin="", channel=None):
        self.role = order["role"]
        self.server = server
        self.limits = limits
        self.result_bytes = limits["resultBytes"]
        self.reason = None
        self.end = None
        pipes = [os.pipe() for _ in range(3)]
        given = [_file_of(stdin), pipes[0][1], pipes[1][1], pipes[2][1], _file_of(payload)]
        socket.send_fds(server, [json.dumps(order).encode()], given + ([] if channel is None else [channel]))
        for descriptor in given:
            os.close(descriptor)
        # A program's output is its result.
        kept = self.result_bytes if self.role == "program" else limits["outputBytes"]
        self.stdout = _Output(pipes[0][0], kept)
        self.flood = max(_SMALLEST_FLOOD, _FLOOD * limits["outputBytes"])
        self.stderr = _Output(pipes[1][0], limits["outputBytes"])
        self.results = _Output(pipes[2][0], self.result_bytes)
        message, (self.process,), _, _ = socket.recv_fds(server, 64, 1)
        self.pid = int(message)
        self.clock = ((~self.pid) << 3) | 2

    def cpu_ms(self):
        try:
            return time.clock_gettime(self.clock) * 1000
        except OSError:
            return 0

    def check(self):
        """Kills it where it has gone beyond a limit; says for how long it cannot."""
        if self.results.bytes > self.result_bytes:
            self.kill("result_limit")
        elif self.role == "program" and self.stdout.bytes > self.result_bytes:
            self.kill("result_limit")
        elif max(self.stdout.bytes, self.stderr.bytes) > self.flood:
            self.kill("output_limit")
        else:
            left = self.limits["cpuMs"] - self.cpu_ms()
            if left > 0:
                return left
            self.kill("timeout_cpu")
        return _TICK_MS

    def kill(self, reason):
        if self.reason is None:
            self.reason = reason
        try:
            signal.pidfd_send_signal(self.process, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def finish(self):
        """After the process has ended: waits until what it left is gone."""
        os.close(self.process)
        self.end = json.loads(self.server.recv(4096))
        for output in (self.stdout, self.stderr, self.results):
            output.drain()

    def observed(self):
        return {
            "role": self.role,
            "reason": self.reason,
            "results": self.results.text(),
            "stdout": {"text": self.stdout.text(), "bytes": self.stdout.bytes},
            "stderr": {"text": self.stderr.text(), "bytes": self.stderr.bytes},
            **self.end,
        }


def _file_of(text):
    """A file in memory that holds a text, at its start."""
    if text == "":
        return os.open("/dev/null", os.O_RDONLY)
    descriptor = os.memfd_create("job")
    data = text.encode("utf-8", "surrogatepass")
    while data:
        data = data[os.write(descriptor, data) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


class Supervisor:
    """Runs the host's jobs, one at a time."""

    def __init__(self, candidates, judges, uid):
        self.candidates = candidates
        self.judges = judges
        self.uid = uid
        # Where there is only one user, tests run as the candidate's; processes are then kept apart by being undumpable.
        self.judge_uid = uid if uid == os.getuid() else uid + 1
        self.input = b""

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
        oom_before = _oom_kills()
        observed = []
        for payload in job["parts"]:
            runs = self.start(job, payload)
            self.watch(runs, deadline)
            observed.append([run.observed() for run in runs])
            if any(run.reason is not None for run in runs):
                break
        return {
            "id": job["id"],
            "wallMs": (time.monotonic() - start) * 1000,
            "oomKills": _oom_kills() - oom_before,
            "parts": observed,
            "clean": os.listdir(fork_server.TEMPORARY) == [],
        }

    def start(self, job, part):
        limits = job["limits"]
        common = {"limits": limits}
        if "judge" not in part:
            order = {**common, "role": part["role"], "uid": self.uid}
            return [_Run(self.candidates, order, part["payload"], limits, part.get("stdin", ""))]
        ours, theirs = socket.socketpair()
        with ours, theirs:
            order = {**common, "role": "candidate", "uid": self.uid}
            candidate = _Run(self.candidates, order, part["payload"], limits, channel=theirs.fileno())
            order = {**common, "role": "judge", "uid": self.judge_uid}
            judge = _Run(self.judges, order, part["judge"], limits, channel=ours.fileno())
        return [candidate, judge]

    def watch(self, runs, deadline):
        poll = select.poll()
        sources = {}
        for run in runs:
            poll.register(run.process, select.POLLIN)
            sources[run.process] = (run, None)
            for output in (run.stdout, run.stderr, run.results):
                poll.register(output.descriptor, select.POLLIN)
                sources[output.descriptor] = (run, output)
        poll.register(0, select.POLLIN)
        active = list(runs)
        while active:
            left = (deadline - time.monotonic()) * 1000
            wait = min(_TICK_MS, left, *[run.check() for run in active])
            if left <= 0:
                for run in active:
                    run.kill("timeout_wall")
                wait = _TICK_MS
            for descriptor, _ in poll.poll(max(1, wait)):
                if descriptor == 0:
                    self.receive()
                    if self.take_frame() is not None:
                        for run in active:
                            run.kill("aborted")
                    continue
                run, output = sources[descriptor]
                if output is not None:
                    if run in active and not output.read():
                        poll.unregister(descriptor)
                    continue
                if run not in active:
                    continue
                active.remove(run)
                for part in (run.process, run.stdout.descriptor, run.stderr.descriptor, run.results.descriptor):
                    try:
                        poll.unregister(part)
                    except KeyError:
                        pass
                run.finish()
                # Without its judge the candidate has nobody to answer; a killed candidate takes the judge with it.
                for other in active:
                    if run.role == "judge":
                        other.kill("judge-ended" if run.reason is None else run.reason)
                    elif run.reason is not None:
                        other.kill(run.reason)


def _oom_kills():
    """Processes of this container that the kernel has killed for memory."""
    for path in ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"):
        try:
            with open(path) as file:
                for line in file:
                    name, _, count = line.partition(" ")
                    if name == "oom_kill":
                        return int(count)
        except OSError:
            pass
    return 0


def send(data):
    """A frame to the host."""
    data = struct.pack(">I", len(data)) + data
    while data:
        data = data[os.write(1, data) :]


def ready(packages):
    """Tells the host that jobs can come."""
    found = []
    for name in packages:
        try:
            __import__(name)
            found.append(name)
        except ImportError:
            pass
    return {"python": sys.version.split()[0], "packages": found}
