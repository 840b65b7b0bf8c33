import { isJsonObject } from "../../contract/json.ts";

/**
 * Corrections where `@huggingface/jinja` renders a different text than Jinja in Python. The interop suite finds the
 * differences. Delete a correction when the suite passes without it.
 *
 * `strip`, `lstrip`, `rstrip` and the filter `trim` ignore their characters argument (Qwen's templates strip only
 * newlines). They also use JavaScript's white space instead of Python's (with U+FEFF, but without U+001C to U+001F and
 * U+0085).
 */

/** The functions that a corrected template calls. Pass them as variables when rendering. */
export const templateFunctions: Readonly<Record<string, (text: unknown, characters?: unknown) => string>> = {
  __strip: (text, characters) => strip(text, characters, { start: true, end: true }),
  __lstrip: (text, characters) => strip(text, characters, { start: true, end: false }),
  __rstrip: (text, characters) => strip(text, characters, { start: false, end: true }),
};

/** Rewrites the strip calls in a parsed template, in place, to calls of {@link templateFunctions}. */
export function correctTemplate(node: unknown): void {
  if (Array.isArray(node)) node.forEach(correctTemplate);
  else if (node instanceof Map) correctTemplate([...node].flat());
  else if (isJsonObject(node)) {
    Object.values(node).forEach(correctTemplate);
    const call = strippingCall(node);
    if (call !== undefined) Object.assign(node, call);
  }
}

/** Returns the replacement for `text.strip(...)` or `text | trim(...)`. Undefined for all other nodes. */
function strippingCall(node: Readonly<Record<string, unknown>>): object | undefined {
  const { callee, operand, filter } = node;
  if (node.type === "CallExpression" && isJsonObject(callee) && callee.type === "MemberExpression") {
    const method = callee.computed === true ? undefined : identifierOf(callee.property);
    if (method === undefined || !Object.hasOwn(templateFunctions, `__${method}`)) return undefined;
    return callOf(`__${method}`, [callee.object, ...(node.args as unknown[])]);
  }
  if (node.type !== "FilterExpression") return undefined;
  if (identifierOf(filter) === "trim") return callOf("__strip", [operand]);
  if (isJsonObject(filter) && filter.type === "CallExpression" && identifierOf(filter.callee) === "trim") {
    return callOf("__strip", [operand, ...(filter.args as unknown[])]);
  }
  return undefined;
}

function callOf(name: string, callArguments: readonly unknown[]): object {
  return { type: "CallExpression", callee: { type: "Identifier", value: name }, args: callArguments };
}

function identifierOf(node: unknown): unknown {
  return isJsonObject(node) && node.type === "Identifier" ? node.value : undefined;
}

/** The characters that Python's `str.strip` removes by default. */
const pythonWhitespace =
  "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a" +
  "\u2028\u2029\u202f\u205f\u3000";

function strip(text: unknown, characters: unknown, sides: { readonly start: boolean; readonly end: boolean }): string {
  if (text === undefined) return "";
  if (typeof text !== "string") throw new Error("only a text can be stripped");
  const stripped = new Set(typeof characters === "string" ? characters : pythonWhitespace);
  const all = [...text];
  let start = 0;
  let end = all.length;
  while (sides.start && start < end && stripped.has(all[start]!)) start++;
  while (sides.end && end > start && stripped.has(all[end - 1]!)) end--;
  return all.slice(start, end).join("");
}
