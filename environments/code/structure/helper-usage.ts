import { match } from "ts-pattern";
import { boundNames, type Scope, scopeOf } from "./form-scope.ts";
import type { FormExpression, FormFunction, FormStatement } from "./syntax-form.ts";

/** How a function is needed: only its call, or also its return value. */
type Need = "called" | "valued";

/** The names that are live before a statement: their values are needed later. */
type Live = Set<string>;

/** The result of the analysis of a program. */
export interface HelperUsage {
  /** True if reachable code calls the helper. */
  readonly called: boolean;
  /** True if the helper's return value reaches the entry's result or has an effect. */
  readonly used: boolean;
  /** The statements that contribute to the entry's result. */
  readonly effective: ReadonlySet<FormStatement>;
}

/** Pure functions. A call has no effect if its value is discarded. */
const pure = new Set(
  "print len str repr int float bool abs min max sum sorted list tuple dict set frozenset type id hash callable isinstance round range enumerate zip map filter reversed any all console Math JSON String Number Boolean Object Array".split(
    " ",
  ),
);

/** Functions that inspect a function argument without calling it. */
const inspectors = new Set(
  "print str repr bool type id hash callable isinstance console String Boolean typeof".split(" "),
);

/**
 * Analyses how a function of a module (`entry`) uses a helper that is defined elsewhere (`helper`). Computes the
 * strongly live variables of its code and of the functions that it needs. A call counts if it is reachable and the
 * helper's name is not rebound. Its result counts as used if it reaches the entry's return value, a branch with an
 * effect, or an object that outlives the call. The analysis does not run code. What only running would show counts as
 * reached.
 */
export function helperUsage(options: {
  readonly module: readonly FormStatement[];
  readonly entry: string;
  readonly helper: string;
}): HelperUsage {
  const { module, entry, helper } = options;
  const scope = scopeOf({ params: [], body: module });
  const bindings = [...boundNames(module, { nested: true })];
  const isReplaced = bindings.some(({ ids, outer }) => outer === true && ids.includes(helper));
  if (isReplaced || scope.names.has(helper)) return { called: false, used: false, effective: new Set() };
  const analysis = new UsageAnalysis(helper, aliasesOf(module, helper));
  analysis.need(entry);
  do {
    analysis.grown = false;
    analysis.block(module, new Set(), { scope, returns: "called", jumps: new Set() });
  } while (analysis.grown);
  return analysis;
}

interface Context {
  readonly scope: Scope;
  /** Whether the return value is needed. */
  readonly returns: Need;
  /** The live names at the targets of `break` and `continue`. */
  readonly jumps: Live;
}

/**
 * Each pass goes backward through each block. A function is analysed at its definition if a pass found that it is
 * needed. Passes repeat until none finds more.
 */
class UsageAnalysis implements HelperUsage {
  called = false;
  used = false;
  readonly effective = new Set<FormStatement>();
  grown = false;
  readonly #helper: string;
  readonly #aliases: ReadonlySet<string>;
  readonly #wanted = new Map<string, Need>();
  /** The names that functions read from outer scopes. They are live everywhere. */
  readonly #captured = new Set<string>();

  constructor(helper: string, aliases: ReadonlySet<string>) {
    this.#helper = helper;
    this.#aliases = aliases;
  }

  /** Marks a name of the module as read. */
  need(name: string): void {
    this.#captured.add(name);
    this.#want(name, "valued");
  }

