import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { readManifest, readSummary } from "../../src/evaluation/log/read-log.ts";
import type { Ratings } from "../../src/evaluation/ratings/rate-runs.ts";
import {
  type ChatAnswer,
  type ChatRequest,
  type ChatServer,
  chatServer,
  completion,
} from "../core/policy/chat-server.ts";
import { asTextAnswer } from "../core/policy/text-answer.ts";
import { evalFolder } from "./eval-folder.ts";
import { runInProcess } from "./run-in-process.ts";
import type { LyceumResult } from "./run-lyceum.ts";

let folder: string;
beforeEach(async () => {
  folder = await evalFolder();
  const rows = Array.from({ length: 12 }, (_, n) => ({
    question: `${n} + ${n}?`,
    answer: `So ${2 * n}.\n#### ${2 * n}`,
  }));
  for (const split of ["train", "test"]) {
    await writeFile(join(folder, `${split}.jsonl`), rows.map((row) => JSON.stringify(row)).join("\n"));
  }
});

const run = (words: string): Promise<LyceumResult> => runInProcess(words.split(" "), { folder });

/** A server with one model, which adds up the numbers of the last question. */
async function adder(answer: (text: string) => ChatAnswer = (text) => completion(text)): Promise<ChatServer> {
  const server = await chatServer((request: ChatRequest) => {
    const { messages, prompt } = request;
    if (messages === undefined && prompt === undefined) return { body: { data: [{ id: "adder" }] } };
    const said = messages === undefined ? String(prompt) : String(messages.at(-1)!.content);
    const asked = [...said.matchAll(/(\d+) \+ (\d+)/g)].at(-1)!;
    const given = answer(` #### ${Number(asked[1]) + Number(asked[2])}\n\nQuestion: 1 + 1?`);
    return messages === undefined ? asTextAnswer(given) : given;
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server;
}

const asked = ({ requests }: ChatServer): ChatRequest[] =>
  requests.flatMap(({ body }) => (body.messages === undefined && body.prompt === undefined ? [] : [body]));

describe("lyceum eval of a served model", () => {
  it("sends the published prompt of a benchmark to the completions endpoint", async () => {
    const server = await adder();
    const words = `eval gsm8k --format completion -s path=./{split}.jsonl -l 6 -o a -m ${server.baseUrl}`;
    expect(await run(words)).toMatchObject({ code: 0, stderr: "" });
    const requests = asked(server);
    expect(requests).toHaveLength(6);
    for (const { prompt, stop, messages } of requests) {
      expect(messages).toBeUndefined();
      expect(stop).toEqual(["Question:", "</s>", "<|im_end|>"]);
      expect(String(prompt)).toMatch(
        /^(Question: \d+ \+ \d+\?\nAnswer: So \d+\.\n#### \d+\n\n){5}Question: .*\nAnswer:$/,
      );
    }
    const { metrics } = await readSummary(join(folder, "a"));
    expect([metrics.accuracy!.value, metrics["component/strict-match"]!.value]).toEqual([1, 1]);
  });

  it("sends the options within the limits, and resumes only with the same fields", async () => {
    const server = await adder();
    vi.stubEnv("GATEWAY_KEY", "k1");
    onTestFinished(() => void vi.unstubAllEnvs());
    const words = `eval gsm8k -s path=./{split}.jsonl -l 6 -o a -m adder -M baseUrl=${server.baseUrl} -M maxConcurrent=2 -M apiKeyVariable=GATEWAY_KEY`;
    expect(await run(`${words} -M extraBody.top_k=20`)).toMatchObject({ code: 0, stderr: "" });
    expect(server.busiest()).toBeLessThanOrEqual(2);
    for (const { headers } of server.requests) expect(headers.authorization).toBe("Bearer k1");
    for (const body of asked(server)) expect(body).toMatchObject({ model: "adder", top_k: 20 });
    const { identity } = await readManifest(join(folder, "a"));
    expect(identity).toMatchObject({
      models: { agent: "adder" },
      modelOptions: { adder: { extraBody: { top_k: 20 } } },
    });
    for (const file of ["evaluation.json", "episodes.jsonl"]) {
      expect(await readFile(join(folder, "a", file), "utf8")).not.toContain("k1");
    }
    const other = await run(`${words} -M extraBody.top_k=40 --resume`);
    expect(other).toMatchObject({ code: 2, stderr: expect.stringContaining("modelOptions was") });
    // Limits do not affect answers.
    expect(await run(`${words} -M extraBody.top_k=20 -M maxRetries=1 --resume`)).toMatchObject({ code: 0, stderr: "" });
    expect(asked(server)).toHaveLength(6);
  });

  it("leaves out the fields that -M and a policy file of the judge name", async () => {
    await writeFile(join(folder, "questions.jsonl"), '{"turns": ["1 + 1?"]}\n');
    await writeFile(join(folder, "other.json"), JSON.stringify(["2."]));
    const server = await chatServer(({ messages }) => {
      if (messages === undefined) return { body: { data: [] } };
      return completion(String(messages[0]!.content).includes("Assistant B:") ? "[[A]]" : "2.");
    });
    onTestFinished(() => server[Symbol.asyncDispose]());
    const judge = { model: "j", baseUrl: server.baseUrl, omit: ["seed"], maxTokensField: "max_completion_tokens" };
    await writeFile(join(folder, "judge.json"), JSON.stringify(judge));
    const words = `eval win-rate -s path=questions.jsonl -m ${server.baseUrl}#m --opponent scripted:other.json -o out --judge judge.json`;
    const { code, stderr } = await run(`${words} -M omit=[temperature,seed] -M maxTokensField=max_tokens`);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const fields = (model: string): unknown[] => {
      const bodies = asked(server).filter((body) => body.model === model);
      return bodies.map(({ model: _, messages: __, ...rest }) => Object.keys(rest).toSorted());
    };
    expect(fields("m")).toEqual([["max_tokens"]]);
    expect(fields("j").length).toBeGreaterThan(0);
    for (const sent of fields("j")) expect(sent).toEqual(["max_completion_tokens", "temperature"]);
    const refused = await run(`${words} -M omit=[messages]`);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("A request needs the field messages") });
  });

  it("compares three models with a judge, whose refused key ends the run", async () => {
    await writeFile(join(folder, "questions.jsonl"), '{"turns": ["1 + 1?", "2 + 2?"]}\n{"turns": ["3 + 3?"]}\n');
    for (const [name, answer] of [
      ["good", "2."],
      ["better", "Perhaps 2."],
      ["best", "Surely 2."],
    ] as const) {
      await writeFile(join(folder, `${name}.json`), JSON.stringify([answer, answer]));
    }
    const worth = (answers: string): number => ["Perhaps", "Surely"].findLastIndex((word) => answers.includes(word));
    const judged = await chatServer(({ messages }) => {
      if (messages === undefined) return { body: { data: [] } };
      const [a, b] = String(messages[0]!.content).split("Assistant B:") as [string, string];
      return completion(worth(a) > worth(b) ? "[[A]]" : worth(a) < worth(b) ? "[[B]]" : "[[C]]");
    });
    onTestFinished(() => judged[Symbol.asyncDispose]());
    const refusing = await chatServer(() => ({ status: 401, body: { error: "Who are you?" } }));
    onTestFinished(() => refusing[Symbol.asyncDispose]());
    const players = "-m scripted:good.json --opponent scripted:better.json --opponent scripted:best.json";
    const words = `eval win-rate ${players} -s path=questions.jsonl`;
    const refused = await run(`${words} -o refused --judge ${refusing.baseUrl}#j`);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("error[policy.unauthorized]: ") });
    expect(refused.stderr).toContain("--retry-failed");

    const done = await run(`${words} -o out --judge ${judged.baseUrl}#j`);
    expect(done).toMatchObject({ code: 0, stderr: "" });
    expect(done.stdout).toMatch(/win-rate: 3 players, 6 games\n/);
    const { players: rated } = JSON.parse(await readFile(join(folder, "out/ratings.json"), "utf8")) as Ratings;
    expect(rated.map(({ model, wins, draws, losses }) => [model, wins, draws, losses])).toEqual([
      ["scripted:best.json", 4, 0, 0],
      ["scripted:better.json", 2, 0, 2],
      ["scripted:good.json", 0, 0, 4],
    ]);
  });

  it("scores a judged run again only with a judge", async () => {
    await writeFile(join(folder, "talk.json"), JSON.stringify(Array(8).fill("Because studies show it, taxes fall.")));
    const verdict = (points: number) => ({
      evidence: points,
      reasoning: points,
      consistency: points,
      answering: points,
    });
    const judge = (first: number): string =>
      JSON.stringify([JSON.stringify({ speakers: [verdict(first), verdict(4)] })]);
    await writeFile(join(folder, "mild.json"), judge(6));
    await writeFile(join(folder, "harsh.json"), judge(2));
    const played = await run("eval debate -m scripted:talk.json -l 2 -o a --judge scripted:mild.json");
    expect(played).toMatchObject({ code: 0, stderr: "" });
    const nobody = await run("rescore a -o b");
    expect(nobody).toMatchObject({ code: 2, stderr: expect.stringContaining("judged by scripted:mild.json") });
    expect(await run("rescore a -o b --judge scripted:harsh.json")).toMatchObject({ code: 0, stderr: "" });
    const [mild, harsh] = [await readSummary(join(folder, "a")), await readSummary(join(folder, "b"))];
    expect(harsh.metrics.reward!.value).toBeLessThan(mild.metrics.reward!.value);
    expect(await readManifest(join(folder, "b"))).toMatchObject({ identity: { judge: "scripted:harsh.json" } });
  });
});
