"""Runs the code of jobs inside Pyodide. Its functions take and return text.

It is imported once. A snapshot of the heap is made then, and every job starts from that snapshot.
"""

import os
import sys
import traceback
import types

# The snapshot contains the modules that solutions import, so that jobs load them for free.
import abc, array, ast, asyncio, base64, binascii, bisect, calendar, cmath, collections.abc, contextlib, copy, csv  # noqa: E401
import dataclasses, datetime, decimal, difflib, enum, fractions, functools, hashlib, heapq, inspect, io, itertools  # noqa: E401
import json, keyword, math, numbers, operator, os.path, pprint, queue, random, re, statistics, string, struct  # noqa: E401
import textwrap, threading, time, typing, unicodedata, unittest, unittest.mock, urllib.parse, uuid, warnings, zlib  # noqa: E401

from . import candidate, codec
from .judge import BrokenProtocol, CandidateIsGone, Judge
from .objects import Objects

_stdout = sys.stdout
_stderr = sys.stderr
_module = None
_path = None
_objects = None
_judge = None


def start(path, name, source, seed):
    """Loads a file's source as a module. Returns "", or the error that it raised."""
    global _module, _path
    _path = path
    random.seed(seed)
    try:
        _module = candidate.load(path, name, source)
    except BaseException as error:
        return candidate.error_text(error, path)
    return ""


def check(function):
    """Returns whether the module has a function with this name."""
    owner, _, method = function.partition(".")
    try:
        found = getattr(_module, owner)
        return callable(getattr(found, method) if method else found)
    except BaseException:
        return False


def call(function, case, depth, size):
    """Calls a function with one case and returns the observation."""
    limits = {"depth": depth, "size": size}
    try:
        found = candidate.find(_module, function)
    except BaseException as error:
        return '{"outcome":"raised","error":' + candidate.error_text(error, _path) + "}"
    return candidate.call(found, case, limits, _path)


def program(path, source, seed):
    """Runs a file's source as a program. Returns "", or the error that it raised, such as SystemExit with a code."""
    random.seed(seed)
    module = types.ModuleType("__main__")
    module.__file__ = path
    sys.modules["__main__"] = module
    sys.argv = [path]
    try:
        exec(compile(source, path, "exec", 0, True), module.__dict__)
    except SystemExit as error:
        code = error.code
        if code is None or (type(code) is int and code == 0):
            return ""
        if type(code) is not int:
            print(code, file=_stderr)
        return candidate.error_text(error, path)
    except BaseException as error:
        try:
            traceback.print_exception(error, file=_stderr)
        except BaseException:
            pass
        return candidate.error_text(error, path)
    return ""


def serve(exports, depth, size):
    """Prepares for a judge's questions. Returns "" if the module has all exports, else the name of a missing one."""
    global _objects
    _objects = Objects(_module, {"depth": depth, "size": size}, _path, _other_side())
    try:
        for name in codec.parse(exports):
            if not hasattr(_module, name):
                return name
    except BaseException as error:
        return candidate.error_text(error, _path)
    return ""


def answer(text):
    """Answers a judge's question."""
    return _objects.answer(text)


def _other_side():
    """Returns a function that asks the other side of a judge through a device. Raises CandidateIsGone."""
    device = os.open("/dev/judge", os.O_RDWR)

    def ask(text):
        os.write(device, text.encode("ascii") + b"\n")
        parts = []
        while not parts or not parts[-1].endswith(b"\n"):
            parts.append(os.read(device, 1 << 20))
        answer = b"".join(parts)[:-1].decode("ascii")
        if not answer:
            raise CandidateIsGone
        return answer

    return ask


def open_judge(setup, exports, size, seed):
    """Creates a judge that asks its questions through a device. Returns "", or the error that the setup raised."""
    global _judge
    random.seed(seed)
    _judge = Judge(_other_side(), size)
    try:
        _judge.bind(codec.parse(exports))
        _judge.set_up(setup)
    except BaseException as error:
        return candidate.error_text(error)
    return ""


def judge(test):
    """Runs a test and returns the observation."""
    try:
        return _judge.run(test)
    except (CandidateIsGone, BrokenProtocol) as error:
        return candidate.error_text(error)


def flush():
    """Writes the buffered output of print()."""
    for stream in (_stdout, _stderr):
        try:
            stream.flush()
        except BaseException:
            pass


def _sleep(
    seconds,
    /,
    *,
    index=operator.index,
    open=os.open,
    write=os.write,
    close=os.close,
    flags=os.O_WRONLY,
):
    """Replaces time.sleep. WebAssembly cannot wait, but the process that reads this device can."""
    seconds = seconds if isinstance(seconds, float) else index(seconds)
    if not seconds >= 0:
        raise ValueError("sleep length must be non-negative")
    device = open("/dev/sleep", flags)
    try:
        write(device, b"%r" % float(seconds))
    finally:
        close(device)


def close():
    """Removes the modules that lead to JavaScript, and hides their objects from the garbage collector's lists."""
    import gc

    for name in list(sys.modules):
        if name.split(".")[0] in ("js", "pyodide_js", "pyodide", "_pyodide", "_pyodide_core"):
            del sys.modules[name]
    sys.meta_path[:] = [finder for finder in sys.meta_path if "pyodide" not in type(finder).__module__]
    _sleep.__name__ = _sleep.__qualname__ = "sleep"
    time.sleep = _sleep
    sys.path[:] = ["/work"] + [entry for entry in sys.path if entry]
    gc.collect()
    gc.freeze()
