import type { CodeNode } from "./code-tree.ts";
import { liveParts } from "./live-code.ts";
import {
  bindingOf,
  boundBy,
  definitionOf,
  isClass,
  isFunction,
  isMember,
  nameOf,
  nodesOf,
  partsOf,
  returnedBy,
  rootOf,
  targetsOf,
  walk,
} from "./node-parts.ts";

/** How main uses its helper. */
export interface HelperUsage {
  /** True if code that may run calls the helper. */
  readonly called: boolean;
  /** True if the helper's return value reaches the entry's result or has an effect. */
  readonly used: boolean;
  /** True if the entry only returns the helper's result. */
  readonly wrapper: boolean;
}

/** Pure functions. A call has no effect if its value is discarded. */
const pure = new Set(
  "print len str repr int float bool abs min max sum sorted list tuple dict set frozenset type id hash callable isinstance round range enumerate zip map filter reversed any all console Math JSON String Number Boolean Object Array".split(
    " ",
  ),
);

/** Functions that inspect a function argument without calling it. */
const inspectors = new Set("print str repr bool type id hash callable isinstance console String Boolean".split(" "));

/**
 * Finds how a function of a module (`entry`) uses a helper that is defined elsewhere (`helper`). A call counts if it may
 * run and the helper's name is not rebound. Its result is ignored if the call stands alone, or if it is assigned to a
 * name that is never used or that is assigned again before use. The code does not run. What only running would show
 * counts as used.
 */
export function helperUsage(body: readonly CodeNode[], entry: string, helper: string): HelperUsage {
  return new ValueFlow({ type: "Module", body }, entry, helper).usage();
}

/** Follows values from where they arise to where they end. */
class ValueFlow {
  /** The parents of the nodes that may run. */
  readonly #parents = new Map<CodeNode, CodeNode | undefined>();
  /** The functions and classes by name, with their parents, of names that no code has read so far. */
  readonly #unread = new Map<string, (readonly [CodeNode, CodeNode])[]>();
  readonly #reads = new Map<string, CodeNode[]>();
  readonly #assigned = new Set<CodeNode>();
  /** The values of each name of a function, comprehension or module. Undefined values are not known. */
  readonly #scopes = new Map<CodeNode, ReadonlyMap<string, readonly (CodeNode | undefined)[]>>();
  /** The nodes whose values the current question follows, and those among them that it has yet to follow. */
  #seen = new Set<object>();
  #waiting: CodeNode[] = [];
  /** The names that are only ever bound to the helper. */
  readonly #aliases: ReadonlySet<string>;
  readonly #binders = new Map<CodeNode, CodeNode | undefined>();
  readonly #overwritten = new Map<CodeNode, boolean>();
  readonly #module: CodeNode;
  readonly #entry: string;
  readonly #helper: string;

