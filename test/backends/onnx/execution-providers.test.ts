import { expect, it } from "vitest";
import { executionProviders } from "../../../trainers/backends/onnx/engine/session.ts";

it("a session uses the device with the requested index first, and then the cpu", () => {
  expect(executionProviders({ device: "cpu" })).toEqual(["cpu"]);
  expect(executionProviders({ device: "webgpu" })).toEqual(["webgpu", "cpu"]);
  expect(executionProviders({ device: "cuda", deviceIndex: 0 })).toEqual([{ name: "cuda", deviceId: 0 }, "cpu"]);
  expect(executionProviders({ device: "dml", deviceIndex: 2 })).toEqual([{ name: "dml", deviceId: 2 }, "cpu"]);
});
