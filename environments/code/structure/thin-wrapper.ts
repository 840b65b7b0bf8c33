import { match, P } from "ts-pattern";
import { walk } from "./form-scope.ts";
import { aliasesOf, reachable } from "./helper-usage.ts";
import type { FormExpression, FormFunction, FormStatement } from "./syntax-form.ts";

/**
 * Whether a function does nothing but hand the helper's result on: what it returns is a call of the helper on names,
 * constants and their parts, on every way through it, and nothing else in it is `effective`. A function that so wraps
 * another such function counts, too.
 */
export function isThinWrapper(options: {
  readonly module: readonly FormStatement[];
  readonly entry: string;
  readonly helper: string;
  /** As {@link helperUsage} found them. */
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

/** Nothing is worked out in it: names, constants, and parts of objects. */
function isPlain(expression: FormExpression): boolean {
  return match(expression)
    .with({ k: P.union("const", "name") }, () => true)
    .with({ k: "member" }, ({ object, parts }) => isPlain(object) && parts.every(isPlain))
    .with({ k: "all" }, ({ parts }) => parts.every(isPlain))
    .otherwise(() => false);
}
