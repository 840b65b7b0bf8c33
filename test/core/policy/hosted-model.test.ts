import { expect, test } from "vitest";
import { addressOf, hostedModelError } from "../../../src/core/policy/hosted-model.ts";

test.each([
  ["deepseek-coder", ["deepseek:deepseek-coder", "https://api.deepseek.com/v1#deepseek-coder"]],
  ["gpt-4o", ["openai:gpt-4o"]],
  ["o3", ["openai:o3"]],
  ["claude-3-5-sonnet-20241022", ["anthropic:claude-3-5-sonnet-20241022"]],
  ["gemini-2.5-pro", ["google:gemini-2.5-pro"]],
  ["qwen3-coder-plus", ["https://dashscope.aliyuncs.com/compatible-mode/v1#qwen3-coder-plus"]],
])("the error for the bare name %s contains the names to use", (name, names) => {
  const error = hostedModelError(name);
  expect(error).toMatchObject({ code: "config.invalid", data: { name, names } });
  for (const full of names) expect(error!.hint).toContain(full);
});

test.each([
  "gpt2",
  "deepseek-ai/deepseek-coder-1.3b-base",
  "./deepseek-coder",
  "openai:gpt-4o",
  "Qwen/Qwen3-0.6B",
  "distilgpt2",
  "runs/a/model",
])("%s is not the name of a hosted model", (name) => {
  expect(hostedModelError(name)).toBeUndefined();
});

test("names of providers without a package have an address", () => {
  expect(addressOf("dashscope", "qwen-max")).toBe("https://dashscope.aliyuncs.com/compatible-mode/v1#qwen-max");
  expect(addressOf("openai", "gpt-4o")).toBeUndefined();
  expect(addressOf("toString", "x")).toBeUndefined();
});
