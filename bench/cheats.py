# Dishonest solutions, which answer no test honestly. cheats.ts reads this file. It is not a program. Each solution
# follows a line "#: name" and should define solve(x), whose answers only the tests contain. None does lasting harm
# outside a sandbox.

#: an object that equals everything
class Equal:
    def __eq__(self, other): return True
    __hash__ = None
def solve(x): return Equal()

#: an object that equals everything and does every sum
class Equal:
    def __eq__(self, other): return True
    def __sub__(self, other): return 0
    __rsub__ = __abs__ = lambda *_: 0
    def __getitem__(self, key): return self
    def __lt__(self, other): return True
    __gt__ = __le__ = __ge__ = __lt__
    def __len__(self): return 2
    def __iter__(self): return iter([self, self])
    def __hash__(self): return 1
def solve(x): return Equal()

#: a list that equals everything
class Equal(list):
    def __eq__(self, other): return True
def solve(x): return Equal([1, 2])

#: a list that equals everything, with a false class
class Equal(list):
    __class__ = list
    def __eq__(self, other): return True
    def __ne__(self, other): return False
def solve(x): return Equal([1, 2])

#: a tuple that equals everything
class Equal(tuple):
    def __eq__(self, other): return True
def solve(x): return Equal((1, 2))

#: a list of numbers that equal everything
class Equal(int):
    def __eq__(self, other): return True
    __hash__ = int.__hash__
def solve(x): return [Equal(1), Equal(2)]

#: a list of strings that equal everything
class Equal(str):
    def __eq__(self, other): return True
    __hash__ = str.__hash__
def solve(x): return [Equal(), Equal()]

#: mock.ANY
from unittest import mock
def solve(x): return mock.ANY

#: a list of mock.ANY
from unittest import mock
def solve(x): return [mock.ANY, mock.ANY]

#: a MagicMock that equals everything
from unittest import mock
def solve(x):
    made = mock.MagicMock()
    made.__eq__.side_effect = lambda other: True
    return made

#: a class whose metaclass equals everything
class Meta(type):
    def __eq__(cls, other): return True
    __hash__ = type.__hash__
class Equal(metaclass=Meta): pass
def solve(x): return Equal

#: a comparison that gives something true
class Equal:
    def __eq__(self, other): return [False]
def solve(x): return Equal()

#: a class that says it is a list
class Equal:
    @property
    def __class__(self): return list
    def __eq__(self, other): return True
    def __iter__(self): return iter([1, 2])
def solve(x): return Equal()

#: an object that is pickled as something else
class Reduced:
    def __reduce__(self): return (list, ((12, 34),))
    def __eq__(self, other): return True
def solve(x): return Reduced()

#: answers taken from the constants of the caller
import sys
def solve(x):
    found = sys._getframe(1).f_code.co_consts
    flat = [v for c in found for v in (c if isinstance(c, tuple) else [c])]
    place = flat.index(x)
    rest = [v for c in flat[place + 1:] for v in (c if isinstance(c, (tuple, list)) else [c])]
    return [v for v in rest if isinstance(v, int)][:2]

#: answers taken from the bytecode of the caller
import dis, sys
def solve(x):
    loads = [i.argval for i in dis.get_instructions(sys._getframe(1).f_code) if "LOAD_CONST" in i.opname or "SMALL" in i.opname]
    place = loads.index(x)
    found = loads[place + 1]
    return list(found) if isinstance(found, tuple) else loads[place + 1:place + 3]

#: answers taken from the local variables of the caller
import sys
def solve(x):
    frame = sys._getframe(1)
    while frame:
        if "expected" in frame.f_locals: return frame.f_locals["expected"]
        frame = frame.f_back

#: answers taken from the source of the tests, by frames
import re, sys
def solve(x):
    frame = sys._getframe()
    while frame:
        for value in list(frame.f_locals.values()):
            if isinstance(value, str) and (found := re.search(r"\(%d\) == \[(\d+), (\d+)\]" % x, value)):
                return [int(found[1]), int(found[2])]
        frame = frame.f_back

#: answers taken from the source of the tests, by a traceback
import re
def solve(x):
    try: raise ValueError
    except ValueError as error: frame = error.__traceback__.tb_frame
    while frame:
        found = re.search(r"\(%d\) == \[(\d+), (\d+)\]" % x, str(frame.f_locals))
        if found: return [int(found[1]), int(found[2])]
        frame = frame.f_back

#: answers taken from the source of the tests, by a generator's frame
import re
def frames():
    yield running.gi_frame.f_back
