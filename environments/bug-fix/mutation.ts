import { readFile } from "node:fs/promises";
import { z } from "zod";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { LyceumError } from "../../src/contract/errors/index.ts";
import type { Random } from "../../src/core/random/random.ts";

/** A small mistake: a range of a program, in UTF-16 offsets, and its replacement. */
export interface Mutation {
  /** The kind of mistake, such as `comparison`. */
  readonly kind: string;
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

const mutationsSchema = z.array(z.object({ kind: z.string(), start: z.number(), end: z.number(), text: z.string() }));

/**
 * Returns all mutations of a Python program after `start`, in the order of the text. Python's own `ast` finds them in
 * the sandbox, which does not run the program. Each mutation alone gives a different program that parses. Rejects with
 * `data.malformed` if the program does not parse, with `sandbox.unavailable` if the sandbox fails, and with the
 * signal's reason.
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
    signal,
  });
  signal?.throwIfAborted();
  const [observed] = result.cases;
  if (typeof observed?.value === "string") return mutationsSchema.parse(JSON.parse(observed.value));
  const error = observed?.error ?? result.error;
  const why = error === undefined ? result.status : `${error.type}: ${error.message}`;
  throw observed?.outcome === "raised"
    ? new LyceumError({
        code: "data.malformed",
        message: `No bug can be put into a program: ${why}.`,
        hint: "Its solution must be Python that parses.",
      })
    : new LyceumError({
        code: "sandbox.unavailable",
        message: `The sandbox could not read a program: ${why}.`,
        hint: "Fix the sandbox, or choose another one with the option sandbox.",
      });
}

/** Applies mutations to a program. They must not overlap. */
export function mutated(program: string, mutations: readonly Mutation[]): string {
  let text = program;
  for (const { start, end, text: replacement } of mutations.toSorted((a, b) => b.start - a.start)) {
    text = text.slice(0, start) + replacement + text.slice(end);
  }
  return text;
}

/**
 * Returns groups of `count` mutations that do not overlap, in random order. All kinds are equally likely, however many
 * places they fit. Groups are smaller if the program has too few mutations.
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
