import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { agentProgram } from "../../server/capture/agent-program.ts";
import { chatMessage } from "../../server/capture/dialects/openai-message.ts";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import type { Json } from "../../src/contract/json.ts";
import { type Message, textMessage } from "../../src/contract/message.ts";
import { defineEnvironment } from "../../src/core/environment/define-environment.ts";
import { scriptedPolicy } from "../../src/core/policy/scripted-policy.ts";
import { chatTool } from "../../src/core/tools/chat-tool.ts";
import { callsOf } from "../server/capture/scripted-bytes.ts";
import { runPython } from "./python.ts";
import { providePythonEnvironment, trlEnvironment } from "./python-environment.ts";
import { type ServedPackages, servePackages } from "./served-packages.ts";

const prompts = ["Fill the sheet.", "Fill it again."];
const lyceum = [process.execPath, join(import.meta.dirname, "../../cli/main.ts")];
const agent = [process.execPath, join(import.meta.dirname, "letter-agent.ts")];

/** The more of three letters are an a, the better. */
const sheets = defineEnvironment({
  id: "sheets",
  tasks: prompts,
  reset: ({ task }) => task,
  step: ({ text }) => ({ reward: [...text].filter((letter) => letter === "a").length / 3 }),
}) as EnvironmentDefinition;

/** A sequence as the capture server exports it. */
interface Sequence {
  readonly trainable: boolean;
  readonly input_ids: readonly number[];
  readonly loss_mask: readonly number[];
  readonly logprobs: readonly number[];
  readonly turn_lengths: readonly number[];
}

/** What the script trl_agent.py returns. */
interface Trained {
  readonly recorded: readonly { readonly sequences: readonly Sequence[]; readonly turns: readonly object[] }[];
  readonly sampled: readonly (readonly number[])[];
  readonly trained: readonly {
    readonly ids: readonly number[];
    readonly mask: readonly number[];
    readonly logprobs: readonly number[];
    readonly advantage: number;
  }[];
  readonly rows: readonly {
    readonly prompt_ids: readonly number[];
    readonly completion_ids: readonly number[];
    readonly env_mask: readonly number[];
    readonly logprobs: readonly number[];
    readonly agent_answer: string | null;
    readonly agent_sequences: number;
  }[];
  readonly deviations: readonly number[];
  readonly changed: number;
  readonly pid: number;
}

let packages: ServedPackages;
beforeAll(async () => {
  packages = await servePackages([sheets]);
});
afterAll(() => packages[Symbol.asyncDispose]());

/** Returns the conversations of the agent with a model that answers by a script. */
async function conversations(prompt: string, answers: readonly (Message | string)[]) {
  const env = { LETTER_LOG: join(packages.folder, "script.log") };
  const policy = await agentProgram({ command: agent, env }).open(scriptedPolicy([...answers]));
  try {
    const messages = [textMessage("user", prompt)];
    const { calls } = await policy.act({
      ...{ agent: "agent", messages, seed: 0 },
      sampling: { temperature: 1, maxTokens: 64 },
    });
    return calls!.map(({ messages, tools, action }) => ({
      messages: [...messages, action.message].map(chatMessage),
      tools: tools!.map(chatTool),
    }));
  } finally {
    await policy.close?.();
  }
}

