import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { createOnnxBackend } from "../../trainers/backends/onnx/index.ts";
import { tinyModel } from "../backends/tinker/tiny-model.ts";
import { lyceum } from "./run-lyceum.ts";

it("answers only clients with the key, and ends at a signal", async () => {
  const folder = await mkdtemp(join(tmpdir(), "lyceum-serve-model-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await using backend = await createOnnxBackend({ device: "cpu", threads: 1 });
  const { path } = await tinyModel(backend, folder);
  const ready = Promise.withResolvers<{ url: string; end: () => void }>();
  const words = [
    "serve-model",
    path,
    "--name",
    "tiny",
    "--chat-template",
    "none",
    "--device",
    "cpu",
    "--token",
    "secret",
  ];
  const ended = lyceum(words, {
    folder,
    onOutput: (output, child) => {
      const [, url] = /^tiny at (http:\S+)/.exec(output) ?? [];
      if (url !== undefined) ready.resolve({ url, end: () => child.kill("SIGTERM") });
    },
  });
  const { url, end } = await ready.promise;
  const status = async (route: string, headers: Record<string, string>): Promise<number> => {
    return (await fetch(`${url}/api/v1/${route}`, { headers })).status;
  };
  expect(await status("get_server_capabilities", {})).toBe(401);
  expect(await status("get_server_capabilities", { "x-api-key": "other" })).toBe(401);
  expect(await status("get_server_capabilities", { "x-api-key": "secret" })).toBe(200);
  expect(await status("get_server_capabilities", { authorization: "Bearer secret" })).toBe(200);
  expect(await status("healthz", {})).toBe(200);
  end();
  expect(await ended).toMatchObject({ stderr: "" });
});

it("refuses an address that other machines reach without a key", async () => {
  const { code, stderr } = await lyceum(["serve-model", "none", "--host", "0.0.0.0"], { folder: tmpdir() });
  expect(code).toBe(2);
  expect(stderr).toContain("needs a token");
});
