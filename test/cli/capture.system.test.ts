import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { captureCommand } from "../../cli/capture-command.ts";
import type { CaptureArguments } from "../../cli/capture-program.ts";
import { openCatalog } from "../../cli/catalog.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { tinyModel } from "../tiny-model.ts";
import { runInProcess } from "./run-in-process.ts";

const defaults = { modelOption: [], backend: "onnx", device: "cpu", host: "127.0.0.1", maxSessions: 8 } as const;

/** Starts `lyceum capture` and returns what it printed. It ends with the test. */
async function start(args: Pick<CaptureArguments, "model"> & Partial<CaptureArguments>, environment = {}) {
  const stopping = new AbortController();
  const printed = Promise.withResolvers<string>();
  let text = "";
  const output = {
    write: (piece: string) => {
      text += piece;
      if (text.includes("admin key") || args.adminKey !== undefined) printed.resolve(text);
      return true;
    },
  };
  const catalog = await openCatalog();
  const running = captureCommand({ ...defaults, ...args }, { catalog, output, environment, signal: stopping.signal });
  running.catch(printed.reject);
  onTestFinished(async () => {
    stopping.abort();
    await running.catch(() => {});
  });
  const shown = await printed.promise;
  return { shown, url: /http:\S+(?=\/v1)/.exec(shown)![0], key: /admin key is (\S+)/.exec(shown)?.[1] };
}

async function curl(url: string, key: string, body?: object): Promise<unknown> {
  const data = body === undefined ? [] : ["-d", JSON.stringify(body)];
  const { stdout } = await promisify(execFile)("curl", ["-sS", url, "-H", `Authorization: Bearer ${key}`, ...data]);
  return JSON.parse(stdout);
}

test("a shell script with curl calls a trained model of the embedded engine, and its tokens are recorded", async () => {
  const folder = temporaryFolder();
  await writeFile(
    join(folder, "train.yaml"),
    `environment: math
model: ${JSON.stringify(tinyModel(512))}
algorithm: sft
training: { steps: 1, batchSize: 2, sampleEvery: 0 }
`,
  );
  expect(await runInProcess(["train", "-o", "run"], { folder })).toMatchObject({ code: 0, stderr: "" });
  const { url, key } = await start({ model: [join(folder, "run")], maxTokens: 4 });
  const { session_id, ...session } = (await curl(`${url}/sessions`, key!, { purpose: "train", seed: 3 })) as {
    session_id: string;
  };
  expect(session).toMatchObject({ capture_level: "tokens", rollout_type: "train" });
  const messages = [{ role: "user", content: "1+2=" }];
  const answer = (await curl(`${url}/v1/chat/completions`, session_id, { messages, max_tokens: 50 })) as {
    choices: [{ message: object }];
    usage: { completion_tokens: number };
  };
  const next = [...messages, answer.choices[0].message, { role: "user", content: "3+4=" }];
  await curl(`${url}/v1/chat/completions`, session_id, { messages: next });
  const { entries } = (await curl(`${url}/sessions/${session_id}/trace_entries`, key!)) as {
    entries: { prompt_token_ids: number[]; completion_token_ids: number[]; metadata: object }[];
  };
  const [one, two] = entries;
  const ids = [...one!.prompt_token_ids, ...one!.completion_token_ids];
  expect(entries).toHaveLength(2);
  expect(answer.usage.completion_tokens).toBe(one!.completion_token_ids.length);
  expect(one!.completion_token_ids.length).toBeLessThanOrEqual(4);
  expect(two!.prompt_token_ids.slice(0, ids.length)).toEqual(ids);
});

test("an address that other machines reach needs an admin key", async () => {
  const script = join(import.meta.dirname, "none.json");
  const starting = start({ model: [`scripted:${script}`], host: "0.0.0.0" });
  await expect(starting).rejects.toThrow("needs an admin key");
});
