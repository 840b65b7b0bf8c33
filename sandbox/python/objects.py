"""Executes the requests of stand-ins on the candidate's objects. This is the candidate's side of a judge.

A request and an answer are one JSON text each. Plain values are copied. Everything else is sent as a reference
`{"object": number, "kind": type's name}`. A reference can be called, indexed and iterated, and has attributes.
"""

import builtins
import functools
import importlib
import operator
import sys

from . import candidate, codec, standard

# The states of larger networks of objects are not read.
_MAX_STATES = 200

_type = type
_BaseException = BaseException


class Objects:
    """The objects of one module that a judge has seen."""

    def __init__(self, module, limits, path=None, ask=None):
        self._module = module
        self._ask = ask
        self._limits = limits
        self._path = path
        self._objects = []
        self._numbers = {}
        self._functions = {}
        self._mentioned = []
        self._states = {}

    def answer(self, text):
        """Returns `{"value", "changed"?}`, `{"error"}` or `{"too-large"}` as JSON text."""
        size = self._limits["size"]
        try:
            request = codec.parse(text)
            args = [self._decode(value) for value in request.get("args", [])]
            kwargs = {name: self._decode(value) for name, value in request.get("kwargs", {}).items()}
            before = [codec.state(value, self._encode) for value in args]
            target = self._objects[request["object"]] if "object" in request else self._module
            self._number(target)
            value = _operations[request["do"]](target, args, kwargs)
            answer = '{"value":' + self._encode(value)
            changes = [
                "[%d,%s]" % (index, self._encode(args[index]))
                for index, old in enumerate(before)
                if old != codec.state(args[index], self._encode)
            ]
            if changes:
                answer += ',"changed":[' + ",".join(changes) + "]"
            if request["do"] == "states":
                self._mentioned += map(self._objects.__getitem__, self._states)
            return answer + ',"states":[' + ",".join(self._new_states()) + "]}"
        except codec.TooLarge:
            return '{"too-large":true}'
        except _BaseException as error:
            answer = '{"error":' + candidate.error_text(error, self._path)
            kind = _type(error)
            if standard._module_of(kind) != self._module.__name__:
                return answer + "}"
            # Its class is known to tests that name it, and it may have attributes.
            return answer + ',"classes":' + _classes_of(kind) + ',"raised":' + self._encode(error) + "}"

    def _encode(self, value):
        return codec.encode(value, self._limits["depth"], self._limits["size"], self._number)

    def _decode(self, plain):
        return codec.decode(plain, self._known)

    def _number(self, value):
        text = standard.encode(value, self._encode)
        if text is not None:
            return text
        function = self._functions.get(id(value))
        if function is not None:
            return '{"function":%d}' % function[0]
        number = self._number_of(value)
        kind = _type(value)
        if kind is _type and _is_record(value):
            names = ",".join(map(codec.quote, value.__dataclass_fields__))
            return '{"object":%d,"kind":%s,"record":[%s]}' % (number, codec.quote(value.__name__), names)
        text = '{"object":%d,"kind":%s' % (number, codec.quote(codec._type_name(kind)))
        if isinstance(value, _type) and issubclass(value, Exception) and value.__module__ == self._module.__name__:
            text += ',"classes":' + _classes_of(value)
        if standard._module_of(kind) == self._module.__name__ and not isinstance(value, _type):
            self._mentioned.append(value)
            text += ',"class":%d' % self._number_of(kind)
        base = codec.base_of(kind)
        if base in (list, set, dict):
            text += ',"base":"%s"' % base.__name__
        elif base is not None:
            text += ',"content":' + self._encode(codec.content(value))
        return text + "}"

    def _call(self, number, args, kwargs):
        """Calls a function of the test. Questions may come before its answer."""
        encoded = ",".join(map(self._encode, args))
        named = ",".join("%s:%s" % (codec.quote(name), self._encode(value)) for name, value in kwargs.items())
        text = self._ask('{"call":%d,"args":[%s],"kwargs":{%s}}' % (number, encoded, named))
        while text is not None and text.startswith('{"do":'):
            text = self._ask(self.answer(text))
        answer = codec.parse(text or "")
        if "returned" in answer:
            return self._decode(answer["returned"])
        raise _error(answer["error"])

    def _items(self, number):
        while True:
            try:
                item = self._call(number, (), {})
            except StopIteration:
                return
            yield item

    def _number_of(self, value):
        number = self._numbers.get(id(value))
        if number is None:
            number = self._numbers[id(value)] = len(self._objects)
            self._objects.append(value)
        return number

    def _new_states(self):
        """Yields `[number, state]` of the objects that were mentioned since the last answer, if it has changed."""
        seen = set()
        while self._mentioned:
            value = self._mentioned.pop()
            number = self._number_of(value)
            if number in seen or len(seen) == _MAX_STATES:
                continue
            seen.add(number)
            try:
                state = self._encode(_state(value))
            except (codec.TooLarge, codec.Unsupported, AttributeError):
                state = "null"
            if self._states.get(number) != state:
                self._states[number] = state
                yield "[%d,%s]" % (number, state)

    def _known(self, plain):
        if "standard" in plain:
            return standard.decode(plain, self._decode)
        if "function" in plain:
            number = plain["function"]

            def function(*args, **kwargs):
                return self._call(number, args, kwargs)

            # A function that comes back is the test's own.
            self._functions[id(function)] = number, function
            return function
        if "builtin" in plain:
            module, name = plain["builtin"]
            return functools.reduce(getattr, name.split("."), importlib.import_module(module))
        if "iterator" in plain:
            return self._items(plain["iterator"])
        return self._objects[plain["object"]]


