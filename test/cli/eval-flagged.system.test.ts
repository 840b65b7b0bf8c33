import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { readSummary } from "../../src/evaluation/log/read-log.ts";
import { type ChatAnswer, chatServer, completion } from "../core/policy/chat-server.ts";
import { evalFolder } from "./eval-folder.ts";
import { lyceum } from "./run-lyceum.ts";

/** A moderation of OpenRouter. */
const flagged: ChatAnswer = {
  status: 403,
  body: {
    error: {
      code: 403,
      message: 'm requires moderation on P. Your input was flagged for "violence". No credits were charged.',
      metadata: { reasons: ["violence"], flagged_input: "3 + 3?" },
    },
  },
};

/** A blocked prompt of Gemini, which has status 200 and no choice. */
const blocked: ChatAnswer = {
  body: { promptFeedback: { blockReason: "PROHIBITED_CONTENT" }, usageMetadata: { promptTokenCount: 5 } },
};

/** A limit of a minute that calls itself a quota, as Gemini and OpenAI write it. */
const limited: ChatAnswer = {
  status: 429,
  headers: { "retry-after-ms": "20" },
  body: {
    error: {
      message: "You exceeded your current quota, please check your plan and billing details.",
      code: "insufficient_quota",
    },
  },
};

it("a flagged prompt stays unscored, a limit of a minute is waited for, and nothing is paid twice", async () => {
  const folder = await evalFolder();
  const rows = Array.from({ length: 8 }, (_, n) =>
    JSON.stringify({ question: `${n} + ${n}?`, answer: `#### ${2 * n}` }),
  );
  await writeFile(join(folder, "test.jsonl"), rows.join("\n"));
  const paid: string[] = [];
  const refused: string[] = [];
  const failing = new Set(["6"]);
  const server = await chatServer(({ messages }) => {
    if (messages === undefined) return { body: { data: [{ id: "m" }] } };
    const [, n] = /(\d+) \+ \d+/.exec(String(messages.at(-1)!.content)) as unknown as [string, string];
    const refuse = (answer: ChatAnswer): ChatAnswer => {
      refused.push(n);
      return answer;
    };
    if (n === "3") return refuse(flagged);
    if (n === "5") return refuse(blocked);
    if (n === "4" && !refused.includes("4")) return refuse(limited);
    if (failing.has(n))
      return refuse({ status: 529, body: { error: { type: "overloaded_error", message: "Overloaded" } } });
    paid.push(n);
    return completion(`#### ${2 * Number(n)}`);
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const words = `eval gsm8k -s path=./{split}.jsonl -o a -m ${server.baseUrl}#m -M maxRetries=1 -M retryDelayMs=1`;
  const run = (more = "") => lyceum(`${words}${more}`.split(" "), { folder });
  const counts = async (): Promise<unknown> => (await readSummary(join(folder, "a"))).counts;

  const first = await run();
  expect(first, first.stderr).toMatchObject({ code: 0 });
  expect(first.stdout).toContain("unscored");
  expect(paid.toSorted()).toEqual(["0", "1", "2", "4", "7"]);
  // The flagged and the blocked prompt are not sent again. The others are, once.
  expect(refused.toSorted()).toEqual(["3", "4", "5", "6", "6"]);
  expect(await counts()).toMatchObject({ episodes: 8, scored: 5, failed: 3, correct: 5 });

  failing.clear();
  const retried = await run(" --retry-failed");
  expect(retried, retried.stderr).toMatchObject({ code: 0 });
  expect(retried.stdout).toMatch(
    /status 403: m requires moderation[^\n]*\n +The server refuses the content of this prompt/,
  );
  expect(paid.toSorted()).toEqual(["0", "1", "2", "4", "6", "7"]);
  expect(refused.toSorted()).toEqual(["3", "3", "4", "5", "5", "6", "6"]);
  expect(await counts()).toMatchObject({ episodes: 8, scored: 6, failed: 2, correct: 6 });
});
