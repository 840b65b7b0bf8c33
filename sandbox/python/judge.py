"""Runs trusted tests on stand-ins for the candidate's functions, classes and objects. This is the judge's side.

A stand-in never asks the candidate for the result of a comparison or an arithmetic operation. Plain data is compared
here, and objects are compared by identity. An object that claims to equal everything equals only itself. The candidate
cannot change the course of a test either: it cannot end an iteration of the test, skip a part of a `with` block, or
pass by returning nothing that could be compared.
"""

import builtins
import os
import sys
import types

from . import candidate, codec, rewriting, standard, vacuity

PATH = "test.py"
_MAX_DEPTH = 200
_RETURNED = '{"outcome":"returned"}'


class CandidateIsGone(BaseException):
    """The candidate's process has ended."""


class BrokenProtocol(BaseException):
    """The candidate's answer is invalid."""


class Judge:
    """Runs tests in one namespace. `ask` sends the candidate a request and returns the answer. Both are JSON text."""

    def __init__(self, ask, size):
        self._ask = ask
        self._size = size
        self._stand_ins = {}
        self._borrowed = {}
        self._fatal = None
        self._namespace = None
        self._bound = {}
        self._failure = None
        self._checks = vacuity.Checks(lambda value: type(value) in (StandIn, _Iterator))

    def bind(self, exports):
        """Creates the namespace with stand-ins for the exports. Raises AttributeError if one is missing."""
        module = types.ModuleType("tests")
        module.__builtins__ = builtins
        module.__file__ = os.path.join(os.getcwd(), PATH)
        self._namespace = module.__dict__
        self._namespace[rewriting.NAME] = self._checks
        self._bound = {name: self._request(None, "get", [name]) for name in exports}
        self._namespace.update(self._bound)

    def set_up(self, setup):
        """Runs the trusted setup. If it fails, every test fails. Raises CandidateIsGone and BrokenProtocol."""
        if setup:
            text = self._outcome(setup, "setup.py")
            self._failure = text if text != _RETURNED else None
        self._namespace.update(self._bound)

    def run(self, test):
        """Runs one test. Returns `{"outcome", "error"?}` as JSON text. Raises CandidateIsGone and BrokenProtocol."""
        return self._failure or self._outcome(test, PATH)

    def _outcome(self, code, path):
        text = _RETURNED
        try:
            with self._checks.test():
                exec(rewriting.compiled(code, path), self._namespace)
        except BaseException as error:
            text = '{"outcome":"raised","error":' + candidate.error_text(error, PATH) + "}"
        # A test may catch every exception, also these.
        if self._fatal is not None:
            raise self._fatal
        return text

    def _request(self, number, do, args=(), kwargs=None):
        self._give_back()
        value = self._exchange(number, do, args, kwargs)
        if do == "get" and number is not None and type(value) in (list, dict, set):
            self._borrowed[number, args[0]] = (value, self._state(value))
        return value

    def _give_back(self):
        """Copies a test's changes of an attribute's list, dict or set to the candidate. The test has only a copy."""
        for place, (value, before) in list(self._borrowed.items()):
            after = self._state(value)
            if after != before:
                self._borrowed[place] = (value, after)
                number, name = place
                self._exchange(number, "update", [name, value])

    def _state(self, value):
        try:
            return codec.state(value, self._encode)
        except (codec.Unsupported, codec.TooLarge):
            return None

    def _exchange(self, number, do, args=(), kwargs=None):
        if self._fatal is not None:
            raise self._fatal
        try:
            encoded = [self._encode(value) for value in args]
            named = ["%s:%s" % (codec.quote(name), self._encode(value)) for name, value in (kwargs or {}).items()]
        except codec.Unsupported as error:
            raise TypeError("a value of type %s cannot be passed to the candidate" % error) from None
        target = "" if number is None else ',"object":%d' % number
        request = '{"do":"%s"%s,"args":[%s],"kwargs":{%s}}' % (do, target, ",".join(encoded), ",".join(named))
        try:
            return self._understand(self._ask(request), do, args, kwargs or {})
        except (CandidateIsGone, BrokenProtocol) as error:
            self._fatal = error
            raise

    def _understand(self, text, do, args, kwargs):
        try:
            answer = codec.parse(text)
            error = answer.get("error")
            if error is None and "too-large" not in answer:
                value = self._decode(answer["value"])
                for index, changed in answer.get("changed", []):
                    _replace(args[index], self._decode(changed))
                    self._checks.record(args[index])
                asked = [*args, *kwargs.values()] if do == "call" else None
                self._checks.record(value, asked, do in ("next", "get-item"))
                return value
            kind, message = (error["type"], error["message"]) if error else ("ValueError", "the answer is too large")
            if type(kind) is not str or type(message) is not str:
                raise ValueError
        except Exception:
            raise BrokenProtocol() from None
        raise _error_of(kind, message, do)

    def _encode(self, value):
        return codec.encode(value, _MAX_DEPTH, self._size, self._number_of)

    def _decode(self, plain):
        return codec.decode(plain, self._stand_in)

    def _number_of(self, value):
        if type(value) is not StandIn:
            return standard.encode(value, self._encode)
        return '{"object":%d}' % object.__getattribute__(value, "_number")

    def _stand_in(self, plain):
        if "standard" in plain:
            return standard.decode(plain, self._decode)
        number, kind = plain["object"], plain["kind"]
        if type(number) is not int or type(kind) is not str:
            raise ValueError("not an object")
        if number not in self._stand_ins:
            self._stand_ins[number] = StandIn(self._request, number, kind)
        return self._stand_ins[number]


