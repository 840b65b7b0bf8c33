import { LyceumError } from "../../src/contract/errors/index.ts";
import type { Taskset } from "../../src/contract/taskset.ts";
import { createRandom, deriveSeed } from "../../src/core/random/random.ts";
import { contentHash } from "../../src/core/taskset/content-hash.ts";
import { generatedTaskset } from "../../src/core/taskset/generated-taskset.ts";
import { mapTaskset } from "../../src/core/taskset/map-taskset.ts";
import { memoryTaskset } from "../../src/core/taskset/memory-taskset.ts";
import { type MathProblem, type MathTask, mathTask } from "./math-problem.ts";

/** What a taskset of generated problems is made from. */
export interface MathTasksetOptions {
  readonly split: "train" | "test";
  readonly seed: number;
  readonly generate: (random: ReturnType<typeof createRandom>) => MathProblem;
  readonly answerOnly: boolean;
  /** The most tasks; without it, `train` has no end and `test` has 500. */
  readonly limit?: number;
}

/** How many held-out problems there are where nothing else is asked for. */
const testSize = 500;

/** After so many draws without a new held-out problem there are held to be no more. */
const maximumDraws = 10_000;

/**
 * Generated problems of one split. Whether a problem is held out is a matter of its content alone: one in five, by
 * the hash of its short form. So no seed, order or wording lets a problem stand in both splits. `train` is made as it
 * is asked for and may repeat itself; `test` holds different problems, fewer than asked for where the generator
 * knows no more.
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

/** True for the one problem in five that no training split holds. */
function isHeldOut(problem: Pick<MathProblem, "terse">): boolean {
  return Number.parseInt(contentHash(problem.terse).slice(0, 8), 16) % 5 === 0;
}

function heldOutProblems({ seed, generate }: MathTasksetOptions, count: number): MathProblem[] {
  const problems = new Map<string, MathProblem>();
  let draws = 0;
  for (let i = 0; problems.size < count && draws < maximumDraws; i++) {
    const problem = generate(createRandom(deriveSeed(seed, "test", i)));
    draws++;
    if (!isHeldOut(problem) || problems.has(problem.terse)) continue;
    problems.set(problem.terse, problem);
    draws = 0;
  }
  if (problems.size > 0) return [...problems.values()];
  throw new LyceumError({
    code: "data.out-of-range",
    message: "These options of the math environment know too few problems to hold any out for a test.",
    hint: "Widen them: a higher difficulty, more digits, more operations.",
  });
}
