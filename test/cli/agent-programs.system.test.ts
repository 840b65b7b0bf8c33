import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { openCatalog } from "../../cli/catalog.ts";
import { trainCommand } from "../../cli/train-command.ts";
import type { Episode } from "../../src/contract/episode.ts";
import type { ProgramSpecification } from "../../src/core/policy/program-specification.ts";
import { readTrace } from "../../src/core/trace/read-trace.ts";
import type { OnnxBackendOptions } from "../../trainers/backends/onnx/index.ts";
import { sharedEngine } from "../backends/onnx/shared-engine.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { tinyModel } from "../tiny-model.ts";
import { runInProcess } from "./run-in-process.ts";

let folder: string;
beforeAll(async () => {
  folder = temporaryFolder();
  await writeFile(join(folder, "answers.json"), '["seven"]');
  await writeFile(
    join(folder, "agent.mjs"),
    `export async function agent({ baseURL, apiKey, model, messages }) {
      let answer = "";
      for (let call = 0; call < 3; call++) {
        const response = await fetch(\`\${baseURL}/chat/completions\`, {
          method: "POST",
          headers: { authorization: \`Bearer \${apiKey}\` },
          body: JSON.stringify({ model, messages: [{ role: "user", content: messages.at(-1).content[0].text + call }] }),
        });
        answer = (await response.json()).choices[0].message.content;
      }
      return answer;
    }
    export const demonstrate = () => "expert";`,
  );
  await writeFile(join(folder, "other.mjs"), "export const agent = () => 'no model';");
  await writeFile(join(folder, "slow.mjs"), "export default () => new Promise(() => {});");
  await writeFile(join(folder, "empty.mjs"), "export const nothing = 4;");
  await writeFile(
    join(folder, "agent.sh"),
    `curl -s "$OPENAI_BASE_URL/chat/completions" -H "Authorization: Bearer $OPENAI_API_KEY" \\
      -d '{"messages":[{"role":"user","content":"hello"}]}' > /dev/null; echo shell`,
  );
});

/** Runs `lyceum train` for one step with a program in this process. */
async function train(
  programs: Readonly<Record<string, ProgramSpecification>>,
  { output, steps = 1, changes = {} }: { readonly output: string; readonly steps?: number; readonly changes?: object },
): Promise<void> {
  const config = join(folder, "config.yaml");
  const keys = {
    environment: { id: "math", tasks: "arithmetic", answerOnly: true },
    model: tinyModel(512),
    algorithm: { id: "grpo", groupSize: 2, dropGroupsWithoutSignal: false },
    agents: { programs },
    sampling: { maxTokens: 4 },
    rollout: { trace: true },
    probe: { groups: 0 },
    training: { steps, batchSize: 2, learningRate: 0.01 },
    ...changes,
  };
  await writeFile(config, stringify(keys));
  await trainCommand(
    { config, set: [], resume: steps > 1, output: join(folder, output) },
    {
      catalog: {
        ...(await openCatalog()),
        createBackend: ({ type: _, ...options }) => sharedEngine(options as OnnxBackendOptions),
      },
      view: { stream: { write: () => true }, color: false },
      signal: new AbortController().signal,
      resumeCommand: () => "",
    },
  );
}

const episodesOf = (output: string): Promise<Episode[]> =>
  Array.fromAsync(readTrace(join(folder, output, "trace.jsonl")));
const callsOf = ({ agents }: Episode): number => agents.agent!.turns[0]!.calls!.length;
const module = (name: string): string => join(folder, name);

describe("a config names the program that an agent acts by", () => {
  test("as a module", async () => {
    await train({ agent: { module: module("agent.mjs") } }, { output: "module" });
    const episodes = await episodesOf("module");
    expect(episodes.map(callsOf)).toEqual([3, 3, 3, 3]);
    expect(episodes[0]!.agents.agent!.policy).toBe("agent.mjs with weights 0");
    // A resumed run must have the same program.
    await expect(
      train({ agent: { module: module("other.mjs") } }, { output: "module", steps: 2 }),
    ).rejects.toMatchObject({
      code: "checkpoint.unusable",
      message: expect.stringContaining("agents.programs.agent.module"),
    });
    await train({ agent: { module: module("agent.mjs") } }, { output: "module", steps: 2 });
    expect(await episodesOf("module")).toHaveLength(8);
  });

  test("as a module next to the config, which the recorded config finds too", async () => {
    await train({ agent: { module: "./agent.mjs" } }, { output: "next" });
    const recorded = await readFile(join(folder, "next", "config.yaml"), "utf8");
    expect(recorded).toContain("module: ../agent.mjs");
  });

  test("as a command", async () => {
    await train({ agent: { command: ["sh", module("agent.sh")] } }, { output: "command" });
    for (const { agents } of await episodesOf("command")) {
      const { turns, nodes } = agents.agent!;
      expect(turns[0]!.calls).toMatchObject([{ messages: [{ content: [{ text: "hello" }] }] }]);
      expect(nodes.at(-1)!.message.content).toEqual([{ type: "text", text: "shell" }]);
    }
  });

  test("with its own maximum of model calls", async () => {
    await train({ agent: { module: module("agent.mjs"), maxModelCalls: 2 } }, { output: "calls" });
    expect((await episodesOf("calls")).map(callsOf)).toEqual([2, 2, 2, 2]);
  });

  test("with its own time limit", async () => {
    const slow = { agent: { module: module("slow.mjs"), timeoutSeconds: 0.05 } };
    await expect(train(slow, { output: "slow" })).rejects.toMatchObject({
      code: "timeout",
      message: expect.stringContaining("50 ms"),
    });
  });

  test("whose expert answers its model calls for SFT", async () => {
    const agent = { module: module("agent.mjs") };
    await train({ agent }, { output: "sft", changes: { algorithm: { id: "sft" } } });
    for (const { agents } of await episodesOf("sft")) {
      const answers = agents.agent!.turns[0]!.calls!.map(({ answer }) => answer.content);
      expect(answers).toEqual(Array(3).fill([{ type: "text", text: "expert" }]));
    }
  });

  test.each<[string, Readonly<Record<string, ProgramSpecification>>, string, string]>([
    ["an unknown agent", { aux: { command: ["true"] } }, "config.unknown-name", "aux"],
    ["a missing module", { agent: { module: "./none.mjs" } }, "data.not-found", "none.mjs"],
    ["a command and a module", { agent: { module: "a", command: ["b"] } }, "config.invalid", "either a command or"],
    ["neither", { agent: {} }, "config.invalid", "either a command or a module"],
  ])("and refuses %s", async (_, programs, code, message) => {
    await expect(train(programs, { output: "refused" })).rejects.toMatchObject({
      code,
      message: expect.stringContaining(message),
    });
  });

  test("and refuses a module without an agent", async () => {
    await expect(train({ agent: { module: module("empty.mjs") } }, { output: "empty" })).rejects.toMatchObject({
      code: "config.invalid",
      message: expect.stringContaining("its exports are nothing"),
    });
  });
});

test("lyceum eval plays a program over any model", async () => {
  const words = "eval --env math --set tasks=arithmetic --limit 2 --model scripted:answers.json";
  const { code, stderr } = await runInProcess(
    [...words.split(" "), "-M", "program.module=./agent.mjs", "--output", "evaluated"],
    { folder },
  );
  expect([code, stderr]).toEqual([0, ""]);
  const log = await Array.fromAsync(readTrace(join(folder, "evaluated", "episodes.jsonl")));
  expect(log.map(callsOf)).toEqual([3, 3]);
});
