"""Mutants of HumanEval's own solutions, by Python's own syntax tree.

Request: {"problems": rows of HumanEval, "count": mutants of each, "seed"}. Response: a list of {"task_id", "change",
"completion"}; the first of each problem is the solution itself, parsed and printed again, with the change "none".
"""

import ast
import copy
import random

from contract import answer

COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
OPERATORS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.FloorDiv, ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitOr,
}  # fmt: skip
RETURNS = [
    "None", "not ({0})", "[{0}]", "({0},)", "str({0})", "float({0})", "int({0})", "bool({0})", "list({0})",
    "tuple({0})", "set({0})", "-({0})", "({0}) or None", "iter({0})", "complex({0})", "sorted({0})", "({0}) + ({0})",
]  # fmt: skip


def expression(template, value):
    return ast.parse(template.format(ast.unparse(value)), mode="eval").body


def changes_of(node):
    """Every mutation of one node, as (name, replacement)."""
    if isinstance(node, ast.Compare):
        for i, operator in enumerate(node.ops):
            changed = copy.deepcopy(node)
            changed.ops[i] = COMPARISONS[type(operator)]()
            yield "comparison", changed
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield "constant", ast.Constant(not node.value)
        elif isinstance(node.value, (int, float)):
            yield "constant", ast.Constant(node.value + 1)
            yield "constant", ast.Constant(node.value - 1)
        elif isinstance(node.value, str):
            yield "constant", ast.Constant(node.value + "x" if node.value == "" else node.value[1:])
    elif isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in OPERATORS:
        changed = copy.deepcopy(node)
        changed.op = OPERATORS[type(node.op)]()
        yield "operator", changed
    elif isinstance(node, ast.BoolOp):
        changed = copy.deepcopy(node)
        changed.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "operator", changed
    elif isinstance(node, ast.UnaryOp):
        yield "operator", node.operand
    elif isinstance(node, ast.Call):
        if len(node.args) > 1:
            changed = copy.deepcopy(node)
            changed.args.reverse()
            yield "arguments swapped", changed
        if len(node.args) == 1 and not node.keywords and not isinstance(node.args[0], ast.GeneratorExp):
            yield "call removed", node.args[0]
    elif isinstance(node, (ast.If, ast.While, ast.IfExp)):
        changed = copy.deepcopy(node)
        changed.test = ast.UnaryOp(ast.Not(), changed.test)
        yield "condition", changed
    elif isinstance(node, ast.Return) and node.value is not None:
        for template in RETURNS:
            yield "return", ast.Return(expression(template, node.value))
    elif isinstance(node, ast.Break):
        yield "jump", ast.Continue()
    elif isinstance(node, ast.Continue):
        yield "jump", ast.Break()
    if isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr, ast.If, ast.For, ast.While, ast.Return)):
        yield "statement removed", ast.Pass()
        yield "statement raises", ast.parse("raise ValueError('x')").body[0]


class Replacement(ast.NodeTransformer):
    def __init__(self, old, new):
        self.old, self.new = old, new

    def visit(self, node):
        return self.new if node is self.old else self.generic_visit(node)


def completed(statements, later):
    body = "\n".join("    " + line for node in statements for line in ast.unparse(node).split("\n"))
    return body + "\n" + "".join(ast.unparse(node) + "\n" for node in later)


def parse(problem):
    """The statements of a solution that complete its prompt: those of the function asked for, and later ones."""
    module = ast.parse(problem["prompt"] + problem["canonical_solution"])
    place = max(i for i, node in enumerate(module.body) if getattr(node, "name", "") == problem["entry_point"])
    return module.body[place].body[1:], module.body[place + 1 :]


def mutants_of(problem, count, seed):
    statements, later = parse(problem)
    original = completed(statements, later)
    found = {original: "none"}
    by_kind = {}
    for top in [*statements, *later]:
        for node in ast.walk(top):
            for kind, changed in changes_of(node):
                by_kind.setdefault(kind, []).append((node, changed))
    random_of = random.Random(f"{seed} {problem['task_id']}")
    for _ in range(20 * count):
        if len(found) > count or not by_kind:
            break
        # The kind is chosen first, because there are more mutations of a return than of a comparison.
        kind = random_of.choice(sorted(by_kind))
        old, new = by_kind[kind].pop(random_of.randrange(len(by_kind[kind])))
        if not by_kind[kind]:
            del by_kind[kind]
        change = Replacement(old, new)
        mutated = [[change.visit(node) for node in part] for part in (statements, later)]
        text = completed(*mutated)
        # Nodes are changed in place, so the original node is restored.
        back = Replacement(new, old)
        statements, later = ([back.visit(node) for node in part] for part in mutated)
        was, now = (ast.unparse(ast.fix_missing_locations(node)).split("\n")[0] for node in (old, new))
        found.setdefault(text, f"{kind}: {was} -> {now}")
    return [
        {"task_id": problem["task_id"], "change": change, "completion": completion}
        for completion, change in found.items()
    ]


def handle(request):
    return [
        mutant
        for problem in request["problems"]
        for mutant in mutants_of(problem, request["count"], request["seed"])
    ]


answer(handle)
