# Parses source code without running it. `read` returns its SyntaxForm (syntax-form.ts) as JSON.
import ast
import json
import warnings

warnings.simplefilter("ignore")

def read(source):
    try:
        tree = ast.parse(source)
        # Code that parses may still not compile, such as a return outside of a function.
        compile(source, "source", "exec")
        return json.dumps({"ok": True, "body": statements(tree.body)})
    except SyntaxError as error:
        return json.dumps({"ok": False, "message": str(error.msg), "line": error.lineno or 0, "column": error.offset or 0})
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        return json.dumps({"ok": False, "message": f"{type(error).__name__}: {error}", "line": 0, "column": 0})

def statements(nodes):
    return [form for node in nodes for form in statement(node)]

def statement(node):
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return [bound([node.name], [*node.decorator_list, *defaults(node.args)]), function(node.name, node)]
        case ast.ClassDef():
            parents = [*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)]
            body = [{"k": "use", "value": lambda_of(inner)} if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef))
                    else form for inner in node.body for form in ([None] if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef)) else statement(inner))]
            return [bound([node.name], parents), {"k": "def", "id": node.name, "params": [], "body": body}]
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda() as value):
            return [bound([name], defaults(value.args)), {"k": "def", "id": name, **signature(value)}]
        case ast.Assign():
            return [form for target in node.targets for form in assigned(target, expression(node.value))]
        case ast.AugAssign(target=ast.Name(id=name)):
            return [{"k": "set", "ids": [name], "value": every([expression(node.target), expression(node.value)])}]
        case ast.AugAssign():
            return assigned(node.target, expression(node.value))
        case ast.AnnAssign():
            return [] if node.value is None else assigned(node.target, expression(node.value))
        case ast.For() | ast.AsyncFor():
            return [*updates(node.target, expression(node.iter)),
                    loop(names(node.target), expression(node.iter), False, node)]
        case ast.While():
            test = expression(node.test)
            return [loop([], test, test["k"] == "const" and test["truthy"], node)]
        case ast.If():
            return [{"k": "if", "test": expression(node.test), "yes": statements(node.body), "no": statements(node.orelse)}]
        case ast.With() | ast.AsyncWith():
            entered = [form for item in node.items for form in context(item)]
            return [{"k": "block", "body": [*entered, *statements(node.body)]}]
        case ast.Match():
            return [cases(expression(node.subject), node.cases)]
        case ast.Try() | ast.TryStar():
            handlers = [[*([bound([handler.name], [])] if handler.name else []), *statements(handler.body)] for handler in node.handlers]
            return [{"k": "try", "body": statements([*node.body, *node.orelse]), "handlers": handlers, "final": statements(node.finalbody)}]
        case ast.Return():
            return [{"k": "return", "value": None if node.value is None else expression(node.value)}]
        case ast.Raise():
            return [{"k": "raise", "value": every([expression(part) for part in (node.exc, node.cause) if part is not None])}]
        case ast.Assert():
            return [{"k": "use", "value": every([expression(part) for part in (node.test, node.msg) if part is not None])}]
        case ast.Delete():
            return [{"k": "update", "root": root(target), "value": every([])} for target in node.targets]
        case ast.Import() | ast.ImportFrom():
            return [bound([(alias.asname or alias.name).split(".")[0] for alias in node.names], [])]
        case ast.Global() | ast.Nonlocal():
            return [{"k": "outer", "ids": node.names}]
        case ast.Expr():
            return [{"k": "drop", "value": expression(node.value)}]
        case ast.Break():
            return [{"k": "break"}]
        case ast.Continue():
            return [{"k": "continue"}]
    return []

def function(name, node):
    return {"k": "def", "id": name, "params": parameters(node.args), "body": statements(node.body)}

def lambda_of(node):
    return {"k": "fn", "params": parameters(node.args), "body": statements(node.body)}

def signature(node):
    return {"params": parameters(node.args), "body": [{"k": "return", "value": expression(node.body)}]}

def parameters(args):
    every_one = [*args.posonlyargs, *args.args, *args.kwonlyargs, *(arg for arg in (args.vararg, args.kwarg) if arg)]
    return [arg.arg for arg in every_one]

def defaults(args):
    return [default for default in [*args.defaults, *args.kw_defaults] if default is not None]

def bound(ids, nodes):
    return {"k": "set", "ids": ids, "value": every([expression(node) for node in nodes])}

