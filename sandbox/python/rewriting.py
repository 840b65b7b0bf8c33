"""Rewrites tests before they run, so that `vacuity.Checks` sees code that may pass without comparing anything.

It rewrites loops, comprehensions, `zip`, `map`, asserts, operations and calls if NumPy is imported, handlers of
StopIteration, and classes that are iterated by index. A test without any of these is compiled unchanged.
"""

import ast
import builtins
import re
import sys

NAME = "__checks__"

_words = re.compile(r"\b(?:for|while|zip|map|numpy|StopIteration|StopAsyncIteration|__getitem__)\b")
_ends = re.compile(r"\bStop(?:Async)?Iteration\b")
_advances = {"next", "anext", "send", "asend", "__next__", "__anext__"}
_expecting = {"assertRaises", "assertRaisesRegex", "raises"}
_loops = (ast.For, ast.AsyncFor, ast.While)
_functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_operations = {
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.BitAnd: "and_", ast.BitOr: "or_", ast.BitXor: "xor",
}


def compiled(code, path):
    """Compiles a test or a setup for a namespace that has `Checks` under NAME."""
    if not _words.search(code) and "numpy" not in sys.modules:
        return compile(code, path, "exec", 0, True)
    tree = compile(code, path, "exec", ast.PyCF_ONLY_AST, True)
    rewriter = _Rewriter("numpy" in code or "numpy" in sys.modules, _ends.search(code) is not None)
    return compile(ast.fix_missing_locations(rewriter.visit(tree)), path, "exec", 0, True)


class _Rewriter(ast.NodeTransformer):
    def __init__(self, has_numpy, has_ends):
        self._has_numpy = has_numpy
        self._has_ends = has_ends

    def visit_Assert(self, node):
        is_evaluated = _is_assertion(node)
        self.generic_visit(node)
        return [node, _statement("asserted", node)] if is_evaluated else node

    def visit_Expr(self, node):
        is_evaluated = _is_assertion(node)
        self.generic_visit(node)
        return [node, _statement("asserted", node)] if is_evaluated else node

    def visit_For(self, node):
        operands = _indexed_operands(node, node.body)
        statements = self.visit_While(node)
        _watch(node, operands)
        return statements

    def visit_While(self, node):
        asserts = any(map(_is_assertion, _own_statements(node.body)))
        self.generic_visit(node)
        if not asserts:
            return node
        node.body.insert(0, _statement("asserted", node.body[0]))
        return [node, _statement("loop_ended", node)]

    visit_AsyncFor = visit_While

    def visit_With(self, node):
        calls = [each.context_expr for each in node.items if isinstance(each.context_expr, ast.Call)]
        expects = any(_name_of(call.func) in _expecting for call in calls)
        self.generic_visit(node)
        return [node, _statement("asserted", node)] if expects else node

    def visit_ListComp(self, node):
        operands = [_indexed_operands(each, [node]) for each in node.generators]
        self.generic_visit(node)
        for each, indexed in zip(node.generators, operands):
            _watch(each, indexed)
        return node

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp

    def visit_Call(self, node):
        self.generic_visit(node)
        function, arguments = node.func, node.args
        name = _name_of(function)
        if self._has_ends and name in _expecting and arguments:
            arguments[0] = _call("expected", arguments[0], arguments[0])
        is_builtin = isinstance(function, ast.Name) and hasattr(builtins, function.id)
        if name in ("zip", "map") if is_builtin else self._has_numpy:
            return ast.copy_location(ast.Call(_attribute("call", node), [function, *arguments], node.keywords), node)
        return node

    def visit_Compare(self, node):
        self.generic_visit(node)
        return self._operation(node, node.ops[0], node.left, node.comparators[0]) if len(node.ops) == 1 else node

    def visit_BinOp(self, node):
        self.generic_visit(node)
        return self._operation(node, node.op, node.left, node.right)

    def _operation(self, node, operator, left, right):
        name = _operations.get(type(operator)) if self._has_numpy else None
        return node if name is None else _call("operate", node, ast.Constant(name), left, right)

    def visit_Try(self, node):
        # Code in a `try` that calls `next` or similar expects the end of an iterator, not an error of the candidate.
        advances = any(_name_of(call.func) in _advances for each in node.body for call in _calls(each))
        self.generic_visit(node)
        for handler in node.handlers:
            if self._has_ends and handler.type is not None and not advances:
                handler.type = _call("expected", handler.type, handler.type)
        return node

    def visit_MatchValue(self, node):
        # A pattern contains constants and no calls.
        return node

    def visit_ClassDef(self, node):
        self.generic_visit(node)
        if any(isinstance(each, ast.FunctionDef) and each.name == "__getitem__" for each in node.body):
            node.decorator_list.append(_attribute("iterated_by_index", node))
        for each in node.body:
            if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)) and each.name.startswith("test"):
                # A unittest test is a test by itself, even if its result is asserted.
                item = ast.withitem(context_expr=_call("test", each), optional_vars=None)
                each.body = [ast.copy_location(ast.With(items=[item], body=each.body), each.body[0])]
        return node


