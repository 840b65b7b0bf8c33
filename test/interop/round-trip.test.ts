import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { textMessage } from "../../src/contract/message.ts";
import { loadRenderer } from "../../src/core/tokens/load-renderer.ts";
import { createOnnxBackend } from "../../trainers/backends/onnx/index.ts";
import { readLogits } from "../../trainers/backends/onnx/inspect.ts";
import { largestDifference, logitTolerance } from "./compare.ts";
import { runSection } from "./page-commands.ts";
import { forwardReference, temporaryFolder } from "./reference.ts";

const { environment: python } = inject("interop");

describe("the round trip of one agent", () => {
  let temporary: Awaited<ReturnType<typeof temporaryFolder>>;
  let folder: string;
  let printed: ReadonlyMap<string, string>;

  beforeAll(async () => {
    temporary = await temporaryFolder();
    const page = { document: "docs/round-trip.md", heading: "One agent", folder: temporary.path, python };
    ({ folder, printed } = await runSection(page));
  });
  afterAll(() => temporary?.[Symbol.asyncDispose]());

  test("evaluates, compares and collects what it trained", async () => {
    const output = [...printed.values()].join("\n");
    for (const model of ["train", "grpo", "again"]) expect(output).toContain(`my-env, runs/${model}/model: 20 tasks`);
    expect(output).toContain("20 tasks in both");
    expect((await readFile(join(folder, "good.jsonl"), "utf8")).split("\n").length).toBeGreaterThan(20);
  });

  test("each training changed its initial model", async () => {
    const weights = (run: string): Promise<Buffer> =>
      readFile(join(folder, "runs", run, "model", "adapter_model.safetensors"));
    expect((await weights("again")).equals(await weights("grpo"))).toBe(false);
  });

  test("has the logits of transformers, as an adapter and merged", async () => {
    const merged = join(folder, "merged");
    const [checkpoint, adapter] = [join(folder, "runs/train/model"), join(folder, "runs/again/model")];
    const renderer = await loadRenderer(merged);
    const ids = renderer.start({ messages: [textMessage("user", "spoon")] });
    const theirs = await forwardReference([
      { checkpoint: merged, ids: [ids] },
      { checkpoint, adapter, ids: [ids] },
      { checkpoint, ids: [ids] },
    ]);
    await using backend = await createOnnxBackend({ device: "cpu" });
    const logitsOf = async (path: string): Promise<Float32Array> => {
      const model = await backend.openModel({ source: { type: "pretrained", path }, trainable: { type: "frozen" } });
      return readLogits(model, ids);
    };
    for (const ours of [await logitsOf(merged), await logitsOf(adapter)]) {
      for (const { logits } of theirs.slice(0, 2)) {
        expect(largestDifference(ours, logits[0]!)).toBeLessThanOrEqual(logitTolerance);
      }
      expect(largestDifference(ours, theirs[2]!.logits[0]!)).toBeGreaterThan(0.01);
    }
  });
});
