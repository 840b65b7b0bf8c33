"""Converts Python values to JSON text and back, as plain values of sandbox/plain-value.ts.

It runs in one process with untrusted code. Therefore it binds everything that it uses before that code is loaded,
compares types exactly, and calls no method that the code could define. Needs Python 3.8 or newer.
"""

import binascii
import collections
import json
import marshal
import sys

_type = type
_len = len
_marshal = marshal.dumps
_int_text = int.__str__
_int_bits = int.bit_length
_float_text = float.__repr__
_quote = json.encoder.encode_basestring_ascii
_base64 = binascii.b2a_base64
_dict_items = dict.items
_dict_get = dict.get
_ordered_items = collections.OrderedDict.items
_tuple_items = tuple.__iter__
_list_items = list.__iter__
_set_items = set.__iter__
_frozenset_items = frozenset.__iter__
_characters = str.__iter__
_byte_items = bytes.__iter__
_bytes_of = bytes
_join = "".join
_linear_order = type.__dict__["__mro__"].__get__
_scan = json.JSONDecoder().scan_once
_ValueError = ValueError
_StopIteration = StopIteration
_get_digits = getattr(sys, "get_int_max_str_digits", None)
_set_digits = getattr(sys, "set_int_max_str_digits", None)

# Dictionaries of the standard library that equal a dict with the same items. Their items are read in C.
_dictionaries = {
    dict: _dict_items,
    collections.OrderedDict: _ordered_items,
    collections.defaultdict: _dict_items,
    collections.Counter: _dict_items,
}
_sequences = {list: "list", tuple: "tuple", set: "set", frozenset: "frozenset"}
# The types of plain values, read in C. A class that extends one of them has its value, whatever it defines.
_contents = {
    int: int.__pos__,
    float: float.__pos__,
    complex: complex.__pos__,
    str: lambda value: _join(_characters(value)),
    bytes: lambda value: _bytes_of(_byte_items(value)),
    list: lambda value: [*_list_items(value)],
    tuple: lambda value: (*_tuple_items(value),),
    set: lambda value: {*_set_items(value)},
    frozenset: lambda value: frozenset({*_frozenset_items(value)}),
    dict: lambda value: {key: item for key, item in _dict_items(value)},
}

MAX_DEPTH = 200


class Unsupported(Exception):
    """The value, or a part of it, is not a plain value."""


class TooLarge(Exception):
    """The encoded value is longer than the limit."""


class _Encoder:
    def __init__(self, depth, size, other):
        self.depth = min(depth, MAX_DEPTH)
        self.room = size
        self.other = other
        self.parts = []

    def put(self, text):
        self.room -= _len(text)
        if self.room < 0:
            raise TooLarge
        self.parts.append(text)

    def value(self, value, depth):
        kind = _type(value)
        if value is None:
            self.put("null")
        elif kind is bool:
            self.put("true" if value else "false")
        elif kind is int:
            if _int_bits(value) > 4 * self.room:
                raise TooLarge
            self.put('{"int":"' + _int_text(value) + '"}')
        elif kind is float:
            self.put('{"float":"' + _float_text(value) + '"}')
        elif kind is str:
            if _len(value) > self.room:
                raise TooLarge
            self.put(_quote(value))
        elif kind is bytes:
            if _len(value) > self.room:
                raise TooLarge
            self.put('{"bytes":"' + _base64(value, newline=False).decode("ascii") + '"}')
        elif kind is complex:
            self.put('{"complex":["' + _float_text(value.real) + '","' + _float_text(value.imag) + '"]}')
        elif kind in _sequences:
            self.items(_sequences[kind], value, depth)
        elif kind in _dictionaries:
            self.pairs(_dictionaries[kind](value), depth)
        else:
            text = None if self.other is None else self.other(value)
            if text is not None:
                self.put(text)
                return
            base = base_of(kind)
            if base is None:
                raise Unsupported(_type_name(kind))
            self.value(_contents[base](value), depth)

    def items(self, name, values, depth):
        if depth >= self.depth:
            raise Unsupported("nested too deeply")
        self.put('{"' + name + '":[')
        first = True
        for item in values:
            if not first:
                self.put(",")
            first = False
            self.value(item, depth + 1)
        self.put("]}")

    def pairs(self, pairs, depth):
        if depth >= self.depth:
            raise Unsupported("nested too deeply")
        self.put('{"dict":[')
        first = True
        for key, item in pairs:
            self.put("[" if first else ",[")
            first = False
            self.value(key, depth + 1)
            self.put(",")
            self.value(item, depth + 1)
            self.put("]")
        self.put("]}")


def _type_name(kind, _name=type.__dict__["__name__"].__get__):
    return _name(kind)


def base_of(kind):
    """Returns the type of plain values that a class extends, or None."""
    for base in _linear_order(kind):
        if base in _contents:
            return base
    return None


def content(value):
    """Returns the plain value of an object whose class extends a type of plain values. Calls none of its methods."""
    return _contents[base_of(_type(value))](value)


def encode(value, depth, size, other=None):
    """Returns JSON text of a value in pure ASCII.

    `other` returns the text of a value that is not plain, or None. Raises Unsupported if that is None or if the value
    is nested deeper than `depth`, and TooLarge if the text would be longer than `size`.
    """
    encoder = _Encoder(depth, size, other)
    digits = _get_digits and _get_digits()
    if _set_digits:
        _set_digits(0)
    try:
        encoder.value(value, 0)
    finally:
        if _set_digits:
            _set_digits(digits)
    return "".join(encoder.parts)


def state(value, encode_other):
    """Returns a fingerprint that stays equal while nothing in the value changes. Fast for plain values."""
    try:
        # Version 2 of the format has no references, so its bytes do not depend on other references to the value.
        return _marshal(value, 2)
    except _ValueError:
        return encode_other(value)


def quote(text):
    """Returns a str as JSON text in pure ASCII."""
    return _quote(text)


def parse(text):
    """Parses JSON text that has no space around it. Raises ValueError for other text."""
    try:
        value, end = _scan(text, 0)
    except _StopIteration:
        raise _ValueError("not JSON") from None
    if end != _len(text):
        raise _ValueError("not JSON")
    return value


def decode(plain, other=None):
    """Returns the Python value of a parsed plain value. `other` converts objects that are not plain values."""
    digits = _get_digits and _get_digits()
    if _set_digits:
        _set_digits(0)
    try:
        return _decode(plain, other)
    finally:
        if _set_digits:
            _set_digits(digits)


def _decode(plain, other):
    if _type(plain) is not dict:
        return plain
    for name, content in _dict_items(plain):
        make = _dict_get(_makers, name)
        if make is not None:
            return make(content, other)
        break
    if other is None:
        raise ValueError("not a plain value")
    return other(plain)


def _decode_items(content, other):
    return [_decode(item, other) for item in content]


_makers = {
    "int": lambda content, _: int(content),
    "float": lambda content, _: float(content),
    "complex": lambda content, _: complex(float(content[0]), float(content[1])),
    "bytes": lambda content, _: binascii.a2b_base64(content),
    "list": _decode_items,
    "tuple": lambda content, other: tuple(_decode_items(content, other)),
    "set": lambda content, other: set(_decode_items(content, other)),
    "frozenset": lambda content, other: frozenset(_decode_items(content, other)),
    "dict": lambda content, other: {_decode(key, other): _decode(item, other) for key, item in content},
    "undefined": lambda _, __: None,
}
