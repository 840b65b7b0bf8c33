import { expect, test } from "vitest";
import { thrownAt, userPlace } from "../../../src/contract/errors/source-location.ts";

function withStack(...frames: readonly string[]): Error {
  const error = new Error("broken");
  error.stack = `Error: broken\n${frames.map((frame) => `    at ${frame}`).join("\n")}`;
  return error;
}

test.each([
  ["step (/shop/a.ts:3:4)", "/shop/a.ts:3"],
  ["/shop/a.ts:3:4", "/shop/a.ts:3"],
  ["async step (file:///shop/a.ts?v=2:3:4)", "/shop/a.ts:3"],
  ["async file:///shop/a.ts:3:4", "/shop/a.ts:3"],
  ["Object.<anonymous> (/my shop/a.ts:3:4)", "/my shop/a.ts:3"],
  ["new Shop (/shop/a.ts:3:4)", "/shop/a.ts:3"],
  ["step (/shop/a(1).ts:3:4)", "/shop/a(1).ts:3"],
  ["step (file:///shop/(group)/page.ts:3:4)", "/shop/(group)/page.ts:3"],
  ["async Promise.all (index 0)", undefined],
  ["eval (eval at step (/shop/a.ts:3:4), <anonymous>:1:1)", "/shop/a.ts:3"],
  ["step (/shop/a.ts:3:4)\r", "/shop/a.ts:3"],
  ["step (/shop/a.ts:3:4) {", "/shop/a.ts:3"],
  ["step (file:///shop/100%/a.ts:3:4)", "file:///shop/100%/a.ts:3"],
  ["step (file:///shop/a%2Fb.ts:3:4)", "file:///shop/a%2Fb.ts:3"],
  ["step (file://host/shop/a.ts:3:4)", "file://host/shop/a.ts:3"],
  ["step (file://host/shop/a.ts?v=2:3:4)", "file://host/shop/a.ts:3"],
  ["step (file:///shop/%zz.ts:3:4)", "file:///shop/%zz.ts:3"],
  ["step (file:///shop/%E0%A4%A.ts:3:4)", "file:///shop/%E0%A4%A.ts:3"],
  ["step (file:///shop/a%20b.ts:3:4)", "/shop/a b.ts:3"],
  ["step (file:///shop/%F0%9F%98%80.ts:3:4)", "/shop/😀.ts:3"],
  ["step (file:///shop/a%23b.ts:3:4)", "/shop/a#b.ts:3"],
  ["process.processTicksAndRejections (node:internal/process/task_queues:65:5)", undefined],
  ["async node:internal/modules/run_main:1:2", undefined],
  ["JSON.stringify (<anonymous>)", undefined],
])("the frame %j is at %s", (frame, place) => {
  expect(userPlace(withStack(frame))).toBe(place);
  expect(thrownAt(withStack(frame))?.replace(/:\d+$/, "")).toBe(place);
});

test("Node's own frames are passed over", () => {
  expect(userPlace(withStack("emit (node:internal/process/emit:1:2)", "step (/shop/a.ts:3:4)"))).toBe("/shop/a.ts:3");
});

test("a file that has a path is told before one that has none here", () => {
  const error = withStack("step (node:internal/x:1:2)", "step (file://host/a.ts:3:4)");
  expect(userPlace(error)).toBe("file://host/a.ts:3");
});
