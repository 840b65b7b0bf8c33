import { join } from "node:path";
import { expect, it } from "vitest";
import { kuhnPokerEnvironment, ticTacToeEnvironment } from "../../environments/index.ts";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { textOf } from "../../src/contract/message.ts";
import { scriptFile } from "../../src/core/policy/script-file.ts";
import { rolloutEpisode } from "../../src/core/rollout/rollout-episode.ts";
import { repository } from "./run-program.ts";

it.each<readonly [string, EnvironmentDefinition, readonly string[]]>([
  ["tic-tac-toe", ticTacToeEnvironment() as EnvironmentDefinition, [..."123456789"]],
  ["kuhn-poker", kuhnPokerEnvironment() as EnvironmentDefinition, ["check", "bet", "call", "fold"]],
])("random-player.ts makes every legal move of %s, and no other", async (_, environment, moves) => {
  const policies = await scriptFile(join(repository, "examples/agents/random-player.ts"));
  const tasks = await environment.tasks("train");
  const made = new Set<string>();
  for (let seed = 0; seed < 60; seed++) {
    const { status, agents } = await rolloutEpisode({ environment, task: await tasks.get(seed % 5), policies, seed });
    expect(status).toBe("completed");
    for (const { message } of Object.values(agents).flatMap(({ nodes }) => nodes)) {
      if (message.role === "assistant") made.add(textOf(message));
      else expect(textOf(message)).not.toMatch(/^That is no/);
    }
  }
  expect([...made].toSorted()).toEqual(moves.toSorted());
});
