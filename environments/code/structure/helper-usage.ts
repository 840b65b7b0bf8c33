import type { CodeNode } from "./code-tree.ts";
import { LiveCode } from "./live-code.ts";
import {
  bindingOf,
  boundBy,
  calleeOf,
  definitionOf,
  isFunction,
  nameOf,
  nodesOf,
  returnedBy,
  rootOf,
  targetsOf,
  walk,
} from "./node-parts.ts";

/** How main uses its helper. */
export interface HelperUsage {
  /** True if code that may run calls the helper. */
  readonly called: boolean;
  /** True if what the helper returns is used. */
  readonly used: boolean;
  /** True if the entry only returns the helper's result. */
  readonly wrapper: boolean;
  /** Why the result of the first call is not used, in words after "the result". */
  readonly ignored?: string;
}

/** Functions without an effect. Such a call is not used if it stands alone. */
const pure = new Set(
  "print len str repr int float bool abs min max sum sorted list tuple dict set type id hash callable isinstance round range enumerate zip map filter reversed any all console Math JSON String Number Boolean Object Array".split(
    " ",
  ),
);

/** Functions that look at a function argument and do not call it. */
const inspectors = /^(print|str|repr|bool|type|id|hash|callable|isinstance|console|String|Boolean)$/;

/**
 * Finds how a function of a module (`entry`) uses a helper that is defined elsewhere (`helper`). A call counts if it may
 * run and the helper's name is not bound again. Its result is ignored if the call stands alone, or if it is assigned to
 * a name that is never used or that is assigned again before use. The code does not run. In doubt, a result is used.
 */
export function helperUsage(body: readonly CodeNode[], entry: string, helper: string): HelperUsage {
  const usage = new Usage({ type: "Module", body }, entry, helper);
  const calls = usage.calls();
  const results = calls.map((call) => usage.whyIgnored(call));
  const used = results.includes(undefined);
  const ignored = used ? undefined : results[0];
  const wrapper = used && usage.isWrapper();
  return { called: calls.length > 0, used, wrapper, ...(ignored === undefined ? {} : { ignored }) };
}

class Usage {
  readonly #code: LiveCode;
  readonly #entry: string;
  readonly #helper: string;
  /** The names that a function assigns outside of itself. */
  readonly #outer: ReadonlySet<string>;

  constructor(module: CodeNode, entry: string, helper: string) {
    [this.#code, this.#entry, this.#helper] = [new LiveCode(module, entry), entry, helper];
    const outer = walk(module, { nested: true }).filter(({ type }) => /^(Global|Nonlocal)$/.test(type));
    this.#outer = new Set(outer.flatMap(({ names }) => names as string[]));
  }

  /** Returns the calls of the helper, and the reads that give it to others, which may call it. */
  calls(): readonly CodeNode[] {
    if (this.#outer.has(this.#helper)) return [];
    return this.#code.reads(this.#helper).flatMap((read) => {
      if (this.#code.around(read).some((node) => isScope(node) && binds(node, this.#helper))) return [];
      const parent = this.#code.parents.get(read)!;
      if (calleeOf(parent) === read) return [parent];
      const isNamed = bindingOf(parent)?.value === read && this.whyIgnored(read) === undefined;
      const call = /^(keyword|Starred|SpreadElement)$/.test(parent.type) ? this.#code.parents.get(parent)! : parent;
      const callee = calleeOf(call);
      const isGiven = callee !== undefined && !inspectors.test(nameOf(rootOf(callee)) ?? "");
      return isNamed || isGiven ? [isGiven ? call : read] : [];
    });
  }

  /** Returns why a value is not used. Undefined if it is. */
  whyIgnored(node: CodeNode, seen: Set<CodeNode> = new Set()): string | undefined {
    const parent = this.#code.parents.get(node);
    const alone = "stands alone";
    if (parent === undefined || seen.has(node)) return alone;
    seen.add(node);
    const callee = calleeOf(parent);
    if (callee !== undefined && callee !== node && !this.#isPure(callee)) return undefined;
    if (isFunction(parent)) return parent.body === node ? this.#whyResultIgnored(parent, seen) : undefined;
    if (/^Return/.test(parent.type)) return this.#whyResultIgnored(this.#code.around(parent).find(isFunction), seen);
    if (isEffect.test(parent.type)) return undefined;
    if (isControl.test(parent.type)) return hasEmptyBody(parent) ? alone : undefined;
    if (isDropped.test(parent.type) || /^(void|typeof|delete)$/.test(String(parent.operator))) return alone;
    if (targetsOf(parent).length === 0 || parent.type === "comprehension") return this.whyIgnored(parent, seen);
    const isExpression = /^(NamedExpr|AssignmentExpression|UpdateExpression)$/.test(parent.type);
    const why = this.#whyUnread(parent, seen);
    return why !== undefined && isExpression ? this.whyIgnored(parent, seen) && why : why;
  }

  /** Returns why the result of a function is not used. */
  #whyResultIgnored(fn: CodeNode | undefined, seen: Set<CodeNode>): string | undefined {
    const above = fn && this.#code.parents.get(fn);
    if (fn === undefined || above === undefined) return "stands alone";
    const name = (definitionOf(fn) ?? definitionOf(above))?.name;
    if (name === this.#entry || /^(Class|Method)/.test(above.type)) return undefined;
    if (name === undefined) return this.whyIgnored(fn, seen);
    const uses = this.#code.reads(name).map((read) => {
      const by = this.#code.parents.get(read)!;
      return calleeOf(by) === read ? this.whyIgnored(by, seen) : undefined;
    });
    return uses.includes(undefined) ? undefined : uses[0];
  }

