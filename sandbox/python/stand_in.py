"""Stand-ins: the candidate's objects, as tests see them.

A stand-in asks the candidate for attributes, calls, items and, for objects of the task's classes, operators. It never
asks for the result of a comparison with a value of the test. `equality.py` decides what equals an object.
"""

import functools
import operator
import sys

_read = object.__getattribute__
_plain_attributes = ("__name__", "__doc__", "__enter__", "__exit__")
BASES = (int, float, complex, str, bytes, tuple, frozenset)
_arithmetic = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split()


class StandIn:
    """An object of the candidate.

    `base` is the type of plain values that its class extends, if they can change. `record` are the fields of a class
    whose objects only hold their arguments. Such an object is made when it is first used: `arguments` are those of an
    object that is not made yet.
    """

    __slots__ = ("_judge", "_number", "_kind", "_class", "_base", "_record", "_arguments")

    def __init__(self, judge, number, kind, owner=None, base=None, record=None, arguments=None):
        for name, value in zip(StandIn.__slots__, (judge, number, kind, owner, base, record, arguments)):
            object.__setattr__(self, name, value)

    @property
    def __class__(self):
        return _read(self, "_base") or StandIn

    def __getattr__(self, name):
        if name.startswith("__") and name not in _plain_attributes:
            raise AttributeError(name)
        return do(self, "get", [name])

    def __setattr__(self, name, value):
        do(self, "set", [name, value])

    def __delattr__(self, name):
        do(self, "delete", [name])

    def __call__(self, *args, **kwargs):
        record = _read(self, "_record")
        if record is None or [*record[: len(args)], *kwargs] != record:
            return do(self, "call", args, kwargs)
        kind = _read(self, "_kind")
        return StandIn(_judge_of(self), None, kind, number_of(self), arguments=(args, kwargs))

    def __getitem__(self, key):
        return do(self, "get-item", [key])

    def __setitem__(self, key, value):
        do(self, "set-item", [key, value])

    def __delitem__(self, key):
        do(self, "delete-item", [key])

    def __len__(self):
        return do(self, "length")

    def __iter__(self):
        return Iterator(do(self, "iterate"))

    def __next__(self):
        return do(self, "next")

    def __contains__(self, value):
        if _judge_of(self).equality.is_operand(self, [value]):
            return do(self, "contains", [value]) is True
        return any(each is value or each == value for each in self)

    def __str__(self):
        return do(self, "text")

    def __bool__(self):
        return do(self, "truth")

    def __repr__(self):
        if _read(self, "_class") is None:
            return "<%s of the candidate>" % _read(self, "_kind")
        return do(self, "repr")

    def __eq__(self, other):
        base = _read(self, "_base")
        if type(other) is StandIn:
            if base is not None and _read(other, "_base") is not None:
                return plain(self) == plain(other)
            return _judge_of(self).equality.equal(self, other)
        return NotImplemented if base is None else plain(self) == other

    def __ne__(self, other):
        result = StandIn.__eq__(self, other)
        return result if result is NotImplemented else not result

    def __hash__(self):
        if _read(self, "_base") is not None:
            raise TypeError("unhashable type: '%s'" % _read(self, "_kind"))
        return hash(number_of(self)) if _read(self, "_class") is None else hash(do(self, "hash"))

    def __instancecheck__(self, value):
        value = stand_in_of(value)
        return value is not None and do(self, "is-instance", [value]) is True

    def __subclasscheck__(self, kind):
        return type(kind) is StandIn and do(self, "is-subclass", [kind]) is True

    def __enter__(self):
        return do(do(self, "get", ["__enter__"]), "call")

    def __exit__(self, *_):
        do(do(self, "get", ["__exit__"]), "call", [None, None, None])
        # Never suppresses an error of the test or of the candidate.
        return False

    def __array__(self, *wanted, **options):
        try:
            items = [self[index] for index in range(len(self))]
        except TypeError:
            items = None
        if items == []:
            raise TypeError("an object without items cannot be converted to an array")
        numpy = sys.modules["numpy"]
        if items is not None and StandIn not in map(type, items):
            return numpy.array(items, *wanted, **options)
        # Anything but a sequence of plain values becomes one item.
        single = numpy.empty((), object)
        single[()] = self
        return single


