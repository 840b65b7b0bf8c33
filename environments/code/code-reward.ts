import type { CodeLevels } from "../code-turns/code-levels.ts";
import type { CodeOptions } from "./code-options.ts";

/** The least and greatest reward of a preset. */
export const rewardRanges: Readonly<Record<CodeOptions["reward"], readonly [number, number]>> = {
  correctness: [0, 1],
  mrlm: [-0.5, 2],
};

/** What the levels are worth, by name; their sum is the reward. */
export function rewardComponents(preset: CodeOptions["reward"], levels: CodeLevels): Record<string, number> {
  const { syntax, definition, tests, passed, raised } = levels;
  if (preset === "mrlm") return { tests, bonus: passed ? 1 : 0, error: raised ? -0.5 : 0 };
  return { syntax: syntax ? 0.05 : 0, definition: definition ? 0.05 : 0, tests: 0.9 * tests };
}
