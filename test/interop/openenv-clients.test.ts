import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  codeEnvironment,
  mathEnvironment,
  numberGuessingEnvironment,
  toolsEnvironment,
} from "../../environments/index.ts";
import { serveEnvironments } from "../../server/http/serve-environments.ts";
import { localRunner } from "../../server/session/local-runner.ts";
import { createSessionHost } from "../../server/session/session-host.ts";
import type { Action } from "../../src/contract/action.ts";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { type Message, textMessage, textOf } from "../../src/contract/message.ts";
import { runPython } from "./python.ts";
import { providePythonEnvironment } from "./python-environment.ts";

/** What a client saw of an episode. */
interface Played {
  readonly first: string;
  readonly task: string;
  readonly rewards: readonly (number | null)[];
  readonly dones: readonly boolean[];
  readonly texts: readonly string[];
  readonly steps: number;
}

interface Answers {
  readonly played: Readonly<Record<string, readonly Played[]>>;
  readonly tools: { readonly names: readonly string[]; readonly results: readonly string[] };
  readonly validated: readonly {
    readonly exit: number;
    readonly passed: boolean;
    readonly criteria: readonly { readonly id: string; readonly passed: boolean }[];
  }[];
  readonly tasks: Readonly<Record<string, unknown>>;
}

/** The actions of an episode, for the task with the index. */
interface Script {
  readonly index: number;
  readonly messages: readonly Message[];
}

const twice = {
  name: "HumanEval_900_twice",
  language: "js",
  prompt: "// Twice x.\nfunction twice(x){\n",
  tests: `const assert = require('node:assert');


function test() {
  let candidate = twice;
  assert.deepEqual(candidate(1),2);
  assert.deepEqual(candidate(5),10);
}

test();`,
};

let folder: string;
let definitions: Readonly<Record<string, EnvironmentDefinition>>;
const scripts: Record<string, readonly Script[]> = {};
let answers: Answers;
let local: Readonly<Record<string, readonly Played[]>>;

