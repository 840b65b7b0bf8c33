import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { AgentEpisode } from "../../src/contract/episode.ts";
import { readEntries, readEpisode } from "../../src/evaluation/log/read-log.ts";
import { sharedEngine } from "../backends/onnx/shared-engine.ts";
import { tinyModel } from "../backends/tinker/tiny-model.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { runInProcess } from "./run-in-process.ts";
import { serveModel } from "./serve-model-process.ts";

const define = JSON.stringify(join(import.meta.dirname, "../../src/core/environment/define-environment.ts"));

/** One turn per task. The reward is a digest of the answer, so that other answers have other rewards. */
const environment = `
import { defineEnvironment } from ${define};
export const environment = defineEnvironment({
  id: "digest",
  tasks: Array.from({ length: 12 }, (_, n) => ({ n })),
  reset: ({ task }) => "question " + task.n,
  step: async ({ text }) => ({ reward: [...text].reduce((sum, c) => (sum * 31 + c.codePointAt(0)) % 1009, 0) / 1009 }),
});
`;

/** The agent's record of each episode of a run, by task. */
async function agentsIn(folder: string): Promise<AgentEpisode[]> {
  const entries = [...(await readEntries(folder)).values()];
  const episodes = await Promise.all(entries.map((entry) => readEpisode(folder, entry)));
  return episodes.toSorted((a, b) => a.task.index - b.task.index).map(({ agents }) => agents.agent!);
}

/** The sampled tokens of a turn. */
const sampledOf = ({ nodes, turns }: AgentEpisode) => nodes[turns[0]!.node]!.tokens!;

it.each([
  "chat",
  "completions",
])("evaluates a served model as the model itself, over the endpoint %s", async (endpoint) => {
  const folder = temporaryFolder();
  await writeFile(join(folder, "digest.ts"), environment);
  await using backend = await sharedEngine();
  const { path } = await tinyModel(backend, folder);
  const { url } = await serveModel([path, "--name", "tiny", "--chat-template", "none"], folder);
  const words = `eval --env ./digest.ts --temperature 0 --max-tokens 12`.split(" ");
  const local = ["-m", path, "-M", "chatTemplate=none", "--device", "cpu", "-o", "local"];
  const runs = [local, ["-m", `${url}/v1`, "-M", `endpoint=${endpoint}`, "-o", "served"]];
  for (const run of runs)
    expect(await runInProcess([...words, ...run], { folder })).toMatchObject({ code: 0, stderr: "" });
  const [own, served] = [await agentsIn(join(folder, "local")), await agentsIn(join(folder, "served"))];
  expect(own).toHaveLength(12);
  expect(new Set(own.map(({ reward }) => JSON.stringify(reward))).size).toBeGreaterThan(6);
  expect(served.map(({ reward }) => reward)).toEqual(own.map(({ reward }) => reward));
  for (const [i, agent] of served.entries()) {
    expect(agent.nodes.map(({ message }) => message)).toEqual(own[i]!.nodes.map(({ message }) => message));
    const { ids, logprobs } = sampledOf(agent);
    expect(ids).toEqual(sampledOf(own[i]!).ids);
    for (const [t, logprob] of logprobs!.entries()) expect(logprob).toBeCloseTo(sampledOf(own[i]!).logprobs![t]!, 4);
  }
  // The tokens are those that were sampled, so that they can be trained on.
  const warm = [...words, "--temperature", "0.7", "--limit", "1", "-m", `${url}/v1`, "-o", "warm"];
  expect(await runInProcess(warm, { folder })).toMatchObject({ code: 0, stderr: "" });
  const [agent] = await agentsIn(join(folder, "warm"));
  expect(sampledOf(agent!)).toMatchObject({ mask: 1, temperature: 0.7 });
});
