"""Runs trusted tests on stand-ins for the candidate's functions, classes and objects. This is the judge's side.

Plain data is compared here, and objects by the rules of `equality.py`. An object that claims to equal everything equals
only itself. The candidate cannot change the course of a test either: it cannot end an iteration of the test, skip a part
of a `with` block, or pass by returning nothing that could be compared.
"""

import builtins
import functools
import itertools
import operator
import os
import types

from . import candidate, codec, equality, rewriting, standard, vacuity
from .stand_in import BASES, Iterator, StandIn, extended, number_of, stand_in_of

PATH = "test.py"
_MAX_DEPTH = 200
_MAX_CALLS = 100_000
_MAX_NESTED = 50
_functions = (types.FunctionType, types.MethodType, functools.partial, operator.itemgetter, operator.attrgetter)
_methods_of_types = (type(str.lower), type(str.__add__))
_iterators = (types.GeneratorType, *map(type, (map(abs, ()), zip(), filter(None, ()), enumerate(()), reversed([]))))
_iterators += (*map(type, map(iter, ([], (), "", {}, {}.values(), {}.items(), set(), range(0), range(1 << 70)))),)
_iterators += (itertools.count, itertools.cycle, itertools.repeat, itertools.chain, itertools.islice)
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
        # The functions that the candidate may call, the number of its calls, and how many of them are running.
        self._functions = []
        self._uncalled = set()
        self._errors = {}
        self._calls = 0
        self._depth = 0
        self._wrong = None
        self._checks = vacuity.Checks(lambda value: type(value) in (StandIn, Iterator))
        self.equality = equality.Equality(self.request, self._decode)

    def bind(self, exports):
        """Creates the namespace with stand-ins for the exports. Raises AttributeError if one is missing."""
        module = types.ModuleType("tests")
        module.__builtins__ = builtins
        module.__file__ = os.path.join(os.getcwd(), PATH)
        self._namespace = module.__dict__
        self._namespace[rewriting.NAME] = self._checks
        self._bound = {name: self.request(None, "get", [name]) for name in exports}
        self.equality.classes = {
            number_of(value)
            for name, value in self._bound.items()
            if name[:1].isupper() and type(value) is StandIn
        }
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
        self._wrong = None
        self._uncalled.clear()
        try:
            with self._checks.test():
                exec(rewriting.compiled(code, path), self._namespace)
            if self._wrong is not None:
                raise self._wrong
            if self._uncalled and not self._checks.may_be_empty:
                raise AssertionError("nothing was compared: a function with an assertion was not called")
        except BaseException as error:
            text = '{"outcome":"raised","error":' + candidate.error_text(error, PATH) + "}"
        # A test may catch every exception, also these.
        if self._fatal is not None:
            raise self._fatal
        return text

    def request(self, number, do, args=(), kwargs=None):
        self._give_back()
        value = self._exchange(number, do, args, kwargs)
        if do == "get" and number is not None and type(value) in (list, dict, set):
            self._borrowed[number, args[0]] = (value, self._state(value))
        return value

    def make(self, stand_in, kind, args, kwargs):
        """Makes the object of a stand-in that was only recorded. It keeps its stand-in."""
        number = number_of(self.request(kind, "call", args, kwargs))
        object.__setattr__(stand_in, "_number", number)
        self._stand_ins[number] = stand_in

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
        asked = self.equality.asking(number, do, args, kwargs or {})
        try:
            text = self._ask(request)
            while text.startswith('{"call":'):
                text = self._ask(self._call_back(text))
            return self._understand(text, do, args, kwargs or {}, asked)
        except (CandidateIsGone, BrokenProtocol) as error:
            self._fatal = error
            raise

    def _call_back(self, text):
        """Calls a function of the test for the candidate. Returns the answer as JSON text."""
        try:
            call = codec.parse(text)
            function = self._functions[call["call"]]
            args = self._decode({"list": call["args"]})
            kwargs = {name: self._decode(value) for name, value in call["kwargs"].items()}
            self._uncalled.discard(call["call"])
            self._calls += 1
            if self._calls > _MAX_CALLS or self._depth == _MAX_NESTED:
                raise ValueError
        except Exception:
            raise BrokenProtocol() from None
        self._depth += 1
        try:
            return '{"returned":' + self._encode(function(*args, **kwargs)) + "}"
        except codec.Unsupported as error:
            self._wrong = TypeError("a value of type %s cannot be passed to the candidate" % error)
            return '{"error":' + candidate.error_text(self._wrong) + "}"
        except Exception as error:
            if isinstance(error, AssertionError):
                # The candidate may catch the error, and the test fails nevertheless.
                self._wrong = error
            return '{"error":' + candidate.error_text(error) + "}"
        finally:
            self._depth -= 1

    def _function(self, value):
        """Returns JSON text of a function or an iterator of the test. None for other values."""
        if isinstance(value, _methods_of_types):
            return _builtin(value.__objclass__.__module__, value.__qualname__)
        if isinstance(value, types.BuiltinFunctionType) and isinstance(value.__self__, types.ModuleType):
            # The candidate uses its own. This process runs no `eval` for it.
            return _builtin(value.__self__.__name__, value.__name__)
        if isinstance(value, (*_functions, types.BuiltinFunctionType)):
            name = "function"
        elif isinstance(value, _iterators):
            name, value = "iterator", value.__next__
        else:
            return None
        self._functions.append(value)
        if vacuity.has_assertion(value):
            self._uncalled.add(len(self._functions) - 1)
        return '{"%s":%d}' % (name, len(self._functions) - 1)

    def _understand(self, text, do, args, kwargs, request):
        try:
            answer = codec.parse(text)
            error = answer.get("error")
            if error is None and "too-large" not in answer:
                value = self._decode(answer["value"])
                self.equality.answered(request, value, answer["states"])
                for index, changed in answer.get("changed", []):
                    _replace(args[index], self._decode(changed))
                    self._checks.record(args[index])
                asked = [*args, *kwargs.values()] if do == "call" else None
                self._checks.record(value, asked, do in ("next", "get-item"))
                return value
            kind, message = (error["type"], error["message"]) if error else ("ValueError", "the answer is too large")
            if type(kind) is not str or type(message) is not str:
                raise ValueError
            found = self._errors_of([*map(str, answer.get("classes", [kind]))])
            raised = self._decode(answer["raised"]) if "raised" in answer else None
        except Exception:
            raise BrokenProtocol() from None
        if kind == "StopAsyncIteration" or (kind == "StopIteration" and do != "next"):
            # Otherwise `map`, `zip`, `async for` and others would end their iteration.
            ended = vacuity.Ended if kind == "StopIteration" else vacuity.AsyncEnded
            raise ended("%s: %s" % (kind, message) if message else kind)
        try:
            error = found(message)
        except TypeError:
            error = Exception(message)
        error.of_candidate = True
        if raised is not None:
            error.__dict__["__stand_in__"] = raised
        raise error

    def _errors_of(self, names):
        """Returns the class of a test's exceptions for the names of the candidate's exception's classes."""
        name = names[0]
        found = getattr(builtins, name, None)
        if isinstance(found, type) and issubclass(found, Exception):
            return found
        if name not in self._errors:
            # The error is SystemExit or similar, or has a class of the candidate. It ends no iteration of the test.
            base = self._errors_of(names[1:]) if names[1:] else Exception
            if issubclass(base, (StopIteration, StopAsyncIteration)):
                base = Exception
            self._errors[name] = type(name.replace("\0", ""), (base,), {"__getattr__": _attribute_of_error})
        return self._errors[name]

    def _encode(self, value):
        return codec.encode(value, _MAX_DEPTH, self._size, self._number_of)

    def _decode(self, plain):
        return codec.decode(plain, self._stand_in)

    def _number_of(self, value):
        stand_in = stand_in_of(value)
        if stand_in is None:
            text = standard.encode(value, self._encode)
            return self._function(value) if text is None else text
        return '{"object":%d}' % number_of(stand_in)

    def _stand_in(self, plain):
        if "function" in plain:
            return self._functions[plain["function"]]
        if "standard" in plain:
            return standard.decode(plain, self._decode)
        number, kind, owner, base = plain["object"], plain["kind"], plain.get("class"), plain.get("base")
        if type(number) is not int or type(kind) is not str or type(owner) not in (int, type(None)):
            raise ValueError("not an object")
        if "classes" in plain:
            return self._errors_of([*map(str, plain["classes"])])
        if number not in self._stand_ins:
            self.equality.found(number, owner)
            made = StandIn(self, number, kind, owner, _changeable[base] if base else None, _record(plain))
            if "content" in plain:
                content = self._decode(plain["content"])
                if type(content) not in BASES:
                    raise ValueError("not a plain value")
                value = extended(type(content))(content)
                value.__dict__["__stand_in__"] = made
                made = value
            self._stand_ins[number] = made
        return self._stand_ins[number]


def _attribute_of_error(error, name):
    if name.startswith("__") or "__stand_in__" not in error.__dict__:
        raise AttributeError(name)
    return getattr(error.__dict__["__stand_in__"], name)


def _builtin(module, name):
    return '{"builtin":[%s,%s]}' % (codec.quote(module), codec.quote(name))


def _record(plain):
    fields = plain.get("record")
    return fields if type(fields) is list and all(type(each) is str for each in fields) else None


_changeable = {"list": list, "set": set, "dict": dict}


def _replace(value, changed):
    """Changes a list, dict or set in place, as the candidate has changed its copy."""
    if type(value) is not type(changed):
        return
    if type(value) is list:
        value[:] = changed
    elif isinstance(value, (dict, set)):
        value.clear()
        value.update(changed)


