import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { defineEnvironment } from "../../src/core/environment/define-environment.ts";

/** The code of the first character is below 128 and divisible by four. The prompt does not matter. */
const isRight = (text: string): boolean => text !== "" && text.charCodeAt(0) < 128 && text.charCodeAt(0) % 4 === 0;

/** A task that a tiny model learns by chance in a few steps. A random model is right about once in eight. */
export const environment: EnvironmentDefinition = defineEnvironment({
  id: "fourth-letters",
  tasks: (split) => [...(split === "train" ? "ABCDEFGH" : "STUVWXYZ")].flatMap((one) => [`${one}a`, `${one}b`]),
  reset: ({ task }) => task,
  step: ({ text }) => ({ reward: Number(isRight(text)) }),
  demonstrate: () => "D",
});
