import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { type CodeBaselineName, codeBaseline, codeBaselineNames } from "../../../environments/code/baselines.ts";
import { codeEnvironment } from "../../../environments/code/code.ts";
import {
  type ActRequest,
  type ActResult,
  collectGroups,
  type Policy,
  rollout,
  rolloutEpisode,
  scriptedPolicy,
  textMessage,
  textOf,
} from "../../../src/index.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { pythonSandbox } from "../python-sandbox.ts";

const problems = ["twice", "thrice"].map((name, i) => ({
  prompt: `def ${name}(x):\n    """${i + 2} times x."""\n`,
  entryPoint: name,
  tests: [1, 2, 5].map((x) => `assert ${name}(${x}) == ${(i + 2) * x}`),
}));

let folder = "";
beforeAll(async () => {
  folder = temporaryFolder();
  await writeFile(join(folder, "own.jsonl"), problems.map((problem) => JSON.stringify(problem)).join("\n"));
});

const open = (maxTurns = 1) =>
  codeEnvironment({
    ...({ dataset: "jsonl", path: join(folder, "own.jsonl"), agents: 2 } as const),
    ...{ sandbox: pythonSandbox, reward: "comlrl", maxTurns },
  });

/** A model that answers by the prompt and records it. */
function model(answer: (text: string, request: ActRequest) => string) {
  const asked: { readonly agent: string; readonly text: string }[] = [];
  const policy: Policy = {
    specificationVersion: "v1",
    name: "model",
    accepts: ["text"],
    act: async (request): Promise<ActResult> => {
      const text = request.messages.map(textOf).join("\n---\n");
      asked.push({ agent: request.agent, text });
      const message = textMessage("assistant", `\`\`\`python\n${answer(text, request)}\n\`\`\``);
      return { action: { message, finish: "stop" }, usage: { promptTokens: 10, completionTokens: 3 } };
    },
  };
  return { policy, asked };
}

const factorOf = (text: string): number => (text.includes("thrice") ? 3 : 2);
const nameOf = (text: string): string => (text.includes("thrice") ? "thrice" : "twice");
/** Writes a helper with two arguments, and main with one, unless it has seen the helper. */
const coder = (text: string, { agent }: ActRequest): string => {
  if (agent === "aux") return "def aux(x, factor):\n    return x * factor";
  const sees = text.includes("x * factor");
  if (!text.includes("`aux`")) return `def ${nameOf(text)}(x):\n    return x * ${factorOf(text)}`;
  return `def ${nameOf(text)}(x):\n    return aux(x${sees ? `, ${factorOf(text)}` : ""}) + 0`;
};

async function play(name: CodeBaselineName, answer = coder, concurrency = 8) {
  const { policy, asked } = model(answer);
  const environment = open();
  const groups = await collectGroups(
    rollout({
      environment,
      tasks: await environment.tasks("train"),
      policies: codeBaseline(name, policy),
      seed: 1,
      groupSize: 3,
      concurrency,
    }),
  );
  const episodes = groups.flatMap((group) => group.episodes);
  const rewards = episodes.map(({ agents, error }) => {
    expect(error).toBeUndefined();
    const { reward } = agents.main!;
    return reward.status === "scored" ? reward.value : undefined;
  });
  return { rewards, asked, episodes };
}

describe("baselines", () => {
  it.each<[CodeBaselineName, number, number]>([
    // Main alone is right; there is no aux.
    ["single", 2.1, 1],
    // Main calls aux with one argument, so no test passes.
    ["concatenation", 1.5, 2],
    ["sequential", 4, 2],
    ["discussion", 4, 4],
  ])("%s gets %d on every problem with %d calls", async (name, reward, calls) => {
    const { rewards, asked } = await play(name);
    expect(rewards).toEqual(Array(6).fill(reward));
    expect(asked).toHaveLength(6 * calls);
  });

  it("have a test each", () => {
    expect(codeBaselineNames).toEqual(["single", "concatenation", "sequential", "discussion"]);
  });

  it("single asks for the whole function and does not mention aux", async () => {
    const { asked } = await play("single");
    expect(new Set(asked.map(({ agent }) => agent))).toEqual(new Set(["main"]));
    for (const { text } of asked) expect(text).not.toContain("aux");
  });

  it("sequential and discussion never confuse episodes", async () => {
    for (const name of ["sequential", "discussion"] as const) {
      let count = 0;
      /** Each draft has its own number and the problem of its episode. */
      const { asked, rewards } = await play(name, (text, request) => {
        const mine = `# ${nameOf(text)} ${request.agent} ${count++}`;
        return `${mine}\n${coder(text, request)}`;
      });
      expect(rewards).toEqual(Array(6).fill(4));
      const seen = asked.flatMap(({ agent, text }) => {
        const notes = [...text.matchAll(/# (\w+) (aux|main) \d+/g)];
        for (const note of notes) expect(note[1]).toBe(nameOf(text));
        return notes.filter((note) => note[2] !== agent).map((note) => note[0]);
      });
      expect(seen).toHaveLength(name === "sequential" ? 6 : 12);
      expect(new Set(seen).size).toBe(seen.length);
    }
  });

  it("discussion counts both of its calls", async () => {
    const { aux, main } = codeBaseline("discussion", model(coder).policy);
    const task = await (await open().tasks("train")).get(0);
    const request = {
      messages: [textMessage("user", "`aux`")],
      sampling: { temperature: 1, maxTokens: 9 },
      seed: 0,
      episode: { task, seed: 0, sampleIndex: 0, turn: 0 },
      signal: new AbortController().signal,
    };
    const results = await Promise.all([aux.act({ ...request, agent: "aux" }), main.act({ ...request, agent: "main" })]);
    for (const { usage } of results) expect(usage).toEqual({ promptTokens: 20, completionTokens: 6 });
  });

  it("work with two models, and in several turns", async () => {
    const helper = model(() => "def aux(x, factor):\n    return x * factor");
    let turns = 0;
    const solver = model((text) => (turns++ === 0 ? "nothing" : coder(text, { agent: "main" } as ActRequest)));
    const environment = open(3);
    const task = await (await environment.tasks("train")).get(0);
    const policies = codeBaseline("sequential", { aux: helper.policy, main: solver.policy });
    const episode = await rolloutEpisode({ environment, task, policies, seed: 0 });
    expect(episode).toMatchObject({ turns: 2, agents: { aux: { reward: { value: 4 } } } });
  });

  it("fail with the model that fails, and leave no agent waiting", async () => {
    const failing: Policy = {
      ...model(() => "").policy,
      act: async ({ agent, signal }) => {
        if (agent === "aux") throw new Error("out of order");
        return new Promise((_, reject) => signal!.addEventListener("abort", () => reject(signal!.reason)));
      },
    };
    for (const name of ["sequential", "discussion"] as const) {
      const environment = open();
      const task = await (await environment.tasks("train")).get(0);
      const episode = await rolloutEpisode({ environment, task, policies: codeBaseline(name, failing), seed: 0 });
      expect(episode).toMatchObject({ status: "failed", error: { message: expect.stringContaining("out of order") } });
    }
  });

  it("refuse to communicate outside of a rollout", async () => {
    const { main } = codeBaseline("sequential", scriptedPolicy([""]));
    const request = { agent: "main", messages: [], sampling: { temperature: 1, maxTokens: 1 }, seed: 0 };
    await expect(main.act(request)).rejects.toMatchObject({ code: "policy.unsupported-input" });
  });
});
