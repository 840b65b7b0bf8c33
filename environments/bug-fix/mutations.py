"""Finds possible small mistakes in a program. This is trusted code. It parses the program and never runs it."""

import ast
import json
import re

COMPARISONS = {
    "<": ["<=", ">"],
    "<=": ["<", ">="],
    ">": [">=", "<"],
    ">=": [">", "<="],
    "==": ["!="],
    "!=": ["=="],
    "in": ["not in"],
    "not in": ["in"],
    "is": ["is not"],
    "is not": ["is"],
}
ARITHMETIC = {
    "+": ["-"],
    "-": ["+"],
    "*": ["+", "**"],
    "/": ["//", "*"],
    "//": ["/", "%"],
    "%": ["//"],
    "**": ["*"],
    "&": ["|"],
    "|": ["&"],
    "^": ["|"],
    "<<": [">>"],
    ">>": ["<<"],
}
LIKENESSES = [
    ("min", "max"),
    ("any", "all"),
    ("ceil", "floor"),
    ("upper", "lower"),
    ("isupper", "islower"),
    ("startswith", "endswith"),
    ("lstrip", "rstrip"),
    ("find", "rfind"),
    ("append", "extend"),
    ("keys", "values"),
    ("isdigit", "isalpha"),
    ("sum", "len"),
    ("swapcase", "lower"),
]
LIKE = {name: other for pair in LIKENESSES for name, other in (pair, pair[::-1])}
# Calls whose argument or object is easily confused with their return value.
CONVERSIONS = {"abs", "int", "float", "list", "reversed", "round", "set", "sorted", "str", "tuple"}
METHODS = {"copy", "lower", "upper", "strip", "lstrip", "rstrip"}
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def mutations(source, start):
    """
    Returns mistakes as JSON: a list of {kind, start, end, text}, each of which replaces a piece of the source. They
    are after `start`. All offsets are in UTF-16. Each mistake alone gives a different program that parses.
    """
    tree = ast.parse(source)
    text = Text(source)
    original = ast.dump(tree)
    found = []
    seen = set()
    for kind, begin, end, replacement in Mutator(tree, text).edits():
        edit = (text.utf16(begin), text.utf16(end), replacement)
        if edit[0] < start or edit in seen:
            continue
        seen.add(edit)
        try:
            changed = ast.parse(source[:begin] + replacement + source[end:])
        except (SyntaxError, ValueError):
            continue
        if ast.dump(changed) != original:
            found.append({"kind": kind, "start": edit[0], "end": edit[1], "text": replacement})
    found.sort(key=lambda edit: (edit["start"], edit["end"], edit["kind"], edit["text"]))
    return json.dumps(found)


class Text:
    """Source code with the positions of its nodes. `ast` counts columns in bytes of UTF-8."""

    def __init__(self, source):
        self.source = source
        self.lines = source.splitlines(keepends=True) if "\f" not in source else re.split("(?<=\n)", source)
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))

    def offset(self, line, column):
        return self.starts[line - 1] + len(self.lines[line - 1].encode()[:column].decode())

    def span(self, node):
        return self.offset(node.lineno, node.col_offset), self.offset(node.end_lineno, node.end_col_offset)

    def of(self, node):
        begin, end = self.span(node)
        return self.source[begin:end]

    def utf16(self, offset):
        return len(self.source[:offset].encode("utf-16-le")) // 2


