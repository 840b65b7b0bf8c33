import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createTinkerBackend } from "../../../trainers/backends/tinker/index.ts";
import { assertClose, exampleData, trainStep } from "../../../trainers/testing/model-subject.ts";
import { servedModel } from "./served-model.ts";
import { startTinkerServer } from "./tinker-server.ts";

it("starts new adapters from the adapter that is served, by requests and by the client, if they have its rank", async () => {
  await using served = await servedModel();
  await using folder = await mkdtempDisposable(join(tmpdir(), "lyceum-served-adapter-"));
  const path = join(folder.path, "adapter");
  const { source: base, engine } = served;
  const trained = await engine.openModel({ source: base, trainable: { type: "lora", lora: { rank: 4 } } });
  await trainStep(trained, exampleData(1));
  await trained.export(path, "peft");
  const data = exampleData(2).map((datum) => ({ ...datum, lossMask: datum.lossMask.map(() => 1) }));
  const expected = await trained.forward(data, { outputs: ["logprobs"] });
  await using server = await startTinkerServer({ backend: engine, source: { ...base, path } });
  // biome-ignore lint/suspicious/noExplicitAny: each route has an answer of its own.
  const post = async (route: string, body: object): Promise<any> => {
    const answer = await fetch(`${server.url}/api/v1/${route}`, { method: "POST", body: JSON.stringify(body) });
    return answer.json();
  };
  const result = async (request: Promise<{ request_id: string }>) => post("retrieve_future", await request);
  const { session_id } = await post("create_session", {});
  const create = (model_seq_id: number, rank: number) =>
    result(post("create_model", { session_id, model_seq_id, base_model: path, lora_config: { rank } }));
  expect(await create(1, 8)).toMatchObject({ error: expect.stringMatching(/rank 4, but .* 8/) });
  const { model_id } = await create(2, 4);
  const sent = data.map(({ tokens, targets }) => ({
    model_input: { chunks: [{ type: "encoded_text", tokens: [...tokens] }] },
    loss_fn_inputs: {
      target_tokens: { data: [...targets], dtype: "int64", shape: [targets.length] },
      weights: { data: [...targets].map(() => 1), dtype: "float32", shape: [targets.length] },
    },
  }));
  const forward_input = { data: sent, loss_fn: "cross_entropy" };
  const { loss_fn_outputs } = await result(post("forward", { model_id, seq_id: 1, forward_input }));
  for (const [i, { logprobs }] of expected.entries()) {
    assertClose(Float32Array.from(loss_fn_outputs[i].logprobs.data), logprobs!, 1e-5);
  }

  const trainable = { type: "lora", lora: { rank: 4 } } as const;
  const connect = (gradients: "sum" | "auto") =>
    createTinkerBackend({ url: server.url, model: path, gradients, times: { delayMs: 1 } });
  await using client = await connect("sum");
  const remote = await client.openModel({ source: base, trainable });
  for (const [i, { logprobs }] of (await remote.forward(data, { outputs: ["logprobs"] })).entries()) {
    assertClose(logprobs!, expected[i]!.logprobs!, 1e-5);
  }
  await using measuring = await connect("auto");
  await expect(measuring.openModel({ source: base, trainable })).rejects.toThrow(/rank 4, but .* 1/);
});
