import type { CodeGrade } from "../../sandbox/grading/grade-code.ts";
import type { ClassCompletionOptions } from "./class-completion-options.ts";
import type { ClassTask } from "./class-task.ts";
import type { MergedClass } from "./merge-class.ts";

/** The minimum and maximum reward of each preset. */
export const classRewardRanges: Readonly<Record<ClassCompletionOptions["reward"], readonly [number, number]>> = {
  correctness: [-0.1, 1],
  comlrl: [-1, 6],
};

/**
 * Returns the reward components of a class. All agents get the same reward.
 *
 * - `syntax`: the share of replies that parse and contain a method of their agent.
 * - `methods`: the share of methods that are present.
 * - `tests`: the mean over the test classes of the share of hidden tests that pass. In `comlrl`, the share of all
 *   hidden tests.
 * - `overlap`: a penalty for each method that another agent than its owner also wrote.
 */
export function classReward(options: {
  readonly preset: ClassCompletionOptions["reward"];
  readonly task: ClassTask;
  readonly owners: Readonly<Record<string, number>>;
  /** Undefined if the replies could not be merged. */
  readonly merged: MergedClass | undefined;
  readonly grade: CodeGrade | undefined;
}): Readonly<Record<string, number>> {
  const { preset, task, owners, merged, grade } = options;
  const names = Object.keys(owners);
  const valid = names.filter((name) => merged?.methods[name] === null);
  const methods = valid.length / names.length;
  const overlapping = new Set(merged?.replies.flatMap(({ overlap }) => overlap));
  const overlap = overlapping.size / names.length;
  if (preset === "comlrl") {
    return { methods: 2 * methods, tests: 4 * hiddenShare(grade), overlap: 0 - overlap };
  }
  const agents = new Set(Object.values(owners));
  const contributing = new Set(valid.map((name) => owners[name]));
  return {
    syntax: (0.05 * contributing.size) / agents.size,
    methods: 0.05 * methods,
    tests: 0.9 * meanByTestClass(task, grade),
    overlap: 0 - 0.1 * overlap,
  };
}

function counted(grade: CodeGrade): CodeGrade["tests"] {
  const hidden = grade.tests.filter(({ visible }) => !visible);
  return hidden.length === 0 ? grade.tests : hidden;
}

function share(tests: CodeGrade["tests"]): number {
  return tests.filter(({ passed }) => passed).length / tests.length;
}

function hiddenShare(grade: CodeGrade | undefined): number {
  return grade === undefined ? 0 : share(counted(grade));
}

function meanByTestClass({ tests }: ClassTask, grade: CodeGrade | undefined): number {
  if (grade === undefined) return 0;
  const classes = [...Map.groupBy(counted(grade), ({ index }) => tests[index]!.owner).values()];
  return classes.reduce((sum, ofClass) => sum + share(ofClass), 0) / classes.length;
}
