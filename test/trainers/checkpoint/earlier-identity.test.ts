import { expect, it } from "vitest";
import type { Json } from "../../../src/contract/json.ts";
import { checkSameRun, runIdentity } from "../../../trainers/checkpoint/run-identity.ts";
import { checkConfig } from "../../../trainers/config/training-config.ts";

/** Returns a copy of a recorded config without some of its keys. Each key is a path with dots. */
function without(config: Json, keys: readonly string[]): Json {
  const copy = structuredClone(config);
  for (const key of keys) {
    const path = key.split(".");
    const last = path.pop()!;
    const owner = path.reduce((part, name) => Reflect.get(part, name) as object, copy as object);
    expect(Reflect.has(owner, last), key).toBe(true);
    Reflect.deleteProperty(owner, last);
  }
  return copy;
}

it("a checkpoint of an earlier version that did not record some defaults belongs to the same run", () => {
  const config = checkConfig({
    algorithm: { id: "grpo" },
    model: { scratch: { heads: 2 }, adapter: { type: "lora" } },
    rewards: [{ type: "overlong-penalty", cache: 4 }],
  });
  const identity = runIdentity({ config, environment: "math", environmentOptions: {} });
  const plain = JSON.parse(JSON.stringify(identity)) as Json;
  const added = ["model.adapter.start", "model.adapter.dropout", "model.scratch.keyValueHeads"];
  const earlier = without(plain, ["model.precision", ...added, "algorithm.maskTruncated", "rewards.0.maxTokens"]);
  const check = (recorded: Json) => () =>
    checkSameRun({ path: "x", manifest: { config: recorded } } as never, identity);
  expect(check(earlier)).not.toThrow();
  Reflect.set(Reflect.get(earlier as object, "model") as object, "precision", "float16");
  expect(check(earlier)).toThrow('model.precision (was "float16", is "float32")');
});
