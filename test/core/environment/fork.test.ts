import { describe, expect, test } from "vitest";
import type { Action } from "../../../src/contract/action.ts";
import type { Environment } from "../../../src/contract/environment.ts";
import { textMessage } from "../../../src/contract/message.ts";
import { defineEnvironment } from "../../../src/core/environment/define-environment.ts";

const say = (text: string): Record<string, Action> => ({
  agent: { message: textMessage("assistant", text), finish: "stop" },
});

/** Repeats every message, and counts the open resources. */
function memory(fork?: (state: string[]) => string[]) {
  const open = { now: 0, ever: 0 };
  const environment = defineEnvironment<string, string[], AsyncDisposable>({
    id: "memory",
    tasks: ["go"],
    maxTurns: 9,
    deterministic: false,
    open: async () => {
      open.now += 1;
      open.ever += 1;
      return {
        [Symbol.asyncDispose]: async () => {
          open.now -= 1;
        },
      };
    },
    reset: ({ task }) => ({ prompt: task, state: [] }),
    step: ({ state, text, turn, random }) => {
      state.push(text);
      return { reply: `${turn} ${state.join(" ")} ${random.next()}`, reward: state.length };
    },
    ...(fork === undefined ? {} : { fork }),
  });
  return { environment, open };
}

async function begun(fork: (state: string[]) => string[]) {
  const { environment, open } = memory(fork);
  const instance = await environment.create();
  await instance.reset({ task: "go", seed: 5 });
  await instance.step(say("a"));
  return { instance, open };
}

describe("a fork", () => {
  test("exists only if the definition has one", async () => {
    expect((await memory().environment.create()).fork).toBeUndefined();
    expect((await memory(structuredClone).environment.create()).fork).toBeDefined();
  });

  test("continues like the original and independently of it", async () => {
    const { instance } = await begun(structuredClone);
    const [first, second] = [await instance.fork!(), await instance.fork!()];
    const own = await instance.step(say("b"));
    expect(await first.step(say("b"))).toEqual(own);
    expect(JSON.stringify(await second.step(say("c")))).toContain("1 a c ");
    expect(JSON.stringify(await first.step(say("d")))).toContain("2 a b d ");
    expect(JSON.stringify(await (await first.fork!()).step(say("e")))).toContain("3 a b d e ");
  });

  test("has its own resource until it is closed", async () => {
    const { instance, open } = await begun(structuredClone);
    const fork = await instance.fork!();
    expect(open).toEqual({ now: 2, ever: 2 });
    await instance.close();
    await fork.step(say("b"));
    await fork.close();
    expect(open.now).toBe(0);
    await expect(instance.fork!()).rejects.toMatchObject({ code: "environment.contract" });
  });

  test("can be reset like any instance", async () => {
    const { instance } = await begun(structuredClone);
    const fork = await instance.fork!();
    expect(await fork.reset({ task: "go", seed: 5 })).toEqual(await instance.reset({ task: "go", seed: 5 }));
  });

  test("before a reset has no episode", async () => {
    const fork: Environment<string> = await (await memory(structuredClone).environment.create()).fork!();
    await expect(fork.step(say("a"))).rejects.toMatchObject({ code: "environment.contract" });
  });
});
