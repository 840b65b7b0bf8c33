import { LyceumError } from "../../../src/contract/errors/index.ts";
import type { CallSuite, CallTest } from "../test-suite.ts";
import { readJavascriptConstant, skipBlank } from "./javascript-constant.ts";

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

/** The text before and after the assertions. */
const head =
  /^\s*(?:declare var require: any;\s*)?const assert = require\(['"]node:assert['"]\);\s*function test\(\) \{\s*let candidate = ([\w$]+);/;
const tail = /\s*\}\s*test\(\);?\s*$/y;

function readTests(source: string, entryPoint: string): CallTest[] | undefined {
  const start = head.exec(source);
  if (start === null || start[1] !== entryPoint) return undefined;
  const tests: CallTest[] = [];
  for (let at = skipBlank(source, start[0].length); ; ) {
    tail.lastIndex = at;
    if (tail.test(source)) return tests.length === 0 ? undefined : tests;
    const test = readTest(source, at);
    if (test === undefined) return undefined;
    tests.push(test.test);
    at = skipBlank(source, test.end);
  }
}

/** `assert.deepEqual(candidate(1, 2), 3);` */
function readTest(source: string, from: number): { readonly test: CallTest; readonly end: number } | undefined {
  let at = from;
  const accept = (text: string): boolean => {
    at = skipBlank(source, at);
    if (!source.startsWith(text, at)) return false;
    at += text.length;
    return true;
  };
  if (!accept("assert.deepEqual(") || !accept("candidate(")) return undefined;
  const args = [];
  while (!accept(")")) {
    if (args.length > 0 && !accept(",")) return undefined;
    const argument = readJavascriptConstant(source, at);
    if (argument === undefined) return undefined;
    args.push(argument.value);
    at = argument.end;
  }
  if (!accept(",")) return undefined;
  const expected = readJavascriptConstant(source, at);
  if (expected === undefined) return undefined;
  at = expected.end;
  if (!accept(")") || !accept(";")) return undefined;
  return { test: { args, expected: expected.value, comparator: { kind: "loose" } }, end: at };
}