  constructor(module: CodeNode, entry: string, helper: string) {
    [this.#module, this.#entry, this.#helper] = [module, entry, helper];
    const values = this.#valuesOf([...walk(module, { nested: true })]);
    const isHelper = (value: CodeNode | undefined): boolean => nameOf(value) === helper;
    this.#aliases = new Set([...values].filter(([, all]) => all.every(isHelper)).map(([name]) => name));
    this.#reads.set(entry, []);
    this.#visit(module, undefined);
  }

  usage(): HelperUsage {
    const isReplaced = walk(this.#module, { nested: true }).some(
      ({ type, names }) => type === "Global" && (names as string[]).includes(this.#helper),
    );
    const none = { called: false, used: false, wrapper: false };
    if (isReplaced || this.#scope(this.#module).has(this.#helper)) return none;
    const calls = [...this.#parents.keys()].filter((node) => isCall(node) && this.#callsHelper(node));
    const used = this.#ask(() => calls.some((call) => this.#ends(call)));
    return { called: calls.length > 0, used, wrapper: used && this.#isWrapper() };
  }

  #visit(node: CodeNode, parent: CodeNode | undefined): void {
    if (this.#assigned.has(node) || this.#parents.has(node)) return;
    const defined = parent !== undefined && !isClass(parent) ? definitionOf(node) : undefined;
    if (defined !== undefined && !this.#reads.has(defined.name)) {
      this.#unread.set(defined.name, [...(this.#unread.get(defined.name) ?? []), [node, parent!]]);
      return;
    }
    this.#parents.set(node, parent);
    for (const target of targetsOf(node)) if (!isMember(target)) this.#assigned.add(target);
    const name = nameOf(node);
    if (name !== undefined) {
      this.#reads
        .set(name, this.#reads.get(name) ?? [])
        .get(name)!
        .push(node);
      for (const [unread, above] of this.#unread.get(name) ?? []) this.#visit(unread, above);
    }
    for (const part of liveParts(node)) this.#visit(part, node);
  }

  #scope(node: CodeNode): ReadonlyMap<string, readonly (CodeNode | undefined)[]> {
    const known = this.#scopes.get(node);
    if (known !== undefined) return known;
    const [own, ...all] = walk(node, { nested: false });
    const inner = all.filter(({ type }) => type !== "comprehension" || !isBlockScope(node));
    const values = this.#valuesOf(inner);
    for (const name of isFunction(own!) ? targetsOf(own!).map(nameOf) : []) values.set(name!, [undefined]);
    for (const { type, names } of inner) {
      if (type === "Global" || type === "Nonlocal") for (const name of names as string[]) values.delete(name);
    }
    this.#scopes.set(node, values);
    return values;
  }

  #valuesOf(nodes: readonly CodeNode[]): Map<string, (CodeNode | undefined)[]> {
    const values = new Map<string, (CodeNode | undefined)[]>();
    for (const node of nodes) {
      // A statement around an assignment binds nothing itself.
      const value = targetsOf(node).length === 0 ? undefined : bindingOf(node)?.value;
      if (isFunction(node) && definitionOf(node) === undefined) continue;
      for (const name of boundBy(node))
        values
          .set(name, values.get(name) ?? [])
          .get(name)!
          .push(value);
    }
    return values;
  }

  /** Returns the function, comprehension or module that binds a name where it is read. */
  #binder(read: CodeNode): CodeNode | undefined {
    if (this.#binders.has(read)) return this.#binders.get(read);
    const name = nameOf(read)!;
    // A comprehension's first values are outside of it.
    let outside: CodeNode | undefined;
    const binder = this.#above(read, (node, below) => {
      const above = node.type === "comprehension" && node.iter === below ? this.#parents.get(node) : undefined;
      if (above !== undefined && nodesOf(above.generators)[0] === node) outside = above;
      return node !== outside && isScope(node) && this.#scope(node).has(name);
    });
    this.#binders.set(read, binder);
    return binder;
  }

  #above(node: CodeNode, matches: (node: CodeNode, below: CodeNode) => boolean): CodeNode | undefined {
    let below = node;
    let at = this.#parents.get(node);
    while (at !== undefined && !matches(at, below)) [below, at] = [at, this.#parents.get(at)];
    return at;
  }

  #isHelper(node: CodeNode | undefined): boolean {
    const name = nameOf(node);
    return (
      name !== undefined && (this.#aliases.has(name) || (name === this.#helper && this.#binder(node!) === undefined))
    );
  }

  /** True if a call calls the helper, or gets it as an argument and may call it. */
  #callsHelper(call: CodeNode): boolean {
    const callee = calleeOf(call)!;
    if (this.#isHelper(callee)) return true;
    if (inspectors.has(nameOf(rootOf(callee)) ?? "")) return false;
    const given = nodesOf([call.args, call.keywords, call.arguments].flat());
    return given.some((arg) => this.#isHelper(/^(keyword|Starred)$/.test(arg.type) ? (arg.value as CodeNode) : arg));
  }

  /** Answers a question by following values. The methods below answer true, or add values to follow. */
  #ask(question: () => boolean): boolean {
    [this.#seen, this.#waiting] = [new Set(), []];
    if (question()) return true;
    for (let node = this.#waiting.pop(); node !== undefined; node = this.#waiting.pop()) {
      if (this.#follow(node)) return true;
    }
    return false;
  }

  #ends(node: CodeNode): boolean {
    if (!this.#seen.has(node)) this.#waiting.push(node);
    this.#seen.add(node);
    return false;
  }

  /** True if a value reaches the entry's result or an effect. */
  #follow(node: CodeNode): boolean {
    const parent = this.#parents.get(node);
    if (parent === undefined) return false;
    if (isCall(parent)) return this.#ends(parent) || (node !== calleeOf(parent) && this.#receives(parent));
    if (isFunction(parent)) return node !== parent.body || this.#resultEnds(parent);
    if (/^(void|typeof|delete)$/.test(String(parent.operator))) return false;
    switch (parent.type) {
      case "Return":
      case "ReturnStatement":
        return this.#resultEnds(this.#above(parent, isFunction));
      case "Expr":
      case "ExpressionStatement":
      case "Delete":
        return false;
      case "arguments":
        return true;
    }
    if (isEffect.test(parent.type)) return true;
    if (isControl.test(parent.type)) {
      if (this.#seen.has(parent)) return false;
      this.#seen.add(parent);
      return this.#assigns(parent) || partsOf(parent).some((part) => part !== node && this.#hasEffect(part));
    }
    if (targetsOf(parent).length === 0 || parent.type === "comprehension") return this.#ends(parent);
    return this.#assigns(parent) || (isAssignedValue.test(parent.type) && this.#ends(parent));
  }

  /** True if the result of a function ends at the entry's result or an effect. */
  #resultEnds(fn: CodeNode | undefined): boolean {
    const above = fn && this.#parents.get(fn);
    if (fn === undefined || above === undefined) return false;
    const name = (definitionOf(fn) ?? definitionOf(above))?.name;
    if (name === this.#entry || isClass(above)) return true;
    if (name === undefined) return this.#ends(fn);
    const isCalled = (read: CodeNode, by: CodeNode | undefined): boolean => by !== undefined && calleeOf(by) === read;
    return (this.#reads.get(name) ?? []).some((read) => {
      const by = this.#parents.get(read);
      return isCalled(read, by) ? this.#ends(by!) : !this.#seen.has(read);
    });
  }

  /** True if a called function does something with its arguments. */
  #receives(call: CodeNode): boolean {
    const callee = calleeOf(call);
    const root = rootOf(callee);
    if (this.#isHelper(callee)) return false;
    if (nameOf(root) === undefined) return !isFunction(root!);
    if (this.#binder(root!) === undefined) return !pure.has(nameOf(root)!);
    return !isMember(callee!) || this.#changes(root!);
  }

  /** True if a change of an object matters: others may refer to it, or a read of it ends somewhere. */
  #changes(root: CodeNode): boolean {
    const values = this.#scope(this.#binder(root) ?? this.#module).get(nameOf(root)!);
    const isOwn = values?.every((value) => value !== undefined && nameOf(value) === undefined && !isMember(value));
    return isOwn !== true || this.#isUsed(root);
  }

  /** True if a node assigns a value that ends somewhere. */
  #assigns(node: CodeNode): boolean {
    return targetsOf(node).some((target) => {
      const root = rootOf(target)!;
      if (nameOf(root) === undefined) return true;
      if (!this.#parents.has(root)) this.#parents.set(root, node);
      return isMember(target) ? this.#changes(root) : !this.#isOverwritten(node, nameOf(target)!) && this.#isUsed(root);
    });
  }

  /** True if a read of a variable ends somewhere. Variables that the code does not bind outlive it. */
  #isUsed(variable: CodeNode): boolean {
    const binder = this.#binder(variable);
    const values = binder && this.#scope(binder).get(nameOf(variable)!);
    if (values === undefined) return true;
    if (this.#seen.has(values)) return false;
    this.#seen.add(values);
    const reads = this.#reads.get(nameOf(variable)!) ?? [];
    return reads.some((read) => this.#binder(read) === binder && this.#ends(read));
  }

  /** True if an assigned name is assigned again before use, and no error or nested function can read it before. */
  #isOverwritten(node: CodeNode, name: string): boolean {
    const known = this.#overwritten.get(node);
    if (known !== undefined || bindingOf(node) === undefined) return known ?? false;
    const statement = /Statement|Assign$|Declaration$/.test(node.type) ? node : this.#parents.get(node)!;
    const lists = Object.values(this.#parents.get(statement) ?? {}).filter(Array.isArray);
    const after: readonly CodeNode[] = lists.find((list) => list.includes(statement)) ?? [];
    const own = this.#above(node, isFunction);
    const guard = this.#above(node, (above) => above === own || above.type.startsWith("Try"));
    const isOverwritten =
      guard === own &&
      isAssignedFirst(after.slice(after.indexOf(statement) + 1), name) &&
      !this.#reads.get(name)?.some((read) => this.#above(read, isFunction) !== own);
    this.#overwritten.set(node, isOverwritten);
    return isOverwritten;
  }

  #hasEffect(node: CodeNode): boolean {
    return walk(node, { nested: false }).some((part) => {
      if (!this.#parents.has(part)) return false;
      if (isEffect.test(part.type) || isJump.test(part.type)) return true;
      return isCall(part) ? this.#receives(part) : !isFunction(part) && this.#assigns(part);
    });
  }

  /** True if the entry, or a function that it only wraps, returns a call of the helper and does nothing else. */
  #isWrapper(): boolean {
    const functions = [...this.#parents.keys()].flatMap((node) => definitionOf(node) ?? []);
    const wrappers = new Set([this.#helper, ...this.#aliases]);
    for (let size = 0; size !== wrappers.size; ) {
      size = wrappers.size;
      for (const { name, value } of functions) if (this.#handsOn(value, wrappers)) wrappers.add(name);
    }
    return wrappers.has(this.#entry);
  }

  #handsOn(fn: CodeNode, wrappers: ReadonlySet<string>): boolean {
    const results = new Set<string | undefined>();
    const isResult = (value: CodeNode | undefined): boolean => {
      if (value === undefined) return false;
      if (value.type.startsWith("Await")) return isResult(nodesOf(value.value ?? value.argument)[0]);
      const [, ...parts] = walk(value, { nested: true });
      const isPlain = !parts.some((part) => isCall(part) || isScope(part));
      return results.has(nameOf(value)) || (wrappers.has(nameOf(calleeOf(value)) ?? "") && isPlain);
    };
    const isPassed = (value: CodeNode, names: readonly (string | undefined)[]): boolean => {
      const passes = !names.includes(undefined) && (isResult(value) || wrappers.has(nameOf(value) ?? ""));
      if (passes) for (const name of names) results.add(name);
      return passes;
    };
    const block = (nodes: readonly CodeNode[]): boolean =>
      nodes.every((node) => {
        const bound = bindingOf(node);
        const isChain = node.type === "Assign" && isPassed(node.value as CodeNode, nodesOf(node.targets).map(nameOf));
        if (isChain || (bound && isPassed(bound.value, [bound.name])) || definitionOf(node) !== undefined) return true;
        if (!this.#parents.has(node)) return true;
        if (isJump.test(node.type)) return isResult(nodesOf(node.value ?? node.argument)[0]);
        const isBlock = /^(If|IfStatement|BlockStatement)$/.test(node.type);
        if (isBlock && block(nodesOf([node.body, node.orelse, node.consequent, node.alternate].flat()))) return true;
        return !this.#ask(() => this.#hasEffect(node));
      });
    const hasReturn = walk(fn, { nested: false }).some(({ type }) => type.startsWith("Return"));
    return isResult(returnedBy(fn)) || (hasReturn && block(nodesOf(fn.body)));
  }
}

const isEffect = /^(Raise|Assert|Throw|Yield|With|withitem|Class)/;
const isJump = /^(Return|Break|Continue)/;
const isControl = /^(If|While|DoWhile|For|ForIn|ForOf|AsyncFor|Match|Switch)(Statement)?$/;
const isAssignedValue = /^(NamedExpr|AssignmentExpression|UpdateExpression)$/;

function isBlockScope(node: CodeNode): boolean {
  return isFunction(node) || node.type === "Module";
}

function isScope(node: CodeNode): boolean {
  return isBlockScope(node) || /Comp$|^GeneratorExp$/.test(node.type);
}

function isCall({ type }: CodeNode): boolean {
  return /^(Call|CallExpression|NewExpression|TaggedTemplateExpression)$/.test(type);
}

function calleeOf(call: CodeNode): CodeNode | undefined {
  return isCall(call) ? nodesOf(call.func ?? call.callee ?? call.tag)[0] : undefined;
}

/** True if the statements assign a name on every path before they read it. */
function isAssignedFirst(statements: readonly CodeNode[], name: string): boolean {
  for (const node of statements) {
    const bound = bindingOf(node);
    const mentions = (part: CodeNode): boolean =>
      walk(part, { nested: true }).some((one) => nameOf(one) === name || /^(Break|Continue)/.test(one.type));
    if (bound?.name === name) return !mentions(bound.value);
    const branches = [nodesOf(node.body ?? node.consequent), nodesOf(node.orelse ?? node.alternate)];
    const isBranch = /^If(Statement)?$/.test(node.type) && !mentions(node.test as CodeNode);
    if (isBranch && branches.every((branch) => isAssignedFirst(branch.flatMap(unwrapped), name))) return true;
    if (mentions(node)) return false;
  }
  return false;
}

function unwrapped(node: CodeNode): readonly CodeNode[] {
  return node.type === "BlockStatement" ? nodesOf(node.body) : [node];
}
