import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { remoteEnvironment } from "lyceum/server";
import { describe, expect, it } from "vitest";
import { ModelService } from "../../server/grpc/generated/lyceum/v1/model_pb.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { runInProcess } from "./run-in-process.ts";
import { lyceum, tinyConfig } from "./run-lyceum.ts";

const source = (name: string): string => pathToFileURL(join(import.meta.dirname, "../../src", name)).href;
const root = source("index.ts");
const policies = source("entry-points/policies.ts");
const mine = `import { defineEnvironment } from "${root}";
export const environment = defineEnvironment({ id: "mine", tasks: ["a"], reset: () => "Say a.", step: ({ text }) => ({ reward: text === "a" ? 1 : 0 }) });
`;

/** A policy that prints "asked" and answers half a second later. */
const slow = `import { definePolicy } from "${policies}";
import { z } from "${import.meta.resolve("zod")}";
import { setTimeout } from "node:timers/promises";
export const policy = definePolicy({
  id: "slow",
  description: "Answers late.",
  options: z.object({}),
  open: async () => ({
    specificationVersion: "v1",
    name: "slow",
    accepts: ["text"],
    act: async () => {
      process.stdout.write("asked\\n");
      await setTimeout(500);
      return { action: { message: { role: "assistant", content: [{ type: "text", text: "late" }] }, finish: "stop" } };
    },
  }),
});
`;

async function folderWithEnvironment(): Promise<string> {
  const folder = temporaryFolder();
  await writeFile(join(folder, "mine.mts"), mine);
  await writeFile(join(folder, "slow.mts"), slow);
  return folder;
}

/** Starts `lyceum serve` with these words. Returns when it has printed the address of its gRPC server. */
async function serveModels(words: readonly string[], folder: string) {
  const ready = Promise.withResolvers<{ baseUrl: string; line: string }>();
  const asked = Promise.withResolvers<void>();
  let end = (): void => {};
  const ended = lyceum(["serve", ...words], {
    folder,
    onOutput: (output, child) => {
      end = () => child.kill("SIGTERM");
      const [line, address] = /.*gRPC at grpc:(\S+).*/.exec(output) ?? [];
      if (line !== undefined) ready.resolve({ baseUrl: `http:${address}`, line: line.replace(address!, "") });
      if (output.includes("asked")) asked.resolve();
    },
  });
  void ended.then(({ stderr }) => ready.reject(new Error(stderr)));
  const { baseUrl, line } = await ready.promise;
  const client = createClient(ModelService, createGrpcTransport({ baseUrl }));
  return { client, line, end, ended, asked: asked.promise };
}

const messages = [{ role: "user", content: [{ part: { case: "text" as const, value: "1+1=" } }] }];

describe("lyceum serve", () => {
  it("serves a trained model and another one without environments, and lets running calls end", async () => {
    const folder = await folderWithEnvironment();
    await writeFile(join(folder, "tiny.yaml"), tinyConfig);
    expect((await runInProcess(["train", "-c", "tiny.yaml", "-o", "run"], { folder })).code).toBe(0);
    const models = ["--model", "tiny=run", "--model", "slow=./slow.mts", "--device", "cpu"];
    const { client, line, end, ended, asked } = await serveModels(models, folder);
    expect(line).toBe("tiny, slow by gRPC at grpc: (Ctrl-C ends)");
    expect((await client.listModels({})).models.map(({ modelId }) => modelId)).toEqual(["tiny", "slow"]);
    const request = { messages, sampling: { temperature: 0, maxTokens: 4 } };
    const { action, tokens, usage } = await client.generate(request);
    expect(tokens!.completionIds.length).toBeGreaterThan(0);
    expect(tokens!.logprobs).toHaveLength(tokens!.completionIds.length);
    expect(usage!.completionTokens).toBe(tokens!.completionIds.length);
    const { outcomes } = await client.batchGenerate({ requests: [request, { ...request, modelId: "other" }] });
    expect(outcomes.map(({ result }) => (result.case === "error" ? result.value.code : result.case))).toEqual([
      "response",
      "config.unknown-name",
    ]);
    let last: unknown;
    for await (const { event } of client.streamGenerate({ request })) last = event.value;
    expect(last).toMatchObject({ action, tokens: { completionIds: tokens!.completionIds } });

    const running = client.generate({ modelId: "slow", messages });
    await asked;
    end();
    expect((await running).action!.message!.content[0]!.part.value).toBe("late");
    expect(await ended).toMatchObject({ code: 0, stderr: "" });
  });

  it("serves a model next to environments, by the name of the model", async () => {
    const words = ["-e", "./mine.mts", "--model", "./slow.mts"];
    const { client, line, end, ended } = await serveModels(words, await folderWithEnvironment());
    expect(line).toBe("  slow by gRPC at grpc:");
    expect((await client.listModels({})).models.map(({ modelId }) => modelId)).toEqual(["slow"]);
    end();
    expect((await ended).code).toBe(0);
  });

  it("serves several environments until SIGTERM, and lets running episodes end", async () => {
    const folder = await folderWithEnvironment();
    const ready = Promise.withResolvers<{ url: string; end: () => void }>();
    const ended = lyceum(
      ["serve", "-e", "./mine.mts,math", "--set", "math.digits=2", "--set", "math.tasks=arithmetic"],
      {
        folder,
        onOutput: (output, child) => {
          const url = /mine, math at (http:\S+)/.exec(output)?.[1];
          if (url !== undefined) ready.resolve({ url, end: () => child.kill("SIGTERM") });
        },
      },
    );
    const { url, end } = await Promise.race([
      ready.promise,
      ended.then(({ stderr }) => Promise.reject(new Error(stderr))),
    ]);
    const math = await remoteEnvironment(`${url}/math`);
    expect(math.spec.id).toBe("math");
    const remote = await remoteEnvironment(url);
    const environment = await remote.create();
    const { task } = await (await remote.tasks("train")).get(0);
    await environment.reset({ task, seed: 0 });
    end();
    await expect.poll(async () => (await fetch(`${url}/ready`)).status).toBe(503);
    const message = { role: "assistant" as const, content: [{ type: "text" as const, text: "a" }] };
    const { agents } = await environment.step({ agent: { message, finish: "stop" } });
    expect(agents.agent?.reward).toMatchObject({ status: "scored", value: 1 });
    await environment.close();
    const { code, stdout, stderr } = await ended;
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain("Waiting up to 30 s for 1 session to end");
  });

  it.each([
    [[], "There is nothing to serve"],
    [["--model", "./slow.mts", "--port", "8000"], "--port is for environments"],
    [["--model", "./slow.mts", "--set", "digits=2"], "--set is for environments"],
    [["--model", "./slow.mts", "--host", "0.0.0.0"], "the server needs a token"],
    [["--model", "./slow.mts", "--model", "./mine.mts"], "there are several models"],
    [["-e", "no-such-environment"], 'Unknown environment "no-such-environment"'],
    [["-e", "math,math"], 'Two environments have the name "math"'],
    [["-e", "math,tic-tac-toe", "--set", "digits=2"], "--set digits=2 names no environment"],
    [["-e", "math", "--host", "0.0.0.0"], "the server needs a token"],
    [["-e", "math", "--tls-cert", "cert.pem"], "TLS needs a certificate and its key"],
    [["-e", "math", "--tls-cert", "cert.pem", "--tls-key", "key.pem"], "cert.pem cannot be read"],
  ])("%j is refused", async (args, reason) => {
    const { code, stderr } = await runInProcess(["serve", ...args], { folder: await folderWithEnvironment() });
    expect(code).toBe(2);
    expect(stderr).toContain(reason);
  });
});
