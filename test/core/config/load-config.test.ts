import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { LyceumError } from "../../../src/contract/errors/index.ts";
import { loadConfig } from "../../../src/core/config/index.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

const schema = z.strictObject({
  seed: z.int().min(0).default(0),
  environment: z.discriminatedUnion("id", [
    z.strictObject({ id: z.literal("math"), terms: z.int().default(2) }),
    z.strictObject({ id: z.literal("code"), language: z.enum(["python", "javascript"]).default("python") }),
  ]),
  training: z
    .strictObject({
      steps: z.int().positive(),
      learningRate: z.number().positive().default(1e-4),
      device: z.union([z.literal("auto"), z.int()]).default("auto"),
      stages: z.array(z.strictObject({ name: z.string(), steps: z.int() })).default([]),
      weights: z.record(z.string(), z.number()).default({}),
    })
    .prefault({ steps: 10 }),
});

interface Problem {
  location: string;
  line?: number;
  column?: number;
  path: string;
  message: string;
  hint?: string;
}

async function problemsOf(text: string, overrides: string[] = []): Promise<Problem[]> {
  const error = await failure(text, overrides);
  expect(error.code).toBe("config.invalid");
  return (error.data as unknown as { problems: Problem[] }).problems;
}

async function failure(text: string, overrides: string[] = []): Promise<LyceumError> {
  try {
    await loadConfig({ text, name: "run.yaml", schema, overrides });
  } catch (error) {
    if (LyceumError.isInstance(error)) return error;
    throw error;
  }
  throw new Error("The config was accepted.");
}

