import { describe, expect, it } from "vitest";
import { expertEdits, expertMetrics, requiredExpert } from "../../../../environments/shared/code-turns/expert-edits.ts";
import { type ActRequest, type Policy, scriptedPolicy, textOf } from "../../../../src/index.ts";

const request = {
  language: "python",
  problem: "def f(x):\n    '''Add one.'''",
  tests: ["f(1) == 2"],
  code: "def f(x): return x",
  names: ["f"],
  seed: 7,
} as const;

describe("an expert's edits", () => {
  it("request an edit with the problem, the visible tests and the code, and show it as code", async () => {
    const asked: ActRequest[] = [];
    const expert = scriptedPolicy((one) => {
      asked.push(one);
      return "Here:\n```python\ndef f(x): return x + 1\n```\nGood luck.";
    });
    const others = [{ names: ["aux"], code: "def aux(): pass" }];
    const text = "An expert edited your code:\n\n```python\ndef f(x): return x + 1\n```";
    expect(await expertEdits(expert, { ...request, others })).toEqual({ text, failed: false });
    expect(asked).toMatchObject([{ agent: "expert", seed: 7, sampling: { temperature: 0.3, maxTokens: 2048 } }]);
    const prompt = textOf(asked[0]!.messages[0]!);
    for (const text of [request.problem, "f(1) == 2", request.code, "`aux`", others[0]!.code])
      expect(prompt).toContain(text);
  });

  it("that are empty or fail are reported", async () => {
    const none = await expertEdits(scriptedPolicy(["  "]), request);
    expect(none).toEqual({ text: "The expert returned no edit.", failed: true });
    const broken = scriptedPolicy(() => {
      throw new Error("quota used up");
    });
    const failed = await expertEdits(broken, request);
    expect(failed).toEqual({ text: "The expert could not be asked: quota used up", failed: true });
    expect(expertMetrics([none, failed])).toEqual({ expertFailed: 1 });
    expect(expertMetrics([failed, { text: "", failed: false }])).toEqual({ expertFailed: 0.5 });
  });

  it("end with the episode", async () => {
    const controller = new AbortController();
    const reason = new Error("enough");
    const endless: Policy = {
      ...scriptedPolicy([]),
      act: ({ signal }) => new Promise((_, reject) => signal!.addEventListener("abort", () => reject(signal!.reason))),
    };
    const edits = expertEdits(endless, { ...request, signal: controller.signal });
    controller.abort(reason);
    await expect(edits).rejects.toBe(reason);
  });
});

it("need an expert if the mode uses one, and only then", () => {
  const expert = scriptedPolicy([""]);
  expect(requiredExpert("code", { mode: "expert_edits" }, expert)).toBe(expert);
  expect(requiredExpert("code", { mode: "plain" }, undefined)).toBeUndefined();
  expect(() => requiredExpert("code", { mode: "expert_edits" }, undefined)).toThrow(
    expect.objectContaining({ code: "config.invalid" }),
  );
});
