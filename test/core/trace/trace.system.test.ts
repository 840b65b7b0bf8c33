import { open, readFile, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import type { Episode, MessageNode } from "../../../src/contract/episode.ts";
import { textMessage } from "../../../src/contract/message.ts";
import { samplerPolicy } from "../../../src/core/policy/sampler-policy.ts";
import { scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";
import { collectGroups } from "../../../src/core/rollout/collect-groups.ts";
import { rollout } from "../../../src/core/rollout/rollout.ts";
import { rolloutEpisode } from "../../../src/core/rollout/rollout-episode.ts";
import { readTrace } from "../../../src/core/trace/read-trace.ts";
import { createTraceWriter, traceWriterOn } from "../../../src/core/trace/trace-writer.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { characterRenderer } from "../rollout/character-renderer.ts";
import { countingEnvironment, numbers, oneTask, scriptedEnvironment } from "../rollout/scripted-environment.ts";
import { seededSampler } from "../rollout/seeded-sampler.ts";

let folder: string;
let files = 0;
beforeAll(async () => {
  folder = temporaryFolder();
});

function newPath(): string {
  files += 1;
  return join(folder, `${files}.jsonl`);
}

async function read(path: string): Promise<Episode[]> {
  return Array.fromAsync(readTrace(path));
}

async function write(path: string, episodes: readonly Episode[], append = false): Promise<void> {
  await using writer = await createTraceWriter({ path, append });
  for (const episode of episodes) await writer.write(episode);
}

async function someEpisodes(count: number): Promise<Episode[]> {
  const groups = await collectGroups(
    rollout({
      environment: countingEnvironment(2),
      tasks: numbers(count),
      policies: scriptedPolicy(() => "yes"),
      seed: 0,
    }),
  );
  return groups.flatMap(({ episodes }) => episodes);
}

describe("a trace", () => {
  test("returns every episode exactly, whatever happened in it", async () => {
    const task = await oneTask();
    const sampler = seededSampler();
    const policies = samplerPolicy({ name: "model", sampler: () => sampler, renderer: characterRenderer() });
    const broken = scriptedEnvironment<number>({
      reset: () => {
        throw new Error("no\nlines \u2028 and \ud800 surrogates");
      },
      step: () => ({}),
    });
    const episodes = [
      await rolloutEpisode({ environment: countingEnvironment(3), task, policies, seed: 1 }),
      await rolloutEpisode({ environment: countingEnvironment(3), task, policies, seed: 2, limits: { turns: 1 } }),
      await rolloutEpisode({ environment: broken, task, policies, seed: 3 }),
      await rolloutEpisode({
        environment: countingEnvironment(1),
        task,
        policies,
        seed: 4,
        signal: AbortSignal.abort(),
      }),
    ];
    expect(episodes.map(({ status }) => status)).toEqual(["completed", "truncated", "failed", "aborted"]);
    const path = newPath();
    await write(path, episodes);
    expect(await read(path)).toStrictEqual(episodes);
  });

  test("round-trips any text, number and info", async () => {
    const [template] = await someEpisodes(1);
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            text: fc.string({ unit: "binary" }),
            logprobs: fc.array(fc.double({ noNaN: true, noDefaultInfinity: true, max: 0 }).map((value) => value + 0)),
            info: fc.jsonValue({ noUnicodeString: false }).map((value) => JSON.parse(JSON.stringify(value))),
          }),
          { maxLength: 5 },
        ),
        async (contents) => {
          const episodes = contents.map(({ text, logprobs, info }): Episode => {
            const node: MessageNode = {
              id: 0,
              parent: null,
              turn: 0,
              message: textMessage("user", text),
              tokens: { ids: logprobs.map((_, index) => index), mask: 1, logprobs, startsSequence: true },
            };
            return { ...template!, info: [info], agents: { agent: { ...template!.agents.agent!, nodes: [node] } } };
          });
          const path = newPath();
          await write(path, episodes);
          expect(await read(path)).toStrictEqual(episodes);
        },
      ),
      { numRuns: 50 },
    );
  });

  test("is written while the rollout runs", async () => {
    const path = newPath();
    const writer = await createTraceWriter({ path });
    const [episode] = await someEpisodes(1);
    await writer.write(episode!);
    await expect.poll(async () => (await readFile(path, "utf8")).split("\n").length).toBe(3);
    await writer.close();
    expect(await read(path)).toStrictEqual([episode]);
  });

  test("keeps at most about a mebibyte in memory, however much is written", async () => {
    const [template] = await someEpisodes(1);
    const large: Episode = { ...template!, info: ["x".repeat(300_000)] };
    const path = newPath();
    await using writer = await createTraceWriter({ path });
    let accepted = 0;
    const writes = Array.from({ length: 40 }, async () => {
      await writer.write(large);
      accepted += 1;
    });
    await Promise.resolve();
    await Promise.resolve();
    expect(accepted).toBeLessThan(10);
    await Promise.all(writes);
    await writer.close();
    expect(await read(path)).toHaveLength(40);
  });

  test.skipIf(process.platform !== "linux")("accepts more at once than the maximum string length", async () => {
    const [template] = await someEpisodes(1);
    const large: Episode = { ...template!, info: ["x".repeat(60_000_000)] };
    await using writer = traceWriterOn(await open("/dev/null", "w"), { path: "/dev/null", position: 0 });
    await Promise.all(Array.from({ length: 10 }, () => writer.write(large)));
    expect(writer.episodes).toBe(10);
  });

  test("refuses an episode that cannot be JSON, and continues with the others", async () => {
    const [episode] = await someEpisodes(1);
    const path = newPath();
    await using writer = await createTraceWriter({ path });
    const counted = { ...episode!, info: [1n as never] };
    await expect(writer.write(counted)).rejects.toMatchObject({
      code: "trace.write-failed",
      message: expect.stringContaining(episode!.id),
    });
    await writer.write(episode!);
    await writer.close();
    expect(await read(path)).toStrictEqual([episode]);
  });

  test("appends to another trace, and removes an incomplete line", async () => {
    const episodes = await someEpisodes(5);
    const path = newPath();
    await write(path, episodes.slice(0, 3));
    const { length } = await readFile(path);
    await truncate(path, length - 7);
    await write(path, episodes.slice(3), true);
    expect(await read(path)).toStrictEqual([...episodes.slice(0, 2), ...episodes.slice(3)]);
  });

  test("goes back to any length that flush returned, and to no length between lines", async () => {
    const episodes = await someEpisodes(4);
    const path = newPath();
    const lengths: number[] = [];
    await using writer = await createTraceWriter({ path });
    lengths.push(await writer.flush());
    for (const episode of episodes) {
      await Promise.all([writer.write(episode), writer.flush()]);
      lengths.push(await writer.flush());
      expect((await readFile(path)).length).toBe(lengths.at(-1));
    }
    await writer.close();
    await expect(writer.flush()).rejects.toMatchObject({ code: "trace.write-failed" });
    const bytes = await readFile(path);
    for (const [count, length] of lengths.entries()) {
      const copy = newPath();
      await writeFile(copy, bytes);
      const resumed = await createTraceWriter({ path: copy, append: { length } });
      expect(await resumed.flush()).toBe(length);
      await resumed.write(episodes[0]!);
      await resumed.close();
      expect(await read(copy)).toStrictEqual([...episodes.slice(0, count), episodes[0]]);
    }
    for (const length of [lengths[2]! - 1, lengths[2]! + 1, bytes.length + 9]) {
      await (await createTraceWriter({ path, append: { length } })).close();
      expect(await readFile(path)).toEqual(bytes);
    }
    await (await createTraceWriter({ path, append: { length: 0 } })).close();
    expect(await read(path)).toEqual([]);
    const missing = newPath();
    await (await createTraceWriter({ path: missing, append: { length: 50 } })).close();
    expect(await read(missing)).toEqual([]);
  });

  test("appends to nothing, to an empty file, and after lines longer than a block", async () => {
    const [episode] = await someEpisodes(1);
    const missing = newPath();
    await write(missing, [episode!], true);
    expect(await read(missing)).toHaveLength(1);
    const empty = newPath();
    await writeFile(empty, "");
    await write(empty, [episode!], true);
    expect(await read(empty)).toHaveLength(1);
    const long = newPath();
    const large = { ...episode!, info: ["y".repeat(200_000)] };
    await write(long, [large]);
    const { length } = await readFile(long);
    await writeFile(long, `{"torn": "${"z".repeat(150_000)}`, { flag: "a" });
    await write(long, [], true);
    expect((await readFile(long)).length).toBe(length);
    await write(long, [large], true);
    expect(await read(long)).toStrictEqual([large, large]);
  });

  test("never replaces a file", async () => {
    const path = newPath();
    await writeFile(path, "precious");
    await expect(createTraceWriter({ path })).rejects.toMatchObject({ code: "trace.write-failed" });
    await expect(createTraceWriter({ path, append: true })).rejects.toMatchObject({ code: "data.malformed" });
    expect(await readFile(path, "utf8")).toBe("precious");
    await expect(createTraceWriter({ path: join(folder, "no", "folder") })).rejects.toMatchObject({
      code: "trace.write-failed",
      hint: "Name a folder that exists or can be created.",
    });
  });

  test.skipIf(process.platform !== "linux")("on a full disk rejects, and ends the rollout", async () => {
    const full = await open("/dev/full", "w");
    const trace = traceWriterOn(full, { path: "/dev/full", position: 0 });
    const events = rollout({
      environment: countingEnvironment(1),
      tasks: numbers(5_000),
      policies: scriptedPolicy(() => "yes"),
      seed: 0,
      trace,
    });
    await expect(Array.fromAsync(events)).rejects.toMatchObject({
      code: "trace.write-failed",
      message: expect.stringContaining("the disk is full"),
    });
    expect(trace.episodes).toBeLessThan(5_000);
    await expect(trace.flush()).rejects.toMatchObject({ code: "trace.write-failed" });
    await expect(trace.close()).rejects.toMatchObject({ code: "trace.write-failed" });
    await expect(trace.close()).rejects.toMatchObject({ code: "trace.write-failed" });
  });

  test.skipIf(process.platform !== "linux")(
    "on a full disk reports the failure once: in a call, or else on disposal",
    async () => {
      const [episode] = await someEpisodes(1);
      const silent = traceWriterOn(await open("/dev/full", "w"), { path: "/dev/full", position: 0 });
      await silent.write(episode!);
      await expect(silent[Symbol.asyncDispose]()).rejects.toMatchObject({ code: "trace.write-failed" });
      const told = async (): Promise<void> => {
        await using trace = traceWriterOn(await open("/dev/full", "w"), { path: "/dev/full", position: 0 });
        await trace.write(episode!);
        await trace.flush();
      };
      await expect(told()).rejects.toMatchObject({ code: "trace.write-failed" });
    },
  );

  test("refuses to be written after it was closed; closing twice is harmless", async () => {
    const [episode] = await someEpisodes(1);
    const writer = await createTraceWriter({ path: newPath() });
    await writer.close();
    await writer.close();
    await expect(writer.write(episode!)).rejects.toMatchObject({ code: "trace.write-failed" });
  });
});