describe("loadConfig", () => {
  it("returns the typed config with defaults filled in", async () => {
    const config = await loadConfig({ text: "environment: { id: math }", schema });
    expect(config).toEqual({
      seed: 0,
      environment: { id: "math", terms: 2 },
      training: { steps: 10, learningRate: 1e-4, device: "auto", stages: [], weights: {} },
    });
    const steps: number = config.training.steps;
    expect(steps).toBe(10);
  });

  it("treats an empty file, and a file with comments only, as a config with defaults", async () => {
    const lenient = z.strictObject({ seed: z.int().default(7) });
    for (const text of ["", "\n", "# nothing\n", "---\n", "\uFEFF"]) {
      expect(await loadConfig({ text, schema: lenient })).toEqual({ seed: 7 });
    }
  });

  it("names the file, line and column of an unknown key and the nearest known one", async () => {
    const error = await failure("environment:\n  id: math\ntraining:\n  steps: 3\n  lerningRate: 1e-3\n");
    expect(error.message).toBe('run.yaml:5:3: unknown key "lerningRate" in training');
    expect(error.hint).toContain('Did you mean "learningRate"?');
    expect(error.data).toMatchObject({ problems: [{ line: 5, column: 3, path: "training.lerningRate" }] });
  });

  it("lists several problems in one error, each at its own line", async () => {
    const error = await failure(
      [
        "sede: 1",
        "environment:",
        "  id: code",
        "  language: pyton",
        "training:",
        "  steps: ten",
        "  learningRate: -1",
      ].join("\n"),
    );
    const { problems } = error.data as unknown as { problems: Problem[] };
    expect(new Map(problems.map(({ path, line }) => [path, line]))).toEqual(
      new Map([
        ["environment.language", 4],
        ["training.steps", 6],
        ["training.learningRate", 7],
        ["sede", 1],
      ]),
    );
    expect(error.message).toMatch(/^4 problems in run\.yaml:\n {2}run\.yaml:1:1: .*\n.*\n {2}run\.yaml:4:3: /);
    expect(error.message).toContain('Did you mean "python"?');
    expect(error.message).toContain('Did you mean "seed"?');
    expect(error.message).toContain('training.steps: expected a number, got "ten"');
    expect(error.message).toContain("expected number to be >0, got -1");
  });

  it("suggests the nearest id of a discriminated union, and the keys of the chosen case", async () => {
    const [unknownId] = await problemsOf("environment:\n  id: mth\n");
    expect(unknownId).toMatchObject({ line: 2, path: "environment.id" });
    expect(unknownId?.hint).toContain('Did you mean "math"?');
    const [unknownKey] = await problemsOf("environment:\n  id: math\n  tems: 3\n");
    expect(unknownKey).toMatchObject({ line: 3, path: "environment.tems" });
    expect(unknownKey?.hint).toMatch(/Did you mean "terms"\? Known: id, terms\./);
    const [missingId] = await problemsOf("seed: 1\nenvironment:\n  terms: 3\n");
    expect(missingId).toMatchObject({ line: 2, path: "environment.id" });
    expect(missingId?.message).toContain("environment.id is missing");
    expect(missingId?.message).toContain("math, code");
  });

  it("points at the nearest existing key if a key is missing", async () => {
    const [problem] = await problemsOf("environment: { id: math }\ntraining:\n  learningRate: 1\n");
    expect(problem).toMatchObject({ line: 2, column: 1, path: "training.steps" });
    expect(problem?.message).toContain("training.steps is missing");
    const [absent] = await problemsOf("seed: 1\n");
    expect(absent?.location).toBe("run.yaml");
    expect(absent?.message).toContain("environment is missing");
  });

  it("finds the place inside lists, flow collections and records", async () => {
    const head = "environment: { id: math }\ntraining:\n  steps: 1\n";
    const [item] = await problemsOf(
      `${head}  stages:\n    - name: a\n      steps: 1\n    - { name: b, stps: 2, steps: 2 }\n`,
    );
    expect(item).toMatchObject({ line: 7, path: "training.stages.1.stps" });
    expect(item?.hint).toContain('Did you mean "steps"?');
    const [record] = await problemsOf(`${head}  weights:\n    a: 1\n    b: heavy\n`);
    expect(record).toMatchObject({ line: 6, column: 5, path: "training.weights.b" });
  });

  it("explains a union by what its branches expect", async () => {
    const [problem] = await problemsOf("environment: { id: math }\ntraining: { steps: 1, device: cpu }\n");
    expect(problem?.message).toBe('training.device: expected auto or a number, got "cpu"');
  });

  it("lists the first of many problems and counts the others", async () => {
    const keys = Array.from({ length: 3_000 }, (_, i) => `k${i}: ${i}\n`).join("");
    const { message } = await failure(`environment: { id: math }\n${keys}`);
    expect(message).toMatch(/^3000 problems in run\.yaml:\n/);
    expect(message).toContain('run.yaml:51:1: unknown key "k49"');
    expect(message).not.toContain('"k50"');
    expect(message).toMatch(/\n {2}and 2950 more$/);
  });

  it("refuses a text with too many lines before it is parsed", async () => {
    const [problem] = await problemsOf("seed: 1\n".repeat(60_000));
    expect(problem).toMatchObject({ location: "run.yaml", message: "longer than 20000 lines" });
  });

  it("refuses duplicate keys, aliases, merge keys, unknown tags and several documents, with their lines", async () => {
    const refused: [text: string, line: number, words: string][] = [
      ["seed: 1\nenvironment: { id: math }\nseed: 2\n", 3, 'the key "seed" is given twice'],
      ["seed: &s 1\nenvironment: { id: math, terms: *s }\n", 2, 'the alias "*s" is not allowed'],
      ["environment: &e { id: math }\ntraining:\n  <<: *e\n", 3, "alias"],
      ["seed: 1\nenvironment: { id: math, __proto__: { terms: 3 } }\n", 2, 'the key "__proto__" is not allowed'],
      ["seed: !secret 1\nenvironment: { id: math }\n", 1, "tag"],
      ["seed: 1\n---\nseed: 2\n", 2, "multiple documents"],
      ["seed: 1\n  environment: 2\n", 1, ""],
      ["seed: [1, 2\n", 2, ""],
      ["seed: 'open\n", 2, ""],
      ["\tseed: 1\n", 1, ""],
    ];
    for (const [text, line, words] of refused) {
      const problems = await problemsOf(text);
      expect(problems[0]?.message, text).toContain(words);
      expect(problems[0]?.line, text).toBe(line);
    }
  });

  it("refuses alias bombs and deep nesting without expanding them", async () => {
    const bomb = [
      "a: &a [x, x]",
      ...Array.from(
        { length: 40 },
        (_, i) => `k${i}: &k${i} [*${i === 0 ? "a" : `k${i - 1}`}, *${i === 0 ? "a" : `k${i - 1}`}]`,
      ),
    ];
    expect((await problemsOf(bomb.join("\n")))[0]?.message).toContain("alias");
    for (const depth of [200, 5_000, 100_000]) {
      const problems = await problemsOf(`seed: ${"[".repeat(depth)}${"]".repeat(depth)}`);
      expect(problems[0]?.message).toContain("nested");
    }
    expect((await problemsOf(`# ${"x".repeat(2_000_000)}`))[0]?.message).toContain("larger than");
  });

  it("accepts only mappings, and only numbers that JSON can represent", async () => {
    expect((await problemsOf("- 1\n- 2\n"))[0]?.message).toContain("expected a mapping, got a list");
    expect((await problemsOf("just text"))[0]?.message).toContain('expected a mapping, got "just text"');
    expect((await problemsOf("environment: { id: math }\nseed: .nan"))[0]).toMatchObject({ line: 2, path: "seed" });
    expect((await problemsOf("environment: { id: math }\nseed: 99999999999999999999"))[0]?.path).toBe("seed");
  });

  it("throws only config errors, for any text", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.string({ unit: "binary", maxLength: 60 }),
          fc
            .array(
              fc.constantFrom(
                "seed",
                "environment",
                ":",
                " ",
                "\n",
                "  ",
                "- ",
                "{",
                "}",
                "[",
                "]",
                "&a",
                "*a",
                "?",
                "|",
                "'",
                '"',
                "#",
                "!!x",
                "1",
                "<<",
                "__proto__",
                "\t",
                ",",
              ),
              { maxLength: 25 },
            )
            .map((parts) => parts.join("")),
        ),
        async (text) => {
          const outcome = await loadConfig({ text, schema }).catch((error: unknown) => error);
          if (outcome instanceof Error) expect(LyceumError.isInstance(outcome) && outcome.code).toBe("config.invalid");
        },
      ),
      { numRuns: 500 },
    );
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  it("reports the message of a custom check at the key that it names", async () => {
    const checked = z.strictObject({ model: z.strictObject({ heads: z.int(), size: z.int() }) }).check((context) => {
      const { heads, size } = context.value.model;
      if (size % heads !== 0) {
        context.issues.push({ code: "custom", message: "must divide size", input: heads, path: ["model", "heads"] });
      }
    });
    await expect(loadConfig({ text: "model:\n  size: 5\n  heads: 2\n", schema: checked })).rejects.toMatchObject({
      message: "config:3:3: model.heads: must divide size",
    });
  });

  it("refuses a schema that would ignore unknown keys", async () => {
    const loose = z.strictObject({ training: z.object({ steps: z.int() }) });
    await expect(loadConfig({ text: "training: { steps: 1 }", schema: loose })).rejects.toMatchObject({
      code: "internal",
      message: "The schema of config.training ignores unknown keys.",
    });
  });
});

