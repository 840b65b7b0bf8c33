import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { defineParallelEnvironment } from "../../src/core/environment/define-parallel-environment.ts";

const isRight = (text: string | undefined): boolean =>
  text !== undefined && text !== "" && text.charCodeAt(0) < 128 && text.charCodeAt(0) % 4 === 0;

/** Two agents with one turn each. Every right answer adds a half to the reward of both. */
export const environment: EnvironmentDefinition = defineParallelEnvironment({
  id: "fourth-letters-of-two",
  agents: ["left", "right"],
  maxTurns: 1,
  tasks: (split) => [...(split === "train" ? "ABCDEFGH" : "STUVWXYZ")],
  reset: ({ task }) => ({ left: `<${task}`, right: `>${task}` }),
  step: ({ texts }) => {
    const reward = (Number(isRight(texts.left)) + Number(isRight(texts.right))) / 2;
    return { rewards: { left: reward, right: reward } };
  },
}) as EnvironmentDefinition;
