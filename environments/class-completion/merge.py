"""Merges the agents' methods into a class. This is trusted code. It parses their code and never runs it."""

import ast
import json
import textwrap

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# The errors that parsing any source may raise.
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
LONGEST = 100_000


def merge_json(request):
    return json.dumps(merge(**json.loads(request)))


def merge(skeleton, class_name, owners, replies):
    """
    Returns the class with its methods. `owners` maps each requested method to the index of the reply that should
    contain it. Takes only functions and imports from a reply: its own methods, and new names as helpers. Methods of
    other agents are counted as overlap. Definitions of the skeleton stay unchanged. Methods that no agent wrote raise
    NotImplementedError.

    The result: {source, methods: {name: why it is missing, or null}, replies: [{error, line, overlap}]}
    """
    tree = ast.parse(skeleton)
    target = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == class_name)
    given = {key_of(node): node for node in target.body if isinstance(node, FUNCTIONS)}
    taken = Taken(given, owners)
    reports = [taken.take(place, reply, class_name) for place, reply in enumerate(replies)]
    for name, stub in given.items():
        if name not in owners:
            continue
        written = taken.methods.get(name)
        if written is None:
            stub.body = [ast.parse("raise NotImplementedError").body[0]]
            continue
        # The skeleton determines how a method is called.
        written.decorator_list = stub.decorator_list
        target.body[target.body.index(stub)] = written
    target.body.extend(taken.helpers.values())
    tree.body[:0] = taken.imports
    tree.body.extend(taken.functions.values())
    tree.body.sort(key=lambda node: not from_future(node))
    source = ast.unparse(ast.fix_missing_locations(tree))
    methods = {name: taken.reasons.get(name, None if name in taken.methods else "not written") for name in owners}
    return {"source": source, "methods": methods, "replies": reports}


class Taken:
    """The parts taken from the replies, in their order."""

    def __init__(self, given, owners):
        self.given = given
        self.owners = owners
        self.methods = {}
        self.helpers = {}
        self.functions = {}
        self.imports = []
        self.reasons = {}

    def take(self, place, reply, class_name):
        try:
            tree = read(reply)
        except UNREADABLE as error:
            kind, message = type(error).__name__, getattr(error, "msg", None) or str(error) or "too deep"
            return {"error": f"{kind}: {message}", "line": getattr(error, "lineno", None), "overlap": []}
        overlap = []
        for node, in_class in members(tree, class_name):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                if fault(node) is None:
                    self.imports.append(node)
                continue
            name = key_of(node)
            if name in self.owners and self.owners[name] != place:
                if name not in overlap:
                    overlap.append(name)
            elif name in self.owners:
                self.own(name, node)
            elif name not in (class_name, *self.given) and not is_special(name) and fault(node) is None:
                of_class = in_class or is_method(node)
                (self.helpers if of_class else self.functions).setdefault(name, node)
        return {"error": None, "line": None, "overlap": overlap}

    def own(self, name, node):
        """Takes the last definition of a method that is written more than once, as Python does."""
        wrong = "it has no body" if is_empty(node) else fault(node)
        if wrong is None:
            self.methods[name] = node
            self.reasons.pop(name, None)
        else:
            self.methods.pop(name, None)
            self.reasons[name] = wrong


def read(reply):
    """Returns the tree of a reply. The reply may be indented, as code cut out of a class is."""
    if len(reply) > LONGEST:
        raise ValueError(f"longer than {LONGEST} characters")
    text = reply.replace("\r\n", "\n")
    try:
        return ast.parse(text)
    except IndentationError as error:
        try:
            return ast.parse(textwrap.dedent(text))
        except UNREADABLE:
            raise error from None


def members(tree, class_name):
    """Yields the functions and imports of a module and of its class, each with whether it belongs to the class."""
    for node in tree.body:
        if isinstance(node, (*FUNCTIONS, ast.Import, ast.ImportFrom)):
            yield node, False
        elif isinstance(node, ast.ClassDef) and node.name == class_name:
            for member in node.body:
                if isinstance(member, FUNCTIONS):
                    yield member, True


def key_of(node):
    """Returns a method's name. For an accessor of a property, includes its kind, such as `size.setter`."""
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Attribute) and decorator.attr in ("setter", "deleter", "getter"):
            return f"{node.name}.{decorator.attr}"
    return node.name


def is_special(name):
    """Returns whether a name is special. Special methods that are not requested could change equality."""
    return name.startswith("__") and name.endswith("__")


def is_method(node):
    parameters = [*node.args.posonlyargs, *node.args.args]
    return bool(node.decorator_list) or (bool(parameters) and parameters[0].arg in ("self", "cls"))


def is_empty(node):
    return all(
        isinstance(statement, ast.Pass)
        or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        or (isinstance(statement, ast.Raise) and "NotImplemented" in ast.dump(statement)[:200])
        for statement in node.body
    )


def fault(node):
    """Returns why a function or an import does not compile, or None if it compiles."""
    try:
        module = ast.Module(body=[node], type_ignores=[])
        # Compiles the unparsed code, because code that can be parsed may be nested too deeply to be unparsed.
        compile(ast.unparse(ast.fix_missing_locations(module)), "method", "exec")
    except UNREADABLE as error:
        return f"{type(error).__name__}: {getattr(error, 'msg', None) or error}"
    return None


def from_future(node):
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"
