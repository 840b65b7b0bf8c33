"""Prepares a process for forking. It does work that every child would otherwise do at its start."""

import ctypes
import gc

from . import candidate, judge, objects

_CODE = """
from typing import List

class Box:
    size: int = 1

    def __init__(self, items): self.items = items

    @property
    def total(self): return sum(self.items)

def double(items: List[int], *more, by=2, **rest) -> List[int]:
    '''Doubles.'''
    try:
        for index, item in enumerate(items):
            if not item and index != 1: continue
            while item: item -= 1
        found = {item: f"{item:>4}" for item in sorted(items, key=lambda item: -item)}
        return [item * by for item in items[::1] if item in found]
    except (ValueError, KeyError) as error:
        raise
"""
_LIMITS = {"depth": 60, "size": 1 << 20}


def rehearse():
    """Runs a typical job several times, until the interpreter's caches are filled and its bytecode is specialized."""
    for _ in range(10):
        module = candidate.load("/tmp/rehearsal.py", "rehearsal", _CODE)
        function = candidate.find(module, "double")
        candidate.call(function, '{"args":[{"list":[{"int":"1"},{"int":"2"}]}]}', _LIMITS)
        tests = judge.Judge(objects.Objects(module, _LIMITS).answer, _LIMITS["size"])
        tests.bind(["double", "Box"])
        tests.run("assert double([1, 2]) == [2, 4] and Box([1]).total == 1")
        tests.run("for found, wanted in zip(double([1, 2]), [2, 4]): assert found == wanted")
    candidate.unload("rehearsal")


def shrink():
    """Returns memory that only the imports needed. Otherwise every fork would copy its page table entries."""
    gc.collect()
    gc.freeze()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
