"""A process that forks one child per order. It never sees a job: jobs are in files that only the child reads.

An order is a small JSON message with file descriptors. After the child has ended and its leftovers are removed, the
server answers with how the child ended. If that takes longer than a moment, it first sends the child's pid and a pidfd.
The server does little between forks, because every memory page that it writes then has to be copied.
"""

import ctypes
import os
import select
import signal
import socket
import sys

from . import codec, system_calls

_libc = ctypes.CDLL(None, use_errno=True)
_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36

TEMPORARY = "/tmp"
# Most children end sooner and need no watcher.
_MOMENT_MS = 5
_PLACES = 6
_END = '{"code":%s,"signal":%s,"cpuMs":%.3f,"peakRssKb":%d,"swept":%d}'


def hide():
    """Denies other processes of the same user access to the memory and descriptors of this process and its children."""
    _libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def serve(control, uid):
    """Serves orders until the other side closes. Returns in every child, with its order and its descriptors.

    The child still has to become the user.
    """
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    # Does the work that all children share, once. It has neither the host's descriptors nor the supervisor's.
    empty = os.open("/dev/null", os.O_RDWR)
    for descriptor in (0, 1):
        os.dup2(empty, descriptor)
    # New descriptors must be above the numbers that children use.
    while os.dup(empty) < _PLACES:
        pass
    _become_group(uid)
    # The supervisor sends it after all servers have started.
    system_calls.deny(int(control.recv(64)))
    os.chdir(TEMPORARY)
    # A judge and its candidate are two users and work on the same files.
    os.umask(0)
    sys.stdin = open(0, encoding="utf-8", closefd=False)
    base = _address_space()
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 65536, 8)
        if not message:
            os._exit(0)
        pid = os.fork()
        if pid == 0:
            return {**codec.parse(message.decode()), "baseBytes": base, "uid": uid}, descriptors
        for descriptor in descriptors:
            os.close(descriptor)
        _offer_to_the_oom_killer(pid)
        _report_a_slow_one(control, pid)
        _, status, usage = os.wait4(pid, 0)
        swept = _sweep(uid)
        _clear(uid)
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else "null"
        signal_number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else "null"
        cpu_ms = (usage.ru_utime + usage.ru_stime) * 1000
        control.send((_END % (code, signal_number, cpu_ms, usage.ru_maxrss, swept)).encode())


def _report_a_slow_one(control, pid):
    process = os.pidfd_open(pid)
    poll = select.poll()
    poll.register(process, select.POLLIN)
    if not poll.poll(_MOMENT_MS):
        socket.send_fds(control, [b"%d" % pid], [process])
    os.close(process)


def _address_space():
    """Returns the address space of the interpreter and its imports before any job, in bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def _become_group(uid):
    if os.getuid() != uid:
        os.setgroups([])
        os.setresgid(uid, uid, uid)


def become(uid):
    """Gives up root irrevocably. The process already has the user's group."""
    if os.getuid() != uid:
        os.setresuid(uid, uid, uid)


def _offer_to_the_oom_killer(pid):
    try:
        file = os.open("/proc/%d/oom_score_adj" % pid, os.O_WRONLY)
        os.write(file, b"1000")
        os.close(file)
    except OSError:
        pass


def _sweep(uid):
    """Kills and reaps all remaining children of the child. Returns their number."""
    swept = 0
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return swept
        if pid == 0:
            # One signal to all of them: a fork bomb outruns a list. With our own uid, the signal would kill us too.
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
    """Removes the files that the child wrote."""
    for name in os.listdir(TEMPORARY):
        path = os.path.join(TEMPORARY, name)
        try:
            os.unlink(path)
        except OSError:
            _as_user(uid, lambda: _remove(path))


def _remove(path):
    import shutil
    import stat

    for folder, _, _ in os.walk(path):
        os.chmod(folder, stat.S_IRWXU)
        # os.walk reads a folder before it yields it, so a folder without permissions has to be walked again.
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
