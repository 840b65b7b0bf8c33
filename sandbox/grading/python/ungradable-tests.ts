import { isBuiltin, isClassMaker, isKeyword } from "./python-names.ts";
import { type PythonToken, readLogicalLines } from "./python-tokens.ts";

/**
 * A line of a test that cannot be graded, and why.
 *
 * @example
 * import { type UngradableTest, ungradableTest } from "lyceum/sandbox";
 * const found: UngradableTest | undefined = ungradableTest(["assert half(4) == 2"]);
 * found; // => undefined
 */
export interface UngradableTest {
  readonly line: string;
  readonly reason: string;
  /** What the author of the test can do. */
  readonly hint: string;
}

/**
 * Returns the first line of Python tests that no sandbox can grade, or undefined. Such a test would fail for right code.
 * The tested code runs in a process of its own, so that it cannot receive objects whose class only the tests have.
 * Objects are found in arguments and in variables that are arguments. What functions of the tests return is not followed.
 *
 * @example
 * import { ungradableTest } from "lyceum/sandbox";
 * const found = ungradableTest(["class Item:\n    pass\nassert total([Item()]) == 0"]);
 * found?.line; // => "assert total([Item()]) == 0"
 */
export function ungradableTest(tests: readonly string[]): UngradableTest | undefined {
  const lines = tests.flatMap((source) =>
    (readLogicalLines(source) ?? []).map(({ tokens }) => ({
      tokens,
      text: source.slice(tokens[0]!.start, tokens.at(-1)!.end),
    })),
  );
  const own = new Set(lines.flatMap(({ tokens }) => definedIn(tokens)));
  const classes = lines.flatMap(({ tokens }) => classesIn(tokens));
  const holders = new Map(classes.map(({ name }) => [name, name]));
  const enums = new Set(classes.flatMap(({ name, isEnum }) => (isEnum ? [name] : [])));
  for (let known = -1; known < holders.size; ) {
    known = holders.size;
    for (const { tokens } of lines) {
      const held = holdersIn(tokens, holders, enums);
      if (held.length === 0) continue;
      for (const name of receivers(tokens)) if (!holders.has(name)) holders.set(name, held[0]!.held);
    }
  }
  for (const { tokens, text } of lines) {
    const passed = holdersIn(tokens, holders, enums).find(({ callee }) => callee !== undefined && !own.has(callee));
    if (passed === undefined) continue;
    return {
      line: text,
      reason: `the tested code cannot receive objects of ${passed.held}, a class that only the tests have`,
      hint: `Define ${passed.held} in the prompt, before the requested function. Or compare plain values.`,
    };
  }
  return undefined;
}

/** Methods of lists, dicts, sets and texts, and of tests, whose arguments stay with the tests. */
const kept =
  /^(?:append|extend|insert|add|update|setdefault|remove|discard|index|count|join|format|raises|patch|object|assert\w*|addTest\w*|fail\w*)$/;

/** Returns the uses of classes and of variables with their objects: the class, and the call that receives them, if any. */
function holdersIn(
  tokens: readonly PythonToken[],
  holders: ReadonlyMap<string, string>,
  enums: ReadonlySet<string>,
): { readonly held: string; readonly callee: string | undefined }[] {
  const found: { held: string; callee: string | undefined }[] = [];
  // By open bracket: the function whose arguments it begins.
  const open: (string | undefined)[] = [];
  for (const [i, { kind, text }] of tokens.entries()) {
    const before = tokens[i - 1];
    if (text === "(" || text === "[" || text === "{") {
      const isCall = text === "(" && before?.kind === "name" && !isKeyword(before.text);
      open.push(isCall ? calleeOf(tokens, i - 1) : undefined);
    } else if (text === ")" || text === "]" || text === "}") open.pop();
    else if (kind === "name" && before?.text !== "." && (tokens[i + 1]?.text !== "." || isMember(tokens, i, enums))) {
      const held = holders.get(text);
      const isDefinition =
        before?.text === "class" || before?.text === "def" || (open.length > 0 && tokens[i + 1]?.text === "=");
      if (held === undefined || isDefinition) continue;
      const callee = open.findLast((name) => name !== undefined);
      if (callee === undefined || !isBuiltin(callee)) found.push({ held, callee });
    }
  }
  return found;
}

/** Returns whether a name begins a member of an enum, which is an object: `Color.RED`, but not `Color.RED.value`. */
function isMember(tokens: readonly PythonToken[], at: number, enums: ReadonlySet<string>): boolean {
  return enums.has(tokens[at]!.text) && tokens[at + 3]?.text !== "." && tokens[at + 3]?.text !== "(";
}

/** Returns the function that a name calls, or undefined for a definition and for what keeps its arguments. */
function calleeOf(tokens: readonly PythonToken[], at: number): string | undefined {
  const before = tokens[at - 1]?.text;
  const { text } = tokens[at]!;
  if (before === "class" || before === "def") return undefined;
  return before === "." && kept.test(text) ? undefined : text;
}

/** Returns the functions and classes that a line defines, in blocks as well. */
function definedIn(tokens: readonly PythonToken[]): string[] {
  return tokens.flatMap(({ text }, i) => {
    const before = tokens[i - 1]?.text;
    return before === "class" || before === "def" ? [text] : [];
  });
}

/** Returns the classes that a line defines by `class` or, as with `namedtuple`, by a call. Without classes of tests. */
function classesIn(tokens: readonly PythonToken[]): { readonly name: string; readonly isEnum: boolean }[] {
  const [first, second] = tokens;
  const isClass = first!.text === "class" && !tokens.some(({ text }) => text.endsWith("TestCase"));
  if (!isClass && !(second?.text === "=" && tokens.some(({ text }) => isClassMaker(text)))) return [];
  return [{ name: (isClass ? second! : first!).text, isEnum: tokens.some(({ text }) => /(?:Enum|Flag)$/.test(text)) }];
}

/** Returns the variables that a line sets: the targets of an assignment or a loop, or the list that something joins. */
function receivers(tokens: readonly PythonToken[]): string[] {
  const texts = tokens.map(({ text }) => text);
  const end = texts[0] === "for" ? texts.indexOf("in") : texts.indexOf("=");
  const depth = texts.slice(0, end).filter((text) => text === "(").length;
  if (end > 0 && depth === texts.slice(0, end).filter((text) => text === ")").length) {
    return tokens.slice(0, end).flatMap(({ kind, text }) => (kind === "name" && text !== "for" ? [text] : []));
  }
  return tokens[0]!.kind === "name" && texts[1] === "." && /^(?:append|extend|insert|add)$/.test(texts[2] ?? "")
    ? [texts[0]!]
    : [];
}
