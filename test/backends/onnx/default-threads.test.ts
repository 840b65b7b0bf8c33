import { availableParallelism } from "node:os";
import { expect, test } from "vitest";
import { defaultThreads } from "../../../trainers/backends/onnx/engine/default-threads.ts";

test.each([
  ["3", 3],
  [" 2 ", 2],
  ["4,2,1", 4],
  ["", availableParallelism()],
  ["0", availableParallelism()],
  ["-1", availableParallelism()],
  ["2.5", availableParallelism()],
  ["many", availableParallelism()],
  [undefined, availableParallelism()],
])("OMP_NUM_THREADS=%s gives %i threads", (value, threads) => {
  expect(defaultThreads({ OMP_NUM_THREADS: value })).toBe(threads);
});