  /** Returns why what a node assigns is not used. */
  #whyUnread(node: CodeNode, seen: Set<CodeNode>): string | undefined {
    const scope = this.#code.around(node).find(isScope)!;
    const whys = targetsOf(node).map((target) => {
      const name = nameOf(target);
      if (name === undefined || this.#outer.has(name)) return undefined;
      if (this.#isReplaced(node, name)) return "is assigned to a name that is assigned again before it is used";
      const reads = this.#code.reads(name).filter((read) => this.#code.around(read).some((one) => one === scope));
      return reads.some((read) => this.whyIgnored(read, seen) === undefined)
        ? undefined
        : "is assigned to a name that is never used";
    });
    return whys.includes(undefined) ? undefined : whys[0];
  }

  /** True if the next statement of the block that names a variable assigns it. */
  #isReplaced(node: CodeNode, name: string): boolean {
    const isStatement = /^(Assign|AnnAssign|VariableDeclaration|ExpressionStatement)$/;
    const statement = isStatement.test(node.type) ? node : this.#code.parents.get(node)!;
    const block = Object.values(this.#code.parents.get(statement)!).find((list) => nodesOf(list).includes(statement));
    const after = nodesOf(block).slice(nodesOf(block).indexOf(statement) + 1);
    const mentions = (part: CodeNode): boolean => walk(part, { nested: true }).some((one) => nameOf(one) === name);
    const next = bindingOf(after.find(mentions));
    return next?.name === name && !mentions(next.value);
  }

  #isPure(callee: CodeNode): boolean {
    const name = nameOf(rootOf(callee));
    return name === this.#helper || pure.has(name ?? "");
  }

  /** True if the entry, or a function that it only wraps, returns a call of the helper and does nothing else. */
  isWrapper(): boolean {
    const bindings = [...this.#code.parents.keys()].flatMap((node) => definitionOf(node) ?? bindingOf(node) ?? []);
    const wrappers = new Set([this.#helper]);
    for (let size = 0; size !== wrappers.size; ) {
      size = wrappers.size;
      for (const { name, value } of bindings) {
        const passesOn = isFunction(value) ? this.#passesOn(value, wrappers) : wrappers.has(nameOf(value) ?? "");
        if (passesOn) wrappers.add(name);
      }
    }
    return wrappers.has(this.#entry);
  }

  /** True if a function returns what a call of `wrappers` returns and does nothing else. */
  #passesOn(fn: CodeNode, wrappers: ReadonlySet<string>): boolean {
    const passed = new Set(wrappers);
    const isResult = (value: CodeNode | undefined): boolean => {
      if (value === undefined) return false;
      if (value.type.startsWith("Await")) return isResult(nodesOf(value.value ?? value.argument)[0]);
      const isPlain = !walk(value, { nested: true }).some((part) => part !== value && calleeOf(part) !== undefined);
      return passed.has(nameOf(value) ?? "") || (isPlain && passed.has(nameOf(calleeOf(value)) ?? ""));
    };
    const onlyPassesOn = (nodes: readonly CodeNode[]): boolean =>
      nodes.every((node) => {
        const bound = bindingOf(node);
        if (bound !== undefined && isResult(bound.value)) return passed.add(bound.name);
        if (!this.#code.parents.has(node) || definitionOf(node) !== undefined) return true;
        if (/^Return/.test(node.type)) return isResult(nodesOf(node.value ?? node.argument)[0]);
        if (!/^(If|IfStatement|BlockStatement)$/.test(node.type)) return this.#isIdle(node);
        return onlyPassesOn(nodesOf([node.body, node.orelse, node.consequent, node.alternate].flat()));
      });
    const returns = walk(fn, { nested: false }).some(({ type }) => type.startsWith("Return"));
    return isResult(returnedBy(fn)) || (returns && onlyPassesOn(nodesOf(fn.body)));
  }

  /** True if a statement has no effect. */
  #isIdle(node: CodeNode): boolean {
    return !walk(node, { nested: false }).some((part) => {
      if (!this.#code.parents.has(part) || isFunction(part)) return false;
      const callee = calleeOf(part);
      if (isEffect.test(part.type) || isJump.test(part.type)) return true;
      if (callee !== undefined) return !this.#isPure(callee);
      return targetsOf(part).length > 0 && this.#whyUnread(part, new Set()) === undefined;
    });
  }
}

const isDropped = /^(Expr|ExpressionStatement|Delete)$/;
const isEffect = /^(Raise|Assert|Throw|Yield|With|withitem|Class|Method|arguments)/;
const isJump = /^(Return|Break|Continue)/;
const isControl = /^(If|While|DoWhile|For|ForIn|ForOf|AsyncFor|Match|Switch)(Statement)?$/;

function hasEmptyBody({ body, consequent, orelse, alternate, cases }: CodeNode): boolean {
  const parts = nodesOf([body, consequent, orelse, alternate, cases].flat());
  return parts.every(
    ({ type, body: inner }) => type === "Pass" || (type === "BlockStatement" && nodesOf(inner).length === 0),
  );
}

function isScope(node: CodeNode): boolean {
  return isFunction(node) || node.type === "Module";
}

function binds(scope: CodeNode, name: string): boolean {
  const [, ...parts] = walk(scope, { nested: false });
  return [...targetsOf(scope).map(nameOf), ...parts.flatMap(boundBy)].includes(name);
}
