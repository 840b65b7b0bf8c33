/** Returns JSON of a thrown value: `{"type", "message"}`, and `"line"` of the entry if it is known. */
export type DescribeError = (error: unknown) => string;

/**
 * Errors become text inside the isolate, so that a looping getter or hook reaches the isolate's limits. Sent there as
 * source text, so it refers to nothing but its argument, which may be filled in later.
 */
export function createErrors(options: { readonly entry: string }): DescribeError {
  const { apply } = Reflect;
  const quote = JSON.stringify;
  const stringOf = String;
  const { indexOf } = String.prototype;
  const longestMessage = 1000;
  const longestLine = 2 ** 31;
  const textOf = (object: object, key: string): string | undefined => {
    try {
      const value = (object as Record<string, unknown>)[key];
      return typeof value === "string" ? value : undefined;
    } catch {
      return undefined;
    }
  };
  const cut = (long: string): string => {
    let short = "";
    for (let i = 0; i < long.length && i < longestMessage; i++) short += long[i];
    return short;
  };
  const lineOf = (stack: string): number | undefined => {
    const mark = `${options.entry}:`;
    const at: number = apply(indexOf, stack, [mark]);
    if (at === -1) return undefined;
    let line = 0;
    for (let i = at + mark.length; stack[i]! >= "0" && stack[i]! <= "9"; i++) line = line * 10 + +stack[i]!;
    // The stack may be text of the code's own.
    return line === 0 || line > longestLine ? undefined : line;
  };
  return (error) => {
    if ((typeof error !== "object" && typeof error !== "function") || error === null) {
      return `{"type":"${error === null ? "null" : typeof error}","message":${quote(cut(stringOf(error)))}}`;
    }
    let type: string | undefined;
    try {
      const maker: unknown = (error as object).constructor;
      if (typeof maker === "function") type = textOf(maker, "name");
    } catch {}
    if (type === undefined || type === "" || type === "Object") type = textOf(error, "name") ?? "Object";
    const stack = textOf(error, "stack");
    const line = stack === undefined ? undefined : lineOf(stack);
    const message = cut(textOf(error, "message") ?? "");
    return `{"type":${quote(cut(type))},"message":${quote(message)}${line === undefined ? "" : `,"line":${line}`}}`;
  };
}
