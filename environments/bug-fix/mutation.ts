import { readFile } from "node:fs/promises";
import { z } from "zod";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { LyceumError } from "../../src/contract/errors/index.ts";
import type { Random } from "../../src/core/random/random.ts";

/** A small mistake: a piece of a program, by its offsets in UTF-16, and what stands there instead. */
export interface Mutation {
  /** What kind of mistake it is, such as `comparison`. */
  readonly kind: string;
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

const mutationsSchema = z.array(z.object({ kind: z.string(), start: z.number(), end: z.number(), text: z.string() }));

/**
 * Every mutation of a Python program after `start`, in the order of its text. Python's own `ast` finds them, in the
 * sandbox; the program is read there and not run. Each alone leaves a program that parses and is another one. Rejects
 * with `data.malformed` where the program itself does not parse, `sandbox.unavailable` where the sandbox fails, and
 * with the signal's reason.
 */
export async function listMutations(options: {
  readonly sandbox: Sandbox;
  readonly program: string;
  readonly start: number;
  readonly signal?: AbortSignal;
}): Promise<readonly Mutation[]> {
  const { sandbox, program, start, signal } = options;
  const result = await sandbox.execute({
    language: "python",
    files: { "mutations.py": await readFile(new URL("./mutations.py", import.meta.url), "utf8") },
    entry: "mutations.py",
    task: { kind: "calls", function: "mutations", cases: [{ args: [program, { int: String(start) }] }] },
    limits: { cpuMs: 20_000, wallMs: 60_000 },
    ...(signal === undefined ? {} : { signal }),
  });
  signal?.throwIfAborted();
  const [observed] = result.cases;
  if (typeof observed?.value === "string") return mutationsSchema.parse(JSON.parse(observed.value));
  const error = observed?.error ?? result.error;
  const why = error === undefined ? result.status : `${error.type}: ${error.message}`;
  throw observed?.outcome === "raised"
    ? new LyceumError({
        code: "data.malformed",
        message: `A program cannot be given a bug: ${why}.`,
        hint: "Its solution must be Python that parses.",
      })
    : new LyceumError({
        code: "sandbox.unavailable",
        message: `The sandbox could not read a program: ${why}.`,
        hint: "See why the sandbox fails; another one may be chosen by the option sandbox.",
      });
}

/** A program with these mutations, which must not overlap. */
export function mutated(program: string, mutations: readonly Mutation[]): string {
  let text = program;
  for (const { start, end, text: replacement } of mutations.toSorted((a, b) => b.start - a.start)) {
    text = text.slice(0, start) + replacement + text.slice(end);
  }
  return text;
}

/**
 * Groups of `count` mutations that do not overlap, in random order: every kind is as likely as any other, however many
 * places it fits. Groups are smaller where a program does not have as many.
 */
export function mutationGroups(options: {
  readonly mutations: readonly Mutation[];
  readonly count: number;
  readonly random: Random;
}): readonly (readonly Mutation[])[] {
  const ordered = kindByKind(options.mutations, options.random);
  return ordered.map((first, i) => {
    const group = [first];
    for (const other of [...ordered.slice(i + 1), ...ordered.slice(0, i)]) {
      if (group.length >= options.count) break;
      if (group.every(({ start, end }) => other.end <= start || end <= other.start)) group.push(other);
    }
    return group;
  });
}

function kindByKind(mutations: readonly Mutation[], random: Random): readonly Mutation[] {
  const kinds = [...Map.groupBy(mutations, ({ kind }) => kind).values()].map((ofKind) => random.shuffle(ofKind));
  const ordered: Mutation[] = [];
  while (kinds.length > 0) {
    const place = random.integer(0, kinds.length - 1);
    ordered.push(kinds[place]!.pop()!);
    if (kinds[place]!.length === 0) kinds.splice(place, 1);
  }
  return ordered;
}