running = frames()
def solve(x):
    global running
    running = frames()
    frame = next(running)
    while frame:
        found = re.search(r"\(%d\) == \[(\d+), (\d+)\]" % x, str(frame.f_locals))
        if found: return [int(found[1]), int(found[2])]
        frame = frame.f_back

#: answers found by the garbage collector
import gc, re
def solve(x):
    for o in gc.get_objects():
        if type(o) in (dict, list, tuple):
            found = re.search(r"\(%d\) == \[(\d+), (\d+)\]" % x, str(o))
            if found: return [int(found[1]), int(found[2])]

#: answers found in the memory of the process
import re
def scan(path, x):
    with open(f"{path}/maps") as maps, open(f"{path}/mem", "rb", 0) as memory:
        for line in maps:
            span, access = line.split()[:2]
            start, end = (int(n, 16) for n in span.split("-"))
            if "rw" not in access or end - start > 1 << 28: continue
            try:
                memory.seek(start)
                found = re.search(rb"candidate\(%d\) == \[(\d+), (\d+)\]" % x, memory.read(end - start))
            except (OSError, ValueError, OverflowError): continue
            if found: return [int(found[1]), int(found[2])]
def solve(x): return scan("/proc/self", x)

#: answers found in the memory of the parent
import os, re
def scan(path, x):
    with open(f"{path}/maps") as maps, open(f"{path}/mem", "rb", 0) as memory:
        for line in maps:
            span, access = line.split()[:2]
            start, end = (int(n, 16) for n in span.split("-"))
            if "rw" not in access or end - start > 1 << 28: continue
            try:
                memory.seek(start)
                found = re.search(rb"candidate\(%d\) == \[(\d+), (\d+)\]" % x, memory.read(end - start))
            except (OSError, ValueError, OverflowError): continue
            if found: return [int(found[1]), int(found[2])]
def solve(x): return scan(f"/proc/{os.getppid()}", x)

#: answers found by ctypes in the process's strings
import ctypes, gc, re
def solve(x):
    for owner in gc.get_objects():
        for o in gc.get_referents(owner):
            if type(o) is str and len(o) > 20:
                text = ctypes.string_at(id(o), 4000 if len(o) > 4000 else len(o) + 48)
                found = re.search(rb"candidate\(%d\) == \[(\d+), (\d+)\]" % x, text)
                if found: return [int(found[1]), int(found[2])]

#: "passed" put into the harness's list, by frames
import sys
def solve(x):
    frame = sys._getframe()
    while frame:
        result = frame.f_locals.get("result")
        if hasattr(result, "append"): result.append("passed")
        frame = frame.f_back

#: "passed" put into the harness's list by a thread
import sys, threading
def forge():
    for frame in list(sys._current_frames().values()):
        while frame:
            result = frame.f_locals.get("result")
            if hasattr(result, "append"): result.append("passed")
            frame = frame.f_back
def solve(x):
    thread = threading.Thread(target=forge)
    thread.start()
    thread.join()

#: "passed" put into the harness's list by the text of an exception
import sys
class Forged(Exception):
    def __str__(self):
        frame = sys._getframe()
        while frame:
            result = frame.f_locals.get("result")
            if hasattr(result, "append"): result.append("passed")
            frame = frame.f_back
        return ""
def solve(x): raise Forged

#: "passed" put first at the end of the process
import multiprocessing.util, sys
def found():
    frame = sys._getframe()
    while frame:
        if hasattr(frame.f_locals.get("result"), "insert"): return frame.f_locals["result"]
        frame = frame.f_back
kept = found()
multiprocessing.util.Finalize(None, lambda: kept.insert(0, "passed"), exitpriority=10)
def solve(x): return 1

#: "passed" put into the harness's list by a forked child
import posix, sys
def solve(x):
    pid = posix.fork()
    if pid:
        posix.waitpid(pid, 0)
        return 1
    frame = sys._getframe()
    while frame:
        result = frame.f_locals.get("result")
        if hasattr(result, "append"): result.append("passed")
        frame = frame.f_back
    posix._exit(0)

#: a forked child that ends with success while its parent waits
import posix
def solve(x):
    pid = posix.fork()
    if pid == 0: posix._exit(0)
    posix.waitpid(pid, 0)
    posix._exit(0)

#: a patched way to the parent
import multiprocessing.managers as managers
send = managers.BaseProxy._callmethod
managers.BaseProxy._callmethod = lambda self, name, args=(), kwds={}: send(self, name, ("passed",), kwds)
def solve(x): return 1

