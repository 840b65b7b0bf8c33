import type { EnvironmentDefinition } from "../src/contract/environment.ts";
import { defineEnvironment } from "../src/core/environment/define-environment.ts";

/** An environment that returns its text, so that a server's own work is measured. */
export const environment: EnvironmentDefinition<string> = defineEnvironment<string>({
  id: "echo",
  tasks: ["Say something."],
  maxTurns: 1_000_000,
  reset: ({ task }) => task,
  step: ({ text }) => ({ reply: text }),
});
