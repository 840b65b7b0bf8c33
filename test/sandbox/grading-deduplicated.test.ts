import { describe, expect, it } from "vitest";
import type { ExecuteRequest, ExecuteResult } from "../../sandbox/execution.ts";
import { deduplicated } from "../../sandbox/grading/deduplicated.ts";
import { scriptedSandbox } from "./scripted-sandbox.ts";

const request: ExecuteRequest = {
  language: "python",
  files: { "a.py": "def f(): pass", "b.py": "" },
  entry: "a.py",
  task: { kind: "calls", function: "f", cases: [{ args: [] }] },
};

describe("deduplicated", () => {
  it("runs identical requests once, whether concurrent or consecutive, and keeps their ids", async () => {
    const inner = scriptedSandbox(() => ({}));
    await using sandbox = deduplicated(inner);
    const reordered = { ...request, files: { "b.py": "", "a.py": "def f(): pass" } };
    const results = await Promise.all([
      sandbox.execute({ ...request, id: "one" }),
      sandbox.execute({ ...reordered, id: "two" }),
    ]);
    results.push(await sandbox.execute({ ...request, id: "three" }));
    expect(results.map(({ id }) => id)).toEqual(["one", "two", "three"]);
    expect(inner.requests).toHaveLength(1);
  });

  it("distinguishes requests by everything that affects the result", async () => {
    const inner = scriptedSandbox(() => ({}));
    await using sandbox = deduplicated(inner);
    const others: ExecuteRequest[] = [
      request,
      { ...request, language: "javascript" },
      { ...request, files: { ...request.files, "a.py": "def f(): return 1" } },
      { ...request, entry: "b.py" },
      { ...request, task: { kind: "calls", function: "g", cases: [{ args: [] }] } },
      { ...request, task: { kind: "calls", function: "f", cases: [{ args: [{ int: "1" }] }] } },
      { ...request, task: { kind: "calls", function: "f", cases: [{ args: [{ float: "1" }] }] } },
      { ...request, limits: { cpuMs: 1 } },
      { ...request, seed: 1 },
    ];
    for (const other of others) await sandbox.execute(other);
    expect(inner.requests).toHaveLength(others.length);
  });

  it("does not cache a failure of the sandbox", async () => {
    const statuses: ExecuteResult["status"][] = ["infra_error", "aborted", "ok"];
    const inner = scriptedSandbox(() => ({ status: statuses.shift()! }));
    await using sandbox = deduplicated(inner);
    const seen = [];
    for (let i = 0; i < 4; i++) seen.push((await sandbox.execute(request)).status);
    expect(seen).toEqual(["infra_error", "aborted", "ok", "ok"]);
  });

  it("rejects like the sandbox, each time", async () => {
    const inner = scriptedSandbox(() => {
      throw new Error(`refused ${inner.requests.length}`);
    });
    await using sandbox = deduplicated(inner);
    await expect(sandbox.execute(request)).rejects.toThrow("refused 1");
    await expect(sandbox.execute(request)).rejects.toThrow("refused 2");
  });

  it("keeps the most recently used results", async () => {
    const inner = scriptedSandbox(() => ({}));
    await using sandbox = deduplicated(inner, { entries: 2 });
    const seeds = [1, 2, 1, 3, 1, 2];
    for (const seed of seeds) await sandbox.execute({ ...request, seed });
    expect(inner.requests.map(({ seed }) => seed)).toEqual([1, 2, 3, 2]);
  });

  it("ends an execution only when no caller waits for it any more", async () => {
    const inner = scriptedSandbox(async ({ signal }) => {
      await new Promise((resolve) => signal!.addEventListener("abort", resolve));
      return { status: "aborted" };
    });
    await using sandbox = deduplicated(inner);
    const [first, second] = [new AbortController(), new AbortController()];
    const one = sandbox.execute({ ...request, id: "one", signal: first.signal });
    const two = sandbox.execute({ ...request, id: "two", signal: second.signal });
    first.abort();
    expect(await one).toMatchObject({ id: "one", status: "aborted", cases: [{ outcome: "missing" }] });
    expect(inner.requests[0]!.signal!.aborted).toBe(false);
    second.abort();
    expect(await two).toMatchObject({ id: "two", status: "aborted" });
    expect(inner.requests[0]!.signal!.aborted).toBe(true);
    const third = new AbortController();
    const three = sandbox.execute({ ...request, signal: third.signal });
    expect(inner.requests).toHaveLength(2);
    third.abort();
    await three;
  });

  it("passes on a signal that is already aborted", async () => {
    const inner = scriptedSandbox(({ signal }) => ({ status: signal?.aborted === true ? "aborted" : "ok" }));
    await using sandbox = deduplicated(inner);
    expect((await sandbox.execute({ ...request, signal: AbortSignal.abort() })).status).toBe("aborted");
    expect((await sandbox.execute(request)).status).toBe("ok");
  });
});