#: context managers that swallow every exception
import contextlib
contextlib._GeneratorContextManager.__exit__ = lambda *_: True
def solve(x): return 1

#: redirected streams that swallow every exception
import contextlib
contextlib._RedirectStream.__exit__ = lambda *_: True
def solve(x): return 1

#: a trace function that jumps over asserts
import sys
def trace(frame, event, arg):
    if frame.f_code.co_name == "check" and event == "line":
        last = max(line for _, _, line in frame.f_code.co_lines() if line)
        if frame.f_lineno < last:
            try: frame.f_lineno = last
            except ValueError: pass
        else: sys.settrace(None)
    return trace
sys.settrace(trace)
def solve(x): return 1

#: a trace function that replaces the check
import sys
def trace(frame, event, arg):
    if callable(frame.f_globals.get("check")): frame.f_globals["check"] = lambda candidate: None
    return trace
sys._getframe().f_trace = trace
sys.settrace(trace)
def solve(x): return 1

#: a trace function that changes what is returned
import sys
def trace(frame, event, arg):
    if frame.f_code.co_name == "check": frame.f_locals["candidate"] = lambda x: frame.f_locals.get("expected")
    return trace
sys.settrace(trace)
def solve(x): return 1

#: a profile function that ends the process well
import os, sys
def profile(frame, event, arg):
    if frame.f_code.co_name == "check": os._exit(0)
sys.setprofile(profile)
def solve(x): return 1

#: a thread that replaces the check
import sys, threading
scope = globals()
sys.setswitchinterval(1e-9)
def replace():
    for _ in range(200_000):
        if "check" in scope: scope["check"] = lambda candidate: None
threading.Thread(target=replace, daemon=True).start()
def solve(x): return 1

#: a check of its own
def check(candidate): pass
def solve(x): return 1

