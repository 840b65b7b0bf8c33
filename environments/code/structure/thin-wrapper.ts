import { match, P } from "ts-pattern";
import { walk } from "./form-scope.ts";
import { aliasesOf, reachable } from "./helper-usage.ts";
import type { FormExpression, FormFunction, FormStatement } from "./syntax-form.ts";

/**
 * Returns true if a function only returns the helper's result. On every path, it returns a call of the helper with
 * names, constants and their parts as arguments, and nothing else in it is `effective`. A function that wraps another
 * wrapper in the same way counts, too.
 */
export function isThinWrapper(options: {
  readonly module: readonly FormStatement[];
  readonly entry: string;
  readonly helper: string;
  /** The effective statements that {@link helperUsage} found. */
  readonly effective: ReadonlySet<FormStatement>;
}): boolean {
  const { module, entry, helper, effective } = options;
  const functions = [...walk(module)].filter((statement): statement is FormFunction => statement.k === "def");
  const wrappers = new Set([helper, ...aliasesOf(module, helper)]);
  for (let size = 0; size !== wrappers.size; ) {
    size = wrappers.size;
    for (const { id, body } of functions) if (handsOn(body, { wrappers, effective })) wrappers.add(id);
  }
  return wrappers.has(entry);
}

interface Wrapping {
  readonly wrappers: ReadonlySet<string>;
  readonly effective: ReadonlySet<FormStatement>;
}

function handsOn(body: readonly FormStatement[], wrapping: Wrapping): boolean {
  const results = new Set<string>();
  return blockHandsOn(body, results, wrapping) && [...walk(body)].some(({ k }) => k === "return");
}

function blockHandsOn(body: readonly FormStatement[], results: Set<string>, wrapping: Wrapping): boolean {
  const { wrappers, effective } = wrapping;
  const isResult = (value: FormExpression): boolean =>
    (value.k === "name" && results.has(value.id)) ||
    (value.k === "call" && value.callee.k === "name" && wrappers.has(value.callee.id) && value.args.every(isPlain));
  return reachable(body).every((statement) => {
    if (!effective.has(statement)) return true;
    switch (statement.k) {
      case "return":
        return statement.value !== null && isResult(statement.value);
      case "set": {
        if (!isResult(statement.value) && !(statement.value.k === "name" && wrappers.has(statement.value.id)))
          return false;
        for (const id of statement.ids) results.add(id);
        return true;
      }
      case "if":
        return blockHandsOn(statement.yes, results, wrapping) && blockHandsOn(statement.no, results, wrapping);
      case "block":
        return blockHandsOn(statement.body, results, wrapping);
      case "def":
        return true;
      default:
        return false;
    }
  });
}

/** Returns true for an expression without computation: names, constants and parts of objects. */
function isPlain(expression: FormExpression): boolean {
  return match(expression)
    .with({ k: P.union("const", "name") }, () => true)
    .with({ k: "member" }, ({ object, parts }) => isPlain(object) && parts.every(isPlain))
    .with({ k: "all" }, ({ parts }) => parts.every(isPlain))
    .otherwise(() => false);
}
