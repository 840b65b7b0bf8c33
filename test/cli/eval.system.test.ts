import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { readManifest, readSummary } from "../../src/evaluation/log/read-log.ts";
import { wilsonInterval } from "../../src/evaluation/metrics/confidence-interval.ts";
import type { Ratings } from "../../src/evaluation/ratings/rate-runs.ts";
import { evalFolder, timeless } from "./eval-folder.ts";
import { runInProcess } from "./run-in-process.ts";
import type { LyceumResult } from "./run-lyceum.ts";

let folder: string;
beforeEach(async () => {
  folder = await evalFolder();
});

const run = (words: string): Promise<LyceumResult> => runInProcess(words.split(" "), { folder });

describe("lyceum eval", () => {
  it("stores and prints the results, resumes a longer run, rescores it and compares the two", async () => {
    const first = await run("eval -e ./uneven.ts -m demonstration -n 20 -o a --seed 3");
    expect(first).toMatchObject({ code: 0, stderr: "" });
    expect(first.stdout).toMatch(
      /^uneven, demonstration: 20 tasks, 20 episodes, 2 unscored\n {2}first unscored, task 6 .*: nobody looked\n {2}reward +0\.6667 of the 18 scored/,
    );
    expect(first.stdout).toMatch(
      /\n {2}at the top reward +60\.0% of all 20 episodes; 66\.7% of the 18 scored {2}95 % /,
    );
    // Of tasks 0 to 19, without 6 and 13, these are wrong: 0, 3, 9, 12, 15, 18.
    const { metrics, counts } = await readSummary(join(folder, "a"));
    expect(counts).toMatchObject({ scored: 18, unscored: 2, correct: 12 });
    expect(metrics.accuracy).toMatchObject({ value: 12 / 18, interval: wilsonInterval({ count: 12, of: 18 }) });
    expect(await readManifest(join(folder, "a"))).toMatchObject({
      name: "uneven",
      identity: { models: { agent: "demonstration" }, environment: { name: "./uneven.ts", options: {} }, seed: 3 },
      software: { node: process.versions.node },
    });

    const again = await run("eval -e ./uneven.ts -m demonstration -o a --seed 3 --resume --json");
    expect(again).toMatchObject({ code: 0, stderr: "" });
    const refused = await run("eval -e ./uneven.ts -m demonstration -o a --seed 3");
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("--resume") });
    expect(JSON.parse(again.stdout)).toMatchObject([
      { folder: "a", name: "uneven", counts: { tasks: 60, played: 60 } },
    ]);

    const named = await run("rescore a -o b");
    expect(named).toMatchObject({ code: 2, stderr: expect.stringContaining("a log loads no code") });
    expect(await run("rescore a -o b --env ./uneven.ts")).toMatchObject({ code: 0, stderr: "" });
    expect(timeless(await readSummary(join(folder, "b")))).toEqual(timeless(await readSummary(join(folder, "a"))));
    expect(await readManifest(join(folder, "b"))).toMatchObject({ rescoredFrom: "a" });

    const source = JSON.stringify(join(import.meta.dirname, "../../src/core/rubric/rubric.ts"));
    await writeFile(
      join(folder, "strict.ts"),
      `import { rubric as make } from ${source};\nexport const rubric = make([{ name: "even", score: ({ task }) => task.n % 2 ? 0 : 1 }]);\n`,
    );
    expect(await run("rescore a -o c --rubric ./strict.ts")).toMatchObject({ code: 0, stderr: "" });
    const compared = await run("compare a c --json");
    const graded = await readSummary(join(folder, "c"));
    // The rubric scores the episodes that the environment could not score.
    expect(graded.counts).toMatchObject({ scored: 60, unscored: 0 });
    expect(JSON.parse(compared.stdout)).toMatchObject({
      shared: 60,
      differences: expect.arrayContaining([{ setting: "rubric", first: null, second: "./strict.ts" }]),
      metrics: { reward: { tasks: 52 } },
    });
    const text = (await run("compare a c")).stdout;
    expect(text).toMatch(/60 tasks in both\nreward of 52 tasks: A 0\.\d+, B 0\.\d+/);
    expect(text).toContain("  rubric: A none, B ./strict.ts\n");
    expect(JSON.parse((await run("compare a a --json")).stdout).differences).toEqual([]);
  });

  it("checks thresholds, and names those that are missed", async () => {
    const words = "eval -e ./uneven.ts -m demonstration -l 12 --samples 2 --k 1,2";
    expect((await run(`${words} -o a --min pass@1=0.5 --min pass^2=0.5 --max unscored=2`)).code).toBe(0);
    const { code, stderr } = await run(`${words} -o b --min pass@2=0.8 --max unscored=1 --min accuracy=0.1`);
    expect(code).toBe(1);
    expect(stderr).toContain("error[evaluation.threshold]: uneven: pass@2 is 0.72");
    expect(stderr).toContain("unscored is 2, and at most 1 is asked");
    expect(stderr).not.toContain("accuracy");
  });

  it("plays failed episodes again, and fails if all fail", async () => {
    process.env.BROKEN = "1";
    const broken = await run("eval -e ./uneven.ts -m demonstration -l 12 -o a").finally(
      () => delete process.env.BROKEN,
    );
    expect(broken).toMatchObject({ code: 0, stdout: expect.stringContaining("2 unscored, 1 failed") });
    const mended = await run("eval -e ./uneven.ts -m demonstration -l 12 -o a --retry-failed");
    expect(mended.stdout).toContain("12 tasks, 12 episodes, 1 unscored\n");
    const all = await run("eval -e ./uneven.ts -m replay:a/failures.jsonl -o b -l 3");
    expect(all).toMatchObject({ code: 1, stderr: expect.stringContaining("Every one of 3 episodes of uneven failed") });
    expect(existsSync(join(folder, "b/failures.jsonl"))).toBe(true);
  });

  it("plays several benchmarks, each with its own options, against an opponent with swapped roles", async () => {
    const rows = [1, 2, 3].map((n) => JSON.stringify({ question: `${n} + ${n}?`, answer: `#### ${2 * n}` }));
    await writeFile(join(folder, "questions.jsonl"), rows.join("\n"));
    const words = "eval gsm8k math -m demonstration --split train -o out -s path=questions.jsonl -s gsm8k.maxTurns=1";
    const both = await run(words);
    expect(both).toMatchObject({ code: 0, stderr: "" });
    expect(await readSummary(join(folder, "out/gsm8k"))).toMatchObject({ metrics: { accuracy: { value: 1 } } });
    expect(await readSummary(join(folder, "out/math"))).toMatchObject({ metrics: { accuracy: { value: 1 } } });

    await writeFile(join(folder, "long.json"), JSON.stringify(Array(8).fill("Because studies show it, taxes fall.")));
    await writeFile(join(folder, "short.json"), JSON.stringify(Array(8).fill("No.")));
    const debate = await run("eval debate -m scripted:long.json --opponent scripted:short.json -l 3 -o debate");
    expect(debate).toMatchObject({ code: 0, stderr: "" });
    // The sum of both rewards is no result of either.
    expect(debate.stdout).not.toMatch(/^ {2}(reward|at the top reward|pass\S+) /m);
    const { metrics, counts } = await readSummary(join(folder, "debate"));
    expect(counts).toMatchObject({ tasks: 3, episodes: 6 });
    expect(metrics["win-rate"]?.value).toBeGreaterThan(0.5);
    expect(metrics["reward/scripted:long.json"]!.value).toBeGreaterThan(metrics["reward/scripted:short.json"]!.value);
  });

  it("rates the players of a tournament, and continues with one more", async () => {
    const speeches = { short: "No.", middling: "Because taxes fall.", long: "Because studies show it, taxes fall." };
    for (const [name, text] of Object.entries(speeches)) {
      await writeFile(join(folder, `${name}.json`), JSON.stringify(Array(8).fill(text)));
      await writeFile(join(folder, `${name}.yaml`), `model: scripted:${name}.json\nname: the ${name} one\n`);
    }
    const two = await run("eval debate -m long.yaml --opponent short.yaml -l 3 -o two");
    expect(two).toMatchObject({ code: 0, stderr: "" });
    expect(await readManifest(join(folder, "two"))).toMatchObject({
      identity: {
        models: { "debater-1": "the long one", "debater-2": "the short one" },
        modelOptions: { "the short one": { model: "scripted:short.json" } },
      },
    });
    expect(existsSync(join(folder, "two/ratings.json"))).toBe(false);

    const first = "eval debate -m short.yaml --opponent scripted:long.json -l 3 -o out";
    const tournament = `${first} --opponent middling.yaml`;
    const three = await run(tournament);
    expect(three).toMatchObject({ code: 0, stderr: "" });
    expect(three.stdout).toMatch(/debate: 3 players, 18 games\n {2}scripted:long\.json +1\d\d\d {2}95 % /);
    expect(three.stdout).toMatch(
      /the short one against scripted:long\.json: 0 won, 2 drawn, 4 lost \(16\.7%, expected /,
    );
    const again = await run(`${tournament} --opponent long.yaml --resume --json`);
    expect(again).toMatchObject({ code: 0, stderr: "" });
    const printed = JSON.parse(again.stdout) as readonly { readonly folder: string }[];
    expect(printed).toHaveLength(7);
    expect(new Set(printed.map((run) => run.folder)).size).toBe(7);
    const ratings = printed.at(-1) as unknown as Ratings;
    expect(JSON.parse(await readFile(join(folder, "out/ratings.json"), "utf8"))).toEqual({
      ...ratings,
      folder: undefined,
    });
    const ratingOf = (name: string): number => ratings.players.find(({ model }) => model === name)!.rating;
    // Two names of the same player have the same strength.
    expect(ratingOf("the long one")).toBeCloseTo(ratingOf("scripted:long.json"), 6);
    expect(ratingOf("the short one")).toBeLessThan(ratingOf("the long one"));
  });
});