beforeAll(async () => {
  const environment = await providePythonEnvironment({
    name: "capture",
    requirements: "capture-requirements.txt",
    download: "150 MB",
  });
  folder = await mkdtemp(join(tmpdir(), "lyceum-openenv-"));
  const path = join(folder, "twice.jsonl");
  await writeFile(path, JSON.stringify(twice));
  definitions = {
    math: mathEnvironment({ tasks: "arithmetic", limit: 50 }) as EnvironmentDefinition,
    code: codeEnvironment({ dataset: "humaneval-js", path, sandbox: "isolated-vm" }) as EnvironmentDefinition,
    tools: toolsEnvironment({ protocol: "native" }) as EnvironmentDefinition,
    "number-guessing": numberGuessingEnvironment() as EnvironmentDefinition,
  };
  for (const name of ["math", "tools", "number-guessing"]) {
    scripts[name] = [await expert(definitions[name]!, 0), await expert(definitions[name]!, 3)];
  }
  scripts.math = [...scripts.math!, { index: 1, messages: [said("I do not know.")] }];
  scripts.code = ["return 2 * x", "return x + 1"].map((body) => ({
    index: 0,
    messages: [said(`\`\`\`javascript\nfunction twice(x) { ${body}; }\n\`\`\``)],
  }));
  const named = Object.entries(definitions).map(([name, definition]) => ({ name, definition }));
  await using host = createSessionHost(await localRunner(named));
  await using server = await serveEnvironments({ host });
  answers = await runPython<Answers>({
    environment,
    script: "openenv_clients",
    request: {
      url: server.url,
      taskEnvironment: "math",
      calls: [{ name: "calculator", arguments: { expression: "6 * 7" } }],
      episodes: mapValues(scripts, (episodes, name) =>
        episodes.map(({ index, messages }) => ({
          reset: { seed: 5, split: splitOf(name), index },
          actions: messages.map(fieldsOf),
        })),
      ),
    } as never,
  });
  const played: [string, readonly Played[]][] = [];
  for (const [name, episodes] of Object.entries(scripts)) {
    const own: Played[] = [];
    for (const script of episodes) own.push(await play(definitions[name]!, splitOf(name), script));
    played.push([name, own]);
  }
  local = Object.fromEntries(played);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe("OpenEnv's own clients on a Lyceum server", () => {
  test.each([
    "math",
    "code",
    "tools",
    "number-guessing",
  ])("%s gives the rewards of the same episode in TypeScript", (name) => {
    expect(answers.played[name]).toEqual(local[name]);
    expect(local[name]!.every(({ dones }) => dones.at(-1) === true)).toBe(true);
    expect(local[name]!.map(({ rewards }) => rewards.at(-1))).toContain(1);
  });

  test("wrong answers have lower rewards", () => {
    expect(answers.played.math!.at(-1)!.rewards.at(-1)).toBe(0);
    expect(answers.played.code!.at(-1)!.rewards.at(-1)).toBeLessThan(1);
  });

  test("the client of MCP lists and calls tools", () => {
    expect(answers.tools.names).toContain("calculator");
    expect(answers.tools.results).toEqual([expect.stringContaining("42")]);
  });

  test("openenv validate passes with all six criteria, at the root and under a name", () => {
    for (const { exit, passed, criteria } of answers.validated) {
      expect(criteria.filter((one) => !one.passed)).toEqual([]);
      expect([exit, passed, criteria.length]).toEqual([0, true, 6]);
    }
  });

  test("requests and httpx read the Task API", async () => {
    const taskset = await definitions.math!.tasks("train");
    const [one, two, three] = await Promise.all(
      [1, 2, 3].map(async (index) => {
        const { id, hash } = await taskset.get(index);
        return { split: "train", index, id, hash };
      }),
    );
    expect(answers.tasks).toMatchObject({
      environments: ["math", "code", "tools", "number-guessing"],
      splits: [
        { name: "train", type: "train" },
        { name: "test", type: "test" },
      ],
      range: { tasks: [one, two, three] },
      missing: 400,
      task: { task: two },
      count: { num_tasks: 50 },
    });
  });
});

function splitOf(name: string): string {
  return name === "code" ? definitions.code!.splits[0]! : "train";
}

async function expert(definition: EnvironmentDefinition, index: number): Promise<Script> {
  const { task } = await (await definition.tasks("train")).get(index);
  const turns = await definition.demonstrate!(task, { seed: 5 });
  const messages = turns!.map((turn) => {
    const said = Object.values(turn)[0]!;
    return typeof said === "string" ? textMessage("assistant", said) : said;
  });
  return { index, messages };
}

function said(text: string): Message {
  return textMessage("assistant", text);
}

/** The fields of an action, as a client writes them by hand. */
function fieldsOf(message: Message) {
  const { toolCalls = [] } = message;
  const calls = toolCalls.map(({ id, name, arguments: given }) => ({ id, name, arguments: given }));
  return { text: textOf(message), ...(calls.length === 0 ? {} : { tool_calls: calls }) };
}

/** Plays an episode without a server. */
async function play(definition: EnvironmentDefinition, split: string, { index, messages }: Script): Promise<Played> {
  const { task, id } = await (await definition.tasks(split)).get(index);
  const environment = await definition.create();
  try {
    const shown = ({ agent }: { readonly [name: string]: { readonly messages: readonly Message[] } }): string =>
      agent?.messages.map(textOf).join("\n\n") ?? "";
    const first = shown(await environment.reset({ task, seed: 5 }));
    const results = [];
    for (const message of messages) {
      const finish: Action["finish"] = message.toolCalls === undefined ? "stop" : "tool-calls";
      results.push(await environment.step({ agent: { message, finish } }));
    }
    return {
      first,
      task: id,
      rewards: results.map(({ agents: { agent } }) => (agent?.reward?.status === "scored" ? agent.reward.value : null)),
      dones: results.map(({ observations }) => Object.keys(observations).length === 0),
      texts: results.map(({ observations }) => shown(observations)),
      steps: results.length,
    };
  } finally {
    await environment.close();
  }
}

function mapValues<From, To>(record: Readonly<Record<string, From>>, map: (value: From, name: string) => To) {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value, name)]));
}
