"""Values that cross the border of a sandbox, as trees for JSON and back; plain-value.ts says what they look like.

Only exact types are taken, and they are read without calling a method that code could have replaced: an object that
claims to be a list, or to be equal to everything, is Unsupported.
"""

import binascii
import collections


class Unsupported(Exception):
    """The value, or something in it, is no plain value."""


class TooDeep(Exception):
    """The value is nested deeper than the limit."""


_dict_types = frozenset([dict, collections.Counter, collections.defaultdict, collections.OrderedDict])
_sequences = {list: "list", tuple: "tuple", set: "set", frozenset: "frozenset"}
_type_name = type.__dict__["__name__"].__get__


def type_name(value):
    """The name of a value's class, as text that the class cannot make up at the time of asking."""
    return _type_name(type(value))


def encode(value, depth):
    """A tree for JSON. Raises Unsupported, or TooDeep where lists and the like are nested more than `depth` times."""
    kind = type(value)
    if value is None or kind is bool or kind is str:
        return value
    if kind is int:
        return {"int": int.__repr__(value)}
    if kind is float:
        return {"float": float.__repr__(value)}
    if depth <= 0 and (kind in _sequences or kind in _dict_types):
        raise TooDeep()
    if kind in _sequences:
        return {_sequences[kind]: [encode(item, depth - 1) for item in value]}
    if kind in _dict_types:
        return {"dict": [[encode(key, depth - 1), encode(item, depth - 1)] for key, item in dict.items(value)]}
    if kind is bytes:
        return {"bytes": binascii.b2a_base64(value, newline=False).decode("ascii")}
    if kind is complex:
        return {"complex": [float.__repr__(value.real), float.__repr__(value.imag)]}
    raise Unsupported(type_name(value))


def decode(tree):
    """The value of a tree that came from JSON. Raises ValueError where it is none."""
    if tree is None or type(tree) is bool or type(tree) is str:
        return tree
    if type(tree) is not dict or len(tree) != 1:
        raise ValueError("no plain value")
    ((kind, content),) = tree.items()
    try:
        return _decoders[kind](content)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError("no plain value") from error


def _decode_items(items):
    if type(items) is not list:
        raise ValueError("no plain value")
    return [decode(item) for item in items]


_decoders = {
    "int": int,
    "float": float,
    "list": _decode_items,
    "tuple": lambda items: tuple(_decode_items(items)),
    "set": lambda items: set(_decode_items(items)),
    "frozenset": lambda items: frozenset(_decode_items(items)),
    "dict": lambda items: {decode(key): decode(item) for key, item in items},
    "bytes": lambda text: binascii.a2b_base64(text),
    "complex": lambda parts: complex(float(parts[0]), float(parts[1])),
    "undefined": lambda _: None,
}
