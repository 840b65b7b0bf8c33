import { existsSync } from "node:fs";
import { type FileHandle, open, readFile } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { LyceumError } from "../errors/index.ts";
import type { Json } from "../json.ts";
import { replaceFile } from "../report/replace-file.ts";
import { lockFile } from "../run-lock.ts";
import { withoutSecretValues } from "../url-secrets.ts";
import type { CollectArguments } from "./create-program.ts";
import { setOptions } from "./named-environment.ts";
import { limitsOf, samplingOf } from "./sampling-options.ts";

/** What a collection has come to so far. */
export interface CollectCounts {
  episodes: number;
  /** Conversations that are in the file, and those that earned too little. */
  written: number;
  below: number;
  /** Episodes in which an agent was not scored, and those that failed. */
  unscored: number;
  failed: number;
  /** Conversations that were scored, and the sum of their rewards. */
  scored: number;
  rewards: number;
}

const count = z.int().min(0);

const countsSchema: z.ZodType<CollectCounts> = z.strictObject({
  episodes: count,
  written: count,
  below: count,
  unscored: count,
  failed: count,
  scored: count,
  rewards: z.number(),
});

const progressSchema = z.strictObject({
  settings: z.record(z.string(), z.json()),
  tasks: count,
  bytes: count,
  counts: countsSchema,
});

/** How far a collection is: what was played, and how much of the file that made. */
export interface CollectProgress {
  /** Whole tasks that are played, from the first on. */
  tasks: number;
  /** Bytes of the output that they make. */
  bytes: number;
  readonly counts: CollectCounts;
}

/** A collection's output with the file beside it that says how far it is. */
export interface Collection extends AsyncDisposable {
  readonly progress: CollectProgress;
  /** Adds the lines of the next task. The file beside is written at most once a second. */
  add(lines: string): Promise<void>;
}

/** How long the file beside the output may lag behind it; what was played since is played again. */
const saveMs = 1_000;

/**
 * Opens the output of a collection, for a new one or to go on. What stands behind the progress (a line that was cut
 * off, tasks that were not counted) is cut away: those tasks are played again, by the same seeds. Throws
 * `config.invalid` for a file that another process writes, and for one to be resumed that is of other settings, or has
 * lost its progress.
 */
export async function openCollection(args: CollectArguments): Promise<Collection> {
  const path = args.output;
  const beside = `${path}.progress`;
  const settings = settingsOf(args);
  await using resources = new AsyncDisposableStack();
  resources.use(await lockFile(path));
  refuseExisting(args);
  const goesOn = existsSync(path);
  const progress = goesOn ? await readProgress(path, settings) : beginning();
  const file = resources.use(await open(path, goesOn ? "r+" : "wx"));
  const save = () => replaceFile(beside, `${JSON.stringify({ settings, ...progress })}\n`);
  await cutTo(file, progress.bytes, path);
  await save();
  resources.defer(save);
  const owned = resources.move();
  let saved = performance.now();
  return {
    progress,
    add: async (lines) => {
      const bytes = Buffer.from(lines);
      for (let at = 0; at < bytes.length; ) {
        at += (await file.write(bytes, at, bytes.length - at, progress.bytes + at)).bytesWritten;
      }
      progress.bytes += bytes.length;
      progress.tasks += 1;
      if (performance.now() - saved < saveMs) return;
      await save();
      saved = performance.now();
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Throws `config.invalid` where the output exists and is not to be gone on with. */
export function refuseExisting({ output: path, resume }: Pick<CollectArguments, "output" | "resume">): void {
  if (resume || !existsSync(path)) return;
  throw new LyceumError({
    code: "config.invalid",
    message: `The file ${path} exists already.`,
    hint: "Go on with it by --resume, name another --output, or move the file out of the way.",
    data: { path },
  });
}

function beginning(): CollectProgress {
  return {
    tasks: 0,
    bytes: 0,
    counts: { episodes: 0, written: 0, below: 0, unscored: 0, failed: 0, scored: 0, rewards: 0 },
  };
}

/** What decides which lines are written, and in which order. */
function settingsOf(args: CollectArguments): Readonly<Record<string, Json>> {
  const { env, set, policy, model, base, split, group, minReward, temperature, maxTokens, seed } = args;
  const options = setOptions(set);
  const shown = withoutSecretValues(options);
  const named = {
    ...{
      env,
      set: isDeepStrictEqual(options, shown) ? [...set] : shown,
      policy,
      model: model === undefined ? null : [...model],
      base: base ?? null,
      split: split ?? null,
      group,
    },
    ...{ minReward: minReward ?? null, temperature, maxTokens, seed },
    modelOption: args.modelOption.length === 0 ? null : [...args.modelOption],
    sampling: someOf({ ...samplingOf(args) }),
    limits: someOf({ ...limitsOf(args) }),
  };
  return withoutSecretValues(named) as Readonly<Record<string, Json>>;
}

/** Null for nothing: files of earlier versions do not have it. */
function someOf(settings: Readonly<Record<string, Json>>): Json {
  return Object.keys(settings).length === 0 ? null : settings;
}

async function readProgress(path: string, settings: ReturnType<typeof settingsOf>): Promise<CollectProgress> {
  let read: z.output<typeof progressSchema>;
  try {
    read = progressSchema.parse(JSON.parse(await readFile(`${path}.progress`, "utf8")));
  } catch (error) {
    throw new LyceumError({
      code: "config.invalid",
      message: `There is nothing to go on from: ${path}.progress is missing or broken.`,
      hint: "Name another --output.",
      data: { path },
      cause: error,
    });
  }
  const other = Object.keys(settings).filter((key) => !isDeepStrictEqual(settings[key], read.settings[key] ?? null));
  if (other.length === 0) return { tasks: read.tasks, bytes: read.bytes, counts: read.counts };
  const shown = other.map((key) => `${key} was ${JSON.stringify(read.settings[key] ?? null)}`);
  throw new LyceumError({
    code: "config.invalid",
    message: `The file ${path} was collected in another way: ${shown.join(", ")}.`,
    hint: "Go on with the same arguments (--episodes and --concurrency may differ), or name another --output.",
    data: { path },
  });
}

async function cutTo(file: FileHandle, bytes: number, path: string): Promise<void> {
  const { size } = await file.stat();
  if (size >= bytes) return file.truncate(bytes);
  throw new LyceumError({
    code: "config.invalid",
    message: `The file ${path} is shorter than what was collected: ${size} of ${bytes} bytes.`,
    hint: "Name another --output.",
    data: { path },
  });
}
