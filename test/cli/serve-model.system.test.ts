import { tmpdir } from "node:os";
import { expect, it } from "vitest";
import { sharedEngine } from "../backends/onnx/shared-engine.ts";
import { tinyModel } from "../backends/tinker/tiny-model.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { runInProcess } from "./run-in-process.ts";
import { serveModel } from "./serve-model-process.ts";

const key = "secret";

/** Starts a server of a tiny model with a key. */
async function serveTiny() {
  const folder = temporaryFolder();
  await using backend = await sharedEngine();
  const { path } = await tinyModel(backend, folder);
  const words = [path, "--name", "tiny", "--chat-template", "none", "--token", key];
  const served = await serveModel(words, folder);
  const send = (route: string, init: RequestInit = {}) =>
    fetch(`${served.url}/${route}`, { ...init, headers: { authorization: `Bearer ${key}`, ...init.headers } });
  const post = (route: string, body: unknown) => send(route, { method: "POST", body: JSON.stringify(body) });
  return { ...served, send, post };
}

it("answers only clients with the key, and ends at a signal", async () => {
  const { send, child, ended } = await serveTiny();
  const status = async (route: string, headers: Record<string, string>): Promise<number> => {
    return (await send(route, { headers })).status;
  };
  const [none, wrong] = [{ authorization: "" }, { authorization: "", "x-api-key": "other" }];
  for (const route of ["api/v1/get_server_capabilities", "v1/models", "metrics"]) {
    expect(await status(route, none)).toBe(401);
    expect(await status(route, wrong)).toBe(401);
    expect(await status(route, { authorization: "", "x-api-key": key })).toBe(200);
    expect(await status(route, {})).toBe(200);
  }
  expect(await status("healthz", none)).toBe(200);
  expect(await status("api/v1/healthz", none)).toBe(200);
  expect(await status("api/v1/downloads/guessed", none)).toBe(404);
  child.kill("SIGTERM");
  expect(await ended).toMatchObject({ code: 0, stderr: "" });
});

it("counts requests, sessions and models", async () => {
  const { send, post } = await serveTiny();
  const { session_id } = (await (await post("api/v1/create_session", {})).json()) as { session_id: string };
  const lora_config = { rank: 2 };
  const created = await post("api/v1/create_model", { session_id, model_seq_id: 0, base_model: "tiny", lora_config });
  await post("api/v1/retrieve_future", await created.json());
  await post("v1/completions", { model: "tiny", prompt: "a", max_tokens: 2 });
  await post("v1/completions", { model: "other", prompt: "a" });
  await send("v1/models", { headers: { authorization: "" } });
  const text = await (await send("metrics")).text();
  for (const line of [
    "lyceum_sessions 1",
    "lyceum_models 1",
    "lyceum_models_max 16",
    "lyceum_running_requests 0",
    'lyceum_requests_total{kind="tinker",outcome="ok"} 3',
    'lyceum_requests_total{kind="completion",outcome="ok"} 1',
    'lyceum_requests_total{kind="completion",outcome="failed"} 1',
    'lyceum_refused_total{reason="token"} 1',
  ]) {
    expect(text.split("\n")).toContain(line);
  }
});

it("finishes running requests after a signal, and refuses new ones", async () => {
  const { post, child, ended } = await serveTiny();
  const prompt = { chunks: [{ tokens: [1] }] };
  const sample = { base_model: "tiny", prompt, num_samples: 500, sampling_params: { max_tokens: 60, stop: [] } };
  const promise = await (await post("api/v1/asample", sample)).json();
  const completion = post("v1/completions", { model: "tiny", prompt: [1], n: 64, max_tokens: 60 });
  // The server has received it.
  await (await post("api/v1/create_session", {})).json();
  child.kill("SIGTERM");
  await expect.poll(async () => (await post("api/v1/create_session", {})).status).toBe(503);
  const refused = await post("v1/completions", { model: "tiny", prompt: "a" });
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
  const result = await post("api/v1/retrieve_future", promise);
  expect(((await result.json()) as { sequences: unknown[] }).sequences).toHaveLength(500);
  expect((await completion).status).toBe(200);
  const { code, stdout, stderr } = await ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toContain("Waiting up to 30 s for 1 request to end");
});

it("refuses an address that other machines reach without a key", async () => {
  const { code, stderr } = await runInProcess(["serve-model", "none", "--host", "0.0.0.0"], { folder: tmpdir() });
  expect(code).toBe(2);
  expect(stderr).toContain("needs a token");
});
