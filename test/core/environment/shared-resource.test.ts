import { describe, expect, it } from "vitest";
import { sharedResource } from "../../../src/core/environment/shared-resource.ts";

/** Opens resources that record whether they are open. */
function openings(failures = 0) {
  const opened: { closed: boolean }[] = [];
  let left = failures;
  const open = sharedResource(async () => {
    if (left-- > 0) throw new Error("not yet");
    const one = { closed: false };
    opened.push(one);
    return {
      [Symbol.asyncDispose]: async () => {
        expect(one.closed).toBe(false);
        one.closed = true;
      },
    };
  });
  return { open, opened };
}

describe("a shared resource", () => {
  it("is opened once for all its users, and closed with the last", async () => {
    const { open, opened } = openings();
    const [first, second] = await Promise.all([open(), open()]);
    expect(first.value).toBe(second.value);
    await first[Symbol.asyncDispose]();
    await first[Symbol.asyncDispose]();
    expect(opened).toEqual([{ closed: false }]);
    await second[Symbol.asyncDispose]();
    expect(opened).toEqual([{ closed: true }]);
  });

  it("is opened again for a later user", async () => {
    const { open, opened } = openings();
    await using first = await open();
    await first[Symbol.asyncDispose]();
    await using second = await open();
    expect(second.value).not.toBe(first.value);
    expect(opened).toEqual([{ closed: true }, { closed: false }]);
  });

  it("tries again after it could not be opened", async () => {
    const { open, opened } = openings(1);
    await expect(Promise.all([open(), open()])).rejects.toThrow("not yet");
    await using shared = await open();
    await shared[Symbol.asyncDispose]();
    expect(opened).toEqual([{ closed: true }]);
  });
});
