import { type AnyNode, parse } from "acorn";
import type { FormExpression, FormStatement, SyntaxForm } from "./syntax-form.ts";

/** Parses JavaScript into its form, without running it. */
export function readJavascript(source: string): SyntaxForm {
  try {
    const program = parse(source, {
      ecmaVersion: "latest",
      sourceType: "script",
      allowReturnOutsideFunction: false,
      allowHashBang: true,
      locations: true,
    });
    return { ok: true, body: statements(program.body) };
  } catch (error) {
    const { message, loc } = error as { message?: string; loc?: { line: number; column: number } };
    return {
      ok: false,
      message: (message ?? "cannot be read").replace(/ \(\d+:\d+\)$/, ""),
      line: loc?.line ?? 0,
      column: loc === undefined ? 0 : loc.column + 1,
    };
  }
}

type Node = AnyNode;

/** Function declarations come first, because they are hoisted. */
function statements(nodes: readonly Node[]): FormStatement[] {
  const isHoisted = ({ type }: Node): boolean => type === "FunctionDeclaration";
  return [...nodes.filter(isHoisted), ...nodes.filter((node) => !isHoisted(node))].flatMap(statement);
}

function statement(node: Node): FormStatement[] {
  switch (node.type) {
    case "FunctionDeclaration":
      return functionNamed(node.id?.name ?? "", node);
    case "ClassDeclaration":
      return classNamed(node.id?.name ?? "", node);
    case "VariableDeclaration":
      return node.declarations.flatMap(({ id, init }) => {
        if (id.type === "Identifier" && init != null) return named(id.name, init);
        return assigned(id, init == null ? every([]) : expression(init));
      });
    case "ExpressionStatement":
      return effect(node.expression);
    case "BlockStatement":
    case "StaticBlock":
      return [{ k: "block", body: statements(node.body) }];
    case "LabeledStatement":
      return statement(node.body);
    case "IfStatement":
      return [
        {
          k: "if",
          test: expression(node.test),
          yes: statement(node.consequent),
          no: node.alternate == null ? [] : statement(node.alternate),
        },
      ];
    case "WhileStatement":
    case "DoWhileStatement":
      return [loop(expression(node.test), statement(node.body))];
    case "ForStatement": {
      const first = node.init == null ? [] : isDeclaration(node.init) ? statement(node.init) : effect(node.init);
      const test = node.test == null ? ({ k: "const", truthy: true } as const) : expression(node.test);
      const update = node.update == null ? [] : effect(node.update);
      return [...first, loop(test, [...statement(node.body), ...update])];
    }
    case "ForInStatement":
    case "ForOfStatement": {
      const target = isDeclaration(node.left) ? node.left.declarations[0]!.id : node.left;
      return [
        {
          k: "loop",
          ids: names(target),
          head: expression(node.right),
          endless: false,
          body: statement(node.body),
          after: [],
        },
      ];
    }
    case "SwitchStatement":
      return [switched(node)];
    case "TryStatement":
      return [
        {
          k: "try",
          body: statements(node.block.body),
          handlers:
            node.handler == null
              ? []
              : [
                  [
                    { k: "set", ids: names(node.handler.param), value: every([]) },
                    ...statements(node.handler.body.body),
                  ],
                ],
          final: node.finalizer == null ? [] : statements(node.finalizer.body),
        },
      ];
    case "ReturnStatement":
      return [{ k: "return", value: node.argument == null ? null : expression(node.argument) }];
    case "ThrowStatement":
      return [{ k: "raise", value: expression(node.argument) }];
    case "BreakStatement":
      return [{ k: "break" }];
    case "ContinueStatement":
      return [{ k: "continue" }];
    default:
      return [];
  }
}

/** Returns a loop. Does not treat the first iteration of `do` differently. */
function loop(test: FormExpression, body: FormStatement[]): FormStatement {
  return { k: "loop", ids: [], head: test, endless: test.k === "const" && test.truthy, body, after: [] };
}

/** Returns a switch as nested conditions. Each case may be entered or not. Ignores fallthrough. */
function switched(node: Extract<Node, { type: "SwitchStatement" }>): FormStatement {
  const test = every([node.discriminant, ...node.cases.flatMap(({ test }) => test ?? [])].map(expression));
  const bodies = node.cases.map(({ consequent }) =>
    statements(consequent.filter(({ type }) => type !== "BreakStatement")),
  );
  return bodies.reduceRight<FormStatement>((rest, body) => ({ k: "if", test, yes: body, no: [rest] }), {
    k: "block",
    body: [],
  });
}

