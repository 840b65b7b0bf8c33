"""Programs that do the same as another: run in a sandbox, by its syntax tree and its lines."""

import ast
import copy


def locals_of(function):
    """Names that a function assigns and that mean nothing else anywhere in it."""
    assigned, taken = set(), set()
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            assigned.add(node.id)
        elif isinstance(node, ast.arg):
            taken.add(node.arg)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            taken.update(node.names)
        elif isinstance(node, ast.ExceptHandler):
            taken.add(node.name)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            taken.add(node.name)
        elif isinstance(node, ast.alias):
            taken.add(node.asname or node.name.split(".")[0])
    return assigned - taken


def functions(module):
    return [node for node in module.body if isinstance(node, ast.FunctionDef)]


def renamed(module, entry):
    for function in functions(module):
        names = locals_of(function)
        for node in ast.walk(function):
            if isinstance(node, ast.Name) and node.id in names:
                node.id = f"renamed_{node.id}"


def reordered(module, entry):
    others = [node for node in module.body if not isinstance(node, ast.FunctionDef)]
    module.body = [*others, *reversed(functions(module))]


def with_dead_code(module, entry):
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef):
            start = 1 if ast.get_docstring(node, clean=False) is not None else 0
            dead = "if False:\n    raise ValueError\nwhile 0:\n    unused_value = [1]\n"
            node.body[start:start] = ast.parse(dead).body
            node.body += ast.parse("if 1 == 2:\n    print(undefined_name)\n").body
    module.body += ast.parse("class Unused:\n    pass\ndef unused(x=1, *y):\n    return unused(y)\n").body


def wrapped(module, entry):
    for node in functions(module):
        if node.name == entry:
            node.name = "inner_function"
    module.body += ast.parse(f"def {entry}(*args, **kwargs):\n    return inner_function(*args, **kwargs)\n").body


def bound(module, entry):
    text = f"class Holder:\n    def __init__(self, made): self.made = made\n    def call(self, *args): return self.made(*args)\n{entry} = Holder({entry}).call\n"
    module.body += ast.parse(text).body


def imported_under_other_names(module, entry):
    module.body[:0] = ast.parse("import builtins as the_builtins\nlist_length = the_builtins.len\n").body
    for node in ast.walk(module):
        if isinstance(node, ast.Name) and node.id == "len":
            node.id = "list_length"


def commented(source):
    starts = {node.lineno for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt)}
    lines = []
    for number, line in enumerate(source.split("\n"), 1):
        if number in starts and not line.lstrip().startswith(("@", ";")):
            lines += ["# assert False  \"\"\" '", "", "\t# return None"]
        lines.append(line)
    return "\n".join(lines) + "\n\n\n# the end"


def equivalents(source, entry):
    """Lists of a name and a program that does the same as `source`, which defines `entry`."""
    module = ast.parse(source)
    made = [["reprinted", ast.unparse(module)], ["commented", commented(source)]]
    made.append(["with tabs", ast.unparse(module).replace("    ", "\t")])
    for change in (renamed, reordered, with_dead_code, wrapped, bound, imported_under_other_names):
        changed = copy.deepcopy(module)
        change(changed, entry)
        made.append([change.__name__, ast.unparse(ast.fix_missing_locations(changed))])
    return made
