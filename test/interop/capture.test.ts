import { beforeAll, describe, expect, test } from "vitest";
import { type CaptureSession, captureServer } from "../../server/capture/index.ts";
import type { Message } from "../../src/contract/message.ts";
import { callsOf, scriptedBytes } from "../server/capture/scripted-bytes.ts";
import { runPython } from "./python.ts";
import { providePythonEnvironment } from "./python-environment.ts";

/** What a client of an SDK saw. */
interface Played {
  readonly texts: readonly (string | null)[];
  readonly finishes: readonly string[];
  readonly sampled: number;
}

const answers: readonly (Message | string)[] = [
  callsOf("Adding.", ["add", { a: 1, b: 2 }], ["add", { a: 3, b: 4 }]),
  callsOf("", ["add", { a: 3, b: 7 }]),
  "It is 10.",
];
const texts = ["Adding.", null, "It is 10."];

const finishes: Readonly<Record<string, readonly string[]>> = {
  chat: ["tool_calls", "tool_calls", "stop"],
  responses: ["completed", "completed", "completed"],
  messages: ["tool_use", "tool_use", "end_turn"],
};

const styles = [
  ...["chat", "chat-stream", "responses", "responses-stream", "responses-by-id", "messages", "messages-stream"],
] as const;

let environment: string;
beforeAll(async () => {
  environment = await providePythonEnvironment({
    name: "capture",
    requirements: "capture-requirements.txt",
    download: "150 MB",
  });
});

describe("the official Python SDKs of OpenAI and Anthropic", () => {
  test("play turns with tools at every protocol, and each call extends the sampled ids of the last", async () => {
    await using server = await captureServer();
    const sessions = new Map<string, CaptureSession>();
    for (const style of styles) sessions.set(style, server.open({ policy: scriptedBytes(answers).policy }));
    const idle = server.open({ policy: scriptedBytes([]).policy });
    const keys = Object.fromEntries([...sessions].map(([style, { id }]) => [style, id]));
    const { played, refused } = await runPython<{
      readonly played: Readonly<Record<string, Played>>;
      readonly refused: readonly string[];
    }>({
      environment,
      script: "capture_clients",
      request: { action: "play", url: server.url, keys, refusedKey: idle.id },
    });
    for (const [style, session] of sessions) {
      const calls = session.calls();
      expect(calls, style).toHaveLength(3);
      expect(played[style], style).toEqual({
        texts,
        finishes: finishes[style.split("-")[0]!],
        sampled: calls.reduce((sum, { tokens }) => sum + tokens!.completionIds.length, 0),
      });
      let ids: readonly number[] = [];
      for (const [index, { continues, promptIds, tokens }] of calls.entries()) {
        expect(continues, style).toBe(index === 0 ? undefined : index - 1);
        expect(promptIds!.slice(0, ids.length), style).toEqual(ids);
        ids = [...promptIds!, ...tokens!.completionIds];
      }
      // All protocols lead to the same prompt.
      expect(ids, style).toEqual([
        ...sessions.get("chat")!.calls()[2]!.promptIds!,
        ...sessions.get("chat")!.calls()[2]!.tokens!.completionIds,
      ]);
    }
    expect(refused).toEqual([
      ...["openai BadRequestError 400", "openai BadRequestError 400", "anthropic BadRequestError 400"],
      ...["openai AuthenticationError 401", "openai AuthenticationError 401", "anthropic AuthenticationError 401"],
    ]);
    expect(idle.calls()).toEqual([]);
  });
});

describe("OpenEnv's classes of training", () => {
  test("accept the records of a session that was opened by HTTP", async () => {
    // The first answer goes to the probe of what the model reports.
    const { policy } = scriptedBytes(["", ...answers]);
    const adminKey = "the-admin-key";
    await using server = await captureServer({ policy, adminKey });
    const found = await runPython({
      environment,
      script: "capture_clients",
      request: { action: "read", url: server.url, adminKey },
    });
    expect(found).toEqual({
      opened: expect.objectContaining({ capture_level: "tokens", rollout_type: "train" }),
      ...{ texts, turns: 3, same: true, problems: [], trainable: true, deleted: true },
    });
  });
});