  #want(name: string, need: Need): void {
    const known = this.#wanted.get(name);
    if (known === "valued" || known === need) return;
    this.#wanted.set(name, need);
    this.grown = true;
  }

  /**
   * Analyses a block. `live` becomes the live names before it. Returns true if a statement of the block has an effect.
   */
  block(statements: readonly FormStatement[], live: Live, context: Context): boolean {
    let effect = false;
    for (const statement of reachable(statements).toReversed()) {
      if (!this.#statement(statement, live, context)) continue;
      this.effective.add(statement);
      effect = true;
    }
    return effect;
  }

  #statement(statement: FormStatement, live: Live, context: Context): boolean {
    const { scope } = context;
    switch (statement.k) {
      case "set": {
        const needed = statement.ids.some((id) => this.#isNeeded(id, live, scope));
        for (const id of statement.ids) live.delete(id);
        return this.#expression(statement.value, needed, live, context) || needed;
      }
      case "update": {
        const { root } = statement;
        const needed = root === null || scope.shared.has(root) || this.#isNeeded(root, live, scope);
        if (needed && root !== null) this.#read(root, "valued", live, scope);
        return this.#expression(statement.value, needed, live, context) || needed;
      }
      case "drop":
        return this.#expression(statement.value, false, live, context);
      case "use":
        this.#expression(statement.value, true, live, context);
        return true;
      case "return":
        live.clear();
        if (statement.value !== null) this.#expression(statement.value, context.returns === "valued", live, context);
        return true;
      case "raise":
        live.clear();
        this.#expression(statement.value, true, live, context);
        return true;
      case "break":
      case "continue":
        live.clear();
        for (const name of context.jumps) live.add(name);
        return true;
      case "if":
        return this.#branch(statement, live, context);
      case "loop":
        return this.#loop(statement, live, context);
      case "try": {
        let effect = this.block(statement.final, live, context);
        const raised = new Set(live);
        for (const handler of statement.handlers) {
          const before = new Set(live);
          effect = this.block(handler, before, context) || effect;
          for (const name of before) raised.add(name);
        }
        for (const name of raised) live.add(name);
        effect = this.block(statement.body, live, context) || effect;
        // The body may raise before any of its bindings.
        for (const name of raised) live.add(name);
        return effect;
      }
      case "block":
        return this.block(statement.body, live, context);
      case "def": {
        const need = this.#wanted.get(statement.id);
        if (need !== undefined) this.#function(statement, need, scope);
        return need !== undefined;
      }
      case "outer":
        return false;
    }
  }

  #branch(statement: Extract<FormStatement, { k: "if" }>, live: Live, context: Context): boolean {
    const { test } = statement;
    if (test.k === "const") return this.block(test.truthy ? statement.yes : statement.no, live, context);
    const otherwise = new Set(live);
    const effects = [this.block(statement.yes, live, context), this.block(statement.no, otherwise, context)];
    for (const name of otherwise) live.add(name);
    const effect = effects.includes(true);
    return this.#expression(test, effect, live, context) || effect;
  }

  #loop(statement: Extract<FormStatement, { k: "loop" }>, live: Live, context: Context): boolean {
    if (statement.head.k === "const" && !statement.head.truthy) return this.block(statement.after, live, context);
    const jumps = new Set(live);
    let effect = this.block(statement.after, live, context);
    for (const name of live) jumps.add(name);
    for (let size = -1; size !== jumps.size; ) {
      size = jumps.size;
      const round = new Set(jumps);
      effect = this.block(statement.body, round, { ...context, jumps }) || effect;
      // The condition is needed if the body has an effect. So are the names that it reads.
      this.#expression(statement.head, effect, round, context);
      for (const id of statement.ids) round.delete(id);
      for (const name of round) jumps.add(name);
    }
    for (const name of jumps) live.add(name);
    for (const id of statement.ids) if (!this.#captured.has(id)) live.delete(id);
    return this.#expression(statement.head, effect, live, context) || effect;
  }

  #function(fn: Pick<FormFunction, "params" | "body">, returns: Need, outer: Scope): void {
    const scope = scopeOf(fn, outer);
    this.block(fn.body, new Set(), { scope, returns, jumps: new Set() });
  }

  /** Analyses an expression whose value is or is not needed. Returns true if the expression itself has an effect. */
  #expression(expression: FormExpression, needed: boolean, live: Live, context: Context): boolean {
    const { scope } = context;
    const every = (parts: readonly FormExpression[], need: boolean, inner: Context = context): boolean => {
      let effect = false;
      for (const part of parts) effect = this.#expression(part, need, live, inner) || effect;
      return effect;
    };
    return match(expression)
      .with({ k: "const" }, () => false)
      .with({ k: "name" }, (name) => {
        if (needed && !this.#isHelper(name, scope)) this.#read(name.id, "valued", live, scope);
        return false;
      })
      .with({ k: "call" }, (call) => this.#call(call, needed, live, context))
      .with({ k: "member" }, ({ object, parts }) => every([object, ...parts], needed))
      .with({ k: "fn" }, (fn) => {
        if (needed) this.#function(fn, "valued", scope);
        return false;
      })
      .with({ k: "bind" }, ({ id, value }) => {
        const bound = this.#isNeeded(id, live, scope);
        return this.#expression(value, needed || bound, live, context) || bound;
      })
      .with({ k: "scope" }, ({ ids, parts }) => {
        const inner = scopeOf({ params: ids, body: [] }, scope);
        return every(parts, needed, { ...context, scope: { ...inner, own: new Set([...scope.own, ...inner.own]) } });
      })
      .with({ k: "yield" }, ({ value }) => {
        this.#expression(value, true, live, context);
        return true;
      })
      .with({ k: "all" }, ({ parts }) => every(parts, needed))
      .exhaustive();
  }

  #call(call: Extract<FormExpression, { k: "call" }>, needed: boolean, live: Live, context: Context): boolean {
    const { callee, args } = call;
    const { scope } = context;
    if (this.#isHelper(callee, scope)) {
      this.called = true;
      this.used ||= needed;
      for (const arg of args) this.#argument(arg, needed, live, context);
      return false;
    }
    const root = rootOf(callee);
    const isBuiltin = root !== undefined && !scope.names.has(root);
    if (!needed && isBuiltin && pure.has(root)) {
      for (const arg of args) this.#expression(arg, false, live, context);
      return false;
    }
    // A method call on an own object matters only as long as the object does.
    const isOwnObject = callee.k === "member" && root !== undefined && scope.own.has(root) && !scope.shared.has(root);
    if (!needed && isOwnObject && !this.#isNeeded(root, live, scope)) {
      for (const arg of args) this.#expression(arg, false, live, context);
      return false;
    }
    if (callee.k === "name") this.#read(callee.id, needed ? "valued" : "called", live, scope);
    else if (callee.k === "fn") this.#function(callee, needed ? "valued" : "called", scope);
    else this.#expression(callee, callee.k !== "member" || needed || root !== undefined, live, context);
    const looks = isBuiltin && inspectors.has(root);
    for (const arg of args) {
      if (looks && this.#isHelper(arg, scope)) continue;
      this.#argument(arg, true, live, context);
    }
    return true;
  }

  /** Analyses an argument. If the helper itself is passed, the receiver may call it. */
  #argument(arg: FormExpression, needed: boolean, live: Live, context: Context): void {
    if (this.#isHelper(arg, context.scope)) {
      this.called = true;
      this.used ||= needed;
    } else {
      this.#expression(arg, needed, live, context);
    }
  }

  #read(name: string, need: Need, live: Live, scope: Scope): void {
    this.#want(name, need);
    if (scope.own.has(name)) {
      live.add(name);
    } else if (!this.#captured.has(name)) {
      this.#captured.add(name);
      this.grown = true;
    }
  }

  /** Values of outer names outlive the call, so they are always needed. */
  #isNeeded(name: string, live: Live, scope: Scope): boolean {
    return live.has(name) || this.#captured.has(name) || !scope.own.has(name);
  }

  #isHelper(expression: FormExpression, scope: Scope): boolean {
    if (expression.k !== "name") return false;
    const { id } = expression;
    return (id === this.#helper && !scope.names.has(id)) || this.#aliases.has(id);
  }
}

