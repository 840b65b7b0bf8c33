import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { codeEnvironment } from "../../environments/code/code.ts";
import { missingRequirement } from "../sandbox/docker-javascript.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { type Arena, feedbackModes, leakedHiddenTests } from "./hidden-test-arena.ts";
import type { LeakAttack } from "./hidden-test-leaks.ts";
import { javascriptLeakAttacks as attacks } from "./hidden-test-leaks-javascript.ts";

const places = ["visible-11", "hidden-22", "hidden-33", "hidden-44", "hidden-55"];
const row = {
  prompt: "Give a text in capital letters.",
  entryPoint: "shout",
  tests: places.map((text) => `assert.deepEqual(shout("${text}"), "${text.toUpperCase()}");`),
};

let folder = "";
beforeAll(async () => {
  folder = temporaryFolder();
  await writeFile(join(folder, "own.jsonl"), JSON.stringify(row));
});

type Language = "javascript" | "typescript";

function arenasOf(language: Language): Arena<"isolated-vm" | "docker">[] {
  const block = (code: string): string => `\`\`\`${language}\n${code}\n\`\`\``;
  const leaking = (name: string, { before, after = "" }: LeakAttack): string =>
    block(`${before}\nfunction ${name}(text) {
  const made = leak(text);
  return made === undefined ? "wrong" : made;
}\n${after}`);
  const arena = (name: string, agents: 1 | 2, answers: Arena["answers"]): ReturnType<typeof arenasOf>[number] => ({
    name: `${language}, ${name}`,
    split: "train",
    open: (options, expert) =>
      codeEnvironment(
        { ...options, cpuSeconds: 1, dataset: "jsonl", language, agents, path: join(folder, "own.jsonl") },
        { policies: { expert } },
      ),
    answers,
  });
  const plainAux = block("function aux(text) {\n  return text;\n}");
  const plainMain = block('function shout(text) {\n  return aux(text) + "x";\n}');
  return [
    arena("one agent", 1, (attack) => ({ agent: leaking("shout", attack) })),
    arena("two agents, main", 2, (attack) => ({ aux: plainAux, main: leaking("shout", attack) })),
    arena("two agents, aux", 2, (attack) => ({ aux: leaking("aux", attack), main: plainMain })),
  ];
}

const backends = [
  { sandbox: "isolated-vm", missing: undefined },
  { sandbox: "docker", missing: await missingRequirement() },
] as const;
const arenas = (["javascript", "typescript"] as const).flatMap(arenasOf);

describe.each(backends)("$sandbox", ({ sandbox, missing }) => {
  const options = { sandbox, maxTurns: 3, sandboxSlice: "all", shareTests: false } as const;

  describe.skipIf(missing !== undefined).each(arenas)("$name", (arena) => {
    it.each(feedbackModes)("%s: no hidden test reaches a model", async (mode) => {
      expect(await leakedHiddenTests({ arena, options: { ...options, mode }, attacks })).toEqual([]);
    });

    it("level_feedback shows tests with shareTests, so a leak would be detected", async () => {
      const shared = { ...options, mode: "level_feedback", shareTests: true } as const;
      const read = await leakedHiddenTests({ arena, options: shared, attacks });
      // The attacks that put their arguments into an answer or an error.
      expect(new Set(read.map(({ attack }) => attack)).size).toBeGreaterThan(9);
    });
  });
});
