"""Values that judge and candidate hand each other by value beside plain ones: of the standard library, numbers of
NumPy, and the types that Python has built in. As JSON: `{"standard": name, "args": a list as a plain value}`.
"""

import builtins
import collections
import datetime
import decimal
import fractions
import sys

from . import codec

_arguments = {
    datetime.date: lambda v: [v.year, v.month, v.day],
    datetime.datetime: lambda v: [v.year, v.month, v.day, v.hour, v.minute, v.second, v.microsecond],
    datetime.time: lambda v: [v.hour, v.minute, v.second, v.microsecond],
    datetime.timedelta: lambda v: [v.days, v.seconds, v.microseconds],
    decimal.Decimal: lambda v: [str(v)],
    fractions.Fraction: lambda v: [v.numerator, v.denominator],
    collections.deque: lambda v: [list(v), v.maxlen],
    range: lambda v: [v.start, v.stop, v.step],
}
_types = {value.__name__: value for value in vars(builtins).values() if type(value) is type}
_makers = {kind.__name__: kind for kind in _arguments}
_makers["number"] = lambda value: value
_makers["type"] = lambda name: _types[name]


def encode(value, encode_list):
    """JSON text of such a value, None of any other. `encode_list` gives that of its arguments."""
    kind = type(value)
    if kind in _arguments and getattr(value, "tzinfo", None) is None:
        name, arguments = kind.__name__, _arguments[kind](value)
    elif kind is type and _types.get(value.__name__) is value:
        name, arguments = "type", [value.__name__]
    elif "numpy" in sys.modules and isinstance(value, sys.modules["numpy"].generic):
        # It equals Python's number, which crosses in its place.
        name, arguments = "number", [value.item()]
    else:
        return None
    return '{"standard":%s,"args":%s}' % (codec.quote(name), encode_list(arguments))


def decode(plain, decode_list):
    """The value of what `encode` gave, parsed. Raises KeyError, TypeError, ValueError or ArithmeticError for others."""
    return _makers[plain["standard"]](*decode_list(plain["args"]))
