"""Loads untrusted code and calls its functions. The runner of each sandbox imports it.

A runner calls `load` once, then `call` once per case. `Objects` serves the stand-ins of a judge. Input and output are
JSON text. An answer is only an observation: code in the same process can forge all of it.
"""

import builtins
import sys
import types

from . import codec, standard

_type = type
_str = str
_len = len
_compile = compile
_exec = exec
_getattr = getattr
_setattr = setattr
_hasattr = hasattr
_callable = callable
_isinstance = isinstance
_iter = iter
_next = next
_set_recursion_limit = sys.setrecursionlimit
_recursion_limit = sys.getrecursionlimit()
_quote = codec.quote
_encode = codec.encode
_decode = codec.decode
_parse = codec.parse
_type_name = codec._type_name
_modules = sys.modules
_Unsupported = codec.Unsupported
_TooLarge = codec.TooLarge
_reduced = standard.reduced
_BaseException = BaseException
_SyntaxError = SyntaxError

MESSAGE_LENGTH = 2000


def error_text(error, path=None):
    """Returns JSON text of an exception: its type, its message, and the last line of `path` in its traceback."""
    message = ""
    line = None
    try:
        text = _str(error)
        if _type(text) is _str:
            message = text[:MESSAGE_LENGTH]
    except _BaseException:
        pass
    try:
        if _isinstance(error, _SyntaxError) and error.filename == path:
            line = error.lineno
        trace = _BaseException.__traceback__.__get__(error)
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == path:
                line = trace.tb_lineno
            trace = trace.tb_next
    except _BaseException:
        pass
    place = ',"line":%d' % line if _type(line) is int else ""
    return '{"type":' + _quote(_type_name(_type(error))) + ',"message":' + _quote(message) + place + "}"


def load(path, name, source):
    """Runs a file as the module `name` and returns it. Raises whatever the code raises."""
    module = types.ModuleType(name)
    module.__file__ = path
    module.__builtins__ = builtins
    _modules[name] = module
    code = _compile(source, path, "exec", 0, True)
    _exec(code, module.__dict__)
    return module


def unload(name):
    """Removes a loaded module."""
    del _modules[name]


def find(module, name):
    """Returns the function with a name. For `Class.method`, the method of an instance created without arguments."""
    owner, dot, method = name.partition(".")
    found = _getattr(module, owner)
    return _getattr(found(), method) if dot else found


def call(function, case, limits, path=None):
    """Calls a function with the arguments of a case (JSON text) and returns the observation as JSON text.

    It is `{"outcome", "value"?, "changedArgs"?, "error"?}`. The outcome is `too-large` if it exceeds limits["size"].
    """
    depth, size = limits["depth"], limits["size"]
    parsed = _parse(case)
    args = _decode({"list": parsed["args"]})
    kwargs = {key: _decode(value) for key, value in parsed.get("kwargs", {}).items()}
    before = [_state(value, size) for value in args]
    try:
        value = function(*args, **kwargs)
    except _BaseException as error:
        _set_recursion_limit(_recursion_limit)
        return '{"outcome":"raised","error":' + error_text(error, path) + _changes(before, args, size) + "}"
    _set_recursion_limit(_recursion_limit)
    try:
        text = _encode(value, depth, size, lambda other: _plain_text(other, depth, size))
    except _TooLarge:
        return '{"outcome":"too-large"}'
    except _BaseException as error:
        return '{"outcome":"unsupported","error":' + error_text(error) + _changes(before, args, size) + "}"
    return '{"outcome":"returned","value":' + text + _changes(before, args, size - _len(text)) + "}"


def _plain_text(value, depth, size):
    try:
        plain = _reduced(value)
    except _BaseException:
        # NaN and infinity equal no int.
        return None
    return None if plain is None else _encode(plain, depth, size)


def _state(value, size):
    return codec.state(value, lambda value: _encode(value, codec.MAX_DEPTH, size))


def _changes(before, args, size):
    after = []
    changed = False
    for old, value in zip(before, args):
        try:
            changed = changed or old != _state(value, size)
        except _BaseException:
            changed = True
    if not changed:
        return ""
    # A value that is no longer plain becomes "undefined". No argument can have that value.
    for value in args:
        try:
            after.append(_encode(value, codec.MAX_DEPTH, size))
        except _BaseException:
            after.append('{"undefined":true}')
    return ',"changedArgs":[' + ",".join(after) + "]"