def _is_assertion(node):
    """Returns whether a statement is an assertion. `assert False` is none, because right code never reaches it."""
    if isinstance(node, ast.Assert):
        return not isinstance(node.test, ast.Constant)
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and _name_of(call.func).startswith("assert")


def _own_statements(statements):
    """Yields the statements and those in their blocks, without loops and definitions."""
    for each in statements:
        if isinstance(each, _loops + _functions):
            continue
        yield each
        for name in ("body", "orelse", "finalbody"):
            yield from _own_statements(getattr(each, name, ()))
        for handler in getattr(each, "handlers", ()):
            yield from _own_statements(handler.body)


def _indexed_operands(loop, parts):
    """Returns the names in the iterable of a loop over `range` or `enumerate`, then the values indexed by its counter.

    For `for i in range(len(r)): assert r[i] == e[i]`, returns `r`, `r` and `e`.
    """
    counter, iterable = loop.target, loop.iter
    name = iterable.func.id if isinstance(iterable, ast.Call) and isinstance(iterable.func, ast.Name) else ""
    if name == "enumerate" and isinstance(counter, ast.Tuple):
        counter = counter.elts[0]
    if name not in ("range", "enumerate") or not isinstance(counter, ast.Name) or getattr(loop, "is_async", 0):
        return []
    indexed = []
    for node in (each for part in parts for each in ast.walk(part)):
        if isinstance(node, ast.Subscript) and _is_path(node.value):
            # Python 3.8 wraps an index.
            index = node.slice.value if type(node.slice).__name__ == "Index" else node.slice
            if isinstance(index, ast.Name) and index.id == counter.id:
                indexed.append(node.value)
    functions = {id(call.func) for call in _calls(iterable)}
    over = [node for node in ast.walk(iterable) if isinstance(node, ast.Name) and id(node) not in functions]
    return [*over, *indexed] if indexed else []


def _watch(loop, operands):
    if operands:
        loop.iter = _call("items", loop.iter, loop.iter, _later(operands, loop.iter))


def _is_path(node):
    return isinstance(node, ast.Name) or isinstance(node, ast.Attribute) and _is_path(node.value)


def _calls(node):
    return (each for each in ast.walk(node) if isinstance(each, ast.Call))


def _name_of(function):
    return getattr(function, "id", None) or getattr(function, "attr", "")


def _later(operands, place):
    """Returns a lambda that returns the operands. They are read only after a loop has ended without an item."""
    nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.copy_location(ast.Lambda(nothing, ast.Tuple([_copy(each) for each in operands], ast.Load())), place)


def _copy(path):
    if isinstance(path, ast.Name):
        return ast.Name(path.id, ast.Load())
    return ast.Attribute(_copy(path.value), path.attr, ast.Load())


def _attribute(method, place):
    return ast.copy_location(ast.Attribute(ast.Name(NAME, ast.Load()), method, ast.Load()), place)


def _call(method, place, *arguments):
    return ast.copy_location(ast.Call(_attribute(method, place), list(arguments), []), place)


def _statement(method, place):
    return ast.copy_location(ast.Expr(_call(method, place)), place)
