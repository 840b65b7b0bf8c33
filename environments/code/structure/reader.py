# Parses source code without running it. `read` returns its CodeTree (code-tree.ts) as JSON.
import ast
import json
import warnings

warnings.simplefilter("ignore")

def read(source):
    try:
        parsed = ast.parse(source)
        # Code that parses may still not compile, such as a return outside of a function.
        compile(source, "source", "exec")
        return json.dumps({"body": tree(parsed.body)})
    except SyntaxError as error:
        places = {"line": error.lineno, "column": error.lineno and error.offset}
        return json.dumps({"problem": str(error.msg) + "".join(f", {name} {at}" for name, at in places.items() if at)})
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        return json.dumps({"problem": f"{type(error).__name__}: {error}"})

def tree(part):
    match part:
        case ast.AST():
            fields = {name: tree(value) for name, value in ast.iter_fields(part) if name not in skipped and value is not None}
            # An exception handler has a field of the same name.
            return {**fields, "type": type(part).__name__}
        case list():
            return [tree(item) for item in part]
        case str() | bool():
            return part
        case int() | float() if abs(part) < 2**53:
            return part
    # Other values have no JSON. Only their truth matters.
    return bool(part)

skipped = {"ctx", "annotation", "returns", "type_params"}
