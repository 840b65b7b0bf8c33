import type { CodeNode } from "./code-tree.ts";

/** Returns the nodes of a field: its node, those of its list, or none. */
export function nodesOf(field: unknown): readonly CodeNode[] {
  return [field].flat().filter((one): one is CodeNode => typeof (one as CodeNode | null)?.type === "string");
}

/** Returns the direct parts of a node, without names that are no variables: properties, keys, labels and own names. */
export function partsOf(node: CodeNode): readonly CodeNode[] {
  const names = isFunction(node) || isClass(node) ? /^id$/ : node.computed === false ? /^(property|key)$/ : /^label$/;
  return Object.entries(node).flatMap(([name, field]) => (names.test(name) ? [] : nodesOf(field)));
}

/** Yields a node and its parts, with those of nested functions and classes only if `nested`. */
export function* walk(node: CodeNode, options: { readonly nested: boolean }): Generator<CodeNode> {
  yield node;
  for (const part of partsOf(node)) {
    if (!options.nested && (isFunction(part) || isClass(part))) yield part;
    else yield* walk(part, options);
  }
}

export function isFunction({ type }: CodeNode): boolean {
  return /^(Async)?FunctionDef$|^Lambda$|Function(Declaration|Expression)$/.test(type);
}

function isClass({ type }: CodeNode): boolean {
  return /^Class(Def|Declaration|Expression)$/.test(type);
}

/** An attribute or an item of an object. */
const member = /^(Attribute|Subscript|MemberExpression)$/;

/** Returns the name of a variable. */
export function nameOf(node: CodeNode | undefined): string | undefined {
  if (node?.type === "Name") return node.id as string;
  return node?.type === "Identifier" ? (node.name as string) : undefined;
}

/** Returns the name at the start of a callee or target, such as `xs` of `xs.append`. */
export function rootOf(node: CodeNode | undefined): CodeNode | undefined {
  return node !== undefined && member.test(node.type) ? rootOf(nodesOf(node.value ?? node.object)[0]) : node;
}

/** Returns the function of a call. Undefined for other nodes. */
export function calleeOf(node: CodeNode): CodeNode | undefined {
  const isCall = /^(Call|CallExpression|NewExpression|TaggedTemplateExpression)$/.test(node.type);
  return isCall ? nodesOf(node.func ?? node.callee ?? node.tag)[0] : undefined;
}

/** Returns the expression that is the body of a function. */
export function returnedBy({ body }: CodeNode): CodeNode | undefined {
  return nodesOf(Array.isArray(body) ? [] : body).find(({ type }) => type !== "BlockStatement");
}

/** The fields with the variables and parts of objects that a node assigns. */
const targetFields =
  /^(Assign targets|\w+ target|withitem optional_vars|For(In|Of)Statement left|AssignmentExpression left|VariableDeclarator id|UpdateExpression argument|CatchClause param|\w*Function(Declaration|Expression) params)$/;

/** Returns the variables and the parts of objects that a node assigns. A JavaScript function assigns its parameters. */
export function targetsOf(node: CodeNode): readonly CodeNode[] {
  const fields = Object.entries(node).filter(([name]) => targetFields.test(`${node.type} ${name}`));
  return fields.flatMap(([, field]) => nodesOf(field)).flatMap(targetsIn);
}

function targetsIn(pattern: CodeNode): readonly CodeNode[] {
  if (nameOf(pattern) !== undefined || member.test(pattern.type)) return [pattern];
  if (pattern.type === "VariableDeclaration") return nodesOf(pattern.declarations).flatMap(targetsOf);
  return (pattern.type === "AssignmentPattern" ? nodesOf(pattern.left) : partsOf(pattern)).flatMap(targetsIn);
}

/** Returns all names that a node itself binds, without the parameters of a function. */
export function boundBy(node: CodeNode): readonly string[] {
  const names = [...(isFunction(node) ? [] : targetsOf(node).map(nameOf)), definitionOf(node)?.name];
  if (node.type === "arg") names.push(node.arg as string);
  if (node.type === "alias") names.push(String(node.asname ?? node.name).split(".")[0]);
  if (/^(ExceptHandler|Match\w+)$/.test(node.type)) names.push(...([node.name, node.rest] as string[]));
  return names.filter((name) => name !== undefined);
}

/** A single name bound to a value. */
type Binding = { readonly name: string; readonly value: CodeNode };

/** Returns the binding that a statement or expression is. Undefined for patterns, updates and other nodes. */
export function bindingOf(node: CodeNode | undefined): Binding | undefined {
  if (node === undefined) return undefined;
  const inner = nodesOf(node.type === "VariableDeclaration" ? node.declarations : node.expression);
  if (inner.length > 0) return inner.length === 1 ? bindingOf(inner[0]!) : undefined;
  const isPlain = /^(Assign|AnnAssign|NamedExpr|VariableDeclarator)$/.test(node.type) || node.operator === "=";
  const [target, ...others] = isPlain ? targetsOf(node) : [];
  const [name, [value]] = [nameOf(target), nodesOf(node.value ?? node.init ?? node.right)];
  return name === undefined || value === undefined || others.length > 0 ? undefined : { name, value };
}

/** Returns the named function or class that a statement defines. */
export function definitionOf(node: CodeNode): Binding | undefined {
  if (/^((Async)?Function|Class)(Def|Declaration)$/.test(node.type)) {
    return { name: String(node.name ?? nameOf(nodesOf(node.id)[0])), value: node };
  }
  const bound = bindingOf(node);
  return bound && (isFunction(bound.value) || isClass(bound.value)) ? bound : undefined;
}