describe("sampling", () => {
  const inProcess = (words: string) => runInProcess(words.split(" "), { folder });
  const samplingIn = async (name: string): Promise<unknown> => {
    const { identity } = await readManifest(join(folder, name));
    return { sampling: identity.sampling, limits: identity.limits };
  };

  it("is greedy for one sample per task, and uses temperature 1 for several, with a note", async () => {
    const once = await inProcess("eval -e ./uneven.ts -m demonstration -l 1 -o once");
    expect(once.stdout).not.toContain("temperature");
    expect(await samplingIn("once")).toMatchObject({ sampling: { temperature: 0 } });
    const often = await inProcess("eval -e ./uneven.ts -m demonstration -l 1 --samples 3 -o often");
    expect(often).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^temperature 1, because each task is played 3 times/),
    });
    expect(await samplingIn("often")).toMatchObject({ sampling: { temperature: 1 } });
    const equal = await inProcess("eval -e ./uneven.ts -m demonstration -l 1 --samples 3 --temperature 0 -o equal");
    expect(equal.stdout).toMatch(/^warning: at temperature 0 the 3 answers to a task are the same, unless/);
    expect(await samplingIn("equal")).toMatchObject({ sampling: { temperature: 0 } });
    const own = await inProcess(
      "eval -e ./uneven.ts -m demonstration -l 1 --samples 3 --temperature 0.5 -o own --json",
    );
    expect(JSON.parse(own.stdout)).toHaveLength(1);
  });

  it("and the limits of an episode follow the command line", async () => {
    const words = "--top-p 0.9 --top-k 5 --min-p 0.1 --stop END --limit-turns 1 --limit-tokens 99 --limit-seconds 60";
    expect(await inProcess(`eval -e ./uneven.ts -m demonstration -l 2 -o a ${words}`)).toMatchObject({ code: 0 });
    expect(await samplingIn("a")).toMatchObject({
      sampling: { topP: 0.9, topK: 5, minP: 0.1, stop: ["END"] },
      limits: { turns: 1, tokens: 99, episodeMs: 60_000 },
    });
    const { counts } = await readSummary(join(folder, "a"));
    expect(counts).toMatchObject({ played: 2, correct: 0 });
    await writeFile(join(folder, "expert.yaml"), "model: demonstration\nlimits: { turns: 1 }\n");
    expect(await inProcess("eval -e ./uneven.ts -m expert.yaml -l 1 -o file --limit-tokens 5")).toMatchObject({
      code: 0,
    });
    expect(await samplingIn("file")).toMatchObject({ limits: { turns: 1, tokens: 5 } });
    const refused = await inProcess("eval -e ./uneven.ts -m demonstration -l 2 -o a --resume");
    expect(refused.code).not.toBe(0);
  });
});
