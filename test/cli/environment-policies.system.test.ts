import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createPolicyOpener } from "../../cli/policy-opener.ts";
import { codeEntry } from "../../environments/code/code.ts";
import { debateEntry } from "../../environments/debate/debate.ts";
import { environments } from "../../environments/index.ts";
import { textOf } from "../../src/contract/message.ts";
import { openEnvironment } from "../../src/core/environment/registry.ts";
import { scriptedPolicy } from "../../src/core/policy/scripted-policy.ts";
import { rolloutEpisode } from "../../src/core/rollout/rollout-episode.ts";
import { chatServer, completion } from "../core/policy/chat-server.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { tinyModel } from "../tiny-model.ts";
import { runInProcess } from "./run-in-process.ts";
import { lyceum } from "./run-lyceum.ts";

const catalog = {
  createBackend: () => Promise.reject(new Error("No engine is needed here.")),
  createTinkerBackend: () => Promise.reject(new Error("No engine is needed here.")),
};
const opener = () => createPolicyOpener({ catalog, signal: new AbortController().signal });

async function folderWith(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = temporaryFolder();
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  return folder;
}

const problem = {
  id: "twice",
  prompt: "Write twice(x), which doubles x.",
  entryPoint: "twice",
  tests: ["assert.deepEqual(twice(2), 4);", "assert.deepEqual(twice(3), 6);"],
};
const right = "```javascript\nfunction twice(x) { return 2 * x; }\n```";

const verdict = JSON.stringify({
  speakers: [1, 2].map((speaker) => ({ speaker, evidence: 5, reasoning: 5, consistency: 5, answering: 5 })),
});

test.each([["by its address"], ["by the keys of a policy file"]])("a served expert, named %s, edits", async (how) => {
  await using server = await chatServer(() => completion(right));
  const path = join(await folderWith({ "problems.jsonl": `${JSON.stringify(problem)}\n` }), "problems.jsonl");
  const expert = how === "by its address" ? `${server.baseUrl}#editor` : { model: "editor", baseUrl: server.baseUrl };
  const options = { dataset: "jsonl", path, language: "javascript", sandbox: "isolated-vm", maxTurns: 2 };
  await using policies = opener();
  const environment = await openEnvironment(codeEntry, {
    options: { ...options, mode: "expert_edits", expert },
    open: policies.open,
  });
  const learner = scriptedPolicy(({ messages }) => {
    const edited = /An expert edited your code:\n\n```javascript\n([^`]*)```/.exec(textOf(messages.at(-1)!));
    return `\`\`\`javascript\n${messages.length > 1 ? edited?.[1] : "function twice(x) { return x; }"}\n\`\`\``;
  });
  const task = await (await environment.tasks(environment.splits[0]!)).get(0);
  const episode = await rolloutEpisode({ environment, task, policies: learner, seed: 1 });
  expect(server.requests.filter(({ body }) => body.messages !== undefined).map(({ body }) => body.model)).toEqual([
    "editor",
  ]);
  expect(episode).toMatchObject({ status: "completed", agents: { agent: { reward: { status: "scored", value: 1 } } } });
});

test("a policy that is not needed is not opened", async () => {
  const refuse = (): never => {
    throw new Error("opened");
  };
  for (const [entry, options] of [
    [codeEntry, { mode: "passed", expert: "nowhere" }],
    [debateEntry, { judge: "rules" }],
  ] as const) {
    await openEnvironment(entry, { options, open: refuse });
  }
});

test("an option that names a policy is refused if there is no function that opens it", () => {
  expect(() => environments.create("debate", { judge: "openai:gpt-5-mini" })).toThrow(
    expect.objectContaining({ code: "config.invalid", message: expect.stringContaining("judge") }),
  );
});

test("a policy that is named twice is opened once", async () => {
  const folder = await folderWith({
    "count.mjs": "globalThis.opened = (globalThis.opened ?? 0) + 1; export default [];",
  });
  await using policies = opener();
  const name = `scripted:${join(folder, "count.mjs")}`;
  expect(await policies.open(name, "one")).toBe(await policies.open({ model: name }, "other"));
});

test("an unknown key of a policy is an error that names the option and the nearest key", async () => {
  await using policies = opener();
  const options = { judge: { model: "m", baseURL: "http://127.0.0.1:1/v1" } };
  await expect(openEnvironment(debateEntry, { options, open: policies.open })).rejects.toMatchObject({
    code: "config.invalid",
    message: expect.stringContaining('judge of environment "debate"'),
  });
});

const debate = (judge: string): string => `environment: { id: debate, rounds: 1, judge: ${JSON.stringify(judge)} }
model: ${JSON.stringify(tinyModel(4096))}
algorithm: { id: magrpo, groupSize: 2, turnStructure: episodes }
sampling: { maxTokens: 4 }
training: { steps: 1, batchSize: 1 }
`;

test("train, eval, collect and play open the judge that a config or an option names", async () => {
  await using server = await chatServer(() => completion(verdict));
  const judge = `${server.baseUrl}#judge`;
  const files = { "debate.yaml": debate(judge), "rules.yaml": debate("rules"), "answers.json": '["One.", "Two."]' };
  const folder = await folderWith(files);
  const asked = (): number => server.requests.filter(({ body }) => body.messages !== undefined).length;
  const set = ["--set", "rounds=1", "--set", `judge=${judge}`];
  const option = ["--set", "rounds=1", "--judge", judge];
  const commands: (readonly string[])[] = [
    ["train", "-c", "debate.yaml"],
    ["train", "-c", "rules.yaml", "--judge", judge, "--output", "judged"],
    ["eval", "--env", "debate", ...option, "-m", "scripted:answers.json", "-o", "eval", "--limit", "1"],
    ["eval", "debate", ...set, "-m", "scripted:answers.json", "-o", "benchmark", "--limit", "1"],
    [
      "collect",
      "--env",
      "debate",
      ...option,
      "--policy",
      "model",
      "-m",
      "scripted:answers.json",
      "-o",
      "c.jsonl",
      "-n",
      "1",
    ],
  ];
  for (const command of commands) {
    const before = asked();
    const { code, stderr } = await runInProcess(command, { folder });
    expect({ command, code, stderr }).toEqual({ command, code: 0, stderr: "" });
    expect(asked()).toBeGreaterThan(before);
  }
  const before = asked();
  const input = { text: "One.\n.\nTwo.\n.\n" };
  const played = await lyceum(["play", "debate", ...option], { folder, input });
  expect(played.code).toBe(0);
  expect(played.stdout).toContain("reward 0.5");
  expect(asked()).toBeGreaterThan(before);
});
