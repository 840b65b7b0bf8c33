"""Converts more values that judge and candidate exchange as copies: of the standard library, NumPy, built-in types.

Their JSON is `{"standard": name, "args": a list as a plain value}`.
"""

import builtins
import copy
import importlib
import sys

from . import codec, empty_array

# By module and name. A module is imported when the first of its values arrives.
_arguments = {
    ("builtins", "bytearray"): lambda v: [bytes(v)],
    ("builtins", "range"): lambda v: [v.start, v.stop, v.step],
    ("collections", "deque"): lambda v: [list(v), v.maxlen],
    ("datetime", "date"): lambda v: [v.year, v.month, v.day],
    ("datetime", "datetime"): lambda v: [v.year, v.month, v.day, v.hour, v.minute, v.second, v.microsecond, v.tzinfo],
    ("datetime", "time"): lambda v: [v.hour, v.minute, v.second, v.microsecond, v.tzinfo],
    ("datetime", "timezone"): lambda v: [v.utcoffset(None)],
    ("datetime", "timedelta"): lambda v: [v.days, v.seconds, v.microseconds],
    ("decimal", "Decimal"): lambda v: [str(v)],
    ("fractions", "Fraction"): lambda v: [v.numerator, v.denominator],
    ("uuid", "UUID"): lambda v: [str(v)],
    ("xml.etree.ElementTree", "Element"): lambda v: [_xml(v)],
}

_numbers = (("fractions", "Fraction"), ("decimal", "Decimal"))


def _xml(element):
    # The text that follows an element in its document is not part of the element.
    alone = copy.copy(element)
    alone.tail = None
    return sys.modules["xml.etree.ElementTree"].tostring(alone, "unicode")


_module_of = type.__dict__["__module__"].__get__
_types = {value.__name__: value for value in vars(builtins).values() if type(value) is type}
_makers = {
    "number": lambda value: value,
    "type": lambda name: _types[name],
    "ndarray": lambda items, kind: empty_array.guarded(importlib.import_module("numpy").array(items, kind)),
    "Element": lambda text: importlib.import_module("xml.etree.ElementTree").fromstring(text),
    **{name: lambda *args, m=module, n=name: getattr(importlib.import_module(m), n)(*args) for module, name in _arguments if name != "Element"},
}


def encode(value, encode_list):
    """Returns JSON text of such a value, or None for any other. `encode_list` encodes the list of its arguments."""
    kind = type(value)
    name = codec._type_name(kind)
    arguments = _arguments_of(kind, name)
    if arguments is not None:
        content = arguments(value)
    elif kind is type and _types.get(value.__name__) is value:
        name, content = "type", [value.__name__]
    elif _is_numpy(value):
        # Python's number is equal and is sent instead.
        name, content = "number", [value.item()]
    elif _is_array(kind) and value.dtype.kind in "biufcSU":
        name, content = "ndarray", [value.tolist(), str(value.dtype)]
    else:
        return None
    return '{"standard":%s,"args":%s}' % (codec.quote(name), encode_list(content))


def reduced(value):
    """Returns the plain value that equals a number of the standard library or NumPy, or the keys of a dict. None if
    there is none."""
    kind = type(value)
    for module, name in _numbers:
        if kind is getattr(sys.modules.get(module), name, None):
            if value == int(value):
                return int(value)
            return float(value) if value == float(value) else None
    if kind is type({}.keys()):
        return set(value)
    return value.item() if _is_numpy(value) else None


def _is_numpy(value):
    return "numpy" in sys.modules and isinstance(value, sys.modules["numpy"].generic)


def _is_array(kind):
    return "numpy" in sys.modules and kind is sys.modules["numpy"].ndarray


def _arguments_of(kind, name):
    module = _module_of(kind)
    if type(module) is not str or (module, name) not in _arguments:
        return None
    # Another class may have the same name.
    known = getattr(sys.modules.get(module), name, None)
    return _arguments[module, name] if kind is known else None


def decode(plain, decode_list):
    """Decodes parsed JSON of `encode`. Raises KeyError, TypeError, ValueError or ArithmeticError for other JSON."""
    return _makers[plain["standard"]](*decode_list(plain["args"]))
