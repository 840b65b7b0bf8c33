import { readdir } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { createTinyHub, type TinyHub } from "../examples/tiny-hub.ts";
import { trainOneStep } from "../examples/train-one-step.ts";
import { blocksOf } from "./code-blocks.ts";

const blocks = await blocksOf("yaml");
let hub: TinyHub;

beforeAll(async () => {
  hub = await createTinyHub();
});
afterAll(() => hub[Symbol.asyncDispose]());

/** What a part of a config is completed by. */
const base = {
  environment: { id: "math", tasks: "arithmetic", answerOnly: true },
  algorithm: { id: "sft" },
  model: { scratch: {} },
};

describe("the configs of the documents", () => {
  it("are there, one of them whole", () => {
    const whole = blocks.filter(({ code }) => Object.keys(base).every((key) => key in (parse(code) as object)));
    expect(whole.length).toBeGreaterThan(0);
    expect(blocks.length).toBeGreaterThan(5);
  });

  it.each(blocks.map((block) => [`${block.document}:${block.line}`, block] as const))("%s trains", async (_, block) => {
    await using run = await trainOneStep({ config: { ...base, ...(parse(block.code) as object) }, hub });
    expect(run.output).toMatch(/\nstep 1\/1 /);
    expect(await readdir(run.folder)).toEqual(expect.arrayContaining(["metrics.jsonl", "model", "report.html"]));
  });
});
