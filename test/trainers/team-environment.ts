import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { unscored } from "../../src/contract/reward.ts";
import { defineParallelEnvironment } from "../../src/core/environment/define-parallel-environment.ts";

/** The last letter determines the right answers. The first only distinguishes tasks. */
export interface TeamTask {
  readonly prompt: string;
}

type Agent = "left" | "right";

const letters = "abcd";

/**
 * A task that two agents must solve together. `left` must answer with a character of the letter's class, `right` with
 * one of the next class. The team's reward is 1 if both are right, `partial` if one is right, and 0 otherwise. So with
 * `partial` 0, no agent can get a reward alone. There are two turns by default. They differ only by a mark in the
 * prompt.
 */
export function teamEnvironment(
  options: {
    readonly turns?: number;
    readonly partial?: number;
    /** An answer of `left` that makes the turn unscored. */
    readonly failing?: string;
    /** True if the second turn continues the conversation. */
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
