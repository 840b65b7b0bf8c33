"""Executes the requests of stand-ins on the candidate's objects. This is the candidate's side of a judge.

A request and an answer are one JSON text each. Plain values are copied. Everything else is sent as a reference
`{"object": number, "kind": type's name}`. A reference can be called, indexed and iterated, and has attributes.
"""

from . import candidate, codec, standard

_type = type
_BaseException = BaseException


class Objects:
    """The objects of one module that a judge has seen."""

    def __init__(self, module, limits, path=None):
        self._module = module
        self._limits = limits
        self._path = path
        self._objects = []
        self._numbers = {}

    def answer(self, text):
        """Returns `{"value", "changed"?}`, `{"error"}` or `{"too-large"}` as JSON text."""
        size = self._limits["size"]
        try:
            request = codec.parse(text)
            args = [self._decode(value) for value in request.get("args", [])]
            kwargs = {name: self._decode(value) for name, value in request.get("kwargs", {}).items()}
            before = [codec.state(value, self._encode) for value in args]
            target = self._objects[request["object"]] if "object" in request else self._module
            value = _operations[request["do"]](target, args, kwargs)
            answer = '{"value":' + self._encode(value)
            changes = [
                "[%d,%s]" % (index, self._encode(args[index]))
                for index, old in enumerate(before)
                if old != codec.state(args[index], self._encode)
            ]
            return answer + (',"changed":[' + ",".join(changes) + "]}" if changes else "}")
        except codec.TooLarge:
            return '{"too-large":true}'
        except _BaseException as error:
            return '{"error":' + candidate.error_text(error, self._path) + "}"

    def _encode(self, value):
        return codec.encode(value, self._limits["depth"], self._limits["size"], self._number)

    def _decode(self, plain):
        return codec.decode(plain, self._known)

    def _number(self, value):
        text = standard.encode(value, self._encode)
        if text is not None:
            return text
        number = self._numbers.get(id(value))
        if number is None:
            number = self._numbers[id(value)] = len(self._objects)
            self._objects.append(value)
        return '{"object":%d,"kind":%s}' % (number, codec.quote(codec._type_name(_type(value))))

    def _known(self, plain):
        if "standard" in plain:
            return standard.decode(plain, self._decode)
        return self._objects[plain["object"]]


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
    "truth": lambda target, _, __: bool(target),
    "is-instance": lambda target, args, _: isinstance(args[0], target),
    "is-subclass": lambda target, args, _: issubclass(args[0], target),
}
