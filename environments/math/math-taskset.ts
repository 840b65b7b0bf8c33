import { LyceumError } from "../../src/contract/errors/index.ts";
import type { Taskset } from "../../src/contract/taskset.ts";
import { createRandom, deriveSeed } from "../../src/core/random/random.ts";
import { contentHash } from "../../src/core/taskset/content-hash.ts";
import { generatedTaskset } from "../../src/core/taskset/generated-taskset.ts";
import { mapTaskset } from "../../src/core/taskset/map-taskset.ts";
import { memoryTaskset } from "../../src/core/taskset/memory-taskset.ts";
import { type MathProblem, type MathTask, mathTask } from "./math-problem.ts";

/** The options of a taskset of generated problems. */
export interface MathTasksetOptions {
  readonly split: "train" | "test";
  readonly seed: number;
  readonly generate: (random: ReturnType<typeof createRandom>) => MathProblem;
  readonly answerOnly: boolean;
  /** The maximum number of tasks. By default, `train` is unbounded and `test` has 500 tasks. */
  readonly limit?: number;
}

/** The default number of held-out problems. */
const testSize = 500;

/** The search for held-out problems ends after this many draws without a new one. */
const maximumDraws = 10_000;

/**
 * Returns the generated problems of one split. One problem in five is held out, by the hash of its short form, so no
 * seed, order or wording puts a problem into both splits. `train` is generated on demand and may contain duplicates.
 * `test` contains distinct problems, fewer than requested if the generator cannot produce enough.
 */
export function mathTaskset(options: MathTasksetOptions): Taskset<MathTask> {
  const { split, seed, generate, answerOnly, limit } = options;
  const name = `math/${split}`;
  if (split === "test") {
    const problems = heldOutProblems(options, limit ?? testSize);
    return memoryTaskset(
      name,
      problems.map((problem) => mathTask(problem, answerOnly)),
    );
  }
  const problems = generatedTaskset({
    name,
    seed: deriveSeed(seed, split),
    length: limit ?? "unbounded",
    generate,
    accept: ({ task }) => !isHeldOut(task),
  });
  return mapTaskset(problems, (problem) => mathTask(problem, answerOnly));
}

/** Returns true for a held-out problem. One problem in five is held out. */
function isHeldOut(problem: Pick<MathProblem, "terse">): boolean {
  return Number.parseInt(contentHash(problem.terse).slice(0, 8), 16) % 5 === 0;
}

function heldOutProblems({ seed, generate }: MathTasksetOptions, count: number): MathProblem[] {
  const problems = new Map<string, MathProblem>();
  /** The short forms of all problems that were drawn. */
  const drawn = new Set<string>();
  let draws = 0;
  for (let i = 0; problems.size < count && draws < maximumDraws; i++) {
    const problem = generate(createRandom(deriveSeed(seed, "test", i)));
    draws++;
    if (drawn.has(problem.terse)) continue;
    drawn.add(problem.terse);
    if (!isHeldOut(problem)) continue;
    problems.set(problem.terse, problem);
    draws = 0;
  }
  if (problems.size > 0) return [...problems.values()];
  throw new LyceumError({
    code: "data.out-of-range",
    message: "These options of the math environment give too few problems to hold out any of them for the test split.",
    hint: "Use a higher difficulty, more digits or more operations.",
  });
}
