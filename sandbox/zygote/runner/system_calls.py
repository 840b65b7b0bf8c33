"""Irrevocably denies a process the system calls that outlive or watch processes. No honest solution makes them.

This complements what the container refuses. It lists denied calls, because lists of allowed calls break programs.
"""

import ctypes
import platform
import resource
import struct

_libc = ctypes.CDLL(None, use_errno=True)
_PR_SET_NO_NEW_PRIVS = 38
_PR_SET_SECCOMP = 22
_SECCOMP_MODE_FILTER = 2
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_EPERM, _EFAULT, _ENOSYS, _EAFNOSUPPORT = 1, 14, 38, 97
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, (16, 24, 32)
_X32 = 0x40000000
_AF_UNIX = 1
_NEW_NAMESPACES = 0x7E020000
_SET_OWNER = {"fcntl": (8, 15), "ioctl": (0x8901, 0x8902)}
_SET_SIGNAL = 10
_SIGKILL = 9
_EXIT_SIGNAL = 0xFF

# Memory, queues and keys that outlive a process, other processes, and kernel parts with known vulnerabilities.
_numbers = {
    "x86_64": (
        0xC000003E,
        {
            *(29, 30, 31, 64, 65, 66, 68, 69, 70, 71, 220),  # System V shared memory, semaphores, messages
            *(240, 241, 242, 243, 244, 245),  # message queues
            *(248, 249, 250),  # keys
            *(101, 310, 311, 312, 438, 440),  # ptrace, other processes' memory and descriptors
            *(155, 161, 165, 166, 272, 308, 428, 429, 430, 431, 432, 433, 442),  # mounts, namespaces
            *(298, 321, 323, 425, 426, 427),  # perf, bpf, userfaultfd, io_uring
        },
        {
            **{"socket": 41, "socketpair": 53, "clone": 56, "clone3": 435, "fcntl": 72, "ioctl": 16},
            # kill, rt_sigqueueinfo, sched_setparam, sched_setscheduler, tkill, sched_setaffinity, tgkill,
            # rt_tgsigqueueinfo, prlimit64, sched_setattr, pidfd_open
            "by pid": (62, 129, 142, 144, 200, 203, 234, 297, 302, 314, 434),
            # setpriority, ioprio_set, migrate_pages, move_pages, pidfd_send_signal
            "of others": (141, 251, 256, 279, 424),
            **{"kill": 62, "rt_sigqueueinfo": 129, "tkill": 200, "tgkill": 234, "rt_tgsigqueueinfo": 297},
            **{"pidfd_send_signal": 424, "timer_create": 222, "setrlimit": 160, "prlimit64": 302},
        },
    ),
    "aarch64": (
        0xC00000B7,
        {
            *(186, 187, 188, 189, 190, 191, 192, 193, 194, 195, 196, 197),
            *(180, 181, 182, 183, 184, 185),
            *(217, 218, 219),
            *(117, 270, 271, 272, 438, 440),
            *(39, 40, 41, 51, 97, 268, 428, 429, 430, 431, 432, 433, 442),
            *(241, 280, 282, 425, 426, 427),
        },
        {
            **{"socket": 198, "socketpair": 199, "clone": 220, "clone3": 435, "fcntl": 25, "ioctl": 29},
            "by pid": (129, 138, 118, 119, 130, 122, 131, 240, 261, 274, 434),
            "of others": (140, 30, 238, 239, 424),
            **{"kill": 129, "rt_sigqueueinfo": 138, "tkill": 130, "tgkill": 131, "rt_tgsigqueueinfo": 240},
            **{"pidfd_send_signal": 424, "timer_create": 107, "setrlimit": 164, "prlimit64": 261},
        },
    ),
}


def _step(code, value, if_true=0, if_false=0):
    return struct.pack("HBBI", code, if_true, if_false, value)


def _fail(error):
    return _step(_RETURN, _ERRNO | error)


def _when(number, steps):
    """Returns the steps of the filter for one system call. Every path through `steps` must return."""
    return [_step(_EQUAL, number, 0, len(steps)), *steps]


def _unix_only():
    """Allows sockets of AF_UNIX only. A network namespace does not isolate every other family, such as AF_VSOCK."""
    family = _step(_LOAD, _ARGUMENTS[0])
    return [family, _step(_EQUAL, _AF_UNIX, 0, 1), _step(_RETURN, _ALLOW), _fail(_EAFNOSUPPORT)]


def _no_new_namespaces():
    flags = _step(_LOAD, _ARGUMENTS[0])
    return [flags, _step(_ANY_BIT, _NEW_NAMESPACES, 0, 1), _fail(_EPERM), _step(_RETURN, _ALLOW)]


def _not_up_to(last):
    """Denies a first argument that is an id of the runner's processes or groups (up to `last`), or means all."""
    return [
        _step(_LOAD, _ARGUMENTS[0]),
        _step(_AT_LEAST, (1 << 32) - last, 2, 0),
        _step(_EQUAL, 0, 2, 0),
        _step(_AT_LEAST, last + 1, 1, 0),
        _fail(_EPERM),
        _step(_RETURN, _ALLOW),
    ]


def _second_is_not(first, other):
    command = _step(_LOAD, _ARGUMENTS[1])
    return [command, _step(_EQUAL, first, 1, 0), _step(_EQUAL, other, 0, 1), _fail(_EPERM), _step(_RETURN, _ALLOW)]


