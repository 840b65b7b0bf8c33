import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { unscored } from "../../src/contract/reward.ts";
import { defineParallelEnvironment } from "../../src/core/environment/define-parallel-environment.ts";

/** The last letter says what is right; the first only tells tasks apart. */
export interface TeamTask {
  readonly prompt: string;
}

type Agent = "left" | "right";

const letters = "abcd";

/**
 * A task that two agents solve together or not at all: `left` must answer with a character of the class that the letter
 * says, `right` with one of the next class. The team earns 1 where both are right and nothing where one is, so neither
 * can reach a reward alone; `partial` is what one right answer earns. Two turns by default, which are alike but for a
 * mark in the prompt.
 */
export function teamEnvironment(
  options: {
    readonly turns?: number;
    readonly partial?: number;
    /** An answer of `left` that leaves the turn unscored. */
    readonly failing?: string;
    /** Whether the second turn goes on with the conversation. */
    readonly context?: "append" | "replace";
  } = {},
): EnvironmentDefinition<TeamTask> {
  const { turns = 2, partial = 0, failing, context = "replace" } = options;
  return defineParallelEnvironment<Agent, TeamTask>({
    id: "team",
    agents: ["left", "right"],
    maxTurns: turns,
    rewardRange: [0, turns],
    tasks: (split) => {
      const first = split === "train" ? "ABCDEFGH" : "STUVWXYZ";
      return [...first].flatMap((one) => [...letters].map((other) => ({ prompt: one + other })));
    },
    reset: ({ task }) => ({ left: `<${task.prompt}`, right: `>${task.prompt}` }),
    step: ({ task, texts, turn }) => {
      const wanted = letters.indexOf(task.prompt.at(-1)!);
      const right = [isOfClass(texts.left, wanted), isOfClass(texts.right, (wanted + 1) % 2)].filter(Boolean).length;
      const reward = right === 2 ? 1 : right * partial;
      return {
        reward: texts.left === failing ? unscored("the judge is silent") : reward,
        ...(turn + 1 < turns ? { replies: { left: `<${task.prompt}`, right: `>${task.prompt}` }, context } : {}),
      };
    },
    demonstrate: ({ prompt }) => {
      const wanted = letters.indexOf(prompt.at(-1)!);
      const turn = {
        left: String.fromCharCode(64 + (wanted % 2)),
        right: String.fromCharCode(64 + ((wanted + 1) % 2)),
      };
      return Array.from({ length: turns }, () => turn);
    },
  });
}

/** Two classes, by the parity of the character. */
function isOfClass(text: string, wanted: number): boolean {
  const code = text.charCodeAt(0);
  return code < 128 && code % 2 === wanted % 2;
}
