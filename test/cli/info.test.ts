import { describe, expect, it } from "vitest";
import { collectInfo } from "../../src/cli/info.ts";
import { infoText } from "../../src/cli/info-text.ts";
import { openRooms } from "../../src/cli/rooms.ts";
import { displayWidth } from "../../src/report/terminal-text.ts";

const info = await collectInfo(await openRooms());

describe("collectInfo", () => {
  it("tells versions, providers and devices as they are here", () => {
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

  it("lists every algorithm and environment with its keys, all of them described", () => {
    expect(info.algorithms.map(({ id }) => id)).toEqual(expect.arrayContaining(["sft", "grpo"]));
    expect(info.environments.map(({ id }) => id)).toContain("math");
    for (const { id, keys, description } of [...info.algorithms, ...info.environments]) {
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
  it("fits the width and names everything", () => {
    for (const width of [56, 60, 80, 120]) {
      const lines = infoText(info, { width, color: false, keys: true }).split("\n");
      for (const line of lines) expect(displayWidth(line), line).toBeLessThanOrEqual(width);
      const words = lines.map((line) => line.trim().split(/\s/)[0]);
      for (const { id, keys } of [...info.algorithms, ...info.environments]) {
        for (const word of [id, ...keys.map(({ key }) => key)]) expect(words).toContain(word);
      }
      for (const { key } of info.config) expect(words).toContain(key);
    }
  });

  it("leaves the other keys of a config out unless asked", () => {
    expect(infoText(info, { width: 80, color: false, keys: false })).not.toContain("training.steps");
  });
});
