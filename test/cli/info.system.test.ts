import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { openCatalog } from "../../cli/catalog.ts";
import { collectInfo } from "../../cli/info.ts";
import { configKeysText, infoText, namedInfoText } from "../../cli/info-text.ts";
import { namedInfo } from "../../cli/named-info.ts";
import { displayWidth } from "../../reports/training/terminal-text.ts";
import { temporaryFolder } from "../temporary-folder.ts";

const catalog = await openCatalog();
const info = await collectInfo(catalog);

describe("collectInfo", () => {
  it("reports the versions, providers and devices of this machine", () => {
    expect(info.lyceum).toMatch(/^\d+\.\d+\.\d+/);
    expect(info.node).toBe(process.versions.node);
    expect(info.onnxruntime).toMatchObject({ version: expect.stringMatching(/^\d+\.\d+\.\d+/) });
    const providers = "providers" in info.onnxruntime ? info.onnxruntime.providers.map(({ name }) => name) : [];
    expect(providers).toContain("cpu");
    expect(info.devices.find(({ name }) => name === "cpu")).toEqual({ name: "cpu", works: true });
    for (const { name, works, reason } of info.devices) {
      expect(providers).toContain(name);
      expect(works).toBe(reason === undefined);
    }
  });

  it("lists every algorithm, environment and policy with its keys, all of them described", () => {
    expect(info.algorithms.map(({ id }) => id)).toEqual(expect.arrayContaining(["sft", "grpo"]));
    expect(info.environments.map(({ id }) => id)).toContain("math");
    expect(info.policies.map(({ id }) => id)).toEqual(expect.arrayContaining(["engine", "replay", "openai"]));
    for (const { id, keys, description } of [...info.algorithms, ...info.environments, ...info.policies]) {
      expect(description, id).not.toBe("");
      for (const key of keys) expect(key.description, `${id}: ${key.key}`).toBeTruthy();
    }
    for (const key of info.config) expect(key.description, key.key).toBeTruthy();
    expect(info.config.map(({ key }) => key)).toContain("training.steps");
  });

  it("survives JSON", () => {
    expect(JSON.parse(JSON.stringify(info))).toEqual(info);
  });
});

describe("infoText", () => {
  it("is one screen at the usual width, fits every width, and names everything", () => {
    expect(infoText(info, { width: 80, color: false }).trim().split("\n").length).toBeLessThanOrEqual(24);
    for (const width of [56, 60, 80, 120]) {
      const text = infoText(info, { width, color: false });
      for (const line of text.split("\n")) expect(displayWidth(line), line).toBeLessThanOrEqual(width);
      const words = new Set(text.split(/[\s,]+/));
      const names = [...info.algorithms, ...info.environments, ...info.policies].map(({ id }) => id);
      for (const name of names) expect(words).toContain(name);
    }
  });

  it("says how to install a runtime that is missing", () => {
    const missing = { error: "It is not installed.", hint: "Run npm install in your project." };
    const text = infoText({ ...info, onnxruntime: missing, devices: [] }, { width: 80, color: false });
    expect(text).toMatch(/\nONNX Runtime {2}It is not installed\.\n {14}Run npm install in your project\.\n/);
  });

  it("shows in one line the error that prevents the runtime from loading", () => {
    const text = infoText(
      { ...info, onnxruntime: { error: "not\u001b[2J\nthere" }, devices: [] },
      { width: 80, color: false },
    );
    expect(text).toMatch(/\nONNX Runtime {2}not.*there\n/);
    expect(text).not.toContain("\u001b");
  });
});

describe("configKeysText", () => {
  it("has every key and fits the width", () => {
    for (const width of [56, 80, 120]) {
      const lines = configKeysText(info, { width, color: false }).split("\n");
      for (const line of lines) expect(displayWidth(line), line).toBeLessThanOrEqual(width);
      const words = lines.map((line) => line.trim().split(/\s/)[0]);
      for (const { key } of info.config) expect(words).toContain(key);
    }
  });
});

describe("namedInfo", () => {
  it("describes every environment, algorithm and policy with its keys", async () => {
    const named = [
      ...info.environments.map(({ id, keys }) => ({ kind: "environment", id, keys })),
      ...info.algorithms.map(({ id, keys }) => ({ kind: "algorithm", id, keys })),
      ...info.policies.map(({ id, keys }) => ({ kind: "policy", id, keys })),
    ];
    for (const { kind, id, keys } of named) {
      const found = await namedInfo(id, catalog);
      expect(found).toMatchObject({ kind, id, keys });
      for (const width of [56, 80]) {
        const lines = namedInfoText(found, { width, color: false }).split("\n");
        for (const line of lines) expect(displayWidth(line), line).toBeLessThanOrEqual(width);
        const words = lines.map((line) => line.trim().split(/\s/)[0]);
        for (const { key } of keys) expect(words, id).toContain(key);
      }
    }
  });

  it("says whether a provider's package is installed and its key is set", async () => {
    vi.stubEnv("MISTRAL_API_KEY", "");
    const absent = await namedInfo("mistral", catalog);
    expect(absent.description).toContain("npm install @ai-sdk/mistral");
    expect(absent.description).toContain("MISTRAL_API_KEY, which is not set");
    vi.stubEnv("MISTRAL_API_KEY", "secret-key");
    const there = JSON.stringify(await namedInfo("mistral", catalog));
    expect(there).toContain("MISTRAL_API_KEY, which is set");
    expect(there).not.toContain("secret-key");
    vi.unstubAllEnvs();
  });

  it("describes the environment of a file, with its options", async () => {
    const folder = temporaryFolder();
    try {
      const file = join(folder, "mine.mjs");
      const text = `import { z } from ${JSON.stringify(import.meta.resolve("zod"))};
        const options = z.object({ digits: z.int().default(2).describe("How many digits.") });
        export const entry = { id: "mine", description: "Mine.", options, create: () => undefined };`;
      await writeFile(file, text);
      expect(await namedInfo(file, catalog)).toMatchObject({
        kind: "environment",
        description: "Mine.",
        keys: [{ key: "digits", default: 2, description: "How many digits." }],
      });
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it.each([
    ["mth", "math"],
    ["gprpo", "grpo"],
    ["opnai", "openai"],
    ["constructor", undefined],
  ])("refuses %s", async (name, nearest) => {
    const error = await namedInfo(name, catalog).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "config.unknown-name" });
    const { hint } = error as { hint: string };
    if (nearest === undefined) expect(hint).toMatch(/^Known: math, /);
    else expect(hint).toContain(`Did you mean "${nearest}"?`);
  });
});
