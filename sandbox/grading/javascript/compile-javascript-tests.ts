import { type AnyNode, type CallExpression, type Node, parse, type Statement } from "acorn";
import { LyceumError } from "../../../src/contract/errors/index.ts";
import type { PlainValue } from "../../plain-value.ts";
import type { CallSuite, CallTest } from "../test-suite.ts";
import { javascriptConstant } from "./javascript-constant.ts";

/**
 * Compiles the calls of a MultiPL-E test file in JavaScript or TypeScript. The file has a function `test` with lines
 * `assert.deepEqual(candidate(...), expected);`. Arguments and expected values are constants, compared like
 * `assert.deepEqual`. Throws `data.malformed` for any other file.
 */
export function compileJavascriptTests(options: {
  readonly test: string;
  readonly language: "javascript" | "typescript";
  readonly entryPoint: string;
}): CallSuite {
  const { test, language, entryPoint } = options;
  const tests = readTests(test, entryPoint);
  if (tests === undefined) {
    throw new LyceumError({
      code: "data.malformed",
      message: `The tests of ${entryPoint} are not all of the form assert.deepEqual(candidate(...), constant).`,
      hint: "Write the suite by hand, with kind calls or judge.",
    });
  }
  return { kind: "calls", language, function: entryPoint, tests };
}

function readTests(source: string, entryPoint: string): CallTest[] | undefined {
  const program = parsed(source) ?? parsed(source.replace(quoted, (text) => text.replaceAll("\n", "\\n")));
  if (program === undefined) return undefined;
  const { body, text } = program;
  const [imported, test, call] = body;
  if (body.length !== 3 || test?.type !== "FunctionDeclaration") return undefined;
  const [candidate, ...assertions] = test.body.body;
  const isTestFile =
    /^const assert = require\(['"]node:assert['"]\);$/.test(text(imported!)) &&
    text(test).startsWith("function test() {") &&
    candidate !== undefined &&
    text(candidate) === `let candidate = ${entryPoint};` &&
    /^test\(\);?$/.test(text(call!));
  if (!isTestFile || assertions.length === 0) return undefined;
  const tests = assertions.map((assertion) => readAssertion(assertion, text));
  return tests.includes(undefined) ? undefined : (tests as CallTest[]);
}

/** A string in quotes. One of MultiPL-E's tests has a line break in a string, which JavaScript forbids. */
const quoted = /"(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*'/g;

function parsed(
  file: string,
): { readonly body: readonly Statement[]; readonly text: (node: Node) => string } | undefined {
  const source = file.replace(/^\s*declare var require: any;/, "");
  try {
    const { body } = parse(source, { ecmaVersion: "latest" });
    return { body: body as readonly Statement[], text: ({ start, end }) => source.slice(start, end) };
  } catch {
    return undefined;
  }
}

/** `assert.deepEqual(candidate(1, 2), 3);` */
function readAssertion(assertion: Statement, text: (node: Node) => string): CallTest | undefined {
  const check = callOf(assertion.type === "ExpressionStatement" ? assertion.expression : undefined);
  const call = callOf(check?.arguments[0]);
  if (check === undefined || call === undefined || check.arguments.length !== 2) return undefined;
  if (text(check.callee) !== "assert.deepEqual" || text(call.callee) !== "candidate") return undefined;
  const args = call.arguments.map((argument) => javascriptConstant(argument));
  const expected = javascriptConstant(check.arguments[1]!);
  if (expected === undefined || args.includes(undefined)) return undefined;
  return { args: args as PlainValue[], expected, comparator: { kind: "loose" } };
}

function callOf(node: AnyNode | undefined): CallExpression | undefined {
  return node?.type === "CallExpression" && !node.optional ? node : undefined;
}
