import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { defineEnvironment } from "../../src/core/environment/define-environment.ts";
import { execute } from "./execute.ts";
import { providePythonEnvironment, pythonOf, trlEnvironment } from "./python-environment.ts";
import { type ServedPackages, servePackages } from "./served-packages.ts";

const prompts = ["Write a.", "Write it again."];
const steps = 3;

/** The report of one process of trl_accelerate.py. */
interface Report {
  readonly rank: number;
  readonly processes: number;
  readonly backend: string;
  readonly pid: number;
  readonly episodes: number;
  readonly rewards: readonly number[];
  readonly steps: readonly number[];
  readonly calls: readonly number[];
  readonly changed: number;
  readonly weights: readonly number[];
}

/** The rewards of the server's episodes. */
const served: number[] = [];
let resets = 0;
const letters = defineEnvironment({
  id: "letters",
  tasks: prompts,
  // A second turn is possible, so the class has the tool that takes a turn.
  maxTurns: 2,
  reset: ({ task }) => {
    resets++;
    return task;
  },
  step: ({ text }) => {
    const reward = [...text].filter((letter) => letter === "a").length / Math.max(text.length, 1);
    served.push(reward);
    return { reward };
  },
}) as EnvironmentDefinition;

let packages: ServedPackages;
beforeAll(async () => {
  packages = await servePackages([letters]);
});
afterAll(() => packages[Symbol.asyncDispose]());

test("two processes of accelerate train one model on rollouts from one server", async () => {
  const { folder, server } = packages;
  const environment = await providePythonEnvironment(trlEnvironment);
  const request = join(folder, "request.json");
  await writeFile(request, JSON.stringify({ prompts, steps, warmUp: 100, folder }));
  const script = join(import.meta.dirname, "python/trl_accelerate.py");
  await execute(
    pythonOf(environment),
    [
      ...["-m", "accelerate.commands.accelerate_cli", "launch", "--multi_gpu", "--num_processes", "2"],
      ...["--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no", script, request],
    ],
    {
      timeoutMs: 900_000,
      environment: {
        PYTHONPATH: `${join(folder, "letters")}:${dirname(script)}`,
        PYTHONDONTWRITEBYTECODE: "1",
        LYCEUM_URL: server.url,
        HF_HUB_OFFLINE: "1",
        OMP_NUM_THREADS: "1",
        CUDA_VISIBLE_DEVICES: "",
      },
    },
  );
  const reports = await Promise.all(
    [0, 1].map(async (rank) => JSON.parse(await readFile(join(folder, `rank-${rank}.json`), "utf8")) as Report),
  );
  const [first, second] = reports as [Report, Report];
  expect(reports).toMatchObject([0, 1].map((rank) => ({ rank, processes: 2, backend: "gloo" })));
  expect(first.pid).not.toBe(second.pid);
  // Each process plays four episodes per step, all of them on this server.
  expect([first.episodes, second.episodes]).toEqual([4 * steps, 4 * steps]);
  expect(resets).toBe(8 * steps);
  expect(reports.flatMap(({ rewards }) => rewards.filter((reward) => reward !== 0)).toSorted()).toEqual(
    served.filter((reward) => reward !== 0).toSorted(),
  );
  expect(reports.every(({ rewards }) => rewards.some((reward) => reward !== 0))).toBe(true);
  // The trainer logs the mean reward of both.
  expect(first.steps).toHaveLength(steps);
  const all = [...first.rewards, ...second.rewards];
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  expect(sum(first.steps) / steps).toBeCloseTo(sum(all) / all.length, 5);
  expect(Math.max(...first.calls)).toBeGreaterThan(0);
  // Both have the same trained weights.
  expect(first.changed).toBeGreaterThan(0);
  expect(second.weights).toEqual(first.weights);
});
