import { z } from "zod";
import { readPythonStatements } from "../../sandbox/grading/python/python-statements.ts";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { parseRow } from "../shared/code-benchmarks/benchmark-row.ts";
import type { CodeProblem } from "../shared/code-benchmarks/code-problem.ts";
import { classEvalProblem } from "./class-eval.ts";
import { type ClassMethod, classMethods } from "./class-methods.ts";

/** A class to complete. */
export interface ClassTask {
  /** The problem with its tests. The first fifth of each test class, rounded up, is visible. */
  readonly problem: CodeProblem;
  /** The class without the bodies of the requested methods. */
  readonly skeleton: string;
  /** The requested methods, in order. */
  readonly methods: readonly Pick<ClassMethod, "name" | "parameters">[];
  /** All methods of the benchmark's own solution. */
  readonly solution: readonly Pick<ClassMethod, "name" | "text">[];
  /** For each test, its test class, name and source code. */
  readonly tests: readonly { readonly owner: string; readonly name: string; readonly text: string }[];
}

const schema = z.object({
  skeleton: z.string(),
  test: z.string(),
  solution_code: z.string(),
  import_statement: z.array(z.string()),
});

/** Returns the task of a row of ClassEval. Throws `data.malformed`. */
export function classTask(row: unknown): ClassTask {
  const problem = classEvalProblem(row);
  const { skeleton: published, test, solution_code, import_statement } = parseRow(schema, row, "ClassEval");
  const skeleton = withImports(repaired(published), import_statement);
  const solution = classMethods(solution_code, problem.entryPoint) ?? [];
  // Methods that the solution leaves empty, such as some `__init__` methods, are not requested.
  const stays = new Set(solution.filter(({ isEmpty }) => isEmpty).map(({ name }) => name));
  const methods = (classMethods(skeleton, problem.entryPoint) ?? []).filter(
    ({ name, isEmpty }) => isEmpty && !stays.has(name),
  );
  if (methods.length === 0) {
    throw new LyceumError({
      code: "data.malformed",
      message: `The skeleton of ${problem.id} has no class ${problem.entryPoint} with an empty method.`,
      hint: "Compare the row with the published file.",
    });
  }
  const tests = testsOf(problem, test);
  const visible = visiblePlaces(tests.map(({ owner }) => owner));
  const { suite } = problem;
  return {
    problem: {
      ...problem,
      suite: { ...suite, tests: suite.tests.map((one, i) => ({ ...one, visible: visible.has(i) })) } as typeof suite,
    },
    skeleton,
    methods: methods.map(({ name, parameters }) => ({ name, parameters })),
    solution: solution.map(({ name, text }) => ({ name, text })),
    tests,
  };
}

/**
 * Returns the first fifth of each test class. If each class has only one test, returns the first fifth of all tests.
 */
function visiblePlaces(owners: readonly string[]): ReadonlySet<number> {
  const fifth = (places: readonly number[]): readonly number[] =>
    places.length === 1 ? [] : places.slice(0, Math.ceil(places.length / 5));
  const places = owners.map((_, i) => i);
  const ofEach = [...Map.groupBy(places, (i) => owners[i]!).values()].flatMap(fifth);
  return new Set(ofEach.length > 0 ? ofEach : fifth(places));
}

/** Returns the test class, name and source code of each test, from the source of the `unittest` classes. */
function testsOf({ suite }: CodeProblem, source: string): ClassTask["tests"] {
  const classes = new Map(
    (readPythonStatements(source) ?? [])
      .filter(({ tokens }) => tokens[0]!.text === "class")
      .map(({ tokens }) => [tokens[1]!.text, classMethods(source, tokens[1]!.text) ?? []]),
  );
  return suite.tests.map((test) => {
    const [, owner = "", name = ""] = /^_run_test\((\w+), "(\w+)"\)$/.exec("code" in test ? test.code : "") ?? [];
    const text = classes.get(owner)?.findLast((method) => method.name === name)?.text ?? "";
    return { owner, name, text };
  });
}

/** Adds the imports of the solution that the skeleton lacks. */
function withImports(skeleton: string, imports: readonly string[]): string {
  const missing = imports.filter((line) => !skeleton.split("\n").includes(line.trim()));
  return missing.length === 0 ? skeleton : `${missing.join("\n")}\n\n${skeleton}`;
}

/**
 * Repairs the four skeletons of the file that do not parse. They contain curly quotes, an unclosed docstring or a class
 * in quotes.
 */
function repaired(skeleton: string): string {
  return skeleton
    .replace(/[“”]{3}/g, '"""')
    .replace(/^'''\n([\s\S]*)'''\s*$/, "$1")
    .replace(/(\["CS101", "CS102"\]\n)(\n {4}def )/, '$1        """\n$2');
}