/** Returns the statements of an expression whose value is discarded. Assignments in it become statements. */
function effect(node: Node): FormStatement[] {
  switch (node.type) {
    case "AssignmentExpression": {
      if (node.operator === "=" && node.left.type === "Identifier") return named(node.left.name, node.right);
      const value =
        node.operator === "=" ? expression(node.right) : every([expression(node.left), expression(node.right)]);
      return assigned(node.left, value);
    }
    case "UpdateExpression":
      return assigned(node.argument, expression(node.argument));
    case "SequenceExpression":
      return node.expressions.flatMap(effect);
    case "ConditionalExpression":
      return [{ k: "if", test: expression(node.test), yes: effect(node.consequent), no: effect(node.alternate) }];
    case "LogicalExpression":
      return [{ k: "if", test: expression(node.left), yes: effect(node.right), no: [] }];
    case "AwaitExpression":
      return effect(node.argument);
    case "UnaryExpression":
      if (node.operator !== "delete") return effect(node.argument);
      return [{ k: "update", root: rootOf(node.argument), value: every([]) }];
    default:
      return [{ k: "drop", value: expression(node) }];
  }
}

/** Binds a name to a value. A function or class becomes one with that name. */
function named(id: string, value: Node): FormStatement[] {
  if (isFunction(value)) return functionNamed(id, value);
  if (value.type === "ClassExpression") return classNamed(id, value);
  return [{ k: "set", ids: [id], value: expression(value) }];
}

type FunctionNode = Extract<Node, { type: "FunctionDeclaration" | "FunctionExpression" | "ArrowFunctionExpression" }>;

function isFunction(node: Node): node is FunctionNode {
  return node.type === "FunctionExpression" || node.type === "ArrowFunctionExpression";
}

function isDeclaration(node: Node): node is Extract<Node, { type: "VariableDeclaration" }> {
  return node.type === "VariableDeclaration";
}

function functionNamed(id: string, node: FunctionNode): FormStatement[] {
  return [{ k: "def", id, ...functionForm(node) }];
}

/** Returns a function. Defaults of parameters are bound at the start of the body. */
function functionForm(node: FunctionNode): { params: string[]; body: FormStatement[] } {
  const params = node.params.flatMap(names);
  const defaults = node.params.flatMap((param): FormStatement[] =>
    param.type === "AssignmentPattern"
      ? [{ k: "if", test: every([]), yes: assigned(param.left, expression(param.right)), no: [] }]
      : [],
  );
  const { body } = node;
  const own: FormStatement[] =
    body.type === "BlockStatement" ? statements(body.body) : [{ k: "return", value: expression(body) }];
  return { params, body: [...defaults, ...own] };
}

/** Returns a class as a function that uses all methods. */
function classNamed(
  id: string,
  node: Extract<Node, { type: "ClassDeclaration" | "ClassExpression" }>,
): FormStatement[] {
  const body = node.body.body.flatMap((member): FormStatement[] => {
    if (member.type === "StaticBlock") return statements(member.body);
    return member.value == null ? [] : [{ k: "use", value: expression(member.value) }];
  });
  const parent = node.superClass == null ? [] : [expression(node.superClass)];
  return [
    { k: "set", ids: [id], value: every(parent) },
    { k: "def", id, params: [], body },
  ];
}

function assigned(target: Node, value: FormExpression): FormStatement[] {
  const ids = names(target);
  const bound = target.type === "Identifier" ? value : every([value]);
  const updates = targetsOf(target).flatMap((part): FormStatement[] => {
    if (part.type !== "MemberExpression") return [];
    const parts = part.computed ? [expression(part.property)] : [];
    return [{ k: "update", root: rootOf(part), value: every([value, ...parts]) }];
  });
  return [...(ids.length === 0 && updates.length > 0 ? [] : [{ k: "set", ids, value: bound } as const]), ...updates];
}

/** Returns the names that a pattern binds. */
function names(target: Node | null | undefined): string[] {
  return targetsOf(target).flatMap((part) => (part.type === "Identifier" ? [part.name] : []));
}

/** Returns the names and the parts of objects that a pattern assigns. */
function targetsOf(target: Node | null | undefined): Extract<Node, { type: "Identifier" | "MemberExpression" }>[] {
  switch (target?.type) {
    case "Identifier":
    case "MemberExpression":
      return [target];
    case "ObjectPattern":
      return target.properties.flatMap((part) => targetsOf(part.type === "Property" ? part.value : part));
    case "ArrayPattern":
      return target.elements.flatMap(targetsOf);
    case "AssignmentPattern":
      return targetsOf(target.left);
    case "RestElement":
      return targetsOf(target.argument);
    default:
      return [];
  }
}

