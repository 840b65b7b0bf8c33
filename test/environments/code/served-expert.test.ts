import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { codeEnvironment } from "../../../environments/code/code.ts";
import { textMessage, textOf } from "../../../src/message/message.ts";
import { endpointPolicy } from "../../../src/policy/endpoint-policy.ts";
import { scriptedPolicy } from "../../../src/policy/scripted-policy.ts";
import { rolloutEpisode } from "../../../src/rollout/rollout-episode.ts";
import { chatServer, completion } from "../../policy/chat-server.ts";

test("a served model edits what the agent wrote, named in the options alone", async () => {
  await using server = await chatServer(() => completion("```javascript\nfunction twice(x) { return 2 * x; }\n```"));
  const folder = await mkdtemp(join(tmpdir(), "lyceum-expert-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, "problems.jsonl");
  const problem = {
    id: "twice",
    prompt: "Write twice(x), which doubles x.",
    entryPoint: "twice",
    tests: ["assert.deepEqual(twice(2), 4);", "assert.deepEqual(twice(3), 6);"],
  };
  await writeFile(path, `${JSON.stringify(problem)}\n`);
  const expert = `${server.baseUrl}#editor`;
  const environment = codeEnvironment({
    dataset: "jsonl",
    path,
    language: "javascript",
    sandbox: "isolated-vm",
    mode: "expert_edits",
    maxTurns: 2,
    expert,
  });
  const learner = scriptedPolicy(({ messages }) => {
    const edited = /An expert edited your code:\n\n```javascript\n([^`]*)```/.exec(textOf(messages.at(-1)!));
    return `\`\`\`javascript\n${messages.length > 1 ? edited?.[1] : "function twice(x) { return x; }"}\n\`\`\``;
  });
  const task = await (await environment.tasks(environment.splits[0]!)).get(0);
  const episode = await rolloutEpisode({ environment, task, policies: learner, seed: 1 });
  expect(server.requests.map(({ body }) => body.model)).toEqual(["editor"]);
  expect(episode).toMatchObject({ status: "completed", agents: { agent: { reward: { status: "scored", value: 1 } } } });
});

test.each(["openai:gpt-5-mini", "http://127.0.0.1:8000/v1", "editor"])("%s is no served model", (expert) => {
  const refused = expect.objectContaining({ code: "config.invalid", hint: expect.stringContaining("#") });
  expect(() => codeEnvironment({ mode: "expert_edits", expert })).toThrow(refused);
});

test("the key is that of the environment's variable", async () => {
  await using server = await chatServer(() => completion("4"));
  process.env.LYCEUM_API_KEY = "k";
  onTestFinished(() => {
    delete process.env.LYCEUM_API_KEY;
  });
  const messages = [textMessage("user", "Twice 2?")];
  await endpointPolicy(`${server.baseUrl}#m`).act({
    agent: "a",
    messages,
    sampling: { temperature: 1, maxTokens: 4 },
    seed: 1,
  });
  expect(server.requests[0]!.headers.authorization).toBe("Bearer k");
});
