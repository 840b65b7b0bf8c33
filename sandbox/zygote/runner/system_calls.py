"""Takes from a process, for good, the system calls that no honest solution makes and that outlive or watch processes.

An addition to what the container refuses, and a list of what is denied, not of what is allowed: those break programs.
"""

import ctypes
import platform
import struct

_libc = ctypes.CDLL(None, use_errno=True)
_PR_SET_NO_NEW_PRIVS = 38
_PR_SET_SECCOMP = 22
_SECCOMP_MODE_FILTER = 2
_EPERM = 1
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _DENY, _KILL = 0x7FFF0000, 0x00050000 | _EPERM, 0x80000000
_X32 = 0x40000000

# Memory, queues and keys that outlive a process; other processes; kernel parts with a history of holes.
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
    ),
}


def _filter_for(machine):
    if machine not in _numbers:
        return None
    architecture, denied = _numbers[machine]

    def step(code, value, if_true=0, if_false=0):
        return struct.pack("HBBI", code, if_true, if_false, value)

    steps = [step(_LOAD, 4), step(_EQUAL, architecture, 1, 0), step(_RETURN, _KILL), step(_LOAD, 0)]
    if machine == "x86_64":
        # The same calls have other numbers there.
        steps += [step(_AT_LEAST, _X32, 0, 1), step(_RETURN, _DENY)]
    for number in sorted(denied):
        steps += [step(_EQUAL, number, 0, 1), step(_RETURN, _DENY)]
    steps.append(step(_RETURN, _ALLOW))
    code = b"".join(steps)
    buffer = ctypes.create_string_buffer(code, len(code))
    return struct.pack("HxxxxxxP", len(steps), ctypes.addressof(buffer)), buffer


_program = _filter_for(platform.machine())


def deny():
    """Denies them to this process and all that it starts, which get no new powers either. On other machines only that."""
    _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if _program is not None:
        _libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, _program[0], 0, 0)
