import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { deduplicated } from "../../sandbox/grading/deduplicated.ts";
import { gradeCode } from "../../sandbox/grading/grade-code.ts";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { defineEnvironment } from "../../src/core/environment/define-environment.ts";
import { demonstrationPolicy } from "../../src/core/policy/demonstration-policy.ts";
import { samplerPolicy } from "../../src/core/policy/sampler-policy.ts";
import { rollout } from "../../src/core/rollout/rollout.ts";
import { memoryTaskset } from "../../src/core/taskset/memory-taskset.ts";
import { createByteRenderer } from "../../src/core/tokens/byte-renderer.ts";
import { checkEnvironment } from "../../src/entry-points/testing.ts";
import { evaluate } from "../../src/evaluation/evaluate.ts";
import { actRequest } from "../core/policy/act-request.ts";
import { seededSampler } from "../core/rollout/seeded-sampler.ts";
import { scriptedSandbox } from "../sandbox/scripted-sandbox.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { createBigramBackend } from "../trainers/bigram-backend.ts";
import { letterConfig, runTraining } from "../trainers/run-training.ts";

/** Returns the value as another version of its interface, as a package that was made for it may create it. */
function version2<Value extends object>(value: Value): Value {
  return { ...value, specificationVersion: "v2" };
}

const environment = defineEnvironment({
  id: "greeting",
  tasks: ["hello"],
  reset: ({ task }) => ({ prompt: task, state: undefined }),
  step: () => ({ reward: 1 }),
  demonstrate: () => ["hello"],
});
const policies = demonstrationPolicy({ environment });
const tasks = memoryTaskset("words", ["hello"]);
const sandbox = scriptedSandbox(() => ({}));

/** Each place at which a value from outside enters, and the name of the value in the error. */
const borders: readonly (readonly [name: string, use: () => unknown])[] = [
  ['Environment "greeting"', () => rollout({ environment: version2(environment), policies, tasks, seed: 0 })],
  ['Policy "demonstrations of greeting"', () => rollout({ environment, policies: version2(policies), tasks, seed: 0 })],
  ['Taskset "words"', () => Array.fromAsync(rollout({ environment, policies, tasks: version2(tasks), seed: 0 }))],
  [
    'Taskset "words" of environment "listed"',
    () =>
      defineEnvironment({
        id: "listed",
        tasks: version2(tasks),
        reset: ({ task }) => ({ prompt: task, state: undefined }),
        step: () => ({ reward: 1 }),
      }).tasks("train"),
  ],
  [
    'Taskset "words" of environment "greeting"',
    async () => {
      const written = { ...environment, tasks: async () => version2(tasks) };
      await using folder = await mkdtempDisposable(join(tmpdir(), "lyceum-version-"));
      await Array.fromAsync(evaluate({ environment: written, policies, folder: folder.path }));
    },
  ],
  [
    'Taskset "words" of environment "greeting"',
    async () => {
      const written = { ...environment, tasks: async () => version2(tasks) } as EnvironmentDefinition;
      const output = temporaryFolder();
      const { error } = await runTraining({ output, config: letterConfig(), environment: written });
      throw error;
    },
  ],
  [
    'An instance of environment "greeting"',
    async () => {
      const written = { ...environment, create: async () => version2(await environment.create()) };
      for await (const event of rollout({ environment: written, policies, tasks, seed: 0 })) {
        if (event.type === "episode-end") throw event.episode.error;
      }
    },
  ],
  [
    'Renderer "bytes"',
    () => samplerPolicy({ name: "model", sampler: () => seededSampler(), renderer: version2(createByteRenderer()) }),
  ],
  [
    'The sampler of policy "model"',
    () =>
      samplerPolicy({
        name: "model",
        sampler: () => version2(seededSampler()),
        renderer: createByteRenderer(),
      }).act(actRequest()),
  ],
  [
    'Sandbox "docker"',
    () =>
      gradeCode({
        sandbox: version2(sandbox),
        code: "",
        suite: { kind: "calls", language: "python", function: "f", tests: [{ args: [], expected: true }] },
      }),
  ],
  ['Sandbox "docker"', () => deduplicated(version2(sandbox))],
  [
    'Backend "bigram"',
    async () => {
      const backend = version2(createBigramBackend());
      const { error } = await runTraining({ output: temporaryFolder(), config: letterConfig(), backend });
      throw error;
    },
  ],
];

test.each(borders)("%s of another version is refused", async (name, use) => {
  await expect((async () => use())()).rejects.toMatchObject({
    code: "config.invalid",
    message: `${name} has specificationVersion "v2" instead of "v1".`,
    hint: expect.stringContaining("install"),
  });
});

test("a value without a version is refused", async () => {
  const { specificationVersion: _, ...unversioned } = policies;
  expect(() => rollout({ environment, policies: unversioned as typeof policies, tasks, seed: 0 })).toThrow(
    'Policy "demonstrations of greeting" has specificationVersion undefined instead of "v1".',
  );
});

test("the conformance suite of environments reports another version", async () => {
  const { problems } = await checkEnvironment(version2(environment));
  expect(problems.map(({ rule, message }) => [rule, message])).toEqual([
    ["spec-is-playable", 'Environment "greeting" has specificationVersion "v2" instead of "v1".'],
  ]);
});
