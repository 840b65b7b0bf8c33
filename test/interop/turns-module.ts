import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { defineEnvironment } from "../../src/core/environment/define-environment.ts";

/** An episode of three turns. Its reward is the mean code of the characters, which differs between episodes. */
export const environment: EnvironmentDefinition = defineEnvironment({
  id: "three-turns",
  maxTurns: 3,
  tasks: (split) => [...(split === "train" ? "ABCDEFGH" : "STUVWXYZ")],
  reset: ({ task }) => task,
  step: ({ text, turn }) => {
    const codes = [...text].map((character) => character.charCodeAt(0) % 128);
    const reward = codes.reduce((sum, code) => sum + code, 0) / (128 * Math.max(codes.length, 1));
    return turn === 2 ? { reward } : { reward, reply: `Turn ${turn + 2}` };
  },
});
