import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { defineEnvironment } from "../../src/core/environment/define-environment.ts";

/** The last letter determines the right answer. The first only distinguishes tasks. */
export interface LetterTask {
  readonly prompt: string;
}

const letters = "abcdefgh";

/**
 * A task that is small enough for a table. After a prompt such as `Xc`, the agent must answer with a character of the
 * right class, one of four by the last letter. A uniform model is right about once in eight. The splits `train` and
 * `test` share no prompt. `judge` maps right or wrong to the reward and may throw.
 */
export function letterEnvironment(
  options: { readonly judge?: (right: boolean) => number | Promise<number> } = {},
): EnvironmentDefinition<LetterTask> {
  const { judge = Number } = options;
  return defineEnvironment<LetterTask>({
    id: "letters",
    tasks: (split) => {
      const first = split === "train" ? "ABCDEFGH" : "STUVWXYZ";
      return [...first].flatMap((one) => [...letters].map((other) => ({ prompt: one + other })));
    },
    reset: ({ task }) => task.prompt,
    step: async ({ task, text }) => ({ reward: await judge(isRight(task, text)) }),
    demonstrate: (task) => String.fromCharCode(64 + classOf(task)),
  });
}

function isRight(task: LetterTask, text: string): boolean {
  const code = text.charCodeAt(0);
  return code < 128 && code % 4 === classOf(task);
}

function classOf({ prompt }: LetterTask): number {
  return letters.indexOf(prompt.at(-1)!) % 4;
}