def _filter_for(machine, last_own_pid):
    if machine not in _numbers:
        return None
    architecture, denied, named = _numbers[machine]
    steps = [_step(_LOAD, _ARCHITECTURE), _step(_EQUAL, architecture, 1, 0), _step(_RETURN, _KILL)]
    steps.append(_step(_LOAD, _NUMBER))
    if machine == "x86_64":
        # In the x32 interface, the same calls have other numbers.
        steps += [_step(_AT_LEAST, _X32, 0, 1), _fail(_EPERM)]
    if last_own_pid > 0:
        denied = denied.union(named["of others"])
        for number in named["by pid"]:
            steps += _when(number, _not_up_to(last_own_pid))
        for name, commands in _SET_OWNER.items():
            steps += _when(named[name], _second_is_not(*commands))
    for number in sorted(denied):
        steps += _when(number, [_fail(_EPERM)])
    for name in ("socket", "socketpair"):
        steps += _when(named[name], _unix_only())
    steps += _when(named["clone"], _no_new_namespaces())
    # Its flags are in memory, which a filter cannot read. Libraries then use clone instead.
    steps += _when(named["clone3"], [_fail(_ENOSYS)])
    return _program(steps)


def _program(steps):
    steps = [*steps, _step(_RETURN, _ALLOW)]
    code = b"".join(steps)
    buffer = ctypes.create_string_buffer(code, len(code))
    return struct.pack("HxxxxxxP", len(steps), ctypes.addressof(buffer)), buffer


def _unless(place, value, result):
    """Returns a result if an argument has a value, and allows the call otherwise."""
    return [_step(_LOAD, _ARGUMENTS[place]), _step(_EQUAL, value, 0, 1), result, _step(_RETURN, _ALLOW)]


def _no_own_end(pid, place):
    """Ends a process that sends SIGKILL (the argument at `place`) to `pid`, its group, its own group or everyone."""
    targets = [0, 0xFFFFFFFF, pid, (1 << 32) - pid]
    steps = [_step(_LOAD, _ARGUMENTS[place]), _step(_EQUAL, _SIGKILL, 1, 0), _step(_RETURN, _ALLOW)]
    steps.append(_step(_LOAD, _ARGUMENTS[0]))
    steps += [_step(_EQUAL, target, len(targets) - index, 0) for index, target in enumerate(targets)]
    return [*steps, _step(_RETURN, _ALLOW), _step(_RETURN, _KILL)]


def can_filter():
    """True if the kernel filters system calls and this machine's numbers are known."""
    no_program = _libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, 0, 0, 0)
    return platform.machine() in _numbers and no_program == -1 and ctypes.get_errno() == _EFAULT


def keep_from_killing(pid):
    """Denies a process and its children every way to end the process `pid` by SIGKILL, so that one comes from outside.

    An attempt ends the caller by SIGSYS. Signals that a program can handle stay allowed. The kernel itself sends
    SIGKILL at the limit of processor time, so that this limit cannot be changed, and if the memory is used up.
    """
    if not can_filter():
        return
    _, _, named = _numbers[platform.machine()]
    killed = _step(_RETURN, _KILL)
    steps = [_step(_LOAD, _NUMBER)]
    for name, place in (("kill", 1), ("rt_sigqueueinfo", 1), ("tgkill", 2), ("rt_tgsigqueueinfo", 2)):
        steps += _when(named[name], _no_own_end(pid, place))
    steps += _when(named["tkill"], _unless(1, _SIGKILL, killed))
    steps += _when(named["pidfd_send_signal"], _unless(1, _SIGKILL, _fail(_EPERM)))
    # A parent gets this signal when the child ends.
    exit_signal = [_step(_LOAD, _ARGUMENTS[0]), _step(_AND, _EXIT_SIGNAL), _step(_EQUAL, _SIGKILL, 0, 1)]
    steps += _when(named["clone"], [*exit_signal, _fail(_EPERM), _step(_RETURN, _ALLOW)])
    # The signal of a timer is in memory, which a filter cannot read.
    steps += _when(named["timer_create"], [_fail(_EPERM)])
    set_signal = [_step(_LOAD, _ARGUMENTS[1]), _step(_EQUAL, _SET_SIGNAL, 1, 0), _step(_RETURN, _ALLOW)]
    steps += _when(named["fcntl"], [*set_signal, *_unless(2, _SIGKILL, _fail(_EPERM))])
    limit = resource.RLIMIT_CPU
    steps += _when(named["setrlimit"], _unless(0, limit, _fail(_EPERM)))
    # Without a new limit, the call only reads. The address of a limit has two halves.
    low, high = _ARGUMENTS[2], _ARGUMENTS[2] + 4
    reads = [_step(_LOAD, low), _step(_EQUAL, 0, 0, 3), _step(_LOAD, high), _step(_EQUAL, 0, 0, 1)]
    steps += _when(named["prlimit64"], [*reads, _step(_RETURN, _ALLOW), *_unless(1, limit, _fail(_EPERM))])
    program = _program(steps)
    if _libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, program[0], 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "The filter of system calls is refused.")


def deny(last_own_pid):
    """Denies the calls, and new privileges, to this process and all processes that it starts.

    On machines other than x86_64 and aarch64, it denies new privileges only. If candidates run as the runner's own
    user, it also denies signals and similar calls to processes with ids up to `last_own_pid`. Otherwise that is 0.
    """
    _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    program = _filter_for(platform.machine(), last_own_pid)
    if program is not None:
        _libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, program[0], 0, 0)
