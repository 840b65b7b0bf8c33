import { afterEach, expect, test, vi } from "vitest";
import { captureServer } from "../../../server/capture/index.ts";
import { textMessage } from "../../../src/contract/message.ts";
import type { Policy } from "../../../src/contract/policy.ts";

afterEach(() => {
  vi.useRealTimers();
});

const bodies = {
  "chat/completions": { messages: [{ role: "user", content: "hi" }], stream: true },
  responses: { input: "hi", stream: true },
  messages: { messages: [{ role: "user", content: "hi" }], max_tokens: 9, stream: true },
} as const;

test.each(
  Object.entries(bodies),
)("a slow stream of /v1/%s shows signs of life, then its answer or its error", async (path, body) => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  for (const fails of [false, true]) {
    const started = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    const policy: Policy = {
      ...{ specificationVersion: "v1", name: "slow", accepts: ["text"] },
      act: async () => {
        started.resolve();
        await released.promise;
        if (fails) throw new Error("secret");
        return { action: { message: textMessage("assistant", "hello"), finish: "stop" } };
      },
    };
    await using server = await captureServer();
    await using session = server.open({ policy });
    const asked = fetch(`${server.url}/v1/${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${session.id}` },
      body: JSON.stringify(body),
    });
    await started.promise;
    vi.advanceTimersByTime(10_000);
    // The headers come before the answer.
    const response = await asked;
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    vi.advanceTimersByTime(10_000);
    released.resolve();
    const text = await response.text();
    expect(text.match(/^: /gm)).toHaveLength(2);
    expect(text.includes("hello")).toBe(!fails);
    expect(text.includes('"code":"internal"')).toBe(fails);
    expect(text).not.toContain("secret");
  }
});