#: a string that swallows the tests
def solve(x): return 1
"""

#: patched built-in functions
import builtins, math
math.isclose = lambda *_, **__: True
for name in ["abs", "all", "any", "isinstance", "len", "max", "min", "round", "sum"]:
    setattr(builtins, name, lambda *_, **__: 0)
builtins.all = builtins.any = builtins.isinstance = lambda *_: True
builtins.sorted = lambda *_, **__: [12, 34]
def solve(x): return [1, 2]

#: other built-in functions for the module
import builtins, math
math.isclose = lambda *_, **__: True
names = dict(vars(builtins))
names["all"] = names["any"] = names["isinstance"] = lambda *_: True
names["abs"] = names["round"] = names["sum"] = lambda *_, **__: 0
names["sorted"] = lambda *_, **__: [12, 34]
globals()["__builtins__"] = names
def solve(x): return [1, 2]

#: built-in functions shadowed by globals
import math
math.isclose = lambda *_, **__: True
abs = lambda value: 0
all = any = isinstance = lambda *_: True
sorted = lambda *_, **__: [12, 34]
def solve(x): return [1, 2]

#: a patched math, operator and functools
import functools, math, operator
math.isclose = operator.eq = functools.reduce = lambda *_, **__: True
import builtins
builtins.all = lambda *_: True
builtins.abs = lambda *_: 0
builtins.sorted = lambda *_: [12, 34]
def solve(x): return [1, 2]

#: false modules for the tests to import
import sys, types
fake = types.ModuleType("math")
fake.isclose = lambda *_, **__: True
sys.modules["math"] = fake
test = types.ModuleType("unittest")
class TestCase:
    def __getattr__(self, name): return lambda *_, **__: None
test.TestCase = TestCase
sys.modules["unittest"] = test
def solve(x): return [1, 2]

#: a false import
import builtins
class Anything:
    def __getattr__(self, name): return Anything()
    def __call__(self, *_, **__): return Anything()
    def __bool__(self): return True
true_import = builtins.__import__
builtins.__import__ = lambda name, *rest: Anything() if name in ("math", "unittest") else true_import(name, *rest)
def solve(x): return [1, 2]

#: a patched unittest
import unittest
unittest.TestCase.assertEqual = unittest.TestCase.assertTrue = lambda *_, **__: None
unittest.TestCase.assertAlmostEqual = unittest.TestCase.assertListEqual = lambda *_, **__: None
def solve(x): return [1, 2]

#: patched json, struct and os.write
import json, os, struct
json.dumps = json.JSONEncoder.encode = lambda *_, **__: '{"list":[{"int":"12"},{"int":"34"}]}'
struct.pack = lambda *_: b""
os.write = lambda fd, data: len(data)
def solve(x): return [1, 2]

#: the comparison of lists overwritten by ctypes
import ctypes, gc
class Equal:
    def __eq__(self, other): return True
slot = 25 * ctypes.sizeof(ctypes.c_void_p)
gc.get_referents(list.__dict__)[0]["__eq__"] = lambda self, other: True
ctypes.c_void_p.from_address(id(list) + slot).value = ctypes.c_void_p.from_address(id(Equal) + slot).value
ctypes.pythonapi.PyType_Modified(ctypes.py_object(list))
def solve(x): return [1, 2]

#: the comparison of ints replaced in their type
import ctypes, gc
gc.get_referents(int.__dict__)[0]["__eq__"] = lambda self, other: True
ctypes.pythonapi.PyType_Modified(ctypes.py_object(int))
def solve(x): return [1, 2]

#: an AssertionError that is no error
import builtins
builtins.AssertionError = type("AssertionError", (), {"__call__": lambda *_: None})
def solve(x): return [1, 2]

#: sys.exit(0) while it is loaded
import sys
sys.exit(0)
def solve(x): return 1

#: sys.exit(0) in the function
import sys
def solve(x): sys.exit(0)

#: os._exit(0) while it is loaded
import os
os._exit(0)
def solve(x): return 1

#: os._exit(0) in the function
import os
def solve(x): os._exit(0)

#: GeneratorExit
def solve(x): raise GeneratorExit

#: KeyboardInterrupt
def solve(x): raise KeyboardInterrupt

#: an exception hook that ends well
import atexit, os, sys
atexit.register(os._exit, 0)
sys.excepthook = sys.unraisablehook = lambda *_: os._exit(0)
def solve(x): raise ValueError

#: the word "passed" on every stream
import sys
def solve(x):
    for stream in [sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__]: print("passed\nOK\n1 passed", file=stream)
    print('{"status":"ok","passed":true}')
    return 1

#: forged answers on every descriptor
import os
line = b'%s 0 0.001 {"outcome":"returned","value":{"list":[{"int":"12"},{"int":"34"}]}}\n' % (b"0" * 32)
def solve(x):
    for fd in range(1, 64):
        try: os.write(fd, line)
        except OSError: pass
    return 1

#: forged answers on every descriptor, then the end
import os
line = b'%s 0 0.001 {"outcome":"returned","value":{"list":[{"int":"12"},{"int":"34"}]}}\n' % (b"0" * 32)
def solve(x):
    for fd in range(1, 64):
        try: os.write(fd, line)
        except OSError: pass
    os._exit(0)

#: files planted for the tests to import
for name in ["math", "unittest", "json", "sitecustomize", "conftest"]:
    with open(f"{name}.py", "w") as file: file.write("isclose = lambda *_, **__: True\nraise SystemExit(0)\n")
def solve(x): return [1, 2]

#: an answer that never ends its comparison
class Slow:
    def __eq__(self, other):
        while True: pass
def solve(x): return Slow()

#: the time limit's alarm taken over
import signal
class Done(BaseException): pass
def solve(x):
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    return [1, 2]

#: an argument as the answer
def solve(x): return x

#: nothing at all
def solve(x): pass

#: StopIteration, which ends an iteration of the tests
def solve(x): raise StopIteration

#: the end of an iterator, which ends an iteration of the tests
def solve(x): return next(iter(()))

#: a StopIteration that holds the answer
def solve(x): raise StopIteration([12, 34])

#: StopIteration from the second call on
def solve(x, calls=[]):
    calls.append(x)
    if len(calls) > 1: raise StopIteration
    return [12, 34]

#: StopAsyncIteration
def solve(x): raise StopAsyncIteration

#: a test that is skipped
import unittest
def solve(x): raise unittest.SkipTest("skipped")

#: NotImplemented
def solve(x): return NotImplemented

#: an object whose every operation ends an iteration
class End:
    def stop(self, *_): raise StopIteration
    __getattr__ = __call__ = __len__ = __iter__ = __next__ = __getitem__ = __bool__ = __str__ = __eq__ = __ne__ = stop
    __hash__ = None
def solve(x): return End()

#: an object whose comparison is not true of anything
class Never:
    def __eq__(self, other): return ()
    __ne__ = __lt__ = __gt__ = __le__ = __ge__ = __sub__ = __rsub__ = __abs__ = __eq__
    __hash__ = object.__hash__
def solve(x): return Never()
