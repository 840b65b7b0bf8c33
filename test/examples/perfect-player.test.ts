import { join } from "node:path";
import { expect, it } from "vitest";
import { ticTacToeEnvironment } from "../../environments/index.ts";
import type { Policy } from "../../src/contract/policy.ts";
import { scriptFile } from "../../src/core/policy/script-file.ts";
import { rolloutEpisode } from "../../src/core/rollout/rollout-episode.ts";
import { repository } from "./run-program.ts";

const environment = ticTacToeEnvironment();
const player = (name: string): Promise<Policy> => scriptFile(join(repository, `examples/agents/${name}.ts`));

/** Returns X's rewards in 24 games, which begin with each cell in turn. */
async function rewards(policies: Readonly<Record<"x" | "o", Policy>>): Promise<unknown[]> {
  const tasks = await environment.tasks("train");
  const games = Array.from({ length: 24 }, async (_, seed) => {
    const task = await tasks.get(seed % Number(tasks.length));
    return (await rolloutEpisode({ environment, task, policies, seed })).agents.x!.reward;
  });
  return (await Promise.all(games)).map((reward) => (reward.status === "scored" ? reward.value : reward.reason));
}

it("perfect-player.ts draws against itself, and never loses against random moves", async () => {
  const [perfect, random] = await Promise.all([player("perfect-player"), player("random-player")]);
  expect(new Set(await rewards({ x: perfect, o: perfect }))).toEqual(new Set([0]));
  const asX = await rewards({ x: perfect, o: random });
  const asO = await rewards({ x: random, o: perfect });
  expect(asX).not.toContain(-1);
  expect(asO).not.toContain(1);
  expect(asX.filter((reward) => reward === 1).length).toBeGreaterThan(12);
});