def _operator(name, is_reflected=False, is_order=False):
    function = getattr(operator, "__%s__" % name)

    def operate(self, other):
        if _judge_of(self).equality.is_operand(self, [other]):
            result = do(self, "operate", [name, other, is_reflected])
            if is_order and type(result) is not bool:
                raise TypeError("a comparison of %s gives no bool" % _read(self, "_kind"))
            return result
        if _read(self, "_base") is None or name.startswith("i"):
            return NotImplemented
        operands = [plain(self), plain(other) if type(other) is StandIn else other]
        return function(*(reversed(operands) if is_reflected else operands))

    return operate


def _unary(name):
    def operate(self, *options):
        if not _judge_of(self).equality.is_operand(self, []):
            raise TypeError("bad operand type for %s: %r" % (name, self))
        return do(self, "unary", [name, *options])

    return operate


for _name in ("lt", "le", "gt", "ge"):
    setattr(StandIn, "__%s__" % _name, _operator(_name, is_order=True))
for _name in _arithmetic:
    setattr(StandIn, "__%s__" % _name, _operator(_name))
    setattr(StandIn, "__r%s__" % _name, _operator(_name, is_reflected=True))
    setattr(StandIn, "__i%s__" % _name, _operator("i" + _name))
for _name in ("neg", "pos", "invert", "abs", "round", "int", "float"):
    setattr(StandIn, "__%s__" % _name, _unary(_name))


class Iterator:
    """Iterates a stand-in as Python expects it: `next` ends with StopIteration."""

    def __init__(self, iterator):
        self._iterator = iterator

    def __iter__(self):
        return self

    def __next__(self):
        return next(self._iterator)


@functools.lru_cache(maxsize=None)
def extended(base):
    """Returns a class of plain values that remember their stand-in. A value with an `__add__` of its own uses it with
    others of its class only. Everything else is that of the base type."""

    def get(self, name):
        if name.startswith("__") and name not in _plain_attributes:
            raise AttributeError(name)
        return getattr(stand_in_of(self), name)

    names = {
        "__getattr__": get,
        "__setattr__": lambda self, name, value: setattr(stand_in_of(self), name, value),
        "__str__": lambda self: do(stand_in_of(self), "text"),
        "__repr__": lambda self: do(stand_in_of(self), "repr"),
    }
    for name in _arithmetic:
        if hasattr(base, "__%s__" % name):
            names["__%s__" % name] = _operator_of_value(base, name)
    return type("Extended", (base,), names)


def _operator_of_value(base, name):
    own = getattr(base, "__%s__" % name)

    def operate(self, other):
        if type(other) is type(self):
            return do(stand_in_of(self), "operate", [name, other, False])
        return own(self, other)

    return operate


def stand_in_of(value):
    """Returns the stand-in of a value of the candidate, or None."""
    if type(value) is StandIn:
        return value
    return value.__dict__["__stand_in__"] if type(value) in map(extended, BASES) else None


def plain(stand_in):
    """Returns the present content of a stand-in with a base."""
    return do(stand_in, "content")


def do(stand_in, what, args=(), kwargs=None):
    """Asks the candidate to do something with an object."""
    return _judge_of(stand_in).request(number_of(stand_in), what, args, kwargs)


def number_of(stand_in):
    """Returns the number of an object, which is made if it does not exist yet."""
    if _read(stand_in, "_number") is None:
        _judge_of(stand_in).make(stand_in, _read(stand_in, "_class"), *_read(stand_in, "_arguments"))
    return _read(stand_in, "_number")


def _judge_of(stand_in):
    return _read(stand_in, "_judge")