/** Returns the name at the root of a callee, such as `xs` of `xs.append`. */
function rootOf(callee: FormExpression): string | undefined {
  if (callee.k === "name") return callee.id;
  return callee.k === "member" ? rootOf(callee.object) : undefined;
}

/** Returns the reachable statements of a block: those up to the first one that leaves it. */
export function reachable(statements: readonly FormStatement[]): readonly FormStatement[] {
  const end = statements.findIndex(leaves);
  return end === -1 ? statements : statements.slice(0, end + 1);
}

function leaves(statement: FormStatement): boolean {
  switch (statement.k) {
    case "return":
    case "raise":
    case "break":
    case "continue":
      return true;
    case "if": {
      const [then, otherwise] = [statement.yes.some(leaves), statement.no.some(leaves)];
      if (statement.test.k === "const") return statement.test.truthy ? then : otherwise;
      return then && otherwise;
    }
    case "loop":
      return statement.endless && !breaks(statement.body);
    case "try":
      if (statement.final.some(leaves)) return true;
      return statement.body.some(leaves) && statement.handlers.every((handler) => handler.some(leaves));
    case "block":
      return statement.body.some(leaves);
    default:
      return false;
  }
}

/** Returns true if `break` can leave a loop with this body. */
function breaks(body: readonly FormStatement[]): boolean {
  return body.some((statement) => {
    switch (statement.k) {
      case "break":
        return true;
      case "if":
        return breaks(statement.yes) || breaks(statement.no);
      case "try":
        return breaks(statement.body) || statement.handlers.some(breaks) || breaks(statement.final);
      case "block":
        return breaks(statement.body);
      default:
        return false;
    }
  });
}

/** Returns the names that are only ever bound to the helper, such as `f = aux`. */
export function aliasesOf(module: readonly FormStatement[], helper: string): ReadonlySet<string> {
  const aliases = new Set<string>();
  const others = new Set<string>();
  for (const { ids, value } of boundNames(module, { nested: true })) {
    const isHelper = value?.k === "name" && value.id === helper && ids.length === 1;
    for (const id of ids) (isHelper ? aliases : others).add(id);
  }
  return new Set([...aliases].filter((id) => !others.has(id)));
}
