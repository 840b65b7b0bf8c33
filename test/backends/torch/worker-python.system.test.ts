import { execFile } from "node:child_process";
import { globSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { createRandom } from "../../../src/core/random/random.ts";

const torch = path.resolve(import.meta.dirname, "../../../trainers/backends/torch");
const python = (args: readonly string[], environment: Readonly<Record<string, string>>) =>
  promisify(execFile)("python3", args, { env: { ...process.env, ...environment } });

it("the worker is Python without warnings", async () => {
  await using cache = await mkdtempDisposable(path.join(tmpdir(), "lyceum-torch-"));
  const files = globSync("worker/*.py", { cwd: torch }).map((file) => path.join(torch, file));
  expect(files.length).toBeGreaterThan(5);
  await python(["-W", "error", "-m", "py_compile", ...files], { PYTHONPYCACHEPREFIX: cache.path });
});

it("the worker draws the numbers of createRandom", async () => {
  const seeds = [0, 1, 7, -3, 2 ** 31, 2 ** 40 + 5, Number.MAX_SAFE_INTEGER, -(2 ** 52), 0.5, 1e300, -1e-9];
  const script = `
import json
from worker.random import Random
print(json.dumps([[stream.next() for _ in range(5)] for stream in map(Random, json.loads('${JSON.stringify(seeds)}'))]))`;
  const { stdout } = await python(["-c", script], { PYTHONPATH: torch, PYTHONDONTWRITEBYTECODE: "1" });
  const expected = seeds.map((seed) => {
    const random = createRandom(seed);
    return Array.from({ length: 5 }, () => random.next());
  });
  expect(JSON.parse(stdout)).toEqual(expected);
});
