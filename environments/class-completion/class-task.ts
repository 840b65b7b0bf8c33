import { z } from "zod";
import { readPythonStatements } from "../../sandbox/grading/python/python-statements.ts";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { parseRow } from "../shared/code-benchmarks/benchmark-row.ts";
import { classEvalProblem } from "../shared/code-benchmarks/class-eval.ts";
import type { CodeProblem } from "../shared/code-benchmarks/code-problem.ts";
import { type ClassMethod, classMethods } from "./class-methods.ts";

/** A class to be completed. */
export interface ClassTask {
  /** With its tests, of which the first fifth of each test class, rounded up, is visible. */
  readonly problem: CodeProblem;
  /** The class without the bodies of the methods that are to be written. */
  readonly skeleton: string;
  /** The methods that are to be written, in order. */
  readonly methods: readonly Pick<ClassMethod, "name" | "parameters">[];
  /** Every method of the benchmark's own solution. */
  readonly solution: readonly Pick<ClassMethod, "name" | "text">[];
  /** For each test, the test class that it is of, its name, and its source. */
  readonly tests: readonly { readonly owner: string; readonly name: string; readonly text: string }[];
}

const schema = z.object({
  skeleton: z.string(),
  test: z.string(),
  solution_code: z.string(),
  import_statement: z.array(z.string()),
});

/** A task from a row of ClassEval. Throws `data.malformed`. */
export function classTask(row: unknown): ClassTask {
  const problem = classEvalProblem(row);
  const { skeleton: published, test, solution_code, import_statement } = parseRow(schema, row, "ClassEval");
  const skeleton = withImports(repaired(published), import_statement);
  const solution = classMethods(solution_code, problem.entryPoint) ?? [];
  // What the solution leaves empty, as some an `__init__`, is not to be written.
  const stays = new Set(solution.filter(({ isEmpty }) => isEmpty).map(({ name }) => name));
  const methods = (classMethods(skeleton, problem.entryPoint) ?? []).filter(
    ({ name, isEmpty }) => isEmpty && !stays.has(name),
  );
  if (methods.length === 0) {
    throw new LyceumError({
      code: "data.malformed",
      message: `The skeleton of ${problem.id} has no class ${problem.entryPoint} with a method to be written.`,
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

/** Of each test class the first fifth, or, where each has but one test, the first fifth of all. */
function visiblePlaces(owners: readonly string[]): ReadonlySet<number> {
  const fifth = (places: readonly number[]): readonly number[] =>
    places.length === 1 ? [] : places.slice(0, Math.ceil(places.length / 5));
  const places = owners.map((_, i) => i);
  const ofEach = [...Map.groupBy(places, (i) => owners[i]!).values()].flatMap(fifth);
  return new Set(ofEach.length > 0 ? ofEach : fifth(places));
}

/** What each test of the suite is, from the source of the `unittest` classes. */
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

/** What the solution imports, before the skeleton where it does not say so itself. */
function withImports(skeleton: string, imports: readonly string[]): string {
  const missing = imports.filter((line) => !skeleton.split("\n").includes(line.trim()));
  return missing.length === 0 ? skeleton : `${missing.join("\n")}\n\n${skeleton}`;
}

/** Four skeletons of the file do not parse: curly quotes, a docstring that is not closed, and a class in quotes. */
function repaired(skeleton: string): string {
  return skeleton
    .replace(/[“”]{3}/g, '"""')
    .replace(/^'''\n([\s\S]*)'''\s*$/, "$1")
    .replace(/(\["CS101", "CS102"\]\n)(\n {4}def )/, '$1        """\n$2');
}