describe("reading a trace", () => {
  test("that is cut anywhere has the complete lines before the cut", async () => {
    const episodes = await someEpisodes(3);
    const path = newPath();
    await write(path, episodes);
    const bytes = await readFile(path);
    const headerEnd = bytes.indexOf("\n") + 1;
    const ends = [...bytes.keys()].filter((index) => bytes[index] === 0x0a);
    const cut = newPath();
    for (let length = headerEnd; length <= bytes.length; length += 13) {
      await writeFile(cut, bytes.subarray(0, length));
      const whole = ends.slice(1).filter((end) => end <= length).length;
      expect(await read(cut)).toStrictEqual(episodes.slice(0, whole));
    }
  });

  test.each([
    ["a line that is not JSON", "{oops}\n", ":3: the line is not JSON"],
    ["a line that is no episode", '{"id": 4}\n', ":3: the line is not an episode"],
    ["a null", "null\n", ":3: the line is not an episode"],
  ])("names the place of %s", async (_, line, message) => {
    const path = newPath();
    const episodes = await someEpisodes(1);
    await write(path, episodes);
    await writeFile(path, line, { flag: "a" });
    const seen: Episode[] = [];
    const consume = async (): Promise<void> => {
      for await (const episode of readTrace(path)) seen.push(episode);
    };
    await expect(consume()).rejects.toMatchObject({
      code: "data.malformed",
      message: expect.stringContaining(`${path}${message}`),
    });
    expect(seen).toStrictEqual(episodes);
  });

  test.each([
    ["an empty file", "", "the file is empty"],
    ["another file", "hello\n", "not the header"],
    ["another JSONL file", '{"question": "1+1"}\n', "not the header"],
    ["a trace of the future", '{"format":"lyceum-trace","version":99}\n', "version 99"],
    ["an older trace", '{"format":"lyceum-trace","version":1}\n', "use the version that wrote it"],
  ])("refuses %s", async (_, content, message) => {
    const path = newPath();
    await writeFile(path, content);
    await expect(read(path)).rejects.toMatchObject({
      code: "data.malformed",
      message: expect.stringContaining(message),
    });
  });

  test("reads a trace of version 2, whose turns have no model calls", async () => {
    const path = newPath();
    const episodes = await someEpisodes(2);
    await write(path, episodes);
    const newest = await readFile(path, "utf8");
    expect(newest).toMatch(/^\{"format":"lyceum-trace","version":3\}\n/);
    await writeFile(path, newest.replace('"version":3', '"version":2'));
    expect(await read(path)).toStrictEqual(episodes);
  });

  test("says which file is missing, and reacts to its signal", async () => {
    await expect(read(join(folder, "missing.jsonl"))).rejects.toMatchObject({ code: "data.not-found" });
    const path = newPath();
    await write(path, await someEpisodes(1));
    await expect(Array.fromAsync(readTrace(path, { signal: AbortSignal.abort() }))).rejects.toMatchObject({
      name: "AbortError",
    });
  });
});
