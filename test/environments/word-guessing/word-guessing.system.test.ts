import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { expertGuesses } from "../../../environments/word-guessing/expert-guesses.ts";
import { type LetterMark, markLetters } from "../../../environments/word-guessing/letter-marks.ts";
import { wordGuessingEnvironment } from "../../../environments/word-guessing/word-guessing.ts";
import { words } from "../../../environments/word-guessing/words.ts";
import type { Episode } from "../../../src/contract/episode.ts";
import { demonstrationPolicy } from "../../../src/core/policy/demonstration-policy.ts";
import { scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";
import { rolloutEpisode } from "../../../src/core/rollout/rollout-episode.ts";
import { checkDisjoint } from "../../../src/core/taskset/disjoint.ts";
import { taskEntry } from "../../../src/core/taskset/task-entry.ts";
import { checkEnvironment } from "../../../src/entry-points/testing.ts";
import { climb } from "../hill-climber.ts";
import { averaged } from "../number-guessing/averaged.ts";

function play(secret: string, script: readonly string[]): Promise<Episode> {
  const task = taskEntry({ secret }, 0);
  return rolloutEpisode({ environment: wordGuessingEnvironment(), task, policies: scriptedPolicy(script), seed: 1 });
}

describe("the marks", () => {
  const cases: readonly [secret: string, guess: string, marks: string][] = [
    ["apple", "apple", "GGGGG"],
    ["apple", "poppy", "Y.G.."],
    ["sheep", "eerie", "YY..."],
    ["level", "eagle", "Y..YY"],
    ["those", "geese", "...GG"],
    ["robot", "floor", "..YGY"],
  ];
  test.each(cases)("of %s guessed as %s are distinguished", (secret, guess, marks) => {
    const shown = { green: "G", yellow: "Y", grey: "." };
    expect(
      markLetters(secret, guess)
        .map((mark) => shown[mark])
        .join(""),
    ).toBe(marks);
  });

  /** The rules in another formulation: of a letter, the first ones are yellow, as many as it has unmatched places. */
  function restated(secret: string, guess: string): readonly LetterMark[] {
    return [...guess].map((letter, i) => {
      if (secret[i] === letter) return "green";
      const places = [...secret].filter((other, at) => other === letter && guess[at] !== letter).length;
      const earlier = [...guess.slice(0, i)].filter((other, at) => other === letter && secret[at] !== letter).length;
      return earlier < places ? "yellow" : "grey";
    });
  }

  test("are those of an independent implementation, also for repeated letters", () => {
    const word = fc.array(fc.constantFrom(..."abc"), { minLength: 5, maxLength: 5 }).map((letters) => letters.join(""));
    fc.assert(
      fc.property(word, word, (secret, guess) => {
        expect(markLetters(secret, guess)).toEqual(restated(secret, guess));
      }),
      { numRuns: 2_000 },
    );
  });
});

test("the list has hundreds of distinct five-letter words in order", () => {
  expect(words.length).toBeGreaterThan(500);
  expect(words.filter((word) => !/^[a-z]{5}$/.test(word))).toEqual([]);
  expect(new Set(words).size).toBe(words.length);
  expect([...words].sort()).toEqual(words);
});

test("passes the conformance suite, and train and test have no common game, but all words", async () => {
  const environment = wordGuessingEnvironment();
  // A first guess is right only by luck.
  const skip = ["demonstrations-reach-the-top"];
  expect((await checkEnvironment(environment, { skip })).problems).toEqual([]);
  const short = wordGuessingEnvironment({ maxTurns: 1, progressReward: 0 });
  expect((await checkEnvironment(short, { split: "test" })).problems).toEqual([]);
  const [train, held] = [await environment.tasks("train"), await environment.tasks("test")];
  await checkDisjoint(train, held);
  for (const taskset of [train, held]) {
    const secrets = await Promise.all(words.map(async (_, i) => (await taskset.get(i)).task.secret));
    expect(secrets.toSorted()).toEqual(words);
  }
});

test("the expert finds every word in six guesses, most in four, and gets the most for the first", async () => {
  const counts = words.map((word) => expertGuesses(word, words).length);
  expect(Math.max(...counts)).toBeLessThanOrEqual(6);
  expect(counts.filter((count) => count <= 4).length / counts.length).toBeGreaterThan(0.85);
  const environment = wordGuessingEnvironment();
  const expert = async (secret: string): Promise<unknown> =>
    (
      await rolloutEpisode({
        environment,
        task: taskEntry({ secret }, 0),
        policies: demonstrationPolicy({ environment }),
        seed: 1,
      })
    ).agents.agent!.reward;
  expect(await expert("raise")).toMatchObject({ value: 1 });
  expect(await expert("water")).toMatchObject({
    value: 1 - (expertGuesses("water", words).length - 1) / 12,
  });
});

test("the last word of a reply counts, and one of another length costs a guess", async () => {
  const episode = await play("apple", ["I guess: POPPY!", "apples", "", "äpple", "maybe apple."]);
  const said = episode.agents.agent!.nodes.flatMap(({ message }) =>
    message.role === "user" ? [JSON.stringify(message.content)] : [],
  );
  expect(said[1]).toContain("p: yellow\\no: grey\\np: green\\np: grey\\ny: grey");
  expect(said.slice(2)).toEqual(Array(3).fill(expect.stringContaining("does not have five letters")));
  expect(said.join(" ")).not.toContain("apple");
  expect(episode.agents.agent!.reward).toMatchObject({ value: 1 - 4 / 12 });
});

test("a fixed word gets a low reward: letters in their places are worth a tenth at most", async () => {
  const none = await play("apple", Array(6).fill("wrong"));
  expect(none.agents.agent!.reward).toMatchObject({ value: 0 });
  const near = await play("apple", ["appqq", "qqqle", "appqq", "appqq", "appqq", "ample"]);
  expect(near.agents.agent!.reward).toMatchObject({ components: { solved: 0, progress: 0.1 } });
});

test("no text without feedback gets more than one word in eleven and some letters", async () => {
  const tasks = words.filter((_, i) => i % 56 === 0).map((secret) => ({ secret }));
  const environment = await averaged(wordGuessingEnvironment(), tasks);
  const { best } = await climb({ environment, task: taskEntry("all", 0), words });
  expect(best).toBeLessThan(1 / 11 + 0.05);
});
