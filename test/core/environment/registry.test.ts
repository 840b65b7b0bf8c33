import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { defineEnvironment } from "../../../src/core/environment/define-environment.ts";
import { createEnvironmentRegistry, defineEnvironmentEntry } from "../../../src/core/environment/registry.ts";

const echo = defineEnvironmentEntry({
  id: "echo",
  description: "Say it again.",
  options: z.object({ word: z.string().default("hello"), times: z.number().int().positive().default(1) }),
  create: (options) => {
    expectTypeOf(options).toEqualTypeOf<{ word: string; times: number }>();
    return defineEnvironment({
      id: "echo",
      tasks: Array.from({ length: options.times }, () => options.word),
      reset: ({ task }) => task,
      step: ({ task, text }) => ({ reward: text === task ? 1 : 0 }),
    });
  },
});
const registry = createEnvironmentRegistry([echo, defineEnvironmentEntry({ ...echo, id: "other" })]);

describe("a registry", () => {
  test("makes environments by name, with the defaults of their options", async () => {
    expect(registry.list().map(({ id }) => id)).toEqual(["echo", "other"]);
    expect((await registry.create("echo").tasks("train")).length).toBe(1);
    expect((await registry.create("echo", { times: 4 }).tasks("train")).length).toBe(4);
  });

  test("suggests the nearest name", () => {
    expect(() => registry.create("ecko")).toThrow(
      expect.objectContaining({ code: "config.unknown-name", hint: expect.stringContaining('Did you mean "echo"') }),
    );
  });

  test.each([
    [{ wrod: "x" }, "wrod", 'Did you mean "word"'],
    [{ times: 0 }, "times", ""],
    [{ times: "many" }, "times", ""],
    [null, "", ""],
  ])("refuses the options %j", (options, message, hint) => {
    expect(() => registry.create("echo", options)).toThrow(
      expect.objectContaining({
        code: "config.invalid",
        message: expect.stringContaining(message),
        hint: expect.stringContaining(hint),
      }),
    );
  });

  test("has each name once, and never changes", () => {
    expect(() => createEnvironmentRegistry([echo, echo])).toThrow(expect.objectContaining({ code: "config.invalid" }));
    expect(createEnvironmentRegistry([]).list()).toEqual([]);
    expect(() => createEnvironmentRegistry([]).get("echo")).toThrow(
      expect.objectContaining({ code: "config.unknown-name" }),
    );
  });
});