def _classes_of(kind):
    """Returns JSON text of the names of an exception's classes."""
    return "[" + ",".join(codec.quote(each.__name__) for each in kind.__mro__[:-2]) + "]"


def _error(error):
    kind = getattr(builtins, error["type"], None)
    known = isinstance(kind, _type) and issubclass(kind, Exception)
    try:
        return kind(error["message"]) if known else Exception(error["message"])
    except TypeError:
        return Exception(error["message"])


def _state(value):
    """Returns the fields of an object: those that a dataclass compares, or all."""
    kind = _type(value)
    fields = kind.__dict__.get("__dataclass_fields__")
    if fields is not None and "__eq__" in kind.__dict__:
        return {name: getattr(value, name) for name, field in fields.items() if field.compare}
    state = dict(getattr(value, "__dict__", {}))
    for each in kind.__mro__:
        slots = each.__dict__.get("__slots__", ())
        for name in (slots,) if _type(slots) is str else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                state[name] = getattr(value, name)
    if codec.base_of(kind) is not None:
        state[""] = codec.content(value)
    return state


def _is_record(kind):
    """Returns whether objects of a class only hold the arguments that they are made with: a plain dataclass."""
    if "__dataclass_fields__" not in kind.__dict__ or kind.__new__ is not object.__new__:
        return False
    is_generated = "__init__" in kind.__dict__ and kind.__init__.__code__.co_filename == "<string>"
    fields = kind.__dataclass_fields__.values()
    makes_values = any(field.default_factory is not sys.modules["dataclasses"].MISSING for field in fields)
    return is_generated and not hasattr(kind, "__post_init__") and not makes_values


def _operate(target, args, _):
    name, other, is_reflected = args
    function = getattr(operator, "__%s__" % name)
    return function(other, target) if is_reflected else function(target, other)


def _set(target, args, _):
    setattr(target, args[0], args[1])


def _update(target, args, _):
    name, value = args
    content = getattr(target, name)
    if type(content) is not type(value):
        return
    if type(content) is list:
        content[:] = value
    else:
        content.clear()
        content.update(value)


def _set_item(target, args, _):
    target[args[0]] = args[1]


def _delete_item(target, args, _):
    del target[args[0]]


_unary = {"abs": abs, "round": round, "int": int, "float": float, **{name: getattr(operator, name) for name in ("neg", "pos", "invert")}}
_operations = {
    "get": lambda target, args, _: getattr(target, args[0]),
    "set": _set,
    "update": _update,
    "delete": lambda target, args, _: delattr(target, args[0]),
    "call": lambda target, args, kwargs: target(*args, **kwargs),
    "get-item": lambda target, args, _: target[args[0]],
    "set-item": _set_item,
    "delete-item": _delete_item,
    "length": lambda target, _, __: len(target),
    "iterate": lambda target, _, __: iter(target),
    "next": lambda target, _, __: next(target),
    "text": lambda target, _, __: str(target),
    "states": lambda _, __, ___: None,
    "repr": lambda target, _, __: repr(target),
    "hash": lambda target, _, __: hash(target),
    "contains": lambda target, args, _: args[0] in target,
    "equals": lambda target, args, _: target == args[0],
    "operate": _operate,
    "unary": lambda target, args, _: _unary[args[0]](target, *args[1:]),
    "content": lambda target, _, __: codec.content(target),
    "truth": lambda target, _, __: bool(target),
    "is-instance": lambda target, args, _: isinstance(args[0], target),
    "is-subclass": lambda target, args, _: issubclass(args[0], target),
}
