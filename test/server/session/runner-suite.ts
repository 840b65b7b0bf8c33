import { setImmediate } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { EnvironmentRunner } from "../../../server/session/environment-runner.ts";
import type { EnvironmentSession } from "../../../server/session/session.ts";
import type { Action } from "../../../src/contract/action.ts";
import { textMessage } from "../../../src/contract/message.ts";

/** The action of the single agent with a text. */
export function act(text: string): Record<string, Action> {
  return { agent: { message: textMessage("assistant", text), finish: "stop" } };
}

/** Tests the requirements of a runner of `runnerEnvironments`. */
export function describeRunner(name: string, open: () => Promise<EnvironmentRunner>): void {
  describe(`${name} conforms`, () => {
    let runner: EnvironmentRunner;
    beforeAll(async () => {
      runner = await open();
    });
    afterAll(() => runner.close());
    const started = async (environment: string): Promise<EnvironmentSession> => {
      const session = await runner.open({ environment });
      await session.reset();
      return session;
    };

    it("describes its environments", () => {
      expect(runner.environments.slice(0, 3).map((each) => each.name)).toEqual(["echo", "odd", "pair"]);
      const [echo] = runner.environments;
      expect(echo).toMatchObject({
        version: "1.2.3",
        splits: [
          { name: "train", length: 3 },
          { name: "test", length: 1 },
        ],
        spec: { id: "echo", agents: ["agent"], maxTurns: 3, deterministic: true },
      });
    });

    it("scores the answers of a group", async () => {
      const answers = ["abc", "a"].map((text) => [textMessage("assistant", text)]);
      const rewards = await runner.scoreGroup({ environment: "grouped", split: "train", index: 0, answers });
      expect(rewards.map((reward) => reward.status === "scored" && reward.value)).toEqual([0.75, 0.25]);
      const unknown = runner.scoreGroup({ environment: "grouped", split: "train", index: 9, answers });
      await expect(unknown).rejects.toMatchObject({ code: "data.out-of-range" });
    });

    it("plays an episode, and another one in the same session", async () => {
      await using session = await runner.open({ environment: "echo" });
      expect(await session.state()).toMatchObject({ stepCount: 0, done: false });
      const first = await session.reset({ seed: 4, episodeId: "mine" });
      expect(first).toMatchObject({ episodeId: "mine", seed: 4, split: "train", index: 1, taskId: "1" });
      expect(first.observations.agent?.messages).toMatchObject([{ role: "user" }]);
      const step = await session.step({ actions: act("hello") });
      expect(step).toMatchObject({
        done: false,
        info: { turn: 0 },
        agents: { agent: { reward: { value: 0.05 }, terminated: false, truncated: false } },
      });
      expect(step.observations.agent?.messages).toEqual([textMessage("user", "hello")]);
      expect(await session.state()).toEqual({
        episodeId: "mine",
        stepCount: 1,
        done: false,
        state: { acted: ["agent"] },
      });
      await session.step({ actions: act("") });
      expect(await session.step({ actions: act("last") })).toMatchObject({ done: true, observations: {} });
      expect(await session.state()).toMatchObject({ stepCount: 3, done: true });
      const again = await session.reset({ seed: 4 });
      expect(again.observations).toEqual(first.observations);
      expect(again.episodeId).not.toBe("mine");
    });

    it("plays the task that the client chooses", async () => {
      await using session = await runner.open({ environment: "echo" });
      expect(await session.reset({ split: "test", index: 0 })).toMatchObject({ split: "test", index: 0 });
      await expect(session.reset({ split: "train", index: 7 })).rejects.toMatchObject({ code: "data.out-of-range" });
      await expect(session.reset({ split: "none" })).rejects.toMatchObject({ code: "data.out-of-range" });
    });

    it("returns the result of a repeated step again", async () => {
      await using session = await started("echo");
      const first = await session.step({ actions: act("one"), stepId: "1" });
      expect(await session.step({ actions: act("one"), stepId: "1" })).toEqual(first);
      expect(await session.state()).toMatchObject({ stepCount: 1 });
      expect(await session.step({ actions: act("two"), stepId: "2" })).toMatchObject({ info: { turn: 1 } });
    });

    it("runs the calls of a session in their order", async () => {
      await using session = await runner.open({ environment: "echo" });
      const [, , state, last] = await Promise.all([
        session.reset(),
        session.step({ actions: act("one") }),
        session.state(),
        session.step({ actions: act("two") }),
      ]);
      expect(state.stepCount).toBe(1);
      expect(last.info).toEqual({ turn: 1 });
    });

    it("refuses steps at the wrong time and of the wrong agents", async () => {
      await using session = await runner.open({ environment: "pair" });
      const both = { left: act("l").agent!, right: act("r").agent! };
      const code = "server.invalid-request";
      await expect(session.step({ actions: both })).rejects.toMatchObject({ code, hint: "Call reset first." });
      await session.reset();
      await expect(session.step({ actions: { left: both.left } })).rejects.toMatchObject({
        code,
        message: "The actions are those of left, but left, right must act.",
      });
      await expect(session.step({ actions: { ...both, third: both.left } })).rejects.toMatchObject({ code });
      await expect(session.step({ actions: {} })).rejects.toMatchObject({ code });
      expect(await session.step({ actions: both })).toMatchObject({
        done: true,
        agents: { left: { reward: { value: 1 } }, right: { reward: { value: 0 } } },
      });
      await expect(session.step({ actions: both })).rejects.toMatchObject({ message: "The episode has ended." });
    });

    it("passes errors on with code, message, hint and data, and goes on after a reset", async () => {
      await using session = await started("failing");
      const typed = session.step({ actions: act("typed") });
      await expect(typed).rejects.toMatchObject({
        name: "LyceumError",
        code: "data.unavailable",
        message: "The word list cannot be downloaded.",
        hint: "Connect to the network.",
        data: { path: "words.txt", attempts: [1, 2] },
      });
      await expect(session.step({ actions: act("fine") })).rejects.toMatchObject({ code: "server.invalid-request" });
      await session.reset();
      await expect(session.step({ actions: act("plain") })).rejects.toMatchObject({
        code: "environment.failed",
        message: expect.stringContaining("threw in step: TypeError: The dice are gone. (test/server/session/"),
      });
      await session.reset();
      expect(await session.step({ actions: act("fine") })).toMatchObject({ done: false });
    });

    it("names the environments that it has", async () => {
      await expect(runner.open({ environment: "ecco" })).rejects.toMatchObject({
        code: "config.unknown-name",
        message: 'This server has no environment "ecco".',
        data: { name: "ecco" },
      });
    });

    it("lists tasks", async () => {
      const tasks = await runner.tasks({ environment: "echo", split: "train", start: 1, stop: 3 });
      expect(tasks).toEqual([
        { split: "train", index: 1, id: "1", hash: expect.stringMatching(/^[0-9a-f]{64}$/) },
        { split: "train", index: 2, id: "2", hash: expect.stringMatching(/^[0-9a-f]{64}$/) },
      ]);
      const range = { split: "train", start: 2, stop: 4 };
      await expect(runner.tasks({ environment: "echo", ...range })).rejects.toMatchObject({
        code: "data.out-of-range",
      });
      await expect(runner.tasks({ environment: "none", ...range })).rejects.toMatchObject({
        code: "config.unknown-name",
      });
    });

    it("refuses what is aborted before, with the reason", async () => {
      const reason = new Error("stopped");
      const signal = AbortSignal.abort(reason);
      await expect(runner.open({ environment: "echo", signal })).rejects.toBe(reason);
      await using session = await started("echo");
      await expect(session.step({ actions: act("one"), signal })).rejects.toBe(reason);
      await expect(session.reset({ signal })).rejects.toBe(reason);
      expect(await session.step({ actions: act("one") })).toMatchObject({ info: { turn: 0 } });
    });

    it("aborts a running step by its own signal alone", async () => {
      await using aborted = await started("waiting");
      await using other = await started("waiting");
      const controller = new AbortController();
      const stopped = aborted.step({ actions: act("600000"), signal: controller.signal });
      const ends = other.step({ actions: act("300") });
      const reason = new Error("stopped");
      setTimeout(() => controller.abort(reason), 50);
      await expect(stopped).rejects.toBe(reason);
      expect(await ends).toMatchObject({ done: false });
      await expect(aborted.step({ actions: act("1") })).rejects.toMatchObject({ code: "server.invalid-request" });
      await aborted.reset();
      expect(await aborted.step({ actions: act("1") })).toMatchObject({ done: false });
    });

    it("does not begin a step that is aborted while it waits for its turn", async () => {
      await using session = await started("waiting");
      const controller = new AbortController();
      const first = session.step({ actions: act("100") });
      const second = session.step({ actions: act("100"), signal: controller.signal });
      controller.abort(new Error("stopped"));
      await expect(second).rejects.toThrow("stopped");
      expect(await first).toMatchObject({ done: false });
      expect(await session.state()).toMatchObject({ stepCount: 1 });
      expect(await session.step({ actions: act("1") })).toMatchObject({ done: false });
    });

    it("plays 64 sessions at a time", async () => {
      const sessions = await Promise.all(Array.from({ length: 64 }, () => started("waiting")));
      const before = performance.now();
      await Promise.all(sessions.map((session) => session.step({ actions: act("500") })));
      expect(performance.now() - before).toBeLessThan(64 * 500);
      const played = await Promise.all(
        sessions.map(async (session) => {
          const { stepCount } = await session.state();
          await session.close();
          return stepCount;
        }),
      );
      expect(played).toEqual(Array.from({ length: 64 }, () => 1));
    });

    it("keeps the episodes of sessions apart", async () => {
      const sessions = await Promise.all(Array.from({ length: 16 }, () => started("echo")));
      for (let turn = 0; turn < 2; turn++) {
        const replies = await Promise.all(
          sessions.map(async (session, index) => {
            const { observations } = await session.step({ actions: act(`${index} ${turn}`) });
            return observations.agent?.messages[0];
          }),
        );
        expect(replies).toEqual(sessions.map((_, index) => textMessage("user", `${index} ${turn}`)));
      }
      await Promise.all(sessions.map((session) => session.close()));
    });

    it("closes the instance of a session, once", async () => {
      const open = async (): Promise<string> => {
        await using session = await runner.open({ environment: "counted" });
        const { observations } = await session.reset();
        return JSON.stringify(observations.agent?.messages);
      };
      expect(await open()).toContain("1 ");
      const session = await started("counted");
      await Promise.all([session.close(), session.close()]);
      await session.close();
      const code = "server.unknown-session";
      await expect(session.reset()).rejects.toMatchObject({ code, message: "The session is closed." });
      await expect(session.step({ actions: act("x") })).rejects.toMatchObject({ code });
      await expect(session.state()).rejects.toMatchObject({ code });
    });

    it("closes a session during a step, which fails, and refuses the step after it", async () => {
      const session = await started("waiting");
      const running = session.step({ actions: act("100") });
      const waiting = session.step({ actions: act("100") });
      await setImmediate();
      await session.close();
      const closed = { status: "rejected", reason: { code: "server.unknown-session" } };
      expect(await Promise.allSettled([running, waiting])).toMatchObject([closed, closed]);
    });

    it("closes its sessions, and opens no more", async () => {
      const session = await started("echo");
      await runner.close();
      await runner.close();
      await expect(session.step({ actions: act("one") })).rejects.toMatchObject({ code: "server.unknown-session" });
      await expect(runner.open({ environment: "echo" })).rejects.toMatchObject({ code: "server.closed" });
    });
  });
}
