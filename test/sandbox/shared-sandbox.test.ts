import { describe, expect, it } from "vitest";
import { SharedSandbox } from "../../sandbox/shared-sandbox.ts";
import { scriptedSandbox } from "./scripted-sandbox.ts";

/** Opens things that remember whether they are open. */
function openings(failures = 0) {
  const opened: { closed: boolean }[] = [];
  let left = failures;
  const shared = new SharedSandbox(async () => {
    if (left-- > 0) throw new Error("not yet");
    const one = { closed: false };
    opened.push(one);
    return {
      ...scriptedSandbox(() => ({})),
      [Symbol.asyncDispose]: async () => {
        expect(one.closed).toBe(false);
        one.closed = true;
      },
    };
  });
  return { shared, opened };
}

describe("a shared sandbox", () => {
  it("is opened once for all that hold it, and closed with the last", async () => {
    const { shared, opened } = openings();
    const [first, second] = await Promise.all([shared.hold(), shared.hold()]);
    expect(first.sandbox).toBe(second.sandbox);
    await first[Symbol.asyncDispose]();
    await first[Symbol.asyncDispose]();
    expect(opened).toEqual([{ closed: false }]);
    await second[Symbol.asyncDispose]();
    expect(opened).toEqual([{ closed: true }]);
  });

  it("is opened anew for who comes later", async () => {
    const { shared, opened } = openings();
    await using first = await shared.hold();
    await first[Symbol.asyncDispose]();
    await using second = await shared.hold();
    expect(second.sandbox).not.toBe(first.sandbox);
    expect(opened).toEqual([{ closed: true }, { closed: false }]);
  });

  it("tries again after it could not be opened", async () => {
    const { shared, opened } = openings(1);
    await expect(Promise.all([shared.hold(), shared.hold()])).rejects.toThrow("not yet");
    await using hold = await shared.hold();
    await hold[Symbol.asyncDispose]();
    expect(opened).toEqual([{ closed: true }]);
  });
});