describe("TRL's GRPOTrainer", () => {
  test("trains the model of a TypeScript agent on the tokens that the capture server recorded", async () => {
    const vowel = callsOf("", ["vowel", {}]);
    const consonant = callsOf("", ["consonant", {}]);
    const examples: object[] = [];
    for (const prompt of prompts) {
      for (const script of [[vowel], [consonant], [vowel, consonant], [consonant, vowel]]) {
        const calls = await conversations(prompt, [...script, "Done."]);
        expect(calls).toHaveLength(script.length + 1);
        examples.push(...calls);
      }
    }

    const log = join(packages.folder, "agent.log");
    const played = await runPython<Trained>({
      environment: await providePythonEnvironment(trlEnvironment),
      script: "trl_agent",
      packages: join(packages.folder, "sheets"),
      request: {
        ...{ url: packages.server.url, agent, env: { LETTER_LOG: log }, tasks: prompts.length, steps: 3, warmUp: 100 },
        lyceum,
        folder: join(packages.folder, "out"),
        examples: examples as Json,
      },
      timeoutMs: 1_200_000,
    });
    const { recorded, trained, rows, deviations, changed } = played;

    // Each step has four runs of the agent. Their tools ran in processes of Node, and the answers have what they wrote.
    expect(recorded).toHaveLength(12);
    const written = (await readFile(log, "utf8")).trim().split("\n");
    expect(written.map((line) => line.split(" ")[1]).sort()).toEqual(
      [...rows.map((row) => row.agent_answer).join("")].sort(),
    );
    expect(written.some((line) => line.startsWith(`${played.pid} `))).toBe(false);
    expect(rows.every(({ agent_sequences }) => agent_sequences === 1)).toBe(true);

    // Several calls of an agent are one sequence.
    expect(rows.some((row) => row.agent_answer !== "")).toBe(true);
    expect(recorded.some((rollout) => rollout.sequences[0]!.turn_lengths.length > 1)).toBe(true);

    // TRL trained on exactly the recorded ids, and masked what the model did not sample.
    const sequences = recorded.flatMap((rollout) => rollout.sequences.filter((row) => row.trainable));
    const key = (row: { readonly ids: readonly number[]; readonly mask: readonly number[] }) =>
      JSON.stringify([row.ids, row.mask]);
    const keyOfRow = ({ prompt_ids, completion_ids, env_mask }: Trained["rows"][number]) =>
      key({ ids: [...prompt_ids, ...completion_ids], mask: [...prompt_ids.map(() => 0), ...env_mask] });
    expect(trained.map(key).sort()).toEqual(
      sequences.map(({ input_ids: ids, loss_mask: mask }) => key({ ids, mask })).sort(),
    );
    // The recorded ids are those that the model sampled.
    const sampled = new Set(played.sampled.map((ids) => JSON.stringify(ids)));
    for (const { input_ids, loss_mask, turn_lengths } of sequences) {
      const ids = input_ids.filter((_, place) => loss_mask[place] === 1);
      let start = 0;
      for (const length of turn_lengths) {
        expect(sampled).toContain(JSON.stringify(ids.slice(start, start + length)));
        start += length;
      }
      expect(start).toBe(ids.length);
    }
    // The log-probabilities are those of the weights that TRL then trained.
    for (const [place, row] of trained.entries()) {
      const step = rows.slice(place - (place % 4), place - (place % 4) + 4);
      const { logprobs, env_mask } = step.find((own) => keyOfRow(own) === key(row))!;
      const captured = logprobs.filter((_, token) => env_mask[token] === 1);
      expect(captured).toHaveLength(row.logprobs.length);
      for (const [token, logprob] of row.logprobs.entries()) expect(captured[token]).toBeCloseTo(logprob, 3);
    }
    expect(Math.max(...deviations)).toBeGreaterThan(0);
    expect(trained.some(({ advantage }) => advantage !== 0)).toBe(true);
    expect(changed).toBeGreaterThan(0);
  });

  test("gets the failures of programs, and leaves no process behind", async () => {
    const log = join(packages.folder, "failing.log");
    const texts = ["answer", "fail", "hang", "call twice"];
    const played = await runPython<{
      readonly rows: Readonly<Record<string, readonly unknown[]>>;
      readonly rewards: readonly (number | null)[];
      readonly refused: readonly string[];
      readonly server: number;
    }>({
      environment: await providePythonEnvironment(trlEnvironment),
      script: "trl_agent_faults",
      packages: join(packages.folder, "sheets"),
      request: {
        ...{ url: packages.server.url, prompts: texts, refused: ["call nothing", "stop"], env: { AGENT_LOG: log } },
        agent: [process.execPath, join(import.meta.dirname, "failing-agent.ts")],
        lyceum,
        folder: join(packages.folder, "faults"),
      },
    });
    expect(played.rows.agent_answer).toEqual(["aab", null, null, "aab"]);
    expect(played.rows.agent_error).toEqual([
      null,
      expect.stringMatching(/^It ended with code 1: [\s\S]*It is broken\./),
      "It did not end within 15 seconds.",
      null,
    ]);
    expect(played.rows.agent_sequences).toEqual([1, 1, 1, 2]);
    expect(played.rewards).toEqual([2 / 3, null, null, 2 / 3]);
    expect(played.refused).toEqual([
      expect.stringContaining("The program made no model call to train on."),
      expect.stringContaining("The program made no model call to train on."),
    ]);
    const processes = (await readFile(log, "utf8")).trim().split("\n").map(Number);
    expect(processes).toHaveLength(6);
    for (const pid of [...processes, played.server]) expect(() => process.kill(pid, 0), `${pid}`).toThrow("ESRCH");
  });
});