function rootOf(node: Node): string | null {
  if (node.type === "MemberExpression") return rootOf(node.object);
  return node.type === "Identifier" ? node.name : null;
}

function every(parts: readonly FormExpression[]): FormExpression {
  return { k: "all", parts };
}

function expression(node: Node): FormExpression {
  switch (node.type) {
    case "Literal":
      return { k: "const", truthy: Boolean(node.value ?? node.regex ?? node.bigint) };
    case "Identifier":
      return node.name === "undefined" ? { k: "const", truthy: false } : { k: "name", id: node.name };
    case "CallExpression":
    case "NewExpression":
      return { k: "call", callee: expression(node.callee), args: node.arguments.map(expression) };
    case "MemberExpression":
      return {
        k: "member",
        object: expression(node.object),
        parts: node.computed ? [expression(node.property)] : [],
      };
    case "ChainExpression":
    case "ParenthesizedExpression":
      return expression(node.expression);
    case "SpreadElement":
    case "AwaitExpression":
      return expression(node.argument);
    case "FunctionExpression":
    case "ArrowFunctionExpression":
      return { k: "fn", ...functionForm(node) };
    case "ClassExpression": {
      const form = classNamed(node.id?.name ?? "", node);
      return { k: "fn", params: [], body: form.flatMap((part) => (part.k === "def" ? part.body : [part])) };
    }
    case "AssignmentExpression": {
      const value =
        node.operator === "=" ? expression(node.right) : every([expression(node.left), expression(node.right)]);
      if (node.left.type === "Identifier") return { k: "bind", id: node.left.name, value };
      // The target of an assignment inside an expression counts as needed.
      return { k: "yield", value };
    }
    case "UpdateExpression":
      if (node.argument.type !== "Identifier") return { k: "yield", value: expression(node.argument) };
      return { k: "bind", id: node.argument.name, value: expression(node.argument) };
    case "YieldExpression":
      return { k: "yield", value: node.argument == null ? every([]) : expression(node.argument) };
    case "UnaryExpression": {
      if (node.operator === "typeof" || node.operator === "void") return every([]);
      const inner = expression(node.argument);
      if (inner.k !== "const") return every([inner]);
      return { k: "const", truthy: node.operator === "!" ? !inner.truthy : inner.truthy };
    }
    case "LogicalExpression": {
      const left = expression(node.left);
      if (left.k !== "const" || node.operator === "??") return every([left, expression(node.right)]);
      return left.truthy === (node.operator === "&&") ? expression(node.right) : left;
    }
    case "ConditionalExpression": {
      const test = expression(node.test);
      if (test.k === "const") return expression(test.truthy ? node.consequent : node.alternate);
      return every([test, expression(node.consequent), expression(node.alternate)]);
    }
    case "BinaryExpression":
      return folded(node) ?? every([expression(node.left), expression(node.right)]);
    case "SequenceExpression":
      return every(node.expressions.map(expression));
    case "ArrayExpression":
      return every(node.elements.flatMap((part) => (part === null ? [] : [expression(part)])));
    case "ObjectExpression":
      return every(
        node.properties.flatMap((part) =>
          part.type === "Property"
            ? [...(part.computed ? [expression(part.key)] : []), expression(part.value)]
            : [expression(part.argument)],
        ),
      );
    case "TemplateLiteral":
      return every(node.expressions.map(expression));
    case "TaggedTemplateExpression":
      return { k: "call", callee: expression(node.tag), args: node.quasi.expressions.map(expression) };
    default:
      return every([]);
  }
}

/** Evaluates a comparison of two number or string literals. */
function folded(node: Extract<Node, { type: "BinaryExpression" }>): FormExpression | undefined {
  const { left, right, operator } = node;
  if (left.type !== "Literal" || right.type !== "Literal") return undefined;
  const [a, b] = [left.value, right.value];
  if (!(typeof a === "number" && typeof b === "number") && !(typeof a === "string" && typeof b === "string")) {
    return undefined;
  }
  const truths: Readonly<Record<string, boolean>> = {
    "===": a === b,
    "==": a === b,
    "!==": a !== b,
    "!=": a !== b,
    "<": a < b,
    "<=": a <= b,
    ">": a > b,
    ">=": a >= b,
  };
  const truthy = truths[operator];
  return truthy === undefined ? undefined : { k: "const", truthy };
}
