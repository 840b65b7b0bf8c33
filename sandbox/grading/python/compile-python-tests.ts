import type { CallSuite, CallTest, JudgeSuite } from "../test-suite.ts";
import { readPythonAssert } from "./python-assert.ts";
import { calledNames, definedClasses, missingImports, usedClasses } from "./python-names.ts";
import { type PythonStatement, readPythonStatements } from "./python-statements.ts";

/**
 * Compiles a suite from test statements as in MBPP: each of `tests` is one or more asserts. If all are calls of one
 * function with constants, the suite has kind `calls`. Otherwise it has kind `judge`, with `setup` before the tests.
 * `defined` are the functions and classes of a solution. Without it, all called names that are not built-in are
 * exports.
 */
export function compilePythonAsserts(options: {
  readonly tests: readonly string[];
  readonly setup?: string;
  readonly defined?: readonly string[];
}): CallSuite | JudgeSuite {
  const { tests, setup = "", defined } = options;
  const sources = [setup, ...tests];
  const exports = [...new Set([...calledNames(sources, defined), ...classesOf(setup, tests)])];
  const read = tests.map(readPythonStatements);
  const statements = read.includes(undefined) ? undefined : (read as PythonStatement[][]).flat();
  const calls = statements && callSuite(statements);
  if (calls !== undefined && exports.includes(calls.function)) return calls;
  return {
    kind: "judge",
    language: "python",
    setup: [...missingImports(sources), setup].join("\n"),
    exports,
    tests: tests.map((code) => ({ code })),
  };
}

/**
 * Compiles a suite from a test file that defines `check(candidate)`, as in HumanEval. If the body of `check` consists
 * of asserts about calls of the candidate with constants, the suite has kind `calls`. Otherwise it has kind `judge`,
 * with one test for each piece of the body that ends in an assert, including loops. `helpers` are definitions that the
 * tests may use, such as functions that the prompt gives. They are trusted code, which the judge runs first.
 */
export function compilePythonCheck(options: {
  readonly test: string;
  readonly entryPoint: string;
  readonly helpers?: string;
}): CallSuite | JudgeSuite {
  const { test, entryPoint, helpers = "" } = options;
  const statements = readPythonStatements(test);
  const check = statements?.find(isCheck);
  const whole: JudgeSuite = {
    kind: "judge",
    language: "python",
    setup: helpers,
    exports: [...new Set([entryPoint, ...classesOf(helpers, [test])])],
    tests: [{ code: `${test}\ncheck(${entryPoint})\n` }],
  };
  if (statements === undefined || check === undefined) return whole;
  const parameter = check.tokens[3]!.text;
  const body = check.body.filter((statement) => !saysNothing(statement));
  const calls = callSuite(
    body.filter(({ tokens }) => tokens[0]!.text !== "import" && tokens[0]!.text !== "from"),
    { [parameter]: entryPoint },
  );
  if (calls?.function === entryPoint) return calls;
  const setup = [helpers, ...statements.filter((one) => one !== check && !isCallOfCheck(one)).map(({ text }) => text)];
  const imports = missingImports([helpers, test]);
  // Outside a function, these would be errors or mean something else.
  if (body.length === 0 || body.some(({ allTokens }) => allTokens.some(({ text }) => ofFunctions.has(text)))) {
    return { ...whole, setup: [...imports, helpers].join("\n") };
  }
  return {
    ...whole,
    setup: [...imports, ...setup, `${parameter} = ${entryPoint}`].join("\n"),
    tests: pieces(body).map((code) => ({ code })),
  };
}

/**
 * Returns the classes of the tested code that tests use. A class that the setup defines, as given by a prompt, is one of
 * them: objects of the tests and of the tested code then have the same class.
 */
function classesOf(setup: string, tests: readonly string[]): string[] {
  const words = new Set(tests.flatMap((test) => test.match(/[\p{ID_Start}_][\p{ID_Continue}]*/gu) ?? []));
  const given = definedClasses(setup).filter((name) => words.has(name));
  return [...given, ...usedClasses([setup, ...tests])];
}

const ofFunctions = new Set(["return", "yield", "await", "nonlocal", "global"]);

function isCheck({ tokens, body }: PythonStatement): boolean {
  const [first, second, third, parameter, fourth] = tokens;
  const isDefinition = first?.text === "def" && second?.text === "check" && third?.text === "(";
  return (
    isDefinition && parameter?.kind === "name" && (fourth?.text === ")" || fourth?.text === ":") && body.length > 0
  );
}

function isCallOfCheck({ tokens }: PythonStatement): boolean {
  return tokens[0]?.text === "check" && tokens[1]?.text === "(";
}

/** True for a docstring, `pass`, or an assert without content. */
function saysNothing(statement: PythonStatement): boolean {
  const { tokens } = statement;
  const isString = tokens.every(({ kind }) => kind === "string");
  const isPass = tokens.length === 1 && tokens[0]!.text === "pass";
  return isString || isPass || readPythonAssert(statement)?.kind === "nothing";
}

function callSuite(
  statements: readonly PythonStatement[],
  aliases: Readonly<Record<string, string>> = {},
): CallSuite | undefined {
  const tests: CallTest[] = [];
  const functions = new Set<string>();
  for (const statement of statements) {
    const read = readPythonAssert(statement);
    if (read === undefined) return undefined;
    if (read.kind === "nothing") continue;
    functions.add(Object.hasOwn(aliases, read.function) ? aliases[read.function]! : read.function);
    tests.push(read.test);
  }
  const [name, ...others] = functions;
  if (name === undefined || others.length > 0) return undefined;
  return { kind: "calls", language: "python", function: name, tests };
}

/** Groups statements into pieces that each end in an assert. Statements after the last assert join the last piece. */
function pieces(body: readonly PythonStatement[]): string[] {
  const texts: string[] = [];
  let lines: string[] = [];
  for (const { text, allTokens } of body) {
    lines.push(text);
    if (!allTokens.some((token) => token.kind === "name" && token.text === "assert")) continue;
    texts.push(lines.join("\n"));
    lines = [];
  }
  if (lines.length > 0) texts.push([...texts.splice(-1), ...lines].join("\n"));
  return texts;
}
