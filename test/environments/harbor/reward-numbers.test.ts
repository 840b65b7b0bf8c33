import { expect, test } from "vitest";
import { readReward } from "../../../environments/harbor/reward-file.ts";

test.each([
  ["1_0", 10],
  [" 1 ", 1],
  ["+.5\r\n", 0.5],
  ["1.", 1],
  ["1e-2", 0.01],
  ["0x1", undefined],
  ["0b1", undefined],
  ["1__0", undefined],
  ["1e400", undefined],
  ["NaN", undefined],
  ["", undefined],
])("%j is read as Python's float reads it, or fails with a reason", (written, value) => {
  const text = Buffer.from(written);
  for (const json of [undefined, Buffer.from(JSON.stringify(written))]) {
    const reward = readReward({ json, text }, [0, 100]);
    expect(reward.status === "scored" && reward.failure === undefined ? reward.value : undefined).toBe(value);
  }
});