def loop(ids, head, endless, node):
    return {"k": "loop", "ids": ids, "head": head, "endless": endless, "body": statements(node.body), "after": statements(node.orelse)}

def context(item):
    value = expression(item.context_expr)
    taken = [] if item.optional_vars is None else assigned(item.optional_vars, value)
    return [{"k": "use", "value": value}, *taken]

def cases(subject, rest):
    if not rest:
        return {"k": "block", "body": []}
    first = rest[0]
    taken = [node.name for node in ast.walk(first.pattern) if getattr(node, "name", None)]
    taken += [node.rest for node in ast.walk(first.pattern) if getattr(node, "rest", None)]
    test = every([subject, *([] if first.guard is None else [expression(first.guard)])])
    body = [{"k": "set", "ids": taken, "value": subject}, *statements(first.body)]
    return {"k": "if", "test": test, "yes": body, "no": [cases(subject, rest[1:])]}

def assigned(target, value):
    if not isinstance(target, ast.Name):
        value = every([value])
    return [{"k": "set", "ids": names(target), "value": value}, *updates(target, value)]

def names(target):
    match target:
        case ast.Name(id=name):
            return [name]
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return [name for part in parts for name in names(part)]
        case ast.Starred(value=inner):
            return names(inner)
    return []

def updates(target, value):
    match target:
        case ast.Attribute() | ast.Subscript():
            parts = [expression(target.slice)] if isinstance(target, ast.Subscript) else []
            return [{"k": "update", "root": root(target), "value": every([value, *parts])}]
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return [form for part in parts for form in updates(part, value)]
        case ast.Starred(value=inner):
            return updates(inner, value)
    return []

def root(node):
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None

def every(parts):
    return {"k": "all", "parts": parts}

def constant(value):
    return {"k": "const", "truthy": bool(value)}

compare = {ast.Eq: lambda a, b: a == b, ast.NotEq: lambda a, b: a != b, ast.Lt: lambda a, b: a < b,
           ast.LtE: lambda a, b: a <= b, ast.Gt: lambda a, b: a > b, ast.GtE: lambda a, b: a >= b}

def expression(node):
    match node:
        case ast.Constant(value=value):
            return constant(value)
        case ast.Name(id=name):
            return {"k": "name", "id": name}
        case ast.Call():
            args = [expression(part.value if isinstance(part, (ast.Starred, ast.keyword)) else part) for part in [*node.args, *node.keywords]]
            return {"k": "call", "callee": expression(node.func), "args": args}
        case ast.Attribute(value=value):
            return {"k": "member", "object": expression(value), "parts": []}
        case ast.Subscript(value=value, slice=part):
            return {"k": "member", "object": expression(value), "parts": [expression(part)]}
        case ast.Await(value=value):
            return expression(value)
        case ast.Lambda():
            return every([*(expression(default) for default in defaults(node.args)), {"k": "fn", **signature(node)}])
        case ast.NamedExpr(target=ast.Name(id=name), value=value):
            return {"k": "bind", "id": name, "value": expression(value)}
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            inner = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
            ids = [name for part in node.generators for name in names(part.target)]
            conditions = [condition for part in node.generators for condition in part.ifs]
            first, *later = [expression(part.iter) for part in node.generators]
            parts = [*later, *(expression(part) for part in [*conditions, *inner])]
            return every([first, {"k": "scope", "ids": ids, "parts": parts}])
        case ast.Yield() | ast.YieldFrom():
            return {"k": "yield", "value": every([]) if node.value is None else expression(node.value)}
        case ast.IfExp():
            test = expression(node.test)
            if test["k"] == "const":
                return expression(node.body if test["truthy"] else node.orelse)
            return every([test, expression(node.body), expression(node.orelse)])
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = expression(operand)
            return constant(not inner["truthy"]) if inner["k"] == "const" else every([inner])
        case ast.Compare(left=ast.Constant(value=left), ops=[operator], comparators=[ast.Constant(value=right)]) if type(operator) in compare:
            try:
                return constant(compare[type(operator)](left, right))
            except TypeError:
                return every([])
        case ast.BoolOp():
            stops = isinstance(node.op, ast.Or)
            parts = []
            for part in map(expression, node.values):
                parts.append(part)
                if part["k"] == "const" and part["truthy"] == stops:
                    break
            if all(part["k"] == "const" for part in parts):
                return parts[-1]
            return every(parts)
    return every([expression(part) for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)])