describe("overrides", () => {
  const text = "environment: { id: math }\ntraining:\n  steps: 5\n  stages:\n    - { name: a, steps: 1 }\n";
  const load = (overrides: string[]) => loadConfig({ text, name: "run.yaml", schema, overrides });

  it("set values parsed as YAML, later ones last", async () => {
    const config = await load([
      "seed=3",
      "training.steps=7",
      "training.steps=8",
      "training.learningRate=1e-3",
      "training.stages.0.name=b=c",
      "training.stages.1={ name: new, steps: 2 }",
      "training.weights.x=0.5",
      "environment={ id: code, language: javascript }",
    ]);
    expect(config).toEqual({
      seed: 3,
      environment: { id: "code", language: "javascript" },
      training: {
        steps: 8,
        learningRate: 1e-3,
        device: "auto",
        stages: [
          { name: "b=c", steps: 1 },
          { name: "new", steps: 2 },
        ],
        weights: { x: 0.5 },
      },
    });
  });

  it("are named instead of a line if they are wrong, and only then", async () => {
    const [wrongValue] = await problemsOf(text, ["training.steps=ten"]);
    expect(wrongValue).toMatchObject({ location: "--set training.steps=ten", path: "training.steps" });
    expect(wrongValue).not.toHaveProperty("line");
    const [unknownKey] = await problemsOf(text, ["traning.steps=3"]);
    expect(unknownKey?.location).toBe("--set traning.steps=3");
    expect(unknownKey?.hint).toContain('Did you mean "training"?');
    const [fileAtFault] = await problemsOf(`${text}  lerningRate: 1\n`, ["training.steps=3"]);
    expect(fileAtFault?.location).toBe("run.yaml:6:3");
    const [missing] = await problemsOf("seed: 1", ["environment.terms=3"]);
    expect(missing?.path).toBe("environment.id");
  });

  it("refuse texts that are not key=value, and paths through plain values", async () => {
    for (const bad of ["", "=", "training", ".a=1", "a..b=1", "=3", "training.=1"]) {
      expect((await problemsOf(text, [bad]))[0], bad).toMatchObject({ location: `--set ${bad}` });
    }
    expect((await problemsOf(text, ["training.steps.x=1"]))[0]?.message).toBe("training.steps is 5 and has no keys");
    expect((await problemsOf(text, ["training.stages.7=1"]))[0]?.message).toContain("list of 1");
    expect((await problemsOf(text, ["training.stages.first=1"]))[0]?.message).toContain('no item "first"');
    expect((await problemsOf(text, ["seed={a: 1, a: 2}"]))[0]?.message).toContain("twice");
    expect(await problemsOf(text, ["seed=*x"])).toHaveLength(1);
  });

  it("cannot reach a prototype", async () => {
    for (const path of ["__proto__.polluted", "constructor.prototype.polluted", "training.__proto__.polluted"]) {
      expect(await problemsOf(text, [`${path}=1`])).not.toHaveLength(0);
    }
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  it("work for any JSON value", async () => {
    const open = z.strictObject({ value: z.json() });
    await fc.assert(
      fc.asyncProperty(fc.jsonValue({ maxDepth: 3, noUnicodeString: true }), async (value) => {
        fc.pre(!JSON.stringify(value).includes("__proto__"));
        const config = await loadConfig({
          text: "value: 0",
          schema: open,
          overrides: [`value=${JSON.stringify(value)}`],
        });
        expect(config.value).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });
});

describe("loadConfig from a path", () => {
  let folder: string;
  beforeEach(async () => {
    folder = temporaryFolder();
  });

  it("reads the file and names it in errors", async () => {
    const path = join(folder, "run.yaml");
    await writeFile(path, "environment: { id: math }\r\nsede: 1\r\n");
    await expect(loadConfig({ path, schema })).rejects.toMatchObject({
      message: `${path}:2:1: unknown key "sede"`,
    });
  });

  it("says that a file is missing or unreadable", async () => {
    await expect(loadConfig({ path: join(folder, "no.yaml"), schema })).rejects.toMatchObject({
      code: "data.not-found",
      message: expect.stringContaining("no.yaml"),
    });
    await expect(loadConfig({ path: folder, schema })).rejects.toMatchObject({
      code: "data.not-found",
      message: expect.stringContaining("EISDIR"),
    });
  });
});
