"""Checks that rewritten tests call while they run. A test in which nothing was compared does not pass."""

import contextlib
import dis
import itertools
import operator
import sys

_NOTHING = object()
_PLAIN = (int, float, bool, complex, type(None))
_COMPARING = ("isclose", "allclose", "array_equiv")
_TESTING = ("assert_allclose", "assert_array_equal", "assert_equal", "assert_almost_equal", "assert_array_almost_equal")


class Ended(RuntimeError):
    """A StopIteration of a candidate's call. It ends no iteration of the test. The test may still expect it."""


class AsyncEnded(RuntimeError):
    """A StopAsyncIteration of the candidate's call."""


Ended.__name__ = AsyncEnded.__name__ = "RuntimeError"
_ends = {StopIteration: Ended, StopAsyncIteration: AsyncEnded}


class Checks:
    """The checks of one judge. `is_stand_in` returns whether a value is an object of the candidate."""

    def __init__(self, is_stand_in):
        self._is_stand_in = is_stand_in
        self._given = []
        self._has_items = False
        self._was_asked = False
        self.may_be_empty = False
        self._is_new = True
        self._asserted = False
        self._looped = False

    # Called by the judge.

    @contextlib.contextmanager
    def test(self):
        """Runs a test, which may be nested. Raises AssertionError if all its asserts are in loops without items."""
        before = self._asserted
        self._is_new = True
        self._asserted = self._looped = False
        yield
        if self._looped and not self._asserted and self._was_asked and not self.may_be_empty:
            raise AssertionError("no assertion was evaluated: the loops around them had no items")
        self._asserted = self._asserted or before
        self._looped = False

    def record(self, value, arguments=None, is_item=False):
        """Records a value of the candidate: the result of a call with these arguments, or an item of a result."""
        if self._is_new:
            # The values of the previous test may still be in use until there is a newer one.
            self._is_new = False
            self._given = []
            self._has_items = False
            self._was_asked = False
            self.may_be_empty = False
        if arguments is not None:
            self._was_asked = True
            # For an empty argument, an empty result may be right.
            self.may_be_empty = self.may_be_empty or any(map(self._is_nothing, arguments))
        if not isinstance(value, _PLAIN):
            self._given.append(value)
        if is_item or self._size(value) > 0:
            self._has_items = True

    # Called by rewritten tests.

    def asserted(self):
        self._asserted = True

    def loop_ended(self):
        self._looped = True

    def items(self, iterable, operands):
        """Returns the items of a loop. If there are none, the values that the loop indexes must be empty too."""
        if self._size(iterable) > 0:
            return iterable
        return self._checked(iter(iterable), lambda: (iterable, *operands()))

    def call(self, function, /, *args, **kwargs):
        if function is zip:
            return self._checked(zip(*args, **kwargs), lambda: args)
        if function is map and len(args) > 2:
            return itertools.starmap(args[0], self._checked(zip(*args[1:]), lambda: args[1:]))
        if "numpy" in sys.modules and _compares(function):
            self._check_arrays([*args, *kwargs.values()][:2])
        return function(*args, **kwargs)

    def operate(self, name, left, right):
        if "numpy" in sys.modules and (_is_array(left) or _is_array(right)):
            self._check_arrays((left, right))
        return getattr(operator, name)(left, right)

    def expected(self, types):
        """Returns the exceptions that a test expects. With StopIteration, adds that of the candidate's calls."""
        listed = types if isinstance(types, tuple) else (types,)
        ends = [ended for end, ended in _ends.items() if end in listed]
        return (*listed, *ends) if ends else types

    def iterated_by_index(self, kind):
        """Makes a class that Python iterates by index end at its own IndexError only, not at one of the candidate."""
        if not hasattr(kind, "__iter__"):
            kind.__iter__ = _by_index
        return kind

    # The detection of vacuous tests.

    def _checked(self, items, operands):
        first = next(items, _NOTHING)
        if first is _NOTHING:
            try:
                found = operands()
            except Exception:
                # An operand may use a name that only an item of the loop would have defined.
                found = ()
            self._check_sizes(found)
            return
        yield first
        yield from items

    def _check_sizes(self, operands):
        sizes = [(self._size(each), each) for each in operands]
        empty = [each for size, each in sizes if size <= 0]
        is_expected = any(size > 0 and not self._is_given(each) for size, each in sizes)
        if is_expected and any(map(self._is_of_candidate, empty)):
            raise AssertionError("nothing was compared: the candidate's operand is empty and the other one is not")

    def _check_arrays(self, operands):
        if len(operands) < 2 or any(map(self._is_stand_in, operands)):
            return
        numpy = sys.modules["numpy"]
        try:
            arrays = [numpy.asarray(each) for each in operands]
        except Exception:
            return
        for array, value, other in zip(arrays, operands, reversed(arrays)):
            if array.size == 0 < other.size and (other.ndim > 0 or self._is_given(value)):
                raise ValueError("an empty array cannot be combined with a non-empty one")

    def _is_of_candidate(self, value):
        """Returns whether a value comes from the candidate, or may be computed from its values if none has items."""
        return self._is_given(value) or (self._given != [] and not self._has_items)

    def _is_given(self, value):
        return self._is_stand_in(value) or any(_holds(each, value) for each in self._given)

    def _size(self, value):
        """Returns the number of items. -1 if it is unknown without iterating."""
        if self._is_stand_in(value):
            return -1
        try:
            return operator.length_hint(value, -1)
        except Exception:
            return -1

    def _is_nothing(self, value):
        return not value if isinstance(value, _PLAIN) else self._size(value) == 0


def has_assertion(function):
    """Returns whether a function of a test contains an assertion."""
    code = getattr(function, "__code__", None)
    if code is None:
        return False
    # The name of an `assert` statement's error, or of a method such as `assertEqual`.
    return any("assert" in each.argrepr.lower() or "ASSERT" in each.opname for each in dis.get_instructions(code))


def _holds(container, value):
    if container is value:
        return True
    if type(container) in (list, tuple):
        return any(_holds(each, value) for each in container)
    return type(container) is dict and any(_holds(each, value) for each in container.values())


def _is_array(value):
    return isinstance(value, sys.modules["numpy"].ndarray)


def _compares(function):
    numpy = sys.modules["numpy"]
    if isinstance(function, numpy.ufunc):
        return function.nin == 2
    return any(function is getattr(numpy, name, None) for name in _COMPARING) or any(
        function is getattr(numpy.testing, name) for name in _TESTING if "numpy.testing" in sys.modules
    )


def _by_index(items):
    for index in itertools.count():
        try:
            item = items[index]
        except IndexError as error:
            if hasattr(error, "of_candidate"):
                raise RuntimeError("IndexError: %s" % error) from None
            return
        yield item
