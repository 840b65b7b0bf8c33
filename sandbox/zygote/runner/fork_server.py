"""A process that forks one child per order and knows nothing of the jobs: they go past it in files that it never reads.

An order is a small JSON message with file descriptors; the answers are the child's pid with a descriptor of it, then,
when the child and whatever it left are gone, how it ended.
"""

import ctypes
import json
import os
import shutil
import signal
import socket
import stat

_libc = ctypes.CDLL(None, use_errno=True)
_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36

TEMPORARY = "/tmp"


def hide():
    """Keeps other processes of the same user out of this one's memory and descriptors, and of its children's."""
    _libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def serve(control):
    """Serves orders until the other side is gone. Returns in every child, with its order and its descriptors."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    base = _address_space()
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 65536, 8)
        if not message:
            os._exit(0)
        order = json.loads(message)
        pid = os.fork()
        if pid == 0:
            return {**order, "baseBytes": base}, descriptors
        for descriptor in descriptors:
            os.close(descriptor)
        _offer_to_the_oom_killer(pid)
        process = os.pidfd_open(pid)
        socket.send_fds(control, [b"%d" % pid], [process])
        os.close(process)
        _, status, usage = os.wait4(pid, 0)
        swept = _sweep(order["uid"])
        _clear(order["uid"])
        end = {
            "code": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
            "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
            "cpuMs": round((usage.ru_utime + usage.ru_stime) * 1000, 3),
            "peakRssKb": usage.ru_maxrss,
            "swept": swept,
        }
        control.send(json.dumps(end).encode())


def _address_space():
    """Bytes that the interpreter and what it has imported take before any job."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def become(uid):
    """Gives up root for good."""
    if os.getuid() != uid:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)


def _offer_to_the_oom_killer(pid):
    try:
        with open("/proc/%d/oom_score_adj" % pid, "w") as file:
            file.write("1000")
    except OSError:
        pass


def _sweep(uid):
    """Kills and reaps whatever is left of the child's children; says how many there were."""
    swept = 0
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return swept
        if pid == 0:
            # One signal to all of them: a fork bomb outruns a list. Our own uid would be ours to lose.
            if uid == os.getuid():
                _kill_children()
            else:
                _as_user(uid, lambda: os.kill(-1, signal.SIGKILL))
            os.waitpid(-1, 0)
        swept += 1


def _kill_children():
    path = "/proc/self/task/%d/children" % os.getpid()
    with open(path) as file:
        for pid in file.read().split():
            os.kill(int(pid), signal.SIGKILL)


def _clear(uid):
    """Removes what was written."""
    for name in os.listdir(TEMPORARY):
        path = os.path.join(TEMPORARY, name)
        try:
            os.unlink(path)
        except OSError:
            _as_user(uid, lambda: _remove(path))


def _remove(path):
    for folder, _, _ in os.walk(path):
        os.chmod(folder, stat.S_IRWXU)
        # os.walk reads a folder before it gives it: one without permissions has to be walked again.
    for folder, folders, _ in os.walk(path):
        for name in folders:
            inner = os.path.join(folder, name)
            if not os.path.islink(inner):
                os.chmod(inner, stat.S_IRWXU)
    shutil.rmtree(path, ignore_errors=True)


def _as_user(uid, action):
    pid = os.fork()
    if pid == 0:
        try:
            become(uid)
            action()
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