class Mutator(ast.NodeVisitor):
    def __init__(self, tree, text):
        self.tree = tree
        self.text = text
        self.found = []
        # The names bound in the functions around a node, with the position of their first binding.
        self.scopes = []

    def edits(self):
        self.visit(self.tree)
        return self.found

    def add(self, kind, begin, end, replacement):
        self.found.append((kind, begin, end, replacement))

    def replace(self, kind, node, replacement):
        self.add(kind, *self.text.span(node), replacement)

    def operator(self, kind, between, table):
        """Replaces the operator in the gap between two nodes. The gap also has brackets and white space."""
        begin, end = between
        gap = re.sub(r"#[^\n]*", lambda comment: " " * len(comment.group()), self.text.source[begin:end])
        match = re.search(r"not\s+in\b|is\s+not\b|\w+|[^\s\w()\\=]+=?|==", gap)
        if match is None:
            return
        for other in table.get(" ".join(match.group().split()), []):
            self.add(kind, begin + match.start(), begin + match.end(), other)

    def gap(self, left, right):
        return self.text.span(left)[1], self.text.span(right)[0]

    def shifted(self, kind, node):
        """Adds one to, or subtracts one from, the whole number of a node."""
        if is_integer(node):
            for number in (node.value + 1, node.value - 1):
                # A negative index or bound is rarely intended.
                if number >= 0:
                    self.replace(kind, node, str(number))
        elif isinstance(node, (ast.Name, ast.Attribute, ast.Call)):
            self.replace(kind, node, self.text.of(node) + " + 1")
            self.replace(kind, node, self.text.of(node) + " - 1")
        elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)) and is_integer(node.right):
            if node.right.value == 1:
                self.replace(kind, node, self.text.of(node.left))

    # Expressions

    def visit_Compare(self, node):
        for left, right in zip([node.left, *node.comparators], node.comparators):
            self.operator("comparison", self.gap(left, right), COMPARISONS)
        self.generic_visit(node)

    def visit_BinOp(self, node):
        self.operator("arithmetic", self.gap(node.left, node.right), ARITHMETIC)
        self.generic_visit(node)

    def visit_BoolOp(self, node):
        for left, right in zip(node.values, node.values[1:]):
            self.operator("boolean", self.gap(left, right), {"and": ["or"], "or": ["and"]})
        self.generic_visit(node)

    def visit_UnaryOp(self, node):
        if isinstance(node.op, ast.Not):
            self.replace("dropped-not", node, self.text.of(node.operand))
        elif isinstance(node.op, ast.USub):
            self.replace("sign", node, self.text.of(node.operand))
        self.generic_visit(node)

    def visit_Constant(self, node):
        if isinstance(node.value, bool):
            self.replace("constant", node, str(not node.value))
        elif is_integer(node):
            self.shifted("constant", node)
        elif isinstance(node.value, float) and node.value == node.value:
            self.replace("constant", node, repr(node.value + 1))
        elif isinstance(node.value, str) and len(node.value) < 2:
            self.replace("text", node, repr("" if node.value == " " else node.value.swapcase() or " "))

    def visit_JoinedStr(self, node):
        # Before 3.12, Python gives the parts of an f-string no positions.
        return

    visit_TemplateStr = visit_JoinedStr

    def visit_Subscript(self, node):
        if isinstance(node.slice, ast.Slice):
            for bound in (node.slice.lower, node.slice.upper):
                if bound is not None and not is_integer(bound):
                    self.shifted("bound", bound)
        elif not isinstance(node.slice, ast.Constant):
            self.shifted("index", node.slice)
        self.generic_visit(node)

    def visit_Call(self, node):
        function = node.func
        if isinstance(function, ast.Name) and function.id == "range" and not node.keywords:
            self.range_bounds(node.args)
        name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
        if name in LIKE:
            end = self.text.span(function)[1]
            self.add("function", end - len(name), end, LIKE[name])
        if isinstance(function, ast.Name) and len(node.args) == 1:
            if name in CONVERSIONS:
                self.replace("dropped-call", node, self.text.of(node.args[0]))
            elif name == "len":
                self.shifted("length", node)
        if isinstance(function, ast.Attribute) and not node.args and name in METHODS:
            self.replace("dropped-call", node, self.text.of(function.value))
        args = [] if any(isinstance(arg, ast.Starred) for arg in node.args) else node.args
        for first, second in zip(args, args[1:]):
            self.exchange("argument-order", first, second)
        self.generic_visit(node)

    def range_bounds(self, args):
        if not args or any(isinstance(arg, ast.Starred) for arg in args):
            return
        for bound in args[:2]:
            if not is_integer(bound):
                self.shifted("range", bound)
        if len(args) == 1:
            self.replace("range", args[0], "1, " + self.text.of(args[0]))

    def exchange(self, kind, first, second):
        if ast.dump(first) == ast.dump(second):
            return
        between = self.text.source[slice(*self.gap(first, second))]
        begin, end = self.text.span(first)[0], self.text.span(second)[1]
        self.add(kind, begin, end, self.text.of(second) + between + self.text.of(first))

    def visit_IfExp(self, node):
        self.negate(node.test)
        self.generic_visit(node)

    def visit_comprehension(self, node):
        for condition in node.ifs:
            self.negate(condition)
        self.generic_visit(node)

    def negate(self, condition):
        if not isinstance(condition, ast.UnaryOp):
            self.replace("negated-condition", condition, "not (" + self.text.of(condition) + ")")

    def visit_Name(self, node):
        if isinstance(node.ctx, ast.Load):
            self.wrong_name("variable", node)

    def wrong_name(self, kind, node):
        """Replaces a name by the names that were bound last before it, at most two."""
        bound = next((scope for scope in reversed(self.scopes) if node.id in scope), None)
        if bound is None:
            return
        place = self.text.span(node)[0]
        earlier = [name for name, begin in bound.items() if begin < place and name != node.id]
        for name in sorted(earlier, key=lambda name: (-bound[name], name))[:2]:
            self.replace(kind, node, name)

    # Statements

    def visit_If(self, node):
        self.negate(node.test)
        self.generic_visit(node)

    visit_While = visit_If

    def visit_AugAssign(self, node):
        table = {symbol + "=": [other + "=" for other in others] for symbol, others in ARITHMETIC.items()}
        self.operator("arithmetic", self.gap(node.target, node.value), table)
        self.visit(node.value)

    def visit_Return(self, node):
        if isinstance(node.value, ast.Name):
            self.wrong_name("returned-name", node.value)
        elif node.value is not None:
            self.visit(node.value)
        if node.value is not None:
            self.replace("forgotten-return", node, self.text.of(node.value))

    def visit_AnnAssign(self, node):
        if node.value is not None:
            self.visit(node.value)

    def generic_visit(self, node):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list) and len(block) > 1:
                for statement in block:
                    self.remove(statement)
        super().generic_visit(node)

    def remove(self, statement):
        """Removes a statement that has its lines to itself, with its lines, unless it is the first to bind a name."""
        removable = (ast.AugAssign, ast.Expr, ast.Continue, ast.Break, ast.Assign, ast.If)
        if not isinstance(statement, removable) or is_text(statement):
            return
        if isinstance(statement, ast.If) and (statement.orelse or len(statement.body) > 1):
            return
        place = self.text.span(statement)[0]
        if any(self.scopes and self.scopes[-1].get(name.id, 0) >= place for name in own_names(statement)):
            return
        begin, end = self.text.starts[statement.lineno - 1], self.text.starts[statement.end_lineno]
        own_begin, own_end = self.text.span(statement)
        before, after = self.text.source[begin:own_begin], self.text.source[own_end:end]
        if before.strip() == "" and re.fullmatch(r"\s*(#.*)?\s*", after):
            self.add("removed-statement", begin, end, "")

    def function(self, node):
        bound = {}
        body = node.body if isinstance(node.body, list) else [node.body]
        parameters = node.args
        everything = [*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs]
        for parameter in [*everything, parameters.vararg, parameters.kwarg]:
            if parameter is not None:
                bound.setdefault(parameter.arg, self.text.span(parameter)[0])
        for statement in body:
            for name in own_names(statement):
                place = self.text.span(name)[0]
                bound[name.id] = min(place, bound.get(name.id, place))
        self.scopes.append(bound)
        # The head is left out: annotations are not code, and callers know the defaults.
        if isinstance(node.body, list):
            block = node.body[1:] if is_text(node.body[0]) else node.body
            if len(block) > 1:
                for statement in block:
                    self.remove(statement)
        for statement in body:
            if not is_text(statement):
                self.visit(statement)
        self.scopes.pop()

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = function


def is_integer(node):
    return isinstance(node, ast.Constant) and type(node.value) is int


def is_text(statement):
    """Returns whether a statement is a docstring or another text without effect."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def own_names(node):
    """Returns the names that a statement binds, without those of nested functions."""
    pending = [node]
    while pending:
        current = pending.pop()
        if isinstance(current, ast.Name) and isinstance(current.ctx, ast.Store):
            yield current
        if not isinstance(current, SCOPES):
            pending.extend(ast.iter_child_nodes(current))