def _replace(value, changed):
    """Changes a list, dict or set in place, as the candidate has changed its copy."""
    if type(value) is not type(changed):
        return
    if type(value) is list:
        value[:] = changed
    elif isinstance(value, (dict, set)):
        value.clear()
        value.update(changed)


def _error_of(kind, message, do):
    if kind == "StopAsyncIteration" or (kind == "StopIteration" and do != "next"):
        # Otherwise `map`, `zip`, `async for` and others would end their iteration.
        ended = vacuity.Ended if kind == "StopIteration" else vacuity.AsyncEnded
        return ended("%s: %s" % (kind, message) if message else kind)
    found = getattr(builtins, kind, None)
    if not (isinstance(found, type) and issubclass(found, Exception)):
        # The error is SystemExit or similar, or has a class of the candidate.
        found = type(kind.replace("\0", ""), (Exception,), {})
    try:
        error = found(message)
    except TypeError:
        error = Exception(message)
    error.of_candidate = True
    return error


class StandIn:
    """An object of the candidate, as tests see it."""

    __slots__ = ("_request", "_number", "_kind")

    def __init__(self, request, number, kind):
        object.__setattr__(self, "_request", request)
        object.__setattr__(self, "_number", number)
        object.__setattr__(self, "_kind", kind)

    def __getattr__(self, name):
        if name.startswith("__") and name not in ("__name__", "__doc__", "__enter__", "__exit__"):
            raise AttributeError(name)
        return _do(self, "get", [name])

    def __setattr__(self, name, value):
        _do(self, "set", [name, value])

    def __delattr__(self, name):
        _do(self, "delete", [name])

    def __call__(self, *args, **kwargs):
        return _do(self, "call", args, kwargs)

    def __getitem__(self, key):
        return _do(self, "get-item", [key])

    def __setitem__(self, key, value):
        _do(self, "set-item", [key, value])

    def __delitem__(self, key):
        _do(self, "delete-item", [key])

    def __len__(self):
        return _do(self, "length")

    def __iter__(self):
        return _Iterator(_do(self, "iterate"))

    def __next__(self):
        return _do(self, "next")

    def __str__(self):
        return _do(self, "text")

    def __bool__(self):
        return _do(self, "truth")

    def __repr__(self):
        return "<%s of the candidate>" % object.__getattribute__(self, "_kind")

    def __instancecheck__(self, value):
        return type(value) is StandIn and _do(self, "is-instance", [value]) is True

    def __subclasscheck__(self, kind):
        return type(kind) is StandIn and _do(self, "is-subclass", [kind]) is True

    def __enter__(self):
        return _do(_do(self, "get", ["__enter__"]), "call")

    def __exit__(self, *_):
        _do(_do(self, "get", ["__exit__"]), "call", [None, None, None])
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


class _Iterator:
    """Iterates a stand-in as Python expects it: `next` ends with StopIteration."""

    def __init__(self, iterator):
        self._iterator = iterator

    def __iter__(self):
        return self

    def __next__(self):
        return next(self._iterator)


def _do(stand_in, do, args=(), kwargs=None):
    read = object.__getattribute__
    return read(stand_in, "_request")(read(stand_in, "_number"), do, args, kwargs)
