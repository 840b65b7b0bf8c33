import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { environments } from "../../../environments/index.ts";
import { words } from "../../../environments/word-guessing/words.ts";
import abstracts from "../../../environments/writing/abstracts.json" with { type: "json" };
import posts from "../../../environments/writing/posts.json" with { type: "json" };
import summaries from "../../../environments/writing/summaries.json" with { type: "json" };
import { type WritingOptions, writingEnvironment } from "../../../environments/writing/writing.ts";
import { defineEnvironment } from "../../../src/core/environment/define-environment.ts";
import { demonstrationPolicy } from "../../../src/core/policy/demonstration-policy.ts";
import { scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";
import { rolloutEpisode } from "../../../src/core/rollout/rollout-episode.ts";
import { checkDisjoint } from "../../../src/core/taskset/disjoint.ts";
import { taskEntry } from "../../../src/core/taskset/task-entry.ts";
import { checkEnvironment } from "../../../src/entry-points/testing.ts";
import { startFakeHub } from "../../core/hub/fake-hub.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { climb } from "../hill-climber.ts";
import { expertIntroduction } from "./expert-texts.ts";

const expertSummaries = summaries[0]!;

type Texts = Readonly<Record<"first" | "second", string>>;

/** Returns the reward of a pair of texts. */
async function earned(source: string, texts: Texts, options: Partial<WritingOptions> = {}) {
  const policies = { first: scriptedPolicy(() => texts.first), second: scriptedPolicy(() => texts.second) };
  const task = taskEntry({ source }, 0);
  const episode = await rolloutEpisode({ environment: writingEnvironment(options), task, policies, seed: 1 });
  const { first, second } = episode.agents;
  expect(first!.reward).toEqual(second!.reward);
  if (first!.reward.status !== "scored") throw new Error("The pair is unscored.");
  return first!.reward;
}

describe("an expert", () => {
  test("gets the maximum with a pair of summaries of any post, and nearly all of comlrl's reward", async () => {
    expect(summaries).toHaveLength(posts.length);
    for (const [i, post] of posts.entries()) expect((await earned(post, summaries[i]!)).value).toBeCloseTo(1, 10);
    expect((await earned(posts[0]!, expertSummaries, { reward: "comlrl" })).value).toBeGreaterThan(2.6);
  });

  test("gets nearly the maximum with an introduction, in both presets", async () => {
    const { value } = await earned(abstracts[0]!, expertIntroduction, { form: "arxiv" });
    expect(value).toBeGreaterThan(0.8);
    const published = await earned(abstracts[0]!, expertIntroduction, { form: "arxiv", reward: "comlrl" });
    expect(published.value).toBeGreaterThan(2.5);
  });
});

test("the demonstrations of all built-in posts get the maximum reward, and other texts have none", async () => {
  const environment = writingEnvironment();
  const sources: string[] = [];
  for (const split of environment.splits) {
    const tasks = await environment.tasks(split);
    for (let i = 0; i < Number(tasks.length); i++) {
      const task = await tasks.get(i);
      sources.push(task.task.source);
      const policies = demonstrationPolicy({ environment });
      const { agents } = await rolloutEpisode({ environment, task, policies, seed: 1 });
      expect(agents.first!.reward).toMatchObject({ status: "scored", value: expect.closeTo(1, 10) });
    }
  }
  expect(sources.toSorted()).toEqual(posts.toSorted());
  for (const options of [{ form: "arxiv" }, { reward: "comlrl" }] as const) {
    expect(writingEnvironment(options).demonstrate!({ source: posts[0]! })).toBeUndefined();
  }
  expect(environment.demonstrate!({ source: "A tale." })).toBeUndefined();
});

describe("unfaithful texts have a low reward", () => {
  test("texts with the right shape about another source, which comlrl does not detect", async () => {
    for (const post of posts.slice(1)) {
      expect((await earned(post, expertSummaries)).value).toBeLessThan(0.1);
      expect((await earned(post, expertSummaries, { reward: "comlrl" })).value).toBeGreaterThan(2.6);
    }
    for (const abstract of abstracts.slice(1)) {
      expect((await earned(abstract, expertIntroduction, { form: "arxiv" })).value).toBeLessThan(0.1);
    }
  });

  test("numbers and names that are not in the source", async () => {
    const right = (await earned(posts[0]!, expertSummaries)).value;
    const number = { ...expertSummaries, first: expertSummaries.first.replace("at four", "at 5") };
    const name = { ...expertSummaries, first: expertSummaries.first.replace("My neighbour", "My neighbour Brunhilde") };
    for (const texts of [number, name]) {
      const { value } = await earned(posts[0]!, texts);
      expect(value).toBeLessThan(0.8 * right);
      expect(value).toBeGreaterThan(0.4 * right);
    }
  });

  test("copies of the source, of the other text, and repetition", async () => {
    const source = posts[0]!;
    const opening = source.split(". ").slice(0, 2).join(". ");
    expect((await earned(source, { first: opening, second: source })).value).toBe(0);
    const { first } = expertSummaries;
    expect((await earned(source, { first, second: first })).value).toBe(0);
    const right = (await earned(source, expertSummaries)).value;
    const said = { first, second: `${expertSummaries.second} `.repeat(3) };
    expect((await earned(source, said)).value).toBeLessThan(0.6 * right);
  });

  test("no text, noise, the prompt's own words, a list of the source's words", async () => {
    const source = posts[0]!;
    const list = source.match(/\p{L}{5,}/gu)!.join(" ");
    const rule = "Summarise it in some detail, however, in your own words and answer with nothing but your own part.";
    for (const texts of [
      { first: "", second: "" },
      { first: "?!".repeat(20), second: "... ".repeat(40) },
      { first: rule, second: `${rule} Therefore ${rule}` },
    ]) {
      expect((await earned(source, texts)).value).toBe(0);
    }
    expect((await earned(source, { first: list.slice(0, 150), second: list.slice(150) })).value).toBeLessThan(0.55);
  });
});

describe("an answer-blind climb over both texts", () => {
  const sources = posts.slice(0, 3);
  /** The mean reward over the posts, for one text that contains both, divided by "|". */
  function joined(reward: "default" | "comlrl", of: readonly string[] = sources) {
    const environment = writingEnvironment({ reward });
    return defineEnvironment<string>({
      id: "joined-writing",
      tasks: ["all"],
      rewardRange: environment.spec.rewardRange,
      reset: () => "Write both.",
      step: async ({ text }) => {
        const [first = "", second = ""] = text.split("|").map((part) => part.trim());
        const act = (own: string) =>
          ({ message: { role: "assistant", content: [{ type: "text", text: own }] }, finish: "stop" }) as const;
        const instance = await environment.create();
        let sum = 0;
        for (const source of of) {
          await instance.reset({ task: { source }, seed: 0 });
          const { agents } = await instance.step({ first: act(first), second: act(second) });
          if (agents.first!.reward?.status === "scored") sum += agents.first!.reward.value;
        }
        return { reward: sum / of.length };
      },
    });
  }
  const task = taskEntry("all", 0);
  const common =
    "| | . . the a of is and however therefore also because for I my we said told two last week month years day Anna 3";
  const vocabulary = [...common.split(" "), ...words.filter((_, i) => i % 6 === 0)];
  // Each source says that somebody said something, so that the climb has a beginning.
  const start = `she said that they said so to all of us | ${"she said it to us and so they also said it to me . ".repeat(2)}`;

  test("gets a low reward with words that are unrelated to the sources", async () => {
    const { best } = await climb({ environment: joined("default"), task, words: vocabulary, starts: [start] });
    expect(best).toBeLessThan(0.2);
  });

  test("has a low reward with all words of a source, if it does not begin with the source", async () => {
    const known = posts[1]!.split(/\s+/);
    const small = known.map((word) => word.toLowerCase().replace(/[^\p{L}\p{N}']/gu, ""));
    const capitals = small.map((word) => word.slice(0, 1).toUpperCase() + word.slice(1));
    const words = [...known, ...small, ...capitals, ...common.split(" ")];
    const { best } = await climb({ environment: joined("default", [posts[1]!]), task, words, starts: [start] });
    expect(best).toBeLessThan(0.3);
  });

  test("gets nearly all of comlrl's reward with the same words", async () => {
    const climbed = await climb({
      environment: joined("comlrl"),
      task,
      words: vocabulary,
      starts: [start],
      episodes: 1_000,
    });
    expect(climbed.best).toBeGreaterThan(2.5);
  });
});

describe("the terms", () => {
  const filler = "one thing stays here while others leave";
  const first = "alpha beta gamma delta epsilon zeta eta theta";

  test("find transitions as whole words only", async () => {
    const inside = "Sofas absorb gasoline, gifts lift ifs, thusly firstly butter yetis.";
    const styled = (second: string) => earned("-", { first, second: `${second} ${first}` }, { reward: "comlrl" });
    expect((await styled(inside)).components.style).toBeCloseTo(0.6, 10);
    expect((await styled(`${inside} So it goes on quite so long.`)).components.style).toBeCloseTo(0.6 + 0.4 * 0.4, 10);
    const more = await styled("However, in other words, it grows and we all, as a result, go on with it. ");
    expect(more.components.style).toBeCloseTo(0.6 + 0.4 * 0.5, 10);
  });

  test("have the documented ranges, and each gate closes those after it", async () => {
    const of = async (one: string, other: string) =>
      (await earned("-", { first: one, second: other }, { reward: "comlrl" })).components;
    expect(await of("too short", filler)).toEqual({ structure: 0, length: 0, uniqueWords: 0, style: 0 });
    const same = await of(first, first);
    expect(same).toEqual({ structure: 0.5, length: 0, uniqueWords: 0, style: 0 });
    const long = (ratio: number): string => `b c d e f g h ${"x".repeat(Math.round(ratio * 100) - 14)}`;
    const short = long(1);
    for (const [ratio, value] of [
      [1.1, 0],
      [1.35, 0.5],
      [1.6, 1],
      [3.2, 1],
      [4.1, 0.5],
      [5, 0],
    ] as const) {
      expect((await of(short, long(ratio))).length).toBeCloseTo(value, 10);
    }
  });

  test("do not count stopwords as unique words", async () => {
    const stop = "the of and is was were been being with without they them";
    const { components } = await earned("-", { first, second: `${first} ${stop}` }, { reward: "comlrl" });
    expect(components).toMatchObject({ structure: 0.5, length: 1, uniqueWords: 0, style: 0 });
  });
});

test("passes the conformance suite, and built-in texts are divided between the splits", async () => {
  for (const options of [{}, { form: "arxiv" }, { reward: "comlrl" }] as const) {
    const environment = writingEnvironment(options);
    for (const split of ["train", "test"])
      expect((await checkEnvironment(environment, { split })).problems).toEqual([]);
    await checkDisjoint(await environment.tasks("train"), await environment.tasks("test"));
  }
  expect([posts.length, abstracts.length]).toEqual([12, 8]);
  for (const abstract of abstracts) expect(abstract.split(/\s+/).length).toBeGreaterThan(99);
});

describe("data", () => {
  let folder = "";
  beforeAll(async () => {
    folder = temporaryFolder();
  });
  const row = JSON.stringify({ prompt: "POST: I lost my hat.\n\nTL;DR:", completion: "hat lost" });

  test("comes from JSONL by path, without the mark of a summary", async () => {
    const path = join(folder, "own.jsonl");
    await writeFile(path, `${row}\n`);
    const environment = environments.create("writing", { path });
    expect(environment.splits).toEqual(["train"]);
    expect((await (await environment.tasks("train")).get(0)).task).toEqual({ source: "POST: I lost my hat." });
    expect((await checkEnvironment(environment)).problems).toEqual([]);
  });

  test("may have its text in another field, and an error names a row without it", async () => {
    const path = join(folder, "field.jsonl");
    await writeFile(path, '{"text":"A tale."}\n{"txt":"?"}\n');
    const tasks = await writingEnvironment({ path, field: "text" }).tasks("train");
    expect((await tasks.get(0)).task.source).toBe("A tale.");
    await expect(tasks.get(1)).rejects.toMatchObject({
      code: "data.malformed",
      message: expect.stringContaining(`${path}:2: text`),
    });
  });

  test.each([
    ["tldr", "trl-lib/tldr", "validation", row, "POST: I lost my hat."],
    ["arxiv", "OpenMLRL/arXiv_abstract", "val", JSON.stringify({ abstract_text: "We lose." }), "We lose."],
  ] as const)("of %s comes from the hub by name", async (form, dataset, split, content, source) => {
    const commit = "c".repeat(40);
    await using hub = await startFakeHub([
      {
        type: "dataset",
        name: dataset,
        branches: { main: commit },
        commits: { [commit]: { [`data/${split}.jsonl`]: content } },
      },
    ]);
    const reaching = { hubUrl: hub.url, cacheFolder: join(folder, form) };
    const environment = writingEnvironment({ form, dataset }, { hub: reaching });
    expect(environment.splits).toContain(split);
    expect((await (await environment.tasks(split)).get(0)).task).toEqual({ source });
  });
});
