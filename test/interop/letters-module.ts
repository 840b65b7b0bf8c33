import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { defineEnvironment } from "../../src/core/environment/define-environment.ts";

/** True if the answer begins with a character whose code is below 128 and a multiple of four, whatever the prompt is. */
const isRight = (text: string): boolean => text !== "" && text.charCodeAt(0) < 128 && text.charCodeAt(0) % 4 === 0;

/** A task that a tiny model learns by chance in a few steps. A random model is right about once in eight. */
export const environment: EnvironmentDefinition = defineEnvironment({
  id: "fourth-letters",
  tasks: (split) => [...(split === "train" ? "ABCDEFGH" : "STUVWXYZ")].flatMap((one) => [`${one}a`, `${one}b`]),
  reset: ({ task }) => task,
  step: ({ text }) => ({ reward: Number(isRight(text)) }),
  demonstrate: () => "D",
});
